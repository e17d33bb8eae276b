//! A front: one address for hosts that come and go, on a network that loses answers.
//!
//! It passes bytes on and knows nothing of HTTP. A piece of an answer that it loses takes the connection with it, so a
//! client sees an answer whole, cut off, or not at all.

use crate::client::Client;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// More than the head of any answer, so that an answer commonly is one piece.
const PIECE_BYTES: usize = 64 * 1_024;

/// Which piece of which connection is lost, both counted from 0.
type Losses = dyn Fn(usize, usize) -> bool + Send + Sync;

/// A running front, as often as it is cloned. It ends with the test's process.
#[derive(Debug, Clone)]
pub struct Front {
    address: String,
    hosts: Arc<Mutex<Vec<String>>>,
}

impl Front {
    /// Starts a front before no host at all. `is_lost` says which pieces of answers do not arrive.
    ///
    /// # Panics
    /// When loopback has no free port.
    #[must_use]
    pub fn start(is_lost: impl Fn(usize, usize) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address")
            .to_string();
        let hosts = Arc::new(Mutex::new(Vec::new()));
        let (all, is_lost): (_, Arc<Losses>) = (Arc::clone(&hosts), Arc::new(is_lost));
        thread::spawn(move || {
            let streams = listener.incoming().map_while(Result::ok);
            for (number, stream) in streams.enumerate() {
                if let Some(host) = next_host(&all, number) {
                    let is_lost = Arc::clone(&is_lost);
                    thread::spawn(move || pass_on(&stream, &host, number, &*is_lost));
                }
            }
        });
        Self { address, hosts }
    }

    /// Puts the front before these hosts, each `HOST:PORT`. Connections that are there stay where they lead.
    pub fn lead_to(&self, hosts: Vec<String>) {
        *self.hosts.lock().unwrap_or_else(PoisonError::into_inner) = hosts;
    }

    /// Where it is, as `HOST:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its URL, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client of whichever host is there, with connections of its own.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(&self.address)
    }
}

/// Whose turn it is; nobody's while no host is there.
fn next_host(hosts: &Mutex<Vec<String>>, number: usize) -> Option<String> {
    let hosts = hosts.lock().unwrap_or_else(PoisonError::into_inner);
    let index = number.checked_rem(hosts.len())?;
    Some(hosts[index].clone())
}

/// Passes a connection on, both ways, until either side ends it.
fn pass_on(client: &TcpStream, host: &str, number: usize, is_lost: &Losses) {
    let Ok(server) = TcpStream::connect(host) else {
        return;
    };
    // Small pieces go at once: what is measured through a front should be the host.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (Ok(asking), Ok(asked)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    thread::spawn(move || pump(&asking, &asked, |_| false));
    pump(&server, client, |piece| is_lost(number, piece));
}

/// Passes one direction on, and ends both when it ends.
fn pump(from: &TcpStream, to: &TcpStream, is_lost: impl Fn(usize) -> bool) {
    let mut bytes = vec![0; PIECE_BYTES];
    for piece in 0.. {
        let length = match (&*from).read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(length) => length,
        };
        if is_lost(piece) || (&*to).write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    // Either may be closed already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
