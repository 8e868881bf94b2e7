// A 3-D scene: parts that move, what is drawn beside them, and the camera.

const VIEW = 26 * (Math.PI / 180); // angle from the lower to the upper edge of the picture

function makeScene(parent, data) {
  const box = element("section", data.strip ? "block scene strip" : "block scene"), canvas = element("canvas");
  parent.append(box);
  box.append(canvas);
  if (data.caption) box.append(element("p", "caption", data.caption));
  const renderer = makeRenderer(canvas);
  if (!renderer) {
    box.append(element("p", "hint", "nothing is drawn here: this browser has no WebGL 2, or it is switched off"));
    return { show() {} };
  }
  box.append(element("p", "hint", [...data.notes, "drag to look around, scroll to zoom"].join(" · ")));
  const meshes = data.meshes.map(decoded), parts = data.parts.map((part) => uploaded(part, meshes, renderer));
  const ground = uploaded({ shapes: data.ground }, meshes, renderer);
  const world = { data, canvas, renderer, parts, ground, capsule: renderer.upload(unitCapsule()), cone: renderer.upload(unitCone()), shown: new Set() };
  for (const extra of data.extras) if (extra.shown) world.shown.add(extra.name);
  const camera = { azimuth: radians(data.azimuth), elevation: radians(data.elevation), zoom: 1 };
  const outline = outlineOf(world);
  let now = data.t[0];
  const redraw = () => {
    const ratio = window.devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    fit(camera, outline, width / height);
    drawScene(world, camera, width / height, now);
  };
  window.addEventListener("resize", redraw);
  box.append(switches(world, redraw));
  dragging(canvas, camera, redraw);
  const first = data.t[0], length = data.t[data.t.length - 1] - first;
  const round = (t) => first + ((((t - first) % length) + length) % length);
  return { canvas, parts, show(t) { now = data.strip && t !== null ? round(t) : t; redraw(); } };
}

const radians = (degrees) => (degrees * Math.PI) / 180;

// The triangles of a part on the graphics card, its capsules, and the corners of a box around them all.
function uploaded(part, meshes, renderer) {
  const { opaque, clear } = trianglesOf(part.shapes, meshes), low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  const around = (p, r) => { for (let a = 0; a < 3; a++) { low[a] = Math.min(low[a], p[a] - r); high[a] = Math.max(high[a], p[a] + r); } };
  for (const list of [...opaque.position, ...clear.position])
    for (let i = 0; i < list.length; i += 3) around([list[i], list[i + 1], list[i + 2]], 0);
  const capsules = part.shapes.filter((shape) => shape.kind === "capsule"), corners = [];
  if (high[0] >= low[0]) for (let k = 0; k < 8; k++) corners.push([0, 1, 2].map((a) => (k & (1 << a) ? high : low)[a]));
  return { ...part, opaque: renderer.upload(opaque), clear: renderer.upload(clear), capsules, corners };
}

function switches(world, redraw) {
  const bar = element("div", "switches");
  for (const { name } of world.data.extras) {
    const button = element("button", "", name);
    button.type = "button";
    const mark = () => button.setAttribute("aria-pressed", world.shown.has(name));
    button.addEventListener("click", () => {
      if (!world.shown.delete(name)) world.shown.add(name);
      mark(); redraw();
    });
    mark();
    bar.append(button);
  }
  return bar;
}

function poseAt(poses, index, fraction) {
  const at = 12 * index, out = new Array(12);
  for (let i = 0; i < 12; i++) out[i] = fraction ? poses[at + i] + fraction * (poses[at + 12 + i] - poses[at + i]) : poses[at + i];
  return out;
}

function apply(m, p) {
  return [0, 4, 8].map((r) => m[r] * p[0] + m[r + 1] * p[1] + m[r + 2] * p[2] + m[r + 3]);
}

function pointAt(points, index, fraction, k, count) {
  const at = 3 * (index * count + k), next = 3 * count;
  return [0, 1, 2].map((a) => points[at + a] + (fraction ? fraction * (points[at + next + a] - points[at + a]) : 0));
}

