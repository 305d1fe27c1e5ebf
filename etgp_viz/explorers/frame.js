// What the page of an explorer needs from the browser: figures that follow the width of their place,
// alt text, one class standing out under the mouse, a shared cursor, clicks in figures, arrow keys on
// logarithmic sliders, keys that Jupyter must not take, controls that return to their default, the
// clipboard and downloads.
// fast_plotly/panels.js precedes this file.

// plotly listens to the window only. It would miss an opening side bar, a dragged border and the
// moment when a new figure is put in its place.
function followWidth(el, onPage) {
  let page = null;
  const observer = new ResizeObserver(() => {
    if (!page && (page = el.closest(".etgp-viz"))) {
      observer.observe(page);
      onPage(page);
    }
    window.dispatchEvent(new Event("resize"));
  });
  observer.observe(el);
  return observer;
}

function describe(page, text) {
  for (const plot of page.querySelectorAll(PLOT)) {
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", text);
  }
}

// The class under the mouse stands out in all figures of the page.
function watchHover(page) {
  const plots = () => [...page.querySelectorAll(PLOT)];
  const emphasiseAll = (group) => plots().forEach((plot) => emphasise(plot, group));
  for (const plot of plots()) {
    if (plot.dataset.etgpHover || !plot.on) continue;
    plot.dataset.etgpHover = "on";
    plot.on("plotly_hover", (event) => emphasiseAll(event.points[0].data.legendgroup));
    plot.on("plotly_unhover", () => emphasiseAll(null));
  }
}

// A thin line under the mouse, at the same x in all figures that share the x axis.
function watchCursor(page) {
  const panels = () => [...page.querySelectorAll(`.etgp-shares-x ${PANEL}`)];
  const lineIn = (box) => {
    const line = box.querySelector(".etgp-cursor") ?? document.createElement("div");
    line.className = "etgp-cursor";
    box.appendChild(line);
    return line;
  };
  page.addEventListener("mousemove", (event) => {
    const here = event.target.closest?.(`.etgp-shares-x ${PANEL}`)?.getBoundingClientRect();
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

// Clicks anywhere in a panel, in the units of its axes; plotly itself only reports clicks on points.
function watchClicks(page, send) {
  let start = null;
  const down = (event) => {
    const panel = event.target.closest?.(PANEL);
    start = panel && { panel, x: event.clientX, y: event.clientY };
  };
  const up = (event) => {
    const begun = start;
    start = null;
    if (!begun || Math.hypot(event.clientX - begun.x, event.clientY - begun.y) > 4) return;
    const place = begun.panel.closest("[class*=etgp-figure-]");
    const values = valuesAt(begun.panel, event);
    if (values) send({ click: place?.className.match(/etgp-figure-(\w+)/)?.[1], ...values });
  };
  page.addEventListener("mousedown", down, true);
  window.addEventListener("mouseup", up, true);
  return () => window.removeEventListener("mouseup", up, true);
}

// A double click on a control, or Delete while it has the focus, returns it to its default.
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

// A key that is pressed on a control is for the control alone. Jupyter would take arrows for a move to
// another heading, and a second d for "delete this cell"; it leaves keys alone on such an element.
function keepKeys(page) {
  const keep = (event) => {
    const { target, key, ctrlKey, metaKey, altKey, shiftKey } = event;
    const isShortcut = ctrlKey || metaKey || altKey || key === "Escape" || (shiftKey && key === "Enter");
    if (isShortcut || !page.contains(target)) return;
    target.setAttribute("data-lm-suppress-shortcuts", "true");
    setTimeout(() => target.removeAttribute("data-lm-suppress-shortcuts"));
  };
  window.addEventListener("keydown", keep, true); // before Jupyter, which listens to the document
  return () => window.removeEventListener("keydown", keep, true);
}

// Move a slider by a share of its range. ipywidgets 8 uses noUiSlider. ipywidgets 7 uses jQuery UI, which
// keeps a slider in the data of its element and tells its listeners of a change in `_slide` alone.
function slide(handle, share, event) {
  const { noUiSlider } = handle.closest(".noUi-target") ?? {};
  if (noUiSlider) {
    const { min, max } = noUiSlider.options.range;
    const [low, high] = [min, max].flat().map(Number);
    noUiSlider.set(Number(noUiSlider.get()) + share * (high - low));
    return;
  }
  const { uiSlider } = Object.values(handle.closest(".ui-slider")).find((data) => data.uiSlider);
  const { min, max, disabled } = uiSlider.options;
  const value = uiSlider.value() + share * (max - min);
  if (!disabled) uiSlider._slide(event, 0, Math.min(Math.max(value, min), max));
}

// A logarithmic slider has no steps of its own: an arrow key moves it by a fraction of its range.
function watchArrows(page) {
  page.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 }[event.key];
    const handle = event.target.closest?.(".etgp-log :is(.noUi-handle, .ui-slider-handle)");
    if (!by || !handle) return;
    event.preventDefault();
    event.stopPropagation();
    slide(handle, by / 80, event);
  }, true);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission: the text is on the page, to be copied by hand
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
    let stops = [];
    const send = (message) => model.send(message);
    const refresh = () => page && describe(page, model.get("alt"));
    const observer = followWidth(el, (place) => {
      page = place;
      stops = [watchClicks(page, send), keepKeys(page)];
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
      stops.forEach((stop) => stop());
      model.off("change:alt", refresh);
      model.off("msg:custom", receive);
    };
  },
};
