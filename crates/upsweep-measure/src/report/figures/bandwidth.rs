//! Bandwidth against length: every strategy of every device, and the speed of its memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::plot::{Axis, Figure, Look, Panel, Plot, Point, Series, Table};
use crate::report::records::{BenchRow, Data};

use super::{Names, called, cell, slug};

/// Strategies that are drawn: the fastest. More cannot be told apart.
const MOST: usize = 7;

/// One figure for each job, one panel for each device.
pub(super) fn figures(data: &Data, names: &Names) -> Vec<Figure> {
    let mut jobs: BTreeMap<(&str, &str), BTreeMap<&str, Vec<&BenchRow>>> = BTreeMap::new();
    for row in data.bench.iter().filter(|row| row.is_right() && row.gbps.is_some()) {
        if let (op, None) = row.place() {
            jobs.entry((op, &row.dtype)).or_default().entry(&row.device).or_default().push(row);
        }
    }
    let figure = |((op, dtype), mut devices): ((&str, &str), BTreeMap<&str, Vec<&BenchRow>>)| {
        devices.retain(|_, rows| lengths(rows).len() > 2);
        let panels: Vec<Panel> = devices
            .iter()
            .map(|(device, rows)| Panel::Plot(panel(op, dtype, &called(names, device), rows)))
            .collect();
        let rows = devices.values().flatten();
        let rows = rows.map(|row| {
            let words = [row.device.clone(), row.strategy.clone(), row.n.to_string()];
            let numbers = [row.median_us, row.gbps, row.limit_gbps, row.pct_of_limit].map(cell);
            words.into_iter().chain(numbers).collect()
        });
        let rows = rows.collect();
        (!panels.is_empty()).then(|| Figure {
            name: slug(&["length", op, dtype]),
            title: format!("{op} of {dtype}: bandwidth against length"),
            caption: format!(
                "The fewest bytes that {op} of {dtype} must move, by the median time, for each length. The dashed line \
                 is what the same device reaches on the same bytes without arithmetic: {}. Short arrays lie in caches, \
                 so that both rise above the speed of memory on a CPU; on a GPU, short ones do not fill it.",
                limit(op),
            ),
            panels,
            table: Table {
                columns: vec!["device", "strategy", "n", "median µs", "GB/s", "limit GB/s", "% of limit"],
                rows,
            },
        })
    };
    jobs.into_iter().filter_map(figure).collect()
}

fn lengths(rows: &[&BenchRow]) -> BTreeSet<u64> {
    rows.iter().map(|row| row.n).collect()
}

/// What the limit of a primitive does.
pub(super) fn limit(op: &str) -> &'static str {
    if op.contains("scan") { "copying" } else { "reading" }
}

fn panel(op: &str, dtype: &str, device: &str, rows: &[&BenchRow]) -> Plot {
    // Later rows of the same cell are later measurements.
    let mut strategies: BTreeMap<&str, BTreeMap<u64, &BenchRow>> = BTreeMap::new();
    let once = rows.len() == lengths(rows).len();
    for row in rows {
        let name = if once { "as the library chooses" } else { &row.strategy };
        strategies.entry(name).or_default().insert(row.n, row);
    }
    let best = |cells: &BTreeMap<u64, &BenchRow>| {
        cells.values().filter_map(|row| row.gbps).fold(0.0, f64::max)
    };
    let mut ranked: Vec<_> = strategies.into_iter().collect();
    ranked.sort_by(|(_, one), (_, other)| best(other).total_cmp(&best(one)));
    ranked.truncate(MOST);
    let mut limits: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for row in rows {
        limits.entry(row.n).or_default().extend(row.limit_gbps);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let limits = limits.iter().filter(|(_, values)| !values.is_empty());
    let limits = limits.map(|(&n, values)| Point::new(n as f64, mean(values))).collect();
    let mut series =
        vec![Series { name: format!("limit: {}", limit(op)), look: Look::Limit, points: limits }];
    for (number, (name, cells)) in ranked.into_iter().enumerate() {
        let point = |(&n, row): (&u64, &&BenchRow)| {
            Some(Point { x: n as f64, y: row.gbps?, spread: row.spread() })
        };
        let points = cells.iter().filter_map(point).collect();
        series.push(Series { name: name.to_owned(), look: Look::Line(number), points });
    }
    let points = || series.iter().flat_map(|series| &series.points);
    Plot {
        title: format!("{op} of {dtype} on {device}"),
        x: Axis::of_powers("items", points().map(|point| point.x)),
        y: Axis::from_zero("GB/s", points().map(|point| point.spread.map_or(point.y, |s| s.1))),
        series,
        marks: Vec::new(),
    }
}
