// The page of an explorer in the browser: its bar of presets, actions and views; how the figures are laid
// out; present mode; alt text; a shared cursor; clicks and drags in figures;
// keys that Jupyter must not take; controls that return to their default; the clipboard and downloads.
// fast_plotly/panels.js, access.js, titles.js and classes.js precede this file.

const WIDE = { width: 1480, height: 680 }; // pixels from which on all figures are shown
const TALL = 900; // pixels from which on present mode has room for rows of small pictures
const SINGLE = 760; // pixels below which controls stand under the figures

function make(name, { text, ...attributes }, ...children) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// The bar: presets as chips, actions, and views as tabs.
function makeBar(model, el, send, present) {
  const chips = make("div", { class: "etgp-chips", role: "group", "aria-label": "presets" });
  const makeChips = () => chips.replaceChildren(...model.get("presets").map((name) => {
    const chip = make("button", { text: name, class: "etgp-chip", type: "button" });
    chip.classList.toggle("etgp-guided", model.get("tours").includes(name));
    chip.addEventListener("click", () => send({ preset: name }));
    return chip;
  }));
  const actions = model.get("actions").map(([name, tooltip]) => {
    const button = make("button", { text: name, class: "etgp-action", title: tooltip, type: "button", "data-action": name });
    button.addEventListener("click", () => send({ do: name, page: notebookAddress() }));
    return button;
  });
  const menu = make("select", { "aria-label": "download", class: "etgp-action" }, make("option", { text: "download", value: "" }),
    ...model.get("downloads").map(([value, text]) => make("option", { text, value })));
  menu.addEventListener("change", () => {
    if (menu.value) send({ save: menu.value });
    menu.value = "";
  });
  const large = make("button", { text: "present", class: "etgp-action etgp-enter", type: "button",
    title: "Full screen, large text; ← → walk through the presets, ↑ ↓ through the pictures, Escape leaves" });
  large.addEventListener("click", present);
  const views = model.get("views");
  const choose = (view) => {
    model.set("view", (view + views.length) % views.length);
    model.save_changes();
  };
  const tabs = views.map(([label], k) => {
    const tab = make("button", { text: label, class: "etgp-tab", role: "tab", type: "button" });
    tab.addEventListener("click", () => choose(k));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: views.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      choose(to);
      tabs[(to + views.length) % views.length].focus();
    });
    return tab;
  });
  // The legend (classes.js) stands beside the tabs.
  const row = make("div", { class: "etgp-row" }, make("div", { class: "etgp-tabs", role: "tablist", "aria-label": "views" }, ...tabs));
  const live = make("div", { class: "etgp-live", "aria-live": "polite" });
  el.append(
    make("div", { class: "etgp-bar", role: "group", "aria-label": "actions" }, ...actions, menu, large),
    chips,
    row,
    live,
  );
  const refresh = () => {
    if (chips.childElementCount !== model.get("presets").length) makeChips();
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip.textContent === model.get("preset")));
    tabs.forEach((tab, k) => {
      tab.setAttribute("aria-selected", String(k === model.get("view")));
      tab.tabIndex = k === model.get("view") ? 0 : -1;
    });
  };
  return { refresh, live, row };
}

// The address that opens this notebook on its server, or "" where there is none. On a JupyterHub it leads
// everybody to a server of their own.
function notebookAddress() {
  const config = document.getElementById("jupyter-config-data")?.textContent;
  const { baseUrl = "/", hubPrefix = "" } = JSON.parse(config || "{}");
  const path = location.pathname.replace(/\/workspaces\/[^/]+(?=\/)/, "");
  if (!document.body.dataset.voila && !/\/(tree|notebooks)\/./.test(path)) return "";
  const own = hubPrefix && path.startsWith(baseUrl) ? `${hubPrefix}user-redirect/${path.slice(baseUrl.length)}` : path;
  return location.origin + own;
}

