// plotly's own widget, taken from the copy of its code that all figures share, with control over when
// it draws (library.js and moves.js precede this file):
// - lines, dots and heat maps move at once, and plotly catches up when nothing has moved for a moment;
// - plotly redraws one figure per frame of the browser, the leading figure first;
// - a figure outside the window waits until it is seen;
// - a waiting change is merged with the next one to the same figure, so dragging builds no backlog.

const pace = (globalThis.etgpPace ??= { waiting: new Map(), running: false, ledLast: false, moved: false });
const CHANGE = "_py2js_update";
const MOMENT = 120; // milliseconds

// A null is a value: it takes a property away.
function latest(early, late, name, trace) {
  const value = valueIn(late, name, trace);
  return value === undefined ? valueIn(early, name, trace) : value;
}

// Two changes to one figure as one: for each property of each trace the later value counts.
function merged(early, late) {
  const style_traces = [...new Set([...early.style_traces, ...late.style_traces])];
  const style_data = {};
  for (const name of new Set([...Object.keys(early.style_data), ...Object.keys(late.style_data)]))
    style_data[name] = style_traces.map((trace) => latest(early, late, name, trace));
  return { ...late, style_traces, style_data, layout_data: { ...early.layout_data, ...late.layout_data } };
}

// Resolves after the browser has painted a frame and handled pending key presses. A hidden page
// paints nothing; there a timer takes over.
const nextPaint = () => new Promise((done) => {
  const late = setTimeout(done, 250);
  requestAnimationFrame(() => setTimeout(() => { clearTimeout(late); done(); }, 5));
});

// The view whose turn it is. The leading figure of a page gets every second turn if it needs it.
function nextView() {
  const now = performance.now();
  const ready = [...pace.waiting.keys()].filter((view) => view.seen && view.due <= now);
  const leading = pace.ledLast ? undefined : ready.find((view) => view.leads);
  return leading ?? ready[0];
}

// Let plotly draw what is waiting, one figure per frame.
async function drawWaiting() {
  if (pace.running) return;
  pace.running = true;
  if (pace.moved) await nextPaint(); // show what has moved before plotly blocks the page
  pace.moved = false;
  for (let view; (view = nextView()); ) {
    const change = pace.waiting.get(view);
    pace.waiting.delete(view);
    pace.ledLast = view.leads;
    try {
      view.draw(change);
    } catch (error) {
      console.error(error); // the other figures still get their turns
    }
    await nextPaint();
  }
  pace.running = false;
}

function enqueue(view, change) {
  const waiting = pace.waiting.get(view);
  // A change that only plotly can draw keeps its turn, even if a later one could move at once.
  const moved = view.seen && moveTraces(view.el, change) && (!waiting || view.moved);
  pace.waiting.set(view, waiting ? merged(waiting, change) : change);
  pace.moved ||= moved;
  view.moved = moved;
  view.due = performance.now() + (moved ? MOMENT : 0);
  if (moved) setTimeout(drawWaiting, MOMENT + 1);
  else drawWaiting();
}

// After every change plotly's widget computes all its defaults and sends them to Python, where
// nothing reads them. That takes as long as drawing.
function withoutDefaults(library) {
  library.FigureView.prototype._sendTraceDeltas = () => {};
  library.FigureView.prototype._sendLayoutDelta = () => {};
  return library;
}

export default () => {
  let ready = null;
  // plotly's model is told of a change at once, its views when it is their turn. `place` is the
  // element of a view that is being made, `drawing` the change that a view is drawing.
  let place = null;
  let drawing = null;
  // What to do when the view that is being made is removed. plotly leaves its listeners behind, and
  // they would draw into a place that is empty.
  let endings = null;

  function makeView(target, callback) {
    const el = place;
    const view = {
      el, due: 0, moved: false, seen: true, leads: target.get("leads"),
      draw(change) { drawing = change; try { callback(); } finally { drawing = null; } },
    };
    const watch = new IntersectionObserver((entries) => {
      view.seen = entries.at(-1).isIntersecting;
      if (view.seen) drawWaiting();
    });
    watch.observe(el);
    endings.push(() => { watch.disconnect(); pace.waiting.delete(view); });
    return view;
  }

  const paced = (model) => new Proxy(model, {
    get(target, key) {
      if (key === "get") return (name) => (name === CHANGE && drawing ? drawing : target.get(name));
      if (key === "on") return (event, callback) => {
        let listener = callback;
        if (place && event === `change:${CHANGE}`) {
          const view = makeView(target, callback);
          listener = () => target.get(CHANGE) && enqueue(view, target.get(CHANGE));
        }
        endings?.push(() => target.off(event, listener));
        return target.on(event, listener);
      };
      const value = target[key];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

  return {
    // Do not await anything here: anywidget gives up on a model after two seconds. Its figure would
    // be drawn but never change, and on a busy machine plotly's code takes longer to arrive.
    initialize(context) {
      ready = libraryOf(context.model).then(async (library) => {
        const widget = withoutDefaults(library).default();
        await widget.initialize({ ...context, model: paced(context.model) });
        return widget;
      });
    },
    async render(context) {
      const widget = await ready;
      const removal = [];
      [place, endings] = [context.el, removal];
      const remove = widget.render(context);
      [place, endings] = [null, null];
      return () => {
        removal.forEach((end) => end());
        remove();
      };
    },
  };
};
