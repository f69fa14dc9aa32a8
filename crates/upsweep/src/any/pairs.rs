//! From an operator and two types to code: the table of `upsweep_core`, looked up by value.
//!
//! A CPU has an instance of its kernels for each pair. A GPU needs of a pair the problem without Rust's types, and for arrays that
//! come in chunks the state between them; all else of its calls is compiled once.

#![cfg_attr(
    test,
    allow(
        unused,
        reason = "unit tests of this crate look no pair up, which would compile them all again"
    )
)]

use core::hint::black_box;
use core::marker::PhantomData;
use core::num::NonZeroU32;
use std::borrow::Cow;

use upsweep_core::{Backend, Language, ReduceState, Rows, ScanState, segments};
use upsweep_core::{reduction_pairs, rounded_pairs, scan_pairs, segmented_pairs};
use upsweep_cpu::Cpu;
use upsweep_gpu::{ErasedReduce, ErasedReduceState, ErasedScan, ErasedScanState};

use super::array::AnyArray;
use super::view::{AnyView, AnyViewMut, on_host, on_host_mut};
use super::{Op, Scalar, Scan};
use crate::strategy::CpuShape;
use crate::{
    Array, BitAnd, BitOr, BitXor, Dtype, Element, Max, Min, Number, Operator, Product, Result, Sum,
    Widen, bf16, f16, reference,
};

/// A reduction of items of one type in another, both of which the caller knows by value.
pub(super) trait ReducePair: Sync {
    /// The problem for kernels in this language.
    fn problem(&self, init: Option<Scalar>, language: Language) -> ErasedReduce;

    /// Combines items in the host's memory, `calls` times. The loop lies here, so that a call in it has types that the compiler
    /// knows.
    fn reduce(
        &self,
        cpu: &Cpu,
        input: AnyView<'_>,
        init: Option<Scalar>,
        calls: NonZeroU32,
    ) -> Result<Scalar>;

    /// What is known between chunks.
    fn chunks(&self, init: Option<Scalar>) -> Box<dyn ReduceChunks>;

    /// The sequential answer.
    fn reference(&self, input: AnyView<'_>, init: Option<Scalar>) -> Result<Scalar>;
}

/// A reduction of an array that comes in chunks, as far as it has come.
pub(super) trait ReduceChunks: Send {
    /// Takes a chunk in the host's memory.
    fn push(&mut self, cpu: &Cpu, chunk: AnyView<'_>) -> Result<()>;

    /// The value so far.
    fn finish(&self) -> Scalar;

    /// The same for a GPU.
    fn erased(&mut self) -> &mut dyn ErasedReduceState;

    /// The same for a GPU, for itself.
    fn into_erased(self: Box<Self>) -> Box<dyn ErasedReduceState>;
}

/// A scan of items of one type into another.
pub(super) trait ScanPair: Sync {
    /// The problem for kernels in this language.
    fn problem(&self, problem: &Scan, language: Language) -> ErasedScan;

    /// Scans items in the host's memory, `calls` times, as [`ReducePair::reduce`].
    fn scan(
        &self,
        cpu: &Cpu,
        input: AnyView<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
        calls: NonZeroU32,
    ) -> Result<()>;

    /// What is known between chunks.
    fn chunks(&self, problem: &Scan) -> Box<dyn ScanChunks>;

    /// The sequential answer.
    fn reference(&self, input: AnyView<'_>, problem: &Scan) -> Result<AnyArray>;

    /// What the numbers of a CPU come to.
    fn shape(&self, cpu: &Cpu, items: usize) -> CpuShape;
}

/// A scan of an array that comes in chunks, as far as it has come.
pub(super) trait ScanChunks: Send {
    /// Scans a chunk in the host's memory.
    fn next(&mut self, cpu: &Cpu, chunk: AnyView<'_>, output: AnyViewMut<'_>) -> Result<()>;

    /// The same for a GPU.
    fn erased(&mut self) -> &mut dyn ErasedScanState;