// Takes the state that the address of this page asks for, once: see sharing.py. JupyterLab changes the address
// in the bar, the browser remembers the one with which the page was loaded.
function openLink(model, send) {
  const [{ name, type }] = performance.getEntriesByType("navigation");
  const [kind, code, cell] = (new URL(name).searchParams.get("etgp") ?? "").split(".");
  const opened = (globalThis.etgpOpened ??= new Set());
  const isNew = model.get("is_new");
  model.set("is_new", false);
  model.save_changes();
  // After a reload an explorer that was there before keeps what its reader has done.
  if (kind !== model.get("kind") || opened.has(code) || !(isNew || type === "navigate")) return;
  if (cell && model.get("cell") && cell !== model.get("cell")) return;
  opened.add(code);
  send({ open: code ?? "" });
}

// What the reader can see of the page at once, in pixels.
function roomFor(page) {
  const scroller = page.closest(".jp-WindowedPanel-outer, .jp-Notebook");
  return Math.min(scroller?.clientHeight || Infinity, window.innerHeight);
}

// Put the figures of the current view, or all of them, on the stage.
function layOut(page, model) {
  const isLarge = page.matches(".etgp-present");
  const width = page.clientWidth, room = isLarge ? window.innerHeight : roomFor(page) - 30;
  const isWide = !isLarge && width >= WIDE.width && room >= WIDE.height;
  page.dataset.layout = isLarge ? "present" : isWide ? "wide" : width < SINGLE ? "single" : "tabs";
  page.style.setProperty("--etgp-height", `${Math.max(540, Math.min(room, isWide ? 1000 : 860))}px`);
  if (model.get("hides") === isWide) {
    model.set("hides", !isWide);
    model.save_changes();
  }
  const [label, chosen] = model.get("views")[model.get("view")];
  // Large text on a small screen leaves no room for small pictures below each other.
  const isTight = isLarge && room < TALL && new Set(chosen[0].split(" ")).size > 1;
  const rows = isWide ? model.get("all_rows") : isTight ? chosen.slice(0, 1) : chosen;
  const stage = page.querySelector(".etgp-stage");
  if (!stage) return;
  stage.style.gridTemplateAreas = rows.map((row) => JSON.stringify(row)).join(" ");
  stage.setAttribute("role", isWide ? "group" : "tabpanel");
  stage.setAttribute("aria-label", isWide ? "all pictures" : label);
  const names = new Set(rows.flatMap((row) => row.split(" ")));
  for (const box of stage.querySelectorAll(".etgp-figure")) {
    const name = box.className.match(/etgp-figure-(\w+)/)[1];
    box.style.gridArea = name;
    box.style.display = names.has(name) ? "" : "none";
  }
}

// plotly listens to the window only. It would miss an opening side bar, another view and the moment
// when a new figure is put in its place.
function followSize(el, onPage, onSize) {
  let page = null;
  const observer = new ResizeObserver(() => {
    if (!page && (page = el.closest(".etgp-viz"))) {
      observer.observe(page);
      const scroller = page.closest(".jp-WindowedPanel-outer, .jp-Notebook");
      if (scroller) observer.observe(scroller);
      onPage(page);
    }
    if (page) onSize();
    page?.querySelectorAll(".etgp-figure").forEach((box) => observer.observe(box));
    window.dispatchEvent(new Event("resize"));
  });
  observer.observe(el.querySelector(".etgp-bar"));
  return observer;
}

// Show the view that many places after the current one.
function turnView(model, by) {
  const count = model.get("views").length;
  model.set("view", (model.get("view") + by + count) % count);
  model.save_changes();
}

