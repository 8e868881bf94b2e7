// Solids as triangles: for every corner a position, a normal and a color.

const CREASE = Math.cos((35 * Math.PI) / 180); // edges that are sharper stay sharp

// Everything of a part but its capsules, in two lists: what is opaque, and what is not.
function trianglesOf(shapes, meshes) {
  const lists = { opaque: { position: [], normal: [], color: [] }, clear: { position: [], normal: [], color: [] } };
  for (const shape of shapes) {
    if (shape.kind === "capsule") continue;
    const { position, normal } = cornersOf(shape, meshes), out = (shape.opacity ?? 1) < 1 ? lists.clear : lists.opaque;
    const color = [...rgb(shape.color), Math.round(255 * (shape.opacity ?? 1))];
    out.position.push(position); out.normal.push(normal);
    out.color.push(repeated(color, position.length / 3));
  }
  return lists;
}

function rgb(color) {
  const n = parseInt(color.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

function repeated(color, count) {
  const out = new Uint8Array(4 * count);
  for (let i = 0; i < out.length; i++) out[i] = color[i & 3];
  return out;
}

function cornersOf(shape, meshes) {
  if (shape.kind === "triangle") return withNormals(new Float32Array(shape.p.flat()), new Uint32Array([0, 1, 2]));
  if (shape.kind === "mesh") {
    const { points, faces } = meshes[shape.mesh], moved = new Float32Array(points.length), m = shape.m;
    for (let i = 0; i < points.length; i += 3)
      for (let r = 0; r < 3; r++)
        moved[i + r] = m[4 * r] * points[i] + m[4 * r + 1] * points[i + 1] + m[4 * r + 2] * points[i + 2] + m[4 * r + 3];
    return withNormals(moved, faces);
  }
  const points = [];
  for (let k = 0; k < 8; k++)
    for (let a = 0; a < 3; a++)
      points.push(shape.c[a] + (k & 1 ? 1 : -1) * shape.e[0][a] + (k & 2 ? 1 : -1) * shape.e[1][a] + (k & 4 ? 1 : -1) * shape.e[2][a]);
  const sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
  return withNormals(new Float32Array(points), new Uint32Array(sides.flatMap(([a, b, c, d]) => [a, b, c, a, c, d])));
}

// Corners one by one; each normal is the mean of the faces around its vertex that are nearly in its own face's plane.
function withNormals(points, faces) {
  const count = faces.length / 3, flat = new Float32Array(3 * count), unit = new Float32Array(3 * count);
  const around = new Uint32Array(points.length / 3 + 1);
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [3 * faces[3 * f], 3 * faces[3 * f + 1], 3 * faces[3 * f + 2]];
    const u = [0, 1, 2].map((k) => points[b + k] - points[a + k]), v = [0, 1, 2].map((k) => points[c + k] - points[a + k]);
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const size = Math.hypot(n[0], n[1], n[2]) || 1e-30;
    for (let k = 0; k < 3; k++) { flat[3 * f + k] = n[k]; unit[3 * f + k] = n[k] / size; around[faces[3 * f + k] + 1]++; }
  }
  for (let i = 1; i < around.length; i++) around[i] += around[i - 1];
  const next = around.slice(), near = new Uint32Array(faces.length);
  for (let i = 0; i < faces.length; i++) near[next[faces[i]]++] = Math.floor(i / 3);
  const position = new Float32Array(3 * faces.length), normal = new Float32Array(3 * faces.length);
  for (let i = 0; i < faces.length; i++) {
    const vertex = faces[i], f = 3 * Math.floor(i / 3), sum = [0, 0, 0];
    for (let j = around[vertex]; j < around[vertex + 1]; j++) {
      const g = 3 * near[j];
      if (unit[f] * unit[g] + unit[f + 1] * unit[g + 1] + unit[f + 2] * unit[g + 2] >= CREASE)
        for (let k = 0; k < 3; k++) sum[k] += flat[g + k];
    }
    const size = Math.hypot(...sum) || 1e-30;
    for (let k = 0; k < 3; k++) { position[3 * i + k] = points[3 * vertex + k]; normal[3 * i + k] = sum[k] / size; }
  }
  return { position, normal };
}

// Quantised vertices and faces out of base 64.
function decoded(mesh) {
  const whole = bytes(mesh.v), steps = new Uint16Array(whole.buffer), points = new Float32Array(steps.length);
  for (let i = 0; i < steps.length; i++) points[i] = mesh.low[i % 3] + mesh.step[i % 3] * steps[i];
  const raw = bytes(mesh.f);
  return { points, faces: mesh.wide ? new Uint32Array(raw.buffer) : Uint32Array.from(new Uint16Array(raw.buffer)) };
}

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

// A ball cut at its equator: the half with w = 1 is moved along the capsule.
function unitCapsule(rings = 6, sides = 22) {
  const position = [], normal = [];
  const at = (i, j, w) => {
    const e = (w ? 1 : -1) * (Math.PI / 2) * (1 - i / rings), a = (2 * Math.PI * j) / sides;
    return [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e), w];
  };
  const quad = (a, b, c, d) => { for (const p of [a, b, c, a, c, d]) { position.push(...p); normal.push(p[0], p[1], p[2]); } };
  for (let j = 0; j < sides; j++) {
    for (let i = 0; i < rings; i++) for (const w of [0, 1]) quad(at(i, j, w), at(i, j + 1, w), at(i + 1, j + 1, w), at(i + 1, j, w));
    quad(at(rings, j, 0), at(rings, j + 1, 0), at(rings, j + 1, 1), at(rings, j, 1));
  }
  return { position: new Float32Array(position), normal: new Float32Array(normal) };
}

// A cone from a disc of radius 1 at z = 0 to its tip at z = 1.
function unitCone(sides = 24) {
  const points = [0, 0, 1, 0, 0, 0], faces = [];
  for (let j = 0; j < sides; j++) {
    const a = (2 * Math.PI * j) / sides, next = (j + 1) % sides;
    points.push(Math.cos(a), Math.sin(a), 0);
    faces.push(0, 2 + j, 2 + next, 1, 2 + next, 2 + j);
  }
  return withNormals(new Float32Array(points), new Uint32Array(faces));
}
