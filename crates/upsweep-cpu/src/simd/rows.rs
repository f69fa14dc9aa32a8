//! Rows of a scan of floats in the specified order, on AVX2 and AVX-512: the same bits as the plain
//! loops of `scan::row`, at twice their speed.
//!
//! The plain loops ask for loads and stores with a stride of four, which the compiler makes of
//! shuffles across the halves of a vector. Here the items are transposed within the halves, at
//! half the cost ([`quad`](super::quad)), or stay where they are ([`wide`](super::wide)); only the
//! totals of groups, an eighth of the data, change their order.
//!
//! Results that go past the caches go there from registers, moved to where lines begin. Short floats
//! are converted as they are loaded and stored, and never lie in memory as `f32`.

use core::arch::x86_64::{__m256, __m256d, __m512, __m512d};
use core::marker::PhantomData;

use castaway::cast;
use fearless_simd::{Level, Simd};
use upsweep_core::summation::LANES;
use upsweep_core::{
    Builtin, Carry, Dtype, Element, Operator, Product, Sum, Tree, Widen, bf16, f16,
};

use super::half::widen_row;
use super::stream::{Prefetch, StreamingOutput};
use super::vector::{SHIFTED, Sink, Stored, Vector};
use super::{quad, wide};
use crate::isa::Kernel;
use crate::known::is_pair;
use crate::scan::range::TileCarry;
use crate::scan::row;

/// The kernels for one operator on items of type `A`, and on those that are combined in `A`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<A> {
    own: RowsOf<A, A>,
    f16: Option<RowsOf<f16, A>>,
    bf16: Option<RowsOf<bf16, A>>,
}

/// The kernels for one operator on items of type `T`, which are combined in `A`.
#[derive(Clone, Copy)]
pub(crate) struct RowsOf<T, A> {
    /// Writes the prefixes of any number of whole rows.
    pub(crate) scan: ScanWholeRows<T, A>,
    /// The total of any number of whole rows.
    pub(crate) total: fn(items: &[T]) -> A,
}

/// Scans whole rows; `tile` and `carry` know what came before. Returns whether it did: lines must first be at a unit of their own, and what
/// waits for one be a multiple of [`SHIFTED`] bytes.
pub(crate) type ScanWholeRows<T, A> = fn(
    input: &[T],
    output: Output<'_, '_, T>,
    exclusive: bool,
    tile: &mut TileCarry<A>,
    carry: &mut Carry<A>,
) -> bool;

