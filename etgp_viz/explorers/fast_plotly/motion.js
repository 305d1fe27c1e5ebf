// Motion that shows where things go: axes ease to new ranges, and lines, dots and heat maps to where a
// preset puts them. moves.js precedes this file, figure.js follows it.

const SHARES = [0.25, 0.35, 0.45, 0.6]; // of the remaining way, at each redraw of an easing axis
const MORPH = 400; // milliseconds
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
  const from = { x: trace?._etgpX ?? trace?.x, y: trace?._etgpY ?? trace?.y, z: trace?._etgpZ ?? trace?.z };
  const to = { x: numbers(valueIn(change, "x", index)), y: numbers(valueIn(change, "y", index)) };
  const z = valueIn(change, "z", index);
  if (Array.isArray(z) && z.length === from.z?.length)
    return (share) => ({ z: z.map((row, j) => Array.from(blend(from.z[j], row, share))) });
  const names = ["x", "y"].filter((name) => to[name]);
  if (!names.length || names.some((name) => from[name]?.length !== to[name].length)) return null;
  return (share) => Object.fromEntries(names.map((name) => [name, blend(from[name], to[name], share)]));
}

// Let what is drawn glide to a change. Returns how many milliseconds that takes, 0 if nothing can.
function morph(plot, change) {
  if (isCalm() || document.hidden) return 0;
  const ways = change.style_traces.map((index) => [index, wayOf(plot, index, change)]).filter(([, way]) => way);
  if (!ways.length) return 0;
  const start = performance.now();
  const go = () => {
    const share = Math.min(1, (performance.now() - start) / MORPH), eased = share * share * (3 - 2 * share);
    for (const [index, way] of ways) {
      const values = way(eased), style_data = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value]]));
      moveTrace(plot, index, { style_data, style_traces: [index] })?.forEach((step) => step());
    }
    if (share < 1) requestAnimationFrame(go);
  };
  requestAnimationFrame(go);
  return MORPH;
}
