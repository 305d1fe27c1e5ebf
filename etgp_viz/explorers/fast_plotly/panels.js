// For the page around the figures (frame.js, which follows this file): what only plotly's own
// objects know about a panel. With either path of live_figure.py the plots are the same.

const PLOT = ".js-plotly-plot"; // one figure
const PANEL = ".nsewdrag"; // the area of a figure between its axes

// A click in a panel as the name of its axes and the values under the mouse, or null.
function valuesAt(panel, event) {
  const plot = panel.closest(PLOT), box = panel.getBoundingClientRect();
  const [, x, y] = panel.dataset.subplot.match(/x(\d*)y(\d*)/);
  const xaxis = plot._fullLayout?.[`xaxis${x}`], yaxis = plot._fullLayout?.[`yaxis${y}`];
  if (!xaxis?.p2d || !yaxis?.p2d) return null;
  return {
    panel: panel.dataset.subplot,
    x: xaxis.p2d(event.clientX - box.left),
    y: yaxis.p2d(event.clientY - box.top),
  };
}

const stackOf = (plot) => (plot._fullData ?? []).filter((trace) => trace.stackgroup && trace.visible === true);

// The area of a trace. In a stack, plotly keeps the area of one trace with the trace below it.
function areaOf(plot, trace) {
  const stack = stackOf(plot), place = stack.indexOf(trace);
  return (place > 0 ? stack[place - 1]._nextFill : trace._ownFill)?.node?.();
}

// Which class each mark of a trace belongs to, if they belong to several: dots, or names of lines. A trace
// with legendgroup "names" has the name of class c as its text number c.
const classOfMark = (trace, k) => (trace.legendgroup === "names" ? k : trace.meta?.classes?.[k]);
const hasMarks = (trace) => trace.legendgroup === "names" || Boolean(trace.meta?.classes);
const marksOf = (plot, trace) => [...(plot.querySelector(`.trace${trace.uid}`)?.querySelectorAll(".textpoint, .point") ?? [])];


// The class of mark k of a trace as the others know it, or null: f₀ has no class, and is -1 among them.
function groupOf(trace, k) {
  const c = hasMarks(trace) ? classOfMark(trace, k) : trace.legendgroup || -1;
  return c >= 0 ? String(c) : null;
}

// The classes of the rows and of the columns of a matrix, as many rows for each; null for other figures.
function matrixIn(plot) {
  const trace = plot._fullData?.[0];
  return trace?.type === "heatmap" && trace.meta?.rows ? trace.meta : null;
}

// Frame the rows and the columns of a class in a matrix; none if `group` is null.
function frameClass(plot, group) {
  const place = plot.closest(".etgp-figure"), panel = plot.querySelector(PANEL), matrix = matrixIn(plot);
  place?.querySelectorAll(".etgp-band").forEach((band) => band.remove());
  if (!place || !panel || !matrix || group === null) return;
  const outer = place.getBoundingClientRect(), inner = panel.getBoundingClientRect();
  for (const side of ["rows", "columns"]) {
    const k = matrix[side].indexOf(Number(group)), share = 1 / matrix[side].length;
    if (k < 0 || share === 1) continue;
    const band = document.createElement("div"), isRow = side === "rows";
    band.className = "etgp-band";
    Object.assign(band.style, {
      left: `${inner.left - outer.left + (isRow ? 0 : k * share * inner.width)}px`,
      top: `${inner.top - outer.top + (isRow ? k * share * inner.height : 0)}px`,
      width: `${inner.width * (isRow ? 1 : share)}px`,
      height: `${inner.height * (isRow ? share : 1)}px`,
    });
    place.append(band);
  }
}

// Dim every class but one in a plot; none if `group` is null. Traces of class c have legendgroup "c".
function emphasise(plot, group) {
  const isOther = (name) => group !== null && /^\d+$/.test(name) && name !== group;
  const fade = (mark, name) => { mark.style.opacity = isOther(name) ? 0.15 : ""; };
  frameClass(plot, group);
  for (const trace of plot._fullData ?? []) {
    if (hasMarks(trace)) {
      marksOf(plot, trace).forEach((mark, k) => fade(mark, String(classOfMark(trace, k))));
      continue;
    }
    const drawn = plot.querySelector(`.trace${trace.uid}`);
    for (const mark of drawn?.querySelectorAll(":scope > :not(.fills)") ?? []) fade(mark, trace.legendgroup);
    const area = areaOf(plot, trace);
    if (area) fade(area, trace.legendgroup);
  }
}

