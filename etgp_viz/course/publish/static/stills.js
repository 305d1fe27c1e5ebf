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

  // A text that goes on in the next line where it would be too wide. Tags have no width.
  const canvas = document.createElement("canvas").getContext("2d");
  function wrapped(text, width, size) {
    let used = 0;
    let weight = "";
    const parts = text.split(/(<[^>]*>|\s+)/).map((part) => {
      if (part.startsWith("<")) {
        if (part.startsWith("<br")) used = 0;
        if (/^<\/?b>/.test(part)) weight = part === "<b>" ? "bold" : "";
        return part;
      }
      canvas.font = `${weight} ${size}px system-ui, sans-serif`;
      const more = canvas.measureText(part).width;
      const isTooWide = used && part.trim() && used + more > width;
      used = isTooWide ? more : used + more;
      return isTooWide ? `<br>${part}` : part;
    });
    return parts.join("");
  }

  // The headings of panels wrap; on a narrow page, a plot whose panels would be tiny scrolls.
  const PANEL = 120; // pixels, the least width of a panel
  function fitted(layout, margin, size, plot, scale) {
    if (!plot.clientWidth) return layout; // hidden
    if (plot.clientWidth - margin.l - margin.r < PANEL) plot.classList.add("wide"); // a line of its own
    const axes = Object.keys(layout).filter((key) => key.startsWith("xaxis"));
    const columns = new Set(axes.map((key) => layout[key].domain?.[0] ?? 0)).size;
    const least = scale < 1 ? Math.ceil(margin.l + margin.r + PANEL * columns) : 0;
    const width = Math.max(plot.clientWidth, least);
    const inside = width - margin.l - margin.r;
    const isHeading = (note) =>
      note.text && note.xref === "paper" && note.yref === "paper" && note.xanchor === "left" && note.yanchor === "bottom";
    const headings = (layout.annotations ?? []).filter(isHeading);
    const annotations = layout.annotations?.map((note) => {
      if (!isHeading(note)) return note;
      const next = headings.filter((other) => other.y === note.y && other.x > note.x).map((other) => other.x);
      const room = next.length ? (Math.min(...next) - note.x) * inside - 6 : width - margin.l - note.x * inside;
      const text = wrapped(note.text, room, size);
      const lines = text.split("<br>").length;
      if (note.y === 1) margin.t = Math.max(margin.t, 1.4 * size * lines + 6);
      return { ...note, text, xshift: (note.xshift ?? 0) * scale };
    });
    if (width > plot.clientWidth) plot.tabIndex = 0; // to scroll it with the keyboard
    return { ...layout, annotations, ...(width > plot.clientWidth && { width }) };
  }

  // The page sets the size of a plot and of its text; margins grow with the text.
  function sized({ data, layout }, plot) {
    const { width, height, ...rest } = layout;
    const size = parseFloat(getComputedStyle(document.body).getPropertyValue("--plot-text"));
    const template = structuredClone(rest.template ?? {});
    const usual = template.layout?.font?.size ?? 13;
    const margin = { l: 80, r: 80, t: 100, b: 80, ...template.layout?.margin, ...rest.margin };
    if (!size) return [data, { ...fitted(rest, margin, usual, plot, 1), margin }];
    for (const side in margin) margin[side] *= size / usual;
    for (const axis of ["xaxis", "yaxis"])
      if (template.layout?.[axis]?.title?.font) template.layout[axis].title.font.size = size;
    const fitting = size < usual ? fitted(rest, margin, size, plot, size / usual) : rest;
    return [data, { ...fitting, template, margin, font: { ...rest.font, size } }];
  }

  function draw(still) {
    if (still.dataset.drawn) return;
    still.dataset.drawn = "yes";
    const content = JSON.parse(still.querySelector("script").textContent);
    const plots = [...still.querySelectorAll(".plot")];
    const shown = plots.map((plot) => content.names.indexOf(plot.dataset.name));
    plots.forEach((plot, k) => Plotly.newPlot(plot, ...sized(content.figures[shown[k]], plot), config));

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
        Plotly.react(plot, ...sized(moved(content.figures[shown[k]], steps), plot), config);
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