    /// The same for a GPU, for itself.
    fn into_erased(self: Box<Self>) -> Box<dyn ErasedScanState>;
}

/// A scan in place of items in the host's memory.
pub(super) trait InPlace: Sync {
    fn scan(&self, cpu: &Cpu, data: AnyViewMut<'_>, problem: &Scan) -> Result<()>;
}

/// Reductions within segments. Scans are apart, so that a program that has none links none.
pub(super) trait SegmentedReducePair: Sync {
    /// The problem for kernels in this language.
    fn problem(&self, init: Option<Scalar>, language: Language) -> ErasedReduce;

    /// Reduces items in the host's memory by an operator that rounds: any other is the same however items are grouped, and is done
    /// segment by segment. By keys or flags it writes the bytes of the keys, if they are asked for, and returns how many segments
    /// there are.
    fn reduce(
        &self,
        cpu: &Cpu,
        items: AnyView<'_>,
        segments: segments::Segments<'_>,
        unique: Option<&mut [u8]>,
        output: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<usize>;
}

/// Scans within segments.
pub(super) trait SegmentedScanPair: Sync {
    /// The problem for kernels in this language.
    fn problem(&self, problem: &Scan, language: Language) -> ErasedScan;

    /// Scans items in the host's memory.
    fn scan(
        &self,
        cpu: &Cpu,
        items: AnyView<'_>,
        segments: segments::Segments<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()>;
}

/// Reductions along axes, to the type that is written. They are apart, as those of segments.
pub(super) trait ReduceRowsPair: Sync {
    /// The problem for kernels in this language.
    fn problem(&self, init: Option<Scalar>, language: Language) -> ErasedReduce;

    /// Reduces rows in the host's memory.
    fn reduce(
        &self,
        cpu: &Cpu,
        items: AnyView<'_>,
        rows: &Rows,
        output: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<()>;
}

/// Scans along axes.
pub(super) trait ScanRowsPair: Sync {
    /// The problem for kernels in this language.
    fn problem(&self, problem: &Scan, language: Language) -> ErasedScan;

