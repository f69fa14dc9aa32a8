//! Figures as data.

use super::axis::Axis;

/// A figure with its words and its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// The name in links and of the file.
    pub(crate) name: String,
    pub(crate) title: String,
    /// What is drawn, and how it is read.
    pub(crate) caption: String,
    pub(crate) panels: Vec<Panel>,
    /// The numbers that are drawn.
    pub(crate) table: Table,
}

/// Numbers under names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// One pair of axes, or one group of bars.
#[derive(Clone, Debug)]
pub(crate) enum Panel {
    Plot(Plot),
    Bars(Bars),
}

/// Lines and points.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    /// Lines from bottom to top, with two lines of words: what happens there, and to whom.
    pub(crate) marks: Vec<(f64, [String; 2])>,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) look: Look,
    pub(crate) points: Vec<Point>,
}

/// How a series is drawn. The number chooses colour, dashes and shape, so that none has to be told by its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Line(usize),
    Dots(usize),
    /// Dots that are not filled.
    Rings(usize),
    /// A bound of the measured: a long-dashed line in the colour of text.
    Limit,
    /// A second bound: dotted.
    Ceiling,
    /// A third: a thin line.
    Top,
}

/// A point, and from where to where its values spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) spread: Option<(f64, f64)>,
}

impl Point {
    /// A point of one value.
    pub(crate) fn new(x: f64, y: f64) -> Self {
        Self { x, y, spread: None }
    }
}

/// Bars from left to right, one under another.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    pub(crate) title: String,
    pub(crate) label: String,
    pub(crate) bars: Vec<Bar>,
    /// A line from top to bottom, with words.
    pub(crate) limit: Option<(f64, String)>,
}

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// What stands behind its end.
    pub(crate) note: String,
    /// Whether it is what the others lead to.
    pub(crate) is_goal: bool,
}
