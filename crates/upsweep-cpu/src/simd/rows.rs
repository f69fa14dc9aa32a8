//! Rows of a scan of floats in the specified order, on AVX2: the same bits as the plain loops of
//! `scan::row`, at twice their speed.
//!
//! The plain loops ask for loads and stores with a stride of four, which the compiler makes of
//! shuffles across the halves of a vector. Here the items are transposed within the halves, at
//! half the cost, and only the totals of groups (an eighth of the data) change their order.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over quads read like the plain ones of `scan::row`"
)]

use core::any::TypeId;
use core::arch::x86_64::{__m256, __m256d};

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::{GROUP, GROUPS, LANES};
use upsweep_core::{Element, Operator, Product, Sum};

use super::quad::Quad;
use crate::isa::{self, Kernel};
use crate::reduce::tile::Tree;
use crate::scan::range::ROW_LEVELS;

/// The kernels for one operator on one type.
#[derive(Clone, Copy)]
pub(crate) struct Rows<A> {
    /// Writes the prefixes of whole rows of a tile and appends their totals to `rows`, the rows of
    /// the tile so far; `before` comes into the tile.
    pub(crate) scan: fn(
        input: &[A],
        output: &mut [A],
        before: A,
        exclusive: bool,
        rows: &mut Tree<A, ROW_LEVELS>,
    ),
    /// The total of any number of whole rows.
    pub(crate) total: fn(items: &[A]) -> A,
}

/// The kernels for this operator on this type, if there are any at this level.
#[inline]
pub(crate) fn find<A: Element, O: Operator<A>>(level: Level) -> Option<Rows<A>> {
    if !matches!(level, Level::Avx2(_) | Level::Avx512(_)) {
        return None;
    }
    macro_rules! kernels {
        ($($operator:ident $type:ident $vector:ident $method:ident;)*) => { $(
            if TypeId::of::<(A, O)>() == TypeId::of::<($type, $operator)>() {
                /// The vector form, where AVX2 is enabled.
                #[inline(always)]
                fn combine(left: $vector, right: $vector) -> $vector {
                    // SAFETY: only called from the kernels below, which run with AVX2.
                    unsafe { left.$method(right) }
                }
                fn scan(
                    input: &[$type],
                    output: &mut [$type],
                    before: $type,
                    exclusive: bool,
                    rows: &mut Tree<$type, ROW_LEVELS>,
                ) {
                    let operator = $operator;
                    run(ScanRows::<$vector, _, _> {
                        input,
                        output,
                        before,
                        exclusive,
                        rows,
                        operator,
                        combine,
                    })
                }
                fn total(items: &[$type]) -> $type {
                    run(TotalRows::<$vector, _, _> { items, operator: $operator, combine })
                }
                return cast!(Rows::<$type> { scan, total }, Rows<A>).ok();
            }
        )* };
    }
    kernels! {
        Sum f32 __m256 add;
        Product f32 __m256 multiply;
        Sum f64 __m256d add;
        Product f64 __m256d multiply;
    }
    None
}

/// Runs a kernel with AVX2, which [`find`] has seen to be there.
fn run<K: Kernel>(kernel: K) -> K::Output {
    match Level::new().as_avx2() {
        Some(simd) => isa::run(Level::Avx2(simd), kernel),
        None => unreachable!("the kernels are only given out where AVX2 is"),
    }
}

struct ScanRows<'a, Q: Quad, O, F> {
    input: &'a [Q::Item],
    output: &'a mut [Q::Item],
    before: Q::Item,
    exclusive: bool,
    rows: &'a mut Tree<Q::Item, ROW_LEVELS>,
    operator: O,
    combine: F,
}

impl<Q, O, F> Kernel for ScanRows<'_, Q, O, F>
where
    Q: Quad<Item: Element>,
    O: Operator<Q::Item>,
    F: Fn(Q, Q) -> Q + Copy,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { input, output, before, exclusive, rows, operator, combine } = self;
        let (inputs, _) = input.as_chunks::<LANES>();
        let (outputs, _) = output.as_chunks_mut::<LANES>();
        for (input, output) in inputs.iter().zip(outputs) {
            let carry = match rows.count() {
                0 => before,
                _ => operator.combine(before, rows.total(&operator)),
            };
            // SAFETY: this kernel runs with AVX2.
            let total = unsafe {
                if exclusive {
                    scan_row::<Q, true>(input, output, carry, operator.padding(), combine)
                } else {
                    scan_row::<Q, false>(input, output, carry, operator.padding(), combine)
                }
            };
            rows.push(total, &operator);
        }
    }
}

