//! Pages: all records of the store, bit by bit, in an order that no write changes.
//!
//! A pass goes through the buckets in their order, and down each chain from its newest node. A creation puts its node in
//! front and a purge cuts off the end, so what is there all the while keeps its place among the others: pages that go on
//! behind each other's last node show each such record exactly once, whatever is created meanwhile. What is created
//! meanwhile is shown once or not at all.
//!
//! The place where a page ends says all that the next one needs, so nothing is kept for a pass that nobody ends. Pages
//! read and never write.

use super::identity::Link;
use super::node::{BrokenWalks, Circle, Walk};
use super::word::{Word, bucket_key};
use super::{Node, Pointer, Store, StoreError, limits};
use crate::driver::kv::Kv;
use std::fmt;
use std::str::FromStr;

/// A place in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The bucket to go on with.
    pub bucket: u32,
    /// The node in it to go on behind, by its pointer's number; `None` to begin with the newest one.
    behind: Option<u64>,
}

impl Place {
    /// The most digits of a bucket's number.
    const BUCKET_DIGITS: usize = 7;
    const POINTER_DIGITS: usize = 16;
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.behind {
            None => write!(f, "{}", self.bucket),
            Some(behind) => write!(f, "{}.{behind:016x}", self.bucket),
        }
    }
}

/// The text is not the place of any pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPlace;

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let (bucket, behind) = match text.split_once('.') {
            None => (text, None),
            Some((bucket, behind)) => (bucket, Some(behind)),
        };
        // Neither number has a sign or a prefix, which their parsers would take.
        let is_number = !bucket.is_empty()
            && bucket.len() <= Self::BUCKET_DIGITS
            && bucket.bytes().all(|digit| digit.is_ascii_digit());
        let is_pointer = |text: &str| {
            text.len() == Self::POINTER_DIGITS
                && text
                    .bytes()
                    .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !is_number || !behind.is_none_or(is_pointer) {
            return Err(NoPlace);
        }
        let behind = behind.map(|text| u64::from_str_radix(text, 16));
        Ok(Self {
            bucket: bucket.parse().map_err(|_| NoPlace)?,
            behind: behind.transpose().map_err(|_| NoPlace)?,
        })
    }
}

/// How much one page may read. A page comes a node further at least, so it takes two reads and one word at the least.
#[derive(Debug, Clone, Copy)]
pub struct PageLimits {
    /// Values that are read one by one: each node; and each word, where a store does not read many in one call.
    pub reads: u32,
    /// Words where it does.
    pub words: u32,
}

/// What a page went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Where the next page begins; `None` behind the last one.
    pub next: Option<Place>,
    /// Buckets that were gone through to their end.
    pub buckets: u32,
    /// Those of them whose values are not what they should be, so that not all of them was seen.
    pub failed: u32,
}

impl<K: Kv> Store<K> {
    /// Shows the nodes from a place on to `visit`, at most as many as the limits allow reads, until it wants no more.
    pub async fn page(
        &self,
        from: Place,
        limits: PageLimits,
        now_ms: u64,
        visit: &mut dyn FnMut(&Node) -> Walk,
    ) -> Result<Page, StoreError> {
        let total = self.layout.buckets();
        let mut left = PageLimits {
            reads: limits.reads.max(2),
            words: limits.words.max(1),
        };
        let mut page = Page {
            next: None,
            buckets: 0,
            failed: 0,
        };
        let mut behind = from.behind.and_then(Pointer::from_raw);
        // A page that begins within a chain needs no word for it.
        let is_within = from.behind.is_some() && from.bucket < total;
        let mut heads = vec![Link::End; usize::from(is_within)];
        loop {
            for head in heads {
                let bucket = from.bucket + page.buckets;
                let down = self.down(bucket, head, behind.take(), &mut left, now_ms, visit);
                match down.await {
                    Ok(None) => {}
                    Ok(next @ Some(_)) => return Ok(Page { next, ..page }),
                    Err(StoreError::Corrupt { .. }) => page.failed += 1,
                    Err(error) => return Err(error),
                }
                page.buckets += 1;
            }
            let bucket = from.bucket + page.buckets;
            heads = self.heads(bucket, &mut left, &mut page.failed).await?;
            if heads.is_empty() {
                let next = Place {
                    bucket,
                    behind: None,
                };
                page.next = (bucket < total).then_some(next);
                return Ok(page);
            }
        }
    }

