//! A scripted server on loopback, and surroundings in which waiting takes no time.

use reprise_client::{Millis, Surroundings, Timestamp};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard};
use std::thread::JoinHandle;

/// What the server does with one request. Each comes on a connection of its own.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// It answers with this status, these header lines and this body.
    Answer(u16, &'static [&'static str], &'static str),
    /// It reads the request and closes the connection.
    Close,
    /// It announces more than it sends.
    BreakOff,
    /// It never answers.
    Stall,
}

/// A request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Method and path.
    pub what: String,
    /// The `Idempotency-Key`, as it was spelt.
    pub key: Option<String>,
    pub body: String,
}

/// A server that follows a script and then is gone.
pub struct Server {
    pub base: String,
    thread: JoinHandle<Vec<Seen>>,
}

impl Server {
    pub fn start(script: &[Step]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let script = script.to_vec();
        let thread = std::thread::spawn(move || {
            let mut stalled = Vec::new();
            let follow = |step: &Step| {
                let (mut stream, _) = listener.accept().expect("a client comes");
                let seen = read(&stream);
                match step {
                    Step::Answer(status, lines, body) => answer(&mut stream, *status, lines, body),
                    Step::Close => {}
                    Step::BreakOff => {
                        write(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{");
                    }
                    Step::Stall => stalled.push(stream),
                }
                seen
            };
            script.iter().map(follow).collect()
        });
        Self {
            base: format!("http://{address}"),
            thread,
        }
    }

    /// What the server was asked. Waits for the whole script to be over.
    pub fn seen(self) -> Vec<Seen> {
        self.thread.join().expect("the server followed its script")
    }
}

fn read(stream: &TcpStream) -> Seen {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut text = String::new();
        reader.read_line(&mut text).expect("a request has lines");
        text.trim_end().to_owned()
    };
    let first = line();
    let what = first
        .rsplit_once(' ')
        .expect("a request line has a version")
        .0
        .to_owned();
    let (mut key, mut length) = (None, 0);
    loop {
        let header = line();
        match header.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("idempotency-key") => {
                key = Some(value.to_owned());
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().expect("a number");
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader
        .read_exact(&mut body)
        .expect("a request has its body");
    let body = String::from_utf8(body).expect("the tests send text");
    Seen { what, key, body }
}

fn answer(stream: &mut TcpStream, status: u16, lines: &[&str], body: &str) {
    let length = body.len();
    write(
        stream,
        &format!("HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {length}\r\n"),
    );
    for line in lines {
        write(stream, &format!("{line}\r\n"));
    }
    write(stream, &format!("\r\n{body}"));
}

fn write(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).expect("the client reads");
}

/// The time of day at which every test begins: Sun, 06 Nov 1994 08:49:00 GMT.
pub const START: Timestamp = Timestamp::from_unix_ms(784_111_740_000);

/// Surroundings in which only sleep makes time pass, and takes none.
#[derive(Debug, Default)]
pub struct Virtual {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sleeps_ms: Vec<u64>,
    elapsed_ms: u64,
    draws: u64,
}

impl Virtual {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock held")
    }

    /// The waits so far.
    pub fn sleeps_ms(&self) -> Vec<u64> {
        self.state().sleeps_ms.clone()
    }

    /// Lets time pass without a wait of the client.
    pub fn pass(&self, ms: u64) {
        self.state().elapsed_ms += ms;
    }
}

impl Surroundings for &Virtual {
    fn now(&self) -> Timestamp {
        START.after(self.elapsed())
    }

    fn elapsed(&self) -> Millis {
        Millis::new(self.state().elapsed_ms)
    }

    fn sleep(&self, wait: Millis) {
        let mut state = self.state();
        state.sleeps_ms.push(wait.get());
        state.elapsed_ms += wait.get();
    }

    fn random(&self) -> [u8; 16] {
        let mut state = self.state();
        state.draws += 1;
        // Any bijection will do: the client has a generator of its own behind each seed.
        u128::from(state.draws)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            .to_le_bytes()
    }
}
