//! The world of a run: hosts that are killed, an upstream and a receiver that fail, and ticks.

use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::receiver::Receiver;
use crate::store::Dump;
use reprise_e2e::{Client, Front, Host, Options, State, Upstream};
use serde_json::Value;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// What operators show.
const TOKEN: &str = "torture-token-5f1c";
const SECRET: &str = "whsec_dG9ydHVyZS10b3J0dXJlLXRvcnR1cmUtdG9ydHVyZSE=";

/// Short times, and as many attempts as it takes: this run is about who does what twice, and not about giving up.
fn config(ledger: &str, receiver: &str) -> String {
    let patience = r#"
max_attempts = 100
max_cycles = 100
total_deadline = "none"
backoff = { kind = "full_jitter", base = "100ms", cap = "1s", floor = "20ms" }
attempt_timeout = "1s"
lease = "2s"
"#;
    format!(
        r#"
[store]
bucket_bits = 10

[operators]
token = "{TOKEN}"

[delivery]
max_attempts = 100
backoff = {{ kind = "full_jitter", base = "100ms", cap = "2s", floor = "20ms" }}
timeout = "1s"
lease = "2s"

[upstreams.sandbox]
url = "http://payment-sandbox.spin.internal"
retry_budget = {{ capacity = 1000, per_second = "1000" }}

[upstreams.ledger]
url = "{ledger}"
retry_budget = {{ capacity = 1000, per_second = "1000" }}

[sinks.projection]
url = "{receiver}/events"
secrets = ["{SECRET}"]

[inboxes.orders]
secrets = ["{SECRET}"]
source = "urn:reprise"

[[operations]]
name = "orders"
route = "/orders"
handler = "order"
events = [{{ on = "done", type = "order.created", sink = "projection" }}]

[[operations]]
name = "charge"
route = "/charge"
handler = "forward"
upstream = "sandbox"
upstream_path = "/payment-sandbox/charges"
{patience}
[[operations]]
name = "honest"
route = "/honest"
handler = "forward"
upstream = "ledger"
{patience}
[[operations]]
name = "once"
route = "/once"
handler = "forward"
upstream = "ledger"
on_lost_attempt = "fail"
{patience}"#
    )
}

pub(crate) struct World {
    dice: Dice,
    state: State,
    options: Options,
    hosts: Vec<Host>,
    pub(crate) front: Front,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) receiver: Arc<Receiver>,
    is_network_whole: Arc<AtomicBool>,
}

/// How often something was killed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kills {
    pub(crate) hosts: u64,
    pub(crate) redis: u64,
}

/// What a tick says that it did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Report {
    /// Everything that it found to do, counted in whatever it was.
    pub(crate) work: u64,
    pub(crate) failed: u64,
    pub(crate) buckets: u64,
    pub(crate) buckets_total: u64,
}

impl World {
    /// The hosts of a store, which is empty.
    pub(crate) fn new(dice: Dice, state: State) -> Self {
        let is_network_whole = Arc::new(AtomicBool::new(false));
        let front = Front::start({
            let is_whole = Arc::clone(&is_network_whole);
            move |connection, piece| {
                !is_whole.load(SeqCst) && dice.happens(("an answer is lost", connection, piece), 3)
            }
        });
        let ledger = Arc::new(Ledger::new(dice));
        let receiver = Arc::new(Receiver::new(dice, front.client()));
        let api = Upstream::start({
            let ledger = Arc::clone(&ledger);
            move |_, seen| ledger.answer(seen)
        });
        let sink = Upstream::start({
            let receiver = Arc::clone(&receiver);
            move |before, seen| receiver.answer(before, seen)
        });
        let options = Options::default().config(&config(&api.url(), &sink.url()));
        let hosts = 0..state.arrangement().hosts();
        let hosts = hosts.map(|number| Host::start_one(&state, number, &options));
        let world = Self {
            hosts: hosts.collect(),
            dice,
            state,
            options,
            front,
            ledger,
            receiver,
            is_network_whole,
        };
        world.lead_to_all_but(None);
        world
    }

