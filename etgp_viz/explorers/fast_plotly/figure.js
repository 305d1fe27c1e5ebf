// plotly's own widget, from the copy of its code that all figures share (see library.js), with its
// changes paced:
// - lines, dots and heat maps move at once (see moves.js, which stands before this file), and plotly
//   catches up when nothing has moved for a moment;
// - plotly redraws one figure for each frame that the browser paints, the leading one first;
// - a figure outside the window waits until it is seen;
// - a change that waits is joined with the next one to the same figure: no backlog when dragging.

globalThis.etgpPlotly ??= Promise.withResolvers();
const pace = (globalThis.etgpPace ??= { waiting: new Map(), running: false, ledLast: false, moved: false });
const CHANGE = "_py2js_update";
const MOMENT = 120; // milliseconds

// Two changes to one figure as one: the later value of each property of each trace counts.
function joined(old, late) {
  const style_traces = [...new Set([...old.style_traces, ...late.style_traces])];
  const style_data = {};
  for (const name of new Set([...Object.keys(old.style_data), ...Object.keys(late.style_data)]))
    style_data[name] = style_traces.map((trace) => valueIn(late, name, trace) ?? valueIn(old, name, trace));
  return { ...late, style_traces, style_data, layout_data: { ...old.layout_data, ...late.layout_data } };
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
  if (pace.moved) await painted(); // what has moved is seen before plotly takes its time
  pace.moved = false;
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
  const old = pace.waiting.get(view);
  // What waits for plotly goes on waiting for its turn only, not for a pause as well.
  const moved = view.seen && moveTraces(view.el, change) && (!old || view.moved);
  pace.waiting.set(view, old ? joined(old, change) : change);
  pace.moved ||= moved;
  view.moved = moved;
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
      el, due: 0, moved: false, seen: true, leads: target.get("leads"),
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
