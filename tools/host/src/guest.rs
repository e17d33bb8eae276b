//! A compiled component and its instances.
//!
//! An instance serves many requests, as by Spin's defaults: 128 in all, 16 at a time, and it goes after one second
//! without any. wasmtime's proxy handler does the dispatch, the one that Spin uses: it gives an instance that shows
//! backpressure no request.

use std::collections::BTreeMap;
use std::future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use tokio::time::{Sleep, sleep_until};
use wasmtime::component::{Accessor, GuestTaskId, HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, Store, StoreContextMut};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::handler::{
    HandlerState, Instance, ProxyPre, ShouldAccept, WorkerExpiration, WorkerState, WorkerStatus,
};
use wasmtime_wasi_http::p3::bindings::ServicePre;
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::app;
use crate::bindings::spin::variables::variables as spin_variables;
use crate::kv::{Handles, HasKv, KvContext, KvView};
use crate::logs::GuestLog;
use crate::outbound::Outbound;
use crate::variables::check_name;

/// How many requests an instance serves before it is replaced.
const MAX_REQUESTS: usize = 128;

/// How many requests an instance serves at a time.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// How long an instance without requests is kept.
const MAX_IDLE: Duration = Duration::from_secs(1);

/// A component, compiled and linked, from which instances are made.
pub struct Guest {
    id: String,
    engine: Engine,
    pre: ProxyPre<GuestState>,
    settings: app::Component,
    kv: KvContext,
    outbound: Outbound,
}

impl Guest {
    /// Compiles a component. Fails if it does not export the HTTP handler of WASI 0.3, or imports something that the host does not
    /// have.
    pub fn compile(
        engine: &Engine,
        id: &str,
        settings: app::Component,
        kv: KvContext,
        outbound: Outbound,
    ) -> Result<Self> {
        let component = wasmtime::component::Component::from_file(engine, &settings.source)
            .map_err(|error| anyhow!("{error:?}"))
            .with_context(|| format!("cannot compile {}", settings.source.display()))?;
        let linked = linker(engine).and_then(|linker| linker.instantiate_pre(&component));
        let linked = linked
            .map_err(|error| anyhow!("{error:?}"))
            .context("cannot link it")?;
        let service = ServicePre::new(linked)
            .map_err(|error| anyhow!("{error:?}"))
            .context("it handles no HTTP requests of WASI 0.3")?;
        Ok(Self {
            id: id.to_owned(),
            engine: engine.clone(),
            pre: ProxyPre::P3(service),
            settings,
            kv,
            outbound,
        })
    }

    fn state(&self) -> wasmtime::Result<GuestState> {
        let mut wasi = WasiCtx::builder();
        wasi.envs(&self.settings.environment)
            .stdout(GuestLog::new(&self.id))
            .stderr(GuestLog::new(&self.id));
        if let Some(root) = &self.settings.root {
            wasi.preopened_dir(root, "/", FsPerms::ReadOnly)?;
        }
        Ok(GuestState {
            wasi: wasi.build(),
            http: WasiHttpCtx::new(),
            outbound: self.outbound.clone(),
            kv: self.kv.clone(),
            handles: Handles::default(),
            variables: self.settings.variables.clone(),
            table: ResourceTable::new(),
        })
    }
}

/// Everything that a component may import.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<GuestState>> {
    use crate::bindings::spin::key_value::key_value;
    use crate::bindings::wasi::keyvalue::{atomics, batch, store};

    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi::p3::add_to_linker(&mut linker)?;
    wasmtime_wasi_http::p3::add_to_linker(&mut linker)?;
    store::add_to_linker::<_, HasKv>(&mut linker, GuestState::kv)?;
    atomics::add_to_linker::<_, HasKv>(&mut linker, GuestState::kv)?;
    batch::add_to_linker::<_, HasKv>(&mut linker, GuestState::kv)?;
    key_value::add_to_linker::<_, HasKv>(&mut linker, GuestState::kv)?;
    spin_variables::add_to_linker::<_, HasVariables>(&mut linker, |state| state)?;
    Ok(linker)
}

/// What one instance holds outside of its own memory.
pub struct GuestState {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    outbound: Outbound,
    kv: KvContext,
    handles: Handles,
    variables: Arc<BTreeMap<String, String>>,
    table: ResourceTable,
}

impl GuestState {
    fn kv(&mut self) -> KvView<'_> {
        KvView {
            context: &self.kv,
            table: &mut self.table,
            handles: &mut self.handles,
        }
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for GuestState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            ctx: &mut self.http,
            table: &mut self.table,
            hooks: &mut self.outbound,
        }
    }
}

type HasVariables = HasSelf<GuestState>;

impl spin_variables::Host for GuestState {}

impl<T: Send> spin_variables::HostWithStore<T> for HasVariables {
    async fn get(
        accessor: &Accessor<T, Self>,
        name: String,
    ) -> Result<String, spin_variables::Error> {
        check_name(&name)
            .map_err(|problem| spin_variables::Error::InvalidName(problem.to_string()))?;
        accessor.with(|mut access| {
            access.get().variables.get(&name).cloned().ok_or_else(|| {
                spin_variables::Error::Undefined(format!(
                    "the component declares no variable {name:?}"
                ))
            })
        })
    }
}

impl HandlerState for Guest {
    type StoreData = GuestState;
    type WorkerExpiration = Expiration;
    type WorkerState = Worker;

    async fn instantiate(&self) -> wasmtime::Result<Instance<GuestState, Expiration, Worker>> {
        let mut store = Store::new(&self.engine, self.state()?);
        let proxy = self.pre.instantiate_async(&mut store).await?;
        Ok(Instance {
            store,
            proxy,
            view: GuestState::http,
            expiration: Expiration {
                sleep: Box::pin(sleep_until(Instant::now().into())),
            },
            state: Worker {
                id: self.id.clone(),
            },
        })
    }
}

/// When an instance has been idle for too long. While it has requests there is no limit.
pub struct Expiration {
    sleep: Pin<Box<Sleep>>,
}

impl WorkerExpiration for Expiration {
    fn poll(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        status: WorkerStatus,
        start: Instant,
    ) -> Poll<()> {
        match status {
            WorkerStatus::Idle => {
                let deadline = (start + MAX_IDLE).into();
                if self.sleep.deadline() != deadline {
                    self.sleep.as_mut().reset(deadline);
                }
                self.sleep.as_mut().poll(context)
            }
            WorkerStatus::Requests | WorkerStatus::PostReturn => Poll::Pending,
        }
    }
}

/// How many requests an instance takes.
pub struct Worker {
    id: String,
}

impl WorkerState for Worker {
    type StoreData = GuestState;
    type RequestData = ();

    fn should_accept_request(&self, concurrent: usize, total: usize) -> ShouldAccept {
        if total >= MAX_REQUESTS {
            ShouldAccept::Never
        } else if concurrent >= MAX_CONCURRENT_REQUESTS {
            ShouldAccept::No
        } else {
            ShouldAccept::Yes
        }
    }

    fn on_request_start(
        &self,
        _: StoreContextMut<'_, GuestState>,
        (): (),
        _: GuestTaskId,
    ) -> Pin<Box<dyn Future<Output = ()> + 'static + Send + Sync>> {
        // Spin has no time limit for a request unless it is given one.
        Box::pin(future::pending())
    }

    fn drop(&self, store: Store<GuestState>, result: wasmtime::Result<()>) {
        if let Err(error) = result {
            eprintln!("component {} failed: {error:?}", self.id);
        }
        drop(store);
    }
}