// Present mode: the page alone, on the whole screen if the browser allows that.
function presenter(page, model, send) {
  const enter = async () => {
    page.classList.add("etgp-present");
    page.querySelector(".etgp-enter").textContent = "leave (Esc)";
    model.set("presents", true);
    model.save_changes();
    const story = model.get("presets").find((name) => !model.get("tours").includes(name));
    if (!model.get("preset") && story) send({ preset: story });
    try {
      await page.requestFullscreen();
    } catch {
      page.setAttribute("popover", "manual"); // above everything else, inside the window
      page.showPopover?.();
    }
    page.setAttribute("tabindex", "-1");
    page.focus();
    layOut(page, model);
  };
  const leave = () => {
    if (!page.matches(".etgp-present")) return;
    page.classList.remove("etgp-present");
    page.querySelector(".etgp-enter").textContent = "present";
    if (page.matches(":popover-open")) page.hidePopover();
    page.removeAttribute("popover");
    if (document.fullscreenElement === page) document.exitFullscreen();
    model.set("presents", false);
    model.save_changes();
    layOut(page, model);
    page.querySelector(".etgp-enter")?.focus();
  };
  const turn = (event) => {
    if (!page.matches(".etgp-present")) return;
    if (event.key === "Escape") return leave();
    const by = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    const down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isTaken = event.target.closest?.(`${HANDLE}, input, select, textarea, [role=slider], [role=tab], [contenteditable=true]`);
    if (!(by || down) || (isTaken && event.key.startsWith("Arrow"))) return;
    const presets = model.get("presets"), next = presets[presets.indexOf(model.get("preset")) + by];
    event.preventDefault();
    event.stopPropagation();
    if (down) return turnView(model, down);
    const step = page.querySelector(by > 0 ? ".etgp-onward" : ".etgp-back"); // of a guided tour
    if (step && !step.disabled) step.click();
    else if (next) send({ preset: next });
  };
  const changed = () => document.fullscreenElement || page.matches(":popover-open") || leave();
  window.addEventListener("keydown", turn, true);
  document.addEventListener("fullscreenchange", changed);
  return {
    toggle: () => (page.matches(".etgp-present") ? leave() : enter()),
    stop() {
      window.removeEventListener("keydown", turn, true);
      document.removeEventListener("fullscreenchange", changed);
    },
  };
}

// The heading of a figure, or the name of its y axis, in plain words. It may have tags, and words from
// anywhere: nothing of it is run.
function headingOf(plot) {
  const { annotations = [], yaxis } = plot.layout ?? {};
  const text = annotations.find((note) => note.text?.startsWith("<b>"))?.text ?? yaxis?.title?.text ?? "";
  return new DOMParser().parseFromString(text.replace(/<br>/g, ": "), "text/html").body.textContent.trim();
}

// Alt text of each figure: its own heading, and what all of them show.
function describe(page, text) {
  for (const plot of page.querySelectorAll(PLOT)) {
    const heading = headingOf(plot);
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", heading ? `${heading}. ${text}` : text);
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

// Clicks anywhere in a panel, in the units of its axes; plotly itself only reports clicks on points. The
// line that marks an input can be dragged, which is a click wherever it goes, and so can some dots.
function watchClicks(page, model, send) {
  let start = null;
  const nameOf = (panel) => panel.closest("[class*=etgp-figure-]")?.className.match(/etgp-figure-(\w+)/)?.[1];
  // What a press would drag: the number of a dot, "mark", or nothing.
  const dragAt = (panel, event) => {
    const dot = dotAt(panel, event);
    return dot >= 0 ? dot : panel.closest(".etgp-shares-x") && isOnMark(panel, event) ? "mark" : null;
  };
  // A trait and not a message: the widget sends the latest place once the kernel has answered.
  const drag = ({ panel, drags }, event) => {
    const values = valuesAt(panel, event);
    if (!values) return;
    model.set("pointer", { figure: nameOf(panel), drags, ...values });
    model.save_changes();
  };
  const down = (event) => {
    const panel = event.target.closest?.(PANEL);
    start = panel && { panel, x: event.clientX, y: event.clientY, drags: dragAt(panel, event) };
  };
  const move = (event) => {
    const panel = event.target.closest?.(PANEL), box = panel?.closest(".etgp-figure");
    if (box && page.contains(box)) {
      const what = start?.panel ? start.drags : dragAt(panel, event);
      box.classList.toggle("etgp-draggable", what === "mark");
      box.classList.toggle("etgp-liftable", typeof what === "number");
    }
    if (start && start.drags !== null) drag(start, event);
  };
  const up = (event) => {
    const begun = start;
    start = null;
    if (!begun) return;
    if (begun.drags !== null) return drag(begun, event);
    const values = valuesAt(begun.panel, event);
    if (values && Math.hypot(event.clientX - begun.x, event.clientY - begun.y) <= 4)
      send({ click: nameOf(begun.panel), ...values });
  };
  page.addEventListener("mousedown", down, true);
  window.addEventListener("mousemove", move, true);
  window.addEventListener("mouseup", up, true);
  return () => {
    window.removeEventListener("mousemove", move, true);
    window.removeEventListener("mouseup", up, true);
  };
}

// Tells Python while something is dragged: axes stay then, and ease to where they belong in the end.
function watchHolds(page, model) {
  const hold = (holds) => {
    if (model.get("holds") === holds) return;
    model.set("holds", holds);
    model.save_changes();
  };
  const down = (event) => {
    if (page.contains(event.target) && event.target.closest(`.noUi-target, .ui-slider, .etgp-knots, ${PANEL}`)) hold(true);
  };
  const up = () => hold(false);
  const listeners = { pointerdown: down, pointerup: up, pointercancel: up };
  for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener, true);
  return () => {
    for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener, true);
  };
}

