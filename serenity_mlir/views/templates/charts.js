"use strict";
/* The four charts, by BokehJS. A chart knows how to light up items and how to change its colours. */

/* Colours are those of page.css in the present theme. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const KIB = 1024; // what is drawn is in KiB, so that ticks are round; words say bytes too

function range(start, end) {
  return new Bokeh.Range1d({ start, end, bounds: [start, end], min_interval: Math.min(1, (end - start) / 4) });
}

function blank(height, ranges, labels, tools) {
  const figure = Bokeh.Plotting.figure({
    height, sizing_mode: "stretch_width", ...ranges, tools, x_axis_label: labels[0], y_axis_label: labels[1],
    toolbar_location: "right", active_scroll: tools.find((tool) => tool instanceof Bokeh.WheelZoomTool),
    min_border_left: 78, background_fill_color: null, border_fill_color: null,
  });
  figure.toolbar.logo = null;
  for (const axis of [figure.xaxis, figure.yaxis]) {
    axis.formatter = new Bokeh.NumeralTickFormatter({ format: "0,0.[00]" });
  }
  if (labels[0] === "step") figure.xaxis.ticker = new Bokeh.BasicTicker({ min_interval: 1, num_minor_ticks: 0 });
  return figure;
}

/* With Ctrl, so that the wheel alone still scrolls the page. */
function wheel(dimensions) {
  return new Bokeh.WheelZoomTool({ dimensions, modifiers: { ctrl: true } });
}

function tooltip(lines) {
  return (source, vars) => {
    const box = document.createElement("div");
    box.style.cssText = "margin:-5px;padding:7px 10px;background:var(--panel);color:var(--ink);" +
      "font:13px/1.4 system-ui,sans-serif;max-width:440px;overflow-wrap:anywhere";
    lines(vars.index).forEach((line, index) => {
      const row = box.appendChild(document.createElement("div"));
      row.textContent = line;
      if (index === 0) row.style.fontWeight = "600";
    });
    return box;
  };
}

/* What a region's charts share: ranges, and what to call when something is clicked. */
class Chart {
  constructor(place, figure) {
    this.place = document.getElementById(place);
    this.figure = figure;
  }

  paint() {
    const figure = this.figure;
    figure.outline_line_color = colour("line");
    for (const axis of [...figure.below, ...figure.left]) {
      axis.axis_label_text_color = axis.major_label_text_color = colour("quiet");
      axis.axis_line_color = axis.major_tick_line_color = colour("quiet");
      axis.minor_tick_line_color = null;
      axis.axis_label_text_font_style = "normal";
    }
    for (const grid of figure.center.filter((item) => item instanceof Bokeh.Grid)) {
      grid.grid_line_color = colour("grid");
    }
  }
}

/* All charts are roots of one document, since they share ranges. */
function showCharts(charts) {
  const page = new Bokeh.Document();
  for (const chart of charts) {
    chart.place.replaceChildren();
    page.add_root(chart.figure);
  }
  return Bokeh.embed.add_document_standalone(page, document.body, charts.map((chart) => chart.place));
}

class LiveChart extends Chart {
  constructor(region, ranges, onPin) {
    const { after, before } = region;
    const top = 1.06 * Math.max(1, after.peak, before.peak) / KIB;
    const own = { x_range: ranges.steps, y_range: range(0, top) };
    const hover = new Bokeh.HoverTool({ mode: "vline", line_policy: "none", show_arrow: false });
    const tools = [
      new Bokeh.PanTool({ dimensions: "width" }), wheel("width"),
      new Bokeh.BoxZoomTool({ dimensions: "width" }), new Bokeh.ResetTool(), hover,
    ];
    super("live", blank(230, own, ["step", "live, KiB"], tools));
    const figure = this.figure;
    this.parts = ["before", "after"].map((key) => this.draw(region[key]));
    this.span = new Bokeh.BoxAnnotation({ visible: false, fill_alpha: 0.18, line_alpha: 0.9 });
    figure.add_layout(this.span);
    const index = Array.from({ length: region.steps }, (_, step) => step);
    const columns = new Bokeh.ColumnDataSource({
      data: {
        left: index, right: index.map((step) => step + 1), top: index.map(() => top), bottom: index.map(() => 0),
      },
    });
    const any = figure.quad({
      left: { field: "left" }, right: { field: "right" }, top: { field: "top" }, bottom: { field: "bottom" },
      source: columns, fill_alpha: 0, line_alpha: 0, hover_fill_alpha: 0.12, hover_line_alpha: 0,
    });
    hover.renderers = [any];
    hover.tooltips = tooltip((step) => [`Step ${step}`, ...COURSES.flatMap(([key, name]) => {
      const found = region[key].steps[step];
      return found ? [`${name}: ${text.size(found.live)}, ${text.change(found.delta)}`, found.label] : [];
    })]);
    figure.on_event("tap", (event) => {
      const step = Math.floor(event.x);
      if (after.steps[step]) onPin(after.steps[step]);
    });
  }

