//! What is asked for besides types and operator.

use upsweep_core::{
    Bounds, Determinism, Direction, GpuOptions, GpuReduceStrategy, GpuScanStrategy, RowsStrategy,
    WorkgroupPolicy,
};

use crate::bits::Words;
use crate::{ErasedScan, Selecting};

/// Strategy and policy of a reduction; what is not given is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReduceOptions {
    /// Which algorithm, at each level.
    pub strategy: Option<GpuReduceStrategy>,
    /// The numbers.
    pub policy: Option<WorkgroupPolicy>,
}

impl From<&GpuOptions> for ReduceOptions {
    fn from(options: &GpuOptions) -> Self {
        Self { strategy: options.reduce, policy: options.policy }
    }
}

/// Strategy and policy of a scan; what is not given is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions {
    /// Which algorithm, at each level.
    pub strategy: Option<GpuScanStrategy>,
    /// The numbers.
    pub policy: Option<WorkgroupPolicy>,
    /// A chunk that sleeps before it publishes its total, and publishes no prefix, to test what others do: for those that fall back.
    pub stalled: Option<u32>,
}

impl From<&GpuOptions> for ScanOptions {
    fn from(options: &GpuOptions) -> Self {
        Self { strategy: options.scan, policy: options.policy, stalled: None }
    }
}

/// Strategy and policy of a selection; what is not given is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectOptions {
    /// Of what selects.
    pub scan: ScanOptions,
    /// Of what counts first, or only.
    pub count: ReduceOptions,
}

impl From<&GpuOptions> for SelectOptions {
    fn from(options: &GpuOptions) -> Self {
        Self { scan: options.into(), count: options.into() }
    }
}

/// What is asked for of a call on rows; what is not given is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowsOptions {
    /// How rows are gone through.
    pub rows: Option<RowsStrategy>,
    /// Of the reduction of each row, where all workgroups take one.
    pub reduce: ReduceOptions,
    /// Of the scan of each.
    pub scan: ScanOptions,
}

impl From<&GpuOptions> for RowsOptions {
    fn from(options: &GpuOptions) -> Self {
        Self { rows: options.rows, reduce: options.into(), scan: options.into() }
    }
}

/// The words of a start value.
pub type Init = Option<Words>;

/// What is scanned how, besides its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Whether output `i` includes item `i`.
    pub bounds: Bounds,
    /// From which end.
    pub direction: Direction,
    /// Whether the order of summation binds.
    pub everywhere: bool,
    /// Whether nothing is written but what comes out behind the last item.
    pub only_total: bool,
    /// What becomes of items of which some are selected.
    pub selecting: Option<Selecting>,
}

impl Form {
    /// The form of a problem.
    pub fn new(problem: &ErasedScan) -> Self {
        Self {
            bounds: problem.bounds,
            direction: problem.direction,
            everywhere: problem.determinism == Determinism::Everywhere,
            only_total: false,
            selecting: None,
        }
    }

    /// The form of a reduction in the order of a scan.
    pub const TOTAL: Self = Self {
        bounds: Bounds::Inclusive,
        direction: Direction::Forward,
        everywhere: true,
        only_total: true,
        selecting: None,
    };

    /// The form of a scan that counts how many items are selected in front of each.
    pub fn of_selection(selecting: Selecting) -> Self {
        Self { only_total: false, selecting: Some(selecting), ..Self::TOTAL }
    }

    /// The form of a reduction of segments, of which each leaves a value.
    pub fn of_segments(determinism: Determinism) -> Self {
        let everywhere = determinism == Determinism::Everywhere;
        Self { everywhere, only_total: false, ..Self::TOTAL }
    }
}
