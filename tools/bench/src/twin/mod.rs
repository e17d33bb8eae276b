//! The native twin: what one would write for the three systems without WebAssembly and without a key-value store.
//!
//! axum, and SQLite with one table whose key is unique: `INSERT … ON CONFLICT DO NOTHING` is the claim. Every change is
//! on the disk before it is answered (`synchronous = FULL`). It checks what Reprise checks of these requests and answers
//! the same; it has no retries, tenants, leases, events or retention.

mod api;
mod charge;
pub(crate) mod table;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use rusqlite::Connection;
use tokio::net::TcpListener;

use charge::Provider;
use table::Table;

/// What a twin is started with.
#[derive(Debug)]
pub(crate) struct Twin {
    pub(crate) listen: String,
    pub(crate) file: PathBuf,
    /// The payment API: host and port.
    pub(crate) payments: String,
}

impl Twin {
    /// Serves until the process is killed.
    pub(crate) fn serve(self) -> Result<()> {
        let connection = Connection::open(&self.file)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let service = api::Service {
            table: Arc::new(Table(Mutex::new(connection))),
            provider: Provider::new(self.payments),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind(&self.listen).await?;
            axum::serve(listener, api::router(service)).await?;
            Ok(())
        })
    }
}
