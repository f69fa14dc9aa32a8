//! Calls with Rust's types, for those who call a GPU and not [`OnGpu`](crate::OnGpu).

use std::sync::Arc;

use upsweep_core::{Element, Extreme, Number, Operator, Reduce, Result, Scan, Widen};

use crate::arrays::{Ingredients, Packed, Segments, Source, Target};
use crate::erased::{ErasedReduce, ErasedScan, value_of};
use crate::options::{ReduceOptions, ScanOptions};
use crate::primitives::Primitives;
use crate::segmented::{self, Marks};
use crate::{reduce, scan};

/// Where the values of segments go, and what else is asked for where they go one behind another.
pub type Results<'a, U, K, S> = (Target<'a, U, S>, Option<Packed<'a, K, S>>);

/// The calls of a GPU with Rust's types. Their errors are those of the functions in [`reduce`](crate::reduce), [`scan`](crate::scan) and
/// [`segmented`](crate::segmented) which they call.
pub trait Calls: Primitives {
    /// As [`reduce::reduce`](crate::reduce::reduce).
    fn reduce<T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Source<'_, T, Self::Slice<'_>>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, Self::LANGUAGE);
        let found = reduce::reduce(self, workspace, input.erased(), &problem, options)?;
        value_of(&found, self.id())
    }

    /// As [`reduce::position`](crate::reduce::position).
    fn position<T: Number>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Source<'_, T, Self::Slice<'_>>,
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Option<u64>> {
        reduce::position(self, workspace, input.erased(), (T::DTYPE, extreme), options)
    }

    /// As [`reduce::reduce_made`](crate::reduce::reduce_made).
    fn reduce_made<A, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        made: &Ingredients<'_, Self::Slice<'_>>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<A>
    where
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<A, A, O>(problem, Self::LANGUAGE);
        value_of(&reduce::reduce_made(self, workspace, made, &problem, options)?, self.id())
    }

    /// As [`reduce::bind`](crate::reduce::bind).
    fn bind_reduce<'a, T, A, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        slices: [Self::Slice<'a>; 2],
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<Self::Bound<'a>>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<T, A, O>(problem, Self::LANGUAGE);
        reduce::bind(self, workspace, slices, &problem, options)
    }

    /// As [`reduce::bind_position`](crate::reduce::bind_position).
    fn bind_position<'a, T: Number>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        slices: [Self::Slice<'a>; 2],
        extreme: Extreme,
        options: &ReduceOptions,
    ) -> Result<Self::Bound<'a>> {
        reduce::bind_position(self, workspace, slices, (T::DTYPE, extreme), options)
    }

    /// As [`reduce::bind_made`](crate::reduce::bind_made).
    fn bind_reduce_made<'a, A, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        made: &Ingredients<'_, Self::Slice<'a>>,
        result: Self::Slice<'a>,
        problem: &Reduce<A, O>,
        options: &ReduceOptions,
    ) -> Result<Self::Bound<'a>>
    where
        A: Element,
        O: Operator<A>,
    {
        let problem = ErasedReduce::of::<A, A, O>(problem, Self::LANGUAGE);
        reduce::bind_made(self, workspace, made, result, &problem, options)
    }

    /// As [`scan::scan`](crate::scan::scan).
    fn scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Source<'_, T, Self::Slice<'_>>,
        mut output: Target<'_, U, Self::Slice<'_>>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Self::LANGUAGE);
        let (input, output) = (Some(input.erased()), output.erased());
        scan::scan(self, workspace, input, output, &problem, options)
    }

    /// The same in place.
    fn scan_in_place<T, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        mut data: Target<'_, T, Self::Slice<'_>>,
        problem: &Scan<T::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        let problem = ErasedScan::of::<T, T::Acc, T, O>(problem, Self::LANGUAGE);
        scan::scan(self, workspace, None, data.erased(), &problem, options)
    }

    /// As [`scan::scan_made`](crate::scan::scan_made).
    fn scan_made<A, U, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        made: &Ingredients<'_, Self::Slice<'_>>,
        mut output: Target<'_, U, Self::Slice<'_>>,
        problem: &Scan<A, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        let problem = ErasedScan::of::<A, A, U, O>(problem, Self::LANGUAGE);
        scan::scan_made(self, workspace, made, output.erased(), &problem, options)
    }

    /// As [`scan::bind`](crate::scan::bind).
    fn bind_scan<'a, T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        slices: [Self::Slice<'a>; 2],
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<Self::Bound<'a>>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Self::LANGUAGE);
        scan::bind(self, workspace, slices, &problem, options)
    }

    /// As [`segmented::scan`](crate::segmented::scan).
    fn segmented_scan<T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Source<'_, T, Self::Slice<'_>>,
        segments: &Segments<'_, Self::Slice<'_>>,
        mut output: Target<'_, U, Self::Slice<'_>>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Self::LANGUAGE);
        let (input, output) = (input.erased(), output.erased());
        segmented::scan(self, workspace, input, segments, output, &problem, options)
    }

    /// As [`segmented::bind_scan`](crate::segmented::bind_scan).
    fn bind_segmented_scan<'a, T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        slices: [Self::Slice<'a>; 2],
        marks: Marks<Self::Slice<'a>>,
        problem: &Scan<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<Self::Bound<'a>>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, Self::LANGUAGE);
        segmented::bind_scan(self, workspace, slices, marks, &problem, options)
    }

    /// As [`segmented::reduce`](crate::segmented::reduce).
    fn segmented_reduce<'s, T, U, O, K>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        input: Source<'_, T, Self::Slice<'_>>,
        segments: &Segments<'_, Self::Slice<'_>>,
        (mut output, mut packed): Results<'_, U, K, Self::Slice<'s>>,
        problem: &Reduce<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
        K: Element,
    {
        let problem = ErasedReduce::in_segments::<T, U, O>(problem, Self::LANGUAGE);
        let to = (output.erased(), packed.as_mut().map(Packed::erased));
        segmented::reduce(self, workspace, input.erased(), segments, to, &problem, options)
    }

    /// As [`segmented::bind_reduce`](crate::segmented::bind_reduce).
    fn bind_segmented_reduce<'a, T, U, O>(
        self: &Arc<Self>,
        workspace: &mut Self::Workspace,
        slices: [Self::Slice<'a>; 2],
        marks: Marks<Self::Slice<'a>>,
        asked: [Option<Self::Slice<'a>>; 2],
        problem: &Reduce<U::Acc, O>,
        options: &ScanOptions,
    ) -> Result<Self::Bound<'a>>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        let problem = ErasedReduce::in_segments::<T, U, O>(problem, Self::LANGUAGE);
        segmented::bind_reduce(self, workspace, slices, marks, asked, &problem, options)
    }
}

impl<G: Primitives> Calls for G {}
