// plotly's own widget, from the copy of its code that all figures share: see library.js.
globalThis.etgpPlotly ??= Promise.withResolvers();

export default () => {
  let ready = null;
  return {
    // Not awaited: anywidget gives up on a figure that takes two seconds, and a slow machine does.
    initialize(context) {
      ready = globalThis.etgpPlotly.promise.then((library) => {
        const widget = library.default();
        widget.initialize(context);
        return widget;
      });
    },
    render: async (context) => (await ready).render(context),
  };
};
