//! Calls that explain themselves: which strategy, why, how fast, how far from the limit of memory, and what stands in the way.
//!
//! [`reduce`], [`position`] and [`scan`] do a call as the functions of the same names outside of this module do, some tens of times,
//! each in turns with the limit: as many bytes, moved on the same device without arithmetic. What they found out is a [`Report`].
//!
//! ```
//! use upsweep::{Device, Reduce, Sum, explain};
//! let items = vec![1.5f32; 1 << 16];
//! let report = explain::reduce(&Device::cpu(), &items, &Reduce::<f32, _>::new(Sum))?;
//! assert_eq!(report.bytes, 4 << 16);
//! assert!(report.shape.is_some_and(|shape| shape.threads >= 1)); // and on a GPU `launches`
//! println!("{report}");
//! # Ok::<(), upsweep::Error>(())
//! ```

mod calls;
mod clock;
mod facts;
mod text;

use std::time::Duration;

use crate::strategy::{CpuShape, Policy, Strategy};
pub use upsweep_core::{Launch, Quartiles, Why};

#[cfg(feature = "any")]
pub(crate) use calls::{ExplainableCall, explain};
pub use calls::{position, reduce, scan};
#[cfg(feature = "any")]
pub(crate) use facts::Facts;

/// What a call did, and how long it took. Displayed, it is a page of text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The id of the device, and its name.
    pub device: [String; 2],
    /// What was done: `reduce`, `argmin`, `argmax`, `inclusive_scan` or `exclusive_scan`.
    pub primitive: &'static str,
    /// The operator's name.
    pub operator: &'static str,
    /// The types of an item that is read, and of what comes out.
    pub types: [String; 2],
    /// Items that are read.
    pub items: u64,
    /// Which algorithm, at each level.
    pub strategy: Strategy,
    /// The numbers that were asked for, by the caller or by a profile, or of a CPU. Where rules chose, [`launches`](Self::launches)
    /// say what came of it.
    pub policy: Option<Policy>,
    /// What the numbers of a CPU come to in this call; nothing on a GPU.
    pub shape: Option<CpuShape>,
    /// Why these.
    pub why: Why,
    /// Where the profile came from that the device reads, if it reads one.
    pub profile: Option<String>,
    /// The fewest bytes that any strategy must move: each item read once, each output written once.
    pub bytes: u64,
    /// Bytes that this one moves.
    pub bytes_moved: u64,
    /// Bytes of scratch memory.
    pub scratch_bytes: u64,
    /// Launches on a GPU.
    pub launches: Vec<Launch>,
    /// What the profile lets expect.
    pub predicted: Option<Duration>,
    /// How long the call took; on a GPU with a clock, on that device, its arrays being there.
    pub time: Quartiles,
    /// How long as many bytes took that were moved without arithmetic.
    pub limit: Quartiles,
    /// How long the same call took of a single item.
    pub least: Quartiles,
    /// How long the host waited from the call to its end, arrays being where they are worked on.
    pub call: Quartiles,
    /// How long the first call took: on a GPU with what makes kernels ready, unless they were.
    pub first: Duration,
    /// How long a GPU took to be given the input, if it was in the host's memory.
    pub upload: Option<Duration>,
    /// What most of the time goes to.
    pub bound: Bound,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Memory: it is near the speed of moving the bytes, and no strategy that moves as many can be much faster.
    Bandwidth,
    /// One thing after another within the call: a single item takes nearly as long. Larger arrays, or several at once, gain most.
    Latency,
    /// The host's part: the device is done long before the host has its answer. Many calls in one submission, or a graph, gain most.
    Launch,
    /// Neither of these: instructions.
    Arithmetic,
}

/// Of the limit's speed, from here on it is memory that is waited for.
const NEAR: f64 = 0.8;

/// From here on what is the same for a single item is most of the time.
const MOST: f64 = 0.5;

impl Bound {
    /// What these times say; the last is the host's.
    fn of(time: Duration, limit: Duration, least: Duration, call: Duration) -> Self {
        let [time, limit, least, call] = [time, limit, least, call].map(|t| t.as_secs_f64());
        if least < MOST * time {
            if limit >= NEAR * time { Self::Bandwidth } else { Self::Arithmetic }
        } else if time < MOST * call {
            Self::Launch
        } else {
            Self::Latency
        }
    }
}

impl Report {
    /// Whether a profile chose.
    pub fn is_profiled(&self) -> bool {
        matches!(self.why, Why::Profile { .. })
    }

    /// How much of the limit's speed is reached, in per cent; `None` where a clock is too coarse.
    pub fn percent_of_limit(&self) -> Option<f64> {
        Some(100.0 * self.time.gbps(self.bytes)? / self.limit.gbps(self.bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for() {
        let of = |times: [u64; 4]| {
            let [time, limit, least, call] = times.map(Duration::from_micros);
            Bound::of(time, limit, least, call)
        };
        assert_eq!(of([100, 95, 4, 110]), Bound::Bandwidth);
        assert_eq!(of([100, 60, 4, 110]), Bound::Arithmetic);
        assert_eq!(of([5, 4, 4, 8]), Bound::Latency);
        assert_eq!(of([5, 4, 4, 20]), Bound::Launch);
    }
}
