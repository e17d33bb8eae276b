// One operation: where it stands, its timeline as a picture and in words, and what can be done about it.

import { call } from "./api.js";
import { badge, below, byId, exact, make, many, onPress, refill, span, words } from "./dom.js";
import { eventRow } from "./letters.js";
import { ask, complain, say } from "./notes.js";
import { Poll, refresh, stop } from "./poll.js";
import { story } from "./story.js";
import { timeline } from "./timeline.js";

let id = "";
let shown = null;
let kept = "";

/** The poll of one operation's view. */
export function polling(of, refused) {
  if (of !== id) {
    id = of;
    kept = "";
    shown = null;
    byId("operation-title").textContent = "Operation";
    byId("operation-state").replaceChildren();
    byId("operation-body").hidden = true;
    byId("retry").hidden = true;
    byId("cancel").hidden = true;
  }
  return new Poll(async (signal) => {
    try {
      return show(await call("GET", path(), signal));
    } catch (error) {
      if (error.status === 404) {
        stop();
        byId("operation-body").hidden = true;
        complain(new Error("There is no such operation, or not any more."));
        return false;
      }
      throw error;
    }
  }, refused);
}

const path = () => `/-/operations/${id}`;

function show(operation) {
  const now = JSON.stringify(operation);
  if (now === kept) {
    return false;
  }
  kept = now;
  shown = operation;
  const { state } = operation;
  byId("operation-title").replaceChildren(`${operation.operation} `, make("span", { class: "id" }, operation.id));
  byId("operation-state").replaceChildren(badge(state));
  setButton("retry", state === "failed" || state === "waiting");
  setButton("cancel", state === "queued" || state === "running" || state === "waiting");
  byId("operation-body").hidden = false;
  paint();
  refill(byId("steps"), ...story(operation).map(step));
  refill(byId("facts"), ...facts(operation).flatMap(([name, ...value]) => [
    make("dt", {}, name),
    make("dd", {}, ...value),
  ]));
  byId("events-part").hidden = operation.deliveries.length === 0;
  refill(byId("events"), ...operation.deliveries.map(eventRow));
  return true;
}

/** Shows a button or hides it, without losing the focus with it. */
function setButton(name, isShown) {
  const button = byId(name);
  const hadFocus = document.activeElement === button;
  button.hidden = !isShown;
  if (hadFocus && !isShown) {
    byId("operation-title").focus();
  }
}

/** A row for a moment, with how long after the request it was. */
function step({ at, name, sign, detail }, index, [begin]) {
  const later = Date.parse(at) - Date.parse(begin.at);
  const isSameDay = index > 0 && at.slice(0, 10) === begin.at.slice(0, 10);
  return make("tr", {},
    make("td", { class: isSameDay ? "same-day" : "" }, exact(at), index === 0 ? null : below(`+${span(later)}`)),
    make("th", { scope: "row" }, name),
    make("td", {}, sign ? badge(sign) : null, sign && detail ? " " : null, detail ?? null));
}

function facts(operation) {
  const { request, result, last_error: error } = operation;
  const code = (text) => make("code", {}, text);
  const all = [
    ["State", operation.state],
    ["Attempts", String(operation.attempts)],
    ["Cycles", String(operation.cycles)],
    ["Created", exact(operation.created_at)],
    operation.next_step_at && ["Next step", exact(operation.next_step_at)],
    operation.expires_at && ["Kept until", exact(operation.expires_at)],
    operation.failure && ["Failed because", words(operation.failure)],
    error && ["Last error", error.detail],
    ["Request body", `${request.body_bytes} bytes`],
    result && ["Response", `${result.status}, ${result.body_bytes} bytes${result.is_body_kept ? "" : ", not kept"}`],
    ["Key for the upstream", code(operation.upstream_key)],
    ["Trace", code(operation.trace_id)],
    ["Hash of the key", operation.key_hash === null ? "none: it came without a key" : code(operation.key_hash)],
    ["Hash of the tenant", code(operation.tenant_hash)],
  ];
  return all.filter(Boolean);
}

/** Draws the picture as wide as there is room. */
function paint() {
  const place = byId("picture");
  const room = place.clientWidth;
  if (shown === null || room === 0) {
    return;
  }
  const picture = timeline(story(shown), room, `Timeline of ${shown.operation} ${shown.id}`);
  place.replaceChildren(picture);
  // What is wider than its place is moved by the arrow keys, once it has the focus.
  if (Number(picture.getAttribute("width")) > room) {
    place.setAttribute("tabindex", "0");
  } else {
    place.removeAttribute("tabindex");
  }
}

let width = 0;
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width !== width) {
    width = contentRect.width;
    paint();
  }
}).observe(byId("picture"));

/** Does something about the operation that is on the screen, and shows what came of it. */
async function tell(what, doing) {
  const asked = path();
  say(doing);
  const told = await call("POST", `${asked}/${what}`);
  if (asked === path()) {
    show(told);
    refresh();
  }
  say(`The operation is ${told.state} after ${many(told.attempts, "attempt")}.`);
}

onPress(byId("retry"), complain, () => tell("retry", "An attempt is under way."));
onPress(byId("cancel"), complain, async () => {
  const text = "It is called off for good. Whether an attempt that is under way takes effect is not known; its outcome "
    + "is not kept.";
  if (await ask("Cancel this operation?", text, "Cancel the operation")) {
    await tell("cancel", "The operation is being cancelled.");
  }
});
