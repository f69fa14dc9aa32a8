//! The summation specification in plain code: the order in which rounding values are combined.
//!
//! Everything is written for clarity: the input is copied and filled up with padding, and each
//! level of the specification is one function.

use crate::summation::{GROUP, GROUPS, LANES, ROWS, TILE, TILES, WINDOW};
use crate::{Bounds, Direction, Element, Flipped, Operator, Reduce, Scan, Widen};

/// A reduction in the specified order.
///
/// A commutative operator is applied to lanes; one that is not gets the total of a scan.
///
/// ```
/// use upsweep_core::{Reduce, Sum, reference::specified};
/// let sum: f32 = specified::reduce(&[0.5f32, 0.25], &Reduce::new(Sum));
/// assert_eq!(sum, 0.75);
/// ```
pub fn reduce<T, A, O>(items: &[T], problem: &Reduce<A, O>) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let operator = &problem.operator;
    if items.is_empty() {
        return problem.init.unwrap_or(operator.identity());
    }
    let total = if O::COMMUTATIVE {
        let tiles: Vec<A> =
            padded(items, operator, TILE).chunks(TILE).map(|t| tile(t, operator)).collect();
        tree(&tiles, operator)
    } else {
        carries(&padded(items, operator, WINDOW), operator, None).1
    };
    problem.init.map_or(total, |init| operator.combine(init, total))
}

/// A scan in the specified order.
///
/// ```
/// use upsweep_core::{Scan, Sum, reference::specified};
/// let output: Vec<f32> = specified::scan(&[0.5f32, 0.25], &Scan::inclusive(Sum));
/// assert_eq!(output, [0.5, 0.75]);
/// ```
pub fn scan<T, U, O>(items: &[T], problem: &Scan<U::Acc, O>) -> Vec<U>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    match problem.direction {
        Direction::Forward => forward(items, &problem.operator, problem.bounds, problem.init),
        Direction::Reverse => {
            let reversed: Vec<T> = items.iter().rev().copied().collect();
            let operator = Flipped(problem.operator);
            let mut output = forward(&reversed, &operator, problem.bounds, problem.init);
            output.reverse();
            output
        }
    }
}

fn forward<T, U, O>(items: &[T], operator: &O, bounds: Bounds, init: Option<U::Acc>) -> Vec<U>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let values = padded(items, operator, WINDOW);
    let (carries, _) = carries(&values, operator, init);
    let mut output = Vec::with_capacity(values.len());
    for (group, carry) in values.chunks(GROUP).zip(carries) {
        let prefixes = aligned_prefixes(group, operator);
        for item in 0..GROUP {
            let value = match bounds {
                Bounds::Inclusive => operator.combine(carry, prefixes[item]),
                Bounds::Exclusive if item == 0 => carry,
                Bounds::Exclusive => operator.combine(carry, prefixes[item - 1]),
            };
            output.push(U::from_acc(value));
        }
    }
    output.truncate(items.len());
    if let (Bounds::Exclusive, None, Some(first)) = (bounds, init, output.first_mut()) {
        *first = U::from_acc(operator.identity());
    }
    output
}

/// The items as they are combined, filled up with padding to a multiple of `multiple`.
fn padded<T, A, O>(items: &[T], operator: &O, multiple: usize) -> Vec<A>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let mut values: Vec<A> = items.iter().map(|item| item.widen()).collect();
    values.resize(items.len().next_multiple_of(multiple), operator.padding());
    values
}

