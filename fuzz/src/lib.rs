//! Fuzz targets: functions of any bytes that panic if a device and the oracle disagree.

mod bytes;
mod primitives;
mod stream;

pub use primitives::{reduce, scan};
pub use stream::streams;

/// A target: panics if something is wrong.
pub type Target = fn(&[u8]);

/// Every target with its name.
pub const TARGETS: [(&str, Target); 3] = [("reduce", reduce), ("scan", scan), ("streams", streams)];

#[cfg(test)]
mod tests {
    use super::TARGETS;

    /// The shortest inputs, and one that is longer than what any target reads.
    #[test]
    fn any_bytes_are_a_problem() {
        for (_, target) in TARGETS {
            target(&[]);
            for byte in 0..=u8::MAX {
                target(&[byte]);
                target(&[byte; 9]);
                target(&[byte; 64]);
            }
        }
    }
}
