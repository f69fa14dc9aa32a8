//! Segments in the specified order: as pairs of a value and whether a segment begins with it.

use super::specified;
use crate::{
    Bounds, Direction, Element, Flipped, InSegments, Operator, Reduce, Scan, Segmented, Widen,
};

/// Every prefix within segments, of which one begins where `begins` says so, and with the first item in any case.
///
/// ```
/// use upsweep_core::{Scan, Sum, reference::segmented};
/// let begins = [true, false, true, false];
/// let sums: Vec<u32> = segmented::scan(&[1u32, 2, 3, 4], &begins, &Scan::inclusive(Sum));
/// assert_eq!(sums, [1, 3, 3, 7]);
/// ```
pub fn scan<T, U, O>(items: &[T], begins: &[bool], problem: &Scan<U::Acc, O>) -> Vec<U>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    match problem.direction {
        Direction::Forward => forward(items, begins, &problem.operator, problem),
        Direction::Reverse => {
            let items: Vec<T> = items.iter().rev().copied().collect();
            // From the end, a segment begins with what is its last item.
            let last = core::iter::once(true);
            let begins: Vec<bool> =
                last.chain(begins.iter().skip(1).rev().copied()).take(items.len()).collect();
            let mut output = forward(&items, &begins, &Flipped(problem.operator), problem);
            output.reverse();
            output
        }
    }
}

fn forward<T, U, O, P>(
    items: &[T],
    begins: &[bool],
    operator: &O,
    problem: &Scan<U::Acc, P>,
) -> Vec<U>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let init = |value| problem.init.map_or(value, |init| operator.combine(init, value));
    let first = problem.init.unwrap_or(operator.identity());
    let pairs = pairs(items, begins);
    let pairs_of = |problem: &Scan<Segmented<U::Acc>, _>| -> Vec<Segmented<U::Acc>> {
        specified::scan(&pairs, problem)
    };
    let scanned = match problem.bounds {
        Bounds::Inclusive => pairs_of(&Scan::inclusive(InSegments(*operator))),
        Bounds::Exclusive => pairs_of(&Scan::exclusive(InSegments(*operator))),
    };
    let outputs = scanned.iter().zip(&pairs).map(|(scanned, own)| match problem.bounds {
        Bounds::Exclusive if own.begins => first,
        _ => init(scanned.value),
    });
    outputs.map(U::from_acc).collect()
}

fn pairs<T: Widen<A>, A: Element>(items: &[T], begins: &[bool]) -> Vec<Segmented<A>> {
    let pair = |(k, (item, begins)): (usize, (&T, &bool))| Segmented {
        value: item.widen(),
        begins: *begins || k == 0,
    };
    items.iter().zip(begins).enumerate().map(pair).collect()
}

/// The value of each segment, of which one begins where `begins` says so, and with the first item in any case: that which an
/// inclusive scan has at the segment's last item.
pub fn reduce<T, U, O>(items: &[T], begins: &[bool], problem: &Reduce<U::Acc, O>) -> Vec<U>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let values = values(items, begins, problem);
    let last = |k: usize| k + 1 == items.len() || begins[k + 1];
    (0..items.len()).filter(|&k| last(k)).map(|k| U::from_acc(values[k])).collect()
}

/// The value of each segment that offsets say; of one without items, the start value or the identity.
///
/// ```
/// use upsweep_core::{Reduce, Sum, reference::segmented};
/// let sums: Vec<u32> = segmented::reduce_by_offsets(&[1u32, 2, 3], &[0, 2, 2, 3], &Reduce::new(Sum));
/// assert_eq!(sums, [3, 0, 3]);
/// ```
pub fn reduce_by_offsets<T, U, O>(
    items: &[T],
    offsets: &[usize],
    problem: &Reduce<U::Acc, O>,
) -> Vec<U>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let values = values(items, &begins(items.len(), offsets), problem);
    let empty = problem.init.unwrap_or(problem.operator.identity());
    let value = |segment: &[usize]| match segment {
        [start, end] if start < end => values[end - 1],
        _ => empty,
    };
    offsets.windows(2).map(|segment| U::from_acc(value(segment))).collect()
}

/// Where segments begin that offsets say.
pub fn begins(items: usize, offsets: &[usize]) -> Vec<bool> {
    let mut begins = vec![false; items];
    for &offset in [0].iter().chain(offsets) {
        if let Some(begins) = begins.get_mut(offset) {
            *begins = true;
        }
    }
    begins
}

fn values<T, A, O>(items: &[T], begins: &[bool], problem: &Reduce<A, O>) -> Vec<A>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    let scan = Scan::inclusive(InSegments(problem.operator));
    let scanned: Vec<Segmented<A>> = specified::scan(&pairs::<T, A>(items, begins), &scan);
    let init = |value| problem.init.map_or(value, |init| problem.operator.combine(init, value));
    scanned.into_iter().map(|scanned| init(scanned.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sum;

    /// With integers the order cannot be seen: every segment is what it would be alone.
    #[test]
    fn every_segment_is_as_if_alone() {
        let offsets = [0, 1, 1, 5, 200, 2048, 2050, 70_000, 70_001];
        let items: Vec<u64> = (0..*offsets.last().unwrap() as u64).map(|i| i * i + 1).collect();
        let begins = begins(items.len(), &offsets);
        let alone = || offsets.windows(2).map(|segment| &items[segment[0]..segment[1]]);
        for problem in [
            Scan::inclusive(Sum),
            Scan::exclusive(Sum),
            Scan::inclusive(Sum).reverse().init(5),
            Scan::exclusive(Sum).reverse(),
        ] {
            let wanted: Vec<u64> =
                alone().flat_map(|part| specified::scan(part, &problem)).collect();
            assert_eq!(scan::<_, u64, _>(&items, &begins, &problem), wanted, "{problem:?}");
        }
        let problem = Reduce::new(Sum).init(17u64);
        let wanted: Vec<u64> = alone().map(|part| specified::reduce(part, &problem)).collect();
        assert_eq!(reduce_by_offsets::<_, u64, _>(&items, &offsets, &problem), wanted);
        let wanted: Vec<u64> = alone()
            .filter(|part| !part.is_empty())
            .map(|part| specified::reduce(part, &problem))
            .collect();
        assert_eq!(reduce::<_, u64, _>(&items, &begins, &problem), wanted);
    }
}
