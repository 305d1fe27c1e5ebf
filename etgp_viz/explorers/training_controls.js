// Two controls of a training: a play button that is down while it plays, and swatches of classes, with
// which points can be painted into a figure by dragging.
// fast_plotly/panels.js precedes this file.

const BRUSH_GAP = 14; // pixels between two points of a stroke

function renderToggle(model, el) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "etgp-toggle";
  const refresh = () => {
    const pressed = model.get("pressed");
    button.setAttribute("aria-pressed", pressed);
    button.title = model.get("hint");
    button.innerHTML = `<span aria-hidden="true">${pressed ? "❚❚" : "▶"}</span> `;
    button.append(model.get("label"));
  };
  button.addEventListener("click", () => {
    model.set("pressed", !model.get("pressed"));
    model.save_changes();
  });
  model.on("change", refresh);
  refresh();
  el.append(button);
  return () => model.off("change", refresh);
}

// One radio button for each class, with the colour and the mark of its points.
function renderSwatches(model, el) {
  const group = document.createElement("div");
  group.className = "etgp-swatches";
  group.setAttribute("role", "radiogroup");
  group.setAttribute("aria-label", model.get("label"));
  const choose = (value) => {
    model.set("value", value);
    model.save_changes();
    group.querySelector("[aria-checked=true]")?.focus();
  };
  const refresh = () => {
    const hasFocus = group.contains(document.activeElement);
    const count = model.get("count"), chosen = Math.min(model.get("value"), count);
    group.replaceChildren(...model.get("colours").slice(0, count).map((colour, c) => {
      const swatch = document.createElement("button");
      swatch.type = "button";
      swatch.setAttribute("role", "radio");
      swatch.setAttribute("aria-checked", c + 1 === chosen);
      swatch.setAttribute("aria-label", model.get("names")[c]);
      swatch.title = `Paint points of ${model.get("names")[c]}`;
      swatch.tabIndex = c + 1 === chosen ? 0 : -1;
      swatch.style.setProperty("--swatch", colour);
      swatch.innerHTML = `<span aria-hidden="true">${model.get("glyphs")[c]} ${c + 1}</span>`;
      swatch.addEventListener("click", () => choose(c + 1));
      return swatch;
    }));
    if (hasFocus) group.querySelector("[aria-checked=true]")?.focus();
  };
  group.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const count = model.get("count"), now = Math.min(model.get("value"), count);
    choose(((now - 1 + by + count) % count) + 1);
  });
  const caption = document.createElement("span");
  caption.textContent = model.get("label");
  caption.setAttribute("aria-hidden", "true");
  model.on("change", refresh);
  refresh();
  el.classList.add("etgp-swatch-row");
  el.append(caption, group);
  const stop = watchStrokes(model, el);
  return () => { stop(); model.off("change", refresh); };
}

// A drag in a figure paints a point every few pixels. A click is reported by frame.js.
function watchStrokes(model, el) {
  let stroke = null;
  const pageOf = () => el.closest(".etgp-viz");
  const figureOf = (panel) => panel.closest("[class*=etgp-figure-]")?.className.match(/etgp-figure-(\w+)/)?.[1];
  const paint = (event) => {
    const values = valuesAt(stroke.panel, event);
    if (values) model.send({ brush: stroke.figure, begins: !stroke.painted, x: values.x, y: values.y });
    Object.assign(stroke, { painted: true, x: event.clientX, y: event.clientY });
  };
  const down = (event) => {
    const panel = event.target.closest?.(PANEL);
    if (event.button || !panel || !pageOf()?.contains(panel)) return;
    const figure = figureOf(panel);
    if (!model.get("figures").includes(figure)) return;
    stroke = { panel, figure, painted: false, x: event.clientX, y: event.clientY };
  };
  const move = (event) => {
    if (stroke && !(event.buttons & 1)) up();
    if (!stroke || Math.hypot(event.clientX - stroke.x, event.clientY - stroke.y) < BRUSH_GAP) return;
    const box = stroke.panel.getBoundingClientRect();
    const { clientX: x, clientY: y } = event;
    if (x > box.left && x < box.right && y > box.top && y < box.bottom) paint(event);
  };
  const up = () => {
    if (stroke?.painted) model.send({ ends: true });
    stroke = null;
  };
  window.addEventListener("mousedown", down, true);
  window.addEventListener("mousemove", move, true);
  window.addEventListener("mouseup", up, true);
  return () => {
    window.removeEventListener("mousedown", down, true);
    window.removeEventListener("mousemove", move, true);
    window.removeEventListener("mouseup", up, true);
  };
}

export default {
  render({ model, el }) {
    return model.get("kind") === "toggle" ? renderToggle(model, el) : renderSwatches(model, el);
  },
};
