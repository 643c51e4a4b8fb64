// The live page: takes the view once, follows the stream second by second, and shows both.
"use strict";

const KEPT = 300;
// Under these the clock begins no scrub.
const FLAGS = ["noscrub", "nodeep-scrub"];
const byId = (id) => document.getElementById(id);
let seconds = [], now = null, last = 0;

const millis = (nanos) => nanos / 1e6;
const showMillis = (value) => (value >= 1000 ? +(value / 1000).toPrecision(3) + " s" : +value.toPrecision(3) + " ms");
const showNanos = (nanos) => showMillis(millis(nanos));

function showSpan(nanos) {
  const all = Math.round(nanos / 1e9);
  if (all < 60) return all + " s";
  if (all < 3600) return Math.floor(all / 60) + " min " + (all % 60) + " s";
  if (all < 86400) return Math.floor(all / 3600) + " h " + Math.floor((all / 60) % 60) + " min";
  return Math.floor(all / 86400) + " d " + Math.floor((all / 3600) % 24) + " h";
}

function showBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  return +bytes.toPrecision(3) + " " + units[unit];
}

/** Rows of a table: each cell is text, or {text, name} with a class, or a node. */
function fill(table, rows) {
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const body = table.tBodies[0];
  body.replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    cells.forEach((cell, index) => {
      const made = document.createElement("td");
      made.dataset.name = names[index];
      if (cell instanceof Node) made.append(cell);
      else if (cell && typeof cell === "object") { made.textContent = cell.text; made.className = cell.name; }
      else made.textContent = cell;
      row.append(made);
    });
    return row;
  }));
}

/** A chart for each of these names, in a box; those that are gone leave. */
function chartsOf(box, names, caption) {
  for (const figure of [...box.children]) if (!names.includes(figure.dataset.of)) figure.remove();
  const found = new Map([...box.children].map((figure) => [figure.dataset.of, figure]));
  return names.map((name) => {
    let figure = found.get(name);
    if (!figure) {
      figure = document.createElement("figure");
      figure.dataset.of = name;
      figure.append(Object.assign(document.createElement("figcaption"), { textContent: caption(name) }), document.createElement("canvas"));
      box.append(figure);
    }
    return figure.querySelector("canvas");
  });
}

function show() {
  if (!now) return;
  const end = seconds.length ? seconds[seconds.length - 1].at_ns : 0;
  const ages = seconds.map((second) => (end - second.at_ns) / 1e9);
  const line = (name, colour, of, dashed) => ({ name, colour, dashed, values: seconds.map(of) });
  const quantile = (key) => (second) => (second.reads + second.writes > 0 ? millis(second[key]) : null);
  drawChart(byId("latency"), ages, [
    line("p50", "one", quantile("p50_ns")), line("p99", "two", quantile("p99_ns")), line("p99.9", "three", quantile("p999_ns")),
  ], { log: true, show: showMillis });
  drawChart(byId("ops"), ages, [line("reads", "one", (s) => s.reads), line("writes", "two", (s) => s.writes)]);
  drawChart(byId("recovery"), ages, [line("moved", "one", (s) => s.recovered_bytes / 2 ** 20)]);
  drawChart(byId("services"), ages, [
    line("scrubbed", "one", (s) => s.scrubbed), line("trimmed", "two", (s) => s.trimmed), line("deleted", "three", (s) => s.deleted),
  ]);
  const three = (canvas, key, name, field) => {
    const of = (part) => (second) => {
      const found = second[key].find((each) => each[field] === name);
      return found ? found[part] : 0;
    };
    const lines = [line("asked", "two", of("asked")), line("given", "one", of("given"))];
    // Who is promised nothing has no line of it, as it has no figure in the table.
    if (seconds.some(of("promised"))) lines.unshift(line("promised", "promise", of("promised"), true));
    drawChart(canvas, ages, lines);
  };
  const newest = seconds[seconds.length - 1] || { classes: [], images: [] };
  const classes = newest.classes.map((each) => each.class);
  chartsOf(byId("classes"), classes, (name) => name).forEach((canvas, at) => three(canvas, "classes", classes[at], "class"));
  const images = newest.images.slice(0, 6).map((each) => each.image);
  chartsOf(byId("images"), images, (name) => name + ", ops per second").forEach((canvas, at) => three(canvas, "images", images[at], "image"));
  byId("no-images").hidden = newest.images.length > 0;
  byId("image-table").hidden = newest.images.length === 0;
  fill(byId("image-table"), newest.images.map((each) => [
    each.image, each.promised || "nothing", each.limit || "none", each.asked,
    { text: each.given, name: each.given < Math.min(each.promised, each.asked) * 0.95 ? "short" : "" },
    each.given ? showNanos(each.mean_ns) : "",
  ]));
  showNow();
}

