//! Reading what is stored under a version: it comes first, so that a form that is not known is told from a damaged one.

use super::{Cursor, Members, Misfit};
use std::ops::RangeInclusive;

/// Why bytes are not what is read from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// They name this version, which is not read here. What else they are is not looked at.
    OtherVersion(u64),
    /// They are not what is written under their version.
    Malformed(Misfit),
}

/// Reads an object whose first member, `v`, is one of these versions, with nothing behind it.
pub fn versioned<T>(
    bytes: &[u8],
    versions: RangeInclusive<u64>,
    read: impl FnOnce(&mut Members<'_, '_>) -> Result<T, Misfit>,
) -> Result<T, Unread> {
    let mut other = None;
    let value = Cursor::new(bytes).and_then(|mut cursor| {
        let value = cursor.object(|members| {
            let version = members.take("v")?;
            if !versions.contains(&version) {
                other = Some(version);
                return Err(Misfit::new("of another version"));
            }
            read(members)
        })?;
        cursor.end()?;
        Ok(value)
    });
    value.map_err(|misfit| other.map_or(Unread::Malformed(misfit), Unread::OtherVersion))
}
