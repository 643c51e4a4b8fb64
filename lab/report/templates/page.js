"use strict";
// A press on a setup's chip fades it in every chart.
for (const chip of document.querySelectorAll("[data-chip]")) {
  chip.addEventListener("click", () => {
    const on = chip.getAttribute("aria-pressed") !== "true";
    chip.setAttribute("aria-pressed", on);
    const parts = document.querySelectorAll('svg [data-setup="' + chip.dataset.chip + '"]');
    for (const part of parts) part.classList.toggle("off", !on);
  });
}
// Paper has no closed parts.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
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
// The values under the pointer, in charts over time.
for (const frame of document.querySelectorAll("svg .frame")) {
  const svg = frame.ownerSVGElement, figure = svg.closest("figure");
  const xs = frame.dataset.x.split(" ").map(Number), ys = frame.dataset.y.split(" ").map(Number);
  const log = frame.dataset.log === "true";
  const lines = [...svg.querySelectorAll(".line")].map(line => ({ line, points: points(line.querySelector(".course")) }));
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cursor.setAttribute("class", "cursor");
  const reading = document.createElement("div");
  reading.className = "reading";
  const hide = () => { cursor.remove(); reading.remove(); };
  const show = event => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (at.x < xs[0] || at.x > xs[1]) return hide();
    for (const [name, number] of [["x1", at.x], ["x2", at.x], ["y1", ys[0]], ["y2", ys[1]]]) cursor.setAttribute(name, number);
    svg.append(cursor);
    const rows = [];
    for (const { line, points } of lines) {
      const near = points.reduce((a, b) => Math.abs(b[0] - at.x) < Math.abs(a[0] - at.x) ? b : a);
      if (line.classList.contains("off") || Math.abs(near[0] - at.x) > 3) continue;
      rows.push([near[1], line]);
    }
    rows.sort((a, b) => a[0] - b[0]);
    const head = document.createElement("b");
    head.textContent = text(value(at.x, xs, false)) + " s";
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
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerleave", hide);
}
