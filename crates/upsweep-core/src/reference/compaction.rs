//! Compaction: what is kept of an array, in order.
//!
//! All of it is exact and stable, so that every device gives the same bytes.

use crate::{Element, Number};

/// Whether a flag is true: unless all its bytes are 0. So −0.0 is true, as is a NaN.
///
/// ```
/// use upsweep_core::reference::compaction::is_true;
/// assert!(is_true(-0.0f32) && is_true(256u16) && !is_true(0.0f64));
/// ```
pub fn is_true<F: Number>(flag: F) -> bool {
    bytemuck::bytes_of(&flag).iter().any(|byte| *byte != 0)
}

/// Whether each item is the first of a run: whether its bytes, [`Element::bytes`], differ from those of the item in front. −0 and +0
/// differ, a NaN equals itself, and what a structure has between its fields is not compared. Items of a type that says no bytes are all
/// in one run; devices refuse them.
///
/// ```
/// use upsweep_core::reference::compaction::begins;
/// assert_eq!(begins(&[0.0, 0.0, -0.0, f32::NAN, f32::NAN]), [true, false, true, true, false]);
/// ```
pub fn begins<T: Element>(items: &[T]) -> Vec<bool> {
    let bytes = |item: usize| T::bytes(&items[item..=item]);
    (0..items.len()).map(|item| item == 0 || bytes(item) != bytes(item - 1)).collect()
}

/// The items whose flag is true, in order.
///
/// ```
/// use upsweep_core::reference::compaction;
/// assert_eq!(compaction::select(&[5, 6, 7, 8], &[1u8, 0, 2, 0]), [5, 7]);
/// ```
pub fn select<T: Element, F: Number>(items: &[T], flags: &[F]) -> Vec<T> {
    let kept = items.iter().zip(flags).filter(|(_, flag)| is_true(**flag));
    kept.map(|(item, _)| *item).collect()
}

/// The numbers of the flags that are true, in order.
///
/// ```
/// use upsweep_core::reference::compaction;
/// assert_eq!(compaction::positions(&[0u8, 3, 0, 1]), [1, 3]);
/// ```
pub fn positions<F: Number>(flags: &[F]) -> Vec<u64> {
    let positions = (0..).zip(flags).filter(|(_, flag)| is_true(**flag));
    positions.map(|(position, _)| position).collect()
}

/// The items whose flag is true, and behind them all others, both in order; and the border, which is how many the first are.
///
/// ```
/// use upsweep_core::reference::compaction;
/// assert_eq!(compaction::partition(&[5, 6, 7, 8], &[0u8, 1, 0, 1]), (vec![6, 8, 5, 7], 2));
/// ```
pub fn partition<T: Element, F: Number>(items: &[T], flags: &[F]) -> (Vec<T>, usize) {
    let mut output = select(items, flags);
    let border = output.len();
    let rest = items.iter().zip(flags).filter(|(_, flag)| !is_true(**flag));
    output.extend(rest.map(|(item, _)| *item));
    (output, border)
}

