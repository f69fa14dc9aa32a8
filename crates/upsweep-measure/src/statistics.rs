//! Medians, and means that a few far-off samples do not move.

/// The middle of sorted numbers.
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}

/// The median of numbers in any order.
pub(crate) fn median_of(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    median(&times)
}

/// The mean of the middle half of some numbers: a few that are far off move it as little as the median, and it is finer than the steps in
/// which a clock counts.
pub(crate) fn middle_mean(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let cut = numbers.len() / 4;
    let middle = &numbers[cut..numbers.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert!(median(&[]).is_nan());
        assert_eq!(middle_mean(vec![9.0, 2.0, 1.0, 4.0]), 3.0);
        assert_eq!(middle_mean(vec![1000.0, 5.0, 5.0, 6.0, 7.0, 5.0, 6.0, -9.0]), 5.5);
        assert_eq!(middle_mean(vec![2.0]), 2.0);
        assert!(middle_mean(Vec::new()).is_nan());
    }
}
