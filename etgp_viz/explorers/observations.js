// A table of points, such as observations, with a row for each, and their dragging in a figure of the same
// page. If the figure has a line that can be dragged, pulling it adds a point that holds it.
// fast_plotly/panels.js precedes this file.

const NEAR = 12; // pixels: a press this close to a point takes hold of it

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function button(label, title, action) {
  const made = element("button", { type: "button", title, class: "jupyter-button widget-button" }, label);
  made.addEventListener("click", action);
  return made;
}

// The figure on the page of an element, or null.
const figureOf = (model, el) => el.closest(".etgp-viz")?.querySelector(`.etgp-figure-${model.get("figure")} ${PLOT}`);

// Points as pairs, and how to change them.
function store(model, el) {
  const [lowX, highX, lowY, highY] = model.get("limits"), [stepX, stepY] = model.get("steps");
  const onStep = (value, low, high, step) => {
    const steps = Math.round((Math.min(high, Math.max(low, value)) - low) / step);
    return Number((low + steps * step).toFixed(10));
  };
  const snap = (x, y) => [onStep(x, lowX, highX, stepX), onStep(y, lowY, highY, stepY)];
  const pairs = () => {
    const flat = model.get("value");
    return Array.from({ length: flat.length / 2 }, (_, k) => [flat[2 * k], flat[2 * k + 1]]);
  };
  const write = (points) => {
    model.set("value", points.flat());
    model.save_changes();
  };
  return {
    pairs,
    isFull: () => pairs().length >= model.get("most"),
    move: (k, x, y) => write(pairs().with(k, snap(x, y))),
    remove: (k) => write(pairs().toSpliced(k, 1)),
    clear: () => write([]),
    addAt: (x, y) => write([...pairs(), snap(x, y)]),
    // In the middle of the widest gap between points, on the line if there is one.
    add() {
      const places = [lowX, ...pairs().map(([x]) => x).sort((a, b) => a - b), highX];
      const gaps = places.slice(1).map((x, k) => x - places[k]);
      const k = gaps.indexOf(Math.max(...gaps));
      const x = (places[k] + places[k + 1]) / 2, plot = figureOf(model, el);
      write([...pairs(), snap(x, ((plot && heightOfLine(plot, x)) ?? 0) / model.get("unit"))]);
    },
  };
}

function makeTable(model, points, el) {
  let chosen = -1;
  const count = element("span", { "aria-live": "polite" });
  const [one, several] = model.get("nouns");
  const add = button("add", `Add one ${one} in the widest gap, then type its place`, () => {
    chosen = points.pairs().length;
    points.add();
    rows[chosen]?.inputs[0].select();
  });
  const undo = button("undo", "Take back the last change", () => model.send({ undo: true }));
  const clear = button("clear", `Remove all ${several}`, () => points.clear());
  const body = element("tbody");
  const head = element("tr", {}, element("th", {}, "x"), element("th", {}, "y"), element("td"));
  const table = element("table", { "aria-label": several }, element("thead", {}, head), body);
  const help = element("p", {}, model.get("help"));
  el.append(element("div", { class: "etgp-head" }, count, add, undo, clear), element("div", { class: "etgp-rows" }, table), help);
  let rows = [];

  const remove = (k) => {
    points.remove(k);
    (rows[Math.min(k, rows.length - 1)]?.remove ?? add).focus();
  };
  function makeRow(k) {
    const inputs = ["x", "y"].map((name, axis) => {
      const input = element("input", { type: "number", step: "0.1", "aria-label": `${name} of ${one} ${k + 1}` });
      input.addEventListener("input", () => {
        const typed = [...points.pairs()[k]];
        typed[axis] = input.valueAsNumber;
        if (Number.isFinite(typed[axis])) points.move(k, ...typed);
      });
      input.addEventListener("focus", () => choose(k));
      input.addEventListener("blur", refresh);
      return input;
    });
    const cross = button("✕", `Remove this ${one}`, () => remove(k));
    cross.setAttribute("aria-label", `remove ${one} ${k + 1}`);
    cross.addEventListener("keydown", (event) => {
      if (event.key === "Delete" || event.key === "Backspace") remove(k);
    });
    const row = element("tr", {}, ...[...inputs, cross].map((part) => element("td", {}, part)));
    return { row, inputs, remove: cross };
  }
  function choose(k) {
    chosen = k;
    rows.forEach(({ row }, other) => row.classList.toggle("etgp-chosen", other === k));
  }
  function refresh() {
    const places = points.pairs();
    if (places.length !== rows.length) {
      rows = places.map((_, k) => makeRow(k));
      body.replaceChildren(...rows.map(({ row }) => row));
    }
    places.forEach((place, k) => rows[k].inputs.forEach((input, axis) => {
      if (input !== document.activeElement) input.value = place[axis];
    }));
    table.hidden = places.length === 0;
    const words = `${several}: ${places.length}`;
    if (count.textContent !== words) count.textContent = words; // or a drag would be read out
    add.disabled = points.isFull();
    clear.disabled = places.length === 0;
    undo.disabled = !model.get("can_undo");
    choose(chosen < places.length ? chosen : -1);
  }
  // The page takes Delete and a double click on a control for a wish to have its default back.
  el.addEventListener("dblclick", (event) => event.stopPropagation());
  el.addEventListener("keydown", (event) => {
    if (event.key === "Delete" || event.key === "Backspace") event.stopPropagation();
  });
  refresh();
  return { refresh, choose: (k) => { choose(k); rows[k]?.row.scrollIntoView({ block: "nearest" }); } };
}

