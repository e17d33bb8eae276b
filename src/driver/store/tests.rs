//! The store protocol, checked.