    /// Scans rows in the host's memory.
    fn scan(
        &self,
        cpu: &Cpu,
        items: AnyView<'_>,
        rows: &Rows,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()>;
}

/// A built-in operator that has a name as a value.
trait Named: Default {
    const OP: Op;
}

macro_rules! named {
    ($($operator:ident $op:ident,)*) => { $(
        impl Named for $operator {
            const OP: Op = Op::$op;
        }
    )* };
}

named! { Sum Sum, Product Product, Min Min, Max Max, BitAnd And, BitOr Or, BitXor Xor, }

/// Two types and an operator, as code.
struct Typed<T, A, O>(PhantomData<fn(T, O) -> A>);

/// A reduction that is stated with types.
fn typed_reduce<A: Number, O: Default>(init: Option<Scalar>) -> crate::Reduce<A, O> {
    let mut problem = crate::Reduce::new(O::default());
    problem.init = init.map(|init| init.bits());
    problem
}

/// A scan that is stated with types.
fn typed_scan<A: Number, O: Default>(problem: &Scan) -> crate::Scan<A, O> {
    let mut typed = crate::Scan::inclusive(O::default());
    typed.bounds = problem.bounds;
    typed.direction = problem.direction;
    typed.init = problem.init.map(|init| init.bits());
    typed
}

/// Items in the host's memory: a function for each type, which pairs share.
#[inline(never)]
fn items<'a, T: Number>(view: AnyView<'a>) -> Result<&'a [T]> {
    on_host(view.typed::<T>()?)
}

/// The same to overwrite.
#[inline(never)]
fn items_mut<'a, T: Number>(view: AnyViewMut<'a>) -> Result<&'a mut [T]> {
    on_host_mut(view.typed::<T>()?)
}

/// Items as they are combined.
#[inline(never)]
fn widened<'a, T: Number + Widen<A>, A: Number>(input: AnyView<'a>) -> Result<Cow<'a, [A]>> {
    if T::DTYPE == A::DTYPE {
        return items::<A>(input).map(Cow::Borrowed);
    }
    Ok(items::<T>(input)?.iter().map(|item| item.widen()).collect())
}

/// The sequential answer, for each type that is combined in.
#[inline(never)]
fn reference_reduce<A: Number, O: Operator<A> + Default>(
    items: &[A],
    init: Option<Scalar>,
) -> Scalar {
    let problem = typed_reduce::<A, O>(init);
    Scalar::new(if O::EXACT {
        reference::reduce::<A, A, O>(items, &problem)
    } else {
        reference::specified::reduce::<A, A, O>(items, &problem)
    })
}

/// The same of a scan.
#[inline(never)]
fn reference_scan<A, O>(items: &[A], problem: &Scan) -> Vec<A>
where
    A: Number + Element<Acc = A>,
    O: Operator<A> + Default,
{
    let problem = typed_scan::<A, O>(problem);
    if O::EXACT {
        reference::scan::<A, A, O>(items, &problem)
    } else {
        reference::specified::scan::<A, A, O>(items, &problem)
    }
}

/// The state of a reduction or a scan, and the type of the items.
struct Chunks<T, S>(S, PhantomData<fn(T)>);

impl<T, A, O> ReducePair for Typed<T, A, O>
where
    T: Number + Widen<A>,
    A: Number,
    O: Operator<A> + Default,
{
    fn problem(&self, init: Option<Scalar>, language: Language) -> ErasedReduce {
        ErasedReduce::of::<T, A, O>(&typed_reduce(init), language)
    }

    fn reduce(
        &self,
        cpu: &Cpu,
        input: AnyView<'_>,
        init: Option<Scalar>,
        calls: NonZeroU32,
    ) -> Result<Scalar> {
        let (items, problem) = (items::<T>(input)?, typed_reduce::<A, O>(init));
        let call = || cpu.reduce(&mut cpu.workspace(0, 0)?, black_box(items), &problem);
        for _ in 1..calls.get() {
            black_box(call()?);
        }
        call().map(Scalar::new)
    }

    fn chunks(&self, init: Option<Scalar>) -> Box<dyn ReduceChunks> {
        let state = ReduceState::new(typed_reduce::<A, O>(init));
        Box::new(Chunks::<T, _>(state, PhantomData))
    }

    fn reference(&self, input: AnyView<'_>, init: Option<Scalar>) -> Result<Scalar> {
        Ok(reference_reduce::<A, O>(&widened::<T, A>(input)?, init))
    }
}

impl<T, A, O> ReduceChunks for Chunks<T, ReduceState<A, O>>
where
    T: Number + Widen<A>,
    A: Number,
    O: Operator<A>,
{
    fn push(&mut self, cpu: &Cpu, chunk: AnyView<'_>) -> Result<()> {
        let (mut workspace, items) = (cpu.workspace(0, 0)?, items::<T>(chunk)?);
        cpu.reduce_next(&mut workspace, &mut self.0, items)
    }

    fn finish(&self) -> Scalar {
        Scalar::new(self.0.finish())
    }

    fn erased(&mut self) -> &mut dyn ErasedReduceState {
        &mut self.0
    }

    fn into_erased(self: Box<Self>) -> Box<dyn ErasedReduceState> {
        Box::new(self.0)
    }
}

impl<T, U, O> ScanPair for Typed<T, U, O>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc> + Default,
{
    fn problem(&self, problem: &Scan, language: Language) -> ErasedScan {
        ErasedScan::of::<T, U::Acc, U, O>(&typed_scan(problem), language)
    }

    fn scan(
        &self,
        cpu: &Cpu,
        input: AnyView<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
        calls: NonZeroU32,
    ) -> Result<()> {
        let (input, output) = (items::<T>(input)?, items_mut::<U>(output)?);
        let problem = typed_scan::<U::Acc, O>(problem);
        (0..calls.get()).try_for_each(|_| {
            let (input, output) = (black_box(input), black_box(&mut *output));
            cpu.scan::<T, U, O>(&mut cpu.workspace(0, 0)?, input, output, &problem)
        })
    }

