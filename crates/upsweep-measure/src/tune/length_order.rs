//! In which order a cell is tried at several lengths, at which it is not, and which of some is the fastest.

/// A cell that takes so many times as long as the best at a shorter and at a longer length is not tried at those between them.
const SLOW: f64 = 1.1;

/// The number of the longest length of at most so many items.
pub(super) fn longest_within(lengths: &[usize], items: usize) -> usize {
    lengths.partition_point(|&length| length <= items).saturating_sub(1)
}

/// The numbers of lengths in the order in which a cell is tried at them, and how many come first: the `middle` one, where results are
/// compared, the longest, where memory is the limit, and the shortest, where starting is.
pub(super) fn order(lengths: usize, middle: usize) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = Vec::new();
    for number in [middle, lengths - 1, 0] {
        if !order.contains(&number) {
            order.push(number);
        }
    }
    let first = order.len();
    let others = (0..lengths).filter(|number| !order.contains(number)).collect::<Vec<_>>();
    order.extend(others);
    (order, first)
}

/// Whether a cell is slow at the next shorter and the next longer length at which it was tried.
pub(super) fn is_slow_around(ratios: &[Option<f64>], number: usize) -> bool {
    let is_slow = |&ratio: &f64| ratio > SLOW;
    let shorter = ratios[..number].iter().rev().flatten().next().is_some_and(is_slow);
    let longer = ratios[number..].iter().flatten().next().is_some_and(is_slow);
    shorter && longer
}

/// What is faster by less than this part is as fast: it is noise.
pub(super) const SAME: f64 = 1.003;

/// The number of the fastest, where the `first` stays unless another is faster by more than noise, and so does whatever beats it.
pub(super) fn fastest(times: &[f64], first: usize) -> usize {
    let others = (0..times.len()).filter(|&number| number != first);
    others.fold(first, |best, next| if SAME * times[next] < times[best] { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cells_are_not_tried_between() {
        let lengths = [10, 12, 14, 16, 18, 20, 22, 24].map(|power| 1 << power);
        let middle = longest_within(&lengths, 1 << 20);
        let (order, first) = order(lengths.len(), middle);
        assert_eq!((&order[..first], &order[first..]), (&[5, 7, 0][..], &[1, 2, 3, 4, 6][..]));
        let mut ratios = vec![None; lengths.len()];
        let skipped = |ratios: &[Option<f64>]| -> Vec<usize> {
            (0..lengths.len()).filter(|&number| is_slow_around(ratios, number)).collect()
        };
        assert_eq!(skipped(&ratios), [0; 0]);
        (ratios[5], ratios[7], ratios[0]) = (Some(1.2), Some(1.0), Some(1.3));
        assert_eq!(skipped(&ratios), [1, 2, 3, 4, 5]);
        ratios[2] = Some(1.05);
        assert_eq!(skipped(&ratios), [0; 0], "it was fast in between");
    }

    #[test]
    fn what_is_in_use_stays_unless_it_is_beaten() {
        assert_eq!(fastest(&[1.0], 0), 0);
        assert_eq!(fastest(&[1.0, 0.998, 0.9965], 1), 1);
        assert_eq!(fastest(&[1.0, 1.002, 1.001], 1), 1);
        assert_eq!(fastest(&[1.0, 1.004, 1.01], 1), 0);
        assert_eq!(fastest(&[1.0, 0.999, 0.98], 0), 2);
        assert_eq!(fastest(&[1.0, 1.1, 0.9], 1), 2);
    }

    #[test]
    fn of_one_length_there_is_one() {
        assert_eq!(longest_within(&[1 << 24], 1 << 20), 0);
        assert_eq!(order(1, 0), (vec![0], 1));
        assert_eq!(order(2, 1), (vec![1, 0], 2));
    }
}
