// Triangles on a canvas by WebGL 2: depth, light, shadows on the floor, a grid that fades.

const SOLID_VERTEX = `#version 300 es
uniform mat4 view, pose;
uniform vec3 stretch, light;
uniform vec4 ground; // normal and height of the floor
uniform float flatten;
in vec4 position;
in vec3 normal;
in vec4 color;
out vec3 n, p;
out vec4 c;
void main() {
  vec3 at = (pose * vec4(position.xyz, 1.0)).xyz + position.w * stretch;
  if (flatten > 0.0) at -= light * max(dot(ground.xyz, at) - ground.w, 0.0) / dot(ground.xyz, light);
  n = mat3(pose) * normal; p = at; c = color;
  gl_Position = view * vec4(at, 1.0);
}`;
const SOLID_FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 eye, light;
uniform vec4 tint;
uniform float flatten;
in vec3 n, p;
in vec4 c;
out vec4 pixel;
void main() {
  vec4 base = c * tint;
  if (flatten > 0.0) { pixel = vec4(0.0, 0.0, 0.0, flatten); return; }
  vec3 toward = normalize(eye - p), face = normalize(n);
  if (dot(face, toward) < 0.0) face = -face; // files do not agree on which side is out
  float key = max(dot(face, light), 0.0), sky = 0.5 + 0.5 * face.z, head = max(dot(face, toward), 0.0);
  float shine = pow(max(dot(face, normalize(light + toward)), 0.0), 40.0);
  vec3 lifted = 0.07 + 0.93 * base.rgb; // black parts are seen too
  pixel = vec4(lifted * (0.18 + 0.2 * sky + 0.52 * key + 0.26 * head) + 0.16 * shine, base.a);
}`;
const FLOOR_VERTEX = `#version 300 es
uniform mat4 view, pose;
uniform vec3 middle;
uniform float reach;
in vec4 position;
out vec2 at;
void main() { at = middle.xy + reach * position.xy; gl_Position = view * pose * vec4(at, 0.0, 1.0); }`;
const FLOOR_FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 middle;
uniform float reach, cell;
in vec2 at;
out vec4 pixel;
float lines(float size) {
  vec2 w = fwidth(at / size), d = abs(fract(at / size - 0.5) - 0.5) / w;
  return (1.0 - min(min(d.x, d.y), 1.0)) * clamp(1.2 - 3.0 * max(w.x, w.y), 0.0, 1.0);
}
void main() {
  float fade = 1.0 - smoothstep(0.15, 1.0, length(at - middle.xy) / reach);
  pixel = vec4(0.60, 0.68, 0.84, fade * (0.05 + 0.22 * lines(cell) + 0.2 * lines(5.0 * cell)));
}`;
const SKY_VERTEX = `#version 300 es
in vec4 position;
out float high;
void main() { high = 0.5 + 0.5 * position.y; gl_Position = vec4(position.xy, 1.0, 1.0); }`;
const SHEET_FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D sheet;
out vec4 pixel;
void main() { pixel = texelFetch(sheet, ivec2(gl_FragCoord.xy), 0); }`;
const SKY_FRAGMENT = `#version 300 es
precision highp float;
in float high;
out vec4 pixel;
void main() { pixel = vec4(mix(vec3(0.082, 0.109, 0.165), vec3(0.161, 0.216, 0.333), high), 1.0); }`;

const LIGHT = [0.3, -0.42, 0.856];
const SQUARE = new Float32Array([-1, -1, 0, 0, 1, -1, 0, 0, 1, 1, 0, 0, -1, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0]);

// null where the browser cannot.
function makeRenderer(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: smooth(), stencil: true, alpha: false, preserveDrawingBuffer: true });
  if (!gl) return null;
  const solid = program(gl, SOLID_VERTEX, SOLID_FRAGMENT), floor = program(gl, FLOOR_VERTEX, FLOOR_FRAGMENT);
  const sky = program(gl, SKY_VERTEX, SKY_FRAGMENT), sheet = program(gl, SKY_VERTEX, SHEET_FRAGMENT), kept = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, kept);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  const square = buffers(gl, { position: SQUARE });
  gl.enable(gl.DEPTH_TEST);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  const plain = (used, numbers) => {
    gl.useProgram(used.made);
    for (const [name, x] of Object.entries(numbers))
      if (x.length === 16) gl.uniformMatrix4fv(used.at(name), false, x);
      else if (x.length) gl.uniform3fv(used.at(name), x);
      else gl.uniform1f(used.at(name), x);
    gl.disable(gl.DEPTH_TEST); gl.enable(gl.BLEND);
    draw(gl, square);
    gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND);
  };
  return {
    upload: (triangles) => (triangles.position.length ? buffers(gl, triangles) : null),
    begin(view, eye) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
      plain(sky, {});
      gl.useProgram(solid.made);
      gl.uniformMatrix4fv(solid.at("view"), false, view);
      gl.uniform3fv(solid.at("eye"), eye);
      gl.uniform3fv(solid.at("light"), LIGHT);
    },
    // The picture so far, to begin the next ones with.
    keep: () => gl.copyTexImage2D(gl.TEXTURE_2D, 0, gl.RGB, 0, 0, canvas.width, canvas.height, 0),
    recall: () => plain(sheet, {}),
    floor: (numbers) => plain(floor, numbers),
    solid(mesh, pose, tint = [1, 1, 1, 1], stretch = [0, 0, 0]) {
      gl.uniformMatrix4fv(solid.at("pose"), false, pose);
      gl.uniform4fv(solid.at("tint"), tint);
      gl.uniform3fv(solid.at("stretch"), stretch);
      draw(gl, mesh);
    },
    // What `paint` draws, as one shadow: no place gets darker twice.
    shadow(paint, ground, dark) {
      gl.useProgram(solid.made);
      gl.uniform4fv(solid.at("ground"), ground);
      gl.uniform1f(solid.at("flatten"), dark);
      gl.enable(gl.BLEND); gl.enable(gl.STENCIL_TEST); gl.disable(gl.DEPTH_TEST);
      gl.stencilFunc(gl.EQUAL, 0, 255); gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      paint();
      gl.disable(gl.BLEND); gl.disable(gl.STENCIL_TEST); gl.enable(gl.DEPTH_TEST);
      gl.uniform1f(solid.at("flatten"), 0);
    },
    // What `paint` draws, as one faint picture: first its depth alone, then what is in front.
    faint(paint, opacity) {
      gl.useProgram(solid.made);
      gl.colorMask(false, false, false, false);
      paint(1);
      gl.colorMask(true, true, true, true);
      gl.enable(gl.BLEND); gl.depthFunc(gl.LEQUAL);
      paint(opacity);
      gl.disable(gl.BLEND); gl.depthFunc(gl.LESS);
    },
    clear: (paint) => { gl.useProgram(solid.made); gl.enable(gl.BLEND); gl.depthMask(false); paint(); gl.depthMask(true); gl.disable(gl.BLEND); },
    forget: () => { gl.useProgram(solid.made); gl.clear(gl.DEPTH_BUFFER_BIT); },
  };
}

// Whether edges are smoothed: not where the processor draws all pixels, unless it is asked to take its time.
function smooth() {
  const gl = element("canvas").getContext("webgl2"), name = gl ? String(gl.getParameter(gl.RENDERER)) : "";
  const slow = /swiftshader|llvmpipe|software/i.test(name + (gl?.getExtension("WEBGL_debug_renderer_info") ? gl.getParameter(37446) : ""));
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return !slow || Boolean(window.fallingcatSmooth);
}

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(made, shader);
  }
  ["position", "normal", "color"].forEach((name, i) => gl.bindAttribLocation(made, i, name));
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const places = {};
  return { made, at: (name) => (name in places ? places[name] : (places[name] = gl.getUniformLocation(made, name))) };
}

// Arrays, or lists of arrays, on the graphics card; positions have three numbers a corner, or four.
function buffers(gl, { position, normal, color }) {
  const set = gl.createVertexArray();
  gl.bindVertexArray(set);
  const fill = (place, data, size, type, scaled) => {
    if (!data) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, scaled, 0, 0);
  };
  const points = joined(position, Float32Array), normals = normal && joined(normal, Float32Array);
  const size = normals ? (3 * points.length) / normals.length : 4;
  fill(0, points, size, gl.FLOAT, false);
  fill(1, normals, 3, gl.FLOAT, false);
  fill(2, color && joined(color, Uint8Array), 4, gl.UNSIGNED_BYTE, true);
  return { set, count: points.length / size, colored: Boolean(color) };
}

function joined(given, Kind) {
  if (!Array.isArray(given)) return given;
  const out = new Kind(given.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const one of given) { out.set(one, at); at += one.length; }
  return out;
}

function draw(gl, mesh) {
  gl.bindVertexArray(mesh.set);
  if (!mesh.colored) gl.vertexAttrib4f(2, 1, 1, 1, 1);
  gl.drawArrays(gl.TRIANGLES, 0, mesh.count);
}
