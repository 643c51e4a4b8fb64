// Courses over time on a canvas: lines, a grid, a legend, and the values under the pointer. Nothing is loaded from anywhere.
"use strict";

const charts = new Map();

/** Shows `lines` ({name, colour, dashed, values}) over `seconds` (ages, in seconds before now, ascending in time). */
function drawChart(canvas, seconds, lines, options) {
  let chart = charts.get(canvas);
  if (!chart) {
    chart = { at: null };
    charts.set(canvas, chart);
    const move = (event) => { chart.at = event.offsetX; paint(canvas, chart); };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerleave", () => { chart.at = null; paint(canvas, chart); });
    new ResizeObserver(() => paint(canvas, chart)).observe(canvas);
  }
  Object.assign(chart, { seconds, lines, options: options || {} });
  paint(canvas, chart);
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function paint(canvas, chart) {
  const { seconds, lines, options } = chart;
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !lines) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, width, height);
  pen.font = (width < 420 ? 11 : 12) + "px system-ui, sans-serif";
  const box = { left: 52, right: width - 8, top: 22, bottom: height - 20 };
  const scale = options.log ? logScale(lines) : linearScale(lines);
  const span = Math.max(60, seconds.length ? seconds[0] : 60);
  const x = (age) => box.right - (age / span) * (box.right - box.left);
  const y = (value) => box.bottom - scale.part(value) * (box.bottom - box.top);
  const show = options.show || ((value) => shortNumber(value));
  pen.textBaseline = "middle";
  for (const tick of scale.ticks) {
    pen.strokeStyle = colour("line");
    pen.beginPath(); pen.moveTo(box.left, y(tick)); pen.lineTo(box.right, y(tick)); pen.stroke();
    pen.fillStyle = colour("faint");
    pen.textAlign = "right";
    pen.fillText(show(tick), box.left - 6, y(tick));
  }
  pen.textBaseline = "alphabetic";
  pen.fillStyle = colour("faint");
  pen.textAlign = "left"; pen.fillText("-" + Math.round(span) + " s", box.left, height - 5);
  pen.textAlign = "right"; pen.fillText("now", box.right, height - 5);
  for (const line of lines) {
    pen.strokeStyle = colour(line.colour);
    pen.lineWidth = line.dashed ? 1.5 : 2;
    pen.setLineDash(line.dashed ? [5, 4] : []);
    pen.beginPath();
    let drawn = false;
    line.values.forEach((value, index) => {
      if (value === null || (options.log && value <= 0)) { drawn = false; return; }
      if (drawn) pen.lineTo(x(seconds[index]), y(value)); else pen.moveTo(x(seconds[index]), y(value));
      drawn = true;
    });
    pen.stroke();
  }
  pen.setLineDash([]);
  let index = lines[0].values.length - 1;
  if (chart.at !== null && seconds.length) {
    const age = ((box.right - chart.at) / (box.right - box.left)) * span;
    index = seconds.reduce((best, other, at) => (Math.abs(other - age) < Math.abs(seconds[best] - age) ? at : best), 0);
    pen.strokeStyle = colour("faint");
    pen.lineWidth = 1;
    pen.beginPath(); pen.moveTo(x(seconds[index]), box.top); pen.lineTo(x(seconds[index]), box.bottom); pen.stroke();
  }
  const gap = width < 420 ? 24 : 30;
  const texts = lines.map(({ name, values }) => {
    const value = values[index];
    return name + (value === undefined || value === null ? "" : " " + show(value));
  });
  const steps = texts.map((text) => gap + pen.measureText(text).width);
  // A legend too long for its place begins at the canvas' edge.
  let left = Math.max(0, Math.min(box.left, width - steps.reduce((sum, step) => sum + step, 0)));
  pen.textAlign = "left";
  lines.forEach((line, at) => {
    pen.strokeStyle = colour(line.colour);
    pen.lineWidth = 3;
    pen.setLineDash(line.dashed ? [4, 3] : []);
    pen.beginPath(); pen.moveTo(left, 9); pen.lineTo(left + 14, 9); pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = colour("ink");
    pen.fillText(texts[at], left + 18, 13);
    left += steps[at];
  });
}

function largest(lines) {
  return Math.max(0, ...lines.flatMap((line) => line.values.filter((value) => value !== null)));
}

function linearScale(lines) {
  const most = largest(lines) || 1;
  const rough = most / 3, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const ticks = [];
  for (let tick = 0; tick <= most + step * 0.999; tick += step) ticks.push(tick);
  const top = ticks[ticks.length - 1];
  return { ticks, part: (value) => value / top };
}

function logScale(lines) {
  const values = lines.flatMap((line) => line.values.filter((value) => value > 0));
  const low = Math.floor(Math.log10(Math.min(...values, 1e9))), high = Math.ceil(Math.log10(Math.max(...values, 1e-9)));
  const from = values.length ? low : -1, to = values.length ? Math.max(high, low + 1) : 1;
  const ticks = [];
  for (let power = from; power <= to; power += 1) ticks.push(10 ** power);
  return { ticks, part: (value) => (Math.log10(value) - from) / (to - from) };
}

function shortNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6) return +(value / 1e6).toPrecision(3) + " M";
  if (size >= 1e4) return +(value / 1e3).toPrecision(3) + " k";
  return String(+value.toPrecision(size >= 100 ? 4 : 3));
}
