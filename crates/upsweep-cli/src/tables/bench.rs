//! Rows of `bench`.

use upsweep_measure::bench::{Columns, Row};

/// A table that grows row by row.
pub(crate) struct Table {
    /// Columns of a strategy's name.
    width: usize,
    columns: Columns,
    rows: usize,
}

impl Table {
    /// A table in which the longest name of a strategy has `width` letters.
    pub(crate) fn new(width: usize, columns: Columns) -> Self {
        Self { width, columns, rows: 0 }
    }

    /// The lines of a row, the first behind a heading.
    pub(crate) fn row(&mut self, row: &Row<'_>) -> String {
        let with_rows = self.columns == Columns::Rows;
        let rows = |[axis, length]: [&str; 2]| {
            if with_rows { format!(" {axis:<7} {length:>9}") } else { String::new() }
        };
        let words = |[device, op, dtype, n, strategy]: [&str; 5], of: [&str; 2]| {
            let (width, rows) = (self.width, rows(of));
            format!("{device:<8} {op:<18} {dtype:<9} {n:>11}{rows} {strategy:<width$}")
        };
        let with_energy = self.columns == Columns::Energy;
        let energy = |[joules, gb, watts]: [&str; 3]| {
            if with_energy { format!(" {joules:>11} {gb:>8} {watts:>7}") } else { String::new() }
        };
        let mut lines = String::new();
        if self.rows == 0 {
            let columns = words(["device", "op", "dtype", "n", "strategy"], ["axis", "length"]);
            lines = format!(
                "{columns} {:>12} {:>12} {:>12} {:>8} {:>8} {:>7} {:>12}{}  checked\n",
                "median µs",
                "min µs",
                "max µs",
                "GB/s",
                "limit",
                "% of it",
                "first µs",
                energy(["J", "GB/J", "idle W"]),
            );
        }
        let columns = words(
            [row.device, row.op, row.dtype, &row.n.to_string(), row.strategy],
            row.rows_words().each_ref().map(String::as_str),
        );
        let [median, min, max, gbps, limit, percent, first] = row.numbers();
        lines.push_str(&format!(
            "{columns} {median:>12} {min:>12} {max:>12} {gbps:>8} {limit:>8} {percent:>7} {first:>12}{}  {}\n",
            energy(row.energy_numbers().each_ref().map(String::as_str)),
            row.checked,
        ));
        if let Some(profile) = row.profile {
            for line in profile.to_string().lines() {
                lines.push_str(&format!("  {line}\n"));
            }
        }
        self.rows += 1;
        lines
    }
}
