//! The explorer: executes every interleaving of the key-value calls of a few clients, with crashes and faults.
//!
//! Each client runs the real store code as a future that stops at every key-value call. A schedule is the order in
//! which the calls are executed. The explorer goes depth first; where a state was reached before on another way, it
//! turns back. A state is all that the future depends on: the data, the open handles, what each client was told, and
//! how many crashes and faults are left.
//!
//! A crash is tried before each *write* of each client: between two writes a client only reads, and where it dies
//! there makes no difference to anybody.

use crate::model::{Call, Client, Fault, Model, Rules, World, poll};
use reprise::driver::inbox::{InboxError, Received};
use reprise::driver::store::StoreError;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::rc::Rc;
use uuid::Uuid;

/// What a client was told in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It created this record.
    Created(Uuid),
    /// This record was there.
    Exists(Uuid),
    /// This many of its updates were made.
    Updated(u32),
    /// The record that it wanted to update is gone.
    Gone,
    /// It took this bucket of the walk.
    Took(u32),
    /// Its purge is over.
    Purged,
    /// An inbox answered this to its event.
    Received(Result<Received, InboxError>),
    /// Its timer is in the wheel.
    TimerSet,
    /// It told the records of these timers and took them.
    Rang(Vec<Uuid>),
    /// It was told that the store cannot answer.
    Failed(StoreError),
}

pub type Task = Pin<Box<dyn Future<Output = Told>>>;

/// A history to explore.
pub struct Scenario<'a> {
    pub name: &'a str,
    /// The store before the clients begin.
    pub start: Model,
    /// Makes the clients, in the order of their ids.
    pub clients: &'a [&'a dyn Fn(Client) -> Task],
    pub crashes: u8,
    pub faults: u8,
    /// Checks a finished schedule, and says what is wrong with it.
    pub check: &'a dyn Fn(&End) -> Result<(), String>,
}

/// A finished schedule.
pub struct End {
    pub model: Model,
    /// What each client was told; `None` for one that crashed.
    pub told: Vec<Option<Told>>,
    /// How many clients crashed.
    pub crashes: u8,
    /// How many calls were made to fail.
    pub faults: u8,
}

/// What an exploration saw.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    pub schedules: u64,
    pub states: u64,
    pub violation: Option<String>,
}

/// One step of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Run(usize, Fault),
    Crash(usize),
}

/// Explores a scenario completely, or until the first violation.
pub fn explore(scenario: &Scenario<'_>) -> Report {
    let mut report = Report::default();
    let mut seen = BTreeSet::new();
    let mut open: Vec<Vec<Step>> = vec![Vec::new()];
    while let Some(prefix) = open.pop() {
        let mut run = Run::new(scenario);
        for step in &prefix {
            run.take(*step);
        }
        let mut taken = prefix;
        while seen.insert(run.state()) {
            let mut steps = run.steps(scenario).into_iter();
            let Some(first) = steps.next() else {
                report.schedules += 1;
                if let Err(what) = (scenario.check)(&run.end()) {
                    report.states = seen.len() as u64;
                    report.violation = Some(format!("{what}\nafter {taken:?}"));
                    return report;
                }
                break;
            };
            open.extend(steps.map(|step| [taken.as_slice(), &[step]].concat()));
            taken.push(first);
            run.take(first);
        }
    }
    report.states = seen.len() as u64;
    report
}

/// A schedule under way.
struct Run {
    world: Rc<RefCell<World>>,
    tasks: Vec<Option<Task>>,
    told: Vec<Option<Told>>,
    crashes: u8,
    faults: u8,
}

impl Run {
    fn new(scenario: &Scenario<'_>) -> Self {
        let world = World::stepped(scenario.start.clone());
        let tasks = scenario.clients.iter().enumerate();
        let tasks = tasks.map(|(id, make)| {
            Some(make(Client {
                world: Rc::clone(&world),
                id,
            }))
        });
        let mut run = Self {
            told: vec![None; scenario.clients.len()],
            tasks: tasks.collect(),
            world,
            crashes: 0,
            faults: 0,
        };
        for id in 0..run.tasks.len() {
            run.poll(id);
        }
        run
    }

    /// Lets a client run to its next call, or to its end.
    fn poll(&mut self, id: usize) {
        let task = self.tasks[id]
            .as_mut()
            .expect("only living clients are polled");
        if let Some(told) = poll(task) {
            self.told[id] = Some(told);
            self.tasks[id] = None;
            self.world.borrow_mut().model.drop_client(id);
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Run(id, fault) => {
                self.faults += u8::from(fault != Fault::None);
                self.world.borrow_mut().step(id, fault);
                self.poll(id);
            }
            Step::Crash(id) => {
                self.crashes += 1;
                self.tasks[id] = None;
                let mut world = self.world.borrow_mut();
                world.waiting[id] = None;
                world.model.drop_client(id);
            }
        }
    }

    /// What may happen next.
    fn steps(&self, scenario: &Scenario<'_>) -> Vec<Step> {
        let world = self.world.borrow();
        let mut steps = Vec::new();
        for (id, waiting) in world.waiting.iter().enumerate() {
            let Some(call) = waiting else { continue };
            steps.push(Step::Run(id, Fault::None));
            if self.faults < scenario.faults && can_fail(world.model.rules(), call) {
                steps.push(Step::Run(id, Fault::Before));
                steps.push(Step::Run(id, Fault::After));
            }
            if self.crashes < scenario.crashes && call.writes() {
                steps.push(Step::Crash(id));
            }
        }
        steps
    }

    /// A name for all that the future depends on: two independent 64-bit hashes.
    fn state(&self) -> u128 {
        let world = self.world.borrow();
        let alive: Vec<bool> = self.tasks.iter().map(Option::is_some).collect();
        let hash = |salt: u64| {
            let mut hash = DefaultHasher::new();
            salt.hash(&mut hash);
            (
                &world.model,
                &world.histories,
                &alive,
                self.crashes,
                self.faults,
            )
                .hash(&mut hash);
            hash.finish()
        };
        u128::from(hash(1)) << 64 | u128::from(hash(2))
    }

    fn end(&self) -> End {
        let model = self.world.borrow().model.clone();
        End {
            model,
            told: self.told.clone(),
            crashes: self.crashes,
            faults: self.faults,
        }
    }
}

/// DynamoDB's swaps fail without saying so (S7). On the other stores a write may fail, or its answer be lost.
fn can_fail(rules: Rules, call: &Call) -> bool {
    match rules {
        Rules::Dynamo => matches!(call, Call::Swap(..)),
        Rules::Sqlite | Rules::Redis | Rules::Plain | Rules::Careless => call.writes(),
    }
}