/// Where prefixes go.
pub(crate) enum Output<'a, 'b, T> {
    /// To a slice as long as the input.
    Slice(&'a mut [T]),
    /// Past the caches, fetching with each line one of the items ahead.
    StreamingOutput(&'a mut StreamingOutput<'b>, Prefetch<'a>),
}

impl<A: Element> Rows<A> {
    /// The kernels for items of type `T`, if there are any.
    #[inline]
    pub(crate) fn of<T: Element>(&self) -> Option<RowsOf<T, A>> {
        cast!(Some(self.own), Option<RowsOf<T, A>>)
            .or_else(|_| cast!(self.f16, Option<RowsOf<T, A>>))
            .or_else(|_| cast!(self.bf16, Option<RowsOf<T, A>>))
            .ok()
            .flatten()
    }
}

/// Whether [`find`] gives kernels at every level but the least, known when a call is compiled.
pub(crate) const fn is_found<A: Element, O: Operator<A>>() -> bool {
    matches!(O::BUILTIN, Some(Builtin::Sum | Builtin::Product))
        && matches!(A::KIND.number(), Some(Dtype::F32 | Dtype::F64))
}

/// The kernels for this operator on this type, if there are any at this level.
#[inline]
pub(crate) fn find<A: Element, O: Operator<A>>(level: Level) -> Option<Rows<A>> {
    let wide = match level {
        Level::Avx512(_) => true,
        Level::Avx2(_) => false,
        _ => return None,
    };
    macro_rules! kernels {
        ($($operator:ident $type:ident $quad:ident $wide:ident $method:ident ($($short:ident)*);)*) => { $(
            if const { is_pair::<A, $type, O>(Builtin::$operator) } {
                /// The vector form, where the vector's instruction set is enabled.
                #[inline(always)]
                fn combine<V: Vector>(left: V, right: V) -> V {
                    // SAFETY: only called from the kernels below, which run with it.
                    unsafe { left.$method(right) }
                }
                fn scan_quads<T: Stored<$quad>>(
                    input: &[T],
                    output: Output<'_, '_, T>,
                    exclusive: bool,
                    tile: &mut TileCarry<$type>,
                    carry: &mut Carry<$type>,
                ) -> bool {
                    let (operator, scanner) = ($operator, Quads(combine::<$quad>));
                    let rows = Scanning::new(input, exclusive, tile, carry, operator, scanner);
                    run_avx2(ScanRows { rows, output })
                }
                fn scan_wide<T: Stored<$wide>>(
                    input: &[T],
                    output: Output<'_, '_, T>,
                    exclusive: bool,
                    tile: &mut TileCarry<$type>,
                    carry: &mut Carry<$type>,
                ) -> bool {
                    let (operator, scanner) = ($operator, Wide(combine::<$wide>));
                    let rows = Scanning::new(input, exclusive, tile, carry, operator, scanner);
                    run_avx512(ScanRows { rows, output })
                }
                fn total<T: Widen<$type> + Stored<$quad>>(items: &[T]) -> $type {
                    let (operator, combine) = ($operator, combine::<$quad>);
                    run_avx2(TotalRows { items, operator, combine, vector: PhantomData })
                }
                fn rows_of<T>(wide: bool) -> RowsOf<T, $type>
                where
                    T: Widen<$type> + Stored<$quad> + Stored<$wide>,
                {
                    RowsOf { scan: if wide { scan_wide } else { scan_quads }, total }
                }
                #[allow(unused_mut, reason = "no short type is combined in `f64`")]
                let mut rows = Rows::<$type> { own: rows_of(wide), f16: None, bf16: None };
                $(rows.$short = Some(rows_of(wide));)*
                return cast!(rows, Rows<A>).ok();
            }
        )* };
    }
    kernels! {
        Sum f32 __m256 __m512 add (f16 bf16);
        Product f32 __m256 __m512 multiply (f16 bf16);
        Sum f64 __m256d __m512d add ();
        Product f64 __m256d __m512d multiply ();
    }
    None
}

/// Runs a kernel with AVX2, which [`find`] has seen to be there. By way of [`isa::run`] it would be compiled for all levels.
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    match Level::new().as_avx2() {
        Some(simd) => simd.vectorize(
            #[inline(always)]
            || kernel.run(simd),
        ),
        None => unreachable!("the kernels are only given out where AVX2 is"),
    }
}

/// Runs a kernel with AVX-512, which [`find`] has seen to be there.
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    match Level::new().as_avx512() {
        Some(simd) => simd.vectorize(
            #[inline(always)]
            || kernel.run(simd),
        ),
        None => unreachable!("the kernels are only given out where AVX-512 is"),
    }
}

/// A way to scan a row in two halves, so that the next row can be begun before this one is done.
///
/// # Safety
/// As for [`Vector`].
unsafe trait Scanner<V: Vector>: Copy {
    /// What all rows need.
    type Places;

    /// A row of `T` that was begun.
    type Row<T>: Copy;

    unsafe fn places() -> Self::Places;

    /// Does what needs no carry. `from` must be valid for a row until it is finished.
    unsafe fn begin<T: Stored<V>>(
        self,
        from: *const T,
        padding: V::Item,
        places: &Self::Places,
    ) -> Self::Row<T>;

    /// Gives the result to `sink`, and returns the total.
    unsafe fn finish<T: Stored<V>, const EXCLUSIVE: bool>(
        self,
        row: Self::Row<T>,
        carry: V::Item,
        padding: V::Item,
        places: &Self::Places,
        sink: &mut impl Sink<V>,
    ) -> V::Item;
}

#[derive(Clone, Copy)]
struct Quads<F>(F);

// SAFETY: `quad` has the same contract.
unsafe impl<Q: quad::Quad, F: Fn(Q, Q) -> Q + Copy> Scanner<Q> for Quads<F> {
    type Places = ();

    // The registers hold no second row.
    type Row<T> = *const T;

    #[inline(always)]
    unsafe fn places() {}

