//! The stored bytes: golden ones are written and read as documented, and no others make a reader panic.

use super::identity::Link;
use super::node::Node;
use super::timers::Timer;
use super::word::Word;
use super::{Identity, Pointer, StoreError, limits};
use proptest::prelude::*;
use uuid::Uuid;

const ID: Uuid = Uuid::from_u128(0x01a2_2853_fd1b_7326_b8c9_b6e6_0379_2457);

fn pointer() -> Pointer {
    Pointer::of(ID).expect("the id has random bits")
}

fn node() -> Node {
    Node {
        pointer: pointer(),
        sealed: false,
        next: Link::To(Pointer::from_raw(0x0102).expect("not zero")),
        revision: 3,
        writers: [4, 5, 6, 7],
        id: ID,
        identity: Identity::from([0xaa; 32]),
        expires_at_ms: 0x0000_019a_0000_0000,
        payload: b"{}".to_vec(),
    }
}

/// The bytes of [`node`], as a store of format 1 holds them.
const GOLDEN: &[u8] = b"RPN1\x00\x00\x00\x00\
    \x02\x01\x00\x00\x00\x00\x00\x00\
    \x03\x00\x00\x00\x00\x00\x00\x00\
    \x04\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\
    \x06\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\
    \x01\xa2\x28\x53\xfd\x1b\x73\x26\xb8\xc9\xb6\xe6\x03\x79\x24\x57\
    \xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\
    \xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\
    \x00\x00\x00\x00\x9a\x01\x00\x00{}";

#[test]
fn a_node_is_stored_as_documented() {
    assert_eq!(node().encode().expect("it is small"), GOLDEN);
    assert_eq!(Node::decode(pointer(), GOLDEN.to_vec()), Ok(node()));
    assert_eq!(pointer().key(), "n/38c9b6e603792457");
}

#[test]
fn a_node_under_another_key_is_refused() {
    let other = Pointer::from_raw(1).expect("not zero");
    assert!(matches!(
        Node::decode(other, GOLDEN.to_vec()),
        Err(StoreError::Corrupt { .. })
    ));
}

#[test]
fn every_cut_of_a_node_s_head_is_refused() {
    for length in 0..GOLDEN.len() - 2 {
        let cut = Node::decode(pointer(), GOLDEN[..length].to_vec());
        assert!(
            matches!(cut, Err(StoreError::Corrupt { .. })),
            "{length} bytes"
        );
    }
}

#[test]
fn a_record_that_no_store_takes_is_refused_before_it_is_written() {
    let payload = vec![0; limits::MAX_VALUE_BYTES];
    let too_large = Node { payload, ..node() }.encode();
    assert!(
        matches!(too_large, Err(StoreError::TooLarge { bytes }) if bytes > limits::MAX_VALUE_BYTES)
    );
}

#[test]
fn a_link_and_its_cut_are_told_apart() {
    for link in [Link::End, Link::To(pointer()), Link::Cut(pointer())] {
        assert_eq!(Link::from_raw(link.raw()), Some(link));
    }
    assert_eq!(Link::To(pointer()).next(), Some(pointer()));
    assert_eq!(Link::Cut(pointer()).next(), None);
    assert_eq!(Link::Cut(pointer()).remains(), Some(pointer()));
    // A pointer has 62 bits, so neither of these is one.
    assert_eq!(Link::from_raw(1 << 62), None);
    assert_eq!(Link::from_raw(1 << 63), None);
}

#[test]
fn an_id_without_random_bits_has_no_pointer() {
    assert_eq!(
        Pointer::of(Uuid::from_u128(0x01a2_2853_fd1b_7326_8000_0000_0000_0000)),
        None
    );
}

#[test]
fn a_bucket_is_the_leading_bits_of_an_identity() {
    let mut hash = [0; 32];
    hash[..4].copy_from_slice(&[0b1010_0000, 0, 0, 1]);
    let identity = Identity::from(hash);
    assert_eq!(
        [0, 1, 3, 14].map(|bits| identity.bucket(bits)),
        [0, 1, 0b101, 0b10_1000_0000_0000]
    );
}

#[test]
fn identities_keep_tenant_operation_and_key_apart() {
    let (one, two) = ([1; 32], [2; 32]);
    let identities = [
        Identity::of_key(&one, "tasks", "key"),
        Identity::of_key(&two, "tasks", "key"),
        Identity::of_key(&one, "orders", "key"),
        Identity::of_key(&one, "tasks", "other"),
        Identity::of_key(&one, "task", "skey"),
        Identity::of_id(ID),
    ];
    let distinct: std::collections::BTreeSet<_> = identities.iter().collect();
    assert_eq!(distinct.len(), identities.len());
}

fn timer() -> Timer {
    Timer {
        pointer: pointer(),
        height: 5,
        next: Link::To(Pointer::from_raw(0x0102).expect("not zero")),
        milestone: Link::To(Pointer::from_raw(0x0304).expect("not zero")),
        id: ID,
        due_ms: 0x0000_019a_0000_0000,
    }
}

/// The bytes of [`timer`], as a store of format 1 holds them.
const GOLDEN_TIMER: &[u8] = b"RPT1\x05\x00\x00\x00\
    \x02\x01\x00\x00\x00\x00\x00\x00\
    \x04\x03\x00\x00\x00\x00\x00\x00\
    \x01\xa2\x28\x53\xfd\x1b\x73\x26\xb8\xc9\xb6\xe6\x03\x79\x24\x57\
    \x00\x00\x00\x00\x9a\x01\x00\x00";

#[test]
fn a_timer_is_stored_as_documented() {
    assert_eq!(timer().encode(), GOLDEN_TIMER);
    assert_eq!(Timer::decode(pointer(), GOLDEN_TIMER), Some(timer()));
    for length in 0..GOLDEN_TIMER.len() {
        assert_eq!(Timer::decode(pointer(), &GOLDEN_TIMER[..length]), None);
    }
}

#[test]
fn every_timer_names_the_milestone_below_it() {
    let mut below: Option<Timer> = None;
    let mut milestone = Link::End;
    for number in 1..=200 {
        let pointer = Pointer::from_raw(number).expect("not zero");
        let own = Timer { pointer, ..timer() };
        let own = own.on(below.as_ref(), Link::End);
        assert_eq!(own.milestone, milestone, "timer {number}");
        if (number - 1) % 64 == 0 {
            assert_eq!(own.height, 0, "timer {number}");
            milestone = Link::To(pointer);
        }
        below = Some(own);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_readers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Node::decode(pointer(), bytes.clone());
        let _ = Timer::decode(pointer(), &bytes);
        let _ = Word::decode("w/b/00000", Some(&bytes)).and_then(|word| word.link("w/b/00000"));
    }

    #[test]
    fn what_a_changed_byte_makes_of_a_timer_is_refused_or_another_timer(
        at in 0..GOLDEN_TIMER.len(),
        byte in any::<u8>(),
    ) {
        let mut bytes = GOLDEN_TIMER.to_vec();
        bytes[at] = byte;
        if let Some(read) = Timer::decode(pointer(), &bytes) {
            prop_assert_eq!(read.encode(), bytes);
        }
    }

    #[test]
    fn what_a_changed_byte_makes_of_a_node_is_refused_or_another_node(
        at in 0..GOLDEN.len(),
        byte in any::<u8>(),
    ) {
        let mut bytes = GOLDEN.to_vec();
        bytes[at] = byte;
        if let Ok(read) = Node::decode(pointer(), bytes.clone()) {
            prop_assert_eq!(read.encode().expect("it is small"), bytes);
        }
    }
}
