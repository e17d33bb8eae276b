//! Pages: each record that is there all the while is shown exactly once, whatever others do meanwhile, for no more reads
//! than a page may take.
//!
//! What others do happens between two pages, and in a page between any two of its nodes: whoever is shown a node may change
//! the store before the next one is read.

use std::collections::BTreeMap;

use reprise::driver::entropy::Entropy;
use reprise::driver::store::limits::DEFAULT_BUCKET_BITS;
use reprise::driver::store::{
    Buckets, Created, Identity, NEVER, NewRecord, Page, PageLimits, Place, PurgeLimits, Store, Walk,
};
use uuid::Uuid;

use crate::memory::Memory;
use crate::model::{Client, Model, Rules, World, run};

const NOW_MS: u64 = 1_800_000_000_000;
const LIMITS: PageLimits = PageLimits {
    reads: 1_024,
    words: 16_384,
};

/// A store in memory, its dice, and the records that were created in it.
struct Shelf {
    memory: Memory,
    store: Store<Memory>,
    dice: Entropy,
    created: u64,
}

impl Shelf {
    fn new(bucket_bits: u8, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut dice = Entropy::from_seed(bytes);
        let memory = Memory::default();
        let store = run(Store::open(memory.clone(), bucket_bits, &mut dice));
        Self {
            store: store.expect("a sound store"),
            memory,
            dice,
            created: 0,
        }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice.next_u64() % sides
    }

    /// Creates a record under a key of its own.
    fn create(&mut self, expires_at_ms: u64) -> Uuid {
        self.created += 1;
        let new = NewRecord {
            id: self.dice.next_uuid(NOW_MS),
            identity: Identity::of_key(&[0; 32], "test", &self.created.to_string()),
            expires_at_ms,
            payload: b"{}".to_vec(),
        };
        match run(self.store.create(&new, 0, &mut self.dice)) {
            Ok(Created::New(_)) => new.id,
            other => panic!("a new key creates: {other:?}"),
        }
    }

    fn purge(&self) {
        let buckets = Buckets {
            first: 0,
            count: self.store.layout().buckets(),
        };
        let limits = PurgeLimits {
            nodes: usize::MAX,
            grace_ms: 0,
        };
        run(self.store.purge(buckets, limits, NOW_MS)).expect("a sound store");
    }
}

/// A pass by pages of random size. Returns how often each record was shown.
fn pass(shelf: &mut Shelf, seed: u64) -> BTreeMap<Uuid, u32> {
    let mut shown = BTreeMap::new();
    let mut place = Place::default();
    let mut buckets = 0;
    for _ in 0..10_000 {
        let limits = PageLimits {
            reads: u32::try_from(shelf.roll(8)).expect("small"),
            words: u32::try_from(shelf.roll(5)).expect("small"),
        };
        let full = 1 + shelf.roll(4);
        let reader = Store::with_layout(shelf.memory.clone(), shelf.store.layout());
        let mut on_page = 0;
        let page = run(reader.page(place, limits, NOW_MS, &mut |node| {
            if node.is_live(NOW_MS) {
                *shown.entry(node.id()).or_default() += 1;
                on_page += 1;
            }
            meddle(shelf);
            if on_page < full { Walk::On } else { Walk::Stop }
        }));
        let page = page.unwrap_or_else(|error| panic!("SEED={seed}: {error}"));
        assert_eq!(page.failed, 0, "SEED={seed}");
        buckets += page.buckets;
        match page.next {
            Some(next) => place = next.to_string().parse().expect("a place is read back"),
            None => {
                assert_eq!(buckets, shelf.store.layout().buckets(), "SEED={seed}");
                return shown;
            }
        }
        meddle(shelf);
    }
    panic!("SEED={seed}: the pass does not come to an end")
}

/// Now and then somebody creates a record, of which some have expired already, or purges.
fn meddle(shelf: &mut Shelf) {
    match shelf.roll(12) {
        0 => drop(shelf.create(NEVER)),
        1 => drop(shelf.create(NOW_MS)),
        2 => shelf.purge(),
        _ => {}
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a failed history is replayed by its seed, which comes from outside"
)]
fn whatever_is_created_and_purged_meanwhile_nothing_is_missed_or_shown_twice() {
    let seeds = match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().expect("SEED is a whole number")],
        Err(_) => (0..2_000).collect(),
    };
    let (mut created_meanwhile, mut shown_of_them) = (0, 0);
    for seed in seeds {
        let bits = u8::try_from(seed % 4).expect("small");
        let mut shelf = Shelf::new(bits, seed);
        let mut there = Vec::new();
        for _ in 0..shelf.roll(30) {
            match shelf.roll(3) {
                0 => drop(shelf.create(NOW_MS)),
                _ => there.push(shelf.create(NEVER)),
            }
        }
        let before = shelf.created;
        let shown = pass(&mut shelf, seed);
        for id in &there {
            assert_eq!(shown.get(id), Some(&1), "SEED={seed}: {id}");
        }
        assert!(shown.values().all(|times| *times == 1), "SEED={seed}");
        created_meanwhile += shelf.created - before;
        shown_of_them += shown.len() - there.len();
    }
    println!("{created_meanwhile} were created meanwhile, and {shown_of_them} of them shown");
    assert!(
        created_meanwhile > 1_000 && shown_of_them > 100,
        "others were at work"
    );
}

fn page(store: &Store<Memory>, from: Place, limits: PageLimits) -> (Page, usize) {
    let mut seen = 0;
    let page = run(store.page(from, limits, NOW_MS, &mut |_| {
        seen += 1;
        Walk::On
    }));
    (page.expect("a sound store"), seen)
}