    #[inline(always)]
    unsafe fn begin<T: Stored<Q>>(self, from: *const T, _: Q::Item, (): &()) -> *const T {
        from
    }

    #[inline(always)]
    unsafe fn finish<T: Stored<Q>, const EXCLUSIVE: bool>(
        self,
        from: *const T,
        carry: Q::Item,
        padding: Q::Item,
        (): &(),
        sink: &mut impl Sink<Q>,
    ) -> Q::Item {
        // SAFETY: see above.
        unsafe { quad::scan_row::<Q, T, EXCLUSIVE>(from, carry, padding, self.0, sink) }
    }
}

#[derive(Clone, Copy)]
struct Wide<F>(F);

// SAFETY: `wide` has the same contract.
unsafe impl<V: wide::Wide, F: Fn(V, V) -> V + Copy> Scanner<V> for Wide<F> {
    type Places = V::Places;

    type Row<T> = (wide::Row<V>, V::Item);

    #[inline(always)]
    unsafe fn places() -> V::Places {
        // SAFETY: see above.
        unsafe { V::places() }
    }

    #[inline(always)]
    unsafe fn begin<T: Stored<V>>(
        self,
        from: *const T,
        padding: V::Item,
        places: &V::Places,
    ) -> (wide::Row<V>, V::Item) {
        // SAFETY: see above.
        unsafe { wide::load_row::<V, T>(from, padding, places, self.0) }
    }

    #[inline(always)]
    unsafe fn finish<T: Stored<V>, const EXCLUSIVE: bool>(
        self,
        (row, total): (wide::Row<V>, V::Item),
        carry: V::Item,
        padding: V::Item,
        places: &V::Places,
        sink: &mut impl Sink<V>,
    ) -> V::Item {
        // SAFETY: see above.
        unsafe { wide::store_row::<V, EXCLUSIVE>(row, carry, padding, places, self.0, sink) };
        total
    }
}

/// Whole rows, and what they are scanned with.
struct Scanning<'a, T, A, O, V, S> {
    input: &'a [T],
    exclusive: bool,
    tile: &'a mut TileCarry<A>,
    carry: &'a mut Carry<A>,
    operator: O,
    scanner: S,
    vector: PhantomData<V>,
}

/// Scans rows to either output in one function: in two, scans of `f64` in the caches took 1.14 times as long on a Zen 4, `f32` 1.03.
struct ScanRows<'a, 'b, T, A, O, V, S> {
    rows: Scanning<'a, T, A, O, V, S>,
    output: Output<'a, 'b, T>,
}

impl<T, A, O, V, S> Kernel for ScanRows<'_, '_, T, A, O, V, S>
where
    T: Stored<V>,
    A: Element,
    O: Operator<A>,
    V: Vector<Item = A>,
    S: Scanner<V>,
{
    type Output = bool;

    #[inline(always)]
    fn run<I: Simd>(mut self, _: I) -> bool {
        // SAFETY: this kernel runs with the instruction set of `V`. A row is a whole number of
        // vectors, so that as much is written as is read: to a slice of that length, or to units
        // of memory that were reserved.
        unsafe {
            match self.output {
                Output::Slice(ref mut output) => {
                    assert_eq!(output.len(), self.rows.input.len());
                    self.rows.scan(&mut ToSlice(output.as_mut_ptr()));
                }
                Output::StreamingOutput(ref mut lines, ahead) => {
                    let Some(place) = lines.reserve(size_of_val(self.rows.input), SHIFTED) else {
                        return false;
                    };
                    let (to, waiting) = (place.unit.cast::<A>(), place.waiting.cast::<A>());
                    let shift = V::shift(place.filled);
                    let previous = V::enter(V::load(waiting), shift);
                    let stored = PhantomData::<T>;
                    let mut sink = ToLines { to, done: 0, shift, previous, ahead, stored };
                    self.rows.scan(&mut sink);
                    V::leave(sink.previous, shift).store(waiting);
                }
            }
        }
        true
    }
}

/// Writes vectors one after the other.
struct ToSlice<T>(*mut T);

// SAFETY: writes with the vector's instructions to where it was told.
unsafe impl<V: Vector, T: Stored<V>> Sink<V> for ToSlice<T> {
    #[inline(always)]
    unsafe fn put(&mut self, vectors: [V; 4]) {
        // SAFETY: see above.
        unsafe {
            T::store_four(vectors, self.0);
            self.0 = self.0.add(4 * V::LANES);
        }
    }
}

