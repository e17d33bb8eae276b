//! The proxies of `deploy/proxy`, in front of a host: who a client is, is settled there, and what operators use is closed.

use super::{Command, Path, Stdio, TempDir, deployed, fs, program, said_by};
use reprise_e2e::{Answer, Client, Host, Options, State, free_port, wait_until};
use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
const TOKEN: &str = "operators-of-a-test";
/// Two clients and their `Authorization`; the password of both is `secret`.
const CLIENTS: [(&str, &str); 2] = [
    ("alice", "Basic YWxpY2U6c2VjcmV0"),
    ("bob", "Basic Ym9iOnNlY3JldA=="),
];
const ORDER: &str = r#"{"product_id":42,"quantity":1}"#;
const OTHER_ORDER: &str = r#"{"product_id":42,"quantity":2}"#;

/// A proxy in front of a host. It is ended when it is dropped.
struct Proxy {
    process: Child,
    address: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Proxy {
    fn start(mut command: Command, port: u16) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = command
            .stderr(Stdio::null())
            .spawn()
            .expect("the proxy starts");
        let address = format!("127.0.0.1:{port}");
        let proxy = Self { process, address };
        wait_until("the proxy", SOON, || {
            TcpStream::connect(&proxy.address).is_ok()
        });
        proxy
    }
}

/// Everything of the fragment as it is, but for addresses, files and the encryption that a client of the test lacks.
fn nginx(folder: &Path, host: &Host) -> Proxy {
    let port = free_port();
    let users = folder.join("clients");
    let line = |(name, _): (&str, &str)| format!("{name}:{{PLAIN}}secret\n");
    fs::write(&users, CLIENTS.map(line).concat()).expect("the folder can be written to");
    let fragment = deployed("proxy/nginx.conf");
    let is_kept = |line: &&str| !line.trim().starts_with("ssl_certificate");
    let fragment: Vec<&str> = fragment.lines().filter(is_kept).collect();
    let fragment = fragment
        .join("\n")
        .replace("127.0.0.1:3000", host.address())
        .replace("listen 443 ssl;", &format!("listen 127.0.0.1:{port};"))
        .replace("/etc/reprise/clients", &users.display().to_string());
    let here = folder.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary
        .map(|name| format!("{name}_temp_path {here}/{name};\n"))
        .concat();
    // A path of its own for everything that it would otherwise keep under /var, and no user to change to.
    let config = format!(
        "daemon off;\nmaster_process off;\npid {here}/pid;\nerror_log {here}/errors;\nevents {{}}\n\
         http {{\naccess_log off;\n{temporary}{fragment}\n}}\n"
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, config).expect("the folder can be written to");
    let command = || {
        let mut nginx = program("REPRISE_NGINX", "nginx");
        nginx.arg("-p").arg(folder).arg("-c").arg(&file);
        nginx.arg("-e").arg(folder.join("errors"));
        nginx
    };
    let said = said_by(command().arg("-t"));
    assert!(!said.contains("[warn]"), "{said}");
    Proxy::start(command(), port)
}

fn caddy(folder: &Path, host: &Host) -> Proxy {
    let port = free_port();
    let hash =
        said_by(program("REPRISE_CADDY", "caddy").args(["hash-password", "--plaintext", "secret"]));
    let users = folder.join("clients");
    let line = |(name, _): (&str, &str)| format!("{name} {}\n", hash.trim());
    fs::write(&users, CLIENTS.map(line).concat()).expect("the folder can be written to");
    let text = deployed("proxy/Caddyfile")
        .replace("127.0.0.1:3000", host.address())
        .replace("reprise.example {", &format!("http://127.0.0.1:{port} {{"))
        .replace("/etc/reprise/clients", &users.display().to_string());
    let file = folder.join("Caddyfile");
    let text = text.replacen("{\n", "{\n\tadmin off\n", 1);
    fs::write(&file, text).expect("the folder can be written to");
    let command = |task: &str| {
        let mut caddy = program("REPRISE_CADDY", "caddy");
        caddy
            .arg(task)
            .arg("--config")
            .arg(&file)
            .args(["--adapter", "caddyfile"]);
        caddy
            .env("HOME", folder)
            .env("XDG_DATA_HOME", folder)
            .env("XDG_CONFIG_HOME", folder);
        caddy
    };
    said_by(&mut command("validate"));
    Proxy::start(command("run"), port)
}

