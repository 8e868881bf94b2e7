"use strict";
// Small things that scenes and charts share: canvases that are sharp, ticks, colors.

const light = matchMedia("(prefers-color-scheme: light)");
light.addEventListener("change", () => location.reload()); // canvases have drawn with the colors of before
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ink = themed("--ink"), soft = themed("--soft"), edge = themed("--edge"), accent = "#f0a35e";
const bright = ["#f0a35e", "#5aa9e6", "#7bc47f", "#c78be0", "#e6c35a", "#e0707a", "#58c4c4", "#9aa5b8"]; // on maps, always
const strokes = light.matches ? ["#b85c00", "#1f6fd0", "#227a48", "#8e4bb8", "#8a6d00", "#c0392b", "#007a85", "#5c6678"] : bright;
const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3]]; // after every color once, the next dash: 32 series differ

const strokeOf = (i) => strokes[i % strokes.length];
const dashOf = (i) => dashes[Math.floor(i / strokes.length) % dashes.length];

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text; // text, never markup
  return made;
}

// A canvas that fills its place; draw(context, width, height) in CSS pixels, again whenever the size changes.
function canvasIn(parent, draw) {
  const canvas = element("canvas");
  parent.append(canvas);
  const context = canvas.getContext("2d");
  const redraw = () => {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    const w = Math.round(width * ratio), h = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  window.addEventListener("resize", redraw);
  return { canvas, redraw };
}

function ticks(low, high, count) {
  const span = high - low || 1, raw = span / Math.max(count, 1), power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 2.5, 5, 10].map((x) => x * power).find((x) => x >= raw * 0.75);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span; k++) out.push(k * step);
  return out;
}

function label(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(0).replace("+", "");
  return String(parseFloat(value.toPrecision(4)));
}

// From blue through the panel's grey to orange: zero is where nothing turns.
function diverging(x) {
  const stops = [[-1, [38, 110, 214]], [-0.5, [92, 160, 226]], [0, [34, 42, 60]], [0.5, [224, 140, 76]], [1, [255, 214, 130]]];
  const v = Math.max(-1, Math.min(1, x));
  let i = 0;
  while (i < stops.length - 2 && v > stops[i + 1][0]) i++;
  const [a, from] = stops[i], [b, to] = stops[i + 1], w = (v - a) / (b - a);
  return from.map((c, k) => Math.round(c + w * (to[k] - c)));
}

function shade(color, factor) {
  const n = parseInt(color.slice(1), 16);
  const mix = (c) => Math.max(0, Math.min(255, Math.round(factor <= 1 ? c * factor : c + (255 - c) * (factor - 1))));
  return `rgb(${mix((n >> 16) & 255)},${mix((n >> 8) & 255)},${mix(n & 255)})`;
}

// Where t lies in increasing times: index and fraction.
function place(times, t) {
  let low = 0, high = times.length - 1;
  if (high < 1 || t <= times[0]) return [0, 0];
  if (t >= times[high]) return [high - 1, 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  return [low, (t - times[low]) / (times[high] - times[low])];
}
