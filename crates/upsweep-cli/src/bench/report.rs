//! Rows for people and rows for programs.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::error::{Failure, Result};

use super::measure::Times;

/// The columns of a record.
const COLUMNS: &str = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,\
pct_of_limit,first_call_us,checked";

/// One measurement, or the reason why there is none.
pub(crate) struct Row<'a> {
    pub(crate) device: &'a str,
    pub(crate) op: &'a str,
    pub(crate) dtype: &'a str,
    pub(crate) n: usize,
    pub(crate) strategy: &'a str,
    pub(crate) times: Option<Times>,
    pub(crate) checked: &'a str,
}

impl Row<'_> {
    /// The seven numbers; empty where there is none.
    fn numbers(&self) -> [String; 7] {
        let Some(times) = self.times else {
            return Default::default();
        };
        let micros = |seconds: f64| format!("{:.3}", seconds * 1e6);
        let gbps = times.bytes as f64 / times.median / 1e9;
        let limit = times.limit_bytes as f64 / times.limit / 1e9;
        let rate = |rate: f64| if times.bytes == 0 { String::new() } else { format!("{rate:.3}") };
        let percent =
            if times.bytes == 0 { String::new() } else { format!("{:.1}", 100.0 * gbps / limit) };
        [
            micros(times.median),
            micros(times.min),
            micros(times.max),
            rate(gbps),
            rate(limit),
            percent,
            micros(times.first),
        ]
    }
}

/// Where rows go, one by one as they are measured.
pub(crate) struct Report {
    csv: Option<(Box<dyn Write>, String)>,
    table: bool,
    /// Columns of a strategy's name.
    width: usize,
    rows: usize,
}

impl Report {
    /// A table on standard output; with `csv` a record in that file, and with `-` a record on
    /// standard output instead of the table.
    ///
    /// `width` is that of the longest name of a strategy.
    pub(crate) fn new(csv: Option<&Path>, width: usize) -> Result<Self> {
        let mut report = Self { csv: None, table: true, width, rows: 0 };
        if let Some(path) = csv {
            let writer: Box<dyn Write> = if path == Path::new("-") {
                report.table = false;
                Box::new(io::stdout())
            } else {
                Box::new(File::create(path).map_err(|error| Failure::file("write", path, error))?)
            };
            report.csv = Some((writer, path.display().to_string()));
            report.record(COLUMNS)?;
        }
        Ok(report)
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: &Row<'_>) -> Result<()> {
        let numbers = row.numbers();
        let mut record = vec![quoted(row.device), quoted(row.op), quoted(row.dtype)];
        record.push(row.n.to_string());
        record.push(quoted(row.strategy));
        record.extend(numbers.iter().cloned());
        record.push(quoted(row.checked));
        self.record(&record.join(","))?;
        if self.table {
            self.table_row(row, &numbers)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Everything is there.
    pub(crate) fn finish(&mut self) -> Result<()> {
        match &mut self.csv {
            Some((writer, name)) => {
                writer.flush().map_err(|error| Failure::file("write", Path::new(name), error))
            }
            None => Ok(()),
        }
    }

    fn record(&mut self, line: &str) -> Result<()> {
        match &mut self.csv {
            Some((writer, name)) => writer
                .write_all(format!("{line}\n").as_bytes())
                .map_err(|error| Failure::file("write", Path::new(name), error)),
            None => Ok(()),
        }
    }

    fn table_row(&mut self, row: &Row<'_>, numbers: &[String; 7]) -> Result<()> {
        let words = |device: &str, op: &str, dtype: &str, n: &str, strategy: &str| {
            let width = self.width;
            format!("{device:<8} {op:<18} {dtype:<9} {n:>11} {strategy:<width$}")
        };
        let mut lines = String::new();
        if self.rows == 0 {
            let columns = words("device", "op", "dtype", "n", "strategy");
            lines = format!(
                "{columns} {:>12} {:>12} {:>12} {:>8} {:>8} {:>7} {:>12}  checked\n",
                "median µs", "min µs", "max µs", "GB/s", "limit", "% of it", "first µs",
            );
        }
        let columns = words(row.device, row.op, row.dtype, &row.n.to_string(), row.strategy);
        let [median, min, max, gbps, limit, percent, first] = numbers;
        lines.push_str(&format!(
            "{columns} {median:>12} {min:>12} {max:>12} {gbps:>8} {limit:>8} {percent:>7} {first:>12}  {}\n",
            row.checked,
        ));
        io::stdout().write_all(lines.as_bytes()).map_err(Failure::stdout)
    }
}

/// A field of a record, in quotes where it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(quoted("ok"), "ok");
        assert_eq!(quoted("no, \"why\""), "\"no, \"\"why\"\"\"");
        assert_eq!(COLUMNS.split(',').count(), 13);
    }
}