/// Writes vectors past the caches, moved to where units of memory begin.
struct ToLines<'a, T, V: Vector> {
    to: *mut V::Item,
    /// Lanes that were written, of as many bits as an item of the vector has.
    done: usize,
    shift: V::Shift,
    previous: V,
    ahead: Prefetch<'a>,
    stored: PhantomData<T>,
}

// SAFETY: as above.
unsafe impl<V: Vector, T: Stored<V>> Sink<V> for ToLines<'_, T, V> {
    #[inline(always)]
    unsafe fn put(&mut self, vectors: [V; 4]) {
        // SAFETY: see above.
        let packed = unsafe { T::pack_four(vectors) };
        for vector in &packed[..4 * size_of::<T>() / size_of::<V::Item>()] {
            self.ahead.fetch(self.done * size_of::<V::Item>());
            // SAFETY: see above.
            unsafe { vector.join(&mut self.previous, self.shift).stream(self.to.add(self.done)) };
            self.done += V::LANES;
        }
    }
}

impl<'a, T, A, O, V, S> Scanning<'a, T, A, O, V, S>
where
    T: Stored<V>,
    A: Element,
    O: Operator<A>,
    V: Vector<Item = A>,
    S: Scanner<V>,
{
    fn new(
        input: &'a [T],
        exclusive: bool,
        tile: &'a mut TileCarry<A>,
        carry: &'a mut Carry<A>,
        operator: O,
        scanner: S,
    ) -> Self {
        Self { input, exclusive, tile, carry, operator, scanner, vector: PhantomData }
    }

    /// Scans all rows to `sink`.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn scan(&mut self, sink: &mut impl Sink<V>) {
        let operator = self.operator;
        // Of their own, so that no store to the output can be one to them.
        let (mut tile, mut carry) = (*self.tile, *self.carry);
        // SAFETY: the caller's.
        let (places, mut rows) = unsafe { (S::places(), self.input.as_chunks::<LANES>().0) };
        while let Some((first, others)) = rows.split_first() {
            // Four rows at a time know their places in the tree over the tile, so that it takes no
            // branches: those cost a sixth of the speed.
            if let Some((four, others)) = rows.split_first_chunk::<4>()
                && let Some(before) = tile.before_four(&operator)
            {
                // SAFETY: the caller's.
                unsafe {
                    let a = self.begin(&four[0], &places);
                    let b = self.begin(&four[1], &places);
                    let a = self.finish(a, before(operator.padding()), &places, sink);
                    let c = self.begin(&four[2], &places);
                    let b = self.finish(b, before(a), &places, sink);
                    let ab = operator.combine(a, b);
                    let d = self.begin(&four[3], &places);
                    let c = self.finish(c, before(ab), &places, sink);
                    let abc = operator.combine(ab, c);
                    let d = self.finish(d, before(abc), &places, sink);
                    let all = operator.combine(ab, operator.combine(c, d));
                    tile.push(all, 2, &mut carry, &operator);
                }
                rows = others;
            } else {
                let before = tile.before_next(&operator);
                // SAFETY: the caller's.
                let total = unsafe {
                    let row = self.begin(first, &places);
                    self.finish(row, before, &places, sink)
                };
                tile.push(total, 0, &mut carry, &operator);
                rows = others;
            }
        }
        (*self.tile, *self.carry) = (tile, carry);
    }

    /// # Safety
    /// As for [`Scanner`].
    #[inline(always)]
    unsafe fn begin(&self, row: &[T; LANES], places: &S::Places) -> S::Row<T> {
        // SAFETY: the caller's; `row` is a row.
        unsafe { self.scanner.begin(row.as_ptr(), self.operator.padding(), places) }
    }

    /// # Safety
    /// As for [`Scanner`].
    #[inline(always)]
    unsafe fn finish(
        &self,
        row: S::Row<T>,
        before: A,
        places: &S::Places,
        sink: &mut impl Sink<V>,
    ) -> A {
        let padding = self.operator.padding();
        // SAFETY: the caller's.
        unsafe {
            if self.exclusive {
                self.scanner.finish::<T, true>(row, before, padding, places, sink)
            } else {
                self.scanner.finish::<T, false>(row, before, padding, places, sink)
            }
        }
    }
}

