// A 3-D scene on a plain canvas: capsules, boxes and triangles, sorted by depth, with shadows on a floor.

function makeScene(parent, data) {
  const box = element("section", data.strip ? "block scene strip" : "block scene");
  parent.append(box);
  const centers = data.parts.map((part) => part.shapes.map(middleOf));
  const bounds = boundsOf(data, centers, data.follow === true ? 1 : data.t.length);
  const target = bounds.low.map((x, i) => (x + bounds.high[i]) / 2);
  const camera = {
    azimuth: (data.azimuth * Math.PI) / 180, elevation: (data.elevation * Math.PI) / 180,
    distance: 3.0 * bounds.size, focal: 2.3, target, fit: bounds,
  };
  let now = data.t[0];
  const view = canvasIn(box, (c, w, h) => drawScene(c, w, h, data, camera, now));
  if (data.caption) box.append(element("p", "caption", data.caption));
  box.append(element("p", "hint", "drag to look around, scroll to zoom"));
  dragging(view.canvas, camera, view.redraw);
  const first = data.t[0], length = data.t[data.t.length - 1] - first;
  const round = (t) => first + ((((t - first) % length) + length) % length);
  return { show(t) { now = data.strip && t !== null ? round(t) : t; view.redraw(); } };
}

function middleOf(shape) {
  if (shape.kind === "capsule") return shape.a.map((x, i) => (x + shape.b[i]) / 2);
  return shape.kind === "box" ? shape.c : [0, 1, 2].map((i) => (shape.p[0][i] + shape.p[1][i] + shape.p[2][i]) / 3);
}

function boundsOf(data, centers, count) {
  const low = [Infinity, Infinity, data.floor && data.follow !== true ? 0 : Infinity], high = [-Infinity, -Infinity, -Infinity];
  data.parts.forEach((part, k) => {
    for (let i = 0; i < count; i++)
      for (const center of centers[k]) {
        const p = apply(poseAt(part, i, 0), center);
        for (let a = 0; a < 3; a++) { low[a] = Math.min(low[a], p[a] - 0.06); high[a] = Math.max(high[a], p[a] + 0.06); }
      }
  });
  if (!isFinite(high[0])) return { low: [-1, -1, 0], high: [1, 1, 1], size: 1 };
  const wide = Math.hypot(high[0] - low[0], high[1] - low[1]), tall = Math.max(high[2] - low[2], 0.05);
  if (data.strip) return { low, high, size: tall, wide };
  if (data.follow === "level") return { low, high, size: 1.1 * tall };
  return { low, high, size: Math.max(wide, tall) * (data.follow ? 2 : 1) };
}

function middleOfAll(data, index, fraction) {
  const sum = [0, 0, 0];
  for (const part of data.parts) {
    const pose = poseAt(part, index, fraction);
    sum.forEach((_, i) => { sum[i] += pose[4 * i + 3] / data.parts.length; });
  }
  return sum;
}

function poseAt(part, index, fraction) {
  const at = 12 * index, out = new Array(12), poses = part.poses;
  for (let i = 0; i < 12; i++) out[i] = fraction ? poses[at + i] + fraction * (poses[at + 12 + i] - poses[at + i]) : poses[at + i];
  return out;
}

function apply(m, p) {
  return [0, 4, 8].map((r) => m[r] * p[0] + m[r + 1] * p[1] + m[r + 2] * p[2] + m[r + 3]);
}

// World to screen: x right, y down, depth away; `scale` is pixels per meter at that depth.
function projector(camera, width, height) {
  const ca = Math.cos(camera.azimuth), sa = Math.sin(camera.azimuth), ce = Math.cos(camera.elevation), se = Math.sin(camera.elevation);
  const { size, wide } = camera.fit, ratio = wide ? Math.min(height / size, width / wide) : Math.min(height, 1.9 * width) / size;
  const pixels = (0.9 * ratio * camera.distance) / 1.04;
  return (p) => {
    const x = p[0] - camera.target[0], y = p[1] - camera.target[1], z = p[2] - camera.target[2];
    const right = -sa * x + ca * y, out = ca * x + sa * y;
    const up = ce * z - se * out, depth = camera.distance - (se * z + ce * out);
    const scale = pixels / Math.max(depth, 0.05 * camera.distance);
    return { x: width / 2 + scale * right, y: height / 2 - scale * up, depth, scale };
  };
}

