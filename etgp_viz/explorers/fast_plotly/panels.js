// For the page around the figures (frame.js, which follows this file): what only plotly's own
// objects know about a panel. With either path of live_figure.py the plots are the same.

const PLOT = ".js-plotly-plot"; // one figure
const PANEL = ".nsewdrag"; // the area of a figure between its axes

// A click in a panel as the name of its axes and the values under the mouse, or null.
function valuesAt(panel, event) {
  const plot = panel.closest(PLOT), box = panel.getBoundingClientRect();
  const [, x, y] = panel.dataset.subplot.match(/x(\d*)y(\d*)/);
  const xaxis = plot._fullLayout?.[`xaxis${x}`], yaxis = plot._fullLayout?.[`yaxis${y}`];
  if (!xaxis?.p2d || !yaxis?.p2d) return null;
  return {
    panel: panel.dataset.subplot,
    x: xaxis.p2d(event.clientX - box.left),
    y: yaxis.p2d(event.clientY - box.top),
  };
}

// Dim every class but one in a plot; none if `group` is null. Traces of class c have legendgroup "c".
function emphasise(plot, group) {
  for (const trace of plot._fullData ?? []) {
    const dim = group && /^\d+$/.test(trace.legendgroup) && trace.legendgroup !== group;
    for (const mark of plot.querySelectorAll(`.trace${trace.uid}`))
      mark.style.opacity = dim ? 0.15 : "";
  }
}
