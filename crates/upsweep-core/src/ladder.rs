//! The ladder: a sum in seven steps from a naive kernel to a good one, each of which removes one bottleneck.
//!
//! The steps are those of Mark Harris, *Optimizing Parallel Reduction in CUDA* (NVIDIA, 2007), as kernels for the GPUs of
//! today. What they are called, what each changes and how many launches each takes is said here, for all backends;
//! `docs/ladder.md` explains them.

use core::fmt;
use core::time::Duration;

use crate::Result;

/// One of the seven steps. Its number is its place, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LadderStep {
    /// Interleaved addressing: every second thread adds its neighbour's value, then every fourth, and so on.
    Interleaved,
    /// The same additions by neighbouring threads, at an index that is a multiple of the distance.
    Strided,
    /// Sequential addressing: the first half of the threads adds the values of the second half.
    Sequential,
    /// Each thread adds two items while it loads them.
    FirstAdd,
    /// One subgroup folds the last values without barriers of the workgroup.
    LastSubgroup,
    /// The workgroup's size is known when the kernel is compiled, and all rounds are written out.
    Unrolled,
    /// Algorithm cascading: each thread adds many items before the workgroup folds.
    Cascading,
}

impl LadderStep {
    /// Every step, from the bottom up.
    pub const ALL: [Self; 7] = [
        Self::Interleaved,
        Self::Strided,
        Self::Sequential,
        Self::FirstAdd,
        Self::LastSubgroup,
        Self::Unrolled,
        Self::Cascading,
    ];

    /// Its name, which is that of its kernel.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interleaved => "interleaved",
            Self::Strided => "strided",
            Self::Sequential => "sequential",
            Self::FirstAdd => "first_add",
            Self::LastSubgroup => "last_subgroup",
            Self::Unrolled => "unrolled",
            Self::Cascading => "cascading",
        }
    }

    /// What its kernel does otherwise than the one before; of the first, what it does.
    pub fn change(self) -> &'static str {
        match self {
            Self::Interleaved => {
                "every second thread adds its neighbour's value, then every fourth, …"
            }
            Self::Strided => "the threads that add are neighbours",
            Self::Sequential => "the values that are added lie side by side",
            Self::FirstAdd => "each thread adds two items while it loads",
            Self::LastSubgroup => "one subgroup folds the last values",
            Self::Unrolled => "the workgroup's size is known to the compiler",
            Self::Cascading => "each thread adds many items before the workgroup folds",
        }
    }

    /// The bottleneck of the step before that this one removes; the first removes none.
    pub fn bottleneck(self) -> Option<&'static str> {
        match self {
            Self::Interleaved => None,
            Self::Strided => Some("divergent branches, remainders"),
            Self::Sequential => Some("bank conflicts"),
            Self::FirstAdd => Some("threads that only load"),
            Self::LastSubgroup => Some("barriers of the last rounds"),
            Self::Unrolled => Some("loops and their counters"),
            Self::Cascading => Some("a fold for every few items"),
        }
    }

    /// The launches of a sum of `items` items by workgroups of `threads` threads, of which a step that chooses their number
    /// starts at most `most_workgroups`. The last leaves one value.
    ///
    /// # Panics
    /// If there are no threads.
    pub fn passes(self, items: u64, threads: u32, most_workgroups: u32) -> Vec<Pass> {
        let of_workgroup = match self {
            Self::Interleaved | Self::Strided | Self::Sequential => u64::from(threads),
            _ => 2 * u64::from(threads),
        };
        let mut passes = Vec::new();
        let mut left = items;
        loop {
            let all = left.div_ceil(of_workgroup).max(1);
            let workgroups = match (self, passes.len()) {
                (Self::Cascading, 0) => all.min(u64::from(most_workgroups)),
                // Its workgroups take any number of items.
                (Self::Cascading, _) => 1,
                _ => all,
            };
            passes.push(Pass { items: left, workgroups });
            if workgroups == 1 {
                return passes;
            }
            left = workgroups;
        }
    }
}

