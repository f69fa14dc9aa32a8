//! From an operator and two types to code: the table of `upsweep_core`, looked up by value.

#![cfg_attr(
    test,
    allow(
        unused,
        reason = "unit tests of this crate look no pair up, which would compile them all again"
    )
)]

use core::marker::PhantomData;

use upsweep_core::{reduction_pairs, scan_pairs, segmented_pairs};

use super::array::{AnyArray, AnyView, AnyViewMut, on_host};
use super::{Op, Scalar, Scan};
use crate::explain::{self, Report};
use crate::{
    Array, BitAnd, BitOr, BitXor, CpuShape, Device, Dtype, Max, Min, Number, Operator, Product,
    Recording, ReducePlan, ReduceStream, Result, ScanPlan, ScanStream, Segments, Sum, Widen, bf16,
    f16, reduce_by_key, reduce_into_with, reduce_with, reference, scan_in_place_with,
    scan_into_with, segmented_reduce_with, segmented_scan_into,
};

/// A reduction of items of one type in another, both of which the caller knows by value.
pub(super) trait ReducePair: Sync {
    fn reduce(&self, device: &Device, input: AnyView<'_>, init: Option<Scalar>) -> Result<Scalar>;

    fn reduce_into(
        &self,
        device: &Device,
        input: AnyView<'_>,
        result: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<()>;

    fn stream(&self, device: &Device, init: Option<Scalar>) -> Result<Box<dyn ReduceChunks>>;

    /// Binds a plan for at most so many items.
    fn bind(
        &self,
        device: &Device,
        items: usize,
        input: AnyView<'_>,
        result: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<Recording>;

    fn reference(&self, input: AnyView<'_>, init: Option<Scalar>) -> Result<Scalar>;

    fn explain(&self, device: &Device, input: AnyView<'_>, init: Option<Scalar>) -> Result<Report>;
}

/// A reduction that takes chunk by chunk.
pub(super) trait ReduceChunks: Send {
    fn push(&mut self, chunk: AnyView<'_>) -> Result<()>;
    fn finish(&self) -> Scalar;
}

/// A scan of items of one type into another.
pub(super) trait ScanPair: Sync {
    fn scan_into(
        &self,
        device: &Device,
        input: AnyView<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()>;

    fn stream(&self, device: &Device, problem: &Scan) -> Result<Box<dyn ScanChunks>>;

    /// Binds a plan for at most so many items.
    fn bind(
        &self,
        device: &Device,
        items: usize,
        input: AnyView<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<Recording>;

    fn reference(&self, input: AnyView<'_>, problem: &Scan) -> Result<AnyArray>;

    fn explain(&self, device: &Device, input: AnyView<'_>, problem: &Scan) -> Result<Report>;

    fn shape(&self, device: &Device, items: usize) -> Option<CpuShape>;
}

/// A scan of items of one type in place.
pub(super) trait InPlace: Sync {
    fn scan(&self, device: &Device, data: AnyViewMut<'_>, problem: &Scan) -> Result<()>;
}

/// A scan that takes chunk by chunk.
pub(super) trait ScanChunks: Send {
    fn next(&mut self, chunk: AnyView<'_>, output: AnyViewMut<'_>) -> Result<()>;
}

/// Reductions and scans within segments.
pub(super) trait SegmentedPair: Sync {
    fn reduce(
        &self,
        device: &Device,
        items: AnyView<'_>,
        segments: &Segments<'_>,
        init: Option<Scalar>,
    ) -> Result<AnyArray>;

    fn scan_into(
        &self,
        device: &Device,
        items: AnyView<'_>,
        segments: &Segments<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()>;

    fn by_key(
        &self,
        device: &Device,
        keys: AnyView<'_>,
        items: AnyView<'_>,
    ) -> Result<(AnyArray, AnyArray)>;
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
fn typed_reduce<A: Number, O>(operator: O, init: Option<Scalar>) -> crate::Reduce<A, O> {
    let mut problem = crate::Reduce::new(operator);
    problem.init = init.map(|init| init.bits());
    problem
}

/// A scan that is stated with types.
fn typed_scan<A: Number, O>(operator: O, problem: &Scan) -> crate::Scan<A, O> {
    let mut typed = crate::Scan::inclusive(operator);
    typed.bounds = problem.bounds;
    typed.direction = problem.direction;
    typed.init = problem.init.map(|init| init.bits());
    typed
}

impl<T, A, O> ReducePair for Typed<T, A, O>
where
    T: Number + Widen<A>,
    A: Number,
    O: Operator<A> + Default,
{
    fn reduce(&self, device: &Device, input: AnyView<'_>, init: Option<Scalar>) -> Result<Scalar> {
        reduce_with(device, input.typed::<T>()?, &typed_reduce(O::default(), init))
            .map(Scalar::new::<A>)
    }

    fn reduce_into(
        &self,
        device: &Device,
        input: AnyView<'_>,
        result: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<()> {
        let problem = typed_reduce(O::default(), init);
        reduce_into_with(device, input.typed::<T>()?, result.typed::<A>()?, &problem)
    }

    fn stream(&self, device: &Device, init: Option<Scalar>) -> Result<Box<dyn ReduceChunks>> {
        let stream = ReduceStream::<T, A, O>::new(device, typed_reduce(O::default(), init))?;
        Ok(Box::new(stream))
    }

    fn bind(
        &self,
        device: &Device,
        items: usize,
        input: AnyView<'_>,
        result: AnyViewMut<'_>,
        init: Option<Scalar>,
    ) -> Result<Recording> {
        let problem = typed_reduce(O::default(), init);
        let mut plan = ReducePlan::<T, A, O>::new(device, items, problem)?;
        plan.bind(input.typed::<T>()?, result.typed::<A>()?)
    }

    fn reference(&self, input: AnyView<'_>, init: Option<Scalar>) -> Result<Scalar> {
        let problem = typed_reduce::<A, O>(O::default(), init);
        let items = on_host(input.typed::<T>()?)?;
        Ok(Scalar::new(if O::EXACT {
            reference::reduce(items, &problem)
        } else {
            reference::specified::reduce(items, &problem)
        }))
    }

    fn explain(&self, device: &Device, input: AnyView<'_>, init: Option<Scalar>) -> Result<Report> {
        explain::reduce(device, input.typed::<T>()?, &typed_reduce::<A, O>(O::default(), init))
    }
}

impl<T, A, O> ReduceChunks for ReduceStream<T, A, O>
where
    T: Number + Widen<A>,
    A: Number,
    O: Operator<A>,
{
    fn push(&mut self, chunk: AnyView<'_>) -> Result<()> {
        ReduceStream::push(self, chunk.typed::<T>()?)
    }

    fn finish(&self) -> Scalar {
        Scalar::new(ReduceStream::finish(self))
    }
}

impl<T, U, O> ScanPair for Typed<T, U, O>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc> + Default,
{
    fn scan_into(
        &self,
        device: &Device,
        input: AnyView<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()> {
        let problem = typed_scan(O::default(), problem);
        scan_into_with(device, input.typed::<T>()?, output.typed::<U>()?, &problem)
    }

    fn stream(&self, device: &Device, problem: &Scan) -> Result<Box<dyn ScanChunks>> {
        let stream = ScanStream::<T, U, O>::new(device, typed_scan(O::default(), problem))?;
        Ok(Box::new(stream))
    }

    fn bind(
        &self,
        device: &Device,
        items: usize,
        input: AnyView<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<Recording> {
        let problem = typed_scan(O::default(), problem);
        let mut plan = ScanPlan::<T, U, O>::new(device, items, problem)?;
        plan.bind(input.typed::<T>()?, output.typed::<U>()?)
    }

    fn reference(&self, input: AnyView<'_>, problem: &Scan) -> Result<AnyArray> {
        let problem = typed_scan(O::default(), problem);
        let items = on_host(input.typed::<T>()?)?;
        let output: Vec<U> = if O::EXACT {
            reference::scan(items, &problem)
        } else {
            reference::specified::scan(items, &problem)
        };
        Ok(Array::from_host(output).into())
    }

    fn explain(&self, device: &Device, input: AnyView<'_>, problem: &Scan) -> Result<Report> {
        explain::scan::<T, U, O>(device, input.typed::<T>()?, &typed_scan(O::default(), problem))
    }

    fn shape(&self, device: &Device, items: usize) -> Option<CpuShape> {
        device.scan_shape::<T, U, O>(items)
    }
}

impl<T, O> InPlace for Typed<T, T, O>
where
    T: Number,
    T::Acc: Number,
    O: Operator<T::Acc> + Default,
{
    fn scan(&self, device: &Device, data: AnyViewMut<'_>, problem: &Scan) -> Result<()> {
        scan_in_place_with(device, data.typed::<T>()?, &typed_scan(O::default(), problem))
    }
}

impl<T, U, O> ScanChunks for ScanStream<T, U, O>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc>,
{
    fn next(&mut self, chunk: AnyView<'_>, output: AnyViewMut<'_>) -> Result<()> {
        ScanStream::next(self, chunk.typed::<T>()?, output.typed::<U>()?)
    }
}

impl<T, O> SegmentedPair for Typed<T, T, O>
where
    T: Number,
    T::Acc: Number,
    O: Operator<T::Acc> + Default,
{
    fn reduce(
        &self,
        device: &Device,
        items: AnyView<'_>,
        segments: &Segments<'_>,
        init: Option<Scalar>,
    ) -> Result<AnyArray> {
        let (items, problem) = (items.typed::<T>()?, typed_reduce(O::default(), init));
        segmented_reduce_with::<T, T, O>(device, items, segments, &problem).map(AnyArray::from)
    }

    fn scan_into(
        &self,
        device: &Device,
        items: AnyView<'_>,
        segments: &Segments<'_>,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()> {
        let (items, output) = (items.typed::<T>()?, output.typed::<T>()?);
        segmented_scan_into(device, items, segments, output, &typed_scan(O::default(), problem))
    }

    fn by_key(
        &self,
        device: &Device,
        keys: AnyView<'_>,
        items: AnyView<'_>,
    ) -> Result<(AnyArray, AnyArray)> {
        let (dtype, items) = (keys.dtype(), items.typed::<T>()?);
        // Keys are compared bit for bit, so that four types stand for all.
        macro_rules! keys {
            ($($unsigned:ident: $($dtype:ident)*;)*) => {
                match dtype {
                    $($(Dtype::$dtype)|* => {
                        let keys = keys.bits_as(<$unsigned as Number>::DTYPE);
                        let keys = keys.typed::<$unsigned>()?;
                        let (unique, values) = reduce_by_key(device, keys, items, O::default())?;
                        Ok((AnyArray::from(unique).bits_as(dtype), values.into()))
                    })*
                    other => unreachable!("{other} has no Rust type"),
                }
            };
        }
        keys! {
            u8: U8 I8;
            u16: U16 I16 F16 Bf16;
            u32: U32 I32 F32;
            u64: U64 I64 F64;
        }
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

/// The code for items of this type in segments.
pub(super) fn segmented(op: Op, dtype: Dtype) -> Option<&'static dyn SegmentedPair> {
    let key = (op, dtype);
    #[cfg(not(test))]
    segmented_pairs!(find_same! key);
    None
}

/// The types whose code gives the same bits as combining `from` in `to`: where the sign of an integer cannot be seen, the
/// unsigned ones.
pub(super) fn same_bits(op: Op, from: Dtype, to: Dtype) -> (Dtype, Dtype) {
    let unsigned = |dtype| match dtype {
        Dtype::I8 => Dtype::U8,
        Dtype::I16 => Dtype::U16,
        Dtype::I32 => Dtype::U32,
        Dtype::I64 => Dtype::U64,
        other => other,
    };
    let sign_shows = matches!(op, Op::Min | Op::Max);
    if sign_shows || (from != to && from.is_signed_integer()) {
        (from, to)
    } else {
        (unsigned(from), unsigned(to))
    }
}
