//! Rows for people and rows for programs.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use upsweep::{Quartiles, RecordingProfile};

use crate::error::{Failure, Result};

use crate::energy::Energy;

use super::measure::Times;

/// The columns of a record.
pub(crate) const COLUMNS: &str = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,\
pct_of_limit,first_call_us,checked";

/// What a record has behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Further {
    Nothing,
    Profiles,
    Energy,
}

impl Further {
    /// The columns, each behind a comma.
    fn columns(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Profiles => ",dispatch,workgroups,bytes,lower_us,upper_us",
            Self::Energy => ",joules,gb_per_joule,idle_watts",
        }
    }

    /// What a row itself has there.
    fn of_row(self, row: &Row<'_>) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Profiles => ",,,,,".to_owned(),
            Self::Energy => row.energy_numbers().map(|number| format!(",{number}")).concat(),
        }
    }
}

/// One measurement, or the reason why there is none.
pub(crate) struct Row<'a> {
    pub(crate) device: &'a str,
    pub(crate) op: &'a str,
    pub(crate) dtype: &'a str,
    pub(crate) n: usize,
    pub(crate) strategy: &'a str,
    pub(crate) times: Option<Times>,
    pub(crate) profile: Option<&'a RecordingProfile>,
    pub(crate) energy: Option<Energy>,
    pub(crate) checked: &'a str,
}

/// What is said of a result that is not the reference's.
pub(crate) const WRONG: &str = "the result differs from the reference";

/// Microseconds as records have them.
pub(crate) fn micros(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e6)
}

impl Row<'_> {
    /// A line of a record, with these numbers.
    fn record(&self, numbers: &[String; 7]) -> String {
        let mut record = vec![quoted(self.device), quoted(self.op), quoted(self.dtype)];
        record.push(self.n.to_string());
        record.push(quoted(self.strategy));
        record.extend(numbers.iter().cloned());
        record.push(quoted(self.checked));
        record.join(",")
    }

    /// The lines of a record that follow it: one for each launch of the profile, and one for the whole.
    fn profile_records(&self) -> Vec<String> {
        let Some(profile) = self.profile else {
            return Vec::new();
        };
        let record = |name: &str, time: Quartiles, rates: [String; 3], sizes: String| {
            let [gbps, limit, percent] = rates;
            let [lower, median, upper] =
                [time.lower, time.median, time.upper].map(|time| micros(time.as_secs_f64()));
            let none = String::new;
            let row = self.record(&[median, none(), none(), gbps, limit, percent, none()]);
            format!("{row},{name},{sizes},{lower},{upper}")
        };
        let decimals = |rate: Option<f64>, places: usize| {
            rate.map_or(String::new(), |rate| format!("{rate:.places$}"))
        };
        let launches = profile.dispatches.iter().map(|launch| {
            let rates = [
                decimals(launch.gbps(), 3),
                decimals(launch.limit_gbps(), 3),
                decimals(launch.percent_of_limit(), 1),
            ];
            let sizes = format!("{},{}", launch.workgroups, launch.bytes());
            record(launch.name, launch.time, rates, sizes)
        });
        let whole = record("whole", profile.whole, Default::default(), ",".to_owned());
        launches.chain([whole]).collect()
    }

    /// Joules of a call, GB by joule and watts without work; empty where they are not known.
    fn energy_numbers(&self) -> [String; 3] {
        let (Some(energy), Some(times)) = (self.energy, self.times) else {
            return Default::default();
        };
        let gb = times.bytes as f64 / 1e9 / energy.joules;
        let gb = if times.bytes == 0 { String::new() } else { format!("{gb:.3}") };
        [format!("{:.4e}", energy.joules), gb, format!("{:.1}", energy.idle_watts)]
    }

    /// The seven numbers; empty where there is none.
    fn numbers(&self) -> [String; 7] {
        let Some(times) = self.times else {
            return Default::default();
        };
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

/// Where the lines of a record go.
enum Sink {
    Nowhere,
    File(Box<dyn Write>, String),
    Memory(Vec<u8>),
}

/// Lines for programs, if a file was named for them or they are kept in memory.
pub(crate) struct Record {
    sink: Sink,
    /// Whether people read standard output, and not programs.
    pub(crate) is_table: bool,
}

impl Record {
    /// A record in this file, or with `-` on standard output, which then has no table; without a file, none.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self { sink: Sink::Nowhere, is_table: true });
        };
        let is_table = path != Path::new("-");
        let writer: Box<dyn Write> = if is_table {
            Box::new(File::create(path).map_err(|error| Failure::file("write", path, error))?)
        } else {
            Box::new(io::stdout())
        };
        Ok(Self { sink: Sink::File(writer, path.display().to_string()), is_table })
    }

    /// A record that [`Record::into_text`] gives, and no table.
    pub(crate) fn in_memory() -> Self {
        Self { sink: Sink::Memory(Vec::new()), is_table: false }
    }

    /// The lines of a record in memory.
    pub(crate) fn into_text(self) -> Vec<u8> {
        match self.sink {
            Sink::Memory(text) => text,
            Sink::Nowhere | Sink::File(..) => Vec::new(),
        }
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, line: &str) -> Result<()> {
        self.write(|writer| writer.write_all(format!("{line}\n").as_bytes()))
    }

    /// Everything is there.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.write(|writer| writer.flush())
    }

    fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let (writer, name): (&mut dyn Write, &str) = match &mut self.sink {
            Sink::Nowhere => return Ok(()),
            Sink::File(writer, name) => (writer, name),
            Sink::Memory(text) => (text, "memory"),
        };
        write(writer).map_err(|error| Failure::file("write", Path::new(name), error))
    }
}

