//! Rows of `tune`, and their lines in a record.

use super::sweep::Tried;
use crate::csv_fields::quoted;
use crate::error::Result;

/// The columns of what was tried.
pub const COLUMNS: &str = "device,op,dtype,n,strategy,threads_per_workgroup,items_per_thread,median_us,default_us,limit_us,checked";

/// What was tried of a device.
pub struct Row<'a> {
    /// The device's id.
    pub device: &'a str,
    /// The types, as records name them.
    pub types: &'a str,
    /// What was tried, and what came of it.
    pub tried: &'a Tried<'a>,
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
