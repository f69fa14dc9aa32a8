//! What each command does with its arguments.

pub(crate) mod axes;
pub(crate) mod bench;
pub(crate) mod devices;
pub(crate) mod explain;
mod kept;
pub(crate) mod ladder;
pub(crate) mod partition;
pub(crate) mod positions;
pub(crate) mod reduce;
pub(crate) mod reduce_by_key;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod scan;
mod segments;
pub(crate) mod select;
pub(crate) mod tune;
