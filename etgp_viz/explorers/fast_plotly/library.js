// plotly's code, loaded once in a document and shared by all its figures. This file precedes the
// code of the library's own widget and of every figure. A figure refers to the library as to any
// other widget, so that a page that fetches widgets one by one, as Colab does, finds it.

// The copies in this document: the library's name → a promise of its module.
const copies = (globalThis.etgpPlotly ??= new Map());

function load(library) {
  const name = library.get("name");
  if (!copies.has(name)) {
    // Where RequireJS is on the page, code that finds a global `define` takes itself for one of its
    // modules and exports nothing. Inside the module, this variable hides it.
    const code = new Blob(["var define;\n", library.get("source")], { type: "text/javascript" });
    const address = URL.createObjectURL(code);
    copies.set(name, import(address).finally(() => URL.revokeObjectURL(address)));
  }
  return copies.get(name);
}

// plotly's code for a figure, given the figure's model.
async function libraryOf(model) {
  const id = model.get("library").replace("IPY_MODEL_", "");
  return load(await model.widget_manager.get_model(id));
}
