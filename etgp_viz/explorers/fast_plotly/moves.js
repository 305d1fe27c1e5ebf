// Draws changes to a figure without plotly, on the axes that it has: lines as new paths, dots and
// names at new positions, heat maps as new images. A redraw by plotly takes twenty times as long.
// The new values go into plotly's own data as well, where its tooltips and its next redraw find them.
// Changes of any other kind are left to plotly.

// The new value of a property of a trace, undefined if the change does not touch it.
function valueIn(change, name, trace) {
  const values = change.style_data[name];
  const place = change.style_traces.indexOf(trace);
  return values && place >= 0 ? values[place % values.length] : undefined;
}

// An array of numbers as sent by Python, or null.
function numbers(sent) {
  if (sent instanceof Float64Array) return sent;
  if (sent?.dtype !== "float64" || sent.shape.length !== 1) return null;
  const { buffer, byteOffset, byteLength } = sent.buffer;
  return new Float64Array(buffer.slice(byteOffset, byteOffset + byteLength));
}

// The x and y of a trace after a change, in the units of its axes, or null.
function positionsOf(trace, index, change) {
  const sent = { x: valueIn(change, "x", index), y: valueIn(change, "y", index) };
  const x = sent.x === undefined ? trace.x : numbers(sent.x);
  const y = sent.y === undefined ? trace.y : numbers(sent.y);
  return x && y && x.length === y.length ? { x, y } : null;
}

// Put new values of a trace where plotly keeps them.
function store(plot, index, values) {
  Object.assign(plot.data[index], values);
  Object.assign(plot._fullData[index], values);
}

const axisOf = (plot, name) => plot._fullLayout[name.replace(/^(x|y)/, "$1axis")];

// The visible traces below one trace of a stack, and the sums of their heights.
const below = (plot, trace) => plot._fullData.slice(0, trace.index)
  .filter((other) => other.stackgroup === trace.stackgroup && other.visible === true);
const heights = (traces, length) => Array.from({ length }, (_, k) =>
  traces.reduce((sum, other) => sum + other.y[k], 0));

// Each of these functions returns the steps that show a trace after a change, as functions without
// arguments, or null if plotly must draw it.
function moveLine(plot, trace, group, { x, y }, toX, toY) {
  if (trace.line.shape !== "linear") return null;
  const stack = trace.stackgroup ? below(plot, trace) : [];
  const floor = heights(stack, y.length);
  const point = (value, k) => `${toX(x[k]).toFixed(2)},${toY(value + floor[k]).toFixed(2)}`;
  const points = Array.from(y, point).join("L");
  const line = group?.querySelector(".js-line");
  if (trace.line.width > 0 && !line) return null;
  const steps = line ? [() => line.setAttribute("d", `M${points}`)] : [];
  if (!trace.fill || trace.fill === "none") return steps;
  // plotly stores the area between two traces with the lower one.
  const fill = (stack.length ? stack.at(-1)._nextFill : trace._ownFill)?.node();
  const back = Array.from(floor, (_, k) => point(0, k)).reverse().join("L");
  const closed = trace.fill === "toself" ? `M${points}Z`
    : trace.stackgroup || trace.fill === "tozeroy" ? `M${points}L${back}Z` : null;
  return fill && closed ? [...steps, () => fill.setAttribute("d", closed)] : null;
}

function moveDots(plot, trace, group, positions, toX, toY) {
  const dots = group?.querySelectorAll(".points .point") ?? [];
  if (dots.length !== positions.x.length) return null;
  return Array.from(dots, (dot, k) => () =>
    dot.setAttribute("transform", `translate(${toX(positions.x[k])},${toY(positions.y[k])})`));
}

function moveNames(plot, trace, group, positions, toX, toY) {
  const names = group?.querySelectorAll(".textpoint text") ?? [];
  if (names.length !== positions.x.length) return null;
  return Array.from(names, (text, k) => () => {
    for (const part of [text, ...text.querySelectorAll("tspan.line")]) {
      part.setAttribute("x", toX(positions.x[k]));
      part.setAttribute("y", toY(positions.y[k]));
    }
  });
}

