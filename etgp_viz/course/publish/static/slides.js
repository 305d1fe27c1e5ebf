// One slide at a time. Arrow, space, Page and Home/End keys or a click near an edge change slides;
// the address keeps the number, F fills the screen, and each slide prints on its own page.
(() => {
  const slides = [...document.querySelectorAll("main > section")];
  const progress = document.getElementById("progress");
  const place = document.getElementById("place");
  const SMALLEST = 18;
  let shown = -1;

  // Shrink the text until it fits, as long as a lecture hall can read it; after that it scrolls.
  function fit(slide) {
    const body = slide.querySelector(".body");
    body.style.fontSize = "";
    let size = parseFloat(getComputedStyle(body).fontSize);
    while (size > SMALLEST && (body.scrollHeight > body.clientHeight + 1 || body.scrollWidth > body.clientWidth + 1))
      body.style.fontSize = `${(size -= 1)}px`;
  }

  function show(number) {
    const next = Math.min(Math.max(number, 0), slides.length - 1);
    if (next !== shown) {
      slides.forEach((slide, k) => slide.classList.toggle("shown", k === next));
      shown = next;
      history.replaceState(null, "", `#${next + 1}`);
      progress.style.width = `${(100 * (next + 1)) / slides.length}%`;
      place.textContent = `${next + 1} / ${slides.length}`;
    }
    fit(slides[shown]);
  }

  const forward = ["ArrowRight", "ArrowDown", "PageDown", " ", "n"];
  const back = ["ArrowLeft", "ArrowUp", "PageUp", "p"];
  document.addEventListener("keydown", (event) => {
    // A slider uses the arrow keys while it has the focus; Escape releases it.
    if (event.target.matches("input")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (forward.includes(event.key)) show(shown + 1);
    else if (back.includes(event.key)) show(shown - 1);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(slides.length - 1);
    else if (event.key === "f") document.documentElement.requestFullscreen?.();
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const edge = event.clientX / window.innerWidth;
    if (event.target.closest("a, input, .plot")) return;
    if (edge > 0.95) show(shown + 1);
    if (edge < 0.05) show(shown - 1);
  });
  window.addEventListener("resize", () => fit(slides[shown]));
  window.addEventListener("hashchange", () => show(parseInt(location.hash.slice(1), 10) - 1 || 0));
  show(parseInt(location.hash.slice(1), 10) - 1 || 0);
})();
