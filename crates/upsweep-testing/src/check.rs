//! The bodies that most tests share: one primitive, one operator, every device, many lengths.

use upsweep::summation::{LANES, TILE, WINDOW};
use upsweep::{
    Direction, Element, Operator, Reduce, Scan, View, Widen, reduce_with, reference,
    scan_in_place_with, scan_into_with,
};

use crate::{
    Guarded, Input, POISONS, Random, Sample, Selection, TestDevice, assert_same, first_difference,
    for_each_device_of, lengths,
};

/// How much of the cross product of lengths and variants is worth its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Small lengths with every variant on every device; around windows and the policy's numbers
    /// up to some 400,000 items, some variants on representative devices.
    Full,
    /// Small lengths only, on representative devices: for the types of an operator that differ in
    /// their size alone.
    Brief,
}

/// The most items of a length that comes from a policy: larger ones have tests of their own.
const MOST: usize = 400_000;

/// The answer of the oracle: the sequential one where the order cannot be seen, and otherwise
/// that of the summation specification.
pub fn expected_reduce<T, A, O>(items: &[T], problem: &Reduce<A, O>) -> A
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    if O::EXACT {
        reference::reduce(items, problem)
    } else {
        reference::specified::reduce(items, problem)
    }
}

/// The answer of the oracle for a scan; see [`expected_reduce`].
pub fn expected_scan<T, U, O>(items: &[T], problem: &Scan<U::Acc, O>) -> Vec<U>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    if O::EXACT {
        reference::scan(items, problem)
    } else {
        reference::specified::scan(items, problem)
    }
}

/// Every variant of a scan: inclusive and exclusive, forward and reverse, without and with a
/// start value.
pub fn scan_problems<A: Element, O: Operator<A>>(operator: O, init: A) -> [Scan<A, O>; 8] {
    let (inclusive, exclusive) = (Scan::inclusive(operator), Scan::exclusive(operator));
    [
        inclusive,
        exclusive,
        inclusive.reverse(),
        exclusive.reverse(),
        inclusive.init(init),
        exclusive.init(init),
        inclusive.reverse().init(init),
        exclusive.reverse().init(init),
    ]
}

/// The lengths to test with items of `item_bytes` bytes.
struct Lengths {
    small: Vec<usize>,
    large: Vec<usize>,
}

impl Lengths {
    fn of(item_bytes: usize, effort: Effort) -> Self {
        let mut large = Vec::new();
        if effort == Effort::Full {
            large = lengths::windows();
            for_each_device_of(Selection::Representative, |device| {
                large.extend(lengths::policy(&device.device, item_bytes, MOST));
            });
            large.sort_unstable();
            large.dedup();
            large.retain(|&n| n > 8192);
        }
        Self { small: lengths::small(), large }
    }

    /// All of them, each with its number and whether it is small.
    fn all(&self) -> Vec<(usize, usize, bool)> {
        let small = self.small.iter().map(|&n| (n, true));
        let all = small.chain(self.large.iter().map(|&n| (n, false)));
        all.enumerate().map(|(number, (n, small))| (number, n, small)).collect()
    }
}

fn selection(small: bool, effort: Effort) -> Selection {
    if small && effort == Effort::Full { Selection::All } else { Selection::Representative }
}

/// Whether GPUs take part at this length: those of software are slow, and the strategies with all
/// their lengths have tests of their own in the backend.
fn on_gpu(items: usize) -> bool {
    [0, 1, 5, LANES + 1, TILE, TILE + 1, 3 * TILE + 77, WINDOW + 1, 2 * WINDOW + 77]
        .contains(&items)
}

/// Every eighth variant of a large length, another one at each.
fn taken(variant: usize, case: usize) -> bool {
    variant == case % 8
}

/// Holds a reduction on every device to the oracle, from the identity and from `init`.
///
/// # Panics
/// If a device gives other bits.
pub fn check_reduce<T, A, O>(operator: O, init: A, input: Input, effort: Effort)
where
    T: Sample + Widen<A>,
    A: Sample,
    O: Operator<A>,
{
    for (case, items, small) in Lengths::of(size_of::<T>(), effort).all() {
        let array = input.array::<T>(case as u64, items);
        for problem in [Reduce::new(operator), Reduce::new(operator).init(init)] {
            let expected = expected_reduce(&array, &problem);
            for_each_device_of(selection(small, effort), |device| {
                if device.is_gpu() && !on_gpu(items) {
                    return;
                }
                let found = reduce_with(&device.device, &array, &problem);
                let found = device.result(&[T::KIND, A::KIND], &operator, found);
                let Some(found) = found.filter(|_| device.keeps::<T>(input)) else {
                    return;
                };
                if found.bits() != expected.bits() {
                    let start = if problem.init.is_some() { "a start value" } else { "nothing" };
                    let context = format!("{device}: {} of {items} items from {start}", O::NAME);
                    assert_same(&[found], &[expected], context);
                }
            });
        }
    }
}

