//! A ladder that was run and timed, for people and for programs.

use upsweep::ladder::Rung;

use crate::bench::measure::median;
use crate::bench::report::{WRONG, micros, quoted};

/// The columns of a record.
pub(crate) const COLUMNS: &str = "device,n,step,change,bottleneck,median_us,min_us,max_us,gbps,\
limit_gbps,pct_of_limit,step_speedup,speedup,checked";

/// Every rung over one array on one device.
pub(crate) struct Climb {
    pub(crate) device: String,
    /// What the device's maker calls it.
    pub(crate) name: String,
    pub(crate) n: usize,
    pub(crate) rows: Vec<Row>,
    /// Seconds of the limit, sorted.
    pub(crate) limit: Vec<f64>,
}

/// What came of one rung.
pub(crate) struct Row {
    pub(crate) rung: Rung,
    /// Seconds, sorted.
    pub(crate) times: Vec<f64>,
    pub(crate) is_right: bool,
}

/// What follows from the times of a row.
struct Rates {
    gbps: f64,
    percent: f64,
    /// How many times as fast as the row before, and as the first.
    step: f64,
    total: f64,
}

impl Climb {
    /// How many results are wrong.
    pub(crate) fn wrong(&self) -> usize {
        self.rows.iter().filter(|row| !row.is_right).count()
    }

    /// 10^9 bytes of the array a second.
    fn gbps(&self, times: &[f64]) -> f64 {
        4.0 * self.n as f64 / median(times) / 1e9
    }

    /// The rows with their rates; none where the result is wrong.
    fn rated(&self) -> impl Iterator<Item = (&Row, Option<Rates>)> {
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
    pub(crate) fn records(&self) -> Vec<String> {
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

    /// The table.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("the sum of {} u32 on {}, {}\n", self.n, self.device, self.name);
        let mut line = |place: &str, name: &str, numbers: [String; 5], words: [&str; 2]| {
            let [micros, gbps, percent, step, total] = numbers;
            let [removed, change] = words;
            let line = format!(
                "{place:1} {name:<13} {micros:>12} {gbps:>9} {percent:>10} {step:>8} {total:>8}  {removed:<30}  {change}"
            );
            text.push_str(line.trim_end());
            text.push('\n');
        };
        let times = |times: f64| format!("{times:.2}×");
        let heads = ["median µs", "GB/s", "% of limit", "speed-up", "in all"].map(str::to_owned);
        line("", "step", heads, ["bottleneck removed", "by"]);
        for (at, (row, rates)) in self.rated().enumerate() {
            let place = match row.rung {
                Rung::Step(_) => (at + 1).to_string(),
                Rung::Library => String::new(),
            };
            let Some(Rates { gbps, percent, step, total }) = rates else {
                line(&place, row.rung.name(), Default::default(), [WRONG, ""]);
                continue;
            };
            let numbers = [
                micros(median(&row.times)),
                format!("{gbps:.3}"),
                format!("{percent:.1}"),
                if at == 0 { String::new() } else { times(step) },
                times(total),
            ];
            let removed = row.rung.bottleneck().unwrap_or("none yet");
            line(&place, row.rung.name(), numbers, [removed, row.rung.change()]);
        }
        let limit = [
            micros(median(&self.limit)),
            format!("{:.3}", self.gbps(&self.limit)),
            "100.0".to_owned(),
            String::new(),
            times(median(&self.rows[0].times) / median(&self.limit)),
        ];
        line("", "limit", limit, ["", "the same bytes, read and not added"]);
        text
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
    fn rows_say_what_each_step_gains() {
        let text = climb().table();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 11, "{text}");
        assert_eq!(lines[0], "the sum of 1000000 u32 on wgpu:0, a device");
        let numbers = |line: &str| {
            line.split_whitespace().take(7).map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert!(numbers(lines[2]).starts_with("1 interleaved 1024.000 3.906 0.4 1.00× none"));
        assert_eq!(numbers(lines[3]), "2 strided 512.000 7.812 0.8 2.00× 2.00×");
        assert!(lines[4].trim_end().ends_with(WRONG) && !lines[4].contains('×'));
        assert!(numbers(lines[9]).starts_with("reduce 8.000 500.000 50.0 2.00× 128.00×"));
        assert!(numbers(lines[10]).starts_with("limit 4.000 1000.000 100.0 256.00×"));
        assert_eq!(climb().wrong(), 1);
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
