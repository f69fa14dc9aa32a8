//! Rows of `bench`: each job on every device, compared with the reference and timed in turns with the limit.

mod axes;
mod compaction;
pub mod feeding;
mod gpu_job;
mod job;
mod limits;
mod options;
mod outcome;
mod row;
mod setup;

use upsweep::Dtype;
use upsweep::any::{AnyView, Op};

use crate::buffer::Buffer;
use crate::error::{Failure, Result};
use crate::host_timing::Effort;
use crate::inputs;
use crate::selection::Primitive;
use crate::workload::Workload;

use axes::Axes;
pub use axes::{Axis, RowsOf};
use job::Job;
pub use options::Options;
use outcome::Outcome;
pub use row::{Columns, Row, Tell};
use setup::{Setup, setups};

/// Everything that was asked for, on devices that are open.
pub struct Bench<'a> {
    options: &'a Options,
    reductions: Vec<Setup>,
    scans: Vec<Setup>,
}

impl<'a> Bench<'a> {
    /// Opens the devices.
    ///
    /// # Errors
    /// What makes no sense, or cannot be had at all; what one row asks of a device may be refused later, in that row.
    pub fn new(options: &'a Options) -> Result<Self> {
        if !options.operator.scans() {
            return Err(Failure::usage(format!(
                "--operator {} is a primitive of its own: --op names it",
                options.operator,
            )));
        }
        Ok(Self { options, reductions: setups(options, false)?, scans: setups(options, true)? })
    }

    /// Whether any device is a GPU.
    pub fn has_gpus(&self) -> bool {
        self.reductions.iter().any(|setup| setup.limit.id() != "cpu")
    }

    /// The columns that rows have.
    pub fn columns(&self) -> Columns {
        match (self.options.energy, self.options.profile) {
            (true, _) => Columns::Energy,
            (false, true) => Columns::Profiles,
            (false, false) => Columns::Plain,
        }
    }

    /// Measures all rows, and returns how many results differ from the reference.
    ///
    /// # Errors
    /// Those of `tell`, and of arrays that cannot be made.
    pub fn run(&self, tell: Tell<'_>) -> Result<usize> {
        let mut wrong = 0;
        for &dtype in &self.options.dtypes {
            for &n in &self.options.lengths {
                wrong += self.rows(dtype, n, tell)?;
            }
        }
        Ok(wrong)
    }

    /// All rows of `n` items of type `dtype`, and how many results are wrong.
    fn rows(&self, dtype: Dtype, n: usize, tell: Tell<'_>) -> Result<usize> {
        let options = self.options;
        let mut items = None;
        let mut wrong = 0;
        for &primitive in &options.primitives {
            let workload = Workload::new(primitive, options.operator, dtype, options.acc);
            let op = workload.op;
            let (operation, types) = (workload.operation(), workload.types());
            // Places of what is kept are a scan.
            let scans = primitive.scans() || primitive.compacts();
            let setups = if scans { &self.scans } else { &self.reductions };
            let mut emit = |setup: &Setup, strategy: String, outcome: Outcome| {
                wrong += usize::from(outcome.wrong);
                tell(&Row {
                    device: setup.limit.id(),
                    op: &operation,
                    dtype: &types,
                    n,
                    rows: None,
                    strategy: &strategy,
                    times: outcome.times,
                    profile: outcome.profile.as_ref(),
                    energy: outcome.energy,
                    checked: &outcome.checked,
                })
            };
            if let Some(reason) = workload.refusal().or_else(|| workload.memory_refusal(n)) {
                for setup in setups {
                    emit(setup, setup.label(None), Outcome::refused(reason.clone()))?;
                }
                continue;
            }
            let items: &Buffer = match &items {
                Some(items) => items,
                None => items.insert(inputs::items(dtype, n, op == Op::Product)?),
            };
            let Options { samples, profile, energy, .. } = *options;
            let effort = Effort { samples, profile, energy };
            let items = AnyView::from_bytes(dtype, items.bytes())?;
            Job { workload, setups, effort, items, emit: &mut emit }.run()?;
        }
        Ok(wrong)
    }
    /// Refuses rows of these lengths that make no sense, before anything is measured or written.
    ///
    /// # Errors
    /// Primitives that have no rows, and rows of no items.
    pub fn check_rows(&self, lengths: &[usize]) -> Result<()> {
        let compacts = |primitive: &&Primitive| primitive.compacts();
        if let Some(primitive) = self.options.primitives.iter().find(compacts) {
            return Err(Failure::usage(format!(
                "--rows are reduced or scanned: there is no {} along an axis",
                primitive.name(),
            )));
        }
        if lengths.contains(&0) {
            return Err(Failure::usage("--rows are lengths: a row has 1 item at least"));
        }
        Ok(())
    }

    /// Measures rows of these lengths along both axes, of as many items as were asked for, and returns how many results differ from the
    /// reference.
    ///
    /// # Errors
    /// Those of [`check_rows`](Self::check_rows) and of `tell`, and of arrays that cannot be made.
    pub fn run_rows(&self, lengths: &[usize], tell: Tell<'_>) -> Result<usize> {
        self.check_rows(lengths)?;
        let mut wrong = 0;
        for &dtype in &self.options.dtypes {
            for &n in &self.options.lengths {
                for &primitive in &self.options.primitives {
                    wrong += self.rows_of(primitive, dtype, n, lengths, tell)?;
                }
            }
        }
        Ok(wrong)
    }

    /// Rows of these lengths of `n` items, and how many results are wrong.
    fn rows_of(
        &self,
        primitive: Primitive,
        dtype: Dtype,
        n: usize,
        lengths: &[usize],
        tell: Tell<'_>,
    ) -> Result<usize> {
        let options = self.options;
        let workload = Workload::new(primitive, options.operator, dtype, options.acc);
        let (operation, types) = (workload.operation(), workload.types());
        let setups = if primitive.scans() { &self.scans } else { &self.reductions };
        let mut wrong = 0;
        let mut emit = |setup: &Setup, rows: RowsOf, outcome: Outcome| {
            wrong += usize::from(outcome.wrong);
            tell(&Row {
                device: setup.limit.id(),
                op: &operation,
                dtype: &types,
                n,
                rows: Some(rows),
                strategy: &setup.label(None),
                times: outcome.times,
                profile: None,
                energy: None,
                checked: &outcome.checked,
            })
        };
        let refusal = workload.refusal().or_else(|| workload.memory_refusal(n));
        let items = match refusal {
            None => Some(inputs::items(dtype, n, workload.op == Op::Product)?),
            Some(_) => None,
        };
        let effort = Effort { samples: options.samples, profile: false, energy: false };
        for &length in lengths {
            for axis in Axis::ALL {
                let rows = RowsOf { axis, length };
                let (Some(items), true) = (&items, length <= n) else {
                    let longer = || format!("{n} items are no row of {length}");
                    let reason = refusal.clone().unwrap_or_else(longer);
                    for setup in setups {
                        emit(setup, rows, Outcome::refused(reason.clone()))?;
                    }
                    continue;
                };
                let axes = Axes::new(workload, rows, AnyView::from_bytes(dtype, items.bytes())?)?;
                let mut output = Buffer::new(axes.room())?;
                for setup in setups {
                    emit(setup, rows, axes.on(setup, effort, &mut output))?;
                }
            }
        }
        Ok(wrong)
    }
}
