// plotly's own widget, from the copy of its code that all figures share (see library.js), with its
// changes paced: one figure is redrawn for each frame that the browser paints, so that the first
// one is seen before the others are worked on, and a change that waits is joined with the next one
// to the same figure, so that dragging never builds a backlog.

globalThis.etgpPlotly ??= Promise.withResolvers();
const pace = (globalThis.etgpPace ??= { waiting: new Map(), running: false, ledLast: false });
const CHANGE = "_py2js_update";

// Two changes to one figure as one: the later value of each property of each trace counts.
function joined(old, late) {
  const traces = [...new Set([...old.style_traces, ...late.style_traces])];
  const names = new Set([...Object.keys(old.style_data), ...Object.keys(late.style_data)]);
  const value = (change, name, trace) => {
    const values = change.style_data[name];
    const place = change.style_traces.indexOf(trace);
    return values && place >= 0 ? values[place % values.length] : undefined;
  };
  const style_data = {};
  for (const name of names)
    style_data[name] = traces.map((trace) => value(late, name, trace) ?? value(old, name, trace));
  return { ...late, style_traces: traces, style_data, layout_data: { ...old.layout_data, ...late.layout_data } };
}

// After the next frame has been painted and keys have been heard; a hidden page paints none, and goes on all the same.
const painted = () => new Promise((done) => {
  const late = setTimeout(done, 250);
  requestAnimationFrame(() => setTimeout(() => { clearTimeout(late); done(); }, 5));
});

// The leading figure of a page takes every second turn if it has something to draw.
function next() {
  const all = [...pace.waiting.keys()];
  const leading = pace.ledLast ? undefined : all.find((view) => view.leads);
  return leading ?? all[0];
}

async function run() {
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
  const old = pace.waiting.get(view);
  pace.waiting.set(view, old ? joined(old, change) : change);
  if (!pace.running) run();
}

export default () => {
  let ready = null;
  let pacing = false; // plotly's model hears of a change at once, its views in their turn
  let drawing = null;

  const paced = (model, views) => new Proxy(model, {
    get(target, key) {
      if (key === "get") return (name) => (name === CHANGE && drawing ? drawing : target.get(name));
      if (key === "on") return (event, callback) => {
        if (!pacing || event !== `change:${CHANGE}`) return target.on(event, callback);
        const view = {
          leads: target.get("leads"),
          draw(change) { drawing = change; try { callback(); } finally { drawing = null; } },
        };
        views.push(view);
        return target.on(event, () => target.get(CHANGE) && enqueue(view, target.get(CHANGE)));
      };
      const value = target[key];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

  const views = [];
  return {
    // Nothing is awaited here: anywidget gives a model up after two seconds, its figure is drawn but
    // hears of no change any more, and on a busy machine plotly's code takes longer to arrive.
    initialize(context) {
      ready = globalThis.etgpPlotly.promise.then(async (library) => {
        const widget = library.default();
        await widget.initialize({ ...context, model: paced(context.model, views) });
        pacing = true;
        return widget;
      });
    },
    render: async (context) => {
      const leave = (await ready).render(context);
      return () => {
        for (const view of views) pace.waiting.delete(view);
        leave();
      };
    },
  };
};