// The classes in some plots, as group, name and colour; none if there is only one.
function classesIn(plots) {
  const found = new Map();
  for (const plot of plots) {
    const traces = (plot._fullData ?? []).filter((trace) => trace.visible === true);
    const names = [traces.find((trace) => trace.legendgroup === "names")?.text ?? []].flat();
    for (const { legendgroup: group, name, mode, line, marker, fillcolor } of traces) {
      if (!/^\d+$/.test(group) || found.has(group)) continue;
      const colour = mode === "lines" && line?.width > 0 ? line.color : fillcolor ?? marker?.color ?? line?.color;
      found.set(group, { group, name: (names[group] ?? name).replace(/^data of /, "").trim(), colour: String(colour) });
    }
    const { names: labels = [], colours } = matrixIn(plot) ?? {};
    labels.forEach((name, c) => found.set(String(c), { group: String(c), name, colour: colours[c] }));
  }
  const classes = [...found.values()].sort((one, other) => one.group - other.group);
  return classes.length > 1 ? classes : [];
}

// The class whose name, area or cell is under the mouse, or null; lines are left to plotly.
function classAt(event) {
  const plot = event.target.closest?.(PLOT), name = event.target.closest?.(".textpoint");
  if (name) {
    for (const trace of (plot._fullData ?? []).filter(hasMarks)) {
      const k = marksOf(plot, trace).indexOf(name);
      if (k >= 0) return groupOf(trace, k);
    }
    return null;
  }
  const panel = event.target.closest?.(PANEL), at = panel && valuesAt(panel, event);
  if (!at) return null;
  const matrix = matrixIn(plot), box = panel.getBoundingClientRect();
  if (matrix?.rows.length > 1) {
    const share = (event.clientY - box.top) / box.height;
    return String(matrix.rows[Math.min(Math.floor(share * matrix.rows.length), matrix.rows.length - 1)]);
  }
  const stack = stackOf(plot), x = stack[0]?.x;
  if (!x) return null;
  const k = Array.from(x).reduce((best, value, i) => (Math.abs(value - at.x) < Math.abs(x[best] - at.x) ? i : best), 0);
  let height = 0;
  return stack.find((trace) => at.y <= (height += trace.y[k]))?.legendgroup ?? null;
}

// What a figure lets the mouse drag: the visible traces that say so in their meta, see plotting.DRAGGED.
const dragged = (plot, mode) => (plot._fullData ?? []).filter((trace) =>
  trace.meta === "dragged" && trace.visible === true && trace.mode === mode);
const valuesOf = (trace) => [trace.x, trace.y];

// The height at x of the line that can be dragged, or null if a figure has none.
function heightOfLine(plot, at) {
  const [line] = dragged(plot, "lines");
  if (!line) return null;
  const [x, y] = valuesOf(line), k = Array.from(x).findIndex((value) => value >= at);
  if (k <= 0) return y[k < 0 ? x.length - 1 : 0];
  return y[k - 1] + ((at - x[k - 1]) / (x[k] - x[k - 1])) * (y[k] - y[k - 1]);
}

// How many pixels the mouse is from a point of a panel, in the units of its axes.
function pixelsTo(panel, event) {
  const here = valuesAt(panel, event);
  const there = valuesAt(panel, { clientX: event.clientX + 1, clientY: event.clientY + 1 });
  return (x, y) => (here && there ? Math.hypot((x - here.x) / (there.x - here.x), (y - here.y) / (there.y - here.y)) : Infinity);
}

// The number of the dot under the mouse among those that can be dragged, or −1.
function dotAt(panel, event) {
  const [dots] = dragged(panel.closest(PLOT), "markers"), distance = pixelsTo(panel, event);
  const [x, y] = dots ? valuesOf(dots) : [[], []];
  const pixels = Array.from(x, (value, k) => distance(value, y[k])), least = Math.min(...pixels);
  return least <= 12 ? pixels.indexOf(least) : -1;
}

// Whether the mouse is on the vertical line that marks an input, the first shape of a figure.
function isOnMark(panel, event) {
  const { shapes, xaxis } = panel.closest(PLOT)._fullLayout ?? {};
  if (shapes?.[0]?.type !== "line" || shapes[0].x0 !== shapes[0].x1 || !xaxis?.c2p) return false;
  return Math.abs(panel.getBoundingClientRect().left + xaxis.c2p(shapes[0].x0) - event.clientX) < 9;
}
