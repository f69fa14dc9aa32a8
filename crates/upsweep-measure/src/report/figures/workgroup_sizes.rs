//! Bandwidth against values per thread, for each number of threads of a group and each local algorithm.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::plot::{Axis, Figure, Look, Panel, Plot, Point, Series, Table, power_of_two};
use crate::report::records::{Data, TuneRow};

use super::strategies::{jobs, limits};
use super::{Names, bandwidth, called, cell, slug};

/// A length is as good as the one with the most cells if it has this part of them.
const ENOUGH: f64 = 0.8;

/// Series are this far apart, in doublings, so that their spreads do not hide one another.
const APART: f64 = 0.07;

/// Rates by local algorithm, threads, values.
type Cells<'a> = BTreeMap<&'a str, BTreeMap<u32, BTreeMap<u32, Vec<f64>>>>;

/// One figure for each job on each device, at the longest length of which enough was tried.
pub(super) fn figures(data: &Data, names: &Names) -> Vec<Figure> {
    let figure = |((device, op, dtype), rows): ((&str, &str, &str), Vec<&TuneRow>)| {
        let n = longest(&rows)?;
        let rows: Vec<&TuneRow> = rows.into_iter().filter(|row| row.n == n).collect();
        let mut cells = Cells::new();
        for row in &rows {
            let ([_, local, _], rate) = (row.levels()?, row.rate(row.median_us)?);
            let of_local = cells.entry(local).or_default();
            let of_threads = of_local.entry(row.threads_per_workgroup).or_default();
            of_threads.entry(row.items_per_thread).or_default().push(rate);
        }
        let limit = limits(&rows).first().map(|point| point.y);
        let on = format!("{op} of {} {dtype} on {}", power_of_two(n as f64), called(names, device));
        // One axis for all, so that panels can be compared.
        let rates = cells.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values).flatten();
        let y = Axis::around("GB/s", rates.copied().chain(limit));
        let panels = cells.iter().enumerate().map(|(number, (local, threads))| {
            let title = if number == 0 { format!("{on} — {local}") } else { (*local).to_owned() };
            Panel::Plot(panel(title, op, threads, limit, y.clone()))
        });
        let panels = panels.collect();
        let table = cells.iter().flat_map(|(local, threads)| {
            threads.iter().flat_map(move |(threads, values)| {
                values.iter().map(move |(values, rates)| {
                    let point = point(0.0, rates);
                    let (low, high) = point.spread.unwrap_or((point.y, point.y));
                    let words = [(*local).to_owned(), threads.to_string(), values.to_string()];
                    let numbers = [low, point.y, high].map(|rate| cell(Some(rate)));
                    words.into_iter().chain(numbers).chain([rates.len().to_string()]).collect()
                })
            })
        });
        Some(Figure {
            name: slug(&["sweep", device, op, dtype]),
            title: format!("{on}: values per thread and threads per group"),
            caption: "One panel for each local algorithm, one line for each number of threads of a workgroup. A point is the \
                      mean over all strategies that were tried with these numbers (how items are loaded, what workgroups \
                      do with one another), the bar at it reaches from the slowest to the fastest of them. A high point \
                      with a short bar is a size that is good whatever else is chosen. The axis of rates does not begin at zero. Lines lie a little beside \
                      one another, so that their bars can be seen."
                .to_owned(),
            panels,
            table: Table {
                columns: vec!["local", "threads", "values", "slowest GB/s", "mean GB/s", "fastest GB/s", "cells"],
                rows: table.collect(),
            },
        })
    };
    jobs(data).into_iter().filter_map(figure).collect()
}

/// The longest length of which enough cells were tried.
fn longest(rows: &[&TuneRow]) -> Option<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(row.n).or_default() += 1;
    }
    let most = counts.values().max().copied()?;
    let enough = |count: usize| count as f64 >= ENOUGH * most as f64;
    counts.into_iter().rev().find(|(_, count)| enough(*count)).map(|(n, _)| n)
}

fn point(x: f64, rates: &[f64]) -> Point {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rates.iter().copied().fold(0.0, f64::max);
    Point { x, y: mean, spread: (rates.len() > 1).then_some((low, high)) }
}

fn panel(
    title: String,
    op: &str,
    threads: &BTreeMap<u32, BTreeMap<u32, Vec<f64>>>,
    limit: Option<f64>,
    y: Axis,
) -> Plot {
    let all: BTreeSet<u32> = threads.values().flat_map(|values| values.keys().copied()).collect();
    let x = Axis::of_doublings("values per thread", all.iter().map(|&value| f64::from(value)));
    let (low, high) = x.ends();
    let points = limit.into_iter().flat_map(|rate| [Point::new(low, rate), Point::new(high, rate)]);
    let mut series = vec![Series {
        name: format!("limit: {}", bandwidth::limit(op)),
        look: Look::Limit,
        points: points.collect(),
    }];
    let middle = (threads.len() as f64 - 1.0) / 2.0;
    for (number, (threads, values)) in threads.iter().enumerate() {
        let beside = ((number as f64 - middle) * APART).exp2();
        let points = values.iter().map(|(&value, rates)| point(f64::from(value) * beside, rates));
        series.push(Series {
            name: format!("{threads} threads"),
            look: Look::Line(number),
            points: points.collect(),
        });
    }
    Plot { title, x, y, series, marks: Vec::new() }
}