/// A tile of a reduction: each lane down its rows, then the lanes by halves.
fn tile<A: Element, O: Operator<A>>(values: &[A], operator: &O) -> A {
    let mut lanes: Vec<A> = values[..LANES].to_vec();
    for row in 1..ROWS {
        for lane in 0..LANES {
            lanes[lane] = operator.combine(lanes[lane], values[row * LANES + lane]);
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = operator.combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// An aligned binary tree over any number of values; a value without a partner moves up as it is.
fn tree<A: Element, O: Operator<A>>(values: &[A], operator: &O) -> A {
    let mut level = values.to_vec();
    while level.len() > 1 {
        let pairs = level.len().div_ceil(2);
        for pair in 0..pairs {
            level[pair] = match level[2 * pair..] {
                [left, right, ..] => operator.combine(left, right),
                _ => level[2 * pair],
            };
        }
        level.truncate(pairs);
    }
    level[0]
}

/// Prefixes of a power of two of values: the left half as it is, the right half with the total
/// of the left half in front of it. Halves of two values come first, then those of four.
fn aligned_prefixes<A: Element, O: Operator<A>>(values: &[A], operator: &O) -> Vec<A> {
    let mut prefixes = values.to_vec();
    let mut half = 1;
    while half < prefixes.len() {
        for whole in prefixes.chunks_mut(2 * half) {
            let (left, right) = whole.split_at_mut(half);
            for prefix in right {
                *prefix = operator.combine(left[half - 1], *prefix);
            }
        }
        half *= 2;
    }
    prefixes
}

/// The total of a power of two of values: the last of their prefixes.
fn total<A: Element, O: Operator<A>>(values: &[A], operator: &O) -> A {
    tree(values, operator)
}

/// What comes into each member, given what comes into the whole: that alone for the first
/// member, and for each other one the prefix of the members before it behind it.
fn hand_down<A: Element, O: Operator<A>>(carry: A, totals: &[A], operator: &O) -> Vec<A> {
    let prefixes = aligned_prefixes(totals, operator);
    let others = prefixes[..totals.len() - 1].iter();
    let mut carries = vec![carry];
    carries.extend(others.map(|&prefix| operator.combine(carry, prefix)));
    carries
}

/// What comes into each group of four, and the total of everything.
fn carries<A: Element, O: Operator<A>>(values: &[A], operator: &O, init: Option<A>) -> (Vec<A>, A) {
    let totals = |values: &[A], size: usize| -> Vec<A> {
        values.chunks(size).map(|part| total(part, operator)).collect()
    };
    let groups = totals(values, GROUP);
    let rows = totals(&groups, GROUPS);
    let tiles = totals(&rows, ROWS);
    let windows = totals(&tiles, TILES);

    let mut carry = init.unwrap_or(operator.padding());
    let mut carries = Vec::with_capacity(groups.len());
    for (w, &window) in windows.iter().enumerate() {
        for (t, carry) in part(&tiles, w, TILES, carry, operator) {
            for (r, carry) in part(&rows, w * TILES + t, ROWS, carry, operator) {
                let row = (w * TILES + t) * ROWS + r;
                carries.extend(part(&groups, row, GROUPS, carry, operator).map(|(_, c)| c));
            }
        }
        carry = operator.combine(carry, window);
    }
    (carries, carry)
}

/// Members `[index · size, (index + 1) · size)` of a level: number and carry of each.
fn part<A: Element, O: Operator<A>>(
    totals: &[A],
    index: usize,
    size: usize,
    carry: A,
    operator: &O,
) -> impl Iterator<Item = (usize, A)> + use<A, O> {
    let members = &totals[index * size..(index + 1) * size];
    hand_down(carry, members, operator).into_iter().enumerate()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sum, reference};

    /// With integers the order cannot be seen: the specified order gives the sequential answer.
    #[test]
    fn the_order_loses_and_repeats_nothing() {
        for n in [0, 1, 3, 4, 5, 127, 128, 129, 2047, 2048, 2049, 65535, 65536, 65537, 140_000] {
            let items: Vec<u64> = (0..n).map(|i: u64| i * i + 1).collect();
            let problem = Reduce::new(Sum).init(17u64);
            assert_eq!(reduce(&items, &problem), reference::reduce(&items, &problem), "{n}");
            for problem in [
                Scan::inclusive(Sum),
                Scan::exclusive(Sum),
                Scan::inclusive(Sum).reverse().init(5),
                Scan::exclusive(Sum).reverse(),
            ] {
                let expected: Vec<u64> = reference::scan(&items, &problem);
                assert_eq!(scan::<_, u64, _>(&items, &problem), expected, "{n} {problem:?}");
            }
        }
    }

    /// The last prefix of a power of two of values is their tree.
    #[test]
    fn totals_are_the_last_prefixes() {
        let values: Vec<f32> = (0..64u32).map(|i| 1.0 / (i * i + 1) as f32).collect();
        for size in [1, 2, 4, 8, 16, 32, 64] {
            let prefixes = aligned_prefixes(&values[..size], &Sum);
            assert_eq!(prefixes[size - 1].to_bits(), total(&values[..size], &Sum).to_bits());
            // The first half is not touched by what is behind it.
            let half = aligned_prefixes(&values[..size.div_ceil(2)], &Sum);
            assert_eq!(prefixes[..half.len()], half);
        }
    }

    /// Powers of two far apart show which items met first.
    #[test]
    fn lanes_are_folded_before_their_neighbours() {
        let tiny = 2f32.powi(-24);
        let mut items = vec![0.0f32; TILE];
        items[0] = 1.0;
        items[1] = tiny;
        items[LANES + 1] = tiny;
        // Lane 1 is folded to 2⁻²³ first, which is not lost beside the 1 of lane 0.
        assert_eq!(reduce(&items, &Reduce::<f32, _>::new(Sum)), 1.0 + 2.0 * tiny);
        // In a scan the neighbours come first, and each tiny item is lost on its own.
        let output: Vec<f32> = scan(&items, &Scan::inclusive(Sum));
        assert_eq!(output[TILE - 1], 1.0);
    }

    #[test]
    fn zero_signs_survive() {
        let sum = |items: &[f32]| reduce(items, &Reduce::<f32, _>::new(Sum)).to_bits();
        assert_eq!(sum(&[]), 0.0f32.to_bits());
        assert_eq!(sum(&[-0.0]), (-0.0f32).to_bits());
        let output: Vec<f32> = scan(&[-0.0f32, -0.0], &Scan::exclusive(Sum));
        assert_eq!(output.map_bits(), [0.0f32.to_bits(), (-0.0f32).to_bits()]);
    }

    trait MapBits {
        fn map_bits(&self) -> Vec<u32>;
    }

    impl MapBits for Vec<f32> {
        fn map_bits(&self) -> Vec<u32> {
            self.iter().map(|value| value.to_bits()).collect()
        }
    }
}
