// A sentence with a number that can be dragged sideways, or moved with the arrow keys. slider_names.js precedes this file.

const WIDTH = 300; // pixels from the lowest value to the highest

function render({ model, el }) {
  const p = document.createElement("p");
  p.setAttribute("role", "status");
  p.style.lineHeight = "1.6";
  el.append(p);
  let grip = null; // where a drag began, and at which value

  const dragged = () => p.querySelector("[data-drag]");
  const range = () => ["low", "high", "step"].map((name) => model.get(name));
  const move = (value) => {
    const [low, high, step] = range();
    const steps = Math.round((Math.min(high, Math.max(low, value)) - low) / step);
    model.set("number", Number((low + steps * step).toFixed(10)));
    model.save_changes();
  };
  // The sentence is written anew with every value, so the number is a new element, which takes over the focus.
  const show = () => {
    const isFocused = p.contains(document.activeElement);
    p.innerHTML = model.get("value");
    const [low, high] = range(), number = dragged();
    if (!number) return;
    const attributes = {
      role: "slider", tabindex: "0", title: "Drag sideways, or use the arrow keys", "aria-label": model.get("label"),
      "aria-valuemin": low, "aria-valuemax": high, "aria-valuenow": model.get("number"), "aria-valuetext": number.textContent,
    };
    for (const [name, value] of Object.entries(attributes)) number.setAttribute(name, value);
    if (isFocused) number.focus({ preventScroll: true });
  };
  const onKey = (event) => {
    if (event.target !== dragged()) return;
    const [low, high, step] = range(), now = model.get("number");
    const places = {
      ArrowRight: now + step, ArrowUp: now + step, ArrowLeft: now - step, ArrowDown: now - step, Home: low, End: high,
    };
    if (!(event.key in places)) return;
    event.preventDefault();
    event.stopPropagation(); // a notebook would go to the next cell
    move(places[event.key]);
  };
  const onDown = (event) => {
    if (event.button !== 0 || !event.target.closest("[data-drag]")) return;
    event.preventDefault(); // no selection of text
    dragged().focus({ preventScroll: true });
    grip = { x: event.clientX, from: model.get("number") };
  };
  const onMove = (event) => {
    if (!grip) return;
    const [low, high] = range();
    move(grip.from + ((event.clientX - grip.x) / WIDTH) * (high - low));
  };
  const onUp = () => { grip = null; };

  p.addEventListener("keydown", onKey);
  p.addEventListener("pointerdown", onDown);
  window.addEventListener("pointermove", onMove);
  window.addEventListener("pointerup", onUp);
  window.addEventListener("pointercancel", onUp);
  model.on("change:value", show);
  show();
  nameSliders(el);
  return () => {
    window.removeEventListener("pointermove", onMove);
    window.removeEventListener("pointerup", onUp);
    window.removeEventListener("pointercancel", onUp);
    model.off("change:value", show);
  };
}

export default { render };