// Take hold of a point in the figure, or of its line; what is pressed elsewhere is a click for the page.
function watchDrags(model, points, table, el) {
  let grip = null;
  const panelUnder = (event) => {
    const panel = event.target.closest?.(`.etgp-figure-${model.get("figure")} ${PANEL}`);
    return panel && el.closest(".etgp-viz")?.contains(panel) ? panel : null;
  };
  // The nearest point to the mouse, if it is near.
  const nearest = (panel, event) => {
    const distance = pixelsTo(panel, event), unit = model.get("unit");
    const pixels = points.pairs().map(([x, y]) => distance(x, unit * y)), least = Math.min(...pixels);
    return least <= NEAR ? pixels.indexOf(least) : -1;
  };
  const isOnLine = (panel, event) => {
    const here = valuesAt(panel, event), height = here && heightOfLine(panel.closest(PLOT), here.x);
    return height !== null && !points.isFull() && !isOnMark(panel, event)
      && pixelsTo(panel, event)(here.x, height) <= NEAR;
  };
  const hold = (held) => { model.set("held", held); model.save_changes(); };
  const down = (event) => {
    const panel = event.button === 0 ? panelUnder(event) : null, k = panel ? nearest(panel, event) : -1;
    if (k < 0) { // a line may be pulled, and a press that moves nothing is still a click
      if (event.type === "mousedown" && panel && isOnLine(panel, event)) {
        event.preventDefault();
        grip = { panel, k: -1, x: event.clientX, y: event.clientY, moved: false };
      }
      return;
    }
    event.stopPropagation(); // both events are kept from the page, one is answered
    if (event.type !== "mousedown") return;
    event.preventDefault(); // no selection of text
    table.choose(k);
    if (event.detail === 2) points.remove(k);
    else grip = { panel, k, x: event.clientX, y: event.clientY, moved: false };
  };
  const move = (event) => {
    if (!grip) {
      const panel = panelUnder(event);
      if (!panel) return;
      const elsewhere = heightOfLine(panel.closest(PLOT), 0) === null ? "crosshair" : "";
      panel.style.cursor = nearest(panel, event) >= 0 || isOnLine(panel, event) ? "grab" : elsewhere;
      return;
    }
    if (!grip.moved && Math.hypot(event.clientX - grip.x, event.clientY - grip.y) <= 3) return;
    if (!grip.moved) hold((grip.moved = true));
    const values = valuesAt(grip.panel, event), height = values?.y / model.get("unit");
    if (!values) return;
    if (grip.k >= 0) return points.move(grip.k, values.x, height);
    grip.k = points.pairs().length;
    points.addAt(values.x, height);
    table.choose(grip.k);
  };
  const up = () => {
    if (grip?.moved) hold(false);
    grip = null;
  };
  const listeners = { pointerdown: down, mousedown: down, mousemove: move, mouseup: up };
  for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener, true);
  return () => {
    for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener, true);
  };
}

export default {
  render({ model, el }) {
    el.classList.add("etgp-observations");
    const points = store(model, el), table = makeTable(model, points, el);
    const stop = watchDrags(model, points, table, el);
    model.on("change:value", table.refresh);
    model.on("change:can_undo", table.refresh);
    return () => {
      stop();
      model.off("change:value", table.refresh);
      model.off("change:can_undo", table.refresh);
    };
  },
};
