// plotly's own widget, from the copy of its code that all figures share: see library.js.
globalThis.etgpPlotly ??= Promise.withResolvers();

export default () => {
  let ready = null;
  return {
    // Nothing is awaited here: anywidget gives a model up after two seconds, its figure is drawn but
    // hears of no change any more, and on a busy machine plotly's code takes longer to arrive.
    initialize(context) {
      ready = globalThis.etgpPlotly.promise.then(async (library) => {
        const widget = library.default();
        await widget.initialize(context);
        return widget;
      });
    },
    render: async (context) => (await ready).render(context),
  };
};
