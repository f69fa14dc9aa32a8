//! Rows of `bench`, and their lines in a record.

use upsweep::RecordingProfile;
use upsweep::explain::Quartiles;

use super::axes::RowsOf;
use crate::csv_fields::{micros, quoted};
use crate::energy::Energy;
use crate::error::Result;
use crate::host_timing::Times;

/// The columns of a record.
const COLUMNS: &str = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,\
pct_of_limit,first_call_us,checked";

/// Which columns rows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// No others.
    Plain,
    /// The launches of a row, each as a row of its own.
    Profiles,
    /// What a call takes of a device's energy.
    Energy,
    /// Along which axis rows lie, and how long they are.
    Rows,
}

impl Columns {
    /// The first line of a record.
    pub fn heading(self) -> String {
        let more = match self {
            Self::Plain => "",
            Self::Profiles => ",dispatch,workgroups,bytes,lower_us,upper_us",
            Self::Energy => ",joules,gb_per_joule,idle_watts",
            Self::Rows => ",axis,length",
        };
        format!("{COLUMNS}{more}")
    }

    /// What a row itself has there.
    fn of_row(self, row: &Row<'_>) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Profiles => ",,,,,".to_owned(),
            Self::Energy => row.energy_numbers().map(|number| format!(",{number}")).concat(),
            Self::Rows => row.rows_words().map(|word| format!(",{word}")).concat(),
        }
    }
}

/// Takes a finished row.
pub type Tell<'a> = &'a mut dyn FnMut(&Row<'_>) -> Result<()>;

/// One measurement, or the reason why there is none.
pub struct Row<'a> {
    /// The device's id.
    pub device: &'a str,
    /// The primitive, with its operator unless that is a sum.
    pub op: &'a str,
    /// The types.
    pub dtype: &'a str,
    /// How many items there are.
    pub n: usize,
    /// Which rows they make, if they do.
    pub rows: Option<RowsOf>,
    /// The strategy that was asked for, or chosen.
    pub strategy: &'a str,
    /// Times, if the result is right.
    pub times: Option<Times>,
    /// Where the time goes, if that was asked for.
    pub profile: Option<&'a RecordingProfile>,
    /// What a call takes, if that was asked for and can be known.
    pub energy: Option<Energy>,
    /// `ok`, or why there is no time, or none that is to be compared.
    pub checked: &'a str,
}

impl Row<'_> {
    /// The lines of a record: the row's own, and one for each launch if it has a profile.
    pub fn csv(&self, columns: Columns) -> Vec<String> {
        let own = self.record(&self.numbers()) + &columns.of_row(self);
        [own].into_iter().chain(self.profile_records()).collect()
    }

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

    /// The axis and the length of rows; empty where items make none.
    pub fn rows_words(&self) -> [String; 2] {
        let words = |rows: RowsOf| [rows.axis.name().to_owned(), rows.length.to_string()];
        self.rows.map_or_else(Default::default, words)
    }

    /// Joules of a call, GB by joule and watts without work; empty where they are not known.
    pub fn energy_numbers(&self) -> [String; 3] {
        let (Some(energy), Some(times)) = (self.energy, self.times) else {
            return Default::default();
        };
        let gb = times.bytes as f64 / 1e9 / energy.joules;
        let gb = if times.bytes == 0 { String::new() } else { format!("{gb:.3}") };
        [format!("{:.4e}", energy.joules), gb, format!("{:.1}", energy.idle_watts)]
    }

    /// Median, least and most microseconds, rate, that of the limit, per cent of it, and microseconds of the first call; empty where there is
    /// none.
    pub fn numbers(&self) -> [String; 7] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_has_every_column() {
        assert_eq!(COLUMNS.split(',').count(), 13);
    }
}