function drawScene(c, width, height, data, camera, t) {
  const [index, fraction] = place(data.t, t);
  if (data.follow) camera.target = middleOfAll(data, index, fraction);
  if (data.follow === "level") camera.target[2] = (camera.fit.low[2] + camera.fit.high[2]) / 2;
  const project = projector(camera, width, height);
  if (data.floor) drawFloor(c, project, camera);
  drawGhosts(c, width, height, data, camera, project);
  if (data.floor) drawShadows(c, data, project, index, fraction);
  drawParts(c, data, project, index, fraction);
}

// Faint pictures of other times, on a sheet of their own that is drawn again only when the camera moves.
function drawGhosts(c, width, height, data, camera, project) {
  if (!data.ghosts.length) return;
  const key = [width, height, camera.azimuth, camera.elevation, camera.fit.size].join();
  const ratio = window.devicePixelRatio || 1;
  if (camera.ghostKey !== key) {
    const sheet = element("canvas");
    sheet.width = Math.round(width * ratio); sheet.height = Math.round(height * ratio);
    const g = sheet.getContext("2d");
    g.scale(ratio, ratio);
    for (const ghost of data.ghosts) drawParts(g, data, project, ...place(data.t, ghost));
    camera.ghosts = sheet; camera.ghostKey = key;
  }
  c.globalAlpha = 0.2;
  c.drawImage(camera.ghosts, 0, 0, width, height);
  c.globalAlpha = 1;
}

function drawFloor(c, project, camera) {
  const step = Math.pow(10, Math.floor(Math.log10((camera.fit.wide || camera.fit.size) / 4))) * 2, n = 8;
  const cx = Math.round(camera.target[0] / step) * step, cy = Math.round(camera.target[1] / step) * step;
  c.lineWidth = 1;
  for (let k = -n; k <= n; k++)
    for (let j = -n; j < n; j++) {
      const fade = Math.max(0, 1 - Math.hypot(k, j + 0.5) / n);
      if (fade <= 0) continue;
      c.strokeStyle = `rgba(130,150,190,${0.34 * fade})`;
      for (const [a, b] of [[[k, j], [k, j + 1]], [[j, k], [j + 1, k]]]) {
        const p = project([cx + a[0] * step, cy + a[1] * step, 0]), q = project([cx + b[0] * step, cy + b[1] * step, 0]);
        c.beginPath(); c.moveTo(p.x, p.y); c.lineTo(q.x, q.y); c.stroke();
      }
    }
}

function drawShadows(c, data, project, index, fraction) {
  c.save();
  for (const part of data.parts) {
    const pose = poseAt(part, index, fraction);
    for (const shape of part.shapes) {
      if (shape.kind !== "capsule") continue;
      const a = apply(pose, shape.a), b = apply(pose, shape.b), height = Math.max(0, (a[2] + b[2]) / 2);
      const p = project([a[0], a[1], 0]), q = project([b[0], b[1], 0]);
      c.strokeStyle = `rgba(4,6,12,${0.42 / (1 + 2.5 * height)})`;
      c.lineWidth = Math.max(1, 1.5 * shape.r * p.scale * (1 + 0.5 * height));
      c.lineCap = "round";
      c.beginPath(); c.moveTo(p.x, p.y); c.lineTo(q.x + 0.01, q.y); c.stroke();
    }
  }
  c.restore();
}

function drawParts(c, data, project, index, fraction) {
  const items = [];
  for (const part of data.parts) {
    const pose = poseAt(part, index, fraction);
    for (const shape of part.shapes) itemsOf(shape, pose, project, items);
  }
  items.sort((a, b) => b.depth - a.depth);
  for (const item of items) item.draw(c);
}

function itemsOf(shape, pose, project, items) {
  if (shape.kind === "capsule") return capsuleItems(shape, apply(pose, shape.a), apply(pose, shape.b), project, items);
  if (shape.kind === "triangle") return faceItem(shape.p.map((p) => apply(pose, p)), shape.color, project, items, true);
  const corner = (i, j, k) => apply(pose, shape.c.map((x, a) => x + i * shape.e[0][a] + j * shape.e[1][a] + k * shape.e[2][a]));
  for (const s of [-1, 1]) {
    faceItem([corner(s, -1, -1), corner(s, 1, -1), corner(s, 1, 1), corner(s, -1, 1)], shape.color, project, items);
    faceItem([corner(-1, s, -1), corner(1, s, -1), corner(1, s, 1), corner(-1, s, 1)], shape.color, project, items);
    faceItem([corner(-1, -1, s), corner(1, -1, s), corner(1, 1, s), corner(-1, 1, s)], shape.color, project, items);
  }
}

