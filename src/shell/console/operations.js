// All operations: how many there are in each state, and a list of those that match.
//
// The API's pages come in the order of its store and may be empty before the last one, so the list is filled from
// several of them, a bounded number, and goes on behind them only when asked to.

import { call, pages } from "./api.js";
import { badge, below, byId, make, many, refill, shortId, time, words } from "./dom.js";
import { Poll, refresh } from "./poll.js";

const STATES = ["queued", "running", "waiting", "done", "failed", "cancelled"];
/** A list is filled until it has this many rows, from at most so many pages. */
const ROWS = 50;
const LIST_PAGES_MAX = 5;
/** Operations are counted on at most this many pages, of the largest size. */
const COUNT_PAGES_MAX = 10;

const form = byId("filters");
/** The first path of this list and of those before it. */
let trail = [first()];
let next = null;
let counted = "";
let listed = "";

function first() {
  const asked = new URLSearchParams({ limit: String(ROWS) });
  for (const [name, value] of new FormData(form)) {
    if (value.trim() !== "") {
      asked.set(name, value.trim());
    }
  }
  return `/-/operations?${asked}`;
}

/** The poll of this view. */
export const polling = (refused) =>
  new Poll(async (signal) => {
    const isNewList = await list(signal);
    const isNewCount = await count(signal);
    return isNewList || isNewCount;
  }, refused);

/** Whether the token in use is the operators'. */
export const knock = () => call("GET", "/-/operations?limit=1");

async function list(signal) {
  const found = [];
  const seen = { buckets: 0, of: 0, unreadable: 0 };
  let looked = 0;
  next = null;
  for await (const page of pages(trail.at(-1), signal)) {
    found.push(...page.operations);
    seen.buckets += page.looked_at.buckets;
    seen.of = page.looked_at.of;
    seen.unreadable += page.looked_at.unreadable;
    looked += 1;
    next = page.next;
    if (found.length >= ROWS || looked === LIST_PAGES_MAX) {
      break;
    }
  }
  found.sort((one, other) => other.created_at.localeCompare(one.created_at));
  const now = JSON.stringify([found, seen, trail.length]);
  if (now === listed) {
    return false;
  }
  listed = now;
  refill(byId("list"), ...found.map(row));
  byId("listed").textContent = caption(found.length, seen);
  byId("list-back").hidden = trail.length === 1;
  byId("list-on").hidden = next === null;
  return true;
}

function caption(rows, { buckets, of, unreadable }) {
  const some = rows === 0 ? "No operation matches" : many(rows, "operation", "operations, newest first");
  const part = next === null && trail.length === 1 ? "" : ` in this part of the store (${buckets} of ${of} buckets)`;
  const bad = unreadable === 0 ? "" : `; ${unreadable} could not be read`;
  return `${some}${part}${bad}`;
}

function row(operation) {
  const { id, state } = operation;
  const link = make("a", { href: `#/operations/${id}`, "data-focus": id },
    operation.operation, " ", shortId(id));
  const why = operation.failure ?? (state === "waiting" ? operation.last_error?.detail : undefined);
  const dead = operation.events.dead;
  return make("tr", {},
    make("th", { scope: "row" }, link),
    make("td", {}, badge(state),
      why ? below(words(why)) : null,
      dead > 0 ? below(many(dead, "dead letter")) : null),
    make("td", { class: "wide number" }, String(operation.attempts)),
    make("td", {}, time(operation.created_at)),
    make("td", { class: "wide" }, time(operation.next_step_at ?? operation.expires_at)));
}

async function count(signal) {
  const states = new Map(STATES.map((state) => [state, 0]));
  const names = new Set();
  let [looked, dead, rest, buckets, of] = [0, 0, null, 0, 0];
  for await (const page of pages("/-/operations?limit=200", signal)) {
    for (const { state, operation, events } of page.operations) {
      states.set(state, (states.get(state) ?? 0) + 1);
      names.add(operation);
      dead += events.dead;
    }
    buckets += page.looked_at.buckets;
    of = page.looked_at.of;
    looked += 1;
    rest = page.next;
    if (looked === COUNT_PAGES_MAX) {
      break;
    }
  }
  const chosen = byId("filter-state").value;
  const now = JSON.stringify([[...states], [...names].sort(), dead, rest === null ? "" : buckets, chosen]);
  if (now === counted) {
    return false;
  }
  counted = now;
  const number = (count) => (rest === null ? String(count) : `≥ ${count}`);
  const choices = Array.from(states, ([state, count]) => counter(state, number(count), state === chosen));
  const letters = make("a", { href: "#/dead-letters", class: "counter", "data-focus": "counter-dead" },
    make("strong", {}, number(dead)), " ", badge("dead letters"));
  refill(byId("counters"), ...[...choices, letters].map((one) => make("li", {}, one)));
  byId("counted").textContent = rest === null
    ? ""
    : `At least so many: the counting stopped after ${buckets} of the store’s ${of} buckets.`;
  byId("names").replaceChildren(...Array.from(names, (name) => make("option", { value: name })));
  return true;
}

/** How many there are in a state, and a button that shows those. */
function counter(state, number, isChosen) {
  const button = make("button",
    { type: "button", class: "counter", "aria-pressed": String(isChosen), "data-focus": `counter-${state}` },
    make("strong", {}, number), " ", badge(state));
  button.addEventListener("click", () => {
    byId("filter-state").value = isChosen ? "" : state;
    show([first()]);
  });
  return button;
}

function show(paths) {
  trail = paths;
  return refresh();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show([first()]);
});
form.addEventListener("reset", () => {
  // The fields are empty only after this event.
  setTimeout(() => show([first()]));
});
byId("filter-state").addEventListener("change", () => show([first()]));
byId("list-on").addEventListener("click", async () => {
  await show([...trail, next]);
  byId("operations-title").focus();
});
byId("list-back").addEventListener("click", async () => {
  await show(trail.slice(0, -1));
  byId("operations-title").focus();
});
