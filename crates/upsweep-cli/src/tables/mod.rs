//! What was measured, as tables for people.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod ladder;
pub(crate) mod tune;
