//! `cargo xtask up`: from nothing to a served address.

mod options;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::token::{self, Token};
use crate::toolchain::WasmToolchain;
use crate::workspace::Workspace;
use crate::{build, process, spin, store_file, tick};
pub(crate) use options::Options;

/// Builds the components and what serves them, then becomes that server.
pub(crate) fn up(workspace: &Workspace, options: &Options) -> Result<()> {
    let ticks = Ticks::settle(options, env::var_os(token::ENVIRONMENT).as_deref())?;
    check_free(options.listen)?;
    build::components(workspace, &WasmToolchain::prepare(workspace)?)?;
    let arguments = server_arguments(&workspace.manifest(), options)?;
    let mut server;
    if serves_with_spin(workspace, options) {
        server = workspace.command("spin");
        server.arg("up").args(arguments);
        let state_dir = options.state_dir.as_deref();
        if let Some(claim) = store_file::prepare(workspace, state_dir, &options.passed_on) {
            // It reads no input, but keeps this open until it ends, however it ends.
            server.stdin(claim);
        }
        if let Some(ticks) = &ticks {
            ticks.start_beside(options.listen)?;
        }
    } else {
        server = workspace.command(build::host(workspace)?);
        server.args(arguments);
        server.args(ticks.iter().flat_map(Ticks::arguments));
    }
    if let Some(ticks) = &ticks {
        ticks.hand_over(&mut server);
    }
    become_the(server)
}

/// Makes sure that the address can be listened on: a build takes minutes, and the server would tell only after it.
fn check_free(listen: SocketAddr) -> Result<()> {
    match TcpListener::bind(listen) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AddrInUse => bail!(
            "{listen} is taken, perhaps by another `cargo xtask up`; --listen takes another address"
        ),
        Err(error) => Err(error).with_context(|| format!("cannot listen on {listen}")),
    }
}

/// What a run needs for its ticks.
struct Ticks {
    every: Duration,
    token: Token,
}

impl Ticks {
    /// Finds or draws the token, unless there are to be no ticks.
    fn settle(options: &Options, environment: Option<&OsStr>) -> Result<Option<Self>> {
        let Some(every) = options.tick else {
            return Ok(None);
        };
        let token = Token::choose(&options.passed_on, environment)?;
        Ok(Some(Self { every, token }))
    }

    /// What makes our host tick. Spin has no such option.
    fn arguments(&self) -> [OsString; 2] {
        [
            "--tick".into(),
            format!("{}ms", self.every.as_millis()).into(),
        ]
    }

    /// Starts ticks for a server that has none. They end when this process does, also once it has become that server.
    fn start_beside(&self, listen: SocketAddr) -> Result<()> {
        if listen.port() == 0 {
            eprintln!("Nothing ticks: only the server will know its port.");
            return Ok(());
        }
        // Nobody waits for it: it ends by itself.
        let listen = listen.to_string();
        tick::beside(std::process::id(), &listen, self.every, self.token.reveal()).map(drop)
    }

    /// Gives the server a token that it cannot know, and tells the user. It goes by the environment, because everybody
    /// on the machine can read a process's arguments.
    fn hand_over(&self, server: &mut Command) {
        match &self.token {
            Token::Given(_) => {}
            Token::Drawn(token) => {
                eprintln!("The operators' token of this run: {token}");
                server.env(token::ENVIRONMENT, token);
            }
        }
    }
}

fn serves_with_spin(workspace: &Workspace, options: &Options) -> bool {
    if options.own_host {
        return false;
    }
    match spin::on_path(workspace) {
        Some(version) if version >= spin::NEEDED => true,
        Some(version) => {
            eprintln!(
                "The Spin on the PATH is {version}; at least {} is needed.",
                spin::NEEDED
            );
            false
        }
        None => false,
    }
}

/// The arguments that Spin and our host understand alike.
fn server_arguments(manifest: &Path, options: &Options) -> Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = vec!["--from".into(), manifest.into(), "--listen".into()];
    arguments.push(options.listen.to_string().into());
    if let Some(dir) = &options.state_dir {
        // The server starts in the workspace, but the name was typed elsewhere.
        let dir = std::path::absolute(dir).context("--state-dir")?;
        arguments.extend(["--state-dir".into(), dir.into()]);
    }
    arguments.extend(options.passed_on.iter().cloned());
    Ok(arguments)
}

/// Replaces this process by the server, so that a signal meant for it reaches it and nothing is left behind.
#[cfg(unix)]
fn become_the(mut server: Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;

    eprintln!("$ {}", process::shown(&server));
    let error = server.exec();
    Err(error).with_context(|| format!("cannot start `{}`", process::shown(&server)))
}

/// Runs the server until it ends; the console's Ctrl-C reaches both.
#[cfg(not(unix))]
fn become_the(server: Command) -> Result<()> {
    process::run(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_servers_get_the_same_arguments() {
        let words =
            |options: &Options| server_arguments(Path::new("/w/spin.toml"), options).unwrap();
        let default = Options::default();
        assert_eq!(
            words(&default),
            ["--from", "/w/spin.toml", "--listen", "127.0.0.1:3000"]
        );
        let full = Options {
            own_host: true,
            listen: "127.0.0.1:1".parse().unwrap(),
            state_dir: Some("/s".into()),
            passed_on: vec!["--stats".into()],
            ..default
        };
        assert_eq!(
            words(&full),
            [
                "--from",
                "/w/spin.toml",
                "--listen",
                "127.0.0.1:1",
                "--state-dir",
                "/s",
                "--stats"
            ]
        );
    }

    #[test]
    fn an_address_that_is_taken_is_told_before_the_build() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let error = check_free(address).expect_err("it is taken").to_string();
        assert!(error.starts_with(&format!("{address} is taken")), "{error}");
        check_free("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = check_free("192.0.2.1:80".parse().unwrap()).expect_err("it is nobody's");
        assert!(error.to_string().contains("192.0.2.1:80"), "{error}");
    }

    #[test]
    fn our_host_ticks_and_is_given_a_token_where_the_user_gave_none() {
        let (name, drawn) = (OsStr::new(token::ENVIRONMENT), 32);
        for (passed_on, environment, handed_over) in [
            (vec![], None, Some(drawn)),
            (vec![], Some(""), Some(drawn)),
            (vec![], Some("own"), None),
            (vec!["--variable", "admin_token=own"], None, None),
        ] {
            let options = Options {
                passed_on: passed_on.iter().map(OsString::from).collect(),
                ..Options::default()
            };
            let ticks = Ticks::settle(&options, environment.map(OsStr::new)).unwrap();
            let ticks = ticks.expect("they are on");
            assert_eq!(ticks.arguments(), ["--tick", "1000ms"]);
            let mut server = Command::new("server");
            ticks.hand_over(&mut server);
            let mut set = server.get_envs().filter(|(key, _)| *key == name);
            let token = set.next().and_then(|(_, value)| value).map(OsStr::len);
            assert_eq!(token, handed_over, "{passed_on:?} {environment:?}");
            assert_eq!(ticks.token.reveal().len(), handed_over.unwrap_or(3));
        }
        let off = Options {
            tick: None,
            ..Options::default()
        };
        assert!(Ticks::settle(&off, None).unwrap().is_none());
    }

    #[test]
    fn a_relative_state_directory_is_the_caller_s() {
        let options = Options {
            state_dir: Some("state".into()),
            ..Options::default()
        };
        let here = env::current_dir().unwrap().join("state");
        let words = server_arguments(Path::new("/w/spin.toml"), &options).unwrap();
        assert_eq!(words.last(), Some(&here.into_os_string()));
    }
}
