//! The figures of a page, one file each, and for what is missing the reason.

mod bandwidth;
mod crossover;
mod ladder;
mod roofline;
mod rows;
mod strategies;
mod workgroup_sizes;

use std::collections::BTreeMap;

use super::plot::Figure;
use super::records::Data;

/// What a device is called, by its id.
pub(crate) type Names = BTreeMap<String, String>;

/// A part of a page: its figures, or why it has none.
pub(crate) struct Part {
    pub(crate) title: &'static str,
    pub(crate) figures: Vec<Figure>,
    pub(crate) missing: &'static str,
}

/// All parts in the order of a page.
pub(crate) fn all(data: &Data, names: &Names) -> Vec<Part> {
    vec![
        Part {
            title: "Bandwidth against length",
            figures: bandwidth::figures(data, names),
            missing: "No job was measured at three lengths or more.",
        },
        Part {
            title: "Rows of an array",
            figures: rows::figures(data, names),
            missing: "No rows along an axis were measured at three lengths or more: bench --rows records them.",
        },
        Part {
            title: "CPU against GPU",
            figures: crossover::figures(data, names),
            missing: "No job was measured at three lengths or more both on a CPU and on a GPU.",
        },
        Part {
            title: "Strategies of a GPU",
            figures: strategies::figures(data, names),
            missing: "No strategies of a GPU were tried.",
        },
        Part {
            title: "Values per thread and threads per group",
            figures: workgroup_sizes::figures(data, names),
            missing: "No sizes of workgroups were tried on a GPU.",
        },
        Part {
            title: "The ladder",
            figures: ladder::figures(data, names),
            missing: "The seven classic steps were not run: they are kernels of a GPU with a clock of its own.",
        },
        Part {
            title: "Roofline",
            figures: roofline::figures(data, names),
            missing: "No job was measured against a limit.",
        },
    ]
}

/// A device in titles: its name if that is known, and its id.
fn called(names: &Names, id: &str) -> String {
    match names.get(id) {
        Some(name) => format!("{name} ({id})"),
        None => id.to_owned(),
    }
}

/// Words as a part of a file's name.
fn slug(words: &[&str]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    words.join("-").chars().map(plain).collect()
}

/// A rate with three digits or so.
fn rate(gbps: f64) -> String {
    let places = if gbps >= 100.0 {
        0
    } else if gbps >= 10.0 {
        1
    } else {
        2
    };
    format!("{gbps:.places$} GB/s")
}

/// Three digits after the point, or none if there is no number.
fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.3}"))
}
