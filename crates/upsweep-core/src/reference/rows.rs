//! Rows of an n-dimensional array in the specified order: each is copied, and treated as an array of its own.

use super::specified;
use crate::{Element, Operator, Reduce, Rows, Scan, Widen};

/// The value of each row, into `output` where the rows say.
///
/// ```
/// use upsweep_core::{Layout, Reduce, Rows, Sum, reference::rows};
/// let columns = Rows::reduced(&Layout::packed(&[2, 3])?, &[0], &Layout::packed(&[3])?);
/// let mut sums = [0u32; 3];
/// rows::reduce(&[1u32, 2, 3, 4, 5, 6], &columns, &mut sums, &Reduce::new(Sum));
/// assert_eq!(sums, [5, 7, 9]);
/// # Ok::<(), upsweep_core::Error>(())
/// ```
pub fn reduce<T, U, O>(items: &[T], rows: &Rows, output: &mut [U], problem: &Reduce<U::Acc, O>)
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    for number in 0..rows.count() {
        let value = specified::reduce(&row(items, rows, number), problem);
        output[rows.row(number)[1]] = U::from_acc(value);
    }
}

/// The prefixes of each row, into `output` where the rows say.
pub fn scan<T, U, O>(items: &[T], rows: &Rows, output: &mut [U], problem: &Scan<U::Acc, O>)
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    for number in 0..rows.count() {
        let [_, first] = rows.row(number);
        let prefixes: Vec<U> = specified::scan(&row(items, rows, number), problem);
        for (item, prefix) in prefixes.into_iter().enumerate() {
            output[first.wrapping_add_signed(rows.item(item)[1])] = prefix;
        }
    }
}

/// The items of a row.
pub fn row<T: Copy>(items: &[T], rows: &Rows, number: usize) -> Vec<T> {
    let [first, _] = rows.row(number);
    (0..rows.items()).map(|item| items[first.wrapping_add_signed(rows.item(item)[0])]).collect()
}
