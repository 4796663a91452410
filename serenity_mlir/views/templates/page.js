"use strict";
/* Regions, pins, search, keys and colours: what ties charts, tables and the reader together. */

const page = {
  regions: (DATA.report.timeline ?? [])
    .filter((item) => item.role === "model" && item.after.steps.length).map(readRegion),
  region: null, charts: {}, ranges: null, pinned: null, shown: [], choice: -1,
};
const by = (id) => document.getElementById(id);

function element(tag, content, attributes = {}) {
  const made = document.createElement(tag);
  Object.assign(made, attributes);
  made.append(...[content].flat());
  return made;
}

/* Theme: what the system prefers, until the reader chooses. */

function theme() {
  return document.documentElement.dataset.theme;
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  for (const chart of Object.values(page.charts)) chart.paint();
}

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
setTheme(prefersDark.matches ? "dark" : "light");
prefersDark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
const toggleTheme = () => setTheme(theme() === "dark" ? "light" : "dark");
by("theme").addEventListener("click", toggleTheme);

/* One region at a time. */

async function showRegion(region) {
  page.region = region;
  const ranges = { steps: range(0, region.steps), offsets: range(0, 1.04 * region.extent / KIB) };
  page.ranges = ranges;
  page.charts = {
    live: new LiveChart(region, ranges, pin), after: new ArenaChart(region, "after", ranges, pin),
    before: new ArenaChart(region, "before", ranges, pin), orders: new OrdersChart(region),
  };
  legends(region);
  const { orders } = region;
  by("drawn").textContent = orders
    ? `${text.counted(orders.peaks.reduce((sum, [, count]) => sum + count, 0), "legal order")}, seed ${orders.seed}` : "";
  const hint = "Keys: arrows move, plus and minus zoom, n and p pin the next and the previous, 0 shows all.";
  const names = {
    live: `Live memory: peak ${text.size(region.after.peak)} as compiled, ` +
      `${text.size(region.before.peak)} in file order.`,
    after: `Arena as compiled, ${text.counted(region.after.buffers.length, "buffer")}.`,
    before: `Arena in file order, ${text.counted(region.before.buffers.length, "buffer")}.`,
    orders: "Peaks of random orders.",
  };
  for (const [id, name] of Object.entries(names)) by(id).setAttribute("aria-label", `${name} ${hint}`);
  setTheme(theme());
  aroundPeak(region.after);
  clear();
  pin(region.after.steps[region.after.peakStep]);
  await showCharts(Object.values(page.charts));
}

function legends(region) {
  const legend = (id, entries) => by(`${id}-legend`).replaceChildren(...entries.map(([name, words]) => {
    const mark = element("i", []);
    mark.style.background = `var(--${name})`;
    return element("span", [mark, words]);
  }));
  legend("live", COURSES.map(([key, name]) => {
    const { peak, peakStep } = region[key];
    return [key, `${name}: peak ${text.size(peak)} at step ${peakStep}`];
  }));
  for (const [key] of COURSES) {
    const { arena, buffers, peakStep } = region[key];
    by(`${key}-arena`).textContent = arena === null ? "offsets are not known" : text.size(arena);
    const owners = [...new Set(buffers.map((item) => item.owner))];
    legend(key, [[key, `live at the peak, step ${peakStep}`], ...owners.map((owner) =>
      owner === "slab" ? [`${key}-pale`, "other buffers"] : [ownerColour(owner), owner])]);
  }
  const marks = COURSES.map(([key, name]) => [key, `${name}: ${text.size(region[key].peak)}`]);
  if (region.bound !== null) marks.push(["quiet", `lower bound, no order needs less: ${text.size(region.bound)}`]);
  legend("orders", marks);
}

function aroundPeak(course) {
  by("peak-of").textContent = `as compiled, step ${course.peakStep}`;
  const near = course.steps.slice(Math.max(0, course.peakStep - 4), course.peakStep + 5);
  by("steps").tBodies[0].replaceChildren(...near.map((step) => {
    const row = element("tr", [
      element("td", String(step.index)), element("td", pinButton(step, named(step.nodes, step.op))),
      sizeCell(step.live), sizeCell(Math.abs(step.delta), text.sign(step.delta)),
    ]);
    row.classList.toggle("peak", step.index === course.peakStep);
    return row;
  }));
}

/* The model's nodes, and smaller the op: `dispatch_5_conv` without what all dispatches begin with. */
function named(nodes, op) {
  const short = op.replace(/^.*_(?=dispatch_\d)/, "");
  return nodes.length ? [nodes.join(", "), element("small", short, { title: op })] : [short];
}

