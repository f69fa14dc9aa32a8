//! Rows of `tune`, and their lines in a record.

use upsweep::profile::Measured;
use upsweep::strategy::WorkgroupPolicy;

use crate::csv_fields::quoted;
use crate::error::Result;

/// The columns of what was tried.
pub const COLUMNS: &str = "device,op,dtype,n,strategy,threads_per_workgroup,items_per_thread,median_us,default_us,limit_us,checked";

/// A row of what was tried.
pub struct TrialRow<'a> {
    /// The operation, as records name it.
    pub operation: &'a str,
    /// How many items there are.
    pub items: usize,
    /// The strategy, or which way of a CPU.
    pub strategy: &'a str,
    /// Its numbers, of a GPU.
    pub policy: WorkgroupPolicy,
    /// What it took, if it was measured.
    pub times: Option<Measured>,
    /// `ok`, in which meeting, or what went wrong.
    pub checked: String,
}

/// Takes what was tried.
pub(crate) type TellTrial<'a> = &'a mut dyn FnMut(&TrialRow<'_>) -> Result<()>;

/// Times as rows have them, of so many seconds.
pub(super) fn measured(own: f64, limit: f64, plain: f64) -> Measured {
    // To the nanosecond.
    let us = |seconds: f64| (seconds * 1e9).round() / 1e3;
    Measured { median_us: us(own), limit_us: us(limit), default_us: us(plain) }
}

/// What was tried of a device.
pub struct Row<'a> {
    /// The device's id.
    pub device: &'a str,
    /// The types, as records name them.
    pub types: &'a str,
    /// What was tried, and what came of it.
    pub tried: &'a TrialRow<'a>,
}

/// Takes a row.
pub type Tell<'a> = &'a mut dyn FnMut(&Row<'_>) -> Result<()>;

impl Row<'_> {
    /// The line of a record.
    pub fn csv(&self) -> String {
        let Self { device, types, tried: row } = *self;
        let [median, default, limit] = match row.times {
            Some(times) => {
                [times.median_us, times.default_us, times.limit_us].map(|us| format!("{us:.3}"))
            }
            None => Default::default(),
        };
        let (strategy, checked) = (quoted(row.strategy), quoted(&row.checked));
        let [threads, items] = [row.policy.threads_per_workgroup, row.policy.items_per_thread];
        let (device, operation, n) = (quoted(device), quoted(row.operation), row.items);
        format!(
            "{device},{operation},{types},{n},{strategy},{threads},{items},{median},{default},{limit},{checked}"
        )
    }
}
