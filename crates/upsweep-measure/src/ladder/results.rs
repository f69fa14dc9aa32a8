//! The times of a ladder's steps, their rates, and their lines in a record.

use upsweep::ladder::Rung;

use crate::csv_fields::{WRONG, micros, quoted};
use crate::statistics::median;

/// The columns of a record.
pub const COLUMNS: &str = "device,n,step,change,bottleneck,median_us,min_us,max_us,gbps,\
limit_gbps,pct_of_limit,step_speedup,speedup,checked";

/// Every rung over one array on one device.
pub struct Climb {
    /// The device's id.
    pub device: String,
    /// What the device's maker calls it.
    pub name: String,
    /// How many items there are.
    pub n: usize,
    /// What came of each rung.
    pub rows: Vec<Row>,
    /// Seconds of the limit, sorted.
    pub limit: Vec<f64>,
}

/// What came of one rung.
pub struct Row {
    /// The step, or the library.
    pub rung: Rung,
    /// Seconds, sorted.
    pub times: Vec<f64>,
    /// Whether its result is the host's.
    pub is_right: bool,
}

/// What follows from the times of a row.
pub struct Rates {
    /// 10^9 bytes of the array a second.
    pub gbps: f64,
    /// Per cent of the limit.
    pub percent: f64,
    /// How many times as fast as the row before.
    pub step: f64,
    /// How many times as fast as the first.
    pub total: f64,
}

impl Climb {
    /// How many results are wrong.
    pub fn wrong(&self) -> usize {
        self.rows.iter().filter(|row| !row.is_right).count()
    }

    /// 10^9 bytes of the array a second.
    pub fn gbps(&self, times: &[f64]) -> f64 {
        4.0 * self.n as f64 / median(times) / 1e9
    }

    /// The rows with their rates; none where the result is wrong.
    pub fn rated(&self) -> impl Iterator<Item = (&Row, Option<Rates>)> {
        self.rows.iter().enumerate().map(|(at, row)| {
            let own = median(&row.times);
            let faster = |other: usize| median(&self.rows[other].times) / own;
            let rates = row.is_right.then(|| Rates {
                gbps: self.gbps(&row.times),
                percent: 100.0 * median(&self.limit) / own,
                step: faster(at.saturating_sub(1)),
                total: faster(0),
            });
            (row, rates)
        })
    }

    /// The lines of a record.
    pub fn records(&self) -> Vec<String> {
        let limit = format!("{:.3}", self.gbps(&self.limit));
        let line = |(row, rates): (&Row, Option<Rates>)| {
            let numbers: [String; 8] = match rates {
                Some(Rates { gbps, percent, step, total }) => [
                    micros(median(&row.times)),
                    micros(row.times[0]),
                    micros(row.times[row.times.len() - 1]),
                    format!("{gbps:.3}"),
                    limit.clone(),
                    format!("{percent:.1}"),
                    format!("{step:.2}"),
                    format!("{total:.2}"),
                ],
                None => Default::default(),
            };
            format!(
                "{},{},{},{},{},{},{}",
                quoted(&self.device),
                self.n,
                row.rung,
                quoted(row.rung.change()),
                quoted(row.rung.bottleneck().unwrap_or_default()),
                numbers.join(","),
                if row.is_right { "ok" } else { WRONG },
            )
        };
        self.rated().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row takes half the time of the one before; the third is wrong.
    fn climb() -> Climb {
        let row = |(at, rung)| Row {
            rung,
            times: vec![1.024e-3 / f64::from(1 << at); 3],
            is_right: at != 2,
        };
        Climb {
            device: "wgpu:0".to_owned(),
            name: "a device".to_owned(),
            n: 1_000_000,
            rows: (0..).zip(Rung::all()).map(row).collect(),
            limit: vec![4e-6],
        }
    }

    #[test]
    fn records_have_every_column() {
        let records = climb().records();
        assert_eq!(records.len(), 8);
        assert!(records[3].ends_with(",128.000,128.000,128.000,31.250,1000.000,3.1,2.00,8.00,ok"));
        assert!(records[2].ends_with(&format!("bank conflicts,,,,,,,,,{WRONG}")), "{}", records[2]);
        for record in &records {
            let quotes = record.split('"').step_by(2).map(|part| part.matches(',').count());
            assert_eq!(quotes.sum::<usize>(), COLUMNS.matches(',').count(), "{record}");
        }
    }
}
