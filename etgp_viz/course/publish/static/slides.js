// One slide at a time. Arrow, space, Page and Home/End keys or a click near an edge change slides;
// the address keeps the number, F fills the screen, S shows the speaker's notes, and each slide
// prints on its own page: before printing, every slide is fitted to it.
(() => {
  const slides = [...document.querySelectorAll("main > section")];
  const progress = document.getElementById("progress");
  const place = document.getElementById("place");
  const SMALLEST = 18;
  const SMALLEST_IN_PRINT = 11;
  let shown = -1;

  // Shrink the text until it fits, as long as a lecture hall can read it; then wrap code; after
  // that it scrolls. Paper is read from close by, so there the text may become smaller.
  function fit(slide) {
    const body = slide.querySelector(".body");
    const smallest = document.body.classList.contains("printing") ? SMALLEST_IN_PRINT : SMALLEST;
    const isWide = () => body.scrollWidth > body.clientWidth + 1;
    body.style.fontSize = "";
    body.classList.remove("wrapped");
    // A long formula or line of code becomes smaller by itself, down to half of the text.
    for (const part of body.querySelectorAll("math[display=block], pre")) {
      part.style.fontSize = "";
      const share = Math.max(part.clientWidth / part.scrollWidth, 0.5);
      if (share < 1) part.style.fontSize = `${0.98 * share * parseFloat(getComputedStyle(part).fontSize)}px`;
    }
    let size = parseFloat(getComputedStyle(body).fontSize);
    const shrink = (least) => {
      while (size > least && (body.scrollHeight > body.clientHeight + 1 || isWide()))
        body.style.fontSize = `${(size -= 1)}px`;
    };
    shrink(SMALLEST);
    body.classList.toggle("wrapped", isWide());
    shrink(smallest);
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
    else if (event.key === "s") {
      document.body.classList.toggle("with-notes");
      fit(slides[shown]);
    } else if (event.key === "f") document.documentElement.requestFullscreen?.();
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const edge = event.clientX / window.innerWidth;
    if (event.target.closest("a, input, .plot")) return;
    if (edge > 0.95) show(shown + 1);
    if (edge < 0.05) show(shown - 1);
  });
  window.addEventListener("beforeprint", () => {
    document.body.classList.add("printing");
    slides.forEach(fit);
  });
  window.addEventListener("afterprint", () => document.body.classList.remove("printing"));
  window.addEventListener("resize", () => fit(slides[shown]));
  window.addEventListener("hashchange", () => show(parseInt(location.hash.slice(1), 10) - 1 || 0));
  show(parseInt(location.hash.slice(1), 10) - 1 || 0);
})();
