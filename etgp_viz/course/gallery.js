// Images to choose from: a button for each, the chosen one pressed. slider_names.js precedes this file.

function render({ model, el }) {
  el.classList.add("etgp-gallery");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", model.get("label"));
  const buttons = model.get("pictures").map(([number, picture]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.innerHTML = picture;
    button.title = button.ariaLabel = `image ${number}`;
    button.addEventListener("click", () => {
      model.set("chosen", number);
      model.save_changes();
    });
    el.append(button);
    return { number, button };
  });
  const show = () => buttons.forEach(({ number, button }) => {
    button.setAttribute("aria-pressed", String(number === model.get("chosen")));
  });
  model.on("change:chosen", show);
  show();
  nameSliders(el);
  return () => model.off("change:chosen", show);
}

export default { render };
