//! Whether one program is faster than another although times scatter.
//!
//! Both are run in turns, and only the ratios of neighbours count, so that whatever slows the machine down for a while meets both.
//! Of these ratios the median is given, and an interval in which the true one lies at 95 times of 100, whatever their distribution:
//! that of the sign test, which takes the kth smallest and the kth largest ratio (W. J. Conover, *Practical Nonparametric
//! Statistics*, 1999, section 3.2).

use std::fmt;

use crate::statistics::median;

/// How often the interval may miss the true ratio.
const MISSED: f64 = 0.05;

/// The fewest rounds of which there is an interval: the least and the greatest of six miss the median in 1 of 32 cases.
pub(crate) const FEWEST: usize = 6;

/// What comes of ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of the interval is below 1, by more than the threshold.
    Faster,
    /// All of the interval is above 1, by more than the threshold.
    Slower,
    /// All of the interval is within the threshold.
    Same,
    /// The interval is wider than the threshold.
    Unclear,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Unclear => "too noisy to say",
        })
    }
}

/// Times of the new program by those of the kept one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// The lower end of the interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Ratio {
    /// That of as many rounds; `None` of too few.
    pub(crate) fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.sort_by(f64::total_cmp);
        let skipped = skipped(ratios.len())?;
        Some(Self {
            median: median(&ratios),
            lower: ratios[skipped],
            upper: ratios[ratios.len() - 1 - skipped],
        })
    }

    /// What it says, if differences of less than `threshold` do not matter.
    pub(crate) fn verdict(self, threshold: f64) -> Verdict {
        let (least, most) = (1.0 / (1.0 + threshold), 1.0 + threshold);
        match self {
            Self { lower, .. } if lower > most => Verdict::Slower,
            Self { upper, .. } if upper < least => Verdict::Faster,
            Self { lower, upper, .. } if lower >= least && upper <= most => Verdict::Same,
            _ => Verdict::Unclear,
        }
    }
}

/// How many ratios at either end are outside of the interval.
fn skipped(rounds: usize) -> Option<usize> {
    // Both tails of a coin that is thrown so often, up to so many heads.
    let (mut heads, mut tail, mut skipped) = (0.5f64.powi(i32::try_from(rounds).ok()?), 0.0, None);
    for k in 0..rounds {
        tail += heads;
        if 2.0 * tail > MISSED {
            break;
        }
        skipped = Some(k);
        heads *= (rounds - k) as f64 / (k + 1) as f64;
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        // From tables of the binomial distribution.
        for (rounds, expected) in [
            (0, None),
            (FEWEST - 1, None),
            (FEWEST, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (11, Some(1)),
            (12, Some(2)),
            (15, Some(3)),
            (20, Some(5)),
            (25, Some(7)),
        ] {
            assert_eq!(skipped(rounds), expected, "{rounds}");
        }
        let ratio = Ratio::of((1..=9).map(f64::from).collect()).expect("enough");
        assert_eq!([ratio.lower, ratio.median, ratio.upper], [2.0, 5.0, 8.0]);
    }

    #[test]
    fn a_verdict_wants_the_whole_interval() {
        let verdict = |lower, upper| Ratio { median: 1.0, lower, upper }.verdict(0.02);
        assert_eq!(verdict(1.03, 1.2), Verdict::Slower);
        assert_eq!(verdict(0.7, 0.97), Verdict::Faster);
        assert_eq!(verdict(0.99, 1.01), Verdict::Same);
        assert_eq!(verdict(0.9, 1.01), Verdict::Unclear);
        assert_eq!(verdict(1.01, 1.2), Verdict::Unclear);
    }
}
