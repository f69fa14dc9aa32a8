//! Figures as SVG: panels one under another, each with its names at its right side.

use maud::{Markup, PreEscaped, html};

use super::axis::Axis;
use super::bars;
use super::figure::{Figure, Look, Panel, Plot, Point, Series};
use super::style::{LOOKS, STYLE, shape};

/// Points of a figure across: as wide as a text on a page of a repository.
const WIDTH: f64 = 820.0;

/// Points from the left edge to the axis, and from the axis to the names at its right.
pub(super) const LEFT: f64 = 72.0;
const ACROSS: f64 = 500.0;

/// Points above the frame, of the frame, and below it.
const ABOVE: f64 = 40.0;
const HIGH: f64 = 250.0;
const BELOW: f64 = 62.0;

/// Points from one name to the next.
const LINE: f64 = 22.0;

/// The figure for a page, which has the style sheet.
pub(crate) fn figure(figure: &Figure) -> Markup {
    svg(figure, None)
}

/// The figure as a file.
pub(crate) fn standalone(figure: &Figure) -> String {
    svg(figure, Some(STYLE)).into_string() + "\n"
}

fn height(panel: &Panel) -> f64 {
    match panel {
        Panel::Plot(plot) => {
            let lines = plot.series.len() + 2 * plot.marks.len();
            (ABOVE + HIGH + BELOW).max(ABOVE + 30.0 + LINE * lines as f64)
        }
        Panel::Bars(bars) => bars::height(bars),
    }
}

fn svg(figure: &Figure, style: Option<&str>) -> Markup {
    let tall: f64 = figure.panels.iter().map(height).sum();
    let mut top = 0.0;
    let drawn = figure.panels.iter().map(|panel| {
        let at = top;
        top += height(panel);
        html! {
            g transform=(format!("translate(0,{at:.0})")) {
                @match panel {
                    Panel::Plot(panel) => (plot(panel)),
                    Panel::Bars(panel) => (bars::draw(panel)),
                }
            }
        }
    });
    let drawn: Vec<Markup> = drawn.collect();
    let (title, desc) = (format!("{}-title", figure.name), format!("{}-desc", figure.name));
    html! {
        svg class="figure" xmlns="http://www.w3.org/2000/svg" role="img"
            aria-labelledby=(format!("{title} {desc}"))
            viewBox=(format!("0 0 {WIDTH:.0} {tall:.0}")) width=(format!("{WIDTH:.0}"))
            height=(format!("{tall:.0}")) {
            title id=(title) { (figure.title) }
            desc id=(desc) { (figure.caption) }
            @if let Some(style) = style { style { (PreEscaped(style)) } }
            rect.paper width="100%" height="100%" {}
            @for panel in drawn { (panel) }
        }
    }
}

/// Where a point lies.
struct Place<'a> {
    x: &'a Axis,
    y: &'a Axis,
}

impl Place<'_> {
    fn x(&self, x: f64) -> f64 {
        LEFT + ACROSS * self.x.place(x)
    }

    fn y(&self, y: f64) -> f64 {
        ABOVE + HIGH * (1.0 - self.y.place(y))
    }
}

fn plot(plot: &Plot) -> Markup {
    let place = Place { x: &plot.x, y: &plot.y };
    let bottom = ABOVE + HIGH;
    let middle = ABOVE + HIGH / 2.0;
    html! {
        text.title x=(LEFT) y="22" { (plot.title) }
        @for (value, name) in plot.y.ticks(6) {
            @let y = place.y(value);
            path.grid d=(format!("M{LEFT:.1},{y:.1}h{ACROSS:.1}")) {}
            text.soft x=(LEFT - 8.0) y=(format!("{:.1}", y + 4.5)) text-anchor="end" { (name) }
        }
        @for (value, name) in plot.x.ticks(10) {
            @let x = place.x(value);
            path.grid d=(format!("M{x:.1},{ABOVE:.1}v{HIGH:.1}")) {}
            text.soft x=(format!("{x:.1}")) y=(bottom + 19.0) text-anchor="middle" { (name) }
        }
        rect.frame x=(LEFT) y=(ABOVE) width=(ACROSS) height=(HIGH) {}
        text.soft x=(LEFT + ACROSS / 2.0) y=(bottom + 42.0) text-anchor="middle" { (plot.x.label) }
        text.soft transform=(format!("translate(16,{middle:.1})rotate(-90)")) text-anchor="middle" {
            (plot.y.label)
        }
        @for (letter, (at, _)) in ('A'..).zip(&plot.marks) { (mark(&place, letter, *at)) }
        @for series in &plot.series { (drawn(&place, series)) }
        @for (number, series) in plot.series.iter().enumerate() {
            (name(series, ABOVE + 10.0 + LINE * number as f64))
        }
        @let below = ABOVE + 18.0 + LINE * plot.series.len() as f64;
        @for (number, (letter, (_, words))) in ('A'..).zip(&plot.marks).enumerate() {
            (meaning(letter, words, below + 2.0 * LINE * number as f64))
        }
    }
}

