// The card of a guided tour: the words of a step, buttons, and a mark around the place that it speaks of.
// F6 moves between the card and that place, so that a tour needs no mouse.

const FOCUSABLE = ".noUi-handle, .ui-slider-handle, button, select, input, textarea, [tabindex='0']";

function make(name, className, text = "") {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

function makeCard(model) {
  const card = make("section", "etgp-tour");
  const parts = {
    name: make("strong", "etgp-tour-name"), count: make("span", "etgp-count"), place: make("button", "etgp-place"),
    say: make("p", "etgp-say"), then: make("p", "etgp-then"),
    back: make("button", "etgp-back", "back"), onward: make("button", "etgp-onward"), end: make("button", "etgp-end", "end"),
  };
  const head = make("div", "etgp-tour-head"), words = make("div", "etgp-words"), buttons = make("div", "etgp-tour-buttons");
  head.append(parts.name, parts.count, parts.place);
  words.append(parts.say, parts.then);
  words.setAttribute("aria-live", "polite"); // a new step or an answer is read out
  words.id = `etgp-words-${Math.random().toString(36).slice(2)}`;
  buttons.append(parts.back, parts.onward, parts.end);
  for (const button of [parts.place, parts.back, parts.onward, parts.end]) {
    button.type = "button";
    button.classList.add("jupyter-button");
  }
  parts.onward.setAttribute("aria-describedby", words.id);
  parts.end.title = "Leave the tour";
  const goes = { onward: "on", back: "back", end: "end" };
  for (const [part, go] of Object.entries(goes)) parts[part].addEventListener("click", () => model.send({ go }));
  card.append(head, words, buttons);
  return { card, parts };
}

// The place that the step speaks of, on the page of the card.
function findPlace(el, model) {
  const target = model.get("target");
  return target ? el.closest(".etgp-viz")?.querySelector(target) : null;
}

function focusPlace(el, model) {
  const place = findPlace(el, model);
  if (!place) return;
  const within = [place, ...place.querySelectorAll(FOCUSABLE)];
  const first = within.find((part) => part.matches(FOCUSABLE) && part.getClientRects().length);
  if (!first) place.tabIndex = -1; // a picture
  (first ?? place).focus();
}

export default {
  render({ model, el }) {
    const { card, parts } = makeCard(model);
    let page = null, marked = null;
    const mark = () => {
      const place = findPlace(el, model);
      if (place !== marked) marked?.classList.remove("etgp-pointed");
      marked = place;
      marked?.classList.add("etgp-pointed");
    };
    const refresh = () => {
      if (!model.get("name")) { // the tour is over: back to where it began
        if (card.contains(document.activeElement)) page?.querySelector(".etgp-guided")?.focus();
        return;
      }
      for (const part of ["name", "count", "say", "then", "place", "onward"])
        if (parts[part].textContent !== model.get(part)) parts[part].textContent = model.get(part);
      parts.place.hidden = !model.get("place");
      parts.place.title = `Go to ${model.get("place")} (F6, and F6 again to return)`;
      parts.then.hidden = !model.get("then");
      parts.back.disabled = model.get("is_first");
      card.classList.toggle("etgp-done", model.get("is_done"));
      card.setAttribute("aria-label", `guided tour: ${model.get("name")}`);
      mark();
    };
    const showPlace = () => {
      mark();
      marked?.scrollIntoView({ block: "nearest" });
    };
    const onStep = () => {
      requestAnimationFrame(showPlace);
      setTimeout(showPlace, 700); // controls and figures have taken their new places
    };
    const onKey = (event) => {
      if (event.key !== "F6" || !page || !(page.contains(document.activeElement) || page.matches(".etgp-present"))) return;
      event.preventDefault();
      event.stopPropagation();
      if (el.contains(document.activeElement)) focusPlace(el, model);
      else parts.onward.focus();
    };
    parts.place.addEventListener("click", () => focusPlace(el, model));
    window.addEventListener("keydown", onKey, true);
    const observer = new ResizeObserver(() => { // once the card is on its page
      observer.disconnect();
      page = el.closest(".etgp-viz");
      onStep();
      if (document.activeElement?.matches(".etgp-guided")) parts.onward.focus(); // who started it goes on here
    });
    observer.observe(el);
    model.on("change", refresh);
    model.on("change:count", onStep);
    refresh();
    el.append(card);
    return () => {
      observer.disconnect();
      marked?.classList.remove("etgp-pointed");
      window.removeEventListener("keydown", onKey, true);
      model.off("change", refresh);
      model.off("change:count", onStep);
    };
  },
};
