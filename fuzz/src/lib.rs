//! Fuzz targets: functions of any bytes that panic if a device and the oracle disagree.

mod bytes;
mod numbers;
mod primitives;
mod stream;

pub use primitives::{reduce, scan};
pub use stream::streams;

/// A target: panics if something is wrong.
pub type Target = fn(&[u8]);

/// Every target with its name.
pub const TARGETS: [(&str, Target); 3] = [("reduce", reduce), ("scan", scan), ("streams", streams)];
