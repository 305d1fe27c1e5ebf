// One class standing out in all figures of a page: its line, area, name or cell under the mouse, or its
// name in the legend, which keys reach too. fast_plotly/panels.js precedes this file.

// A legend in which every class has a button: pointing at it or focusing it lights the class up, pressing
// it keeps the light on.
function makeLegend(onPoint, onKeep) {
  const bar = make("div", { class: "etgp-legend", role: "group", "aria-label": "classes" });
  let shown = "";
  const button = ({ group, name, colour }) => {
    const made = make("button", { type: "button", "aria-pressed": "false", "data-class": group,
      title: `Light ${name} up everywhere; press to keep it` },
      make("span", { class: "etgp-swatch", style: `background: ${colour}` }), name);
    for (const event of ["mouseenter", "focus"]) made.addEventListener(event, () => onPoint(group));
    for (const event of ["mouseleave", "blur"]) made.addEventListener(event, () => onPoint(null));
    made.addEventListener("click", () => {
      const keeps = made.getAttribute("aria-pressed") !== "true";
      for (const other of bar.children) other.setAttribute("aria-pressed", String(keeps && other === made));
      onKeep(keeps ? group : null);
    });
    return made;
  };
  return {
    bar,
    show(classes) { // again only if they have changed: a new button would lose the focus
      const words = JSON.stringify(classes);
      if (words === shown) return;
      shown = words;
      bar.replaceChildren(...classes.map(button));
      onKeep(null);
    },
  };
}

// Lights up the class under the mouse or in the legend.
function watchClasses(page, place) {
  const plots = () => [...page.querySelectorAll(PLOT)];
  let shown = null;
  const wishes = { named: null, pointed: null, hovered: null, kept: null }; // the first that is set counts
  const show = () => {
    const group = Object.values(wishes).find((wish) => wish !== null) ?? null;
    if (group !== shown) plots().forEach((plot) => emphasise(plot, group));
    shown = group;
  };
  const wish = (kind) => (group) => { wishes[kind] = group; show(); };
  const legend = makeLegend(wish("named"), wish("kept"));
  place.append(legend.bar);
  const again = () => { // plotly forgets what stood out when it draws
    legend.show(classesIn(plots()));
    if (shown !== null) plots().forEach((plot) => emphasise(plot, shown));
  };
  page.addEventListener("mousemove", (event) => wish("pointed")(classAt(event)));
  page.addEventListener("mouseleave", () => { wishes.hovered = null; wish("pointed")(null); });
  const listen = () => {
    for (const plot of plots()) {
      if (plot.dataset.etgpHover || !plot.on) continue;
      plot.dataset.etgpHover = "on";
      plot.on("plotly_hover", ({ points: [{ fullData, pointNumber }] }) => wish("hovered")(groupOf(fullData, pointNumber)));
      plot.on("plotly_unhover", () => wish("hovered")(null));
      plot.on("plotly_afterplot", again);
    }
    again();
  };
  page.addEventListener("mouseover", listen);
  page.addEventListener("etgp-drawn", listen);
  setTimeout(listen, 1500); // plotly's own widgets do not say when they are drawn
}
