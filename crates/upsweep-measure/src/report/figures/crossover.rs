//! Time against length: from when on a GPU is the better place.

use crate::report::crossover::{Contest, Crossing, near};
use crate::report::plot::{Axis, Figure, Look, Panel, Plot, Point, Series, Table};
use crate::report::records::Data;

use super::{Names, called, cell, slug};

/// One figure for each job that both a CPU and a GPU did.
pub(super) fn figures(data: &Data, names: &Names) -> Vec<Figure> {
    Contest::all(data).iter().map(|contest| figure(contest, names)).collect()
}

fn figure(contest: &Contest, names: &Names) -> Figure {
    let Contest { op, dtype, .. } = contest;
    let points = |times: &[(u64, f64)]| {
        times.iter().map(|&(n, us)| Point::new(n as f64, us)).collect::<Vec<_>>()
    };
    let mut series =
        vec![Series { name: "cpu".to_owned(), look: Look::Line(0), points: points(&contest.cpu) }];
    let (mut marks, mut said) = (Vec::new(), Vec::new());
    for (number, other) in contest.others.iter().enumerate() {
        let name = format!("{}, {}", other.device, other.place.words());
        if let Crossing::At(n) = other.crossing {
            marks.push((n, [format!("faster from {}", near(n)), name.clone()]));
        }
        said.push(other.crossing.sentence(&called(names, &other.device), other.place));
        series.push(Series { name, look: Look::Line(number + 1), points: points(&other.times) });
    }
    let table = std::iter::once(("cpu", "", &contest.cpu)).chain(
        contest
            .others
            .iter()
            .map(|other| (other.device.as_str(), other.place.words(), &other.times)),
    );
    let rows = table.flat_map(|(device, place, times)| {
        times.iter().map(move |&(n, us)| {
            vec![device.to_owned(), place.to_owned(), n.to_string(), cell(Some(us))]
        })
    });
    let rows = rows.collect();
    let all = || series.iter().flat_map(|series| &series.points);
    Figure {
        name: slug(&["crossover", op, dtype]),
        title: format!("{op} of {dtype}: CPU against GPU"),
        caption: format!(
            "The median time of one call for each length; both axes have equal steps for equal ratios. {}",
            said.join(" "),
        ),
        panels: vec![Panel::Plot(Plot {
            title: format!("{op} of {dtype}, time of a call"),
            x: Axis::of_powers("items", all().map(|point| point.x)),
            y: Axis::of_tens("median time", duration, all().map(|point| point.y)),
            series,
            marks,
        })],
        table: Table { columns: vec!["device", "items are", "n", "median µs"], rows },
    }
}

/// Microseconds in the unit that fits.
fn duration(us: f64) -> String {
    match us {
        us if us < 1.0 => format!("{:.0} ns", us * 1e3),
        us if us < 1e3 => format!("{us:.0} µs"),
        us if us < 1e6 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.0} s", us / 1e6),
    }
}
