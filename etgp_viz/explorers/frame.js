// What a page of an explorer needs from the browser: pictures that follow the width of their place,
// alt text, one class standing out under the mouse, one cursor for all, clicks in a picture, arrow
// keys on logarithmic sliders, a way back to a control's default, the clipboard and downloads.

const PLOT = ".js-plotly-plot";

// plotly listens to the window only, and would miss a side bar that opens, a dragged border and the
// moment at which a new figure gets its place.
function followWidth(el, found) {
  let page = null;
  const observer = new ResizeObserver(() => {
    if (!page && (page = el.closest(".etgp-viz"))) {
      observer.observe(page);
      found(page);
    }
    window.dispatchEvent(new Event("resize"));
  });
  observer.observe(el);
  return observer;
}

function describe(page, words) {
  for (const plot of page.querySelectorAll(PLOT)) {
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", words);
  }
}

// Dim every class but one, in all pictures of the page. Traces of class c carry legendgroup "c".
function emphasise(page, group) {
  for (const plot of page.querySelectorAll(PLOT)) {
    for (const trace of plot._fullData ?? []) {
      const dim = group && /^\d+$/.test(trace.legendgroup) && trace.legendgroup !== group;
      for (const mark of plot.querySelectorAll(`.trace${trace.uid}`))
        mark.style.opacity = dim ? 0.15 : "";
    }
  }
}

function watchHover(page) {
  for (const plot of page.querySelectorAll(PLOT)) {
    if (plot.dataset.etgpHover || !plot.on) continue;
    plot.dataset.etgpHover = "on";
    plot.on("plotly_hover", (event) => emphasise(page, event.points[0].data.legendgroup));
    plot.on("plotly_unhover", () => emphasise(page, null));
  }
}

// One cursor for all figures that share the x axis: a thin line at the same x in each of them.
function watchCursor(page) {
  const panels = () => [...page.querySelectorAll(".etgp-shares-x .nsewdrag")];
  const lineIn = (box) => {
    const line = box.querySelector(".etgp-cursor") ?? document.createElement("div");
    line.className = "etgp-cursor";
    box.appendChild(line);
    return line;
  };
  page.addEventListener("mousemove", (event) => {
    const here = event.target.closest?.(".etgp-shares-x .nsewdrag")?.getBoundingClientRect();
    for (const panel of panels()) {
      const box = panel.closest(".etgp-shares-x");
      const line = lineIn(box), place = panel.getBoundingClientRect(), outer = box.getBoundingClientRect();
      line.style.display = here ? "block" : "none";
      if (!here) continue;
      const share = (event.clientX - here.left) / here.width;
      line.style.left = `${place.left - outer.left + share * place.width}px`;
      line.style.top = `${place.top - outer.top}px`;
      line.style.height = `${place.height}px`;
    }
  });
}

// A click anywhere in a panel, in the units of its axes; plotly itself only reports clicks on points.
function watchClicks(page, send) {
  let start = null;
  const panelOf = (event) => event.target.closest?.(".nsewdrag");
  const down = (event) => {
    const panel = panelOf(event);
    start = panel && { panel, x: event.clientX, y: event.clientY };
  };
  const up = (event) => {
    if (!start || Math.hypot(event.clientX - start.x, event.clientY - start.y) > 4) return;
    const plot = start.panel.closest(PLOT);
    const figure = plot.closest("[class*=etgp-figure-]")?.className.match(/etgp-figure-(\w+)/)?.[1];
    const [, x, y] = start.panel.dataset.subplot.match(/x(\d*)y(\d*)/);
    const box = start.panel.getBoundingClientRect();
    const layout = plot._fullLayout;
    send({
      click: figure,
      panel: start.panel.dataset.subplot,
      x: layout[`xaxis${x}`].p2d(event.clientX - box.left),
      y: layout[`yaxis${y}`].p2d(event.clientY - box.top),
    });
    start = null;
  };
  page.addEventListener("mousedown", down, true);
  window.addEventListener("mouseup", up, true);
  return () => window.removeEventListener("mouseup", up, true);
}

// Double click on a control, or Delete while it has the focus: back to its default.
function watchDefaults(page, send) {
  const back = (event) => {
    if (event.target.closest("input, [contenteditable=true]")) return;
    const field = event.target.closest("[class*=etgp-field-]");
    if (field) send({ default: field.className.match(/etgp-field-(\w+)/)[1] });
  };
  page.addEventListener("dblclick", back);
  page.addEventListener("keydown", (event) => {
    if (event.key === "Delete" || event.key === "Backspace") back(event);
  });
}

// A logarithmic slider has no steps of its own: an arrow key moves it by a part of its range.
function watchArrows(page) {
  page.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 }[event.key];
    const slider = event.target.closest?.(".etgp-log .noUi-handle")?.closest(".noUi-target")?.noUiSlider;
    if (!by || !slider) return;
    event.preventDefault();
    event.stopPropagation();
    const { min, max } = slider.options.range;
    const [low, high] = [min, max].flat().map(Number);
    slider.set(Number(slider.get()) + (by * (high - low)) / 80);
  }, true);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission: the text stands in the page, ready to be copied by hand
  }
}

function download(name, type, data) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export default {
  render({ model, el }) {
    let page = null;
    let stopClicks = () => {};
    const send = (message) => model.send(message);
    const refresh = () => page && describe(page, model.get("alt"));
    const observer = followWidth(el, (place) => {
      page = place;
      stopClicks = watchClicks(page, send);
      watchDefaults(page, send);
      watchCursor(page);
      watchArrows(page);
      page.addEventListener("mouseenter", () => watchHover(page));
      refresh();
    });
    const pictures = new MutationObserver(refresh); // figures arrive after their page
    observer.observe(el);
    requestAnimationFrame(() => {
      const place = el.closest(".etgp-viz");
      if (place) pictures.observe(place, { childList: true, subtree: true });
      setTimeout(() => pictures.disconnect(), 10000);
    });
    model.on("change:alt", refresh);
    const receive = async (message, buffers) => {
      if (message.copy !== undefined) send({ copied: await copy(message.copy) });
      if (message.download) download(message.download, message.type, buffers[0]);
    };
    model.on("msg:custom", receive);
    return () => {
      observer.disconnect();
      pictures.disconnect();
      stopClicks();
      model.off("msg:custom", receive);
    };
  },
};
