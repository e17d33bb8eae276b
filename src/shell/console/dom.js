// Elements: the one way in which text gets into the page. It becomes text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** The element of the page with this id. */
export const byId = (id) => document.getElementById(id);

/** A new HTML element. Children are elements or text; those that are null are left out. */
export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** A new SVG element. */
export function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A button that does one thing at a time. What goes wrong is told to `complain`. */
export function onPress(button, complain, act) {
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-disabled") === "true") {
      return;
    }
    // Not `disabled`, which would take the focus away.
    button.setAttribute("aria-disabled", "true");
    try {
      await act();
    } catch (error) {
      complain(error);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
  return button;
}

/** Puts new children in the place of the old ones. The focus stays on what has the same `data-focus`, or goes to the
 *  heading of the section. */
export function refill(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  parent.replaceChildren(...children);
  if (focused !== null) {
    const name = focused.dataset.focus;
    const all = Array.from(parent.querySelectorAll("[data-focus]"));
    const same = all.find((element) => element.dataset.focus === name);
    (same ?? parent.closest("section").querySelector("h2")).focus({ preventScroll: same !== undefined });
  }
}

/** A state, or another short word that has a colour and a sign. */
export function badge(word) {
  return make("span", { class: "badge", "data-word": word }, word);
}

/** A second line of a cell. */
export function below(...children) {
  return make("div", { class: "quiet small" }, ...children);
}

/** A name of the API in words. */
export const words = (name) => name.replaceAll("_", " ");

/** A time to the second, or to the millisecond, always UTC. */
export function time(text, digits = "00:00:00".length) {
  if (!text) {
    return make("span", {}, "unknown");
  }
  const [day, clock] = text.split("T");
  return make("time", { datetime: text }, make("span", {}, day), " ", make("span", {}, clock.slice(0, digits)));
}

/** The same to the millisecond. */
export const exact = (text) => time(text, "00:00:00.000".length);

/** The id of a record. Where there is little room, only its end is shown, which no other record shares. */
export const shortId = (id) =>
  make("span", { class: "id" }, make("span", { class: "wide" }, id.slice(0, 24)), id.slice(24));

/** So many of something, in words. */
export const many = (count, one, more = `${one}s`) => (count === 1 ? `1 ${one}` : `${count} ${more}`);

/** A span of time in words, rounded to what matters. */
export function span(ms) {
  if (ms < 1_000) {
    return `${ms} ms`;
  }
  if (ms < 60_000) {
    return `${(ms / 1_000).toFixed(ms < 9_950 ? 1 : 0).replace(".0", "")} s`;
  }
  const [big, small, unit, rest] = ms < 3_600_000
    ? [60_000, 1_000, "min", "s"]
    : ms < 172_800_000
      ? [3_600_000, 60_000, "h", "min"]
      : [86_400_000, 3_600_000, "d", "h"];
  const whole = Math.floor(ms / big);
  const left = Math.floor((ms % big) / small);
  return left === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${left} ${rest}`;
}