    /// Kills hosts, and the Redis where there is one, and starts them again until this time. Answers how often.
    pub(crate) fn kill(&mut self, until: Instant) -> Kills {
        let mut kills = Kills::default();
        while Instant::now() < until {
            let turn = kills.hosts + kills.redis;
            let life = [100, 1_600, 1_600, 5_000][self.pick(("how long a life", turn), 4)];
            let life = self.dice.roll(("life", turn), life);
            thread::sleep(
                Duration::from_millis(life).min(until.saturating_duration_since(Instant::now())),
            );
            let away = Duration::from_millis(self.dice.roll(("away", turn), 100));
            let is_redis = self.dice.happens(("the store dies", turn), 30);
            // After more than a second Spin's driver connects again much later, and the hosts' own deaths come before.
            let longer = [100, 100, 2_000][self.pick(("how long without Redis", turn), 3)];
            let longer = Duration::from_millis(self.dice.roll(("without Redis", turn), longer));
            if let (true, Some(redis)) = (is_redis, self.state.redis_mut()) {
                redis.kill();
                thread::sleep(longer);
                redis.restart();
                kills.redis += 1;
                continue;
            }
            let victim = self.pick(("victim", turn), self.hosts.len());
            self.lead_to_all_but(Some(victim));
            self.hosts[victim].kill();
            thread::sleep(away);
            self.start_again(victim);
            kills.hosts += 1;
        }
        if kills.redis > 0 {
            // Spin's driver may wait for minutes until it connects again. Those that do are killed once more.
            for victim in 0..self.hosts.len() {
                self.hosts[victim].kill();
                self.start_again(victim);
            }
        }
        kills
    }

    fn start_again(&mut self, number: usize) {
        self.hosts[number] = Host::start_one(&self.state, number, &self.options);
        self.lead_to_all_but(None);
    }

    fn pick(&self, occasion: impl Hash, of: usize) -> usize {
        let index = self.dice.roll(occasion, of as u64);
        usize::try_from(index).expect("it is less than a size")
    }

    /// Ends all failures.
    pub(crate) fn heal(&self) {
        self.is_network_whole.store(true, SeqCst);
        self.ledger.heal();
        self.receiver.heal();
    }

    /// A client of a host that is there to stay.
    pub(crate) fn client(&self) -> Client {
        self.hosts[0].client()
    }

    pub(crate) fn dump(&self) -> Dump {
        Dump::of(&self.state)
    }

    fn lead_to_all_but(&self, away: Option<usize>) {
        let hosts = self.hosts.iter().enumerate();
        let there = hosts.filter(|(index, _)| Some(*index) != away);
        let there = there.map(|(_, host)| host.address().to_owned()).collect();
        self.front.lead_to(there);
    }
}

/// One tick. `None` when nothing, or nothing good, was heard of it.
pub(crate) fn tick(client: &Client) -> Option<Report> {
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", authorization.as_str())];
    let answer = client.send("POST", "/-/tick", &headers, b"").ok()?;
    if answer.status == 503 {
        assert_eq!(answer.problem(), "store-unavailable", "{answer:?}");
        return None;
    }
    assert_eq!(answer.status, 200, "{answer:?}");
    let said: Value = answer.json();
    let count = |name: &str| {
        said[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {said}"))
    };
    assert_eq!(count("unknown"), 0, "{said}");
    let work = ["due", "found", "advanced", "delivered"]
        .into_iter()
        .map(count);
    Some(Report {
        work: work.sum(),
        failed: count("failed"),
        buckets: count("buckets_visited"),
        buckets_total: count("buckets_total"),
    })
}

/// Ticks every fifth of a second or so, whether or not the last tick is over, until the run is. Answers how many were heard
/// of.
pub(crate) fn tick_along(front: &Front, dice: Dice, is_over: &AtomicBool) -> usize {
    let client = front.client();
    thread::scope(|scope| {
        let mut ticks = Vec::new();
        while !is_over.load(SeqCst) {
            ticks.push(scope.spawn(|| tick(&client)));
            let pause = dice.roll(("a tick's pause", ticks.len()), 400);
            thread::sleep(Duration::from_millis(pause));
        }
        let ticks = ticks
            .into_iter()
            .map(|tick| tick.join().expect("a tick's answer is sound"));
        ticks.flatten().count()
    })
}