function showNow() {
  const { health } = now;
  byId("health").textContent = health.level;
  byId("health").className = "badge " + health.level;
  byId("findings").hidden = health.findings.length === 0;
  byId("findings").replaceChildren(...health.findings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  byId("in-flight").textContent = now.in_flight;
  byId("profile").textContent = now.profile || "none";
  byId("uptime").textContent = showSpan(now.uptime_ns);
  const ends = (nanos, left, least) => (left === 0 ? "" : nanos !== undefined ? showSpan(nanos)
    : least === undefined ? "not at this rate" : least < 1e9 ? "not known yet" : "at least " + showSpan(least));
  const rate = (value) => shortNumber(value);
  const missing = now.objects.degraded + now.objects.misplaced;
  fill(byId("background"), [
    ["recovery and backfill", now.objects.degraded + " copies missing, " + now.objects.misplaced + " misplaced",
      rate(now.recovery.objects_per_s) + " objects, " + showBytes(now.recovery.bytes_per_s), ends(now.recovery.ends_in_ns, missing, now.recovery.least_ns)],
    ["scrub", now.scrub.running + " of " + now.scrub.pgs + " PGs under way" + (now.scrub.paused ? ", paused" : "") +
      (now.scrub.pgs_left ? ", " + now.scrub.pgs_left + " due for a deep one" : "") + (now.scrub.errors ? ", " + now.scrub.errors + " errors" : ""),
      rate(seconds.length ? seconds[seconds.length - 1].scrubbed : 0) + " objects", ends(now.scrub.ends_in_ns, now.scrub.pgs_left)],
    ["snapshot trim", now.trim.objects_left + " states", rate(now.trim.objects_per_s) + " objects", ends(now.trim.ends_in_ns, now.trim.objects_left)],
    ["deletion", now.deletion.objects_left + " objects", rate(now.deletion.objects_per_s) + " objects", ends(now.deletion.ends_in_ns, now.deletion.objects_left)],
  ]);
  byId("nobody").hidden = now.oldest.length > 0;
  byId("waiting").hidden = now.oldest.length === 0;
  fill(byId("waiting"), now.oldest.map((op) => [
    op.op + ", " + op.kind, op.image, op.osd === null ? "nobody" : "osd." + op.osd, showNanos(op.age_ns),
    op.wait ? op.wait.stage + ", " + showNanos(op.wait.span_ns) : "", { text: op.wait ? op.wait.reason : "", name: "reason" },
  ]));
  const queued = (osd, name) => (osd.queued.find((each) => each.class === name) || { items: 0 }).items;
  fill(byId("osds"), now.osds.map((osd) => {
    const used = document.createElement("span");
    const meter = Object.assign(document.createElement("meter"), { min: 0, max: osd.size_bytes || 1, high: osd.size_bytes * 0.85 });
    meter.value = osd.used_bytes;
    used.append(meter, " " + showBytes(osd.used_bytes) + " of " + showBytes(osd.size_bytes));
    const state = osd.up ? (osd.in ? "up, in" : "up, out") : osd.in ? "down, in" : "down, out";
    const capacity = osd.capacity_iops === undefined ? "" : shortNumber(osd.capacity_iops) + " IOPS" + (osd.capacity_is_found ? " (found)" : "");
    return ["osd." + osd.osd, { text: state, name: osd.up ? "" : "down" }, used, { text: capacity, name: osd.capacity_is_found ? "found" : "" },
      osd.gate_closed ? "closed" : "open", queued(osd, "client"), queued(osd, "background_recovery"), queued(osd, "background_best_effort"), osd.kept_out];
  }));
  choices(byId("profiles"), now.profiles, now.profile);
  choices(byId("scrub-what"), now.osds.filter((osd) => osd.up).map((osd) => "osd." + osd.osd));
  byId("pause").textContent = now.scrub.paused ? "Resume scrubs" : "Pause scrubs";
}

function choices(select, names, chosen) {
  if ([...select.options].map((option) => option.value).join() === names.join()) return;
  const before = select.value || chosen;
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  if (names.includes(before)) select.value = before;
}

// `says` is a sentence, or finds one when all is done. What is to be deleted and not there is done.
async function act(says, requests) {
  const said = byId("said");
  said.className = "";
  said.textContent = "asking ...";
  try {
    for (const [method, path, body] of requests) {
      const answer = await fetch(path, {
        method, body: body && JSON.stringify(body), headers: { Authorization: "Bearer " + byId("token").value.trim() },
      });
      if (!answer.ok && !(method === "DELETE" && answer.status === 404)) {
        const refusal = await answer.json();
        throw new Error(refusal.error + (refusal.wanted ? "; wanted: " + refusal.wanted : ""));
      }
    }
    said.textContent = typeof says === "function" ? await says() : says;
  } catch (error) {
    said.className = "error";
    said.textContent = error.message;
  }
}

// The flags may be set for everything or for each OSD, too, and those are not taken away here.
async function resumed() {
  await take();
  return now.scrub.paused ? "a flag is set elsewhere, too, and the clock begins no scrub: `loadline scrub resume` names it" :
    "scrubs are begun by the clock again";
}

function buttons() {
  const value = (text) => ({ value: text });
  byId("act").addEventListener("submit", (event) => event.preventDefault());
  byId("switch").addEventListener("click", () => {
    const profile = byId("profiles").value;
    act("every OSD has the profile " + profile, [["PUT", "/config/osd/osd_mclock_profile", value(profile)]]);
  });
  const scrub = (how) => () => {
    const what = byId("scrub-what").value;
    act("the PGs of " + what + " are compared", [["POST", "/scrub/" + how + "/" + what]]);
  };
  byId("scrub").addEventListener("click", scrub("scrub"));
  byId("deep").addEventListener("click", scrub("deep-scrub"));
  byId("pause").addEventListener("click", () => {
    if (now && now.scrub.paused) act(resumed, FLAGS.map((flag) => ["DELETE", "/config/osd/" + flag]));
    else act("the clock begins no scrub", FLAGS.map((flag) => ["PUT", "/config/osd/" + flag, value("true")]));
  });
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  byId("token").value = token || sessionStorage.getItem("loadline-token") || "";
  if (token) history.replaceState(null, "", location.pathname);
  const keep = () => sessionStorage.setItem("loadline-token", byId("token").value);
  keep();
  byId("token").addEventListener("change", keep);
}

async function take() {
  const view = await (await fetch("/live")).json();
  seconds = view.seconds;
  now = view.now;
  show();
}

function follow() {
  const stream = new EventSource("/live/events");
  const link = byId("link");
  stream.onopen = () => { link.textContent = "live"; take().catch(() => {}); };
  stream.onerror = () => { link.textContent = "not connected, trying again"; byId("health").className = "badge"; };
  stream.onmessage = (event) => {
    const step = JSON.parse(event.data);
    if (seconds.length && step.second.at_ns < last) seconds = [];
    last = step.second.at_ns;
    seconds = seconds.filter((second) => second.at_ns < last).concat(step.second).slice(-KEPT);
    now = step.now;
    show();
  };
}

buttons();
follow();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
