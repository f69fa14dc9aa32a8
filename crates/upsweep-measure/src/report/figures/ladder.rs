//! The ladder's bars: what each of the seven classic steps of a sum reaches.

use std::collections::BTreeMap;

use crate::report::plot::{Bar, Bars, Figure, Panel, Table, power_of_two};
use crate::report::records::{Data, LadderRow};

use super::{Names, called, cell, rate, slug};

/// One figure for each device, one group of bars for each length.
pub(super) fn figures(data: &Data, names: &Names) -> Vec<Figure> {
    let mut climbs: BTreeMap<&str, BTreeMap<u64, Vec<&LadderRow>>> = BTreeMap::new();
    for row in data.ladder.iter().filter(|row| row.checked == "ok" && row.gbps.is_some()) {
        climbs.entry(&row.device).or_default().entry(row.n).or_default().push(row);
    }
    let figure = |(device, lengths): (&str, BTreeMap<u64, Vec<&LadderRow>>)| {
        let name = called(names, device);
        let panel = |(&n, rows): (&u64, &Vec<&LadderRow>)| {
            let limit = rows.iter().find_map(|row| row.limit_gbps);
            Panel::Bars(Bars {
                title: format!("the sum of {} u32 on {name}", power_of_two(n as f64)),
                label: "GB/s".to_owned(),
                bars: rows.iter().map(|row| bar(row)).collect(),
                limit: limit.map(|gbps| (gbps, format!("reading without adding: {}", rate(gbps)))),
            })
        };
        let rows = lengths.values().flatten().map(|row| {
            let words =
                [row.n.to_string(), row.step.clone(), row.bottleneck.clone(), row.change.clone()];
            let numbers =
                [row.median_us, row.gbps, row.pct_of_limit, row.step_speedup, row.speedup];
            words.into_iter().chain(numbers.map(cell)).collect()
        });
        Figure {
            name: slug(&["ladder", device]),
            title: format!("The seven classic steps of a sum on {name}"),
            caption: "Each step removes one bottleneck of the step before; the last bar is the library's own sum. The bytes of \
                      the array by the median time of all launches, and how many times as fast that is as the first \
                      step. The dashed line is reading the same bytes without adding them."
                .to_owned(),
            panels: lengths.iter().map(panel).collect(),
            table: Table {
                columns: vec![
                    "n", "step", "bottleneck removed", "by", "median µs", "GB/s", "% of limit", "speed-up", "in all",
                ],
                rows: rows.collect(),
            },
        }
    };
    climbs.into_iter().map(figure).collect()
}

fn bar(row: &LadderRow) -> Bar {
    let value = row.gbps.unwrap_or_default();
    let speedup = row.speedup.map_or(String::new(), |times| format!(", {times:.1}×"));
    Bar {
        name: row.step.clone(),
        value,
        note: format!("{}{speedup}", rate(value)),
        is_goal: row.step == "reduce",
    }
}