/// Where rows go, one by one as they are measured.
pub(crate) struct Report {
    record: Record,
    further: Further,
    /// Columns of a strategy's name.
    width: usize,
    rows: usize,
}

impl Report {
    /// A record, and a table on standard output unless that is where the record is.
    ///
    /// `width` is that of the longest name of a strategy; `further` says what rows have besides.
    pub(crate) fn new(mut record: Record, width: usize, further: Further) -> Result<Self> {
        record.line(&format!("{COLUMNS}{}", further.columns()))?;
        Ok(Self { record, further, width, rows: 0 })
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: &Row<'_>) -> Result<()> {
        let numbers = row.numbers();
        self.record.line(&(row.record(&numbers) + &self.further.of_row(row)))?;
        for line in row.profile_records() {
            self.record.line(&line)?;
        }
        if self.record.is_table {
            self.table_row(row, &numbers)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Everything is there.
    pub(crate) fn finish(mut self) -> Result<Record> {
        self.record.finish()?;
        Ok(self.record)
    }

    fn table_row(&mut self, row: &Row<'_>, numbers: &[String; 7]) -> Result<()> {
        let words = |device: &str, op: &str, dtype: &str, n: &str, strategy: &str| {
            let width = self.width;
            format!("{device:<8} {op:<18} {dtype:<9} {n:>11} {strategy:<width$}")
        };
        let with_energy = self.further == Further::Energy;
        let energy = |[joules, gb, watts]: [&str; 3]| {
            if with_energy { format!(" {joules:>11} {gb:>8} {watts:>7}") } else { String::new() }
        };
        let mut lines = String::new();
        if self.rows == 0 {
            let columns = words("device", "op", "dtype", "n", "strategy");
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
        let columns = words(row.device, row.op, row.dtype, &row.n.to_string(), row.strategy);
        let [median, min, max, gbps, limit, percent, first] = numbers;
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
        io::stdout().write_all(lines.as_bytes()).map_err(Failure::stdout)
    }
}

/// A field of a record, in quotes where it needs them.
pub(crate) fn quoted(field: &str) -> String {
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
