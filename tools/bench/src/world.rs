//! The services of one repetition, each over a fresh copy of its store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use reprise_e2e::Client;

use crate::programs::{Events, Programs};
use crate::restate::Restate;
use crate::server::Server;
use crate::store::{self, KEY_VALUE, Stores};
use crate::subject::Subject;

/// The twin's file in its state's folder.
const TWIN: &str = "twin.db";
/// Where Spin and our host say that they are there.
const HEALTH: &str = "/.well-known/spin/health";

/// Which store a service starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// One that was in use.
    Used,
    /// One that never was.
    New,
}

/// What services are made of.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) programs: Programs,
    pub(crate) stores: Stores,
    /// Where states, logs and stores are.
    pub(crate) folder: PathBuf,
    pub(crate) restate: Option<Restate>,
}

impl World {
    /// Starts Reprise or the bare component over a copy of `file`, in a folder of this name.
    pub(crate) fn component(
        &self,
        subject: Subject,
        name: &str,
        file: &Path,
        events: Events,
    ) -> Result<Server> {
        let state = self.folder.join(name);
        store::copy(file, &state, KEY_VALUE)?;
        let manifest = self.programs.application(subject, &state, events)?;
        Server::start(&self.folder, name, HEALTH, |address| {
            self.programs.server(&manifest, &state, address)
        })
    }

    /// Starts the native twin, which charges at `payments`.
    fn twin(&self, from: From, payments: &str) -> Result<Server> {
        let state = self.folder.join(Subject::Twin.letter());
        let file = match from {
            From::Used => &self.stores.twin_used,
            From::New => &self.stores.twin_new,
        };
        store::copy(file, &state, TWIN)?;
        let program = std::env::current_exe()?;
        Server::start(&self.folder, "c", "/health", |address| {
            let mut command = Command::new(program);
            command.args(["twin", address, payments]);
            command.arg(state.join(TWIN));
            command
        })
    }

    /// Starts these subjects. Restate is running already.
    pub(crate) fn start(
        &self,
        subjects: &[Subject],
        from: From,
        events: Events,
    ) -> Result<Running<'_>> {
        let file = match from {
            From::Used => &self.stores.used,
            From::New => &self.stores.new,
        };
        let component = |subject: Subject| self.component(subject, subject.letter(), file, events);
        let mut servers = BTreeMap::new();
        // The sandbox at which the twin charges is that of Reprise.
        if subjects.contains(&Subject::Reprise) || subjects.contains(&Subject::Twin) {
            let reprise = component(Subject::Reprise)?;
            if subjects.contains(&Subject::Twin) {
                servers.insert(Subject::Twin, self.twin(from, reprise.address())?);
            }
            servers.insert(Subject::Reprise, reprise);
        }
        if subjects.contains(&Subject::Bare) {
            servers.insert(Subject::Bare, component(Subject::Bare)?);
        }
        Ok(Running {
            world: self,
            servers,
        })
    }
}

/// Services that are running.
#[derive(Debug)]
pub(crate) struct Running<'a> {
    world: &'a World,
    servers: BTreeMap<Subject, Server>,
}

impl Running<'_> {
    /// Where a subject serves.
    pub(crate) fn address(&self, subject: Subject) -> Result<&str> {
        let restate = self.world.restate.as_ref();
        match subject {
            Subject::Restate => restate.map(Restate::address),
            Subject::Reprise | Subject::Bare | Subject::Twin => {
                self.servers.get(&subject).map(Server::address)
            }
        }
        .with_context(|| format!("{} is not running", subject.title()))
    }

    /// A client of a subject's host, if that counts calls.
    pub(crate) fn counting(&self, subject: Subject) -> Option<Client> {
        let counts = self.world.programs.counts_calls() && subject.is_component();
        counts
            .then(|| self.servers.get(&subject).map(Server::client))
            .flatten()
    }
}