const SCATTER = { lines: moveLine, markers: moveDots, text: moveNames };

// A colour such as "#0072b2" or "rgb(0, 114, 178)" as [red, green, blue].
function rgb(colour) {
  const hex = /^#(..)(..)(..)$/.exec(colour)?.slice(1).map((pair) => parseInt(pair, 16));
  return hex ?? colour.match(/[\d.]+/g).slice(0, 3).map(Number);
}

// The colour of a value between 0 and 1 on a scale of [position, colour] pairs.
function onScale(scale, value) {
  const above = Math.max(1, scale.findIndex(([place]) => value <= place));
  const [[low, from], [high, to]] = [scale[above - 1], scale[above]];
  const part = (value - low) / (high - low);
  return from.map((shade, k) => shade + part * (to[k] - shade));
}

function moveHeat(plot, trace, z) {
  const images = plot.querySelectorAll(".hm image");
  if (images.length !== 1 || trace.zsmooth || !Array.isArray(z)) return null;
  if (z.length !== trace.z.length) return null;
  const [rows, columns] = [z.length, z[0].length];
  const scale = trace.colorscale.map(([place, colour]) => [place, rgb(colour)]);
  // The first row of a matrix lies at the low end of the y axis, which is at the top only if the axis
  // is reversed; the first row of an image is at the top.
  const isReversed = ({ range }) => range[0] > range[1];
  const down = isReversed(axisOf(plot, trace.yaxis)), left = isReversed(axisOf(plot, trace.xaxis));
  const pixels = new ImageData(columns, rows);
  z.forEach((row, j) => row.forEach((value, i) => {
    const share = Math.min(1, Math.max(0, (value - trace.zmin) / (trace.zmax - trace.zmin)));
    const at = (down ? j : rows - 1 - j) * columns + (left ? columns - 1 - i : i);
    pixels.data.set([...onScale(scale, share), 255], 4 * at);
  }));
  const canvas = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return [() => {
    store(plot, trace.index, { z });
    plot.calcdata[trace.index][0].z = z;
    images[0].style.imageRendering = "pixelated";
    images[0].setAttribute("href", canvas.toDataURL());
  }];
}

function moveTrace(plot, index, change) {
  const trace = plot._fullData?.[index];
  for (const name of Object.keys(change.style_data)) {
    const value = valueIn(change, name, index);
    if (!["x", "y", "z"].includes(name) && value !== undefined && value !== trace?.[name]) return null;
  }
  const z = valueIn(change, "z", index), moves = SCATTER[trace?.mode];
  if (trace?.visible === false) {
    const hidden = z ? { z } : positionsOf(trace, index, change);
    return hidden && [() => store(plot, index, hidden)];
  }
  if (trace?.type === "heatmap" && z && !valueIn(change, "x", index)) return moveHeat(plot, trace, z);
  if (trace?.type !== "scatter" || trace.visible !== true || !moves) return null;
  const positions = positionsOf(trace, index, change), group = plot.querySelector(`.trace${trace.uid}`);
  const points = plot.calcdata?.[index];
  if (!positions || points?.length !== positions.x.length) return null;
  const floor = trace.stackgroup ? heights(below(plot, trace), points.length) : null;
  store(plot, index, positions); // now: the traces above it in a stack are computed next
  points.forEach((point, k) => {
    [point.x, point.y] = [positions.x[k], positions.y[k] + (floor?.[k] ?? 0)];
  });
  return moves(plot, trace, group, positions, axisOf(plot, trace.xaxis).c2p, axisOf(plot, trace.yaxis).c2p);
}

const LABEL_PLACE = /^annotations\[(\d+)\]\.([xy])$/;