  draw(course) {
    const x = course.steps.map((step) => step.first), live = course.steps.map((step) => step.live / KIB);
    const source = new Bokeh.ColumnDataSource({
      data: { x: [...x, x.length], live: [...live, live[live.length - 1]], zero: [...live, 0].map(() => 0) },
    });
    const area = this.figure.varea_step({
      x: { field: "x" }, y1: { field: "zero" }, y2: { field: "live" }, source, step_mode: "after", fill_alpha: 0.16,
    });
    const line = this.figure.step({
      x: { field: "x" }, y: { field: "live" }, source, mode: "after", line_width: 1.4,
    });
    const peak = this.figure.scatter({
      x: [course.peakStep + 0.5], y: [course.peak / KIB], marker: "inverted_triangle", size: 11,
    });
    return { key: course.key, source, glyphs: [area.glyph, line.glyph, peak.glyph] };
  }

  paint() {
    super.paint();
    for (const { key, glyphs } of this.parts) {
      for (const glyph of glyphs) {
        if ("fill_color" in glyph) glyph.fill_color = { value: colour(key) };
        if ("line_color" in glyph) glyph.line_color = { value: colour(key) };
      }
    }
    this.span.fill_color = this.span.line_color = colour("pin");
  }

  light(items, pinned) {
    this.span.visible = pinned !== null;
    if (pinned !== null) this.span.setv({ left: pinned.first, right: pinned.last + 1 });
  }
}

function ownerColour(owner) {
  return owner.replace(" ", "-");
}

class ArenaChart extends Chart {
  constructor(region, key, ranges, onPin) {
    const course = region[key];
    const own = { x_range: ranges.steps, y_range: ranges.offsets };
    const hover = new Bokeh.HoverTool({ show_arrow: false });
    const tap = new Bokeh.TapTool();
    const tools = [
      new Bokeh.PanTool(), wheel("both"), new Bokeh.BoxZoomTool(), new Bokeh.ResetTool(), hover, tap,
    ];
    super(key, blank(300, own, ["step", "offset, KiB"], tools));
    this.course = course;
    this.placed = course.buffers.filter((item) => item.offset !== null);
    this.row = new Map(this.placed.map((item, row) => [item, row]));
    this.source = new Bokeh.ColumnDataSource({ data: {
      left: this.placed.map((item) => item.first), right: this.placed.map((item) => item.last + 1),
      bottom: this.placed.map((item) => item.offset / KIB),
      top: this.placed.map((item) => (item.offset + item.size) / KIB),
      colour: this.placed.map(() => "#888888"),
    } });
    this.boxes = this.figure.quad({
      left: { field: "left" }, right: { field: "right" }, bottom: { field: "bottom" }, top: { field: "top" },
      fill_color: { field: "colour" }, line_width: this.placed.length > 400 ? 0.3 : 1, source: this.source,
      nonselection_fill_alpha: 0.22, nonselection_line_alpha: 0.4, selection_line_width: 1.2, hover_fill_alpha: 0.75,
    });
    this.limit = new Bokeh.Span({ dimension: "width", location: (course.arena ?? 0) / KIB, line_dash: "dotted" });
    this.figure.add_layout(this.limit);
    hover.renderers = [this.boxes];
    hover.tooltips = tooltip((row) => describe(this.placed[row]));
    this.source.selected.properties.indices.change.connect(() => {
      const [row] = this.source.selected.indices;
      if (!this.lighting && row !== undefined) onPin(this.placed[row]);
    });
  }

