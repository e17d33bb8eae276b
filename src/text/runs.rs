//! Looking a code point up in the table of [`super::table`].

use std::sync::LazyLock;

use super::class::Class;
use super::table::{CLASSES, RUNS};

/// How many bits of a run's entry are its class.
const CLASS_BITS: u32 = 8;
/// How many code points are looked up in a list of their own: those of ASCII, of which most texts are full.
const ASCII: usize = 128;

/// The table as it is searched.
struct Table {
    ascii: [u8; ASCII],
    /// For each run of code points of one class the first of them, and the class in the lowest bits.
    runs: Vec<u32>,
}

/// Unpacked when the first text is looked at, which takes less than writing its record.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut runs = Vec::new();
    let mut start = 0_u32;
    unpack(RUNS, |class, len| {
        runs.push(start << CLASS_BITS | u32::from(class));
        start += len;
    });
    let mut ascii = [0; ASCII];
    for (code, class) in (0..).zip(&mut ascii) {
        *class = search(&runs, code);
    }
    Table { ascii, runs }
});

fn search(runs: &[u32], code: u32) -> u8 {
    let behind = runs.partition_point(|run| run >> CLASS_BITS <= code);
    // The first run starts at 0, so one starts at or before any code point.
    let [class, ..] = runs[behind - 1].to_le_bytes();
    class
}

/// The class of a code point, but for what the table leaves to arithmetic.
pub(super) fn class_of(char: char) -> Class {
    let table = &*TABLE;
    let class = match table.ascii.get(char as usize) {
        Some(class) => *class,
        None => search(&table.runs, char.into()),
    };
    CLASSES[usize::from(class)]
}

/// Calls back with the class and the length of each run. A run is a byte with its class, whose highest bit says that
/// the run is a single code point; if not, its length follows, seven bits a byte, the lowest first, and the highest bit
/// says that more follow.
fn unpack(packed: &[u8], mut each: impl FnMut(u8, u32)) {
    const MORE: u8 = 0x80;
    let mut bytes = packed.iter().copied();
    while let Some(class) = bytes.next() {
        let mut len = u32::from(class & MORE != 0);
        if len == 0 {
            let mut shift = 0;
            for byte in bytes.by_ref() {
                len |= u32::from(byte & !MORE) << shift;
                shift += 7;
                if byte & MORE == 0 {
                    break;
                }
            }
        }
        each(class & !MORE, len);
    }
}
