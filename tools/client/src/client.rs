//! The client: the loop that asks, waits and asks again.

use super::call::{Call, CallError, Last, Reason, Reply};
use super::key::Key;
use super::policy::Policy;
use super::surroundings::{Surroundings, System};
use super::turn::{REPLAYED, Turn, turn};
use reprise::machine::{Millis, Seed, Timestamp, Withdrawal, budget};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use ureq::Agent;
use ureq::http::{HeaderMap, Method, Request, Uri};

/// Bytes of an answer. The service keeps 256 KiB of a result; whoever answers more than this means something else.
const ANSWER_BYTES_MAX: u64 = 16 * 1_024 * 1_024;

/// A client of one service. Threads may share it, and with it the connections and the retry budget.
#[derive(Debug)]
pub struct Client<S = System> {
    agent: Agent,
    base: String,
    policy: Policy,
    surroundings: S,
    /// The retry budget's word; see [`budget`].
    budget: Mutex<u64>,
}

/// A base address that is not of the form `http://host:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseError;

impl fmt::Display for BaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a base address has a scheme and a host, and no path")
    }
}

impl std::error::Error for BaseError {}

impl Client {
    /// A client of the service at `base`, such as `http://127.0.0.1:3000`.
    pub fn new(base: &str, policy: Policy) -> Result<Self, BaseError> {
        Self::with_surroundings(base, policy, System::default())
    }
}

impl<S: Surroundings> Client<S> {
    /// A client that takes time and randomness from somewhere else.
    pub fn with_surroundings(
        base: &str,
        policy: Policy,
        surroundings: S,
    ) -> Result<Self, BaseError> {
        let base = base.trim_end_matches('/');
        let uri: Uri = base.parse().map_err(|_| BaseError)?;
        if uri.scheme().is_none() || uri.host().is_none() || !matches!(uri.path(), "" | "/") {
            return Err(BaseError);
        }
        // A redirected POST would be another request, to somebody who may know nothing of the key.
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        Ok(Self {
            agent: config.build().into(),
            base: base.to_owned(),
            policy,
            surroundings,
            budget: Mutex::new(0),
        })
    }

    /// Carries a call out, to the operation's end or to the call's.
    pub fn send(&self, call: &Call) -> Result<Reply, CallError> {
        let key = call.key.clone();
        let key = key.unwrap_or_else(|| Key::from_random(self.surroundings.random()));
        let mut under_way = UnderWay {
            client: self,
            call,
            key,
            ends_at: Timestamp::from_unix_ms(0)
                .after(self.surroundings.elapsed())
                .after(self.policy.deadline),
            attempts: 0,
            polls: 0,
            failures: 0,
            waits: 0,
            last: Last::Nothing,
        };
        match under_way.run() {
            Ok(answer) => Ok(under_way.reply(answer)),
            Err(reason) => Err(CallError {
                reason,
                key: under_way.key,
                attempts: under_way.attempts,
                last: under_way.last,
            }),
        }
    }

    /// Time that only goes forward, as the budget and the deadline count it.
    fn clock(&self) -> Timestamp {
        Timestamp::from_unix_ms(0).after(self.surroundings.elapsed())
    }

    fn seed(&self) -> Seed {
        let random = self.surroundings.random();
        let half = random.first_chunk();
        Seed::new(u64::from_le_bytes(*half.expect("sixteen bytes hold eight")))
    }

    /// Takes the token of one retry. Answers whether there was one.
    fn withdraw(&self) -> bool {
        let (now, seed) = (self.clock(), self.seed());
        let mut word = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        match budget::withdraw(*word, now, seed, &self.policy.budget) {
            Withdrawal::Granted { word: next } => {
                *word = next;
                true
            }
            Withdrawal::Refused { repair } => {
                *word = repair.unwrap_or(*word);
                false
            }
        }
    }

    fn deposit(&self) {
        let (now, seed) = (self.clock(), self.seed());
        let mut word = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = budget::deposit_success(*word, now, seed, &self.policy.budget) {
            *word = next;
        }
    }
}

/// What a request is for.
enum Aim {
    /// To ask for the operation.
    Submit,
    /// To read its record at this path.
    Poll(String),
}

/// An answer as it came.
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// A call under way.
struct UnderWay<'a, S> {
    client: &'a Client<S>,
    call: &'a Call,
    key: Key,
    ends_at: Timestamp,
    attempts: u32,
    polls: u32,
    /// Requests that failed in a row.
    failures: u32,
    /// Answers in a row that said that the operation goes on.
    waits: u32,
    last: Last,
}