function sizeCell(bytes, sign = "") {
  return element("td", [sign + text.kib(bytes), element("small", sign + text.exact(bytes))], { className: "size" });
}

function pinButton(item, words) {
  const button = element("button", words, { type: "button" });
  button.addEventListener("click", () => pin(item));
  return button;
}

/* Pins: one item, and with it all that comes from the same nodes. */

function pin(item) {
  page.pinned = item;
  const place = by("pinned");
  if (item === null) {
    by("pinned-title").textContent = "Nothing is pinned";
    place.replaceChildren(element("p", "Click a buffer or a step, or search for a node.", { className: "quiet" }));
  } else {
    const name = page.region[item.course].name;
    by("pinned-title").textContent = item.kind === "step" ? `Step ${item.index}, ${name}` : `Buffer, ${name}`;
    place.replaceChildren(...(item.kind === "step" ? aboutStep(item) : aboutBuffer(item)));
  }
  light();
}

function light() {
  const item = page.pinned;
  let lit = page.shown;
  if (item !== null && item.kind === "buffer") {
    const nodes = new Set(item.nodes);
    const kin = (other) => other === item || other.nodes.some((node) => nodes.has(node));
    lit = COURSES.flatMap(([key]) => page.region[key].buffers.filter(kin));
  } else if (item !== null && !lit.length && item.index !== page.region[item.course].peakStep) {
    lit = page.region[item.course].liveAt(item.index); // what is live at the peak has its own colour
  }
  for (const chart of Object.values(page.charts)) chart.light(lit, item);
}

