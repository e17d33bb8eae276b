//! A gate: the piece of network between Reprise and a receiver, where the demo makes things go wrong.
//!
//! It passes one request after the other on to the host, each on a connection of its own, and does with it what its mode
//! says. Whatever comes by is told to who holds the gate. It changes no request but for `Connection`, and keeps none.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::http::{self, Head};

/// How long either side of a gate may say nothing.
const SILENCE: Duration = Duration::from_secs(20);

/// What a gate does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Passes it on, and its answer back.
    Open,
    /// The same, but the answer takes this long.
    Slow(Duration),
    /// Answers 503 in the receiver's place.
    Down,
    /// Passes the next one on and loses its answer; opens then.
    LoseOne,
    /// Passes the next one on and keeps its answer until the caller has gone; opens then.
    HoldOne,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The receiver's answer went back.
    Passed(u16),
    /// It was answered 503, and did not reach the receiver.
    Refused,
    /// The receiver has answered, and nobody will hear of it.
    Lost(u16),
    /// The receiver has answered, and the caller still waits.
    Held(u16),
    /// The receiver did not answer.
    Unanswered,
}

/// A request that has come by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passage {
    /// When it came.
    pub(crate) at: Instant,
    pub(crate) outcome: Outcome,
    /// By what the receiver knows it again: its `Idempotency-Key`, or of an event its `webhook-id`.
    pub(crate) name: String,
}

/// A gate that stands until this process ends.
#[derive(Debug)]
pub(crate) struct Gate {
    address: SocketAddr,
    inside: Arc<Inside>,
    passages: Receiver<Passage>,
}

#[derive(Debug)]
struct Inside {
    mode: Mutex<Mode>,
    /// Where the receiver is, as soon as it is anywhere.
    receiver: Mutex<String>,
}

impl Gate {
    /// Sets up an open gate that leads nowhere yet.
    pub(crate) fn build() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port on loopback")?;
        let address = listener.local_addr()?;
        let inside = Arc::new(Inside {
            mode: Mutex::new(Mode::Open),
            receiver: Mutex::default(),
        });
        let (sender, passages) = channel();
        let served = Arc::clone(&inside);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (inside, sender) = (Arc::clone(&served), sender.clone());
                // A request that breaks off is the caller's to repeat.
                thread::spawn(move || inside.pass(&stream, &sender));
            }
        });
        Ok(Self {
            address,
            inside,
            passages,
        })
    }

    /// Its URL, without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Says where requests are passed on to.
    pub(crate) fn lead_to(&self, receiver: &str) {
        receiver.clone_into(&mut lock(&self.inside.receiver));
    }

    /// Says what is done from the next request on, and forgets what has come by before.
    pub(crate) fn set(&self, mode: Mode) {
        *lock(&self.inside.mode) = mode;
        while self.passages.try_recv().is_ok() {}
    }

    /// Opens the gate, and forgets nothing.
    pub(crate) fn open(&self) {
        *lock(&self.inside.mode) = Mode::Open;
    }

    /// The next request that has come by, or nothing when none does for this long.
    pub(crate) fn next(&self, patience: Duration) -> Option<Passage> {
        self.passages.recv_timeout(patience).ok()
    }
}

impl Inside {
    /// The mode for a request, of which only one is lost or held.
    fn take_mode(&self) -> Mode {
        let mut mode = lock(&self.mode);
        match *mode {
            Mode::LoseOne | Mode::HoldOne => std::mem::replace(&mut *mode, Mode::Open),
            Mode::Open | Mode::Slow(_) | Mode::Down => *mode,
        }
    }

    /// Takes one request, and nothing more from its connection.
    fn pass(&self, mut caller: &TcpStream, passages: &Sender<Passage>) -> Option<()> {
        let at = Instant::now();
        caller.set_read_timeout(Some(SILENCE)).ok()?;
        let (name, request) = read(caller)?;
        let mode = self.take_mode();
        let answer = match mode {
            Mode::Down => None,
            Mode::Open | Mode::Slow(_) | Mode::LoseOne | Mode::HoldOne => self.forward(&request),
        };
        let outcome = match (mode, &answer) {
            (Mode::Down, _) => Outcome::Refused,
            (Mode::Open | Mode::Slow(_) | Mode::LoseOne | Mode::HoldOne, None) => {
                Outcome::Unanswered
            }
            (Mode::Open | Mode::Slow(_), Some((status, _))) => Outcome::Passed(*status),
            (Mode::LoseOne, Some((status, _))) => Outcome::Lost(*status),
            (Mode::HoldOne, Some((status, _))) => Outcome::Held(*status),
        };
        // Nobody may be listening any more.
        let _ = passages.send(Passage { at, outcome, name });
        match mode {
            Mode::Down => caller.write_all(UNAVAILABLE).ok(),
            Mode::LoseOne => None,
            // Reading ends when the caller does.
            Mode::HoldOne => caller.read(&mut [0]).ok().map(drop),
            Mode::Open => caller.write_all(&answer?.1).ok(),
            Mode::Slow(delay) => {
                thread::sleep(delay);
                caller.write_all(&answer?.1).ok()
            }
        }
    }