impl<S: Surroundings> UnderWay<'_, S> {
    fn run(&mut self) -> Result<Answer, Reason> {
        let mut aim = Aim::Submit;
        loop {
            let Some(answer) = self.request(&aim)? else {
                self.retry(None)?;
                continue;
            };
            let now = self.client.surroundings.now();
            match turn(answer.status, &answer.headers, &answer.body, now) {
                Turn::Final => match aim {
                    Aim::Submit => return Ok(answer),
                    // The record has ended. What the operation answered is had by asking for it once more.
                    Aim::Poll(_) if (200..300).contains(&answer.status) => aim = Aim::Submit,
                    // To ask for the operation now might be to ask for a new one.
                    Aim::Poll(_) => return Err(Reason::RecordGone),
                },
                Turn::Unfinished { location, hint } => {
                    if let Some(path) = location {
                        aim = Aim::Poll(path);
                    }
                    self.failures = 0;
                    self.waits = self.waits.saturating_add(1);
                    // A service that says when to come back need not be asked less and less often.
                    let rounds = if hint.is_some() { 1 } else { self.waits };
                    let wait = self.next_wait(rounds, hint)?;
                    self.client.surroundings.sleep(wait);
                }
                Turn::Retry { hint } => self.retry(hint)?,
            }
        }
    }

    /// Pays and waits for a retry, if there may be one.
    fn retry(&mut self, hint: Option<Millis>) -> Result<(), Reason> {
        self.failures += 1;
        if self.failures >= self.client.policy.max_attempts {
            return Err(Reason::Attempts);
        }
        let wait = self.next_wait(self.failures, hint)?;
        if !self.client.withdraw() {
            return Err(Reason::Budget);
        }
        self.client.surroundings.sleep(wait);
        Ok(())
    }

    /// The wait before the next request: a jitter of our own, on top of what the service asked for, so that those who
    /// were told the same do not come back together.
    fn next_wait(&self, rounds: u32, hint: Option<Millis>) -> Result<Millis, Reason> {
        let policy = &self.client.policy;
        let jitter = policy.backoff.delay(rounds, self.client.seed());
        let hint = hint.unwrap_or(Millis::ZERO).min(policy.retry_after_cap);
        let wait = Millis::new(hint.get().saturating_add(jitter.get()));
        if self.ends_at.is_reached(self.client.clock().after(wait)) {
            return Err(Reason::Deadline);
        }
        Ok(wait)
    }

    /// Sends one request. `None` when no answer came.
    fn request(&mut self, aim: &Aim) -> Result<Option<Answer>, Reason> {
        let left = self.ends_at.since(self.client.clock());
        if left == Millis::ZERO {
            return Err(Reason::Deadline);
        }
        match aim {
            Aim::Submit => self.attempts += 1,
            Aim::Poll(_) => self.polls += 1,
        }
        let timeout = left.min(self.client.policy.attempt_timeout);
        match self.exchange(aim, timeout) {
            Ok(answer) => {
                if answer.status < 500 {
                    self.client.deposit();
                }
                self.last = Last::Answer {
                    status: answer.status,
                    body: answer.body.clone(),
                };
                Ok(Some(answer))
            }
            Err(error) => {
                self.last = Last::NoAnswer(error.to_string());
                match error {
                    ureq::Error::BodyExceedsLimit(_) => Err(Reason::AnswerTooLarge),
                    ureq::Error::Http(_) | ureq::Error::BadUri(_) => Err(Reason::Unsendable),
                    // Whatever else went wrong on the way may go right the next time, and the key makes it safe.
                    _ => Ok(None),
                }
            }
        }
    }

    fn exchange(&self, aim: &Aim, timeout: Millis) -> Result<Answer, ureq::Error> {
        let (method, path, body) = match aim {
            Aim::Submit => (Method::POST, &self.call.path, self.call.body.as_slice()),
            Aim::Poll(path) => (Method::GET, path, &[][..]),
        };
        let uri = format!("{}{path}", self.client.base);
        let mut request = Request::builder().method(method).uri(uri).body(body)?;
        let headers = request.headers_mut();
        headers.clone_from(&self.call.headers);
        if matches!(aim, Aim::Submit) {
            let key = self.key.header();
            headers.insert(
                "idempotency-key",
                key.parse().expect("a key is visible ASCII"),
            );
        }
        let timeout = Duration::from_millis(timeout.get());
        let agent = &self.client.agent;
        let request = agent.configure_request(request);
        let mut response = agent.run(request.timeout_global(Some(timeout)).build())?;
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        Ok(Answer {
            body: body.read_to_vec()?,
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
        })
    }

    fn reply(&self, answer: Answer) -> Reply {
        let replayed = answer.headers.get(REPLAYED);
        Reply {
            is_replayed: replayed.is_some_and(|value| value == "true"),
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
            attempts: self.attempts,
            polls: self.polls,
            key: self.key.clone(),
        }
    }
}