// The steps that take a label along one axis of the figure; null if plotly must draw it. What plotly drew
// last stays in _fullLayout until it draws the label anew, so all moves start from there.
function moveLabel(plot, index, side, value) {
  const drawn = plot._fullLayout?.annotations?.[index];
  if (drawn?.visible === false) return [() => { plot.layout.annotations[index][side] = value; }];
  const axis = drawn && axisOf(plot, drawn[`${side}ref`]);
  const label = plot.querySelector(`.annotation[data-index="${index}"]`);
  if (!label || !axis || typeof value !== "number") return null;
  return [() => {
    plot.layout.annotations[index][side] = value;
    label.style[side === "x" ? "--etgp-x" : "--etgp-y"] = `${axis.c2p(value) - axis.c2p(drawn[side])}px`;
    label.style.transform = "translate(var(--etgp-x, 0), var(--etgp-y, 0))";
  }];
}

// Put a new place of a shape where plotly keeps it.
function storeShape(plot, index, property, value) {
  for (const { shapes } of [plot.layout, plot._fullLayout]) shapes[index][property] = value;
}

// The steps that show a change of the layout: the vertical line that marks an input (the first shape),
// paths in the units of the axes, and an image. Labels wait for plotly; null if plotly must draw it.
function moveLayout(plot, change) {
  const { xaxis, yaxis } = plot._fullLayout ?? {}, steps = [];
  const toX = (x) => xaxis._offset + xaxis.c2p(Number(x)), toY = (y) => yaxis._offset + yaxis.c2p(Number(y));
  for (const [path, value] of Object.entries(change.layout_data)) {
    const [, index, property] = /^shapes\[(\d+)\]\.(\w+)$/.exec(path) ?? [];
    const shape = plot.querySelector(`.shapelayer path[data-index="${index}"]`);
    const place = LABEL_PLACE.exec(path)?.slice(1);
    if (place) steps.push(...moveLabel(plot, ...place, value) ?? []);
    if (/^annotations|^meta/.test(path)) continue;
    if (shape && property !== "path") steps.push(() => storeShape(plot, index, property, value));
    if (path === "shapes[0].x1") continue;
    if (path === "images[0].source") {
      const images = plot.querySelectorAll(".imagelayer image");
      if (images.length !== 1) return null;
      steps.push(() => {
        for (const { images: kept } of [plot.layout, plot._fullLayout]) kept[0].source = value;
        images[0].setAttributeNS("http://www.w3.org/1999/xlink", "href", value);
      });
    } else if (property === "path" && shape) {
      steps.push(() => storeShape(plot, index, property, value));
      const drawn = value.replace(/(-?[\d.]+),(-?[\d.]+)/g, (_, x, y) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`);
      steps.push(() => shape.setAttribute("d", drawn));
    } else if (property === "x0" && shape) {
      const [, from, to] = shape.getAttribute("d").match(/^M[-\d.]+,([-\d.]+)L[-\d.]+,([-\d.]+)$/) ?? [];
      if (to === undefined) return null;
      steps.push(() => shape.setAttribute("d", `M${toX(value)},${from}L${toX(value)},${to}`));
    } else return null;
  }
  return steps;
}

// Whether a change has labels that only plotly can draw.
const hasLabels = (plot, change) => Object.entries(change.layout_data).some(([path, value]) => {
  const place = LABEL_PLACE.exec(path)?.slice(1);
  return place ? !moveLabel(plot, ...place, value) : /^annotations|^meta/.test(path);
});

// Tell who counts that a figure has moved, and whether it now shows all of a change.
const announce = (plot, isComplete) =>
  plot.dispatchEvent(new CustomEvent("etgp-moved", { detail: { isComplete } }));

// Move the traces of a figure, and what can move of its layout, without plotly. Returns whether that
// shows all of the change except its labels.
function moveTraces(plot, change, isSeen) {
  if (!isSeen) return false;
  const steps = [moveLayout(plot, change), ...change.style_traces.map((index) => moveTrace(plot, index, change))];
  if (steps.includes(null) || !plot._fullData) return false;
  for (const step of steps.flat()) step();
  announce(plot, !hasLabels(plot, change));
  return true;
}
