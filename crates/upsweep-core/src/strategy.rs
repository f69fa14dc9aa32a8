//! Which algorithm, at each level (strategy), and with which numbers (policy).
//!
//! A policy changes speed and never a result. Not every cell runs on every device: a backend
//! refuses a strategy by name, with the reason, as [`Error::StrategyRefused`].

use core::fmt::{self, Display};
use core::str::FromStr;

use crate::Error;

/// Declares an enumeration whose variants have names on the command line and in reports.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident, $what:literal { $($(#[$variant_doc:meta])* $variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $type {
            /// Every variant, in order of declaration.
            pub const ALL: &'static [$type] = &[$($type::$variant),*];

            /// The name on the command line and in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                }
            }
        }

        impl Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self, Error> {
                Self::ALL.iter().copied().find(|variant| variant.name() == name).ok_or_else(|| {
                    Error::UnknownName {
                        what: $what,
                        name: name.into(),
                        known: [$($name),*].join(" "),
                    }
                })
            }
        }
    };
}

named! {
    /// How the work is done on a CPU.
    CpuStrategy, "CPU strategy" {
        /// One thread, one item at a time.
        Scalar "scalar",
        /// One thread, vectors of the widest instruction set found.
        Simd "simd",
        /// Vectors on every thread, for inputs that are large enough to pay for waking them.
        SimdThreads "simd+threads",
    }
}

named! {
    /// Which items neighbouring threads of a workgroup load.
    Arrangement, "arrangement" {
        /// Neighbouring threads load neighbouring items.
        Striped "striped",
        /// Each thread loads a run of items.
        Blocked "blocked",
    }
}

named! {
    /// Bytes of one memory access of a thread.
    AccessWidth, "access width" {
        /// 4 bytes.
        Bytes4 "4",
        /// 8 bytes.
        Bytes8 "8",
        /// 16 bytes.
        Bytes16 "16",
    }
}

named! {
    /// What a kernel does about items behind the end.
    Tail, "tail" {
        /// Every access is checked against the length.
        Checked "checked",
        /// Whole tiles are loaded without a check; only the last tile is checked.
        Exact "exact",
    }
}

named! {
    /// How a workgroup folds the values of its threads.
    ReduceLocal, "local reduction" {
        /// A tree in shared memory with sequential addressing.
        SharedMemory "shared-memory",
        /// One subgroup rakes over shared memory.
        Raking "raking",
        /// Subgroup operations, then one subgroup folds the partials.
        Cooperative "cooperative",
    }
}

named! {
    /// How the partials of workgroups become one value.
    ReduceGlobal, "global reduction" {
        /// Further launches over the partials.
        MultiLevel "multi-level",
        /// One hardware atomic per workgroup, where type and device have one.
        Atomic "atomic",
        /// A single launch: the last workgroup to finish folds the partials.
        LastBlock "last-block",
    }
}

named! {
    /// How a workgroup scans the values of its threads.
    ScanLocal, "local scan" {
        /// Hillis and Steele's scan in subgroups.
        Cooperative "cooperative",
        /// Blelloch's work-efficient tree.
        Blelloch "blelloch",
        /// One subgroup rakes over shared memory.
        Raking "raking",
    }
}

named! {
    /// How tiles learn what comes before them.
    ScanGlobal, "global scan" {
        /// Scan every tile, scan the aggregates, add: about 4n of traffic.
        ScanThenPropagate "scan-then-propagate",
        /// Upsweep, spine, downsweep: about 3n.
        ReduceThenScan "reduce-then-scan",
        /// A single pass, about 2n; only where workgroups make forward progress.
        LookBack "look-back",
        /// A single pass that is safe without that promise.
        LookBackFallback "look-back-fallback",
        /// A single pass of persistent workgroups that exchange aggregates only.
        Aggregates "aggregates",
    }
}

named! {
    /// How a GPU goes through the rows of an n-dimensional array.
    RowsStrategy, "strategy of rows" {
        /// Threads lie along rows: several rows to a subgroup, or parts of long ones.
        Along "along",
        /// Threads lie across rows, as where these are columns of memory.
        Across "across",
        /// All workgroups take one row after another, whose items are neighbours in memory.
        EachRow "each-row",
        /// One launch of the single-pass scan, to which each row is an array of its own: rows whose items are neighbours in memory.
        Batched "batched",
    }
}

/// How a kernel loads items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Load {
    /// Which items neighbouring threads load.
    pub arrangement: Arrangement,
    /// Bytes of one access.
    pub width: AccessWidth,
    /// What is done about the end.
    pub tail: Tail,
}

impl Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.arrangement, self.width, self.tail)
    }
}

/// A reduction on a GPU, level by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GpuReduceStrategy {
    /// How items are loaded.
    pub load: Load,
    /// Within the workgroup.
    pub local: ReduceLocal,
    /// Among workgroups.
    pub global: ReduceGlobal,
}

/// A scan on a GPU, level by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GpuScanStrategy {
    /// How items are loaded.
    pub load: Load,
    /// Within the workgroup.
    pub local: ScanLocal,
    /// Among workgroups.
    pub global: ScanGlobal,
}

/// One cell of the strategy space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Any primitive on a CPU.
    Cpu(CpuStrategy),
    /// A reduction on a GPU.
    GpuReduce(GpuReduceStrategy),
    /// A scan on a GPU.
    GpuScan(GpuScanStrategy),
}

impl Load {
    /// Every way to load.
    pub fn all() -> impl Iterator<Item = Load> {
        Arrangement::ALL.iter().flat_map(|&arrangement| {
            AccessWidth::ALL.iter().flat_map(move |&width| {
                Tail::ALL.iter().map(move |&tail| Load { arrangement, width, tail })
            })
        })
    }
}

