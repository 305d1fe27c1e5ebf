// plotly's own widget, unchanged, from the copy of its code that all figures share (library.js, which
// precedes this file).

export default () => {
  let ready = null;
  return {
    // Do not await anything here: see figure.js.
    initialize(context) {
      ready = libraryOf(context.model).then(async (library) => {
        const widget = await library.default();
        await widget.initialize(context);
        return widget;
      });
    },
    async render(context) {
      return (await ready).render(context);
    },
  };
};
