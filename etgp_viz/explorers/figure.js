// plotly's own widget, from the copy of its code that all figures share (see library.js), with its
// changes paced:
// - lines move at once, as new paths on the axes that are there, and plotly catches up when nothing
//   has moved for a moment: a redraw by plotly takes twenty times as long as the path;
// - plotly redraws one figure for each frame that the browser paints, the leading one first;
// - a figure outside the window waits until it is seen;
// - a change that waits is joined with the next one to the same figure: no backlog when dragging.

globalThis.etgpPlotly ??= Promise.withResolvers();
const pace = (globalThis.etgpPace ??= { waiting: new Map(), running: false, ledLast: false });
const CHANGE = "_py2js_update";
const MOMENT = 120; // milliseconds

// The value of a property of a trace in a change, undefined if it has none.
function valueIn(change, name, trace) {
  const values = change.style_data[name];
  const place = change.style_traces.indexOf(trace);
  return values && place >= 0 ? values[place % values.length] : undefined;
}

// Two changes to one figure as one: the later value of each property of each trace counts.
function joined(old, late) {
  const style_traces = [...new Set([...old.style_traces, ...late.style_traces])];
  const style_data = {};
  for (const name of new Set([...Object.keys(old.style_data), ...Object.keys(late.style_data)]))
    style_data[name] = style_traces.map((trace) => valueIn(late, name, trace) ?? valueIn(old, name, trace));
  return { ...late, style_traces, style_data, layout_data: { ...old.layout_data, ...late.layout_data } };
}

// An array of numbers as it came over the wire, or null.
function numbers(sent) {
  if (sent?.dtype !== "float64" || sent.shape.length !== 1) return null;
  const { buffer, byteOffset, byteLength } = sent.buffer;
  return new Float64Array(buffer.slice(byteOffset, byteOffset + byteLength));
}

// The paths of a trace after a change, as [element, path] pairs; null if plotly must draw it.
function movedPaths(plot, index, change) {
  const trace = plot._fullData?.[index];
  const isLine = trace?.type === "scatter" && trace.visible === true && trace.mode === "lines";
  if (!isLine || trace.stackgroup || trace.line.shape !== "linear") return null;
  for (const name of Object.keys(change.style_data)) {
    const value = valueIn(change, name, index);
    if (!["x", "y"].includes(name) && value !== undefined && value !== trace[name]) return null;
  }
  const axis = (name) => plot._fullLayout[name.replace(/^(x|y)/, "$1axis")];
  const sent = { x: valueIn(change, "x", index), y: valueIn(change, "y", index) };
  const x = sent.x === undefined ? trace._etgpX ?? trace.x : numbers(sent.x);
  const y = sent.y === undefined ? trace._etgpY ?? trace.y : numbers(sent.y);
  if (!x || !y || x.length !== y.length) return null;
  [trace._etgpX, trace._etgpY] = [x, y];
  const toX = axis(trace.xaxis).c2p, toY = axis(trace.yaxis).c2p;
  const points = Array.from(y, (value, k) => `${toX(x[k]).toFixed(2)},${toY(value).toFixed(2)}`).join("L");
  const group = plot.querySelector(`.trace${trace.uid}`);
  const line = group?.querySelector(".js-line"), fill = group?.querySelector(".js-fill");
  if (trace.line.width > 0 && !line) return null;
  if (!fill) return trace.fill === "none" || trace.fill === undefined ? [[line, `M${points}`]] : null;
  const floor = toY(0).toFixed(2);
  const closed = trace.fill === "toself" ? `M${points}Z`
    : trace.fill === "tozeroy" ? `M${toX(x[0])},${floor}L${points}L${toX(x.at(-1))},${floor}Z` : null;
  if (!closed) return null;
  return line ? [[line, `M${points}`], [fill, closed]] : [[fill, closed]];
}

// Move the lines of a figure without plotly; whether that shows all of the change but its labels.
function moveLines(plot, change) {
  if (Object.keys(change.layout_data).some((path) => /axis|shapes/.test(path))) return false;
  const paths = change.style_traces.map((index) => movedPaths(plot, index, change));
  if (!paths.length || paths.includes(null)) return false;
  for (const [element, path] of paths.flat()) element.setAttribute("d", path);
  plot.dispatchEvent(new Event("etgp-moved"));
  return true;
}

// After the next frame has been painted and keys have been heard; a hidden page paints none, and
// goes on all the same.
const painted = () => new Promise((done) => {
  const late = setTimeout(done, 250);
  requestAnimationFrame(() => setTimeout(() => { clearTimeout(late); done(); }, 5));
});

// The view whose turn it is. The leading figure of a page takes every second turn if it wants it.
function next() {
  const now = performance.now();
  const ready = [...pace.waiting.keys()].filter((view) => view.seen && view.due <= now);
  const leading = pace.ledLast ? undefined : ready.find((view) => view.leads);
  return leading ?? ready[0];
}

async function run() {
  if (pace.running) return;
  pace.running = true;
  for (let view; (view = next()); ) {
    const change = pace.waiting.get(view);
    pace.waiting.delete(view);
    pace.ledLast = view.leads;
    view.draw(change);
    await painted();
  }
  pace.running = false;
}

function enqueue(view, change) {
  const moved = view.seen && moveLines(view.el, change);
  const old = pace.waiting.get(view);
  pace.waiting.set(view, old ? joined(old, change) : change);
  view.due = performance.now() + (moved ? MOMENT : 0);
  if (moved) setTimeout(run, MOMENT + 1);
  else run();
}

export default () => {
  let ready = null;
  let place = null; // of the view that is being made: plotly's model hears of a change at once,
  let drawing = null; // its views in their turn
  const views = new Map();

  function makeView(target, callback) {
    const el = place;
    const view = {
      el, due: 0, seen: true, leads: target.get("leads"),
      draw(change) { drawing = change; try { callback(); } finally { drawing = null; } },
    };
    const watch = new IntersectionObserver((entries) => {
      view.seen = entries.at(-1).isIntersecting;
      if (view.seen) run();
    });
    watch.observe(el);
    views.set(el, () => { watch.disconnect(); pace.waiting.delete(view); });
    return view;
  }

  const paced = (model) => new Proxy(model, {
    get(target, key) {
      if (key === "get") return (name) => (name === CHANGE && drawing ? drawing : target.get(name));
      if (key === "on") return (event, callback) => {
        if (!place || event !== `change:${CHANGE}`) return target.on(event, callback);
        const view = makeView(target, callback);
        return target.on(event, () => target.get(CHANGE) && enqueue(view, target.get(CHANGE)));
      };
      const value = target[key];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

  return {
    // Nothing is awaited here: anywidget gives a model up after two seconds, its figure is drawn but
    // hears of no change any more, and on a busy machine plotly's code takes longer to arrive.
    initialize(context) {
      ready = globalThis.etgpPlotly.promise.then(async (library) => {
        const widget = library.default();
        await widget.initialize({ ...context, model: paced(context.model) });
        return widget;
      });
    },
    async render(context) {
      const widget = await ready;
      place = context.el;
      const leave = widget.render(context);
      place = null;
      return () => {
        views.get(context.el)?.();
        leave();
      };
    },
  };
};
