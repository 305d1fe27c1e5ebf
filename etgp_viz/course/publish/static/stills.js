// Draws the figures of a page from the JSON beside them, and moves explorers along their slider.
(() => {
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

  // The figure at another position of the slider: the one at the start with its changes.
  function moved(figure, changes) {
    const copy = structuredClone(figure);
    for (const [path, value] of changes) {
      let place = copy;
      for (const key of path.slice(0, -1)) place = place[key];
      if (value === null) delete place[path.at(-1)];
      else place[path.at(-1)] = value;
    }
    return copy;
  }

  // The page sets the size of a plot and of its text; margins grow with the text.
  function sized({ data, layout }) {
    const { width, height, ...rest } = layout;
    const size = parseFloat(getComputedStyle(document.body).getPropertyValue("--plot-text"));
    if (!size) return [data, rest];
    const template = structuredClone(rest.template ?? {});
    const usual = template.layout?.font?.size ?? 13;
    const margin = { ...template.layout?.margin, ...rest.margin };
    for (const side in margin) margin[side] *= size / usual;
    for (const axis of ["xaxis", "yaxis"])
      if (template.layout?.[axis]?.title?.font) template.layout[axis].title.font.size = size;
    return [data, { ...rest, template, margin, font: { ...rest.font, size } }];
  }

  function draw(still) {
    if (still.dataset.drawn) return;
    still.dataset.drawn = "yes";
    const content = JSON.parse(still.querySelector("script").textContent);
    const plots = [...still.querySelectorAll(".plot")];
    const shown = plots.map((plot) => content.names.indexOf(plot.dataset.name));
    plots.forEach((plot, k) => Plotly.newPlot(plot, ...sized(content.figures[shown[k]]), config));

    const slider = still.querySelector("input[type=range]");
    if (!slider) return;
    slider.addEventListener("input", () => {
      const frame = content.frames[slider.valueAsNumber];
      const changes = new Map(frame.changes);
      still.querySelector(".title").textContent = frame.title;
      still.querySelector("[role=status]").textContent = frame.words;
      still.querySelector("output").textContent = frame.label;
      slider.setAttribute("aria-valuetext", frame.label);
      plots.forEach((plot, k) => {
        const steps = changes.get(content.names[shown[k]]) ?? [];
        Plotly.react(plot, ...sized(moved(content.figures[shown[k]], steps)), config);
        plot.setAttribute("aria-label", frame.words);
      });
    });
    for (const plot of plots) {
      plot.setAttribute("role", "figure"); // an image may not hold the buttons that plotly shows
      plot.setAttribute("aria-label", still.querySelector("[role=status]").textContent);
    }
  }

  // Plots far down the page are drawn when the reader comes near them, and before printing.
  const near = new IntersectionObserver(
    (seen) => seen.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "600px" },
  );
  const stills = document.querySelectorAll(".still");
  stills.forEach((still) => near.observe(still));
  window.addEventListener("beforeprint", () => {
    document.body.classList.add("printing"); // shows every slide
    stills.forEach(draw);
    document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.Plots.resize(plot));
  });
  window.addEventListener("afterprint", () => document.body.classList.remove("printing"));
})();
