// A button that plays and pauses. While it plays it asks Python for one frame after another, and for the
// next one only when the last is drawn, so that a busy kernel builds no backlog. A hidden page has no
// animation frames and stands still.

const EVERY = 50; // milliseconds between two frames, at least

function render({ model, el }) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jupyter-button widget-button etgp-play";
  button.style.width = "auto";
  el.appendChild(button);
  let playing = false, begun = 0;

  const show = () => {
    const calm = still.matches;
    if (calm) playing = false;
    button.textContent = calm ? "next" : playing ? "❚❚ pause" : "▶ play";
    button.title = calm
      ? "Take one step: your system asks for less motion, so nothing moves by itself"
      : "Let the draws wander through function space, or hold them";
    button.setAttribute("aria-label", calm ? "turn the draws by one step" : `${playing ? "pause" : "play"} the draws`);
  };
  const ask = () => {
    begun = performance.now();
    model.send({ turn: still.matches ? "step" : "frame" });
  };
  const next = () => {
    if (!playing) return;
    const wait = Math.max(0, EVERY - (performance.now() - begun));
    setTimeout(() => requestAnimationFrame(() => playing && el.isConnected && ask()), wait);
  };
  button.addEventListener("click", () => {
    if (still.matches) return ask();
    playing = !playing;
    show();
    if (playing) ask();
  });
  model.on("change:frames", next);
  still.addEventListener("change", show);
  show();
  return () => {
    playing = false;
    model.off("change:frames", next);
    still.removeEventListener("change", show);
  };
}

export default { render };
