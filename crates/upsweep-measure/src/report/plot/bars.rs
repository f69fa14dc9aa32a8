//! Bars from left to right, one under another, each with its name before it and its number behind it.

use maud::{Markup, html};

use super::axis::Axis;
use super::figure::Bars;

/// Points of a name's column, of the longest bar, above the first and from one to the next.
const NAMES: f64 = 150.0;
const ACROSS: f64 = 430.0;
const ABOVE: f64 = 58.0;
const STEP: f64 = 30.0;
const BELOW: f64 = 52.0;

pub(super) fn height(bars: &Bars) -> f64 {
    ABOVE + STEP * bars.bars.len() as f64 + BELOW
}

pub(super) fn draw(bars: &Bars) -> Markup {
    let limit = bars.limit.as_ref().map(|(limit, _)| *limit);
    let axis = Axis::from_zero(&bars.label, bars.bars.iter().map(|bar| bar.value).chain(limit));
    let down = STEP * bars.bars.len() as f64;
    let bottom = ABOVE + down;
    html! {
        text.title x="12" y="22" { (bars.title) }
        @for (value, name) in axis.ticks(6) {
            @let x = NAMES + ACROSS * axis.place(value);
            path.grid d=(format!("M{x:.1},{ABOVE:.1}v{down:.1}")) {}
            text.soft x=(format!("{x:.1}")) y=(bottom + 18.0) text-anchor="middle" { (name) }
        }
        @for (number, bar) in bars.bars.iter().enumerate() {
            @let y = ABOVE + STEP * number as f64;
            @let length = ACROSS * axis.place(bar.value);
            rect class=(if bar.is_goal { "goal" } else { "bar" }) x=(NAMES) y=(y + 5.0)
                width=(format!("{length:.1}")) height=(STEP - 10.0) {}
            text x=(NAMES - 10.0) y=(y + STEP / 2.0 + 4.5) text-anchor="end" { (bar.name) }
            text x=(format!("{:.1}", NAMES + ACROSS + 12.0)) y=(y + STEP / 2.0 + 4.5) { (bar.note) }
        }
        path.frame d=(format!("M{NAMES:.1},{ABOVE:.1}v{down:.1}")) {}
        @if let Some((limit, words)) = &bars.limit {
            @let x = NAMES + ACROSS * axis.place(*limit);
            path.limit d=(format!("M{x:.1},{:.1}V{bottom:.1}", ABOVE - 8.0)) {}
            text x=(format!("{x:.1}")) y=(ABOVE - 14.0) text-anchor="end" { (words) }
        }
        text.soft x=(NAMES + ACROSS / 2.0) y=(bottom + 40.0) text-anchor="middle" { (bars.label) }
    }
}
