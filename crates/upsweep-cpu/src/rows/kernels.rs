//! What is compiled for each operator: loops over neighbouring columns, of which each is combined by itself.
//!
//! The grouping that a caller wants is a matter of which rows of columns it hands over.

use fearless_simd::{Level, Simd};
use upsweep_core::summation::LANES;
use upsweep_core::{Element, Operator, Widen};

use crate::isa::{self, Kernel};

/// Items of several columns, which are neighbours: item `k` of all columns begins at `first + k · stride`.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a, T> {
    pub(super) items: &'a [T],
    pub(super) first: usize,
    pub(super) stride: isize,
    /// Items of each.
    pub(super) len: usize,
    /// How many there are.
    pub(super) width: usize,
}

impl<'a, T> Columns<'a, T> {
    /// Item `k` of each column.
    #[inline(always)]
    pub(super) fn row(&self, k: usize) -> &'a [T] {
        let at = self.first.wrapping_add_signed(self.stride * k as isize);
        &self.items[at..][..self.width]
    }
}

/// In which order rows are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One after another: nobody sees the grouping.
    Exact,
    /// By lanes, halves and the aligned tree.
    Lanes,
    /// As a scan groups them.
    Neighbours,
}

/// An operator on columns of items `T`.
pub(super) trait ColumnKernels<T, A>: Sync {
    /// What leaves every value as it is.
    fn padding(&self) -> A;

    /// The order of a reduction.
    fn order(&self) -> Order;

    /// `right[c] = left[c] ⊕ right[c]`, of as many.
    fn combine(&self, left: &[A], right: &mut [A]);

    /// `total[c] = total[c] ⊕ …`, all items of each column one after another.
    fn fold(&self, columns: Columns<'_, T>, total: &mut [A]);

    /// The lane of each column that begins with item `lane`: every 128th item from there on, one after another.
    fn fold_lane(&self, columns: Columns<'_, T>, lane: usize, value: &mut [A]);

    /// Puts items in front of which `lanes` are behind them: item `k` of each column goes to lane `k mod 128`, of `lanes` the values from
    /// `(k mod 128) · width` on.
    fn fold_lanes(&self, columns: Columns<'_, T>, lanes: &mut [A]);

    /// `(row₀ ⊕ row₂) ⊕ (row₁ ⊕ row₃)`, column by column.
    fn fold_four(&self, rows: [&[T]; 4], value: &mut [A]);

    /// The items of `row`, as they are combined.
    fn widen(&self, row: &[T], values: &mut [A]);
}

/// The kernels of an operator.
#[derive(Clone, Copy)]
pub(super) struct ByOperator<O> {
    pub(super) level: Level,
    pub(super) operator: O,
}

impl<T, A, O> ColumnKernels<T, A> for ByOperator<O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    fn padding(&self) -> A {
        self.operator.padding()
    }

    fn order(&self) -> Order {
        match (O::EXACT, O::COMMUTATIVE) {
            (true, _) => Order::Exact,
            (false, true) => Order::Lanes,
            (false, false) => Order::Neighbours,
        }
    }

    fn combine(&self, left: &[A], right: &mut [A]) {
        isa::run(self.level, Combine { operator: self.operator, left, right });
    }

    fn fold(&self, columns: Columns<'_, T>, total: &mut [A]) {
        isa::run(
            self.level,
            Fold { operator: self.operator, columns, first: 0, step: 1, value: total },
        );
    }

    fn fold_lane(&self, columns: Columns<'_, T>, lane: usize, value: &mut [A]) {
        self.widen(columns.row(lane), value);
        let (first, step) = (lane + LANES, LANES);
        if first < columns.len {
            isa::run(self.level, Fold { operator: self.operator, columns, first, step, value });
        }
    }

    fn fold_lanes(&self, columns: Columns<'_, T>, lanes: &mut [A]) {
        isa::run(self.level, FoldLanes { operator: self.operator, columns, lanes });
    }

    fn fold_four(&self, rows: [&[T]; 4], value: &mut [A]) {
        isa::run(self.level, FoldFour { operator: self.operator, rows, value });
    }

    fn widen(&self, row: &[T], values: &mut [A]) {
        for (value, item) in values.iter_mut().zip(row) {
            *value = item.widen();
        }
    }
}

struct Combine<'a, A, O> {
    operator: O,
    left: &'a [A],
    right: &'a mut [A],
}

impl<A: Element, O: Operator<A>> Kernel for Combine<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for (right, left) in self.right.iter_mut().zip(self.left) {
            *right = self.operator.combine(*left, *right);
        }
    }
}