// the camera ------------------------------------------------------------------------------------------------------------

// Points that the picture has to hold over the whole run; seen from the middle of the robot where the camera follows it.
function outlineOf({ data, parts }) {
  const points = [], low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity], levels = [];
  const stride = Math.max(1, Math.floor(data.t.length / 60));
  for (let i = 0; i < data.t.length; i += stride) {
    const from = data.follow ? middleOfAll(parts, i, 0) : [0, 0, 0];
    if (data.follow === "level") { levels.push(from[2]); from[2] = 0; }
    const take = (p, r) => {
      const q = p.map((x, a) => x - from[a]);
      for (let a = 0; a < 3; a++) { low[a] = Math.min(low[a], q[a] - r); high[a] = Math.max(high[a], q[a] + r); }
      points.push([...q, r]);
    };
    for (const part of parts) {
      const pose = poseAt(part.poses, i, 0);
      for (const corner of part.corners) take(apply(pose, corner), 0);
      for (const { a, b, r } of part.capsules) { take(apply(pose, a), r); take(apply(pose, b), r); }
    }
    for (const { starts, vectors } of data.extras.filter((extra) => extra.kind === "arrows"))
      for (let k = 0, count = starts.length / (3 * data.t.length); k < count; k++) {
        const way = pointAt(vectors, i, 0, k, count);
        if (Math.hypot(...way)) take(pointAt(starts, i, 0, k, count).map((x, a) => x + way[a]), 0);
      }
    if (data.floor && data.follow !== true) take(apply(data.floor, downTo(data.floor, from.map((x, a) => x + (low[a] + high[a]) / 2))), 0);
  }
  if (!points.length) return { points: [[0, 0, 0, 1]], low: [-1, -1, -1], high: [1, 1, 1], size: 1 };
  return { points, low, high, size: Math.max(...high.map((x, a) => x - low[a])) };
}

function middleOfAll(parts, index, fraction) {
  const sum = [0, 0, 0];
  for (const part of parts) {
    const pose = poseAt(part.poses, index, fraction);
    sum.forEach((_, i) => { sum[i] += pose[4 * i + 3] / parts.length; });
  }
  return sum;
}