/// A store of the usual size with few records is one page; the bound on reads makes pages of one with many.
#[test]
fn a_page_reads_as_much_as_it_may_and_no_more() {
    let mut shelf = Shelf::new(DEFAULT_BUCKET_BITS, 1);
    for (records, pages) in [(0, 1), (200, 1), (2_000, 2)] {
        while shelf.created < records {
            shelf.create(NEVER);
        }
        let (mut place, mut seen, mut taken) = (Place::default(), 0, 0);
        let calls = shelf.memory.batches.get();
        loop {
            let ((page, here), (reads, writes)) =
                shelf.memory.cost(|| page(&shelf.store, place, LIMITS));
            (seen, taken) = (seen + here, taken + 1);
            println!("{records} records: {reads} reads, {here} seen, {page:?}");
            assert!(reads <= u64::from(LIMITS.reads) && writes == 0);
            match page.next {
                Some(next) => place = next,
                None => break,
            }
        }
        let calls = shelf.memory.batches.get() - calls;
        assert_eq!((seen as u64, taken), (records, pages), "{records} records");
        // A page begins to read words ahead where the one before has ended.
        assert!(calls <= 16 + (pages - 1) * 2, "{calls} calls for words");
    }
}

/// Where words are read one by one, a page's reads are shared between them and the nodes.
#[test]
fn a_store_that_reads_no_words_at_once_is_gone_through_one_by_one() {
    for rules in [Rules::Redis, Rules::Dynamo] {
        let world = World::direct(Model::new(rules, 1));
        let client = Client { world, id: 0 };
        let mut dice = Entropy::from_seed([7; 32]);
        let store = run(Store::open(client, 4, &mut dice)).expect("a sound store");
        for key in 0..10 {
            let new = NewRecord {
                id: dice.next_uuid(NOW_MS),
                identity: Identity::of_key(&[0; 32], "test", &format!("{key}")),
                expires_at_ms: NEVER,
                payload: b"{}".to_vec(),
            };
            run(store.create(&new, 0, &mut dice)).expect("it is created");
        }
        let limits = PageLimits { reads: 5, words: 0 };
        let (mut place, mut seen, mut pages) = (Place::default(), Vec::new(), 0);
        while pages < 100 {
            let page = run(store.page(place, limits, NOW_MS, &mut |node| {
                seen.push(node.id());
                Walk::On
            }));
            pages += 1;
            match page.expect("a sound store").next {
                Some(next) => place = next,
                None => break,
            }
        }
        let shown = seen.len();
        seen.sort_unstable();
        seen.dedup();
        // Sixteen words, ten nodes, and one more read for each page that begins within a chain.
        assert_eq!((shown, seen.len()), (10, 10), "{rules:?}");
        assert!((6..=10).contains(&pages), "{rules:?}: {pages} pages");
    }
}

#[test]
fn what_cannot_be_read_is_counted_and_hides_nothing_else() {
    let mut shelf = Shelf::new(2, 3);
    for _ in 0..40 {
        shelf.create(NEVER);
    }
    let (whole, all) = page(&shelf.store, Place::default(), LIMITS);
    assert_eq!((whole.failed, all), (0, 40));
    // The node behind the newest one of a bucket is lost, the word of another bucket is none.
    let words: Vec<(String, Vec<u8>)> = {
        let data = shelf.memory.data.borrow();
        let words = data.range("w/b/".to_owned().."w/c".to_owned());
        words
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let newest = u64::from_le_bytes(words[0].1.as_slice().try_into().expect("a word"));
    let newest = format!("n/{newest:016x}");
    let mut data = shelf.memory.data.borrow_mut();
    let next = u64::from_le_bytes(data[&newest][8..16].try_into().expect("a link"));
    data.remove(&format!("n/{next:016x}"))
        .expect("it was there");
    data.insert(words[1].0.clone(), b"none".to_vec());
    drop(data);
    let (page, seen) = page(&shelf.store, Place::default(), LIMITS);
    assert_eq!((page.failed, page.buckets, page.next), (2, 4, None));
    assert!((20..40).contains(&seen), "{seen} seen");
}

#[test]
fn a_place_that_leads_nowhere_is_gone_on_from() {
    let mut shelf = Shelf::new(2, 4);
    for _ in 0..20 {
        shelf.create(NEVER);
    }
    let first = shelf.memory.data.borrow()["w/b/00000"].clone();
    let first = u64::from_le_bytes(first.as_slice().try_into().expect("a word"));
    let buckets = |from: &str| {
        let (page, seen) = page(&shelf.store, from.parse().expect("a place"), LIMITS);
        assert_eq!((page.next, page.failed), (None, 0), "{from}");
        (page.buckets, seen)
    };
    let (_, behind_first) = buckets("1");
    for (from, expected) in [
        // No node has this number, or the number is none.
        ("0.0000000000000001".to_owned(), (4, behind_first)),
        ("0.0000000000000000".to_owned(), (4, behind_first)),
        ("0.ffffffffffffffff".to_owned(), (4, behind_first)),
        ("4".to_owned(), (0, 0)),
        ("9999999".to_owned(), (0, 0)),
        ("9999999.0000000000000001".to_owned(), (0, 0)),
    ] {
        assert_eq!(buckets(&from), expected, "{from}");
    }
    // A node of another bucket.
    let (_, behind_second) = buckets("2");
    assert_eq!(buckets(&format!("1.{first:016x}")), (3, behind_second));
}