// A double click on a control, or Delete while it has the focus, returns it to its default. Earlier keys must
// not overtake this: a control holds a value back until the kernel has answered its last one. So Python is asked
// first. Its reply comes after that answer, and the value held back has been sent when the reply arrives (receive).
function watchDefaults(page, send) {
  const back = (event) => {
    if (event.target.closest("input, [contenteditable=true]")) return;
    const field = event.target.closest("[class*=etgp-field-]");
    if (field) send({ ask: field.className.match(/etgp-field-(\w+)/)[1] });
  };
  page.addEventListener("dblclick", back);
  page.addEventListener("keydown", (event) => {
    if (event.key === "Delete" || event.key === "Backspace") back(event);
    if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.target.closest("input, textarea, [contenteditable=true]")) return;
    event.preventDefault();
    event.stopPropagation();
    send({ do: "undo" });
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
    let page = null, screen = null;
    let stops = [];
    const send = (message) => model.send(message);
    const bar = makeBar(model, el, send, () => screen?.toggle());
    const speech = speaker(bar.live);
    const refresh = () => {
      bar.refresh();
      if (page) layOut(page, model);
    };
    const describeAll = () => page && describe(page, model.get("alt"));
    const onAlt = () => {
      describeAll();
      speech.say(model.get("alt"));
    };
    // A page that shows everything needs everything, whatever another page of this explorer hides.
    const onHides = () => page?.dataset.layout === "wide" && layOut(page, model);
    const onDrawn = () => { // figures arrive after their page
      describeAll();
      watchTitles(page);
      window.dispatchEvent(new Event("resize"));
    };
    const observer = followSize(el, (place) => {
      page = place;
      screen = presenter(page, model, send);
      stops = [watchClicks(page, model, send), watchHolds(page, model), keepKeys(page), watchNames(page), () => screen.stop()];
      watchDefaults(page, send);
      watchCursor(page);
      watchArrows(page);
      watchTyped(page);
      watchClasses(page, bar.row);
      page.addEventListener("etgp-drawn", onDrawn);
      setTimeout(onDrawn, 1000); // plotly's own widgets do not say when they are drawn
    }, () => layOut(page, model));
    bar.refresh();
    openLink(model, send);
    const listeners = { "change:alt": onAlt, "change:preset": refresh, "change:presets": refresh, "change:view": refresh, "change:hides": onHides };
    for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
    const receive = async (message, buffers) => {
      if (message.copy !== undefined) send({ copied: await copy(message.copy) });
      if (message.answered) send({ default: message.answered });
      if (message.download) download(message.download, message.type, buffers[0]);
    };
    model.on("msg:custom", receive);
    return () => {
      observer.disconnect();
      speech.stop();
      stops.forEach((stop) => stop());
      for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
      model.off("msg:custom", receive);
    };
  },
};
