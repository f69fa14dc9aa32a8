//! What paired measurements say of a ratio, however they are spread.
//!
//! Each round gives one ratio, of two times taken right after one another. What slows both down, as another program
//! does or a lower clock, hardly changes it; what is left is as likely to favour the one as the other, since they take
//! turns in going first. So logarithms of ratios lie symmetrically around that of the true one, and Wilcoxon's signed
//! ranks apply, which ask for nothing else: no normal distribution, and no equal spread. The estimate is that of Hodges
//! and Lehmann, the median of the means of all pairs; the interval is the one that belongs to it. Of fifteen
//! rounds one may go astray by any factor without moving an end of it to itself.

use std::fmt::{self, Display};

use crate::bench::measure::median;

/// How often the interval misses the true ratio. A comparison has dozens of rows, each of which may cry wolf.
const MISSED: f64 = 0.01;

/// What is known of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) estimate: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Interval {
    /// From the ratios of rounds. With fewer than eight nothing is known: that all of seven differ in the same direction
    /// happens by chance once in 64 times. Then the interval has no ends.
    pub(crate) fn of(ratios: &[f64]) -> Self {
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let mut means: Vec<f64> = Vec::new();
        for (i, a) in logarithms.iter().enumerate() {
            means.extend(logarithms[i..].iter().map(|b| (a + b) / 2.0));
        }
        means.sort_by(f64::total_cmp);
        let estimate = median(&means).exp();
        match left_out(ratios.len()) {
            Some(outside) => Self {
                estimate,
                lower: means[outside].exp(),
                upper: means[means.len() - 1 - outside].exp(),
            },
            None => Self { estimate, lower: 0.0, upper: f64::INFINITY },
        }
    }

    /// What a ratio of the new time to the old one means, if times that differ by less than `threshold` are alike.
    pub(crate) fn verdict(&self, threshold: f64) -> Verdict {
        let (least, most) = (1.0 / (1.0 + threshold), 1.0 + threshold);
        if self.lower > most {
            Verdict::Slower
        } else if self.upper < least {
            Verdict::Faster
        } else if self.lower >= least && self.upper <= most {
            Verdict::Same
        } else {
            Verdict::Unclear
        }
    }
}

/// How many of the sorted means lie outside the interval at each end; nothing if even all of them are too few.
fn left_out(rounds: usize) -> Option<usize> {
    // If there is no difference, each rank has either sign alike: this is how likely each sum of the ranks of one sign is.
    let mut likely = vec![0.0; rounds * (rounds + 1) / 2 + 1];
    likely[0] = 1.0;
    for rank in 1..=rounds {
        for sum in (0..likely.len()).rev() {
            let with = if sum >= rank { likely[sum - rank] } else { 0.0 };
            likely[sum] = (likely[sum] + with) / 2.0;
        }
    }
    let mut total = 0.0;
    let sums = likely.iter().take_while(|likely| {
        total += *likely;
        total <= MISSED / 2.0
    });
    sums.count().checked_sub(1)
}

/// What is said of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Faster,
    Slower,
    /// The whole interval lies within the threshold.
    Same,
    /// The interval reaches across the threshold.
    Unclear,
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Unclear => "too noisy to say",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_left_out_as_tables_of_signed_ranks_say() {
        assert_eq!(left_out(0), None);
        assert_eq!(left_out(7), None);
        // The largest sums whose chance is at most 0.005 on one side.
        let table = [(8, 0), (9, 1), (10, 3), (11, 5), (12, 7), (15, 15), (20, 37)];
        for (rounds, outside) in table {
            assert_eq!(left_out(rounds), Some(outside), "{rounds}");
        }
    }

    #[test]
    fn noise_decides_what_can_be_said() {
        let around = |ratio: f64, noise: f64| -> Vec<f64> {
            (0..11).map(|i| ratio * (noise * (f64::from(i) - 5.0) / 5.0).exp()).collect()
        };
        let said = |ratios: &[f64]| Interval::of(ratios).verdict(0.03);
        assert_eq!(said(&around(1.0, 0.01)), Verdict::Same);
        assert_eq!(said(&around(1.1, 0.01)), Verdict::Slower);
        assert_eq!(said(&around(0.9, 0.01)), Verdict::Faster);
        assert_eq!(said(&around(1.0, 0.3)), Verdict::Unclear);
        assert_eq!(said(&around(1.1, 0.3)), Verdict::Unclear);
        assert_eq!(said(&around(2.0, 0.3)), Verdict::Slower);
        // One of fifteen that went astray.
        let mut astray = around(1.0, 0.005);
        astray.extend([1.0; 4]);
        astray[7] = 40.0;
        assert_eq!(said(&astray), Verdict::Same);
        assert_eq!(said(&around(2.0, 0.0)[..7]), Verdict::Unclear);
        assert_eq!(said(&[]), Verdict::Unclear);
    }

    #[test]
    fn both_directions_are_alike() {
        let ratios = [0.9, 1.0, 1.3, 1.05, 1.2, 0.97, 1.1, 1.02, 1.15];
        let (one, other) = (Interval::of(&ratios), Interval::of(&ratios.map(f64::recip)));
        for (a, b) in
            [(one.estimate, other.estimate), (one.lower, other.upper), (one.upper, other.lower)]
        {
            assert!((a * b - 1.0).abs() < 1e-12, "{a} {b}");
        }
        assert!(one.lower <= one.estimate && one.estimate <= one.upper);
    }
}