function facts(pairs) {
  return element("dl", pairs.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
}

function aboutBuffer(item) {
  const course = page.region[item.course];
  const maker = course.steps[item.first];
  return [element("strong", item.nodes.join(", ") || item.name), facts([
    ["made by", item.name], ["size", text.size(item.size)],
    ["offset", item.offset === null ? "not known" : text.size(item.offset)], ["live in", text.steps(item)],
    ["storage", item.owner], ["of the peak", `${(100 * item.size / Math.max(1, course.peak)).toFixed(1)}%`],
    ["begins with", pinButton(maker, [`step ${item.first}: `, ...named(maker.nodes, maker.op)])],
  ])];
}

const LARGEST = 8;

function aboutStep(step) {
  const live = page.region[step.course].liveAt(step.index);
  const rows = live.map((item) => element("tr", [
    element("td", pinButton(item, named(item.nodes, item.name))),
    sizeCell(item.size),
    element("td", text.steps(item)),
  ]));
  const heads = ["live buffer", "size", "live in"].map((name) => element("th", name, { scope: "col" }));
  const head = element("thead", element("tr", heads));
  const parts = [element("table", [head, element("tbody", rows.slice(0, LARGEST))])];
  if (rows.length > LARGEST) {
    const more = element("summary", `${text.counted(rows.length - LARGEST, "smaller one")}`);
    parts.push(element("details", [more, element("table", element("tbody", rows.slice(LARGEST)))]));
  }
  return [element("strong", step.nodes.join(", ") || step.op), facts([
    ["op", step.op], ["live", text.size(step.live)], ["change", text.change(step.delta)],
  ]), ...parts];
}

/* Search: words in names of nodes and ops. */

const MOST = 60;

function listFound(query) {
  page.shown = page.region ? search(page.region, query) : [];
  page.choice = -1;
  const listed = page.shown.slice(0, MOST);
  by("results").replaceChildren(...listed.map((item, index) => {
    const size = item.kind === "step" ? `${text.size(item.live)} live` : text.size(item.size);
    const kind = item.kind === "step" ? "op" : "buffer";
    const where = `${kind} ${page.region[item.course].name}, ${text.steps(item)}, ${size}`;
    const name = named(item.nodes, item.op ?? item.name);
    const row = element("li", [...name, element("small", where)], { id: `found-${index}` });
    row.setAttribute("role", "option");
    row.addEventListener("mousedown", (event) => { event.preventDefault(); take(index); });
    return row;
  }));
  openResults(listed.length > 0);
  const buffers = page.shown.filter((item) => item.kind === "buffer").length;
  const rest = page.shown.length > MOST ? `; the first ${MOST} are listed` : "";
  by("found").textContent = query.trim()
    ? `${text.counted(buffers, "buffer")} and ${text.counted(page.shown.length - buffers, "op")} found${rest}` : "";
}

function openResults(open) {
  by("results").hidden = !open;
  by("search").setAttribute("aria-expanded", String(open));
}

function choose(index) {
  const rows = by("results").children;
  if (!rows.length) return;
  page.choice = (index + rows.length) % rows.length;
  [...rows].forEach((row, at) => row.setAttribute("aria-selected", String(at === page.choice)));
  by("search").setAttribute("aria-activedescendant", rows[page.choice].id);
  rows[page.choice].scrollIntoView({ block: "nearest" });
}

function take(index) {
  if (!page.shown[index]) return;
  const item = page.shown[index];
  openResults(false);
  pin(item);
  reveal(item);
}

function clear() {
  by("search").value = "";
  listFound("");
  pin(null);
}

by("search").addEventListener("input", (event) => {
  page.pinned = null;
  listFound(event.target.value);
  light();
});
by("search").addEventListener("blur", () => openResults(false));
by("search").addEventListener("keydown", (event) => {
  const actions = {
    ArrowDown: () => { openResults(page.shown.length > 0); choose(page.choice + 1); },
    ArrowUp: () => choose(page.choice - 1),
    Enter: () => take(Math.max(page.choice, 0)),
    Escape: clear,
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
});

/* Moving and zooming by keys. */

function span(target, start, end) {
  const [least, most] = target.bounds;
  const width = Math.min(end - start, most - least);
  const from = Math.min(Math.max(start, least), most - width);
  target.setv({ start: from, end: from + width });
}

function move(target, share) {
  const distance = share * (target.end - target.start);
  span(target, target.start + distance, target.end + distance);
}

function zoom(target, factor) {
  const middle = (target.start + target.end) / 2, half = Math.max(target.end - target.start, 2) / 2 / factor;
  span(target, middle - half, middle + half);
}

/* Scroll to what is pinned where it is out of sight. */
function reveal(item) {
  const { steps } = page.ranges;
  if (item.first >= steps.start && item.last + 1 <= steps.end) return;
  const width = Math.max(steps.end - steps.start, 1.2 * (item.last + 1 - item.first));
  const middle = (item.first + item.last + 1) / 2;
  span(steps, middle - width / 2, middle + width / 2);
}

function neighbour(chart, distance) {
  const key = chart === "before" ? "before" : "after";
  const course = page.region[key];
  const line = chart === "live" ? course.steps
    : [...course.buffers].sort((a, b) => a.first - b.first || a.offset - b.offset);
  const at = line.indexOf(page.pinned);
  const next = at < 0 ? 0 : Math.min(Math.max(at + distance, 0), line.length - 1);
  pin(line[next]);
  reveal(line[next]);
}

function chartKey(event) {
  const chart = event.currentTarget.id;
  const own = page.charts[chart].figure;
  const x = own.x_range, y = own.y_range;
  const actions = {
    ArrowLeft: () => move(x, -0.15), ArrowRight: () => move(x, 0.15),
    ArrowUp: () => move(y, 0.15), ArrowDown: () => move(y, -0.15),
    "+": () => zoom(event.altKey ? y : x, 1.5), "=": () => zoom(event.altKey ? y : x, 1.5),
    "-": () => zoom(event.altKey ? y : x, 1 / 1.5),
    0: () => [x, y].forEach((target) => span(target, ...target.bounds)),
    n: () => neighbour(chart, 1), p: () => neighbour(chart, -1),
  };
  if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  actions[event.key]();
}

for (const chart of document.querySelectorAll(".chart")) chart.addEventListener("keydown", chartKey);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.target.matches("input, select")) return;
  const { after } = page.region ?? {};
  const actions = {
    "/": () => by("search").focus(), t: toggleTheme, Escape: clear,
    g: () => { const step = after.steps[after.peakStep]; pin(step); reveal(step); },
  };
  if (!page.region || !actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
});

function ready() {
  document.documentElement.dataset.ready = "true";
}

/* Begin with the region of the highest peak. */

if (page.regions.length) {
  const select = by("region");
  select.append(...page.regions.map((region, index) => element("option", region.name, { value: String(index) })));
  by("region-label").hidden = page.regions.length < 2;
  select.addEventListener("change", () => showRegion(page.regions[Number(select.value)]));
  const first = page.regions.reduce((best, region, index) =>
    region.after.peak > page.regions[best].after.peak ? index : best, 0);
  select.value = String(first);
  showRegion(page.regions[first]).then(ready);
} else {
  ready();
}
