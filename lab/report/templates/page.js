"use strict";
// A table that is wider than its place says so.
for (const part of document.querySelectorAll(".scroll")) {
  const cue = document.createElement("p");
  cue.className = "cue";
  cue.textContent = "more columns to the right →";
  const look = () => part.scrollWidth > part.clientWidth + 1 ? part.before(cue) : cue.remove();
  new ResizeObserver(look).observe(part);
}
// A press on a setup's chip fades it in every chart.
for (const chip of document.querySelectorAll("[data-chip]")) {
  chip.addEventListener("click", () => {
    const on = chip.getAttribute("aria-pressed") !== "true";
    chip.setAttribute("aria-pressed", on);
    const parts = document.querySelectorAll('svg [data-setup="' + chip.dataset.chip + '"]');
    for (const part of parts) part.classList.toggle("off", !on);
  });
}
// The points of a course, from the path that draws it.
function points(path) {
  const found = [];
  let x = 0, y = 0;
  for (const [, letter, rest] of path.getAttribute("d").matchAll(/([MLHV])([^MLHV]*)/g)) {
    const numbers = rest.split(" ").map(Number);
    if (letter === "H") x = numbers[0];
    else if (letter === "V") y = numbers[0];
    else [x, y] = numbers;
    if (letter !== "H") found.push([x, y]);
  }
  return found;
}
function value(pixel, axis, log) {
  const [start, end, low, high] = axis;
  const share = (pixel - start) / (end - start);
  return log ? low * (high / low) ** share : low + (high - low) * share;
}
function text(number) {
  return number.toLocaleString("en", number < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 });
}
// Round values between two ends of an axis.
function ticks(low, high, count, log) {
  if (log && high / low >= 5) {
    const all = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const step of [1, 2, 5]) all.push(step * 10 ** power);
    return all.filter(step => step >= low && step <= high);
  }
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find(nice => nice * power >= rough) * power;
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(n * step);
  return found;
}
function draw(name, attributes, words) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (words !== undefined) element.textContent = words;
  return element;
}
// Charts over time: the values under the pointer; and a drag looks closer, at a time or at a box.
for (const [number, frame] of [...document.querySelectorAll("svg .frame")].entries()) {
  const svg = frame.ownerSVGElement, figure = svg.closest("figure");
  const xs = frame.dataset.x.split(" ").map(Number), ys = frame.dataset.y.split(" ").map(Number);
  const log = frame.dataset.log === "true";
  const lines = [...svg.querySelectorAll(".line")].map(line => ({ line, points: points(line.querySelector(".course")) }));
  const own = [...svg.children].filter(part => part.matches("line.grid, text.q") && Number(part.getAttribute("y") ?? 0) < ys[0] + 20);
  const cursor = draw("line", { class: "cursor" });
  const reading = document.createElement("div");
  reading.className = "reading";
  // What is seen of the whole, in the whole's pixels: left, right, bottom, top.
  const whole = [xs[0], xs[1], ys[0], ys[1]];
  let seen = whole, from = null;
  const across = () => (xs[1] - xs[0]) / (seen[1] - seen[0]), up = () => (ys[0] - ys[1]) / (seen[2] - seen[3]);
  const inWhole = at => [seen[0] + (at.x - xs[0]) / across(), seen[3] + (at.y - ys[1]) / up()];
  const place = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const inside = at => ({ x: Math.min(Math.max(at.x, xs[0]), xs[1]), y: Math.min(Math.max(at.y, ys[1]), ys[0]) });
  const hide = () => { cursor.remove(); reading.remove(); };
  const show = event => {
    const at = place(event);
    if (at.x < xs[0] || at.x > xs[1]) return hide();
    const [x] = inWhole(at);
    for (const [name, number] of [["x1", at.x], ["x2", at.x], ["y1", ys[0]], ["y2", ys[1]]]) cursor.setAttribute(name, number);
    svg.append(cursor);
    const rows = [];
    for (const { line, points } of lines) {
      const near = points.reduce((a, b) => Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a);
      if (line.classList.contains("off") || Math.abs(near[0] - x) > 3) continue;
      rows.push([near[1], line]);
    }
    rows.sort((a, b) => a[0] - b[0]);
    const head = document.createElement("b");
    head.textContent = text(value(x, xs, false)) + " s";
    reading.replaceChildren(head, ...rows.map(([y, line]) => {
      const row = document.createElement("div"), swatch = document.createElement("span"), words = document.createElement("span");
      row.className = line.getAttribute("class").replace("line ", "");
      swatch.className = "swatch " + row.className;
      swatch.style.color = "inherit";
      words.textContent = line.querySelector("title").textContent + "  " + text(value(y, ys, log));
      row.append(swatch, words);
      return row;
    }));
    figure.append(reading);
    const box = figure.getBoundingClientRect(), left = event.clientX - box.left;
    const flip = left + reading.offsetWidth + 24 > box.width;
    reading.style.left = Math.max(0, flip ? left - reading.offsetWidth - 14 : left + 14) + "px";
    reading.style.top = event.clientY - box.top - reading.offsetHeight / 2 + "px";
  };
  const clip = draw("clipPath", { id: "frame" + number });
  clip.append(draw("rect", { x: xs[0], y: ys[1], width: xs[1] - xs[0], height: ys[0] - ys[1] }));
  const axes = draw("g", {}), box = draw("rect", { class: "box" });
  const again = document.createElement("button");
  again.type = "button";
  again.className = "chip again";
  again.textContent = "the whole run";
  const look = next => {
    seen = next;
    const closer = seen !== whole;
    const way = "matrix(" + [across(), 0, 0, up(), xs[0] - seen[0] * across(), ys[1] - seen[3] * up()].join(" ") + ")";
    svg.classList.toggle("closer", closer);
    for (const { line } of lines) {
      line.setAttribute("clip-path", "url" + "(#frame" + number + ")");
      for (const path of line.querySelectorAll("path")) path.setAttribute("transform", way);
    }
    for (const part of own) part.style.display = closer ? "none" : "";
    axes.replaceChildren();
    if (!closer) { axes.remove(); again.remove(); return; }
    for (const at of ticks(value(seen[0], xs, false), value(seen[1], xs, false), (xs[1] - xs[0]) / 80, false)) {
      const x = xs[0] + (xs[0] + (at - xs[2]) / (xs[3] - xs[2]) * (xs[1] - xs[0]) - seen[0]) * across();
      axes.append(draw("line", { class: "grid", x1: x, x2: x, y1: ys[1], y2: ys[0] }), draw("text", { class: "q", x, y: ys[0] + 16, "text-anchor": "middle" }, text(at)));
    }
    for (const at of ticks(value(seen[2], ys, log), value(seen[3], ys, log), (ys[0] - ys[1]) / 42, log)) {
      const share = log ? Math.log(at / ys[2]) / Math.log(ys[3] / ys[2]) : (at - ys[2]) / (ys[3] - ys[2]);
      const y = ys[1] + (ys[0] + share * (ys[1] - ys[0]) - seen[3]) * up();
      axes.append(draw("line", { class: "grid", x1: xs[0], x2: xs[1], y1: y, y2: y }), draw("text", { class: "q", x: xs[0] - 6, y: y + 4, "text-anchor": "end" }, text(at)));
    }
    svg.prepend(clip, axes);
    figure.append(again);
  };
  const end = () => { from = null; box.remove(); };
  svg.classList.add("zooms");
  svg.addEventListener("pointerdown", event => {
    const at = place(event);
    if (event.button || at.x < xs[0] || at.x > xs[1] || at.y < ys[1] || at.y > ys[0]) return;
    from = at;
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  // A flat drag is about time alone.
  const drawn = event => {
    const to = inside(place(event)), flat = Math.abs(to.y - from.y) < 24;
    const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
    const [top, bottom] = flat ? [ys[1], ys[0]] : [Math.min(from.y, to.y), Math.max(from.y, to.y)];
    return { left, right, top, bottom };
  };
  svg.addEventListener("pointermove", event => {
    if (!from) return show(event);
    hide();
    const { left, right, top, bottom } = drawn(event);
    for (const [name, number] of [["x", left], ["y", top], ["width", right - left], ["height", bottom - top]]) box.setAttribute(name, number);
    svg.append(box);
  });
  svg.addEventListener("pointerup", event => {
    if (!from) return;
    const { left, right, top, bottom } = drawn(event);
    end();
    if (right - left < 8) return;
    const [x0, y0] = inWhole({ x: left, y: bottom }), [x1, y1] = inWhole({ x: right, y: top });
    look([x0, x1, y0, y1]);
  });
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("dblclick", () => look(whole));
  again.addEventListener("click", () => look(whole));
  svg.addEventListener("pointerleave", hide);
}
