//! Figures as data, and as SVG.
//!
//! The marks are written by [`maud`], which writes the page too, and not by a library of charts: those at hand (plotters for
//! one) write colours into every mark and dashes as many short lines. Here each mark has a class, so that one style
//! sheet serves light, dark and printed pages, and the file alone as well as within the page.

mod axis;
mod bars;
mod draw;
mod figure;
mod style;

pub(crate) use axis::{Axis, number, power_of_two};
pub(crate) use draw::{figure, standalone};
pub(crate) use figure::{Bar, Bars, Figure, Look, Panel, Plot, Point, Series, Table};
pub(crate) use style::STYLE;
