//! The clients of one random history: one call at a time goes on, some calls are lost, some clients die and are replaced.
//! What a client does with its life is its history's to say.

use crate::model::{Call, Client, Fault, Model, Rules, World, poll};
use reprise::driver::entropy::Entropy;
use std::cell::RefCell;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;

/// What a client does until its history ends.
pub type Life = Pin<Box<dyn Future<Output = ()>>>;

/// Clients that share a store, and who begins the life of a new one: for the client, its entropy and a roll for its skew.
pub struct Population<B> {
    world: Rc<RefCell<World>>,
    lives: Vec<Life>,
    begin: B,
    lost: usize,
}

impl<B: Fn(Client, Entropy, u64) -> Life> Population<B> {
    /// So many clients of a store, whose kind is the seed's.
    pub fn new(seed: u64, clients: usize, dice: &mut Entropy, begin: B) -> Self {
        let rules = [Rules::Sqlite, Rules::Redis, Rules::Dynamo, Rules::Plain][(seed % 4) as usize];
        let mut population = Self {
            world: World::stepped(Model::new(rules, clients)),
            lives: Vec::new(),
            begin,
            lost: 0,
        };
        population.lives = (0..clients)
            .map(|id| population.newborn(id, dice))
            .collect();
        population
    }

    fn newborn(&self, id: usize, dice: &mut Entropy) -> Life {
        let client = Client {
            world: Rc::clone(&self.world),
            id,
        };
        let seed: Vec<u8> = (0..4).flat_map(|_| dice.next_u64().to_le_bytes()).collect();
        let entropy = Entropy::from_seed(seed.try_into().expect("thirty-two bytes"));
        let mut life = (self.begin)(client, entropy, dice.next_u64());
        assert_eq!(poll(&mut life), None, "a client begins with a call");
        life
    }

    /// Any of them goes on. Of so many calls that can change what is stored, one is where its client crashes, one is lost
    /// before its effect, and one behind it.
    pub fn go_on(&mut self, one_in: u64, dice: &mut Entropy) {
        let id = dice.next_u64() % self.lives.len() as u64;
        let id = usize::try_from(id).expect("it is less than there are clients");
        let writes = self.world.borrow().waiting[id]
            .as_ref()
            .is_some_and(Call::writes);
        let fault = match dice.next_u64() % one_in {
            0 if writes => return self.replace(id, dice),
            1 if writes => Fault::Before,
            2 if writes => Fault::After,
            _ => Fault::None,
        };
        self.lost += usize::from(fault != Fault::None);
        self.world.borrow_mut().step(id, fault);
        assert_eq!(poll(&mut self.lives[id]), None, "a client lives for ever");
    }

    /// A crash, and an instance that takes its place.
    fn replace(&mut self, id: usize, dice: &mut Entropy) {
        self.lost += 1;
        self.world.borrow_mut().waiting[id] = None;
        self.world.borrow_mut().model.drop_client(id);
        self.lives[id] = self.newborn(id, dice);
    }

    /// All of them crash.
    pub fn replace_all(&mut self, dice: &mut Entropy) {
        for id in 0..self.lives.len() {
            self.replace(id, dice);
        }
    }

    /// Stops them where they are. Gives what is in the store, and how many clients have crashed and calls were lost.
    pub fn end(self) -> (Model, usize) {
        drop(self.lives);
        let model = self.world.borrow().model.clone();
        (model, self.lost)
    }
}

/// A history's dice.
pub fn dice(seed: u64) -> Entropy {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    Entropy::from_seed(bytes)
}

/// The seeds of so many histories, or the one that `SEED` names.
#[expect(
    clippy::disallowed_methods,
    reason = "a failed history is replayed by its seed, which comes from outside"
)]
pub fn seeds(histories: u64) -> Range<u64> {
    match std::env::var("SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("SEED is a whole number");
            seed..seed + 1
        }
        Err(_) => 0..histories,
    }
}

/// Runs the history of each seed, and lets `add` hear what it did.
pub fn replay<S>(
    seeds: Range<u64>,
    history: impl Fn(u64) -> Result<S, String>,
    mut add: impl FnMut(S),
) {
    for seed in seeds {
        match history(seed) {
            Ok(seen) => add(seen),
            Err(what) => panic!("SEED={seed}: {what}"),
        }
    }
}
