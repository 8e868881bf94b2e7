// Maps, series and headings.

function makeText(parent, data) {
  const box = element("section", "text");
  box.append(element("h2", "", data.title));
  if (data.text) box.append(element("p", "", data.text));
  parent.append(box);
  return { show() {} };
}

function makeChart(parent, data) {
  const box = element("section", data.wide ? "block chart wide" : "block chart");
  box.append(element("h2", "", data.unit ? `${data.title} (${data.unit})` : data.title));
  parent.append(box);
  let now = null, sheet = null, frame = null;
  const view = canvasIn(box, (c, w, h) => {
    const ratio = window.devicePixelRatio || 1;
    if (!sheet || sheet.width !== Math.round(w * ratio) || sheet.height !== Math.round(h * ratio)) {
      sheet = element("canvas"); // lines do not move: they are drawn once for each size
      sheet.width = Math.round(w * ratio); sheet.height = Math.round(h * ratio);
      const s = sheet.getContext("2d");
      s.scale(ratio, ratio);
      frame = drawLines(s, w, h, data);
    }
    c.drawImage(sheet, 0, 0, w, h);
    if (now !== null && data.moves) drawCursor(c, data, frame, now);
  });
  box.append(legend(data.lines.map((line, i) => [line.name, strokeOf(i), dashOf(i)])));
  return { show(t) { now = t; view.redraw(); } };
}

function legend(entries) {
  const out = element("div", "legend");
  for (const [name, color, dash = []] of entries) {
    const item = element("span"), mark = element("i");
    mark.style.background = dash.length ? dashed(color, dash) : color;
    item.append(mark, document.createTextNode(name));
    out.append(item);
  }
  return out;
}

