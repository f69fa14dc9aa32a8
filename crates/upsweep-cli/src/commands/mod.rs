//! What each command does with its arguments.

pub(crate) mod bench;
pub(crate) mod devices;
pub(crate) mod explain;
pub(crate) mod ladder;
pub(crate) mod reduce;
pub(crate) mod report;
pub(crate) mod scan;
mod segments;
pub(crate) mod tune;
