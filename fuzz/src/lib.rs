//! Fuzz targets: functions of any bytes that panic if a device and the oracle disagree.

mod compaction;
mod input_bytes;
mod one_shot;
mod runtime_typed;
mod streams;

pub use compaction::compact;
pub use one_shot::{reduce, scan};
pub use streams::streams;

/// A target: panics if something is wrong.
pub type Target = fn(&[u8]);

/// Every target with its name.
pub const TARGETS: [(&str, Target); 4] =
    [("reduce", reduce), ("scan", scan), ("streams", streams), ("compact", compact)];