    fn chunks(&self, problem: &Scan) -> Box<dyn ScanChunks> {
        let state = ScanState::new(typed_scan::<U::Acc, O>(problem));
        Box::new(Chunks::<fn(T) -> U, _>(state, PhantomData))
    }

    fn reference(&self, input: AnyView<'_>, problem: &Scan) -> Result<AnyArray> {
        let prefixes = reference_scan::<U::Acc, O>(&widened::<T, U::Acc>(input)?, problem);
        let output: Vec<U> = prefixes.into_iter().map(U::from_acc).collect();
        Ok(Array::from_host(output).into())
    }

    fn shape(&self, cpu: &Cpu, items: usize) -> CpuShape {
        cpu.scan_shape::<T, U, O>(items)
    }
}

impl<T, U, O> ScanChunks for Chunks<fn(T) -> U, ScanState<<U as Element>::Acc, O>>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc>,
{
    fn next(&mut self, cpu: &Cpu, chunk: AnyView<'_>, output: AnyViewMut<'_>) -> Result<()> {
        let (chunk, output) = (items::<T>(chunk)?, items_mut::<U>(output)?);
        cpu.scan_next::<T, U, O>(&mut cpu.workspace(0, 0)?, &mut self.0, chunk, output)
    }

    fn erased(&mut self) -> &mut dyn ErasedScanState {
        &mut self.0
    }

