//! How long a tuning run may take, and whether someone wants it to end.

use std::io::{IsTerminal, stderr};
use std::str::FromStr;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::signals::check_signals;

/// A time on the command line: seconds, or with `s`, `m` or `h`; `all` is as long as it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Option<Duration>);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self(None));
        }
        let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
            Some(number) => (number, &text[number.len()..]),
            None => (text, "s"),
        };
        let seconds = match unit {
            "m" => 60.0,
            "h" => 3600.0,
            _ => 1.0,
        };
        let time = number.parse::<f64>().ok().map(|number| number * seconds);
        let time = time.filter(|time| (1e-3..1e6).contains(time));
        let wrong = || format!("'{text}' is no time such as 60s, 5m or all");
        Ok(Self(Some(Duration::from_secs_f64(time.ok_or_else(wrong)?))))
    }
}

/// The time of a run, shared out among its pieces of work.
pub(crate) struct Budget {
    begun: Instant,
    span: Option<Duration>,
    pieces: usize,
    done: usize,
    bar: Option<ProgressBar>,
}

impl Budget {
    /// So long for so many pieces of work, beginning now.
    pub(crate) fn new(Span(span): Span, pieces: usize) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(span.map_or(pieces as u64, |span| span.as_millis() as u64));
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {elapsed} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { begun: Instant::now(), span, pieces, done: 0, bar }
    }

    /// A line of what is being done.
    pub(crate) fn say(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
        self.moved();
    }

    /// The next piece of work begins: until when it may take. What one leaves over, all others share.
    pub(crate) fn next(&mut self) -> Deadline {
        self.next_as(1)
    }

    /// The same for work that counts as so many pieces.
    pub(crate) fn next_as(&mut self, pieces: usize) -> Deadline {
        let left = self.pieces.saturating_sub(self.done).max(pieces);
        self.done += pieces;
        let share = self.span.map(|span| {
            span.saturating_sub(self.begun.elapsed()).mul_f64(pieces as f64 / left as f64)
        });
        Deadline(share.map(|share| Instant::now() + share))
    }

    /// Moves the bar.
    pub(crate) fn moved(&self) {
        if let Some(bar) = &self.bar {
            bar.set_position(match self.span {
                Some(_) => self.begun.elapsed().as_millis() as u64,
                None => self.done as u64,
            });
        }
    }

    /// How long it has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Until when a piece of work may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// Whether it is over, or someone asked the program to end.
    pub(crate) fn is_over(self) -> bool {
        self.is_over_by(Duration::ZERO)
    }

    /// Whether it has been over for so long, or someone asked the program to end.
    pub(crate) fn is_over_by(self, grace: Duration) -> bool {
        check_signals().is_err() || self.0.is_some_and(|end| Instant::now() >= end + grace)
    }

    /// One that is so much later.
    pub(crate) fn later(self, time: Duration) -> Self {
        Self(self.0.map(|end| end + time))
    }

    /// One that is so far away at most.
    pub(crate) fn at_most(self, time: Duration) -> Self {
        let end = Instant::now() + time;
        Self(Some(self.0.map_or(end, |own| own.min(end))))
    }

    /// How much time there is, if there is an end.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// One that leaves out the last part of the time.
    pub(crate) fn before(self, part: f64) -> Self {
        self.before_at_most(part, Duration::MAX)
    }

    /// One that leaves out the last part of the time, but so much at most.
    pub(crate) fn before_at_most(self, part: f64, most: Duration) -> Self {
        Self(self.0.map(|end| {
            let left = end.saturating_duration_since(Instant::now());
            end - left.mul_f64(part).min(most)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let parsed = |text: &str| text.parse::<Span>().map(|span| span.0);
        assert_eq!(parsed("60s"), Ok(Some(Duration::from_secs(60))));
        assert_eq!(parsed("2m"), Ok(Some(Duration::from_secs(120))));
        assert_eq!(parsed("0.5"), Ok(Some(Duration::from_millis(500))));
        assert_eq!(parsed("all"), Ok(None));
        for wrong in ["", "s", "-1s", "nan", "1d", "1e9h"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_left_is_shared() {
        let mut budget = Budget::new(Span(Some(Duration::from_secs(100))), 2);
        let Deadline(Some(first)) = budget.next() else { panic!("there is an end") };
        let Deadline(Some(second)) = budget.next() else { panic!("there is an end") };
        let apart = second - first;
        assert!((49..=51).contains(&apart.as_secs()), "{apart:?}");
        let mut budget = Budget::new(Span(Some(Duration::from_secs(90))), 3);
        let Deadline(Some(first)) = budget.next_as(2) else { panic!("there is an end") };
        let Deadline(Some(second)) = budget.next() else { panic!("there is an end") };
        let apart = second - first;
        assert!((29..=31).contains(&apart.as_secs()), "{apart:?}");
        let left = Deadline(Some(second)).left().map_or(0, |left| left.as_secs());
        assert!((88..=90).contains(&left), "{left} s");
        let less = |most| Deadline(Some(second)).before_at_most(0.5, Duration::from_secs(most));
        let left = [60, 10].map(|most| less(most).left().map_or(0, |left| left.as_secs()));
        assert!((43..=45).contains(&left[0]) && (78..=80).contains(&left[1]), "{left:?} s");
        let later = Deadline(Some(second)).later(Duration::from_secs(10));
        assert_eq!(later.0, Some(second + Duration::from_secs(10)));
        for long in [Deadline(None), Deadline(Some(second))] {
            let left =
                long.at_most(Duration::from_secs(10)).left().map_or(0, |left| left.as_secs());
            assert!((9..=10).contains(&left), "{left} s");
        }
        assert_eq!(Deadline(Some(second)).at_most(Duration::from_secs(1000)).0, Some(second));
        assert_eq!(Deadline(None).left(), None);
        assert!(!Deadline(None).is_over());
        let now = Deadline(Some(Instant::now()));
        assert!(now.is_over() && !now.is_over_by(Duration::from_secs(100)));
    }
}
