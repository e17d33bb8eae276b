//! An upstream that keeps each connection's bytes as they came, and reads them as strictly as the standard allows.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How long it waits for more of a request, or for the other side to hang up. Only what is not sound waits for so long.
const SILENCE: Duration = Duration::from_secs(2);

/// A running upstream of that kind, which answers every request with the same bytes. It ends with the test's process.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<Connection>>>,
}

/// What came on a connection, once that is over.
type Connection = Arc<OnceLock<Vec<u8>>>;

impl Wire {
    /// Starts an upstream that answers so, from the status line on. It closes the connection behind that.
    ///
    /// # Panics
    /// When loopback has no free port.
    #[must_use]
    pub fn start(answer: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let connections = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&connections);
        let answer: Arc<[u8]> = Arc::from(answer);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (connection, answer) = (Connection::default(), Arc::clone(&answer));
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.push(Arc::clone(&connection));
                thread::spawn(move || connection.set(serve(stream, &answer)));
            }
        });
        Self {
            address,
            connections,
        }
    }

    /// Its URL, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What came on each connection, in the order of their beginnings. Waits until they are over: whoever has the answer
    /// may be faster than the connection's end.
    #[must_use]
    pub fn connections(&self) -> Vec<Vec<u8>> {
        let all = self.connections.lock();
        let all = all.unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().map(|one| one.wait().clone()).collect()
    }
}

/// Answers one connection, and gives what came on it.
fn serve(mut stream: TcpStream, answer: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.set_read_timeout(Some(SILENCE));
    read_until(&mut stream, &mut bytes, |bytes| one_request(bytes).is_ok());
    let _ = stream.write_all(answer);
    let _ = stream.shutdown(Shutdown::Write);
    // Whatever was hidden behind the request comes now at the latest.
    read_until(&mut stream, &mut bytes, |_| false);
    bytes
}

/// Reads until that is enough, or nothing more comes.
fn read_until(stream: &mut TcpStream, bytes: &mut Vec<u8>, is_enough: impl Fn(&[u8]) -> bool) {
    let mut piece = [0; 16 * 1_024];
    while !is_enough(bytes) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(length) => bytes.extend(&piece[..length]),
        }
    }
}

/// Takes bytes apart that are exactly one request and leave no room for another reading. The error says what else.
///
/// # Errors
/// When a line does not end with CRLF, a name or value has characters that it may not have, a header that frames the
/// message comes twice or in another form than one Content-Length, or the body is not as long as that says.
pub fn one_request(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.ok_or("it has no end of its head")?;
    let head = str::from_utf8(&bytes[..end]).map_err(|error| error.to_string())?;
    let body = &bytes[end + 4..];
    let lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
    let first: Vec<&str> = lines[0].split(' ').collect();
    if first.len() != 3 || first[2] != "HTTP/1.1" || !first[1].starts_with('/') {
        return Err(format!("its first line is {:?}", lines[0]));
    }
    let mut lengths = Vec::new();
    let mut hosts = 0;
    for line in &lines[1..] {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| format!("{line:?} is no header"))?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(format!("{name:?} is no header's name"));
        }
        if value.chars().any(|char| char.is_control() && char != '\t') {
            return Err(format!("{line:?} has a control character"));
        }
        match name.to_ascii_lowercase().as_str() {
            "content-length" => lengths.push(value.trim().to_owned()),
            "host" => hosts += 1,
            "transfer-encoding" | "connection" | "upgrade" | "te" | "trailer" | "expect" => {
                return Err(format!("{line:?} is there"));
            }
            _ => {}
        }
    }
    if hosts != 1 {
        return Err(format!("it names {hosts} hosts"));
    }
    if lengths != [body.len().to_string()] {
        return Err(format!(
            "its body has {} bytes and is said to have {lengths:?}",
            body.len()
        ));
    }
    Ok((lines, body.to_vec()))
}