/// The items whose first flag is true; behind them those of the others whose second flag is true; and behind these the rest: each in order.
/// And the two borders, where the second ones and the rest begin.
///
/// ```
/// use upsweep_core::reference::compaction;
/// let parts = compaction::partition3(&[5, 6, 7, 8], &[0u8, 0, 0, 1], &[0u8, 1, 0, 1]);
/// assert_eq!(parts, (vec![8, 6, 5, 7], [1, 2]));
/// ```
pub fn partition3<T: Element, F: Number, G: Number>(
    items: &[T],
    first: &[F],
    second: &[G],
) -> (Vec<T>, [usize; 2]) {
    let part = |(first, second): (&F, &G)| match (is_true(*first), is_true(*second)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    let parts: Vec<u8> = first.iter().zip(second).map(part).collect();
    let of = |number| items.iter().zip(&parts).filter(move |(_, part)| **part == number);
    let [first, second] = [0, 1].map(|number| of(number).count());
    let output = (0..3).flat_map(|number| of(number).map(|(item, _)| *item)).collect();
    (output, [first, first + second])
}

/// The first item of each run of neighbours that have the same bytes, in order.
///
/// ```
/// use upsweep_core::reference::compaction;
/// assert_eq!(compaction::unique(&[4, 4, 5, 4]), [4, 5, 4]);
/// ```
pub fn unique<T: Element>(items: &[T]) -> Vec<T> {
    first_of_each(items, &begins(items))
}

/// The key and the item at the beginning of each run of neighbours whose keys have the same bytes, in order.
///
/// ```
/// use upsweep_core::reference::compaction;
/// assert_eq!(compaction::unique_by_key(&[4, 4, 5], &[0.5, 1.5, 2.5]), (vec![4, 5], vec![0.5, 2.5]));
/// ```
pub fn unique_by_key<K: Element, T: Element>(keys: &[K], items: &[T]) -> (Vec<K>, Vec<T>) {
    let begins = begins(keys);
    (first_of_each(keys, &begins), first_of_each(items, &begins))
}

/// The first item of each run of neighbours that have the same bytes, and how many the run has, in order.
///
/// ```
/// use upsweep_core::reference::compaction;
/// assert_eq!(compaction::run_length_encode(&[4, 4, 5, 4]), (vec![4, 5, 4], vec![2, 1, 1]));
/// ```
pub fn run_length_encode<T: Element>(items: &[T]) -> (Vec<T>, Vec<u64>) {
    let begins = begins(items);
    let mut counts: Vec<u64> = Vec::new();
    for begins in &begins {
        match counts.last_mut() {
            Some(count) if !begins => *count += 1,
            _ => counts.push(1),
        }
    }
    (first_of_each(items, &begins), counts)
}

fn first_of_each<T: Element>(items: &[T], begins: &[bool]) -> Vec<T> {
    items.iter().zip(begins).filter(|(_, begins)| **begins).map(|(item, _)| *item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    use crate::{Dtype, Kind, bf16, f16};

    /// Two bytes with another one between them that is not compared.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Sparse([u8; 3]);

    impl Element for Sparse {
        type Acc = Self;
        const KIND: Kind = Kind::Struct {
            name: "Sparse",
            fields: &[("first", 0, Dtype::U8), ("last", 2, Dtype::U8)],
        };
        const EXACT: bool = true;
        fn to_acc(self) -> Self {
            self
        }
        fn from_acc(acc: Self) -> Self {
            acc
        }
        fn bytes(items: &[Self]) -> Option<Cow<'_, [u8]>> {
            Some(items.iter().flat_map(|item| [item.0[0], 0, item.0[2]]).collect())
        }
    }

    /// Flags of every type, of which the first is false and all others are true.
    #[test]
    fn a_flag_is_true_unless_all_its_bytes_are_zero() {
        fn check<F: Number>(flags: &[F]) {
            let positions = positions(flags);
            assert_eq!(positions, (1..flags.len() as u64).collect::<Vec<_>>(), "{}", F::DTYPE);
        }
        check(&[0u8, 1, 255]);
        check(&[0i8, -1, i8::MIN]);
        check(&[0u16, 1, 256]);
        check(&[0i16, -1, i16::MIN]);
        check(&[0u32, 1, 1 << 31]);
        check(&[0i32, -1, i32::MIN]);
        check(&[0u64, 1, 1 << 32]);
        check(&[0i64, -1, i64::MIN]);
        check(&[f16::from_bits(0), f16::from_bits(0x8000), f16::NAN]);
        check(&[bf16::from_bits(0), bf16::from_bits(0x8000), bf16::NAN]);
        check(&[0.0f32, -0.0, f32::NAN, f32::MIN_POSITIVE]);
        check(&[0.0f64, -0.0, f64::NAN, f64::MIN_POSITIVE]);
    }

    #[test]
    fn both_parts_of_a_partition_keep_their_order() {
        assert_eq!(partition::<u8, u8>(&[], &[]), (vec![], 0));
        assert_eq!(partition(&[1, 2, 3], &[0u8; 3]), (vec![1, 2, 3], 0));
        assert_eq!(partition(&[1, 2, 3], &[1u8; 3]), (vec![1, 2, 3], 3));
        assert_eq!(partition(&[1, 2, 3, 4, 5], &[0.0, 1.0, -0.0, 0.0, 2.0]).0, [2, 3, 5, 1, 4]);
    }

    #[test]
    fn three_parts_keep_their_order() {
        assert_eq!(partition3::<u8, u8, u8>(&[], &[], &[]), (vec![], [0, 0]));
        let items = [1, 2, 3, 4, 5, 6];
        assert_eq!(partition3(&items, &[0u8; 6], &[0u8; 6]), (items.to_vec(), [0, 0]));
        assert_eq!(partition3(&items, &[0u8; 6], &[1u8; 6]), (items.to_vec(), [0, 6]));
        assert_eq!(partition3(&items, &[1u8; 6], &[1u8; 6]), (items.to_vec(), [6, 6]));
        let (first, second) = ([0.0, -0.0, 0.0, 0.0, 2.0, 0.0], [0u8, 0, 3, 0, 1, 1]);
        assert_eq!(partition3(&items, &first, &second), (vec![2, 5, 3, 6, 1, 4], [2, 4]));
    }

    #[test]
    fn runs_are_compared_by_bytes() {
        assert_eq!(unique::<u32>(&[]), []);
        assert_eq!(run_length_encode::<u32>(&[]), (vec![], vec![]));
        let other_nan = f32::from_bits(f32::NAN.to_bits() + 1);
        let items = [f32::NAN, f32::NAN, other_nan, 0.0, -0.0, -0.0];
        assert_eq!(begins(&items), [true, false, true, true, true, false]);
        let (values, counts) = run_length_encode(&items);
        assert_eq!(values[2..], [0.0, -0.0]);
        assert_eq!(counts, [2, 1, 1, 2]);
        let keys = [[1, 5, 7], [1, 6, 7], [1, 5, 8], [2, 5, 8]].map(Sparse);
        assert_eq!(begins(&keys), [true, false, true, true]);
        assert_eq!(unique_by_key(&keys, &[0, 1, 2, 3]).1, [0, 2, 3]);
    }
}
