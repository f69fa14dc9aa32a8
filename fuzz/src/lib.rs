//! Fuzz targets: functions of any bytes that panic if a device and the oracle disagree.

mod axes;
mod compaction;
mod input_bytes;
mod one_shot;
mod runtime_typed;
mod streams;

pub use axes::axes;
pub use compaction::compact;
pub use one_shot::{reduce, scan};
pub use streams::streams;

/// A target: panics if something is wrong.
pub type Target = fn(&[u8]);

/// Every target with its name.
pub const TARGETS: [(&str, Target); 5] = [
    ("reduce", reduce),
    ("scan", scan),
    ("streams", streams),
    ("compact", compact),
    ("axes", axes),
];
