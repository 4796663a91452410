"use strict";
/* The analysis as the charts and tables use it. Sizes are bytes; what people read is made by `text`. */

const text = (() => {
  const whole = new Intl.NumberFormat("en-US");
  const tenth = new Intl.NumberFormat("en-US", {
    minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode: "halfEven",
  });
  const sign = (number) => (number > 0 ? "+" : number < 0 ? "−" : "±");
  const exact = (bytes) => `${whole.format(bytes)} byte${bytes === 1 ? "" : "s"}`;
  const kib = (bytes) => `${tenth.format(bytes / 1024)} KiB`;
  const size = (bytes) => `${exact(bytes)} (${kib(bytes)})`;
  return {
    exact, kib, size, sign,
    count: (number) => whole.format(number),
    counted: (number, noun) => `${whole.format(number)} ${noun}${number === 1 ? "" : "s"}`,
    change: (bytes) => sign(bytes) + size(Math.abs(bytes)),
    steps: (item) => (item.first === item.last ? `step ${item.first}` : `steps ${item.first} to ${item.last}`),
  };
})();

const DATA = JSON.parse(document.getElementById("data").textContent);
const COURSES = [["after", "as compiled"], ["before", "file order"]];

function readCourse(raw, key, name) {
  const steps = raw.steps.map((step, index) => ({
    kind: "step", course: key, index, first: index, last: index, label: label(step.op, step.nodes), ...step,
  }));
  const buffers = raw.buffers.map((item, index) => ({
    kind: "buffer", course: key, index, label: label(item.name, item.nodes), ...item,
  }));
  const peak = steps.reduce((most, step) => Math.max(most, step.live), 0);
  const ends = buffers.map((item) => (item.offset ?? NaN) + item.size);
  return {
    key, name, steps, buffers, peak,
    peakStep: steps.findIndex((step) => step.live === peak),
    arena: ends.some(Number.isNaN) ? null : ends.reduce((most, end) => Math.max(most, end), 0),
    liveAt: (step) => buffers.filter((item) => item.first <= step && step <= item.last)
      .sort((a, b) => b.size - a.size),
  };
}

function label(name, nodes) {
  return nodes.length ? `${name} [${nodes.join(", ")}]` : name;
}

function readRegion(raw) {
  const info = DATA.report.regions.find((item) => item.name === raw.name);
  const region = { name: raw.name, bound: info.lower_bound, orders: DATA.orders.find((o) => o.region === raw.name) };
  for (const [key, name] of COURSES) region[key] = readCourse(raw[key], key, name);
  region.steps = Math.max(region.after.steps.length, region.before.steps.length);
  region.extent = Math.max(1, ...COURSES.map(([key]) => region[key].arena ?? 0));
  return region;
}

/* Buffers and steps whose op or nodes contain all words; those of the compiled order first. */
function search(region, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const hit = (item) => words.every((word) => item.label.toLowerCase().includes(word));
  return COURSES.flatMap(([key]) => [...region[key].buffers.filter(hit), ...region[key].steps.filter(hit)]);
}