    fn into_erased(self: Box<Self>) -> Box<dyn ErasedScanState> {
        Box::new(self.0)
    }
}

impl<T, O> InPlace for Typed<T, T, O>
where
    T: Number,
    T::Acc: Number,
    O: Operator<T::Acc> + Default,
{
    fn scan(&self, cpu: &Cpu, data: AnyViewMut<'_>, problem: &Scan) -> Result<()> {
        let data = items_mut::<T>(data)?;
        cpu.scan_in_place(&mut cpu.workspace(0, 0)?, data, &typed_scan::<T::Acc, O>(problem))
    }
}

impl<T, O> SegmentedReducePair for Typed<T, T, O>
where
    T: Number,
    T::Acc: Number,
    O: Operator<T::Acc> + Default,
{
    fn problem(&self, init: Option<Scalar>, language: Language) -> ErasedReduce {
        ErasedReduce::in_segments::<T, T, O>(&typed_reduce(init), language)
    }

    fn reduce(
        &self,
        cpu: &Cpu,
        items: AnyView<'_>,
        segments: segments::Segments<'_>,
        unique: Option<&mut [u8]>,
        output: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<usize> {
        if const { O::EXACT } {
            unreachable!("it is done segment by segment");
        }
        let (items, output) = (self::items::<T>(items)?, items_mut::<T>(output)?);
        let problem = typed_reduce::<T::Acc, O>(init);
        cpu.segmented_reduce::<T, T, O>(items, segments, unique, output, &problem)
    }
}

impl<T, O> SegmentedScanPair for Typed<T, T, O>
where
    T: Number,
    T::Acc: Number,
    O: Operator<T::Acc> + Default,
{
    fn problem(&self, problem: &Scan, language: Language) -> ErasedScan {
        ErasedScan::of::<T, T::Acc, T, O>(&typed_scan(problem), language)
    }

    fn scan(
        &self,
        cpu: &Cpu,
        items: AnyView<'_>,
        segments: segments::Segments<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()> {
        let (items, output) = (self::items::<T>(items)?, items_mut::<T>(output)?);
        cpu.segmented_scan::<T, T, O>(items, segments, output, &typed_scan(problem))
    }
}

impl<T, U, O> ReduceRowsPair for Typed<T, U, O>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc> + Default,
{
    fn problem(&self, init: Option<Scalar>, language: Language) -> ErasedReduce {
        ErasedReduce::in_segments::<T, U, O>(&typed_reduce(init), language)
    }

    fn reduce(
        &self,
        cpu: &Cpu,
        items: AnyView<'_>,
        rows: &Rows,
        output: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<()> {
        let (items, output) = (self::items::<T>(items)?, items_mut::<U>(output)?);
        cpu.reduce_rows::<T, U, O>(items, rows, output, &typed_reduce::<U::Acc, O>(init))
    }
}

impl<T, U, O> ScanRowsPair for Typed<T, U, O>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc> + Default,
{
    fn problem(&self, problem: &Scan, language: Language) -> ErasedScan {
        ErasedScan::of::<T, U::Acc, U, O>(&typed_scan(problem), language)
    }

    fn scan(
        &self,
        cpu: &Cpu,
        items: AnyView<'_>,
        rows: &Rows,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()> {
        let (items, output) = (self::items::<T>(items)?, items_mut::<U>(output)?);
        cpu.scan_rows::<T, U, O>(items, rows, output, &typed_scan::<U::Acc, O>(problem))
    }
}

macro_rules! find {
    ($key:ident $($operator:ident: $($from:ident $to:ident),*;)*) => { $($(
        if $key == (<$operator as Named>::OP, <$from as Number>::DTYPE, <$to as Number>::DTYPE) {
            return Some(&Typed::<$from, $to, $operator>(PhantomData));
        }
    )*)* };
}

macro_rules! find_same {
    ($key:ident $($operator:ident: $($from:ident $to:ident),*;)*) => { $($(
        if $key == (<$operator as Named>::OP, <$to as Number>::DTYPE) {
            return Some(&Typed::<$to, $to, $operator>(PhantomData));
        }
    )*)* };
}

/// The code for a reduction of items of type `from` in type `to`; `None` if that pair has none of its own.
pub(super) fn reduction(op: Op, from: Dtype, to: Dtype) -> Option<&'static dyn ReducePair> {
    let key = (op, from, to);
    #[cfg(not(test))]
    reduction_pairs!(find! key);
    None
}

/// The code for a scan of items of type `from` into items of type `to`; `None` if that pair has none of its own.
pub(super) fn scan(op: Op, from: Dtype, to: Dtype) -> Option<&'static dyn ScanPair> {
    let key = (op, from, to);
    #[cfg(not(test))]
    scan_pairs!(find! key);
    None
}

/// The code for a scan of items of this type in place.
pub(super) fn scan_in_place(op: Op, dtype: Dtype) -> Option<&'static dyn InPlace> {
    let key = (op, dtype);
    #[cfg(not(test))]
    scan_pairs!(find_same! key);
    None
}

/// The code for a reduction of items of this type in segments.
pub(super) fn segmented_reduction(
    op: Op,
    dtype: Dtype,
) -> Option<&'static dyn SegmentedReducePair> {
    let key = (op, dtype);
    #[cfg(not(test))]
    segmented_pairs!(find_same! key);
    None
}

/// The code for a scan of items of this type in segments.
pub(super) fn segmented_scan(op: Op, dtype: Dtype) -> Option<&'static dyn SegmentedScanPair> {
    let key = (op, dtype);
    #[cfg(not(test))]
    segmented_pairs!(find_same! key);
    None
}

/// The code for a reduction along axes of items of type `from` to items of type `to`; `None` if that pair has none of its own.
pub(super) fn rows_reduction(
    op: Op,
    from: Dtype,
    to: Dtype,
) -> Option<&'static dyn ReduceRowsPair> {
    let key = (op, from, to);
    #[cfg(not(test))]
    reduction_pairs!(find! key);
    #[cfg(not(test))]
    rounded_pairs!(find! key);
    None
}

/// The code for a scan along axes of items of type `from` into items of type `to`; `None` if that pair has none of its own.
pub(super) fn rows_scan(op: Op, from: Dtype, to: Dtype) -> Option<&'static dyn ScanRowsPair> {
    let key = (op, from, to);
    #[cfg(not(test))]
    scan_pairs!(find! key);
    None
}
