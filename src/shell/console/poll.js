// Polling: what is on the screen is asked for again and again, ever less often while nothing changes or nobody answers.
//
// One view polls at a time. Nothing is asked for while the page is hidden, paused, or waits for its user in a dialog.

import { isAsking, sayStale } from "./notes.js";

const WAIT_MS_MIN = 2_000;
const WAIT_MS_MAX = 30_000;
/** A service that takes long is asked so much less often. */
const WAIT_PER_CALL = 5;

let current = null;
let isPaused = false;

/** Something that is polled: `work` asks for it, shows it, and tells whether it was new. */
export class Poll {
  #work;
  #refused;
  #timer = 0;
  #wait = WAIT_MS_MIN;
  #stop = new AbortController();

  constructor(work, refused) {
    this.#work = work;
    this.#refused = refused;
  }

  /** Takes the place of whatever was polled before. */
  start() {
    stop();
    current = this;
    return this.soon();
  }

  /** Asks now, whatever the pace was. */
  soon() {
    this.#wait = WAIT_MS_MIN;
    return this.#run();
  }

  end() {
    this.#stop.abort();
    clearTimeout(this.#timer);
  }

  async #run() {
    clearTimeout(this.#timer);
    this.#stop.abort();
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const began = performance.now();
    try {
      const isNew = await this.#work(signal);
      if (signal.aborted) {
        return;
      }
      this.#wait = isNew ? WAIT_MS_MIN : this.#wait * 1.5;
      sayStale("");
    } catch (error) {
      if (signal.aborted || this.#refused(error)) {
        return;
      }
      this.#wait *= 2;
      sayStale(`${error.message} What is shown may be out of date; the page asks again by itself.`);
    }
    const took = (performance.now() - began) * WAIT_PER_CALL;
    this.#wait = Math.max(Math.min(this.#wait, WAIT_MS_MAX), took);
    this.#again();
  }

  #again() {
    clearTimeout(this.#timer);
    // So that many consoles do not ask in step.
    const wait = this.#wait * (0.9 + Math.random() / 5);
    this.#timer = setTimeout(() => {
      if (document.hidden || isPaused || isAsking()) {
        this.#again();
      } else {
        this.#run();
      }
    }, wait);
  }
}

/** Ends what is polled. */
export function stop() {
  current?.end();
  current = null;
}

/** Asks now for what is on the screen. */
export function refresh() {
  return current?.soon();
}

/** Stops asking until told otherwise. What the user does is still shown. */
export function pause(on) {
  isPaused = on;
  if (!on) {
    refresh();
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !isPaused) {
    refresh();
  }
});