/// See `scan::row::scan_row`.
#[inline(always)]
unsafe fn scan_row<Q: Quad, const EXCLUSIVE: bool>(
    input: &[Q::Item; LANES],
    output: &mut [Q::Item; LANES],
    carry: Q::Item,
    padding: Q::Item,
    combine: impl Fn(Q, Q) -> Q + Copy,
) -> Q::Item {
    const QUADS: usize = 8;
    let quads = GROUPS / Q::LANES;
    // SAFETY: the caller runs with AVX2. A row is `quads` quads of four vectors; all pointers
    // stay in the row.
    unsafe {
        let (from, to) = (input.as_ptr(), output.as_mut_ptr());
        let mut prefixes = [[Q::splat(padding); GROUP]; QUADS];
        let mut totals = [Q::splat(padding); QUADS];
        for quad in 0..quads {
            let at = |vector: usize| from.add((quad * GROUP + vector) * Q::LANES);
            let [a, b, c, d] =
                Q::transpose([Q::load(at(0)), Q::load(at(1)), Q::load(at(2)), Q::load(at(3))]);
            let pair = combine(a, b);
            let all = combine(pair, combine(c, d));
            prefixes[quad] = [a, pair, combine(pair, c), all];
            totals[quad] = all.natural().prefixes(combine);
        }
        // Aligned prefixes over the quads.
        let mut half = 1;
        while half < quads {
            let mut start = 0;
            while start < quads {
                let left = totals[start + half - 1].last();
                for quad in start + half..start + 2 * half {
                    totals[quad] = combine(left, totals[quad]);
                }
                start += 2 * half;
            }
            half *= 2;
        }
        let carry = Q::splat(carry);
        let mut earlier = Q::splat(padding);
        for quad in 0..quads {
            let shifted = totals[quad].before();
            let before = combine(carry, shifted.with_first(earlier));
            earlier = shifted;
            let [a, b, c, d] = prefixes[quad];
            let groups = if EXCLUSIVE {
                [before, combine(before, a), combine(before, b), combine(before, c)]
            } else {
                [combine(before, a), combine(before, b), combine(before, c), combine(before, d)]
            };
            for (vector, items) in Q::transpose(groups).into_iter().enumerate() {
                items.store(to.add((quad * GROUP + vector) * Q::LANES));
            }
        }
        totals[quads - 1].last().first()
    }
}

struct TotalRows<'a, Q: Quad, O, F> {
    items: &'a [Q::Item],
    operator: O,
    combine: F,
}

impl<Q, O, F> Kernel for TotalRows<'_, Q, O, F>
where
    Q: Quad<Item: Element>,
    O: Operator<Q::Item>,
    F: Fn(Q, Q) -> Q + Copy,
{
    type Output = Q::Item;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Q::Item {
        let Self { items, operator, combine } = self;
        let mut rows = Tree::<Q::Item>::new(&operator);
        for row in items.as_chunks::<LANES>().0 {
            // SAFETY: this kernel runs with AVX2.
            rows.push(unsafe { total_row::<Q>(row, combine) }, &operator);
        }
        rows.total(&operator)
    }
}

/// See `scan::row::total_row`.
#[inline(always)]
unsafe fn total_row<Q: Quad>(
    items: &[Q::Item; LANES],
    combine: impl Fn(Q, Q) -> Q + Copy,
) -> Q::Item {
    const QUADS: usize = 8;
    let mut vectors = GROUPS / Q::LANES;
    // SAFETY: the caller runs with AVX2; all pointers stay in the row.
    unsafe {
        let mut totals = [Q::splat(items[0]); QUADS];
        for quad in 0..vectors {
            let at = |vector: usize| items.as_ptr().add((quad * GROUP + vector) * Q::LANES);
            let quad_items = [Q::load(at(0)), Q::load(at(1)), Q::load(at(2)), Q::load(at(3))];
            totals[quad] = Q::group_totals(quad_items, combine).natural();
        }
        // Neighbours fold until one vector is left, then within it: the lanes that are folded
        // with themselves are not looked at.
        while vectors > 1 {
            vectors /= 2;
            for vector in 0..vectors {
                let (left, right) = (totals[2 * vector], totals[2 * vector + 1]);
                totals[vector] = Q::fold_neighbours(left, right, combine);
            }
        }
        let mut lanes = Q::LANES;
        let mut total = totals[0];
        while lanes > 1 {
            total = Q::fold_neighbours(total, total, combine);
            lanes /= 2;
        }
        total.first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::row;
    use crate::tests::levels;

    /// Values whose sums and products show in which order they were made.
    fn items<A: Element>(seed: u64, of: impl Fn(f64) -> A) -> Vec<A> {
        let mut state = seed;
        (0..LANES)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                of(1.0 + (state >> 40) as f64 / 4e6)
            })
            .collect()
    }

    fn check<A, O>(operator: O, of: impl Fn(f64) -> A)
    where
        A: Element + bytemuck::NoUninit,
        O: Operator<A>,
    {
        let rows = levels().into_iter().find_map(|level| find::<A, O>(level));
        let Some(rows) = rows else { return };
        let bits = |values: &[A]| bytemuck::cast_slice::<A, u8>(values).to_vec();
        for seed in 0..100 {
            let input = items(seed, &of);
            let input: &[A; LANES] = input.as_slice().try_into().expect("a row");
            let carry = of(7.3);
            let total = row::total_row(input, &operator);
            assert_eq!(bits(&[(rows.total)(input)]), bits(&[total]));
            let mut expected = [carry; LANES];
            let mut found = [carry; LANES];
            for exclusive in [false, true] {
                let scanned = if exclusive {
                    row::scan_row::<A, O, true>(input, &mut expected, carry, &operator)
                } else {
                    row::scan_row::<A, O, false>(input, &mut expected, carry, &operator)
                };
                assert_eq!(bits(&[scanned]), bits(&[total]));
                let mut tree = Tree::new(&operator);
                (rows.scan)(input, &mut found, carry, exclusive, &mut tree);
                assert_eq!(bits(&[tree.total(&operator)]), bits(&[total]));
                assert_eq!(bits(&found), bits(&expected), "exclusive: {exclusive}");
            }
        }
    }

    #[test]
    fn rows_have_the_bits_of_the_plain_loops() {
        check::<f32, _>(Sum, |x| x as f32);
        check::<f64, _>(Sum, |x| x);
        check::<f32, _>(Product, |x| x.powf(0.1) as f32);
        check::<f64, _>(Product, |x| x.powf(0.1));
    }
}
