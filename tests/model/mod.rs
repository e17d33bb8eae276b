//! Models of the key-value stores behind Spin: what each really does, as far as it was seen or read.
//!
//! The numbers S1 to S7 are those of the table in ARCHITECTURE.md. A model executes one call at a time; which call is
//! next is the test's choice, which is how a test decides on an interleaving.

use reprise::driver::kv::{Kv, KvError, SwapError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Whose rules the model follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rules {
    /// S1: a swap after "absent" was read always writes. S3: so does one without a read. S4: an increment of anything
    /// but eight bytes breaks the store.
    Sqlite,
    /// S2: a swap answers cas-failed in any case. S6: a counter is decimal text.
    Redis,
    /// S7: a counter is decimal text, and every failure of a swap is reported as cas-failed.
    Dynamo,
    /// What the interface promises.
    Plain,
    /// A store that compares nothing: it cannot be made exclusive.
    Careless,
}

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nothing.
    None,
    /// The call fails and had no effect.
    Before,
    /// The call fails and had its effect.
    After,
}

/// One call of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call {
    Get(String),
    Set(String, Vec<u8>),
    Delete(String),
    Increment(String, i64),
    Current(usize),
    Swap(usize, Vec<u8>),
}

impl Call {
    /// Whether the call can change what is stored.
    pub fn writes(&self) -> bool {
        match self {
            Self::Set(..) | Self::Delete(_) | Self::Increment(..) | Self::Swap(..) => true,
            Self::Get(_) | Self::Current(_) => false,
        }
    }
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    Value(Option<Vec<u8>>),
    Number(i64),
    Done,
    CasFailed(usize),
    Error,
}

/// What was read through a handle.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Seen {
    Nothing,
    Value(Option<Vec<u8>>),
}

/// A compare-and-swap handle, and whether its key was written since it was read.
#[derive(Debug, Clone, Hash)]
struct Handle {
    key: String,
    seen: Seen,
    touched: bool,
}

/// A store with its rules, its data and each client's open handles.
#[derive(Debug, Clone, Hash)]
pub struct Model {
    rules: Rules,
    pub data: BTreeMap<String, Vec<u8>>,
    handles: Vec<Vec<Option<Handle>>>,
    /// S4 was met: from here on the real store answers nothing any more.
    pub broken: bool,
}

impl Model {
    pub fn new(rules: Rules, clients: usize) -> Self {
        Self {
            rules,
            data: BTreeMap::new(),
            handles: vec![Vec::new(); clients],
            broken: false,
        }
    }

    pub fn rules(&self) -> Rules {
        self.rules
    }

    fn open_handle(&mut self, client: usize, key: &str) -> usize {
        self.handles[client].push(Some(Handle {
            key: key.to_owned(),
            seen: Seen::Nothing,
            touched: false,
        }));
        self.handles[client].len() - 1
    }

    /// Forgets what a client has open, as its death does.
    pub fn drop_client(&mut self, client: usize) {
        self.handles[client].clear();
    }

    /// Executes one call.
    pub fn execute(&mut self, client: usize, call: &Call, fault: Fault) -> Answer {
        let failure = (fault != Fault::None).then(|| self.failure(client, call));
        if let (Fault::Before, Some(failure)) = (fault, &failure) {
            return failure.clone();
        }
        let answer = match call {
            Call::Get(key) => Answer::Value(self.data.get(key).cloned()),
            Call::Set(key, value) => {
                self.write(key, Some(value.clone()));
                Answer::Done
            }
            Call::Delete(key) => {
                self.write(key, None);
                Answer::Done
            }
            Call::Increment(key, delta) => self.increment(key, *delta),
            Call::Current(at) => self.current(client, *at),
            Call::Swap(at, value) => self.swap(client, *at, value),
        };
        failure.unwrap_or(answer)
    }

    /// What a client is told of a call that fails.
    fn failure(&mut self, client: usize, call: &Call) -> Answer {
        match (self.rules, call) {
            (Rules::Dynamo, Call::Swap(at, _)) => {
                let key = self.handle_key(client, *at);
                Answer::CasFailed(self.open_handle(client, &key))
            }
            _ => Answer::Error,
        }
    }

    /// The key of an open handle.
    pub fn handle_key(&self, client: usize, at: usize) -> String {
        self.handles[client][at]
            .as_ref()
            .expect("a handle is used until it is swapped")
            .key
            .clone()
    }

    fn write(&mut self, key: &str, value: Option<Vec<u8>>) {
        match value {
            Some(value) => drop(self.data.insert(key.to_owned(), value)),
            None => drop(self.data.remove(key)),
        }
        for handle in self.handles.iter_mut().flatten().flatten() {
            handle.touched |= handle.key == key;
        }
    }

    fn increment(&mut self, key: &str, delta: i64) -> Answer {
        let text = matches!(self.rules, Rules::Redis | Rules::Dynamo | Rules::Careless);
        let before = match self.data.get(key) {
            None => 0,
            Some(value) if text => {
                match std::str::from_utf8(value).ok().and_then(|v| v.parse().ok()) {
                    Some(number) => number,
                    None => return Answer::Error,
                }
            }
            Some(value) => match <[u8; 8]>::try_from(value.as_slice()) {
                Ok(bytes) => i64::from_le_bytes(bytes),
                Err(_) => {
                    self.broken = true;
                    return Answer::Error;
                }
            },
        };
        let after: i64 = before + delta;
        let value = if text {
            after.to_string().into_bytes()
        } else {
            after.to_le_bytes().to_vec()
        };
        self.write(key, Some(value));
        Answer::Number(after)
    }