// A dash pattern as a background, over the width of a mark.
function dashed(color, dash) {
  const stops = [];
  for (let at = 0, k = 0; at < 20; at += dash[k % dash.length], k++) {
    const ink = k % 2 ? "transparent" : color;
    stops.push(`${ink} ${at}px`, `${ink} ${at + dash[k % dash.length]}px`);
  }
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

function rangeOf(data) {
  let values = data.lines.flatMap((line) => line.y).filter((y) => y !== null);
  if (data.log) values = values.filter((y) => y > 0).map(Math.log10);
  if (!values.length) return data.log ? [-16, 0] : [0, 1];
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  if (data.log) return [Math.floor(low), Math.ceil(high + 1e-9)];
  const pad = 0.07 * (high - low) || 0.5 * Math.abs(high) || 1;
  return [low - pad, high + pad];
}

function frameOf(c, w, h, xs, ys, xLabel, log) {
  const left = 52, right = 12, top = 8, bottom = 34;
  const X = (x) => left + ((x - xs[0]) / (xs[1] - xs[0] || 1)) * (w - left - right);
  const Y = (y) => h - bottom - ((y - ys[0]) / (ys[1] - ys[0] || 1)) * (h - top - bottom);
  c.font = "11px system-ui, sans-serif"; c.lineWidth = 1;
  c.textAlign = "right"; c.textBaseline = "middle";
  for (const y of ticks(ys[0], ys[1], Math.max(3, (h - top - bottom) / 42))) {
    if (log && Math.abs(y - Math.round(y)) > 1e-9) continue;
    c.strokeStyle = edge; c.fillStyle = soft;
    c.beginPath(); c.moveTo(left, Y(y)); c.lineTo(w - right, Y(y)); c.stroke();
    c.fillText(log ? `1e${Math.round(y)}` : label(y), left - 7, Y(y));
  }
  c.textAlign = "center"; c.textBaseline = "top";
  for (const x of ticks(xs[0], xs[1], Math.max(2, (w - left) / 80))) {
    c.strokeStyle = edge; c.fillStyle = soft;
    c.beginPath(); c.moveTo(X(x), h - bottom); c.lineTo(X(x), h - bottom + 4); c.stroke();
    c.fillText(label(x), X(x), h - bottom + 6);
  }
  c.fillText(xLabel, (left + w - right) / 2, h - 13);
  return { X, Y, left, right: w - right, top, bottom: h - bottom };
}

function drawLines(c, w, h, data) {
  const xs = [data.x[0], data.x[data.x.length - 1]], ys = rangeOf(data);
  const frame = frameOf(c, w, h, xs, ys, data.xLabel, data.log), { X, Y } = frame;
  frame.height = (y) => (y === null || (data.log && y <= 0) ? null : Y(data.log ? Math.log10(y) : y));
  data.lines.forEach((line, k) => {
    c.strokeStyle = strokeOf(k); c.lineWidth = data.x.length > 1500 ? 1.2 : 1.8; c.lineJoin = "round";
    c.setLineDash(dashOf(k));
    c.beginPath();
    let pen = false;
    line.y.forEach((y, i) => {
      const v = frame.height(y);
      if (v === null) { pen = false; return; }
      if (pen) c.lineTo(X(data.x[i]), v); else c.moveTo(X(data.x[i]), v);
      pen = true;
    });
    c.stroke();
  });
  return frame;
}

function drawCursor(c, data, { X, top, bottom, height }, now) {
  const first = data.x[0], last = data.x[data.x.length - 1], slack = 1e-6 * (last - first);
  if (now < first - slack || now > last + slack) return;
  const [i, f] = place(data.x, now), at = X(now);
  c.strokeStyle = soft; c.lineWidth = 1;
  c.beginPath(); c.moveTo(at, top); c.lineTo(at, bottom); c.stroke();
  data.lines.forEach((line, k) => {
    const a = line.y[i], b = line.y[i + 1], v = a === null || b === null || b === undefined ? null : height(a + f * (b - a));
    if (v === null) return;
    c.fillStyle = strokeOf(k);
    c.beginPath(); c.arc(at, v, 3.4, 0, 7); c.fill();
  });
}

function makeMap(parent, data) {
  const box = element("section", "block map");
  box.append(element("h2", "", data.title));
  parent.append(box);
  const largest = data.z.flat().reduce((most, x) => Math.max(most, Math.abs(x || 0)), 0) || 1;
  const picture = mapPicture(data, largest), zero = zeroLines(data);
  let now = null;
  const view = canvasIn(box, (c, w, h) => drawMap(c, w, h, data, picture, zero, largest, now));
  const entries = data.traces.map((trace, i) => [trace.name, i ? bright[i % bright.length] : "#ffffff"]);
  if (zero.length) entries.push([data.zero, "#58c4c4"]);
  if (entries.length) box.append(legend(entries));
  if (data.note) box.append(element("p", "", data.note));
  return { show(t) { now = t; view.redraw(); } };
}

function mapPicture(data, largest) {
  const canvas = element("canvas"), n = data.x.length, m = data.y.length;
  canvas.width = n; canvas.height = m;
  const c = canvas.getContext("2d"), image = c.createImageData(n, m);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++) {
      const at = 4 * ((m - 1 - j) * n + i), color = diverging((data.z[i][j] || 0) / largest);
      image.data.set([...color, 255], at);
    }
  c.putImageData(image, 0, 0);
  return canvas;
}

// Marching squares: where the map changes sign, as line segments in map coordinates.
function zeroLines(data) {
  const out = [], { x, y, z } = data;
  const cut = (a, b, za, zb) => { const w = za / (za - zb); return [a[0] + w * (b[0] - a[0]), a[1] + w * (b[1] - a[1])]; };
  for (let i = 0; i + 1 < x.length; i++)
    for (let j = 0; j + 1 < y.length; j++) {
      const p = [[x[i], y[j]], [x[i + 1], y[j]], [x[i + 1], y[j + 1]], [x[i], y[j + 1]]];
      const v = [z[i][j], z[i + 1][j], z[i + 1][j + 1], z[i][j + 1]], points = [];
      for (let k = 0; k < 4; k++) if (v[k] > 0 !== v[(k + 1) % 4] > 0) points.push(cut(p[k], p[(k + 1) % 4], v[k], v[(k + 1) % 4]));
      for (let k = 0; k + 1 < points.length; k += 2) out.push([points[k], points[k + 1]]);
    }
  return out;
}

