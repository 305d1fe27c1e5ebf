// Loads plotly's widget code once and hands it to every figure of the page: see figure.js.
export default {
  initialize({ model }) {
    const address = URL.createObjectURL(new Blob([model.get("source")], { type: "text/javascript" }));
    globalThis.etgpPlotly ??= Promise.withResolvers();
    globalThis.etgpPlotly.resolve(import(address).finally(() => URL.revokeObjectURL(address)));
  },
};