impl FromStr for Load {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let mut parts = name.splitn(3, '-');
        let mut part = || parts.next().unwrap_or_default();
        Ok(Load { arrangement: part().parse()?, width: part().parse()?, tail: part().parse()? })
    }
}

impl GpuReduceStrategy {
    /// Every cell.
    pub fn all() -> impl Iterator<Item = Self> {
        Load::all().flat_map(|load| {
            ReduceLocal::ALL.iter().flat_map(move |&local| {
                ReduceGlobal::ALL.iter().map(move |&global| Self { load, local, global })
            })
        })
    }
}

impl GpuScanStrategy {
    /// Every cell.
    pub fn all() -> impl Iterator<Item = Self> {
        Load::all().flat_map(|load| {
            ScanLocal::ALL.iter().flat_map(move |&local| {
                ScanGlobal::ALL.iter().map(move |&global| Self { load, local, global })
            })
        })
    }
}

/// `load/local/global`, each by its own name.
fn levels(name: &str) -> [&str; 3] {
    let mut parts = name.splitn(3, '/');
    [(); 3].map(|()| parts.next().unwrap_or_default())
}

impl FromStr for GpuReduceStrategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let [load, local, global] = levels(name);
        Ok(Self { load: load.parse()?, local: local.parse()?, global: global.parse()? })
    }
}

impl FromStr for GpuScanStrategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let [load, local, global] = levels(name);
        Ok(Self { load: load.parse()?, local: local.parse()?, global: global.parse()? })
    }
}

impl Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Cpu(strategy) => strategy.fmt(f),
            Strategy::GpuReduce(s) => write!(f, "{}/{}/{}", s.load, s.local, s.global),
            Strategy::GpuScan(s) => write!(f, "{}/{}/{}", s.load, s.local, s.global),
        }
    }
}

/// The numbers of a CPU strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPolicy {
    /// Calls that read fewer bytes than this stay on one thread; above, each sixteenth of it pays for a thread.
    pub serial_bytes: usize,
    /// The same of scans, and of the bytes that they read and write: several threads read each item twice, and hand on what comes into
    /// blocks.
    pub scan_serial_bytes: usize,
    /// Bytes that a thread of a reduction takes at once, at most; short calls are cut into more pieces, so that all threads have some.
    pub block_bytes: usize,
    /// Bytes that a thread of a scan takes at once, at most, and keeps in its own cache between the two
    /// times it reads them.
    pub scan_block_bytes: usize,
    /// A scan on several threads of at most 2^24 items that reads and writes at most this many bytes, and not past the caches, gives each thread a
    /// part of its own, as one that their own caches hold; the size of its blocks follows from its length.
    pub scan_parts_bytes: usize,
    /// Outputs of at least this many bytes are written past the caches.
    pub streaming_bytes: usize,
    /// Inputs of a reduction of at least this many bytes are read in halves of lines where the
    /// instruction set could read whole ones.
    pub half_line_bytes: usize,
    /// Outputs of a scan of at least this many bytes by several threads past the caches are written so, if only half a line at a time can be
    /// turned about in registers.
    pub scan_half_line_bytes: usize,
}

impl CpuPolicy {
    /// More bytes than any array has.
    pub const NEVER: usize = isize::MAX as usize;
}

/// The numbers of a GPU strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkgroupPolicy {
    /// Threads of one workgroup.
    pub threads_per_workgroup: u32,
    /// Items that one thread handles of a tile.
    pub items_per_thread: u32,
}

/// The numbers of a strategy, chosen by a pure function of the device's limits and the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Of a CPU strategy.
    Cpu(CpuPolicy),
    /// Of a GPU strategy.
    Workgroup(WorkgroupPolicy),
}

/// What to use of a GPU. What is not given is chosen for each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Strategy of reductions.
    pub reduce: Option<GpuReduceStrategy>,
    /// Strategy of scans.
    pub scan: Option<GpuScanStrategy>,
    /// The numbers of both. They change speed, never a result.
    pub policy: Option<WorkgroupPolicy>,
    /// Strategy of rows of n-dimensional arrays.
    pub rows: Option<RowsStrategy>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for strategy in CpuStrategy::ALL {
            assert_eq!(strategy.name().parse::<CpuStrategy>().as_ref(), Ok(strategy));
        }
        let error = "quick".parse::<ScanGlobal>().expect_err("no such name").to_string();
        assert!(error.contains("'quick'") && error.contains("look-back-fallback"), "{error}");
    }

    #[test]
    fn a_gpu_strategy_names_its_three_levels() {
        let load = Load {
            arrangement: Arrangement::Striped,
            width: AccessWidth::Bytes16,
            tail: Tail::Exact,
        };
        let strategy = Strategy::GpuScan(GpuScanStrategy {
            load,
            local: ScanLocal::Cooperative,
            global: ScanGlobal::LookBack,
        });
        assert_eq!(strategy.to_string(), "striped-16-exact/cooperative/look-back");
    }

    #[test]
    fn every_cell_has_a_name_that_reads_back() {
        assert_eq!(GpuReduceStrategy::all().count(), 108);
        assert_eq!(GpuScanStrategy::all().count(), 180);
        for strategy in GpuReduceStrategy::all() {
            let name = Strategy::GpuReduce(strategy).to_string();
            assert_eq!(name.parse(), Ok(strategy), "{name}");
        }
        for strategy in GpuScanStrategy::all() {
            let name = Strategy::GpuScan(strategy).to_string();
            assert_eq!(name.parse(), Ok(strategy), "{name}");
        }
    }
}
