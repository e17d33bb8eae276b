// The picture of a story: a lane for each kind of moment, time from left to right.
//
// Attempts take milliseconds, waits seconds, and a record is kept for a day: to scale, only the last would be seen. So
// the distance between two moments grows with the logarithm of the time between them.

import { draw, span } from "./dom.js";

const LANES = ["Request", "Attempts", "Events", "Deadlines"];
const TOP_PX = 8;
const AXIS_PX = 30;
const SIDE_PX = 22;
/** From this width on, the names of the lanes have a column of their own; else each stands above its lane. */
const WIDE_PX = 560;
const NAMES_PX = 84;
const LANE_PX = { wide: 50, narrow: 64 };
/** The least distance of two moments, so that neither covers the other. */
const GAP_PX = 16;
const MARK_PX = 9;
/** About how wide a letter is, to see which words have room. */
const LETTER_PX = 6.4;

/** What an outcome looks like beside its colour. */
const SIGNS = {
  succeeded: "✓",
  delivered: "✓",
  failed: "✕",
  dead: "✕",
  retrying: "↻",
  lost: "?",
  abandoned: "–",
  dropped: "–",
  running: "…",
  pending: "…",
  delivering: "…",
};

/** The picture of these moments. It is one image with a name; the table beside it tells the same in words. */
export function timeline(moments, room, title) {
  const lanes = LANES.filter((lane) => moments.some((moment) => moment.lane === lane));
  const isWide = room >= WIDE_PX;
  const left = SIDE_PX + (isWide ? NAMES_PX : 0);
  const lanePx = isWide ? LANE_PX.wide : LANE_PX.narrow;
  const scale = scaleOf(moments, room - left - SIDE_PX);
  const width = Math.max(room, scale.width + left + SIDE_PX);
  const height = TOP_PX + lanes.length * lanePx + AXIS_PX;
  const x = (time) => left + scale.at(time);
  const bands = lanes.map((name, index) => {
    const bottom = TOP_PX + (index + 1) * lanePx;
    const nameY = isWide ? bottom - 14 : bottom - lanePx + 14;
    return lane(name, moments.filter((one) => one.lane === name), { bottom, nameY }, width, x);
  });
  const label = `${title}. The table below tells the same.`;
  return draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...axis(scale, x, height),
    ...bands);
}

/** Where each time is. */
function scaleOf(moments, room) {
  const times = moments.flatMap(({ at, end }) => (end ? [at, end] : [at])).map((time) => Date.parse(time));
  const sorted = [...new Set(times)].sort((one, other) => one - other);
  const weights = sorted.slice(1).map((time, index) => Math.log2(1 + (time - sorted[index]) / 20));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const spare = Math.max(room - weights.length * GAP_PX, 0);
  const places = new Map([[sorted[0], 0]]);
  let place = 0;
  weights.forEach((weight, index) => {
    place += GAP_PX + (spare * weight) / sum;
    places.set(sorted[index + 1], place);
  });
  return { sorted, width: place, at: (time) => places.get(Date.parse(time)) };
}

/** How long after the beginning each moment was, as far as there is room for it. */
function axis({ sorted, at }, x, height) {
  const y = height - 10;
  let free = 0;
  const shapes = [];
  for (const time of sorted) {
    const text = time === sorted[0] ? "0" : `+${span(time - sorted[0])}`;
    const left = x(new Date(time).toISOString());
    const half = (text.length * LETTER_PX) / 2;
    if (left - half >= free) {
      shapes.push(
        draw("line", { class: "grid", x1: left, x2: left, y1: TOP_PX, y2: height - AXIS_PX + 6 }),
        draw("text", { class: "tick", x: Math.max(left, half + 2), y, "text-anchor": "middle" }, text));
      free = left + half + 10;
    }
  }
  return shapes;
}

function lane(name, moments, { bottom, nameY }, width, x) {
  const y = bottom - 18;
  const words = new Room(width);
  const waits = moments.filter(({ wait }) => wait);
  const marks = moments.filter(({ wait }) => !wait);
  return draw("g", {},
    draw("line", { class: "lane", x1: 0, x2: width, y1: bottom, y2: bottom }),
    draw("text", { class: "lane-name", x: 2, y: nameY }, name),
    ...waits.map((moment) => pause(moment, y, x)),
    ...marks.map((moment) => mark(moment, y, x, words)));
}

/** A wait between two attempts, with its length if there is room. */
function pause({ at, end, name, detail, wait }, y, x) {
  const [from, to] = [x(at) + MARK_PX, x(end)];
  const half = (wait.length * LETTER_PX) / 2;
  const hasRoom = to - from > 2 * half + MARK_PX;
  const middle = { x: (from + to - MARK_PX) / 2, y: y - 6, "text-anchor": "middle" };
  return draw("g", {},
    draw("title", {}, `${name}: ${detail}`),
    draw("line", { class: "wait", x1: from, x2: to, y1: y, y2: y }),
    hasRoom ? draw("text", { class: "tick", ...middle }, wait) : null);
}

/** A moment: a bar for what took time, and a sign in a disc, or a flag for a deadline. */
function mark({ lane: kind, at, end, name, number, sign, detail }, y, x, words) {
  const left = x(at);
  const title = draw("title", {}, [name, sign, detail].filter(Boolean).join(": "));
  const shapes = [];
  if (end) {
    shapes.push(draw("line", { class: "bar", x1: left, x2: x(end), y1: y, y2: y }));
  }
  if (kind === "Deadlines") {
    shapes.push(draw("path", { class: "flag", d: `M${left} ${y + 8}v-18l11 5.500l-11 5.500` }));
  } else {
    shapes.push(
      draw("circle", { class: "disc", cx: left, cy: y, r: MARK_PX }),
      draw("text", { class: "sign", x: left, y: y + 4, "text-anchor": "middle" }, SIGNS[sign] ?? "●"));
  }
  const word = number === undefined ? name.replace("Event ", "") : `#${number}`;
  const place = words.take(left, word.length * LETTER_PX);
  if (place !== null) {
    shapes.push(draw("text", { class: "word", x: place, y: y - 14 }, word));
  }
  return draw("g", { class: "mark", "data-word": sign ?? kind }, title, ...shapes);
}

/** The room above a lane's marks, from left to right. */
class Room {
  #free = 0;
  #width;

  constructor(width) {
    this.#width = width;
  }

  /** Where words about this place begin, or `null` if there is no room for them. */
  take(place, length) {
    const start = Math.max(0, Math.min(place - MARK_PX, this.#width - length - 2));
    if (start < this.#free) {
      return null;
    }
    this.#free = start + length + 8;
    return start;
  }
}
