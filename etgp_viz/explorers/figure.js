// plotly's own widget, from the copy of its code that all figures share: see library.js.
globalThis.etgpPlotly ??= Promise.withResolvers();

export default () => {
  let widget = null;
  return {
    async initialize(context) {
      widget = (await globalThis.etgpPlotly.promise).default();
      widget.initialize(context);
    },
    render: (context) => widget.render(context),
  };
};
