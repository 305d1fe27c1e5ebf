// Names, states and values of ipywidgets' controls for screen readers, and numbers that are typed: with a
// decimal comma, and with a word if they are out of range. frame.js follows this file.

const HANDLE = ".noUi-handle, .ui-slider-handle"; // ipywidgets 8, 7

function setAttributes(element, values) {
  for (const [name, value] of Object.entries(values))
    if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
}

// A handle says its name and its value as written beside it; on a logarithmic slider ipywidgets' own
// value is an exponent.
function nameSlider(slider) {
  const name = slider.querySelector("label, .widget-label")?.textContent.trim() ?? "";
  const number = slider.querySelector(".widget-readout");
  const text = number?.textContent.trim() ?? "";
  const value = Number(text.replace("−", "-"));
  for (const handle of slider.querySelectorAll(HANDLE)) {
    setAttributes(handle, { role: "slider", "aria-label": name, "aria-valuetext": text });
    if (slider.matches(".etgp-log") && text && Number.isFinite(value)) {
      const { min, max } = handle.closest(".noUi-target")?.noUiSlider?.options.range ?? {};
      const ends = [min, max].map((end) => String(Number((10 ** [end].flat()[0]).toPrecision(3))));
      setAttributes(handle, { "aria-valuenow": String(value), "aria-valuemin": ends[0], "aria-valuemax": ends[1] });
    }
  }
  if (number?.isContentEditable)
    setAttributes(number, { role: "textbox", "aria-label": `${name}, as a number`, tabindex: "0" });
}

function nameControls(page) {
  page.querySelectorAll(".widget-slider").forEach(nameSlider);
  for (const heading of page.querySelectorAll(".etgp-heading"))
    setAttributes(heading, { "aria-expanded": String(!heading.closest(".etgp-group").matches(".etgp-folded")) });
  for (const button of page.querySelectorAll(".widget-toggle-button"))
    setAttributes(button, { "aria-pressed": String(button.matches(".mod-active")), "aria-label": button.title });
  setAttributes(page.querySelector(".etgp-close"), { "aria-label": "close this note" });
  for (const field of page.querySelectorAll("select, textarea, input[type=text], input[type=number]")) {
    const label = field.closest(".jupyter-widgets")?.querySelector("label")?.textContent.trim();
    if (!field.getAttribute("aria-label")) setAttributes(field, { "aria-label": label || field.title || "text" });
  }
}

// Keeps all of that true while the page changes; ipywidgets writes its own values at every move.
function watchNames(page) {
  let due = false;
  const refresh = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; nameControls(page); });
  };
  const observer = new MutationObserver(refresh);
  for (const place of page.querySelectorAll(".etgp-controls, .etgp-note"))
    observer.observe(place, {
      childList: true, characterData: true, subtree: true, attributes: true,
      attributeFilter: ["aria-valuetext", "aria-valuenow", "class", "title"],
    });
  refresh();
  return () => observer.disconnect();
}

// A word beside a control, until its value changes.
function remark(control, words) {
  control.querySelector(":scope > .etgp-remark")?.remove();
  if (!words) return;
  const note = document.createElement("div");
  note.className = "etgp-remark";
  note.setAttribute("role", "alert");
  note.textContent = words;
  control.appendChild(note);
}

// ipywidgets reads "0,5" as 0, and moves a number into its range without a word. This comes first.
function checkTyped(readout) {
  const slider = readout.closest(".widget-slider"), { noUiSlider } = slider.querySelector(".noUi-target") ?? {};
  if (!noUiSlider) return;
  const typed = readout.textContent.trim().replace("−", "-").replace(/^(-?\d*),(\d+)$/, "$1.$2");
  if (typed !== readout.textContent) readout.textContent = typed;
  let [low, high] = [noUiSlider.options.range.min, noUiSlider.options.range.max].map((end) => [end].flat()[0]);
  if (slider.matches(".etgp-log")) [low, high] = [10 ** low, 10 ** high];
  const value = Number(typed), slack = 1e-6 * (high - low);
  const short = (number) => Number(number.toPrecision(3));
  if (!typed || !Number.isFinite(value)) remark(slider, "This is not a number, so nothing has changed.");
  else if (value < low - slack || value > high + slack)
    remark(slider, `This goes from ${short(low)} to ${short(high)}: ${short(value)} became ${short(value < low ? low : high)}.`);
  else remark(slider, "");
}

// A number box says so when it has moved what was typed into its range; ipywidgets says nothing.
function checkBox(box, isBlur) {
  const typed = box.value, field = box.closest("[class*=etgp-field-]");
  setTimeout(() => {
    const now = Number(box.value), was = Number(typed);
    const end = was > now ? "largest" : "smallest";
    if (typed && field && was !== now) remark(field, `${was} became ${now}, the ${end} number here.`);
    else if (field && !isBlur) remark(field, "");
  });
}

function watchTyped(page) {
  const isBox = (target) => target.matches?.("input[type=number]");
  page.addEventListener("change", (event) => isBox(event.target) && checkBox(event.target, false), true);
  page.addEventListener("blur", (event) => isBox(event.target) && checkBox(event.target, true), true);
  const isReadout = (target) => target.matches?.(".widget-readout[contenteditable=true]");
  page.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && isReadout(event.target)) checkTyped(event.target);
  }, true);
  page.addEventListener("blur", (event) => isReadout(event.target) && checkTyped(event.target), true);
  const clear = (event) => {
    const slider = event.target.closest?.(HANDLE) && event.target.closest(".widget-slider");
    if (slider) remark(slider, "");
  };
  page.addEventListener("keydown", clear);
  page.addEventListener("pointerdown", clear);
}

// Reads a sentence out once nothing has changed for a moment and no mouse button is down.
function speaker(live) {
  let timer = 0, down = false, waiting = null;
  const say = () => {
    if (down || waiting === null) return;
    live.textContent = waiting;
    waiting = null;
  };
  const press = () => { down = true; };
  const release = () => { down = false; clearTimeout(timer); timer = setTimeout(say, 1000); };
  window.addEventListener("pointerdown", press, true);
  window.addEventListener("pointerup", release, true);
  return {
    say(text) { waiting = text; clearTimeout(timer); timer = setTimeout(say, 1000); },
    stop() {
      clearTimeout(timer);
      window.removeEventListener("pointerdown", press, true);
      window.removeEventListener("pointerup", release, true);
    },
  };
}