// Long capsules are cut into pieces that overlap, so that sorting by depth is right for crossing ones.
function capsuleItems(shape, a, b, project, items) {
  const length = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  const count = Math.max(1, Math.min(12, Math.ceil(length / (1.2 * shape.r))));
  const ends = [project(a), project(b)];
  const angle = Math.atan2(ends[1].y - ends[0].y, ends[1].x - ends[0].x);
  const flat = Math.hypot(ends[1].y - ends[0].y, ends[1].x - ends[0].x) < 2;
  for (let k = 0; k < count; k++) {
    const at = (s) => project(a.map((x, i) => x + s * (b[i] - x)));
    const p = at(k / count), q = at((k + 1) / count), radius = Math.max(0.6, (shape.r * (p.scale + q.scale)) / 2);
    const draw = (c) => {
      c.strokeStyle = c.fillStyle = length === 0 || flat ? ball(c, p, radius, shape.color) : tube(c, p, q, angle, radius, shape.color);
      c.lineWidth = 2 * radius; c.lineCap = "round";
      c.beginPath();
      if (length === 0 || flat) { c.arc(p.x, p.y, radius, 0, 7); c.fill(); return; }
      c.moveTo(p.x, p.y); c.lineTo(q.x, q.y); c.stroke();
    };
    items.push({ depth: (p.depth + q.depth) / 2 - 0.5 * shape.r, draw });
  }
}

function ball(c, p, radius, color) {
  const g = c.createRadialGradient(p.x - 0.35 * radius, p.y - 0.45 * radius, 0.1 * radius, p.x, p.y, 1.05 * radius);
  g.addColorStop(0, shade(color, 1.35)); g.addColorStop(0.55, shade(color, 0.95)); g.addColorStop(1, shade(color, 0.5));
  return g;
}

// Light comes from above: across the tube it falls on the side that points up on the screen.
function tube(c, p, q, angle, radius, color) {
  let nx = -Math.sin(angle), ny = Math.cos(angle);
  if (ny > 0 || (Math.abs(ny) < 1e-6 && nx > 0)) { nx = -nx; ny = -ny; }
  const x = (p.x + q.x) / 2, y = (p.y + q.y) / 2;
  const g = c.createLinearGradient(x + nx * radius, y + ny * radius, x - nx * radius, y - ny * radius);
  g.addColorStop(0, shade(color, 0.86)); g.addColorStop(0.28, shade(color, 1.3));
  g.addColorStop(0.6, shade(color, 0.9)); g.addColorStop(1, shade(color, 0.46));
  return g;
}

function faceItem(corners, color, project, items, always) {
  const p = corners.map(project), [a, b, d] = corners;
  const u = b.map((x, i) => x - a[i]), v = d.map((x, i) => x - a[i]);
  const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
  const light = Math.abs(0.25 * n[0] + 0.35 * n[1] + 0.9 * n[2]) / (Math.hypot(...n) || 1);
  const depth = p.reduce((s, x) => s + x.depth, 0) / p.length;
  items.push({ depth: always ? depth - 0.01 : depth, draw(c) {
    c.fillStyle = shade(color, 0.5 + 0.6 * light);
    c.beginPath(); p.forEach((x, i) => (i ? c.lineTo(x.x, x.y) : c.moveTo(x.x, x.y))); c.closePath(); c.fill();
  } });
}

function dragging(canvas, camera, redraw) {
  let last = null;
  canvas.addEventListener("pointerdown", (e) => { last = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { last = null; });
  canvas.addEventListener("pointermove", (e) => {
    if (!last) return;
    camera.azimuth -= (e.clientX - last[0]) * 0.008;
    camera.elevation = Math.max(-0.2, Math.min(1.5, camera.elevation + (e.clientY - last[1]) * 0.006));
    last = [e.clientX, e.clientY];
    redraw();
  });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const factor = Math.exp(0.001 * e.deltaY), { size, wide } = camera.fit;
    camera.fit = { ...camera.fit, size: size * factor, wide: wide && wide * factor };
    redraw();
  }, { passive: false });
}