function axesOf({ azimuth, elevation }) {
  const ca = Math.cos(azimuth), sa = Math.sin(azimuth), ce = Math.cos(elevation), se = Math.sin(elevation);
  return { right: [-sa, ca, 0], up: [-se * ca, -se * sa, ce], back: [ce * ca, ce * sa, se] };
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

// Middle and distance at which all points are in the picture, with a margin; again only where its sides have changed.
function fit(camera, outline, aspect) {
  if (camera.aspect === aspect) return;
  camera.aspect = aspect; camera.outline = outline;
  const { right, up, back } = axesOf(camera), tall = 0.9 * Math.tan(VIEW / 2), wide = tall * aspect;
  const seen = outline.points.map((p) => [dot(p, right), dot(p, up), dot(p, back), p[3]]);
  let x = 0, y = 0, distance = 0;
  const enough = ([a, b, c, r]) => c + Math.max((Math.abs(a - x) + r) / wide, (Math.abs(b - y) + r) / tall);
  for (let round = 0; round < 8; round++) { // near points ask for more: the middle moves with the distance
    distance = Math.max(...seen.map(enough));
    const reach = (k, sign, from) => Math.max(...seen.map((p) => (sign * (p[k] - from) + p[3]) / (distance - p[2])));
    const near = distance - Math.max(...seen.map((p) => p[2]));
    x += 0.5 * near * (reach(0, 1, x) - reach(0, -1, x));
    y += 0.5 * near * (reach(1, 1, y) - reach(1, -1, y));
  }
  distance = Math.max(...seen.map(enough));
  camera.distance = distance;
  camera.target = [0, 1, 2].map((a) => x * right[a] + y * up[a]);
}

// Column by column: world to clip space, and where the eye is.
function lens(camera, moved) {
  const { right, up, back } = axesOf(camera), distance = camera.distance * camera.zoom;
  const eye = [0, 1, 2].map((a) => camera.target[a] + moved[a] + distance * back[a]);
  const size = camera.outline.size, near = Math.max(0.02 * distance, distance - 6 * size), far = distance + 12 * size;
  const f = 1 / Math.tan(VIEW / 2), g = f / camera.aspect, a = (far + near) / (near - far), b = (2 * far * near) / (near - far);
  const view = [];
  for (let k = 0; k < 3; k++) view.push(g * right[k], f * up[k], a * back[k], -back[k]);
  view.push(-g * dot(right, eye), -f * dot(up, eye), -a * dot(back, eye) + b, dot(back, eye));
  return { view, eye };
}

// one picture -----------------------------------------------------------------------------------------------------------

function drawScene(world, camera, aspect, t) {
  const { data, renderer, parts } = world, [index, fraction] = place(data.t, t);
  const moved = data.follow ? middleOfAll(parts, index, fraction) : [0, 0, 0];
  if (data.follow === "level") moved[2] = 0;
  const { view, eye } = lens(camera, moved);
  renderer.begin(view, eye);
  drawBackground(world, camera, view, moved);
  if (data.floor) {
    const n = [2, 6, 10].map((k) => data.floor[k]), p = [3, 7, 11].map((k) => data.floor[k]);
    renderer.shadow(() => drawParts(world, index, fraction, "opaque"), [...n, dot(n, p)], 0.38);
  }
  renderer.forget();
  if (world.ground.opaque) renderer.solid(world.ground.opaque, IDENTITY);
  drawParts(world, index, fraction, "opaque");
  renderer.clear(() => drawParts(world, index, fraction, "clear"));
  renderer.forget(); // what follows is seen through the robot
  for (const extra of data.extras) if (world.shown.has(extra.name)) EXTRAS[extra.kind](world, camera, extra, index, fraction);
}

// Floor and faint pictures of other times: they are drawn again only when the camera moves.
function drawBackground(world, camera, view, moved) {
  const { data, renderer } = world, key = [...view, world.canvas.width, world.canvas.height].join();
  if (world.key === key) return renderer.recall();
  world.key = key;
  if (data.floor) {
    const { low, high, size } = camera.outline, reach = 1.6 * Math.hypot(high[0] - low[0], high[1] - low[1]) + 2.4 * size;
    const middle = downTo(data.floor, moved.map((x, a) => x + (low[a] + high[a]) / 2));
    renderer.floor({ view, pose: columns(data.floor), middle, reach, cell: Math.pow(10, Math.floor(Math.log10(reach / 6.4))) });
  }
  for (const ghost of data.ghosts) renderer.faint((opacity) => drawParts(world, ...place(data.t, ghost), "opaque", opacity), 0.22);
  renderer.keep();
}

function drawParts(world, index, fraction, which, opacity = 1) {
  for (const part of world.parts) {
    const pose = poseAt(part.poses, index, fraction);
    if (part[which]) world.renderer.solid(part[which], columns(pose), [1, 1, 1, opacity]);
    for (const { a, b, r, color, opacity: own = 1 } of part.capsules)
      if ((own < 1) === (which === "clear")) drawCapsule(world, apply(pose, a), apply(pose, b), r, rgb(color), own * opacity);
  }
}

// The point of the floor below a point, in the coordinates of the floor.
function downTo(floor, p) {
  const way = p.map((x, a) => x - floor[4 * a + 3]);
  return [0, 1].map((k) => way[0] * floor[k] + way[1] * floor[4 + k] + way[2] * floor[8 + k]).concat(0);
}

const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

const columns = (m) => [m[0], m[4], m[8], 0, m[1], m[5], m[9], 0, m[2], m[6], m[10], 0, m[3], m[7], m[11], 1];

function drawCapsule(world, a, b, r, color, opacity) {
  const way = b.map((x, i) => x - a[i]), [u, v, w] = frameAlong(way);
  world.renderer.solid(world.capsule, scaled(u, v, w, [r, r, r], a), [...color.map((x) => x / 255), opacity], way);
}

// Three axes at right angles, the last along a vector.
function frameAlong(way) {
  const length = Math.hypot(...way), w = length ? way.map((x) => x / length) : [0, 0, 1];
  const side = Math.abs(w[2]) < 0.9 ? [-w[1], w[0], 0] : [0, -w[2], w[1]], size = Math.hypot(...side), u = side.map((x) => x / size);
  return [u, [w[1] * u[2] - w[2] * u[1], w[2] * u[0] - w[0] * u[2], w[0] * u[1] - w[1] * u[0]], w];
}

const scaled = (u, v, w, [a, b, c], p) => [...u.map((x) => a * x), 0, ...v.map((x) => b * x), 0, ...w.map((x) => c * x), 0, ...p, 1];

// what is drawn beside the parts ------------------------------------------------------------------------------------------

const EXTRAS = { arrows: drawArrows, dot: drawDot, frames: drawFrames };

function drawArrow(world, from, way, thick, color) {
  const length = Math.hypot(...way);
  if (length < 0.5 * thick) return;
  const [u, v, w] = frameAlong(way), head = Math.min(length, 7 * thick), neck = from.map((x, a) => x + (length - head) * w[a]);
  drawCapsule(world, from, neck, thick, color, 1);
  world.renderer.solid(world.cone, scaled(u, v, w, [2.6 * thick, 2.6 * thick, head], neck), [...color.map((x) => x / 255), 1]);
}

function drawArrows(world, camera, extra, index, fraction) {
  const count = extra.starts.length / (3 * world.data.t.length), thick = 0.0045 * camera.distance * camera.zoom;
  for (let k = 0; k < count; k++) {
    const way = pointAt(extra.vectors, index, fraction, k, count);
    drawArrow(world, pointAt(extra.starts, index, fraction, k, count), way, thick, rgb(extra.color));
  }
}

function drawDot(world, camera, extra, index, fraction) {
  const p = pointAt(extra.points, index, fraction, 0, 1);
  drawCapsule(world, p, p, 0.009 * camera.distance * camera.zoom, rgb(extra.color), 1);
}

function drawFrames(world, camera, extra, index, fraction) {
  const long = 0.05 * camera.distance * camera.zoom, colors = [[235, 96, 96], [110, 205, 120], [96, 150, 245]];
  for (const part of world.parts) {
    const m = poseAt(part.poses, index, fraction), from = [m[3], m[7], m[11]];
    colors.forEach((color, a) => drawArrow(world, from, [m[a], m[4 + a], m[8 + a]].map((x) => long * x), 0.035 * long, color));
  }
}

function dragging(canvas, camera, redraw) {
  let last = null;
  canvas.addEventListener("pointerdown", (e) => { last = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { last = null; });
  canvas.addEventListener("pointermove", (e) => {
    if (!last) return;
    const middle = camera.outline.low.map((x, a) => (x + camera.outline.high[a]) / 2), before = axesOf(camera);
    camera.azimuth -= (e.clientX - last[0]) * 0.008;
    camera.elevation = Math.max(-0.2, Math.min(1.5, camera.elevation + (e.clientY - last[1]) * 0.006));
    turnAbout(camera, middle, before, axesOf(camera));
    last = [e.clientX, e.clientY];
    redraw();
  });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    camera.zoom *= Math.exp(0.001 * e.deltaY);
    redraw();
  }, { passive: false });
}

// The middle of the scene stays where it is in the picture.
function turnAbout(camera, middle, before, after) {
  const way = camera.target.map((x, a) => x - middle[a]);
  const seen = [dot(way, before.right), dot(way, before.up), dot(way, before.back)];
  camera.target = middle.map((x, a) => x + seen[0] * after.right[a] + seen[1] * after.up[a] + seen[2] * after.back[a]);
}
