//! Bandwidth against length for each choice at each of the three levels of a GPU's strategy.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::plot::{Axis, Figure, Look, Panel, Plot, Point, Series, Table};
use crate::report::records::{Data, TuneRow};

use super::{Names, bandwidth, called, cell, slug};

/// What the levels are about.
const LEVELS: [&str; 3] = [
    "load: how items come to threads",
    "local: what a workgroup does",
    "global: what workgroups do with one another",
];

/// One figure for each job on each device that was swept over more than one length.
pub(super) fn figures(data: &Data, names: &Names) -> Vec<Figure> {
    let figure = |((device, op, dtype), rows): (Job<'_>, Vec<&TuneRow>)| {
        let lengths: BTreeSet<u64> = rows.iter().map(|row| row.n).collect();
        if lengths.len() < 2 {
            return None;
        }
        let best = [0, 1, 2].map(|level| best(&rows, level));
        let on = format!("{op} of {dtype} on {}", called(names, device));
        // A level at which nothing else was tried says nothing.
        let compared = (0..3).filter(|&level: &usize| best[level].len() > 1);
        let panels = compared.enumerate().map(|(number, level)| {
            let title = LEVELS[level].to_owned();
            let title = if number == 0 { format!("{on} — {title}") } else { title };
            Panel::Plot(panel(title, op, &rows, &best[level]))
        });
        let panels: Vec<Panel> = panels.collect();
        if panels.is_empty() {
            return None;
        }
        let table = best.iter().zip(["load", "local", "global"]).flat_map(|(best, level)| {
            best.iter().flat_map(move |(choice, rates)| {
                rates.iter().map(move |(n, rate)| {
                    vec![level.to_owned(), choice.clone(), n.to_string(), cell(Some(*rate))]
                })
            })
        });
        Some(Figure {
            name: slug(&["levels", device, op, dtype]),
            title: format!("{on}: the three levels of a strategy"),
            caption: "A strategy is one choice at each of three levels. Each line is the best that was found with that \
                      choice: over everything else that belongs to a strategy, and over sizes of workgroups. So the gap \
                      between two lines is what the choice costs when all others are made well. Cells that were \
                      hopeless at two lengths were not tried at the others."
                .to_owned(),
            panels,
            table: Table { columns: vec!["level", "choice", "n", "GB/s"], rows: table.collect() },
        })
    };
    jobs(data).into_iter().filter_map(figure).collect()
}

/// Device, primitive, types.
pub(super) type Job<'a> = (&'a str, &'a str, &'a str);

/// What was tried on GPUs, with right results.
pub(super) fn jobs(data: &Data) -> BTreeMap<Job<'_>, Vec<&TuneRow>> {
    let mut jobs: BTreeMap<Job<'_>, Vec<&TuneRow>> = BTreeMap::new();
    for row in data.tune.iter().filter(|row| row.is_right() && row.levels().is_some()) {
        jobs.entry((&row.device, &row.op, &row.dtype)).or_default().push(row);
    }
    jobs
}

/// The best rate of each choice at a level, by length.
fn best(rows: &[&TuneRow], level: usize) -> BTreeMap<String, BTreeMap<u64, f64>> {
    let mut best: BTreeMap<String, BTreeMap<u64, f64>> = BTreeMap::new();
    for row in rows {
        let (Some(levels), Some(rate)) = (row.levels(), row.rate(row.median_us)) else { continue };
        // How the last items are loaded is no matter of speed between lengths such as these.
        let choice = levels[level].trim_end_matches("-exact").trim_end_matches("-checked");
        let found = best.entry(choice.to_owned()).or_default().entry(row.n).or_default();
        *found = found.max(rate);
    }
    best
}

/// The limit at each length: the median of those that were measured.
pub(super) fn limits(rows: &[&TuneRow]) -> Vec<Point> {
    let mut limits: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for row in rows {
        limits.entry(row.n).or_default().extend(row.rate(row.limit_us));
    }
    let median = |(n, mut rates): (u64, Vec<f64>)| {
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).map(|&rate| Point::new(n as f64, rate))
    };
    limits.into_iter().filter_map(median).collect()
}

fn panel(
    title: String,
    op: &str,
    rows: &[&TuneRow],
    best: &BTreeMap<String, BTreeMap<u64, f64>>,
) -> Plot {
    let limit = format!("limit: {}", bandwidth::limit(op));
    let mut series = vec![Series { name: limit, look: Look::Limit, points: limits(rows) }];
    for (number, (choice, rates)) in best.iter().enumerate() {
        let points = rates.iter().map(|(&n, &rate)| Point::new(n as f64, rate)).collect();
        series.push(Series { name: choice.clone(), look: Look::Line(number), points });
    }
    let points = || series.iter().flat_map(|series| &series.points);
    Plot {
        title,
        x: Axis::of_powers("items", points().map(|point| point.x)),
        y: Axis::from_zero("GB/s", points().map(|point| point.y)),
        series,
        marks: Vec::new(),
    }
}
