//! Rows of `bench --compare`.

use upsweep_measure::baseline::{ComparedRow, Ratio};

/// The heading.
pub(crate) fn heading() -> String {
    format!(
        "{:<8} {:<18} {:<9} {:>11} {:<48} {:>12} {:>12} {:>7} {:>15}  this program is\n",
        "device", "op", "dtype", "n", "strategy", "kept µs", "new µs", "ratio", "of 95 in 100",
    )
}

/// The line of a row.
pub(crate) fn line(compared: &ComparedRow) -> String {
    let ComparedRow { names: [device, op, dtype, n, strategy], kept_us, new_us, ratio, verdict } =
        compared;
    let Ratio { median, lower, upper } = ratio;
    format!(
        "{device:<8} {op:<18} {dtype:<9} {n:>11} {strategy:<48} {kept_us:>12.3} {new_us:>12.3} {median:>7.3} {:>15}  {verdict}\n",
        format!("{lower:.3} to {upper:.3}"),
    )
}
