//! The clients: each asks for one operation after the other, under a key of its own each, as patiently or not as people do.

use crate::book::{Ask, Book, HONEST, ONCE, ORDERS, SANDBOX};
use crate::dice::Dice;
use reprise_client::{Backoff, BudgetPolicy, Call, Client as Library, Key, Millis, Policy};
use reprise_e2e::{Answer, Client, Front};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Products that are ordered.
const PRODUCTS: u64 = 20;
/// Amounts that the payment sandbox knows to mean something, and one that it does not.
const AMOUNTS: [u64; 8] = [1_999, 1_999, 50_300, 50_301, 42_900, 50_200, 40_800, 40_200];

/// What all clients share.
#[derive(Clone, Copy)]
pub(crate) struct Shop<'a> {
    pub(crate) dice: Dice,
    pub(crate) front: &'a Front,
    pub(crate) book: &'a Book,
    pub(crate) is_over: &'a AtomicBool,
}

impl Shop<'_> {
    /// One client of this number, until it is over.
    pub(crate) fn visit(self, number: u64) {
        let library = Library::new(&self.front.url(), patience()).expect("a base address");
        let client = self.front.client();
        let mut turn = 0;
        while !self.is_over.load(SeqCst) {
            let ask = self.next_ask(number, turn);
            self.book.ask(&ask);
            match self.dice.roll(("manner", number, turn), 100) {
                0..40 => self.ask_patiently(&library, &ask),
                40..55 => self.ask_and_hang_up(&client, &ask, number, turn),
                55..70 => {
                    self.ask_and_hang_up(&client, &ask, number, turn);
                    self.ask_patiently(&library, &ask);
                }
                70..80 => self.ask_twice_at_once(&client, &ask),
                // Whatever it is told, it never comes back.
                _ => self.ask_once(&client, &ask),
            }
            let pause = self.dice.roll(("pause", number, turn), 80);
            thread::sleep(Duration::from_millis(pause));
            turn += 1;
        }
    }

    fn next_ask(self, number: u64, turn: u64) -> Ask {
        let path = match self.dice.roll(("path", number, turn), 100) {
            0..45 => ORDERS,
            45..60 => SANDBOX,
            60..88 => HONEST,
            _ => ONCE,
        };
        let key = format!("{}-{number}-{turn}", &path[1..]);
        let body = if path == ORDERS {
            let product = 1 + self.dice.roll(("product", number, turn), PRODUCTS);
            let quantity = 1 + self.dice.roll(("quantity", number, turn), 9);
            json!({"product_id": product, "quantity": quantity})
        } else {
            let amounts = AMOUNTS.len() as u64;
            let amount = self.dice.roll(("amount", number, turn), amounts);
            let amount = AMOUNTS[usize::try_from(amount).expect("an index")];
            json!({"amount": amount, "currency": "EUR", "reference": key})
        };
        Ask {
            path,
            key,
            body: body.to_string(),
        }
    }

    /// As the client library does: until the operation's end, or its own deadline.
    fn ask_patiently(self, library: &Library, ask: &Ask) {
        let key = Key::new(ask.key.as_str()).expect("a key");
        let call = Call::post(ask.path, ask.body.as_str()).with_key(key);
        if let Ok(reply) = library.send(&call) {
            let answer = Answer {
                status: reply.status,
                body: reply.text(),
                headers: reply.headers,
            };
            self.book.note(ask, &answer);
        }
    }

    fn ask_and_hang_up(self, client: &Client, ask: &Ask, number: u64, turn: u64) {
        let unheard = client.post_unheard(ask.path, &ask.key, &ask.body);
        let patience = self.dice.roll(("patience", number, turn), 25);
        thread::sleep(Duration::from_millis(patience));
        drop(unheard);
    }

    fn ask_once(self, client: &Client, ask: &Ask) {
        if let Ok(answer) = client.try_post(ask.path, Some(&ask.key), &ask.body) {
            self.book.note(ask, &answer);
        }
    }

    fn ask_twice_at_once(self, client: &Client, ask: &Ask) {
        thread::scope(|scope| {
            scope.spawn(|| self.ask_once(client, ask));
            self.ask_once(client, ask);
        });
    }
}

/// The library's, where everything is near and hosts come back within a second.
fn patience() -> Policy {
    Policy {
        max_attempts: 20,
        backoff: Backoff::FullJitter {
            base_ms: Millis::new(50),
            cap_ms: Millis::new(500),
            floor_ms: Millis::new(5),
        },
        retry_after_cap: Millis::from_secs(2),
        attempt_timeout: Millis::from_secs(4),
        deadline: Millis::from_secs(6),
        budget: BudgetPolicy {
            capacity_tokens: 1_000,
            deposit_per_second_millitokens: 100_000,
            deposit_per_success_millitokens: 1_000,
        },
    }
}
