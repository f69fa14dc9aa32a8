//! The steps of `ladder`.

use upsweep::ladder::Rung;
use upsweep_measure::csv_fields::{WRONG, micros};
use upsweep_measure::ladder::{Climb, Rates};
use upsweep_measure::statistics::median;

/// Every step over one array on one device.
pub(crate) fn table(climb: &Climb) -> String {
    let mut text = format!("the sum of {} u32 on {}, {}\n", climb.n, climb.device, climb.name);
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
    for (at, (row, rates)) in climb.rated().enumerate() {
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
        micros(median(&climb.limit)),
        format!("{:.3}", climb.gbps(&climb.limit)),
        "100.0".to_owned(),
        String::new(),
        times(median(&climb.rows[0].times) / median(&climb.limit)),
    ];
    line("", "limit", limit, ["", "the same bytes, read and not added"]);
    text
}

#[cfg(test)]
mod tests {
    use upsweep_measure::ladder::Row;

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
        let text = table(&climb());
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
}
