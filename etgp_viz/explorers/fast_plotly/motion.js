// Motion that shows where things go: axes ease to new ranges, and lines, dots and heat maps to where a
// preset puts them. moves.js precedes this file, figure.js follows it.

const SHARES = [0.25, 0.35, 0.45, 0.6]; // of the remaining way, at each redraw of an easing axis
const MORPH = 400, LONGEST_STEP = 150; // milliseconds
const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Paths and values of the ranges that a change sets.
const rangesIn = (change) => Object.entries(change.layout_data).filter(([path, to]) =>
  /^[xy]axis\d*\.range$/.test(path) && Array.isArray(to));

// Draw a change with its ranges only part of the way. Returns what is left to draw later, or null.
function easeRanges(view, change) {
  const layout = view.el._fullLayout, step = change.eased ?? 0;
  const ranges = rangesIn(change).filter(([path, to]) => {
    const from = layout?.[path.split(".")[0]]?.range;
    return from && to.some((end, k) => Math.abs(end - from[k]) > 0.002 * Math.abs(from[1] - from[0]));
  });
  if (!ranges.length || step >= SHARES.length || isCalm() || !view.seen) return view.draw(change) ?? null;
  const between = ranges.map(([path, to]) => {
    const from = layout[path.split(".")[0]].range;
    return [path, to.map((end, k) => from[k] + SHARES[step] * (end - from[k]))];
  });
  view.draw({ ...change, layout_data: { ...change.layout_data, ...Object.fromEntries(between) } });
  return { ...change, style_data: {}, style_traces: [], layout_data: Object.fromEntries(ranges), eased: step + 1 };
}

const blend = (from, to, share) => Float64Array.from(to, (value, k) => from[k] + share * (value - from[k]));

// A change to one trace that lies a share of the way from what is drawn to what is to be drawn, as a
// function of the share; null if the trace cannot move so.
function wayOf(plot, index, change) {
  const trace = plot._fullData?.[index];
  const from = { x: trace?.x, y: trace?.y, z: trace?.z };
  const to = { x: numbers(valueIn(change, "x", index)), y: numbers(valueIn(change, "y", index)) };
  const z = valueIn(change, "z", index);
  if (Array.isArray(z) && z.length === from.z?.length)
    return (share) => ({ z: z.map((row, j) => Array.from(blend(from.z[j], row, share))) });
  const names = ["x", "y"].filter((name) => to[name]);
  if (!names.length || names.some((name) => from[name]?.length !== to[name].length)) return null;
  return (share) => Object.fromEntries(names.map((name) => [name, blend(from[name], to[name], share)]));
}

const smooth = (share) => share * share * (3 - 2 * share);
const glides = new WeakMap(); // figure → what ends its glide, at the end of the way but for some traces

// End what glides in a figure, with some traces left where they are.
function endGlide(plot, traces) {
  glides.get(plot)?.(traces);
  glides.delete(plot);
}

// Let what is drawn glide to a change. Returns how many milliseconds that takes, 0 if nothing can.
function glide(plot, change, milliseconds, pace) {
  endGlide(plot, change.style_traces);
  if (isCalm() || document.hidden) return 0;
  const ways = change.style_traces.map((index) => [index, wayOf(plot, index, change)]).filter(([, way]) => way);
  if (!ways.length) return 0;
  const start = performance.now();
  let isOver = false;
  const show = (share, some) => {
    for (const [index, way] of some) {
      const style_data = Object.fromEntries(Object.entries(way(share)).map(([name, value]) => [name, [value]]));
      moveTrace(plot, index, { style_data, style_traces: [index] })?.forEach((step) => step());
    }
    announce(plot, false);
  };
  const go = () => {
    if (isOver) return;
    const share = Math.min(1, (performance.now() - start) / milliseconds);
    show(pace(share), ways);
    if (share < 1) requestAnimationFrame(go);
    else isOver = true;
  };
  glides.set(plot, (traces) => {
    if (!isOver) show(1, ways.filter(([index]) => !traces.includes(index)));
    isOver = true;
  });
  requestAnimationFrame(go);
  return milliseconds;
}

const morph = (plot, change) => glide(plot, change, MORPH, smooth);

// Answers to a drag come a few times a second: between two of them, what is drawn moves steadily from
// one to the next. Returns whether it does; if some part cannot, all of it moves at once.
function followDrag(plot, change, milliseconds) {
  const layout = moveLayout(plot, change);
  if (!layout || change.style_traces.some((index) => !wayOf(plot, index, change))) return false;
  if (!glide(plot, change, Math.min(milliseconds, LONGEST_STEP), (share) => share)) return false;
  layout.forEach((step) => step());
  return true;
}
