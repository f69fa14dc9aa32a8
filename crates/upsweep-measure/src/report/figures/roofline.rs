//! A roofline: combinations a second against combinations for each byte, below the measured speed of memory.

use std::collections::BTreeMap;

use crate::report::plot::{Axis, Figure, Look, Panel, Plot, Point, Series, Table, number};
use crate::report::records::{BenchRow, Data, bytes};

use super::{Names, bandwidth, called, cell, rate, slug};

/// One figure for each device whose limit is known.
pub(super) fn figures(data: &Data, names: &Names) -> Vec<Figure> {
    let mut devices: BTreeMap<&str, Vec<&BenchRow>> = BTreeMap::new();
    for row in data.bench.iter().filter(|row| row.is_right() && row.limit_gbps.is_some()) {
        // An operator of another name may cost more than one operation; a position is one more word.
        if matches!(row.op.as_str(), "reduce" | "inclusive_scan" | "exclusive_scan") {
            devices.entry(&row.device).or_default().push(row);
        }
    }
    devices.into_iter().filter_map(|(id, rows)| figure(id, &called(names, id), &rows)).collect()
}

/// Combinations for each byte, and 10^9 of them a second.
fn place(row: &BenchRow) -> Option<(f64, f64)> {
    let n = row.n as f64;
    Some((n / bytes(&row.op, &row.dtype, row.n)?, n / row.median_us.filter(|us| *us > 0.0)? / 1e3))
}

fn figure(id: &str, device: &str, rows: &[&BenchRow]) -> Option<Figure> {
    // Of each job the fastest row at its longest length, and at any.
    let mut jobs: BTreeMap<(&str, &str), [Option<&BenchRow>; 2]> = BTreeMap::new();
    for &row in rows {
        let Some((_, rate)) = place(row) else { continue };
        let [longest, fastest] = jobs.entry((&row.op, &row.dtype)).or_default();
        let rate_of = |row: &BenchRow| place(row).map_or(0.0, |(_, rate)| rate);
        if longest.is_none_or(|other| (row.n, rate) > (other.n, rate_of(other))) {
            *longest = Some(row);
        }
        if fastest.is_none_or(|other| rate > rate_of(other)) {
            *fastest = Some(row);
        }
    }
    let mut kinds: BTreeMap<&str, [Vec<Point>; 2]> = BTreeMap::new();
    for ((op, _), found) in &jobs {
        for (points, row) in kinds.entry(op).or_default().iter_mut().zip(found) {
            points.extend(row.and_then(place).map(|(x, y)| Point::new(x, y)));
        }
    }
    let all = || kinds.values().flatten().flatten();
    let x = Axis::of_doublings("combinations for each byte", all().map(|point| point.x));
    let (low, high) = x.ends();
    let mut series = Vec::new();
    for (scans, look) in [(false, Look::Limit), (true, Look::Ceiling)] {
        let of_kind = jobs.iter().filter(|((op, _), _)| op.contains("scan") == scans);
        let longest = of_kind.filter_map(|(_, [longest, _])| *longest);
        // The best of those that were measured, which is nearest to what the memory can do.
        let limits = longest.filter_map(|row| Some((row.limit_gbps?, row.op.as_str())));
        let Some((limit, op)) = limits.max_by(|(one, _), (other, _)| one.total_cmp(other)) else {
            continue;
        };
        let points = [low, high].map(|x| Point::new(x, x * limit)).to_vec();
        series.push(Series {
            name: format!("{} {}", bandwidth::limit(op), rate(limit)),
            look,
            points,
        });
    }
    let top = all().map(|point| point.y).fold(0.0, f64::max);
    let points = vec![Point::new(low, top), Point::new(high, top)];
    series.push(Series { name: "the most of any row".to_owned(), look: Look::Top, points });
    for (number, (op, [longest, fastest])) in kinds.iter().enumerate() {
        let name = |what: &str| format!("{op}, {what}");
        let (longest, fastest) = (longest.clone(), fastest.clone());
        series.push(Series {
            name: name("any length"),
            look: Look::Rings(number),
            points: fastest,
        });
        series.push(Series { name: name("longest"), look: Look::Dots(number), points: longest });
    }
    let rows = jobs.iter().flat_map(|(_, [longest, fastest])| {
        [("longest", longest), ("any", fastest)].into_iter().filter_map(|(which, row)| {
            let row = (*row)?;
            let (x, y) = place(row)?;
            let words = [row.op.clone(), row.dtype.clone(), which.to_owned(), row.n.to_string()];
            let numbers = [Some(x), Some(y), row.gbps, row.limit_gbps].map(cell);
            Some(words.into_iter().chain(numbers).collect())
        })
    });
    let rows = rows.collect();
    let ys = series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let y = Axis::of_tens("10⁹ combinations a second", number, ys);
    (!jobs.is_empty()).then(|| Figure {
        name: slug(&["roofline", id]),
        title: format!("Roofline of {device}"),
        caption: "Each job does one combination for each item, and moves the bytes of an item, a scan twice: sums of f64 are at \
                  1/8, of f32 at 1/4, of u8 at 1; their scans at half of that. Sloped lines are the measured speeds of \
                  memory at the longest array, reading and copying: a job on its line is as fast as memory lets it be. Filled points \
                  are the longest arrays, hollow ones the length at which the job was fastest, which caches serve. The \
                  level line is the most that any of these reached; it is no peak of arithmetic, which \
                  nothing here measures."
            .to_owned(),
        panels: vec![Panel::Plot(Plot { title: format!("roofline of {device}"), x, y, series, marks: Vec::new() })],
        table: Table {
            columns: vec!["op", "dtype", "length", "n", "combinations/byte", "10⁹/s", "GB/s", "limit GB/s"],
            rows,
        },
    })
}