    /// The receiver's status, and its answer as it came.
    fn forward(&self, request: &[u8]) -> Option<(u16, Vec<u8>)> {
        let receiver = lock(&self.receiver).clone();
        let mut stream = http::connect(&receiver, SILENCE).ok()?;
        stream.write_all(request).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let status = String::from_utf8_lossy(answer.get(9..12)?).parse().ok()?;
        Some((status, answer))
    }
}

/// What a load balancer says whose servers are gone.
const UNAVAILABLE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Reads a request whose length is announced, and gives its name and what is to be passed on.
fn read(caller: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(caller);
    let head = Head::read(&mut reader).ok()?;
    let header = |name| http::header(&head.headers, name);
    let length: usize = header("content-length").unwrap_or("0").parse().ok()?;
    let name = header("webhook-id").or_else(|| header("idempotency-key"));
    let mut text = format!("{}\r\nConnection: close\r\n", head.first);
    for (name, value) in &head.headers {
        if !name.eq_ignore_ascii_case("connection") {
            text.extend([name, ": ", value, "\r\n"]);
        }
    }
    text.push_str("\r\n");
    let mut request = text.into_bytes();
    let head_bytes = request.len();
    request.resize(head_bytes + length, 0);
    reader.read_exact(&mut request[head_bytes..]).ok()?;
    Some((name.unwrap_or_default().to_owned(), request))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::serve;
    use crate::http::{Answer, Failure, Request};

    const OK: &str = "HTTP/1.1 201 Created\r\n\r\ndone";

    fn ask(gate: &Gate) -> Result<Answer, Failure> {
        let request = Request {
            method: "POST",
            path: "/",
            headers: &[("Connection", "keep-alive"), ("Idempotency-Key", "k")],
            body: "{}",
        };
        http::ask(&gate.address.to_string(), &request, SILENCE)
    }

    fn told(gate: &Gate) -> (Outcome, String) {
        let passage = gate.next(SILENCE).expect("it came by");
        (passage.outcome, passage.name)
    }

    #[test]
    fn each_mode_does_what_it_says_and_tells_it() {
        let gate = Gate::build().unwrap();
        let (receiver, served) = serve(vec![OK.to_owned(); 4]);
        gate.lead_to(&receiver);
        let k = || "k".to_owned();

        assert_eq!(ask(&gate).map(|answer| answer.status), Ok(201));
        assert_eq!(told(&gate), (Outcome::Passed(201), k()));

        gate.set(Mode::Down);
        assert_eq!(ask(&gate).map(|answer| answer.status), Ok(503));
        assert_eq!(told(&gate), (Outcome::Refused, k()));

        gate.set(Mode::LoseOne);
        assert!(ask(&gate).is_err());
        assert_eq!(told(&gate), (Outcome::Lost(201), k()));
        assert_eq!(ask(&gate).map(|answer| answer.body), Ok("done".to_owned()));
        assert_eq!(told(&gate), (Outcome::Passed(201), k()));

        gate.set(Mode::HoldOne);
        thread::scope(|scope| {
            let address = gate.address;
            let caller = TcpStream::connect(address).unwrap();
            (&caller)
                .write_all(b"POST / HTTP/1.1\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n")
                .unwrap();
            scope.spawn(move || drop(caller));
            assert_eq!(told(&gate), (Outcome::Held(201), k()));
        });
        let requests = served.join().unwrap();
        let expected = "POST / HTTP/1.0\nConnection: close\nHost: ";
        assert!(requests[0].starts_with(expected), "{}", requests[0]);
        assert!(requests[0].ends_with("\n\n{}"), "{}", requests[0]);
        assert_eq!(requests.len(), 4);

        assert!(ask(&gate).is_err());
        assert_eq!(told(&gate), (Outcome::Unanswered, k()));
    }
}
