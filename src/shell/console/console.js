// The console: the token, the view that the address names, and the buttons that are always there.

import { call, useToken } from "./api.js";
import { byId, onPress, span } from "./dom.js";
import { polling as letters } from "./letters.js";
import { complain, hush, say } from "./notes.js";
import { polling as operation } from "./operation.js";
import { knock, polling as operations } from "./operations.js";
import { pause, refresh, stop } from "./poll.js";
import { polling as sinks } from "./sinks.js";

const WRONG = "This is not the operators’ token.";
const token = byId("token");
let isOpen = false;

/** The section of each view by the first word of its address, and what it polls. */
const VIEWS = [
  { name: "operations", section: "operations", title: "Operations", poll: () => operations(refused) },
  { name: "dead-letters", section: "dead-letters", title: "Dead letters", poll: () => letters(refused) },
  { name: "sinks", section: "sinks", title: "Sinks", poll: () => sinks(refused) },
];

/** The view that the address names; the first one when it names none. */
function view() {
  const [, name, id] = location.hash.split("/");
  if (name === "operations" && /^[0-9a-f-]{36}$/i.test(id ?? "")) {
    return { name, section: "operation", title: "Operation", poll: () => operation(id.toLowerCase(), refused) };
  }
  return VIEWS.find((one) => one.name === name) ?? VIEWS[0];
}

/** Shows the view that the address names, or asks for the token. */
function show() {
  stop();
  hush();
  const { name, section, title, poll } = view();
  const shown = isOpen ? section : "entry";
  for (const one of document.querySelectorAll("main > section")) {
    one.hidden = one.id !== shown;
  }
  byId("views").hidden = !isOpen;
  byId("tools").hidden = !isOpen;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.hash === `#/${name}`) {
      link.setAttribute("aria-current", "page");
    } else {
      link.removeAttribute("aria-current");
    }
  }
  document.title = isOpen ? `${title} · Reprise console` : "Reprise console";
  if (isOpen) {
    byId(shown).querySelector("h2").focus();
    poll().start();
  } else {
    token.focus();
  }
}

/** Whether an error says that the token is not the operators' any more. Then it has to be entered anew. */
function refused(error) {
  if (error.status !== 401) {
    return false;
  }
  useToken("");
  isOpen = false;
  show();
  sayWrong(`${WRONG} It may have been changed.`);
  return true;
}

function sayWrong(text) {
  byId("token-trouble").textContent = text;
  if (text === "") {
    token.removeAttribute("aria-invalid");
  } else {
    token.setAttribute("aria-invalid", "true");
  }
}

byId("entry-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  useToken(token.value.trim());
  try {
    await knock();
    token.value = "";
    sayWrong("");
    isOpen = true;
    show();
  } catch (error) {
    sayWrong(error.status === 401 ? WRONG : error.message);
    token.select();
  }
});

onPress(byId("tick"), complain, async () => {
  const done = await call("POST", "/-/tick");
  const parts = [
    [done.due, "due"],
    [done.advanced, "moved on"],
    [done.delivered, "events delivered"],
    [done.records_purged, "purged"],
    [done.failed, "failed"],
  ];
  const told = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  const what = told.length === 0 ? "nothing to do" : told.join(", ");
  say(`Tick: ${what}. The next one is of use in ${span(done.come_back_ms)}.`);
  refresh();
});

byId("pause").addEventListener("click", () => {
  const button = byId("pause");
  const isPaused = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(isPaused));
  pause(isPaused);
  say(isPaused ? "What is shown stays as it is." : "What is shown is kept up to date.");
});

// A new page has neither the token nor what was shown with it.
byId("lock").addEventListener("click", () => location.reload());

// The address names the view, so the skip link moves the focus by itself.
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});

addEventListener("hashchange", show);
show();
