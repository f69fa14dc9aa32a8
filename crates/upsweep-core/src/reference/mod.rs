//! The obvious sequential answers that every backend is held to.
//!
//! The functions here combine one item after another, from the first to the last, so that they
//! are right for every operator. Where rounding makes the order visible, [`specified`] gives the
//! order that all devices follow.

use crate::{Bounds, Direction, Element, Operator, Reduce, Scan, Widen};

pub mod compaction;
pub mod rows;
pub mod segmented;
pub mod specified;

/// Combines `items` from left to right.
///
/// ```
/// use upsweep_core::{Reduce, Sum, reference};
/// assert_eq!(reference::reduce(&[1u8, 2, 255], &Reduce::new(Sum).init(0u32)), 258);
/// ```
pub fn reduce<T, A, O>(items: &[T], problem: &Reduce<A, O>) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let operator = problem.operator;
    let mut values = problem.init.into_iter().chain(items.iter().map(|item| item.widen()));
    match values.next() {
        None => operator.identity(),
        Some(first) => values.fold(first, |left, right| operator.combine(left, right)),
    }
}

/// Every prefix of `items`, from left to right or, in reverse, from right to left.
///
/// ```
/// use upsweep_core::{Scan, Sum, reference};
/// assert_eq!(reference::scan::<u32, u32, _>(&[1, 2, 3], &Scan::inclusive(Sum)), [1, 3, 6]);
/// assert_eq!(reference::scan::<u32, u32, _>(&[1, 2, 3], &Scan::exclusive(Sum)), [0, 1, 3]);
/// assert_eq!(reference::scan::<u32, u32, _>(&[1, 2, 3], &Scan::inclusive(Sum).reverse()), [6, 5, 3]);
/// ```
pub fn scan<T, U, O>(items: &[T], problem: &Scan<U::Acc, O>) -> Vec<U>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let operator = problem.operator;
    let mut carry = problem.init;
    let mut step = |item: &T| {
        let before = carry;
        let item = item.widen();
        let after = match (before, problem.direction) {
            (None, _) => item,
            (Some(carry), Direction::Forward) => operator.combine(carry, item),
            (Some(carry), Direction::Reverse) => operator.combine(item, carry),
        };
        carry = Some(after);
        U::from_acc(match problem.bounds {
            Bounds::Inclusive => after,
            Bounds::Exclusive => before.unwrap_or(operator.identity()),
        })
    };
    match problem.direction {
        Direction::Forward => items.iter().map(step).collect(),
        Direction::Reverse => {
            let mut output: Vec<U> = items.iter().rev().map(&mut step).collect();
            output.reverse();
            output
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArgMin, Indexed, Kind, Max, Product, Sum};

    /// String-like concatenation of at most sixteen hexadecimal digits: not commutative.
    #[derive(Clone, Copy, Debug)]
    struct Concatenate;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Digits(u64, u32);

    impl Element for Digits {
        type Acc = Self;
        const KIND: Kind = Kind::Opaque;
        const EXACT: bool = true;
        fn to_acc(self) -> Self {
            self
        }
        fn from_acc(acc: Self) -> Self {
            acc
        }
    }

    impl Operator<Digits> for Concatenate {
        const NAME: &'static str = "concatenate";
        const COMMUTATIVE: bool = false;
        fn identity(&self) -> Digits {
            Digits(0, 0)
        }
        fn combine(&self, left: Digits, right: Digits) -> Digits {
            Digits(left.0 << (4 * right.1) | right.0, left.1 + right.1)
        }
    }

    #[test]
    fn hand_written_reductions() {
        fn sum<T: Widen<A>, A: Element>(items: &[T]) -> A
        where
            Sum: Operator<A>,
        {
            reduce(items, &Reduce::new(Sum))
        }
        assert_eq!(sum::<f32, f32>(&[]), 0.0);
        assert_eq!(sum::<u8, u8>(&[250, 10]), 4);
        assert_eq!(sum::<u8, u64>(&[250, 10]), 260);
        assert_eq!(reduce(&[7i32], &Reduce::<i32, _>::new(Product)), 7);
        assert_eq!(reduce(&[-3i8, 100], &Reduce::new(Max).init(120i64)), 120);
        let points = [3.0f32, 1.0, f32::NAN, 1.0, f32::NAN];
        let indexed: Vec<_> =
            (0u64..).zip(points).map(|(index, value)| Indexed { value, index }).collect();
        let argmin =
            |items: &[Indexed<f32>]| -> Indexed<f32> { reduce(items, &Reduce::new(ArgMin)) };
        assert_eq!(argmin(&indexed[..2]).index, 1);
        assert_eq!(argmin(&indexed).index, 2);
        assert_eq!(argmin(&[]).index, u64::MAX);
        let digits = [Digits(1, 1), Digits(2, 1), Digits(3, 1)];
        let joined: Digits = reduce(&digits, &Reduce::new(Concatenate));
        assert_eq!(joined, Digits(0x123, 3));
    }

    #[test]
    fn hand_written_scans() {
        let digits = [Digits(1, 1), Digits(2, 1), Digits(3, 1)];
        let check = |problem: Scan<Digits, Concatenate>, expected: [u64; 3]| {
            let found: Vec<Digits> = scan(&digits, &problem);
            let found: Vec<u64> = found.into_iter().map(|digits| digits.0).collect();
            assert_eq!(found, expected, "{:?} {:?}", problem.bounds, problem.direction);
        };
        check(Scan::inclusive(Concatenate), [0x1, 0x12, 0x123]);
        check(Scan::exclusive(Concatenate), [0x0, 0x1, 0x12]);
        check(Scan::inclusive(Concatenate).reverse(), [0x123, 0x23, 0x3]);
        check(Scan::exclusive(Concatenate).reverse(), [0x23, 0x3, 0x0]);
        check(Scan::inclusive(Concatenate).init(Digits(9, 1)), [0x91, 0x912, 0x9123]);
        check(Scan::exclusive(Concatenate).reverse().init(Digits(9, 1)), [0x239, 0x39, 0x9]);
    }
}