function drawMap(c, w, h, data, picture, zero, largest, now) {
  const [width, height] = data.equal ? roundSize(w, h, data) : [w, h];
  c.save();
  c.translate((w - width) / 2, (h - height) / 2);
  drawMapIn(c, width, height, data, picture, zero, largest, now);
  c.restore();
}

// The part of a canvas in which both coordinates have the same scale; numbers, labels and color bar take their room.
function roundSize(w, h, data) {
  const side = 52 + 12 + 58, above = 8 + 34, span = (x) => Math.abs(x[x.length - 1] - x[0]);
  const scale = Math.min((w - side) / span(data.x), (h - above) / span(data.y));
  return [side + scale * span(data.x), above + scale * span(data.y)];
}

function drawMapIn(c, w, h, data, picture, zero, largest, now) {
  const bar = 58, xs = [data.x[0], data.x[data.x.length - 1]], ys = [data.y[0], data.y[data.y.length - 1]];
  const { X, Y, left, right, top, bottom } = frameOf(c, w - bar, h, xs, ys, data.xLabel, false);
  c.imageSmoothingEnabled = true; c.imageSmoothingQuality = "high";
  c.drawImage(picture, 0.5, 0.5, picture.width - 1, picture.height - 1, left, top, right - left, bottom - top);
  c.save(); c.translate(11, (top + bottom) / 2); c.rotate(-Math.PI / 2);
  c.fillStyle = soft; c.textAlign = "center"; c.textBaseline = "middle"; c.fillText(data.yLabel, 0, 0); c.restore();
  c.strokeStyle = "#58c4c4"; c.lineWidth = 1.4; c.setLineDash([5, 4]);
  c.beginPath();
  for (const [a, b] of zero) { c.moveTo(X(a[0]), Y(a[1])); c.lineTo(X(b[0]), Y(b[1])); }
  c.stroke(); c.setLineDash([]);
  data.traces.forEach((trace, k) => drawTrace(c, trace, X, Y, k ? bright[k % bright.length] : "#ffffff", now));
  drawBar(c, right + 16, top, bottom, largest, data.unit);
}

function drawTrace(c, trace, X, Y, color, now) {
  c.strokeStyle = color; c.lineWidth = 2; c.lineJoin = "round";
  c.beginPath();
  trace.x.forEach((x, i) => (i ? c.lineTo(X(x), Y(trace.y[i])) : c.moveTo(X(x), Y(trace.y[i]))));
  c.stroke();
  const k = Math.floor(trace.x.length / 2), dx = X(trace.x[k + 1]) - X(trace.x[k]), dy = Y(trace.y[k + 1]) - Y(trace.y[k]);
  if (isFinite(dx) && Math.hypot(dx, dy) > 0) arrow(c, X(trace.x[k]), Y(trace.y[k]), Math.atan2(dy, dx), color);
  if (now === null || !trace.t.length) return;
  const [i, f] = place(trace.t, now), at = (v) => v[i] + f * (v[i + 1] - v[i]);
  c.fillStyle = accent; c.strokeStyle = "#1c130a"; c.lineWidth = 2;
  c.beginPath(); c.arc(X(at(trace.x)), Y(at(trace.y)), 6.5, 0, 7); c.fill(); c.stroke();
}

function arrow(c, x, y, angle, color) {
  c.save(); c.translate(x, y); c.rotate(angle); c.fillStyle = color;
  c.beginPath(); c.moveTo(9, 0); c.lineTo(-5, 6); c.lineTo(-5, -6); c.closePath(); c.fill(); c.restore();
}

function drawBar(c, x, top, bottom, largest, unit) {
  const height = bottom - top - 18;
  for (let k = 0; k < height; k++) {
    const color = diverging(1 - (2 * k) / height);
    c.fillStyle = `rgb(${color.join(",")})`;
    c.fillRect(x, top + k, 12, 1.5);
  }
  c.fillStyle = soft; c.textAlign = "left"; c.textBaseline = "middle"; c.font = "11px system-ui, sans-serif";
  for (const v of ticks(-largest, largest, 6)) c.fillText(label(v), x + 17, top + (height * (1 - v / largest)) / 2);
  c.textAlign = "center"; c.textBaseline = "top"; c.fillText(unit, x + 14, bottom - 10);
}
