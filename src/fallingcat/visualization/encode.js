// Pictures of a scene, one by one, to the bytes of a video; called from Python, no part of a page.

const TRIES = 5, PAUSE = 50; // of one picture; ms between them

// Pixels of the scene at a time (RGBA, upper row first), read back from the renderer and checked: a graphics process
// that was lost, or that ran out of memory, draws black and raises nothing.
async function pixelsAt(t) {
  const { canvas, seek } = window.fallingcat, gl = canvas?.getContext("webgl2");
  if (!gl) throw new Error("the browser has no WebGL 2");
  for (let i = 0; i < TRIES; i++) {
    while (gl.getError() !== gl.NO_ERROR && !gl.isContextLost()); // those of before
    seek(t);
    const { width, height } = canvas, drawn = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, drawn);
    if (gl.isContextLost()) throw new Error("the WebGL context was lost");
    if (gl.getError() === gl.NO_ERROR && severalColors(drawn)) return upsideDown(drawn, 4 * width);
    await new Promise((done) => setTimeout(done, PAUSE));
  }
  throw new Error(`the picture at ${t} s is blank`);
}

// A PNG of the first time.
async function encodePicture({ times }) {
  await pixelsAt(times[0]); // to its size
  const data = await pixelsAt(times[0]), { width, height } = window.fallingcat.canvas;
  for (let i = 3; i < data.length; i += 4) data[i] = 255;
  const copy = new OffscreenCanvas(width, height);
  copy.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(data), width, height), 0, 0);
  return [base64(new Uint8Array(await (await copy.convertToBlob()).arrayBuffer()))];
}

// Whether something is drawn: behind every scene the sky shades from the lower to the upper edge.
function severalColors(pixels) {
  const colors = new Uint32Array(pixels.buffer);
  return colors.some((color) => color !== colors[0]);
}

function upsideDown(pixels, row) {
  const out = new Uint8Array(pixels.length);
  for (let at = 0; at < pixels.length; at += row) out.set(pixels.subarray(at, at + row), pixels.length - row - at);
  return out;
}

// Chunks of H.264, or of VP9 where the browser has no other: { codec, description, chunks: [[key, bytes], ...] }.
async function encodeFrames({ times, rate, codecs, bits }) {
  await pixelsAt(times[0]); // to its size
  const { width, height } = window.fallingcat.canvas;
  const tried = codecs.map((codec) => ({ codec, width, height, framerate: rate, bitrate: bits }));
  let config = null;
  for (const one of tried) if (!config && typeof VideoEncoder === "function" && (await VideoEncoder.isConfigSupported(one)).supported) config = one;
  if (!config) return null;
  const chunks = [];
  let description = "", trouble = null;
  const encoder = new VideoEncoder({
    output(chunk, { decoderConfig }) {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      chunks.push([chunk.type === "key", base64(data)]);
      if (decoderConfig?.description) description = base64(new Uint8Array(decoderConfig.description));
    },
    error(why) { trouble = String(why); },
  });
  encoder.configure({ ...config, latencyMode: "quality", ...(config.codec.startsWith("avc1") ? { avc: { format: "avc" } } : {}) });
  for (let i = 0; i < times.length && !trouble; i++) {
    const stamp = { timestamp: Math.round((1e6 * i) / rate), duration: Math.round(1e6 / rate) };
    const frame = new VideoFrame(await pixelsAt(times[i]), { format: "RGBX", codedWidth: width, codedHeight: height, ...stamp });
    encoder.encode(frame, { keyFrame: i % 60 === 0 });
    frame.close();
    while (encoder.encodeQueueSize > 4) await new Promise((done) => setTimeout(done, 2));
  }
  if (!trouble) await encoder.flush();
  if (!trouble && chunks.length !== times.length) trouble = `${chunks.length} of ${times.length} pictures were encoded`;
  return { codec: config.codec, description, chunks, width, height, trouble };
}

function base64(data) {
  let text = "";
  for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
  return btoa(text);
}

