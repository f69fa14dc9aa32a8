//! What one writes with the standard library's iterators, and with rayon.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::AddAssign;

use rayon::prelude::*;
use upsweep_worker::{Arrays, Cell, Item};

use crate::threads;

pub fn sum<T, A>(cell: &mut Cell, arrays: &Arrays<T>)
where
    T: Item + Into<A>,
    A: Item + Sum,
{
    cell.reduction("iterators", 1, &arrays.input, |items| -> A {
        items.iter().map(|&item| item.into()).sum()
    });
    cell.reduction("rayon", threads(), &arrays.input, |items| -> A {
        items.par_iter().map(|&item| item.into()).sum()
    });
}

pub fn position<T: Item + PartialOrd>(cell: &mut Cell, arrays: &Arrays<T>, largest: bool) {
    /// The larger item is greater, of equal ones the earlier.
    fn by_item<T: PartialOrd>(a: &(usize, &T), b: &(usize, &T)) -> Ordering {
        a.1.partial_cmp(b.1).expect("no NaN").then(b.0.cmp(&a.0))
    }
    /// The larger item is greater, of equal ones the later.
    fn by_item_last<T: PartialOrd>(a: &(usize, &T), b: &(usize, &T)) -> Ordering {
        a.1.partial_cmp(b.1).expect("no NaN").then(a.0.cmp(&b.0))
    }
    if largest {
        cell.reduction("iterators", 1, &arrays.input, |items| {
            items.iter().enumerate().max_by(by_item).expect("items").0 as u64
        });
        cell.reduction("rayon", threads(), &arrays.input, |items| {
            items.par_iter().enumerate().max_by(by_item).expect("items").0 as u64
        });
    } else {
        cell.reduction("iterators", 1, &arrays.input, |items| {
            items.iter().enumerate().min_by(by_item_last).expect("items").0 as u64
        });
        cell.reduction("rayon", threads(), &arrays.input, |items| {
            items.par_iter().enumerate().min_by(by_item_last).expect("items").0 as u64
        });
    }
}

/// Integers of these types wrap: release builds do not check for overflow.
pub fn scan<T: Item + AddAssign + Default + Sum>(cell: &mut Cell, arrays: &Arrays<T>) {
    cell.scan("iterators", 1, &arrays.input, &arrays.output, |items, output| {
        scan_from(T::default(), items, output);
    });
    cell.scan("rayon", threads(), &arrays.input, &arrays.output, in_two_phases);
}

fn scan_from<T: Item + AddAssign>(mut carry: T, items: &[T], output: &mut [T]) {
    for (slot, item) in output.iter_mut().zip(items) {
        carry += *item;
        *slot = carry;
    }
}

/// Rayon has no scan; this is how one is written with it. Of one more part than there are
/// threads, the first is scanned while the middle ones are summed, then the others are scanned.
fn in_two_phases<T: Item + AddAssign + Default + Sum>(items: &[T], output: &mut [T]) {
    let size = items.len().div_ceil(threads() + 1);
    if items.len() < 2 * size {
        return scan_from(T::default(), items, output);
    }
    let (first, others) = items.split_at(size);
    let (first_output, other_output) = output.split_at_mut(size);
    let middle = &others[..(others.len() - 1) / size * size];
    let ((), sums) = rayon::join(
        || scan_from(T::default(), first, first_output),
        || middle.par_chunks(size).map(|part| part.iter().copied().sum()).collect::<Vec<T>>(),
    );
    let mut carries = vec![first_output[size - 1]];
    for sum in sums {
        let mut carry = carries[carries.len() - 1];
        carry += sum;
        carries.push(carry);
    }
    others
        .par_chunks(size)
        .zip(other_output.par_chunks_mut(size))
        .zip(carries)
        .for_each(|((part, slots), carry)| scan_from(carry, part, slots));
}
