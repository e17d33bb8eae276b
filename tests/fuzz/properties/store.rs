//! Stored values that are not what was written: the input says which values of a store that was in use are damaged, and
//! how. Whatever they are, every request is answered, nothing panics, and records that are whole are told as they are.
//!
//! An input is a sequence of damages: which key, how, a length and so many bytes.

use std::cell::RefCell;

use super::service::{Data, Service, in_use};
use crate::app::pass;

/// Damages of one input. More tell nothing more.
const DAMAGES_MAX: usize = 4;
/// The bytes before a record in its node.
const NODE_HEAD_BYTES: usize = 112;

thread_local! {
    static PREPARED: RefCell<Option<Prepared>> = const { RefCell::new(None) };
}

/// A store that was in use, and what it answers for each record.
#[derive(Clone)]
struct Prepared {
    data: Data,
    records: Vec<Known>,
}

#[derive(Clone)]
struct Known {
    node_key: String,
    id: String,
    path: String,
    detail: Vec<u8>,
}

fn prepared() -> Prepared {
    PREPARED.with_borrow_mut(|prepared| prepared.get_or_insert_with(prepare).clone())
}

fn prepare() -> Prepared {
    let data = in_use();
    let service = Service::over(data.clone());
    let list = service.operator("GET", "/-/operations").json();
    let records = list["operations"].as_array().expect("a list").iter();
    let records = records.map(|summary| {
        let id = summary["id"].as_str().expect("an id").to_owned();
        let bits: String = id
            .chars()
            .filter(char::is_ascii_hexdigit)
            .skip(16)
            .collect();
        let low = u64::from_str_radix(&bits, 16).expect("an id is hexadecimal");
        Known {
            node_key: format!("n/{:016x}", low & ((1 << 62) - 1)),
            detail: service.operator("GET", &format!("/-/operations/{id}")).body,
            path: format!(
                "/{}/{id}",
                collection(summary["operation"].as_str().expect("a name"))
            ),
            id,
        }
    });
    let records: Vec<Known> = records.collect();
    assert!(
        records
            .iter()
            .all(|record| data.contains_key(&record.node_key))
    );
    Prepared { data, records }
}

fn collection(operation: &str) -> &str {
    match operation {
        "payments" => "accounts/7/payments",
        other => other,
    }
}

pub(super) fn check(data: &[u8]) {
    let Prepared {
        data: mut stored,
        records,
    } = prepared();
    let before = stored.clone();
    damage(&mut stored, data);
    let is_laid_out = stored.get("w/layout") == before.get("w/layout");
    let is_whole = |key: &String| stored.get(key) == before.get(key);
    let whole: Vec<&Known> = records
        .iter()
        .filter(|one| is_whole(&one.node_key))
        .collect();
    let service = Service::over(stored.clone());
    for known in whole {
        let seen = service.operator("GET", &format!("/-/operations/{}", known.id));
        if is_laid_out {
            assert_eq!(
                (seen.status, &seen.body),
                (200, &known.detail),
                "{}",
                known.id
            );
        }
    }
    use_it(&service, &records);
    // Once when what waits is due, then behind every retention, so that all of it is purged.
    for ms in [3_600_000, 48 * 3_600_000, 1] {
        pass(ms);
        service.operator("POST", "/-/tick");
    }
}

/// Damages some values, as the input says.
fn damage(stored: &mut Data, mut input: &[u8]) {
    let keys: Vec<String> = stored.keys().cloned().collect();
    for _ in 0..DAMAGES_MAX {
        let [which, how, length, rest @ ..] = input else {
            return;
        };
        let (bytes, behind) = match how % 8 {
            // What is last may take all that is left.
            0 | 1 => (rest, &rest[rest.len()..]),
            _ => rest.split_at(usize::from(*length).min(rest.len())),
        };
        input = behind;
        let key = &keys[usize::from(*which) % keys.len()];
        let other = &keys[usize::from(*length) % keys.len()];
        let mut value = stored.get(key).cloned().unwrap_or_default();
        match how % 8 {
            0 => value = bytes.to_vec(),
            1 => {
                value.truncate(NODE_HEAD_BYTES);
                value.extend(bytes);
            }
            2 | 3 => overwrite(&mut value, bytes),
            // The link of a node is behind its first eight bytes, a word is one: it leads to another node.
            4 => {
                let at = if key.starts_with("w/") { 0 } else { 8 };
                let pointer = other
                    .split_once('/')
                    .and_then(|(_, hex)| u64::from_str_radix(hex, 16).ok());
                if let (Some(pointer), Some(link)) = (pointer, value.get_mut(at..at + 8)) {
                    link.copy_from_slice(&pointer.to_le_bytes());
                }
            }
            5 => value = stored.get(other).cloned().unwrap_or_default(),
            6 => value.truncate(usize::from(*length)),
            _ => {
                stored.remove(key);
                continue;
            }
        }
        stored.insert(key.clone(), value);
    }
}

/// Writes bytes over those of a value, from the place on that the first two say.
fn overwrite(value: &mut [u8], bytes: &[u8]) {
    let Some((place, bytes)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    if value.is_empty() {
        return;
    }
    let at = usize::from(u16::from_le_bytes(*place)) % value.len();
    for (old, new) in value[at..].iter_mut().zip(bytes) {
        *old = *new;
    }
}

/// One request of each kind. What must hold for every answer is checked with it.
fn use_it(service: &Service, records: &[Known]) {
    for path in [
        "/-/operations?limit=3",
        "/-/dead-letters",
        "/-/sinks",
        "/-/metrics",
    ] {
        service.operator("GET", path);
    }
    for known in records {
        service.send("GET", &known.path, &[], b"");
    }
    service.post("/orders", "o-1", r#"{"product_id":42,"quantity":1}"#);
    service.post("/orders", "o-dead", r#"{"product_id":666,"quantity":2}"#);
    service.post("/orders", "o-new", r#"{"product_id":1,"quantity":1}"#);
    service.post("/tasks", "t-1", r#"{"text":"Good morning."}"#);
    service.post("/charge", "c-busy", r#"{"amount":1,"note":"busy"}"#);
    service.post("/charge", "c-new", r#"{"amount":2}"#);
    for known in records {
        service.operator("POST", &format!("/-/operations/{}/retry", known.id));
        service.operator("POST", &format!("/-/dead-letters/{}/0/replay", known.id));
    }
    service.operator("POST", "/-/sinks/projection/enable");
    service.operator("GET", "/-/keys?operation=charge&key=c-busy");
    service.send("GET", "/inbox/orders/projection", &[], b"");
    for known in records {
        service.send("DELETE", &known.path, &[], b"");
    }
}