fn order(client: &Client, headers: &[(&str, &str)], body: &str) -> Answer {
    let json = [
        ("content-type", "application/json"),
        ("idempotency-key", "k"),
    ];
    let headers = [&json, headers].concat();
    client
        .send("POST", "/orders", &headers, body.as_bytes())
        .expect("an answer")
}

fn check(start: fn(&Path, &Host) -> Proxy) {
    let state = TempDir::new().expect("there is room for a folder");
    let options = Options::default()
        .variable("admin_token", TOKEN)
        .variable("tenant_header", "x-tenant");
    let host = Host::start(&State::at(state.path()), &options);
    let folder = TempDir::new().expect("there is room for a folder");
    let proxy = start(folder.path(), &host);
    let client = Client::new(&proxy.address);

    assert_eq!(
        order(&client, &[], ORDER).status,
        401,
        "nobody comes in without a password"
    );
    let [alice, bob] = CLIENTS.map(|(_, authorization)| ("authorization", authorization));
    let first = order(&client, &[alice], ORDER);
    assert_eq!(first.status, 201, "{first:?}");
    let repeat = order(&client, &[alice], ORDER);
    assert!(repeat.is_replayed());
    assert_eq!((repeat.status, &repeat.body), (first.status, &first.body));

    // Another one's key is another key, and nobody becomes somebody else by saying so.
    assert_eq!(order(&client, &[bob], OTHER_ORDER).status, 201);
    let pretended = order(&client, &[alice, ("x-tenant", "bob")], ORDER);
    assert_eq!(
        (pretended.is_replayed(), pretended.body),
        (true, first.body.clone())
    );
    let inside = order(&host.client(), &[("x-tenant", "alice")], ORDER);
    assert_eq!(
        inside.body, first.body,
        "the tenant is the name that the proxy has checked"
    );

    // Not even with the token, and in no spelling.
    let bearer = ("authorization", "Bearer operators-of-a-test");
    let paths = [
        "/-/metrics",
        "/-/healthz",
        "/-/console",
        "//-/metrics",
        "/%2d/metrics",
        "/orders/../-/metrics",
        "/./-/metrics",
        "/-%2fmetrics",
        "/inbox/../-/metrics",
    ];
    for path in paths {
        for headers in [&[bearer][..], &[alice]] {
            let answer = client.send("GET", path, headers, b"").expect("an answer");
            let is_closed = [400, 401, 404].contains(&answer.status);
            assert!(
                is_closed && !answer.body.contains("reprise_"),
                "{path}: {answer:?}"
            );
        }
    }
    let open = host
        .client()
        .send("GET", "/-/metrics", &[bearer], b"")
        .expect("an answer");
    assert_eq!(open.status, 200, "the proxy closes it, and not the service");

    // A sender has no password but a signature, and nobody else learns what events add up to.
    let event = client.post("/inbox/orders", None, "{}");
    assert_eq!(event.problem(), "event-not-trusted", "it reaches the inbox");
    let projection = client.get("/inbox/orders/projection");
    assert!([401, 403].contains(&projection.status), "{projection:?}");

    // As much as the largest operation takes comes through, and more is refused.
    for (length, status) in [(120_000, 201), (300_000, 413)] {
        let body = format!("{{\"text\":\"{}\"}}", "x".repeat(length));
        let headers = [alice, ("content-type", "application/json")];
        let answer = client.send("POST", "/tasks", &headers, body.as_bytes());
        assert_eq!(answer.expect("an answer").status, status, "{length}");
    }
}

#[test]
fn nginx_settles_who_a_client_is_and_closes_what_operators_use() {
    check(nginx);
}

#[test]
fn caddy_settles_who_a_client_is_and_closes_what_operators_use() {
    check(caddy);
}
