// ipywidgets' sliders have no name for screen readers: those in the same box get that of their label, once they are there.

function nameSliders(el, tries = 50) {
  const handles = el.closest(".widget-vbox")?.querySelectorAll(".noUi-handle, .ui-slider-handle") ?? []; // ipywidgets 8, 7
  if (!handles.length && tries) setTimeout(nameSliders, 100, el, tries - 1);
  for (const handle of handles) {
    const label = handle.closest(".widget-slider").querySelector("label, .widget-label");
    handle.setAttribute("aria-label", label?.textContent.trim() ?? "");
  }
}
