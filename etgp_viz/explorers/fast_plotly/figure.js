// plotly's own widget, taken from the copy of its code that all figures share, with control over when
// it draws (library.js, moves.js and motion.js precede this file):
// - lines, dots and heat maps move at once, and steadily while a control is dragged; plotly is told
//   their values, and follows if there is anything else to draw, such as new labels;
// - axes ease to their new ranges, and lines to where a preset puts them, unless the reader wants no motion;
// - plotly redraws one figure per frame of the browser, the leading figure first;
// - a figure outside the window waits until it is seen;
// - a waiting change is merged with the next one to the same figure, so dragging builds no backlog.

const CHANGE = "_py2js_update";
const MOMENT = 120, IN_DRAG = 600, LATEST = 1000; // milliseconds
const pace = (globalThis.etgpPace ??= watchPointer({ waiting: new Map(), running: false, ledLast: false, moved: false, down: false }));

// Takes note while a mouse button, a finger or a pen is down: then something is being dragged, and plotly
// has its turn in the end.
function watchPointer(state) {
  window.addEventListener("pointerdown", () => { state.down = true; }, true);
  const up = () => {
    state.down = false;
    for (const view of state.waiting.keys()) view.due = Math.min(view.due, performance.now() + MOMENT);
    setTimeout(drawWaiting, MOMENT + 1);
  };
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, up, true);
  return state;
}

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
  const layout_data = { ...early.layout_data, ...late.layout_data };
  return { ...late, style_traces, style_data, layout_data, eased: rangesIn(late).length ? 0 : early.eased };
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
      const rest = easeRanges(view, change);
      if (rest) wait(view, rest, 0);
    } catch (error) {
      console.error(error); // the other figures still get their turns
    }
    await nextPaint();
  }
  pace.running = false;
}

// Let a change wait for plotly, merged with one that waits already, for so many milliseconds.
function wait(view, change, milliseconds) {
  const waiting = pace.waiting.get(view);
  pace.waiting.set(view, waiting ? merged(waiting, change) : change);
  const now = performance.now();
  if (!waiting) view.since = now;
  view.due = Math.min(now + milliseconds, view.since + LATEST);
}

function enqueue(view, change) {
  // After a single change plotly draws its labels at once; in a stream of changes, when it has ended.
  const now = performance.now(), gap = now - view.last;
  const inStream = gap < 4 * MOMENT ? Math.max(MOMENT, 1.5 * gap) : 0;
  const pause = pace.down ? IN_DRAG : inStream;
  view.last = now;
  // A change that only plotly can draw keeps its turn, even if a later one could move at once.
  const canMove = view.seen && (!pace.waiting.has(view) || view.moved);
  const delay = canMove && change.morph ? morph(view.el, change) : 0;
  const follows = canMove && !delay && pace.down && followDrag(view.el, change, gap);
  if (!delay && !follows) endGlide(view.el, change.style_traces);
  view.moved = delay > 0 || follows || (moveTraces(view.el, change, view.seen) && canMove);
  pace.moved ||= view.moved;
  // What shows all of a change needs no drawing by plotly, which knows the values.
  if (view.moved && !delay && !pace.waiting.has(view) && !hasLabels(view.el, change)) return;
  wait(view, change, delay || (view.moved ? pause : 0));
  if (view.due > now) setTimeout(drawWaiting, view.due - now + 1);
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
      el, due: 0, last: 0, since: 0, moved: false, seen: true, leads: target.get("leads"),
      draw(change) {
        endGlide(el, [...el._fullData?.keys() ?? []]);
        drawing = change;
        try { callback(); } finally { drawing = null; }
      },
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
    // A figure that nobody has seen yet is not drawn. Do not wait for that here either: the page puts
    // the element in its place after this function has returned.
    render(context) {
      const removal = [];
      const draw = async () => {
        const widget = await ready;
        if (removal.isDone) return;
        [place, endings] = [context.el, removal];
        removal.push(widget.render(context));
        [place, endings] = [null, null];
        for (let k = 0; k < 300 && !context.el.querySelector(".main-svg"); k++) await nextPaint();
        context.el.dispatchEvent(new Event("etgp-drawn", { bubbles: true })); // the page names and fits it
      };
      const watch = new IntersectionObserver((entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        watch.disconnect();
        draw();
      }, { rootMargin: "400px" });
      watch.observe(context.el);
      return () => {
        watch.disconnect();
        removal.isDone = true;
        removal.forEach((end) => end());
      };
    },
  };
};
