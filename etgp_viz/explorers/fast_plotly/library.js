// Loads the code of plotly's widget once and hands it to every figure of the page: see figure.js.

// After every change plotly's widget computes all its defaults and sends them to Python, where
// nothing reads them. That takes as long as drawing.
function withoutDefaults(library) {
  library.FigureView.prototype._sendTraceDeltas = () => {};
  library.FigureView.prototype._sendLayoutDelta = () => {};
  return library;
}

export default {
  initialize({ model }) {
    const address = URL.createObjectURL(new Blob([model.get("source")], { type: "text/javascript" }));
    globalThis.etgpPlotly ??= Promise.withResolvers();
    const library = import(address).finally(() => URL.revokeObjectURL(address));
    globalThis.etgpPlotly.resolve(library.then(withoutDefaults));
  },
};
