//! Restate with its order handler: two processes, started once and left alone, since it is slow to start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use reprise_e2e::fill::Filling;
use reprise_e2e::{Client, free_port};

use crate::server::Server;

/// A running Restate.
#[derive(Debug)]
pub(crate) struct Restate {
    server: Server,
    _handler: Server,
}

impl Restate {
    /// Starts it with what is installed in `installed`, keeps its data in `folder`, and has it answer the orders with
    /// these keys.
    pub(crate) fn start(installed: &Path, folder: &Path, keys: &[String]) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let (handler, _) = Server::launch(folder, "restate-handler", |address| {
            let mut command = Command::new("node");
            let port = address.rsplit(':').next().unwrap_or_default();
            command.arg(installed.join("orders.mjs")).arg(port);
            command
        })?;
        let admin = format!("127.0.0.1:{}", free_port());
        let program = program(installed)?;
        let server = Server::start(folder, "restate-server", "/restate/health", |address| {
            let mut command = Command::new(&program);
            command
                .current_dir(folder)
                .args(["--no-logo", "--listen-mode", "tcp", "--base-dir"])
                .arg(folder.join("data"))
                .env("RESTATE_INGRESS__BIND_ADDRESS", address)
                .env("RESTATE_ADMIN__BIND_ADDRESS", &admin)
                .env("RESTATE_BIND_ADDRESS", format!("127.0.0.1:{}", free_port()))
                .env("DO_NOT_TRACK", "1");
            command
        })?;
        register(&Client::new(&admin), handler.address())?;
        let client = server.client();
        for key in keys {
            let body = Filling::Orders.body();
            let answer = client.post("/orders/create", Some(key), body);
            ensure!(answer.status == 200, "POST /orders/create: {answer:?}");
        }
        Ok(Self {
            server,
            _handler: handler,
        })
    }

    /// Where it takes requests.
    pub(crate) fn address(&self) -> &str {
        self.server.address()
    }
}

/// Tells the server where its handler is.
fn register(admin: &Client, handler: &str) -> Result<()> {
    let deployment = format!("{{\"uri\":\"http://{handler}\"}}");
    let answer = admin.post("/deployments", None, &deployment);
    ensure!(
        answer.status == 201,
        "Restate refuses its handler: {answer:?}"
    );
    Ok(())
}

/// The server's program, from the package of this platform.
fn program(installed: &Path) -> Result<PathBuf> {
    let packages = installed.join("node_modules/@restatedev");
    for entry in fs::read_dir(&packages).with_context(|| packages.display().to_string())? {
        let program = entry?.path().join("bin/restate-server");
        if program.is_file() {
            return Ok(program);
        }
    }
    anyhow::bail!("{} has no restate-server", packages.display())
}
