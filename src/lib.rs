//! Reprise makes a POST safe to repeat.