    /// Where the chains of the next buckets begin, of as many as one call reads; of none behind the last bucket, or when
    /// there is nothing left to read their words with.
    async fn heads(
        &self,
        first: u32,
        left: &mut PageLimits,
        failed: &mut u32,
    ) -> Result<Vec<Link>, StoreError> {
        let reads_many = self.layout.creation().reads_many();
        let (at_once, left) = if reads_many {
            (limits::WORDS_AT_ONCE, &mut left.words)
        } else {
            (1, &mut left.reads)
        };
        let ahead = self.layout.buckets().saturating_sub(first);
        let count = at_once.min(*left).min(ahead);
        *left -= count;
        let keys = (first..first + count).map(bucket_key);
        let words = if reads_many && count > 0 {
            self.kv.get_many(keys.collect()).await?
        } else {
            let mut words = Vec::new();
            for key in keys {
                words.extend(self.kv.get(&key).await?.map(|word| (key, word)));
            }
            words
        };
        let mut heads = vec![Link::End; usize::try_from(count).expect("few")];
        for (key, word) in words {
            let link = Word::decode(&key, Some(&word)).and_then(|word| word.link(&key));
            // The words come in any order.
            let at =
                bucket_of(&key).and_then(|bucket| usize::try_from(bucket.checked_sub(first)?).ok());
            match (at.and_then(|at| heads.get_mut(at)), link) {
                (Some(head), Ok(link)) => *head = link,
                (None, _) | (_, Err(_)) => *failed += 1,
            }
        }
        Ok(heads)
    }

    /// Goes down one chain, from its head or from behind a node of it. `None` when it was gone through; else where to go
    /// on.
    async fn down(
        &self,
        bucket: u32,
        head: Link,
        behind: Option<Pointer>,
        left: &mut PageLimits,
        now_ms: u64,
        visit: &mut dyn FnMut(&Node) -> Walk,
    ) -> Result<Option<Place>, StoreError> {
        let place = |behind: Option<Pointer>| {
            let behind = behind.map(Pointer::raw);
            Ok(Some(Place { bucket, behind }))
        };
        let mut last = behind;
        let mut is_last_live = true;
        let mut broken = BrokenWalks::default();
        let mut circle = Circle::default();
        let mut link = head;
        let mut is_link_open = behind.is_some();
        loop {
            if is_link_open {
                // The page begins here; or what the link led to is gone, so the link should have changed since.
                if left.reads == 0 {
                    return place(last);
                }
                left.reads -= 1;
                let Some(next) = self.link_behind(bucket, last).await? else {
                    return Ok(None);
                };
                link = next;
            }
            let Some(pointer) = link.next() else {
                return Ok(None);
            };
            if left.reads == 0 {
                return place(last);
            }
            left.reads -= 1;
            let node = self.read_node(pointer).await?;
            is_link_open = node.is_none();
            let Some(node) = node else {
                if !is_last_live {
                    // Behind an expired node there are expired ones alone, which a purge is about to delete.
                    return Ok(None);
                }
                broken.note(pointer)?;
                continue;
            };
            if circle.closes_at(pointer) {
                let why = "its chain is a circle";
                return Err(StoreError::Corrupt {
                    key: pointer.key(),
                    why,
                });
            }
            (last, is_last_live, link) = (Some(pointer), node.is_live(now_ms), node.next);
            if visit(&node) == Walk::Stop {
                return place(last);
            }
        }
    }

    /// What the chain of a bucket goes on with behind this node, or begins with. `None` where that is gone: a purge deletes
    /// the oldest node first, so behind one that is not there any more there is nothing.
    async fn link_behind(
        &self,
        bucket: u32,
        node: Option<Pointer>,
    ) -> Result<Option<Link>, StoreError> {
        let Some(pointer) = node else {
            let key = bucket_key(bucket);
            return Ok(Some(self.read_word(&key).await?.link(&key)?));
        };
        let node = self.read_node(pointer).await?;
        // A place may be made up. Only a node of this bucket leads on in it.
        let bits = self.layout.bucket_bits();
        let node = node.filter(|node| node.identity().bucket(bits) == bucket);
        Ok(node.map(|node| node.next))
    }
}

/// The bucket of a word's key.
fn bucket_of(key: &str) -> Option<u32> {
    u32::from_str_radix(key.strip_prefix("w/b/")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_and_read_back() {
        let table = [
            ("0", Some((0, None))),
            ("16383", Some((16_383, None))),
            ("007", Some((7, None))),
            ("9999999", Some((9_999_999, None))),
            ("5.00000000000000ff", Some((5, Some(255)))),
            ("5.ffffffffffffffff", Some((5, Some(u64::MAX)))),
            ("", None),
            ("+5", None),
            ("-1", None),
            ("10000000", None),
            ("5.", None),
            ("5.ff", None),
            ("5.00000000000000FF", None),
            ("5.+0000000000000ff", None),
            (".00000000000000ff", None),
            ("5.00000000000000ff.1", None),
            ("x", None),
        ];
        for (text, expected) in table {
            let place = text.parse::<Place>().ok();
            let expected = expected.map(|(bucket, behind)| Place { bucket, behind });
            assert_eq!(place, expected, "{text}");
            if let Some(place) = place {
                assert_eq!(place.to_string().parse(), Ok(place), "{text}");
            }
        }
    }
}
