// The operators' API: one call at a time, with the token, which lives in this variable and nowhere else.
//
// A variable of a module is out of reach for whatever else is served from this origin; the browser's storage would not
// be.

let token = "";

/** A call takes at most this long: an operator's retry answers after the attempt. */
const CALL_MS_MAX = 30_000;

/** What went wrong with a call, in words for people. `status` is 0 where no answer came. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Takes the token for the calls that follow. An empty one forgets it. */
export function useToken(text) {
  // Headers carry bytes, which a script writes as the characters of the same numbers.
  const bytes = new TextEncoder().encode(text);
  token = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** Calls a path and gives the JSON of its answer. Whatever else comes, or does not, is an `ApiError`. */
export async function call(method, path, signal) {
  const late = AbortSignal.timeout(CALL_MS_MAX);
  let response;
  let text;
  try {
    response = await fetch(path, {
      method,
      headers: { authorization: `Bearer ${token}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: signal ? AbortSignal.any([signal, late]) : late,
    });
    text = await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    const reason = late.aborted ? "The service did not answer in time." : "The service cannot be reached.";
    throw new ApiError(reason, 0);
  }
  let document;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new ApiError(`The service answered ${response.status} with something that is not JSON.`, response.status);
  }
  if (!response.ok) {
    throw new ApiError(`${document.title} (${response.status}): ${document.detail}`, response.status);
  }
  return document;
}

/** Goes through the pages of operations from this path on, until the last one or until nobody wants more. */
export async function* pages(path, signal) {
  for (let next = path; next !== null; ) {
    const page = await call("GET", next, signal);
    yield page;
    next = page.next;
  }
}
