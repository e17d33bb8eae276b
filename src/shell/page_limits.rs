//! How much one page of what operators list may read and hold, each limit with its why.

use crate::driver::store::PageLimits;

/// What one page may read, of operations and of dead letters alike. A thousand reads take a fraction of a second on every
/// store. Where words are read many at a time, those of all the buckets that a store usually has come with them, so that
/// a store with few records is one page.
pub(super) const READS: PageLimits = PageLimits {
    reads: 1_024,
    words: 16_384,
};
/// Operations on one page, if the request does not say: about a screenful.
pub(super) const OPERATIONS_DEFAULT: usize = 50;
/// Operations on one page at most. Each takes half a kilobyte, so a page stays within a hundred.
pub(super) const OPERATIONS_MAX: usize = 200;
/// Dead letters after which a page ends. They are as large; the last record's are shown together, at most sixteen.
pub(super) const LETTERS: usize = 200;
