"use strict";
// A table that is wider than its place says so.
for (const part of document.querySelectorAll(".scroll")) {
  const cue = document.createElement("p");
  cue.className = "cue";
  cue.textContent = "more columns to the right →";
  const look = () => part.scrollWidth > part.clientWidth + 1 ? part.before(cue) : cue.remove();
  new ResizeObserver(look).observe(part);
}
const charts = JSON.parse(document.getElementById("points").textContent);
const axis = frame => ({ x: frame.dataset.x.split(" ").map(Number), y: frame.dataset.y.split(" ").map(Number) });
const shown = value => value.toLocaleString("en", value < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 });
const words = {
  depth: x => "Queue depth " + x,
  latency: x => x - 1 + " to " + (x + 1) + " ms",
};

// A press on a name takes its curve away, in the drawings for all widths.
for (const key of document.querySelectorAll(".key")) {
  const figure = key.closest("figure"), owner = '[data-setup="' + key.dataset.setup + '"]';
  const toggle = () => {
    const off = !key.classList.contains("off");
    for (const part of figure.querySelectorAll(owner)) part.classList.toggle("off", off);
    for (const part of figure.querySelectorAll(".key" + owner)) part.setAttribute("aria-pressed", !off);
  };
  key.setAttribute("role", "button");
  key.setAttribute("tabindex", "0");
  key.setAttribute("aria-pressed", "true");
  key.addEventListener("click", toggle);
  key.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); }
  });
}

// Paper has no closed parts.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});

// The values of all curves at the point nearest to the pointer.
for (const frame of document.querySelectorAll("svg .frame")) {
  const svg = frame.ownerSVGElement, figure = svg.closest("figure"), { x, y } = axis(frame);
  const chart = charts[figure.id];
  const places = [...new Set(chart.curves.flatMap(curve => curve.map(point => point[0])))].sort((a, b) => a - b);
  const lines = [...svg.querySelectorAll(".line")];
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cursor.setAttribute("class", "cursor");
  const reading = document.createElement("div");
  reading.className = "reading";
  const hide = () => { cursor.remove(); reading.remove(); };
  const pixel = value => x[0] + (x[1] - x[0]) * (value - x[2]) / (x[3] - x[2]);
  const show = event => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (at.x < x[0] - 12 || at.x > x[1] + 12 || at.y < y[1] - 12 || at.y > y[0] + 12) return hide();
    const near = places.reduce((a, b) => Math.abs(pixel(b) - at.x) < Math.abs(pixel(a) - at.x) ? b : a);
    const rows = [];
    for (const line of lines) {
      const point = chart.curves[line.dataset.setup].find(point => point[0] === near);
      if (point && !line.classList.contains("off")) rows.push([point[1], line]);
    }
    if (!rows.length) return hide();
    rows.sort((a, b) => b[0] - a[0]);
    for (const [name, number] of [["x1", pixel(near)], ["x2", pixel(near)], ["y1", y[0]], ["y2", y[1]]]) cursor.setAttribute(name, number);
    svg.append(cursor);
    const head = document.createElement("b");
    head.textContent = words[chart.across](near);
    reading.replaceChildren(head, ...rows.map(([value, line]) => {
      const row = document.createElement("div"), swatch = document.createElement("span"), text = document.createElement("span");
      row.className = line.getAttribute("class").replace("line ", "").replace(" dashed", "");
      swatch.className = "swatch" + (line.classList.contains("dashed") ? " dashed" : "");
      text.textContent = shown(value) + " " + chart.unit + "  " + line.querySelector("title").textContent;
      row.append(swatch, text);
      return row;
    }));
    figure.append(reading);
    const box = figure.getBoundingClientRect(), left = event.clientX - box.left;
    const flip = left + reading.offsetWidth + 24 > box.width;
    reading.style.left = Math.max(0, flip ? left - reading.offsetWidth - 14 : left + 14) + "px";
    reading.style.top = event.clientY - box.top - reading.offsetHeight / 2 + "px";
  };
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerdown", show);
  svg.addEventListener("pointerleave", hide);
}