/// Puts every `step`-th item from `first` on behind `value`, column by column.
struct Fold<'a, T, A, O> {
    operator: O,
    columns: Columns<'a, T>,
    first: usize,
    step: usize,
    value: &'a mut [A],
}

impl<T, A, O> Kernel for Fold<'_, T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { operator, columns, first, step, value } = self;
        let width = columns.width;
        let value = &mut value[..width];
        let mut k = first;
        // Four rows at a time: `value` is read and written once for them.
        while k + 3 * step < columns.len {
            let [a, b, c, d] = [0, 1, 2, 3].map(|row| &columns.row(k + row * step)[..width]);
            for at in 0..width {
                let ab =
                    operator.combine(operator.combine(value[at], a[at].widen()), b[at].widen());
                value[at] = operator.combine(operator.combine(ab, c[at].widen()), d[at].widen());
            }
            k += 4 * step;
        }
        while k < columns.len {
            // One loop: of chunks of columns LLVM 21 gathers the same column of several.
            for (value, item) in value.iter_mut().zip(columns.row(k)) {
                *value = operator.combine(*value, item.widen());
            }
            k += step;
        }
    }
}

struct FoldLanes<'a, T, A, O> {
    operator: O,
    columns: Columns<'a, T>,
    lanes: &'a mut [A],
}

impl<T, A, O> Kernel for FoldLanes<'_, T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { operator, columns, lanes } = self;
        for k in 0..columns.len {
            let lanes = &mut lanes[k % LANES * columns.width..][..columns.width];
            for (value, item) in lanes.iter_mut().zip(columns.row(k)) {
                *value = operator.combine(*value, item.widen());
            }
        }
    }
}

struct FoldFour<'a, T, A, O> {
    operator: O,
    rows: [&'a [T]; 4],
    value: &'a mut [A],
}

impl<T, A, O> Kernel for FoldFour<'_, T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { operator, rows, value } = self;
        let width = value.len();
        let [a, b, c, d] = rows.map(|row| &row[..width]);
        for at in 0..width {
            let ac = operator.combine(a[at].widen(), c[at].widen());
            let bd = operator.combine(b[at].widen(), d[at].widen());
            value[at] = operator.combine(ac, bd);
        }
    }
}

/// Values of as many columns, as they come, as an aligned binary tree.
pub(super) struct ColumnTree<A> {
    /// Of 2^k values each; of which those are there whose bit of `count` is set.
    subtrees: Vec<Vec<A>>,
    count: usize,
}

impl<A: Element> ColumnTree<A> {
    pub(super) fn new() -> Self {
        Self { subtrees: Vec::new(), count: 0 }
    }

    /// How many have come.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Takes the next values, which are overwritten.
    pub(super) fn push<T>(&mut self, next: &mut [A], kernels: &dyn ColumnKernels<T, A>) {
        let level = self.count.trailing_ones() as usize;
        for subtree in &self.subtrees[..level] {
            kernels.combine(&subtree[..next.len()], next);
        }
        if self.subtrees.len() == level {
            self.subtrees.push(next.to_vec());
        } else {
            let subtree = &mut self.subtrees[level];
            subtree.resize(subtree.len().max(next.len()), next[0]);
            subtree[..next.len()].copy_from_slice(next);
        }
        self.count += 1;
    }

    /// The value of all that have come, of which there is one at least: the last of their aligned prefixes.
    pub(super) fn total<T>(&self, total: &mut [A], kernels: &dyn ColumnKernels<T, A>) {
        let mut is_first = true;
        for (level, subtree) in self.subtrees.iter().enumerate() {
            if self.count >> level & 1 == 0 {
                continue;
            }
            let subtree = &subtree[..total.len()];
            if is_first {
                total.copy_from_slice(subtree);
            } else {
                kernels.combine(subtree, total);
            }
            is_first = false;
        }
    }
}
