// Sinks: which receivers are sent events.

import { call } from "./api.js";
import { badge, byId, make, onPress, refill } from "./dom.js";
import { complain, say } from "./notes.js";
import { Poll, refresh } from "./poll.js";

let kept = "";

/** The poll of this view. */
export const polling = (refused) =>
  new Poll(async (signal) => {
    const { sinks } = await call("GET", "/-/sinks", signal);
    const now = JSON.stringify(sinks);
    if (now === kept) {
      return false;
    }
    kept = now;
    refill(byId("sink-list"), ...Object.entries(sinks).map(([name, sink]) => row(name, sink.is_enabled)));
    return true;
  }, refused);

function row(name, isEnabled) {
  return make("tr", {},
    make("th", { scope: "row" }, name),
    make("td", {}, badge(isEnabled ? "enabled" : "disabled")),
    make("td", {}, isEnabled ? "none" : enabler(name)));
}

function enabler(name) {
  const button = make("button", { type: "button", "aria-label": `Enable ${name}`, "data-focus": name }, "Enable");
  return onPress(button, complain, async () => {
    await call("POST", `/-/sinks/${encodeURIComponent(name)}/enable`);
    say(`${name} is sent events again. Replay its dead letters one by one.`);
    refresh();
  });
}