  paint() {
    super.paint();
    const strong = colour(this.course.key);
    const pale = colour(`${this.course.key}-pale`);
    const { peakStep } = this.course;
    const colours = this.placed.map((item) => {
      if (item.first <= peakStep && peakStep <= item.last) return strong;
      return item.owner === "slab" ? pale : colour(ownerColour(item.owner));
    });
    this.source.data = { ...this.source.data, colour: colours };
    this.boxes.glyph.line_color = { value: colour("edge") };
    this.boxes.nonselection_glyph.line_color = { value: colour("edge") };
    this.boxes.selection_glyph.line_color = { value: colour("pin") };
    this.boxes.hover_glyph.line_color = { value: colour("ink") };
    this.limit.line_color = colour("quiet");
  }

  light(items) {
    this.lighting = true;
    this.source.selected.indices = items.map((item) => this.row.get(item)).filter((row) => row !== undefined);
    this.lighting = false;
  }
}

class OrdersChart extends Chart {
  constructor(region) {
    const { orders, after, before, bound } = region;
    const bins = histogram(orders ? orders.peaks : [], 60);
    const marks = [[bound, "quiet"], [before.peak, "before"], [after.peak, "after"]]
      .filter(([size]) => size !== null);
    const right = 1.05 * Math.max(1, ...marks.map(([size]) => size), ...bins.map((bin) => bin.right)) / KIB;
    const most = Math.max(1, ...bins.map((bin) => bin.count));
    const hover = new Bokeh.HoverTool({ show_arrow: false });
    const tools = [wheel("width"), new Bokeh.PanTool({ dimensions: "width" }),
      new Bokeh.ResetTool(), hover];
    const own = { x_range: range(0, right), y_range: range(0, 1.1 * most) };
    super("orders", blank(190, own, ["peak, KiB", "orders"], tools));
    const column = (name, unit = 1) => bins.map((bin) => bin[name] / unit);
    this.bars = this.figure.quad({
      left: column("left", KIB), right: column("right", KIB), top: column("count"), bottom: bins.map(() => 0),
      line_width: 0.5,
    });
    hover.renderers = [this.bars];
    hover.tooltips = tooltip((index) => [text.counted(bins[index].count, "order"),
      `peak from ${text.size(bins[index].low)}`, `to ${text.size(bins[index].high)}`]);
    this.marks = marks.map(([size, key]) => ({
      key,
      line: this.figure.line({
        x: [size / KIB, size / KIB], y: [0, 1.1 * most], line_width: key === "quiet" ? 7 : 2,
        line_alpha: key === "quiet" ? 0.45 : 1,
      }),
    }));
  }

  paint() {
    super.paint();
    this.bars.glyph.fill_color = { value: colour("quiet") };
    this.bars.glyph.line_color = { value: colour("panel") };
    for (const { key, line } of this.marks) line.glyph.line_color = { value: colour(key) };
  }

  light() {}
}

function histogram(peaks, count) {
  if (!peaks.length) return [];
  const least = peaks[0][0], most = peaks[peaks.length - 1][0];
  const width = Math.max((most - least) / count, 1);
  const bins = new Map();
  for (const [size, orders] of peaks) {
    const index = Math.min(Math.floor((size - least) / width), count - 1);
    const left = least + index * width;
    const bin = bins.get(index) ?? { left, right: left + width, count: 0, low: size, high: size };
    bins.set(index, { ...bin, count: bin.count + orders, high: size });
  }
  const thinnest = most / 200; // a single peak is still seen
  return [...bins.values()].map((bin) => ({ ...bin, right: Math.max(bin.right, bin.left + thinnest) }));
}

function describe(item) {
  if (item.kind === "step") {
    return [item.label, `step ${item.index}: ${text.size(item.live)} live, ${text.change(item.delta)}`];
  }
  const offset = item.offset === null ? "no known offset" : `at offset ${text.size(item.offset)}`;
  return [item.nodes.join(", ") || item.name, item.name, text.size(item.size), offset,
    `live in ${text.steps(item)}`, ...(item.owner === "slab" ? [] : [item.owner])];
}
