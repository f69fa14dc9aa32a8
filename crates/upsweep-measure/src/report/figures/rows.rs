//! Bandwidth against the length of a row, at the same number of items: rows along memory and across it.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::plot::{Axis, Figure, Look, Panel, Plot, Point, Series, Table, power_of_two};
use crate::report::records::{BenchRow, Data};

use super::bandwidth::limit;
use super::{Names, called, cell, slug};

/// An operation, its types and the number of items.
type Job<'a> = (&'a str, &'a str, u64);

/// One figure for each job, one panel for each device.
pub(super) fn figures(data: &Data, names: &Names) -> Vec<Figure> {
    let mut jobs: BTreeMap<Job<'_>, BTreeMap<&str, Vec<&BenchRow>>> = BTreeMap::new();
    for row in data.rows.iter().filter(|row| row.is_right() && row.gbps.is_some()) {
        let job = (row.op.as_str(), row.dtype.as_str(), row.n);
        jobs.entry(job).or_default().entry(&row.device).or_default().push(row);
    }
    jobs.into_iter().filter_map(|(job, devices)| figure(job, devices, names)).collect()
}

fn figure(
    (op, dtype, n): Job<'_>,
    mut devices: BTreeMap<&str, Vec<&BenchRow>>,
    names: &Names,
) -> Option<Figure> {
    devices.retain(|_, rows| rows.iter().map(|row| row.length).collect::<BTreeSet<_>>().len() > 2);
    let items = power_of_two(n as f64);
    let panels: Vec<Panel> = devices
        .iter()
        .map(|(device, rows)| {
            let title = format!("{op} of {items} {dtype} on {}", called(names, device));
            Panel::Plot(panel(title, limit(op), rows))
        })
        .collect();
    let cells = |row: &&BenchRow| {
        let axis = row.axis.clone().unwrap_or_default();
        let length = row.length.map_or(String::new(), |length| length.to_string());
        let words = [row.device.clone(), row.strategy.clone(), axis, length];
        let numbers = [row.median_us, row.gbps, row.limit_gbps, row.pct_of_limit].map(cell);
        words.into_iter().chain(numbers).collect()
    };
    let table = Table {
        columns: vec![
            "device",
            "strategy",
            "axis",
            "length",
            "median µs",
            "GB/s",
            "limit GB/s",
            "% of limit",
        ],
        rows: devices.values().flatten().map(cells).collect(),
    };
    (!panels.is_empty()).then(|| Figure {
        name: slug(&["rows", op, dtype, &n.to_string()]),
        title: format!("{op} of {dtype} along an axis: bandwidth against the length of a row"),
        caption: format!(
            "The fewest bytes that {op} of {items} {dtype} must move, by the median time, for each length of a row: shorter rows are \
             more rows. Rows lie along memory, columns across it, each item as far from the next as there are columns. The dashed line \
             is what the same device reaches on the same items without arithmetic: {}.",
            limit(op),
        ),
        panels,
        table,
    })
}

fn panel(title: String, limit: &str, rows: &[&BenchRow]) -> Plot {
    let strategies: BTreeSet<&str> = rows.iter().map(|row| row.strategy.as_str()).collect();
    // Later rows of the same cell are later measurements.
    let mut lines: BTreeMap<(std::cmp::Reverse<&str>, &str), BTreeMap<u64, &BenchRow>> =
        BTreeMap::new();
    let mut limits: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for row in rows {
        let (Some(axis), Some(length)) = (&row.axis, row.length) else { continue };
        // Rows stand in front of columns.
        let line = (std::cmp::Reverse(axis.as_str()), row.strategy.as_str());
        lines.entry(line).or_default().insert(length, row);
        limits.entry(length).or_default().extend(row.limit_gbps);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let limits = limits.iter().filter(|(_, values)| !values.is_empty());
    let limits = limits.map(|(&length, values)| Point::new(length as f64, mean(values))).collect();
    let mut series =
        vec![Series { name: format!("limit: {limit}"), look: Look::Limit, points: limits }];
    for (number, ((axis, strategy), cells)) in lines.into_iter().enumerate() {
        let point = |(&length, row): (&u64, &&BenchRow)| {
            Some(Point { x: length as f64, y: row.gbps?, spread: row.spread() })
        };
        let points = cells.iter().filter_map(point).collect();
        let name = match strategies.len() {
            1 => axis.0.to_owned(),
            _ => format!("{}, {strategy}", axis.0),
        };
        series.push(Series { name, look: Look::Line(number), points });
    }
    let points = || series.iter().flat_map(|series| &series.points);
    Plot {
        title,
        x: Axis::of_powers("items of a row", points().map(|point| point.x)),
        y: Axis::from_zero("GB/s", points().map(|point| point.spread.map_or(point.y, |s| s.1))),
        series,
        marks: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_have_a_line_each() {
        let mut record = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,pct_of_limit,first_call_us,checked,\
            axis,length\n"
            .to_owned();
        for device in ["cpu", "g"] {
            for (axis, gbps) in [("rows", 30), ("columns", 20)] {
                for length in [8, 32, 1000] {
                    record += &format!(
                        "{device},reduce,f32,4096,auto,2,1,4,{gbps},40,50,9,ok,{axis},{length}\n"
                    );
                }
            }
        }
        // Two lengths are no line, and a wrong result has no time.
        record += "h,reduce,f32,4096,auto,2,1,4,3,40,50,9,ok,rows,8\nh,reduce,f32,4096,auto,2,1,4,3,40,50,9,ok,rows,16\n\
            cpu,reduce,f32,4096,auto,,,,,,,,wrong,rows,64\n";
        let mut data = Data::default();
        data.add(record.as_bytes()).expect("a record");
        assert!(data.bench.is_empty() && data.rows.len() == 15);
        let [figure] = &figures(&data, &Names::new())[..] else { panic!("one figure") };
        assert_eq!(figure.name, "rows-reduce-f32-4096");
        assert_eq!((figure.panels.len(), figure.table.rows.len()), (2, 12));
        for panel in &figure.panels {
            let Panel::Plot(plot) = panel else { panic!("a plot") };
            let names: Vec<&str> = plot.series.iter().map(|series| series.name.as_str()).collect();
            assert_eq!(names, ["limit: reading", "rows", "columns"]);
            assert!(plot.series.iter().all(|series| series.points.len() == 3));
            let first = plot.series[1].points[0];
            assert_eq!((first.x, first.y, first.spread), (8.0, 30.0, Some((15.0, 60.0))));
        }
    }
}
