//! Records that a tick moves side by side: a slow upstream holds up few others.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use reprise::driver::{Attempted, Directory, Parts, Tick, Upstream};
use reprise::machine::{AttemptError, AttemptStart, ErrorKind, Name, Outcome, Policy, Record};
use uuid::Uuid;

use crate::client::BUDGET_NAME;
use crate::model::run;
use crate::shop::{Shop, waiting};

const RECORDS: u64 = 40;

/// An upstream that answers its first call, and nobody else until it is opened. A slot's first timer is found alone.
struct Gate<'a> {
    shop: &'a Shop,
    policy: Policy,
    is_open: Cell<bool>,
    called: RefCell<Vec<Uuid>>,
}

impl Upstream for Gate<'_> {
    async fn attempt(&self, record: &Record, _: &AttemptStart) -> Attempted {
        let is_first = self.called.borrow().is_empty();
        self.called.borrow_mut().push(record.identity().id);
        let open = || (is_first || self.is_open.get()).then_some(());
        poll_fn(|_| open().map_or(Poll::Pending, Poll::Ready)).await;
        Attempted {
            outcome: Outcome::Terminal {
                error: AttemptError::new(ErrorKind::Handler, "no"),
            },
            ended_at: self.shop.world.now(),
        }
    }

    fn is_pure(&self) -> bool {
        false
    }
}

struct Gates<'a>(Gate<'a>);

impl<'a> Directory for Gates<'a> {
    type Upstream = Gate<'a>;

    fn find(&self, _: &Name) -> Option<Parts<'_, Gate<'a>>> {
        Some(Parts {
            upstream: &self.0,
            policy: &self.0.policy,
            budget_name: BUDGET_NAME,
        })
    }
}

#[test]
fn a_tick_waits_for_several_attempts_at_a_time_and_runs_each_once() {
    for at_once in [1, 2, 16, u32::MAX] {
        let mut shop = Shop::new(waiting(700), 4);
        shop.limits.at_once = at_once;
        shop.limits.buckets = 0;
        shop.world.is_up.set(false);
        let ids: BTreeSet<Uuid> = (0..RECORDS)
            .map(|key| shop.submit(key).identity().id)
            .collect();
        shop.pass(1_000);
        let gates = Gates(Gate {
            shop: &shop,
            policy: waiting(700),
            is_open: Cell::new(false),
            called: RefCell::default(),
        });
        let tick = Tick {
            store: &shop.store,
            witness: &(),
            directory: &gates,
            sink: &shop.world,
            clock: || shop.world.now(),
            limits: shop.limits,
        };
        let mut entropy = shop.entropy.borrow_mut();
        let mut life = pin!(tick.run(&mut entropy));
        let mut waker = Context::from_waker(Waker::noop());
        let begun = life.as_mut().poll(&mut waker);
        assert!(begun.is_pending(), "the upstream does not answer");
        let expected = 1 + usize::try_from(at_once.min(39)).expect("few");
        assert_eq!(gates.0.called.borrow().len(), expected, "{at_once} at once");
        // Nothing is taken before its record was told.
        assert_eq!(shop.memory.count("t/"), 39);
        gates.0.is_open.set(true);
        let ticked = run(life).expect("the store works");
        assert_eq!((ticked.due, ticked.advanced, ticked.failed), (40, 40, 0));
        assert_eq!(shop.memory.count("t/"), 0);
        let called = gates.0.called.borrow();
        assert_eq!(called.len(), 40);
        assert_eq!(called.iter().copied().collect::<BTreeSet<_>>(), ids);
    }
}

/// Two timers of one record are told one after the other: told side by side, the second would only find a lease and set
/// a timer for its end.
#[test]
fn a_record_with_two_timers_is_told_once_at_a_time() {
    let mut shop = Shop::new(waiting(700), 4);
    shop.limits.buckets = 0;
    shop.world.is_up.set(false);
    for key in 0..5 {
        let record = shop.submit(key);
        let (due_ms, now_ms) = (record.due().at.as_unix_ms(), shop.world.now_ms.get());
        let mut entropy = shop.entropy.borrow_mut();
        let added = shop
            .store
            .add_timer(record.identity().id, due_ms, now_ms, &mut entropy);
        run(added).expect("the store works");
    }
    shop.world.is_up.set(true);
    shop.pass(1_000);
    let ticked = shop.tick();
    assert_eq!((ticked.due, ticked.stale, ticked.advanced), (10, 5, 5));
    assert_eq!(shop.memory.count("t/"), 0);
}