// A GIF: one palette for all pictures; what does not change from one to the next is left out.
async function encodeGif({ times, rate }) {
  await pixelsAt(times[0]); // to its size
  const { width, height } = window.fallingcat.canvas;
  const samples = [];
  for (const s of [0, 0.25, 0.5, 0.75, 1]) samples.push(await pixelsAt(times[Math.round(s * (times.length - 1))]));
  const palette = medianCut(samples, 255), nearest = new Map();
  const out = [...bytesOf("GIF89a"), ...word(width), ...word(height), 0xf7, 0, 0];
  for (let k = 0; k < 256; k++) out.push(...(palette[k] || [0, 0, 0]));
  out.push(0x21, 0xff, 11, ...bytesOf("NETSCAPE2.0"), 3, 1, 0, 0, 0); // again and again
  const parts = [Uint8Array.from(out)], pause = Math.max(2, Math.round(100 / rate));
  let last = null;
  for (const t of times) {
    const data = await pixelsAt(t), now = new Uint8Array(width * height), sent = new Uint8Array(width * height);
    for (let i = 0; i < now.length; i++) {
      const key = ((data[4 * i] >> 2) << 12) | ((data[4 * i + 1] >> 2) << 6) | (data[4 * i + 2] >> 2);
      let found = nearest.get(key);
      if (found === undefined) nearest.set(key, (found = closest(palette, data[4 * i], data[4 * i + 1], data[4 * i + 2])));
      now[i] = found;
      sent[i] = last && last[i] === found ? 255 : found;
    }
    last = now;
    parts.push(Uint8Array.from([0x21, 0xf9, 4, 0x05, ...word(pause), 255, 0, 0x2c, 0, 0, 0, 0, ...word(width), ...word(height), 0, 8]));
    parts.push(lzw(sent), Uint8Array.of(0));
  }
  parts.push(Uint8Array.of(0x3b));
  return parts.map(base64);
}

const word = (x) => [x & 255, x >> 8];
const bytesOf = (text) => [...text].map((x) => x.charCodeAt(0));

function closest(palette, r, g, b) {
  let best = 0, least = Infinity;
  palette.forEach(([x, y, z], k) => {
    const d = (x - r) ** 2 + (y - g) ** 2 + (z - b) ** 2;
    if (d < least) { least = d; best = k; }
  });
  return best;
}

// Colors that stand for those of the pictures: the widest group is halved until there are enough.
function medianCut(pictures, count) {
  const colors = [];
  for (const data of pictures) for (let i = 0; i < data.length; i += 4 * 7) colors.push([data[i], data[i + 1], data[i + 2]]);
  const spread = (group) => {
    const range = [0, 1, 2].map((k) => { let low = 255, high = 0; for (const x of group) { low = Math.min(low, x[k]); high = Math.max(high, x[k]); } return high - low; });
    const axis = range.indexOf(Math.max(...range));
    return { group, axis, score: range[axis] * Math.sqrt(group.length) };
  };
  let groups = [spread(colors)];
  while (groups.length < count) {
    groups.sort((a, b) => b.score - a.score);
    const { group, axis, score } = groups[0];
    if (!score) break;
    group.sort((a, b) => a[axis] - b[axis]);
    const middle = group.length >> 1;
    groups = [...groups.slice(1), spread(group.slice(0, middle)), spread(group.slice(middle))];
  }
  return groups.map(({ group }) => [0, 1, 2].map((k) => Math.round(group.reduce((sum, x) => sum + x[k], 0) / group.length)));
}

// GIF's variant of Lempel, Ziv and Welch: codes of 9 to 12 bits, in blocks of 255 bytes.
function lzw(pixels) {
  const CLEAR = 256, END = 257, out = [];
  let codes = new Map(), next = 258, size = 9, held = 0, bits = 0, before = pixels[0];
  const send = (code) => { held |= code << bits; bits += size; while (bits >= 8) { out.push(held & 255); held >>>= 8; bits -= 8; } };
  send(CLEAR);
  for (let i = 1; i < pixels.length; i++) {
    const key = (before << 8) | pixels[i], known = codes.get(key);
    if (known !== undefined) { before = known; continue; }
    send(before);
    if (next < 4096) {
      codes.set(key, next++);
      if (next > 1 << size && size < 12) size++;
    } else { send(CLEAR); codes = new Map(); next = 258; size = 9; }
    before = pixels[i];
  }
  send(before); send(END);
  if (bits) out.push(held & 255);
  const blocks = new Uint8Array(out.length + Math.ceil(out.length / 255));
  for (let i = 0, at = 0; i < out.length; i += 255) {
    const length = Math.min(255, out.length - i);
    blocks[at++] = length;
    for (let k = 0; k < length; k++) blocks[at++] = out[i + k];
  }
  return blocks;
}
