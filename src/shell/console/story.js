// The story of an operation: what happened and what is still to come, in order of time. The picture and the table tell
// the same one.

import { many, span, words } from "./dom.js";

/** Deadlines, as people call them. */
const DEADLINES = {
  start: "Start",
  retry: "Next attempt",
  lease_end: "End of lease",
  attempt_timeout: "Time-out",
  total_deadline: "Total deadline",
  expiry: "Expiry",
};

/** What is told of an attempt's wait, by what set it. */
const WAITS = { backoff: "by our own backoff", server_hint: "as long as the upstream asked for" };

/** The moments of an operation. Each has a lane, a time and perhaps an end, a name, and perhaps a sign, which is a word
 *  that has a colour, and a detail. */
export function story(operation) {
  const moments = [request(operation)];
  for (const attempt of operation.history) {
    moments.push(...told(attempt));
  }
  for (const { name, at, reason } of operation.deadlines) {
    moments.push({ lane: "Deadlines", at, name: DEADLINES[name] ?? words(name), detail: reason });
  }
  for (const event of operation.deliveries) {
    moments.push(delivery(event));
  }
  const dated = moments.filter(({ at }) => at);
  return dated.sort((one, other) => one.at.localeCompare(other.at));
}

function request({ created_at: at, request: { body_bytes: bytes }, key_hash: key, history_dropped: dropped }) {
  const missing = dropped === 0 ? "" : `; ${dropped} attempts after it are not remembered`;
  const detail = `${bytes} bytes, ${key === null ? "without a key" : "under a key"}${missing}`;
  return { lane: "Request", at, name: "Client’s request", detail };
}

function told({ attempt, started_at: at, ended_at: end, outcome: sign, error, ...after }) {
  const { delay_ms: delay, delay_reason: set, end_reason: why } = after;
  const detail = [
    end && `after ${span(Date.parse(end) - Date.parse(at))}`,
    error && error.detail,
    why && `no further attempt: ${words(why)}`,
  ].filter(Boolean).join("; ");
  const moments = [{ lane: "Attempts", at, end, number: attempt, name: `Attempt ${attempt}`, sign, detail }];
  if (delay !== undefined && end !== undefined) {
    const over = new Date(Date.parse(end) + delay).toISOString();
    const wait = span(delay);
    const detail = `${wait}, ${WAITS[set] ?? "by the policy"}`;
    moments.push({ lane: "Attempts", at: end, end: over, wait, name: "Wait", detail });
  }
  return moments;
}

function delivery({ occurred_at: at, due_at: due, type, sink, status, attempts, last_error: error }) {
  const detail = [
    `to ${sink}`,
    due && `next step at ${due.slice(11, 19)}`,
    many(attempts, "attempt"),
    error && error.detail,
  ].filter(Boolean).join(", ");
  return { lane: "Events", at, end: due, name: `Event ${type}`, sign: status, detail };
}
