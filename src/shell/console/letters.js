// Events and dead letters: rows of them, and what can be done about those that were given up.

import { call } from "./api.js";
import { badge, below, byId, make, many, onPress, refill, shortId, time } from "./dom.js";
import { ask, complain, say } from "./notes.js";
import { Poll, refresh } from "./poll.js";

/** Letters are listed from at most this many pages of the API, which may be empty. */
const PAGES_MAX = 5;

let trail = ["0"];
let next = null;
let kept = "";

/** The poll of this view. */
export const polling = (refused) => new Poll(list, refused);

async function list(signal) {
  const found = [];
  next = trail.at(-1);
  for (let page = 0; page < PAGES_MAX && next !== null && found.length === 0; page += 1) {
    const answer = await call("GET", `/-/dead-letters?from=${encodeURIComponent(next)}`, signal);
    found.push(...answer.dead_letters);
    next = answer.next;
  }
  const now = JSON.stringify([found, next, trail.length]);
  if (now === kept) {
    return false;
  }
  kept = now;
  found.sort((one, other) => (other.occurred_at ?? "").localeCompare(one.occurred_at ?? ""));
  refill(byId("letters"), ...found.map(eventRow));
  const some = found.length === 0 ? "No dead letter" : many(found.length, "dead letter");
  byId("letters-listed").textContent = next === null && trail.length === 1 ? some : `${some} in this part of the store`;
  byId("letters-back").hidden = trail.length === 1;
  byId("letters-on").hidden = next === null;
  return true;
}

/** A row for an event: what became of it, and buttons if it was given up. */
export function eventRow(letter) {
  const { record, seq, sink, status, attempts, last_error: error } = letter;
  const name = `${record}/${seq}`;
  return make("tr", {},
    make("th", { scope: "row" },
      letter.type,
      below(make("a", { href: `#/operations/${record}`, "data-focus": name },
        letter.operation, " ", shortId(letter.event_id)))),
    make("td", {},
      badge(status),
      below(`to ${sink}, ${many(attempts, "attempt")}`),
      error ? below(error.detail) : null,
      letter.due_at ? below("next step ", time(letter.due_at)) : null,
      letter.expires_at ? below("kept until ", time(letter.expires_at)) : null),
    make("td", { class: "wide" }, time(letter.occurred_at)),
    make("td", {}, status === "dead" ? decisions(letter, name) : "none"));
}

function decisions({ record, seq, type, event_id: id, sink }, name) {
  const path = `/-/dead-letters/${record}/${seq}`;
  const button = (verb, kind, act) => {
    const attributes = { type: "button", class: kind, "aria-label": `${verb} ${type} ${id}` };
    return onPress(make("button", { ...attributes, "data-focus": `${verb} ${name}` }, verb), complain, act);
  };
  const replay = button("Replay", "", async () => {
    const told = await call("POST", `${path}/replay`);
    say(`${type} is sent to ${sink} again: it is ${told.status}.`);
    refresh();
  });
  const drop = button("Drop", "danger", async () => {
    const text = `${type} for ${sink} is forgotten. It was not delivered, and cannot be replayed afterwards.`;
    if (await ask("Drop this dead letter?", text, "Drop it")) {
      await call("DELETE", path);
      say(`${type} is dropped.`);
      refresh();
    }
  });
  return make("div", { class: "buttons" }, replay, drop);
}

async function show(paths) {
  trail = paths;
  await refresh();
  byId("letters-title").focus();
}

byId("letters-on").addEventListener("click", () => show([...trail, next]));
byId("letters-back").addEventListener("click", () => show(trail.slice(0, -1)));