impl fmt::Display for LadderStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One launch of a step: each workgroup leaves one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Items of the array, or values that the launch before has left.
    pub items: u64,
    /// Workgroups.
    pub workgroups: u64,
}

/// What is run on the ladder: a step, or beside them the library's own reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// One of the steps.
    Step(LadderStep),
    /// The library's reduction as it comes.
    Library,
}

impl Rung {
    /// Every one: the steps from the bottom up, then the library's reduction.
    pub fn all() -> impl Iterator<Item = Self> {
        LadderStep::ALL.into_iter().map(Self::Step).chain([Self::Library])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step(step) => step.name(),
            Self::Library => "reduce",
        }
    }

    /// What it does otherwise than the one before.
    pub fn change(self) -> &'static str {
        match self {
            Self::Step(step) => step.change(),
            Self::Library => "the library's own: wide loads, many at once, mostly in one launch",
        }
    }

    /// The bottleneck that it removes, if it removes one.
    pub fn bottleneck(self) -> Option<&'static str> {
        match self {
            Self::Step(step) => step.bottleneck(),
            Self::Library => Some("narrow loads, further launches"),
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The ladder of one GPU over one array of `u32`, which lies in the GPU's memory: what a backend gives.
pub trait Rungs: fmt::Debug + Send {
    /// The sum of all items, wrapping. Waits for it.
    ///
    /// # Errors
    /// Those of the device.
    fn sum(&mut self, rung: Rung) -> Result<u32>;

    /// Runs a rung `runs` times, one after another, and returns how long all launches of each run took together, by the
    /// device's clock; `None` if it has none.
    ///
    /// # Errors
    /// Those of the device.
    fn time(&mut self, rung: Rung, runs: u32) -> Result<Option<Vec<Duration>>>;

    /// As [`time`](Rungs::time), of the limit: the array is read once, and nothing is added.
    ///
    /// # Errors
    /// Those of the device.
    fn time_limit(&mut self, runs: u32) -> Result<Option<Vec<Duration>>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(step: LadderStep, items: u64) -> Vec<(u64, u64)> {
        let passes = step.passes(items, 256, 1000);
        passes.into_iter().map(|pass| (pass.items, pass.workgroups)).collect()
    }

    #[test]
    fn a_launch_takes_what_the_one_before_has_left() {
        use LadderStep::{Cascading, FirstAdd, Interleaved, Unrolled};
        assert_eq!(passes(Interleaved, 256), [(256, 1)]);
        assert_eq!(passes(Interleaved, 257), [(257, 2), (2, 1)]);
        assert_eq!(passes(Interleaved, 65_537), [(65_537, 257), (257, 2), (2, 1)]);
        assert_eq!(passes(FirstAdd, 512), [(512, 1)]);
        assert_eq!(passes(Unrolled, 1 << 22), [(1 << 22, 1 << 13), (1 << 13, 16), (16, 1)]);
        assert_eq!(passes(Cascading, 512), [(512, 1)]);
        assert_eq!(passes(Cascading, 513), [(513, 2), (2, 1)]);
        assert_eq!(passes(Cascading, 1 << 40), [(1 << 40, 1000), (1000, 1)]);
        for step in LadderStep::ALL {
            assert_eq!(passes(step, 0), [(0, 1)]);
            assert_eq!(passes(step, 1), [(1, 1)]);
        }
    }

    #[test]
    fn rungs_have_names_of_their_own_and_a_bottleneck_but_for_the_first() {
        let mut names: Vec<_> = Rung::all().map(Rung::name).collect();
        assert_eq!(names.len(), 8);
        assert!(Rung::all().skip(1).all(|rung| rung.bottleneck().is_some()));
        assert_eq!(Rung::Step(LadderStep::ALL[0]).bottleneck(), None);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 8);
    }
}