/// A line from bottom to top, with a letter at its head.
fn mark(place: &Place<'_>, letter: char, at: f64) -> Markup {
    let x = place.x(at);
    html! {
        path.mark d=(format!("M{x:.1},{ABOVE:.1}v{HIGH:.1}")) {}
        text x=(format!("{x:.1}")) y=(ABOVE - 5.0) text-anchor="middle" { (letter) }
    }
}

/// What a letter means, beside the frame.
fn meaning(letter: char, words: &[String; 2], y: f64) -> Markup {
    let left = LEFT + ACROSS + 18.0;
    html! {
        text x=(left + 12.0) y=(format!("{:.1}", y + 4.5)) text-anchor="middle" { (letter) }
        text x=(left + 38.0) y=(format!("{:.1}", y + 4.5)) { (words[0]) }
        text.soft x=(left + 38.0) y=(format!("{:.1}", y + 21.0)) { (words[1]) }
    }
}

fn path(place: &Place<'_>, points: &[Point]) -> String {
    let at = points.iter().map(|point| format!("{:.1},{:.1}", place.x(point.x), place.y(point.y)));
    format!("M{}", at.collect::<Vec<_>>().join("L"))
}

fn dot(look: usize, x: f64, y: f64, is_ring: bool) -> Markup {
    let class = match (look % LOOKS, is_ring) {
        (look, true) => format!("ring dot s{look}"),
        (look, false) => format!("dot s{look} f{look}"),
    };
    html! { path class=(class) d=(shape(look, x, y)) {} }
}

fn drawn(place: &Place<'_>, series: &Series) -> Markup {
    let dots = |look: usize, is_ring: bool| {
        html! {
            @for point in &series.points {
                @if let Some((low, high)) = point.spread {
                    @let (x, low, high) = (place.x(point.x), place.y(low), place.y(high));
                    path class=(format!("spread s{}", look % LOOKS))
                        d=(format!("M{x:.1},{low:.1}V{high:.1}M{:.1},{low:.1}h6M{:.1},{high:.1}h6", x - 3.0, x - 3.0)) {}
                }
                (dot(look, place.x(point.x), place.y(point.y), is_ring))
            }
        }
    };
    html! {
        @match series.look {
            Look::Line(look) => {
                path class=(format!("line s{}", look % LOOKS)) d=(path(place, &series.points)) {}
                (dots(look, false))
            },
            Look::Dots(look) => (dots(look, false)),
            Look::Rings(look) => (dots(look, true)),
            Look::Limit => { path.limit d=(path(place, &series.points)) {} },
            Look::Ceiling => { path.ceiling d=(path(place, &series.points)) {} },
            Look::Top => { path.frame d=(path(place, &series.points)) {} },
        }
    }
}

/// A series' name beside a piece of it.
fn name(series: &Series, y: f64) -> Markup {
    let left = LEFT + ACROSS + 18.0;
    let middle = left + 15.0;
    let line = format!("M{left:.1},{y:.1}h30");
    html! {
        @match series.look {
            Look::Line(look) => {
                path class=(format!("line s{}", look % LOOKS)) d=(line) {}
                (dot(look, middle, y, false))
            },
            Look::Dots(look) => (dot(look, middle, y, false)),
            Look::Rings(look) => (dot(look, middle, y, true)),
            Look::Limit => { path.limit d=(line) {} },
            Look::Ceiling => { path.ceiling d=(line) {} },
            Look::Top => { path.frame d=(line) {} },
        }
        text x=(left + 38.0) y=(format!("{:.1}", y + 4.5)) { (series.name) }
    }
}