struct TotalRows<'a, T, Q, O, F> {
    items: &'a [T],
    operator: O,
    combine: F,
    vector: PhantomData<Q>,
}

impl<Q, T, O, F> Kernel for TotalRows<'_, T, Q, O, F>
where
    Q: quad::Quad<Item: Element>,
    T: Widen<Q::Item> + Stored<Q>,
    O: Operator<Q::Item>,
    F: Fn(Q, Q) -> Q + Copy,
{
    type Output = Q::Item;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Q::Item {
        let Self { items, operator, combine, .. } = self;
        let mut tree = Tree::<Q::Item>::new(&operator);
        let (fours, rest) = items.as_chunks::<LANES>().0.as_chunks::<4>();
        for four in fours {
            // SAFETY: this kernel runs with AVX2.
            tree.push_subtree(unsafe { quad::total_rows::<Q, T>(four, combine) }, 2, &operator);
        }
        for row in rest {
            tree.push(row::total_row(&widen_row(simd, row), &operator), &operator);
        }
        tree.total(&operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;
    use crate::tests::levels;
    use upsweep_core::Direction;

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
        let kernels = levels().into_iter().filter_map(|level| Some((level, find::<A, O>(level)?)));
        for (level, rows) in kernels {
            check_at(level, rows, operator, &of);
        }
    }

    fn check_at<A, O>(level: Level, rows: Rows<A>, operator: O, of: &impl Fn(f64) -> A)
    where
        A: Element + bytemuck::NoUninit,
        O: Operator<A>,
    {
        let rows = rows.of::<A>().expect("its own");
        let bits = |values: &[A]| bytemuck::cast_slice::<A, u8>(values).to_vec();
        for seed in 0..100 {
            let input = items(seed, of);
            let input: &[A; LANES] = input.as_slice().try_into().expect("a row");
            let carry = of(7.3);
            let total = row::total_row(input, &operator);
            assert_eq!(bits(&[(rows.total)(input)]), bits(&[total]));
            let many: Vec<A> = (seed..seed + 11).flat_map(|seed| items(seed, of)).collect();
            let mut tree = Tree::<A>::new(&operator);
            for row in many.as_chunks::<LANES>().0 {
                tree.push(row::total_row(row, &operator), &operator);
            }
            assert_eq!(bits(&[(rows.total)(&many)]), bits(&[tree.total(&operator)]));
            let mut expected = [carry; LANES];
            let mut found = [carry; LANES];
            for exclusive in [false, true] {
                let scanned = row::scan_row(input, &mut expected, carry, exclusive, &operator);
                assert_eq!(bits(&[scanned]), bits(&[total]));
                let after = scan(rows, &mut found, (input, carry, exclusive), &operator);
                assert_eq!(bits(&[after]), bits(&[operator.combine(carry, total)]));
                assert_eq!(bits(&found), bits(&expected), "exclusive: {exclusive}");
                let row = (&input[..], carry, exclusive);
                for start in 0..64 / size_of::<A>() {
                    check_lines(level, rows, row, &expected, start, &operator);
                }
            }
        }
    }

    /// Short items have the prefixes and totals of the same items as `f32`, rounded.
    fn check_short<T, O>(operator: O, of: impl Fn(f64) -> T)
    where
        T: Widen<f32> + Element<Acc = f32> + bytemuck::NoUninit,
        O: Operator<f32>,
    {
        let bits = |values: &[T]| bytemuck::cast_slice::<T, u16>(values).to_vec();
        for level in levels() {
            let Some(rows) = find::<f32, O>(level) else { continue };
            let (own, short) = (rows.of::<f32>().expect("its own"), rows.of::<T>());
            let short = short.expect("all short floats have kernels");
            let input: Vec<T> = (0..37).flat_map(|seed| items(seed, &of)).collect();
            let wide: Vec<f32> = input.iter().map(|item| item.widen()).collect();
            assert_eq!((short.total)(&input).to_bits(), (own.total)(&wide).to_bits());
            let before = 0.7;
            for exclusive in [false, true] {
                let mut prefixes = vec![0.0; wide.len()];
                let after = scan(own, &mut prefixes, (&wide, before, exclusive), &operator);
                let expected: Vec<T> = prefixes.into_iter().map(T::from_acc).collect();
                let mut found = vec![input[0]; input.len()];
                let short_after = scan(short, &mut found, (&input, before, exclusive), &operator);
                assert_eq!(short_after.to_bits(), after.to_bits());
                assert_eq!(bits(&found), bits(&expected), "{level:?} {exclusive}");
                for start in 0..64 / size_of::<T>() {
                    let rows = (&input[..], before, exclusive);
                    check_lines(level, short, rows, &expected, start, &operator);
                }
            }
        }
    }

    /// Scans whole rows. Returns what comes into the next one.
    fn scan<T, A: Element, O: Operator<A>>(
        rows: RowsOf<T, A>,
        output: &mut [T],
        (input, before, exclusive): (&[T], A, bool),
        operator: &O,
    ) -> A {
        let mut carry = Carry::new(Some(before), operator);
        let mut tile = TileCarry::new(&carry, operator);
        let output = Output::Slice(output);
        assert!(
            (rows.scan)(input, output, exclusive, &mut tile, &mut carry),
            "slices are anywhere"
        );
        tile.before_next(operator)
    }

    /// The same past the caches: some items from elsewhere, then the rows twice, at any place.
    fn check_lines<T, A, O>(
        level: Level,
        rows: RowsOf<T, A>,
        (input, before, exclusive): (&[T], A, bool),
        expected: &[T],
        start: usize,
        operator: &O,
    ) where
        T: Element + bytemuck::NoUninit,
        A: Element,
        O: Operator<A>,
    {
        const FIRST: usize = 13;
        let bits = |values: &[T]| bytemuck::cast_slice::<T, u8>(values).to_vec();
        let (other, len) = (input[0], input.len());
        let mut memory = vec![other; start + FIRST + 2 * len + 20];
        let target = &mut memory[start..start + FIRST + 2 * len];
        let mut lines = StreamingOutput::new(target, Direction::Forward, level);
        let scan_to = |lines: &mut StreamingOutput<'_>| {
            let mut carry = Carry::new(Some(before), operator);
            let mut tile = TileCarry::new(&carry, operator);
            let output = Output::StreamingOutput(lines, Prefetch::new(input));
            (rows.scan)(input, output, exclusive, &mut tile, &mut carry)
        };
        if lines.to_border() > 0 {
            assert!(!scan_to(&mut lines), "the first line is not all of the target's");
        }
        isa::run(level, Push(&mut lines, &expected[..FIRST]));
        for _ in 0..2 {
            if !scan_to(&mut lines) {
                isa::run(level, Push(&mut lines, expected));
            }
        }
        lines.finish();
        let found = &memory[start + FIRST..];
        assert_eq!(bits(&memory[start..start + FIRST]), bits(&expected[..FIRST]), "{start}");
        assert_eq!(bits(&found[..len]), bits(expected), "{start}");
        assert_eq!(bits(&found[len..2 * len]), bits(expected), "{start}");
        let others = memory[..start].iter().chain(&memory[start + FIRST + 2 * len..]);
        assert!(others.copied().all(|item| bits(&[item]) == bits(&[other])), "{start}");
    }

    struct Push<'a, 'b, A>(&'a mut StreamingOutput<'b>, &'a [A]);

    impl<A: Element> Kernel for Push<'_, '_, A> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            self.0.push(simd, self.1, Prefetch::new(self.1));
        }
    }

    #[test]
    fn rows_have_the_bits_of_the_plain_loops() {
        check::<f32, _>(Sum, |x| x as f32);
        check::<f64, _>(Sum, |x| x);
        check::<f32, _>(Product, |x| x.powf(0.1) as f32);
        check::<f64, _>(Product, |x| x.powf(0.1));
    }

    #[test]
    fn short_rows_have_the_bits_of_wide_ones() {
        check_short::<f16, _>(Sum, |x| f16::from_f64(x * 0.01));
        check_short::<bf16, _>(Sum, bf16::from_f64);
        check_short::<f16, _>(Product, |x| f16::from_f64(x.powf(0.001)));
        check_short::<bf16, _>(Product, |x| bf16::from_f64(x.powf(0.01)));
    }
}