    fn current(&mut self, client: usize, at: usize) -> Answer {
        let key = self.handle_key(client, at);
        let value = self.data.get(&key).cloned();
        let handle = self.handles[client][at]
            .as_mut()
            .expect("checked by handle_key");
        if handle.seen == Seen::Nothing {
            // Redis begins to watch here; a second read does not make it forget what it has noticed.
            handle.touched = false;
        }
        handle.seen = Seen::Value(value.clone());
        Answer::Value(value)
    }

    fn swap(&mut self, client: usize, at: usize, value: &[u8]) -> Answer {
        let handle = self.handles[client][at]
            .take()
            .expect("a handle is swapped once");
        let now = self.data.get(&handle.key).cloned();
        let holds = match (self.rules, &handle.seen) {
            (Rules::Plain, Seen::Nothing) => false,
            (Rules::Careless, _) | (_, Seen::Nothing) | (Rules::Sqlite, Seen::Value(None)) => true,
            (Rules::Redis, Seen::Value(_)) => !handle.touched,
            (Rules::Sqlite | Rules::Dynamo | Rules::Plain, Seen::Value(seen)) => *seen == now,
        };
        if holds {
            self.write(&handle.key, Some(value.to_vec()));
        }
        if holds && self.rules != Rules::Redis {
            return Answer::Done;
        }
        let fresh = self.open_handle(client, &handle.key);
        let handle = self.handles[client][fresh].as_mut().expect("just opened");
        handle.seen = Seen::Value(self.data.get(&handle.key).cloned());
        Answer::CasFailed(fresh)
    }
}

/// The clients of one model: the call that each waits for, and what it was told so far.
#[derive(Debug)]
pub struct World {
    pub model: Model,
    pub waiting: Vec<Option<Call>>,
    answers: Vec<Option<Answer>>,
    /// A hash of all answers of a client. Clients are deterministic, so it stands for all that a client knows.
    pub histories: Vec<u64>,
    /// Answer at once, in the order of the calls.
    direct: bool,
}

impl World {
    /// A world in which calls are answered at once.
    pub fn direct(model: Model) -> Rc<RefCell<Self>> {
        Self::with(model, true)
    }

    /// A world in which each call waits for [`World::step`].
    pub fn stepped(model: Model) -> Rc<RefCell<Self>> {
        Self::with(model, false)
    }

    fn with(model: Model, direct: bool) -> Rc<RefCell<Self>> {
        let clients = model.handles.len();
        Rc::new(RefCell::new(Self {
            model,
            waiting: vec![None; clients],
            answers: vec![None; clients],
            histories: vec![0; clients],
            direct,
        }))
    }

    /// Executes the call that a client waits for.
    pub fn step(&mut self, client: usize, fault: Fault) {
        let call = self.waiting[client]
            .take()
            .expect("the client waits for a call");
        let answer = self.model.execute(client, &call, fault);
        let mut hash = std::hash::DefaultHasher::new();
        (self.histories[client], &answer).hash(&mut hash);
        self.histories[client] = hash.finish();
        self.answers[client] = Some(answer);
    }
}

/// A client's view of the world: the store as the code under test sees it.
#[derive(Debug, Clone)]
pub struct Client {
    pub world: Rc<RefCell<World>>,
    pub id: usize,
}

impl Client {
    async fn call(&self, call: Call) -> Answer {
        if self.world.borrow().direct {
            return self
                .world
                .borrow_mut()
                .model
                .execute(self.id, &call, Fault::None);
        }
        std::future::poll_fn(|_| {
            let mut world = self.world.borrow_mut();
            match world.answers[self.id].take() {
                Some(answer) => Poll::Ready(answer),
                None => {
                    world.waiting[self.id] = Some(call.clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

fn error() -> KvError {
    KvError("the model was told to fail".to_owned())
}

impl Kv for Client {
    type Cas = usize;

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        match self.call(Call::Get(key.to_owned())).await {
            Answer::Value(value) => Ok(value),
            _ => Err(error()),
        }
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        match self.call(Call::Set(key.to_owned(), value.to_vec())).await {
            Answer::Done => Ok(()),
            _ => Err(error()),
        }
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        match self.call(Call::Delete(key.to_owned())).await {
            Answer::Done => Ok(()),
            _ => Err(error()),
        }
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        match self.call(Call::Increment(key.to_owned(), delta)).await {
            Answer::Number(number) => Ok(number),
            _ => Err(error()),
        }
    }

    async fn cas(&self, key: &str) -> Result<usize, KvError> {
        // Opening a handle touches no data, so it is no step of its own.
        Ok(self.world.borrow_mut().model.open_handle(self.id, key))
    }

    async fn current(&self, cas: &usize) -> Result<Option<Vec<u8>>, KvError> {
        match self.call(Call::Current(*cas)).await {
            Answer::Value(value) => Ok(value),
            _ => Err(error()),
        }
    }

    async fn swap(&self, cas: usize, value: &[u8]) -> Result<(), SwapError<usize>> {
        match self.call(Call::Swap(cas, value.to_vec())).await {
            Answer::Done => Ok(()),
            Answer::CasFailed(fresh) => Err(SwapError::CasFailed(fresh)),
            _ => Err(SwapError::Store(error())),
        }
    }
}

/// Polls a future once. Nothing here ever wakes: the test decides when to poll again.
pub fn poll<T>(task: &mut Pin<Box<dyn Future<Output = T>>>) -> Option<T> {
    match task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Runs a future of a direct world to its end.
pub fn run<T>(task: impl Future<Output = T>) -> T {
    let mut task = std::pin::pin!(task);
    match task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a direct world answers at once"),
    }
}
