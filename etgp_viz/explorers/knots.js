// A curve with knots. Python computes the curve through the knots; this file draws both, and sends
// Python the new value of a knot that is dragged or moved by arrow keys.

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 260, HEIGHT = 84, PAD = 10;

function make(name, attributes, parent) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.appendChild(element);
  return element;
}

function render({ model, el }) {
  const low = model.get("low"), high = model.get("high"), step = model.get("step");
  const toY = (v) => PAD + ((high - v) / (high - low)) * (HEIGHT - 2 * PAD);
  const toX = (share) => PAD + share * (WIDTH - 2 * PAD);
  const clip = (v) => Math.min(high, Math.max(low, Math.round(v / step) * step));

  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "etgp-knots" }, el);
  make("rect", { x: PAD, y: PAD, width: WIDTH - 2 * PAD, height: HEIGHT - 2 * PAD }, svg);
  if (low < 0 && high > 0)
    make("line", { x1: PAD, x2: WIDTH - PAD, y1: toY(0), y2: toY(0) }, svg);
  const path = make("polyline", {}, svg);
  const count = model.get("value").length;
  const knots = model.get("value").map((_, k) => make("circle", {
    r: 6, cx: toX(k / (count - 1)), tabindex: 0, role: "slider",
    "aria-label": `${model.get("label")}, knot ${k + 1} of ${count}`,
    "aria-valuemin": low, "aria-valuemax": high,
  }, svg));

  const draw = () => {
    const curve = model.get("curve");
    path.setAttribute("points", curve.map((v, i) => `${toX(i / (curve.length - 1))},${toY(v)}`).join(" "));
    model.get("value").forEach((v, k) => {
      knots[k].setAttribute("cy", toY(v));
      knots[k].setAttribute("aria-valuenow", v.toFixed(2));
    });
  };
  const set = (k, v) => {
    const values = [...model.get("value")];
    values[k] = clip(v);
    model.set("value", values);
    model.save_changes();
    draw();
  };

  knots.forEach((knot, k) => {
    knot.addEventListener("pointerdown", (event) => {
      knot.setPointerCapture(event.pointerId);
      event.preventDefault();
      knot.focus();
    });
    knot.addEventListener("pointermove", (event) => {
      if (!knot.hasPointerCapture(event.pointerId)) return;
      const box = svg.getBoundingClientRect();
      const y = ((event.clientY - box.top) / box.height) * HEIGHT;
      set(k, high - ((y - PAD) / (HEIGHT - 2 * PAD)) * (high - low));
    });
    knot.addEventListener("keydown", (event) => {
      const up = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (!up) return;
      event.preventDefault();
      event.stopPropagation();
      set(k, model.get("value")[k] + up * step);
    });
  });
  model.on("change:curve", draw);
  draw();
}

export default { render };
