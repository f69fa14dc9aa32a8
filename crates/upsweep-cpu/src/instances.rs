//! The kernels of built-in operators on number types, compiled here once.
//!
//! The generic functions that a caller's code meets first are marked `#[inline(never)]`. rustc links such a function instead of
//! compiling it again if a crate below has an instance with the same types. So the calls of [`instances`] are instances for all
//! users, optimised as this crate is.

use core::hint::black_box;

use upsweep_core::{
    Backend, BitAnd, BitOr, BitXor, Element, Extreme, Max, Min, Operator, Product, Reduce,
    ReduceState, Result, Scan, ScanState, Sum, Widen, bf16, f16, reduction_pairs, scan_pairs,
};

#[cfg(feature = "segmented-instances")]
use upsweep_core::{Rows, Segments};

use crate::{Cpu, Workspace};

/// Names every instance, so that it is compiled. Nobody calls it.
pub fn instances() {
    macro_rules! pairs {
        ($name:ident $($operator:ident: $($item:ident $output:ident),*;)*) => { $($(
            $name::<$item, $output, $operator>();
        )*)* };
    }
    macro_rules! positions {
        ($($item:ident)*) => { $(
            black_box(<Cpu as Backend>::position::<$item> as Position<$item>);
            #[cfg(feature = "segmented-instances")]
            black_box(Cpu::segmented_position::<$item> as SegmentedPosition<$item>);
            #[cfg(feature = "segmented-instances")]
            black_box(
                Cpu::position_rows::<$item>
                    as fn(&Cpu, &[$item], &Rows, &mut [u64], Extreme) -> Result<()>,
            );
            #[cfg(feature = "segmented-instances")]
            black_box(
                Cpu::copy_rows::<$item> as fn(&Cpu, &[$item], &Rows, &mut [$item]) -> Result<()>,
            );
        )* };
    }
    reduction_pairs!(pairs! reduction);
    scan_pairs!(pairs! scan);
    #[cfg(feature = "segmented-instances")]
    {
        upsweep_core::segmented_pairs!(pairs! in_segments);
        upsweep_core::reduction_pairs!(pairs! of_rows);
        upsweep_core::rounded_pairs!(pairs! of_rows);
        upsweep_core::scan_pairs!(pairs! scan_of_rows);
    }
    positions!(u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64);
}

type Position<T> = fn(&Cpu, &mut Workspace, &[T], Extreme) -> Result<Option<u64>>;
#[cfg(feature = "segmented-instances")]
type SegmentedPosition<T> = fn(&Cpu, &[T], Segments<'_>, &mut [u64], Extreme) -> Result<usize>;
type Reduction<T, A, O> = fn(&Cpu, &mut Workspace, &[T], &Reduce<A, O>) -> Result<A>;
type NextOfReduction<T, A, O> =
    fn(&Cpu, &mut Workspace, &mut ReduceState<A, O>, &[T]) -> Result<()>;

fn reduction<T: Widen<A>, A: Element, O: Operator<A>>() {
    black_box(<Cpu as Backend>::reduce::<T, A, O> as Reduction<T, A, O>);
    black_box(<Cpu as Backend>::reduce_next::<T, A, O> as NextOfReduction<T, A, O>);
}

fn scan<T, U, O>()
where
    T: Widen<U::Acc>,
    U: Element + Widen<<U as Element>::Acc>,
    O: Operator<U::Acc>,
{
    black_box(
        <Cpu as Backend>::scan::<T, U, O>
            as fn(&Cpu, &mut Workspace, &[T], &mut [U], &Scan<U::Acc, O>) -> Result<()>,
    );
    black_box(
        <Cpu as Backend>::scan_next::<T, U, O>
            as fn(&Cpu, &mut Workspace, &mut ScanState<U::Acc, O>, &[T], &mut [U]) -> Result<()>,
    );
    black_box(
        <Cpu as Backend>::scan_in_place::<U, O>
            as fn(&Cpu, &mut Workspace, &mut [U], &Scan<U::Acc, O>) -> Result<()>,
    );
}

#[cfg(feature = "segmented-instances")]
fn in_segments<T, U, O>()
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    black_box(
        Cpu::segmented_reduce::<T, U, O>
            as fn(
                &Cpu,
                &[T],
                Segments<'_>,
                Option<&mut [u8]>,
                &mut [U],
                &Reduce<U::Acc, O>,
            ) -> Result<usize>,
    );
    black_box(
        Cpu::segmented_scan::<T, U, O>
            as fn(&Cpu, &[T], Segments<'_>, &mut [U], &Scan<U::Acc, O>) -> Result<()>,
    );
}

#[cfg(feature = "segmented-instances")]
fn of_rows<T, U, O>()
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    black_box(
        Cpu::reduce_rows::<T, U, O>
            as fn(&Cpu, &[T], &Rows, &mut [U], &Reduce<U::Acc, O>) -> Result<()>,
    );
}

#[cfg(feature = "segmented-instances")]
fn scan_of_rows<T, U, O>()
where
    T: Widen<U::Acc>,
    U: Element + Widen<<U as Element>::Acc>,
    O: Operator<U::Acc>,
{
    black_box(
        Cpu::scan_rows::<T, U, O>
            as fn(&Cpu, &[T], &Rows, &mut [U], &Scan<U::Acc, O>) -> Result<()>,
    );
}
