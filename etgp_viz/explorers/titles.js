// Titles in figures that would be cut off are drawn smaller, and so are names of rows and lines that would lie
// over each other. plotly places them without looking at the room.
// frame.js follows this file.

const TITLES = ".g-ytitle text, .g-xtitle text, .annotation-text";
const LEAST_SIZE = 9; // pixels

// How much of a title there is room for, as a share of its length.
function shareOfTitle(title, room) {
  const box = title.getBoundingClientRect();
  if (!box.width || !box.height) return 1;
  if (title.closest(".g-ytitle")) { // upright, centred on its axis
    const middle = (box.top + box.bottom) / 2;
    return (2 * Math.min(middle - room.top, room.bottom - middle)) / box.height;
  }
  if (title.closest(".g-xtitle")) {
    const middle = (box.left + box.right) / 2;
    return (2 * Math.min(middle - room.left, room.right - middle)) / box.width;
  }
  return (room.right - box.left) / box.width; // it begins at the left
}

function fitTitles(plot) {
  const room = plot.getBoundingClientRect();
  for (const title of room.width ? plot.querySelectorAll(TITLES) : []) {
    const share = shareOfTitle(title, room) - 0.01;
    const size = parseFloat(getComputedStyle(title).fontSize);
    if (share > 0 && share < 0.99) title.style.fontSize = `${Math.max(LEAST_SIZE, share * size)}px`;
  }
}

// Names of rows, such as those of models, and of lines must not be taller than the distance between them.
function fitNames(plot, selector) {
  const names = [...plot.querySelectorAll(selector)].map((name) => [name, name.getBoundingClientRect()])
    .filter(([, box]) => box.height).sort(([, one], [, other]) => one.top - other.top);
  const gaps = names.slice(1).map(([, box], k) => [box, names[k][1]])
    .filter(([box, above]) => box.left < above.right && above.left < box.right)
    .map(([box, above]) => box.top - above.top).filter((gap) => gap > 0);
  const size = names.length && parseFloat(getComputedStyle(names[0][0]).fontSize), gap = Math.min(...gaps);
  if (gap < size) for (const [name] of names) name.style.fontSize = `${Math.max(LEAST_SIZE, gap)}px`;
}

function fit(plot) {
  fitTitles(plot);
  for (const selector of [".ytick text", ".textpoint text"]) fitNames(plot, selector);
}

// Fits the titles of all figures now, and whenever plotly draws one again.
function watchTitles(page) {
  for (const plot of page.querySelectorAll(PLOT)) {
    if (plot.on && !plot.dataset.etgpTitles) {
      plot.dataset.etgpTitles = "on";
      plot.on("plotly_afterplot", () => fit(plot));
    }
    fit(plot);
  }
}