/// Holds a scan from one array to another on every device to the oracle, in all variants.
///
/// # Panics
/// If a device gives other bits or writes outside its output.
pub fn check_scan<T, U, O>(operator: O, init: U::Acc, input: Input, effort: Effort)
where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    let item_bytes = size_of::<T>().max(size_of::<U>());
    let mut random = Random::new(1);
    for_each_scan(operator, init, input, effort, item_bytes, 0, |case: &ScanCase<'_, T, U, O>| {
        let poison = POISONS[case.items.len() % 2];
        let mut output = Guarded::<U>::new(case.items.len(), random.below(64), poison);
        for_each_device_of(case.selection, |device| {
            if device.is_gpu() && !(case.on_gpu && device.takes(case.number, 2)) {
                return;
            }
            output.items_mut().fill(U::from_bits(poison));
            let view = View::from(case.items);
            let done = scan_into_with(&device.device, view, output.items_mut(), &case.problem);
            let done = device.result(&[T::KIND, U::Acc::KIND, U::KIND], &operator, done);
            if done.is_none() || !device.keeps::<T>(input) {
                return;
            }
            check_output(device, &output, case, "into other memory");
        });
    });
}

/// Holds a scan in place on every device to the oracle, in all variants.
///
/// # Panics
/// If a device gives other bits or writes outside the array.
pub fn check_scan_in_place<T, O>(operator: O, init: T::Acc, input: Input, effort: Effort)
where
    T: Sample + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    let mut random = Random::new(2);
    let bytes = size_of::<T>();
    for_each_scan(operator, init, input, effort, bytes, 4, |case: &ScanCase<'_, T, T, O>| {
        let poison = POISONS[case.items.len() % 2];
        let mut data = Guarded::holding(case.items, random.below(64), poison);
        for_each_device_of(case.selection, |device| {
            if device.is_gpu() && !(case.on_gpu && device.takes(case.number, 2)) {
                return;
            }
            data.items_mut().copy_from_slice(case.items);
            let done = scan_in_place_with(&device.device, data.items_mut(), &case.problem);
            let done = device.result(&[T::KIND, T::Acc::KIND], &operator, done);
            if done.is_none() || !device.keeps::<T>(input) {
                return;
            }
            check_output(device, &data, case, "in place");
        });
    });
}

/// A scan with its answer.
struct ScanCase<'a, T, U: Element, O> {
    items: &'a [T],
    expected: &'a [U],
    problem: Scan<U::Acc, O>,
    selection: Selection,
    /// Whether GPUs take part, of which each takes every other number.
    on_gpu: bool,
    number: usize,
}

/// Calls `body` with every variant at every length; `turn` shifts which variants large lengths
/// get.
///
/// Of a forward scan, the prefixes of the longest small input are also those of the shorter ones
/// that start as it does, and in reverse those of the inputs that end as it does: the oracle,
/// which works in whole windows, is asked once for all of them.
fn for_each_scan<T, U, O>(
    operator: O,
    init: U::Acc,
    input: Input,
    effort: Effort,
    item_bytes: usize,
    turn: usize,
    mut body: impl FnMut(&ScanCase<'_, T, U, O>),
) where
    T: Sample + Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    let Lengths { small, large } = Lengths::of(item_bytes, effort);
    let longest = small.last().copied().unwrap_or(0);
    let items: Vec<T> = input.array(turn as u64, longest);
    // One kernel for each call and on one GPU of two: those of all calls together are all of them.
    let name: usize = O::NAME.bytes().map(usize::from).sum();
    let number = name + size_of::<T>() + size_of::<U>() / 2 + turn / 4;
    let (kernel, number) = (number % 4, number / 4);
    for (variant, problem) in scan_problems(operator, init).into_iter().enumerate() {
        let expected: Vec<U> = expected_scan(&items, &problem);
        for &n in &small {
            let range = match problem.direction {
                Direction::Forward => 0..n,
                Direction::Reverse => longest - n..longest,
            };
            body(&ScanCase {
                items: &items[range.clone()],
                expected: &expected[range],
                problem,
                selection: selection(true, effort),
                on_gpu: on_gpu(n) && variant % 4 == kernel,
                number,
            });
        }
    }
    for (index, n) in large.into_iter().enumerate() {
        let items: Vec<T> = input.array(n as u64, n);
        for (variant, problem) in scan_problems(operator, init).into_iter().enumerate() {
            if taken(variant, index + turn) {
                let expected: Vec<U> = expected_scan(&items, &problem);
                let selection = selection(false, effort);
                let on_gpu = on_gpu(n) && variant % 4 == kernel;
                let (items, expected) = (&items, &expected);
                body(&ScanCase { items, expected, problem, selection, on_gpu, number });
            }
        }
    }
}

fn check_output<T, U: Sample, O: Operator<U::Acc>>(
    device: &TestDevice,
    output: &Guarded<U>,
    case: &ScanCase<'_, T, U, O>,
    place: &str,
) {
    if first_difference(output.items(), case.expected).is_some() {
        let Scan { bounds, direction, init, .. } = case.problem;
        let context =
            format!("{device}: {} {bounds:?} {direction:?} from {init:?} {place}", O::NAME);
        assert_same(output.items(), case.expected, context);
    }
    output.check_bands(device);
}

#[cfg(test)]
mod tests {
    use super::*;
    use upsweep::Sum;

    #[test]
    fn every_variant_is_another() {
        let problems = scan_problems(Sum, 1u8);
        for (index, problem) in problems.iter().enumerate() {
            assert!(!problems[..index].contains(problem));
        }
    }

    #[test]
    fn large_lengths_take_turns() {
        for variant in 0..8 {
            assert_eq!((0..8).filter(|&case| taken(variant, case)).count(), 1);
        }
        assert!(Lengths::of(4, Effort::Full).large.iter().any(|&items| items > 65_536));
        assert!(Lengths::of(4, Effort::Brief).large.is_empty());
    }

    #[test]
    fn the_longest_small_length_is_the_last() {
        assert!(Lengths::of(4, Effort::Brief).small.is_sorted());
    }
}
