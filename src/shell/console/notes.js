// Notes: what the page tells its user in words. They are live regions, so a screen reader says them.

import { byId } from "./dom.js";

function put(id, text) {
  const note = byId(id);
  // The same words again would be said again.
  if (note.textContent !== text) {
    note.textContent = text;
  }
}

/** Tells what an action has done. */
export function say(text) {
  put("trouble", "");
  put("told", text);
}

/** Tells what went wrong with an action. */
export function complain(error) {
  put("told", "");
  put("trouble", error.message);
}

/** Tells that what is shown may be out of date, and why; or, with an empty text, that it is not. */
export function sayStale(text) {
  put("stale", text);
}

/** Takes all notes away. */
export function hush() {
  say("");
  sayStale("");
}

const dialog = byId("ask");

/** Asks before something that cannot be undone. The dialog keeps the focus; Escape means no. */
export function ask(title, text, yes) {
  byId("ask-title").textContent = title;
  byId("ask-text").textContent = text;
  byId("ask-yes").textContent = yes;
  dialog.returnValue = "";
  const opener = document.activeElement;
  dialog.showModal();
  return new Promise((resolve) => {
    const answer = () => {
      // The browser gives the focus back, unless another element has taken the place of the one that had it.
      if (!opener.isConnected && opener.dataset.focus !== undefined) {
        document.querySelector(`[data-focus="${CSS.escape(opener.dataset.focus)}"]`)?.focus();
      }
      resolve(dialog.returnValue === "yes");
    };
    dialog.addEventListener("close", answer, { once: true });
  });
}

byId("ask-yes").addEventListener("click", () => dialog.close("yes"));
byId("ask-no").addEventListener("click", () => dialog.close("no"));

/** Whether an answer is awaited, during which nothing behind the dialog should change. */
export const isAsking = () => dialog.open;
