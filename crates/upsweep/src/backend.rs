//! From the facade's words to a backend: which one a device has, and how it sees a view.

use std::sync::Arc;

use upsweep_core::{Backend, Extreme};
use upsweep_cpu::Cpu;

use crate::cuda::Cuda;
use crate::gpu::Wgpu;
use crate::view::{ErasedViewMut, Items, ItemsMut};
use crate::{
    Element, Error, Number, Operator, Recording, Reduce, Result, Scan, View, ViewMut, Widen,
};

/// The backend of a device.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Cpu(Arc<Cpu>),
    Wgpu(Wgpu),
    Cuda(Cuda),
}

impl Kind {
    /// Whether this is a CPU, whose memory is the host's.
    pub(crate) fn is_cpu(&self) -> bool {
        matches!(self, Self::Cpu(_))
    }
}

/// Scratch memory of a plan or a stream, with the backend that it belongs to.
#[derive(Debug)]
pub(crate) enum Prepared {
    Cpu(Arc<Cpu>, <Cpu as Backend>::Workspace),
    Wgpu(Wgpu, Box<<Wgpu as Backend>::Workspace>),
    Cuda(Cuda, Box<<Cuda as Backend>::Workspace>),
}

impl Prepared {
    /// Scratch memory for calls with at most `items` items of `item_bytes` bytes.
    pub(crate) fn new(kind: &Kind, items: usize, item_bytes: usize) -> Result<Self> {
        Ok(match kind {
            Kind::Cpu(cpu) => Self::Cpu(Arc::clone(cpu), cpu.workspace(items, item_bytes)?),
            Kind::Wgpu(gpu) => Self::Wgpu(gpu.clone(), Box::new(gpu.workspace(items, item_bytes)?)),
            Kind::Cuda(gpu) => Self::Cuda(gpu.clone(), Box::new(gpu.workspace(items, item_bytes)?)),
        })
    }
}

/// `$body` with the backend of a device.
macro_rules! on_backend {
    ($device:expr, $backend:ident => $body:expr) => {
        match $device.kind() {
            $crate::backend::Kind::Cpu($backend) => $body,
            $crate::backend::Kind::Wgpu($backend) => $body,
            $crate::backend::Kind::Cuda($backend) => $body,
        }
    };
}
pub(crate) use on_backend;

/// `$body` with a backend and its scratch memory.
macro_rules! on_prepared {
    ($prepared:expr, $backend:ident, $workspace:ident => $body:expr) => {
        match $prepared {
            $crate::backend::Prepared::Cpu($backend, $workspace) => $body,
            $crate::backend::Prepared::Wgpu($backend, $workspace) => $body,
            $crate::backend::Prepared::Cuda($backend, $workspace) => $body,
        }
    };
}
pub(crate) use on_prepared;

/// Where the values of segments go, one behind another: the keys, if they are asked for, and the number of segments.
pub(crate) type Packed<'a, 'b> = (Option<ErasedViewMut<'a>>, ViewMut<'b, u64>);

/// The calls of segments on a backend of GPUs with kernels in `$language`, in whose module of the facade this stands.
#[cfg(any(feature = "wgpu", feature = "cuda"))]
macro_rules! segmented_calls {
    ($gpu:ident, $backend:ident, $language:expr) => {
        /// An array that says where segments begin.
        fn segments_on<'a>(
            gpu: &$gpu,
            segments: &'a crate::Segments<'_>,
        ) -> Result<$backend::Segments<'a>> {
            let (by, count, source) = segments.parts();
            let stored = stored(gpu, source)?;
            Ok($backend::Segments { by, kind: source.kind, count, stored })
        }

        /// A scan within segments.
        pub(crate) fn segmented_scan<T, U, O>(
            gpu: &$gpu,
            items: View<'_, T>,
            segments: &crate::Segments<'_>,
            output: ViewMut<'_, U>,
            problem: &Scan<U::Acc, O>,
        ) -> Result<()>
        where
            T: Widen<U::Acc>,
            U: Element,
            O: Operator<U::Acc>,
        {
            let (input, mut output) = (gpu.input(items)?, gpu.output(output)?);
            let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, $language);
            erased_segmented_scan(gpu, input.erased(), segments, output.erased(), &problem)
        }

        fn erased_segmented_scan(
            gpu: &$gpu,
            input: $backend::ErasedSource<'_>,
            segments: &crate::Segments<'_>,
            output: $backend::ErasedTarget<'_, '_>,
            problem: &ErasedScan,
        ) -> Result<()> {
            let (segments, mut workspace) = (segments_on(gpu, segments)?, Workspace::default());
            let (gpu, options) = (gpu.gpu(), gpu.options().into());
            gpu.segmented_scan_erased(&mut workspace, input, segments, output, problem, &options)
        }

        /// A reduction of segments; by flags or keys, to values one behind another.
        pub(crate) fn segmented_reduce<T, U, O>(
            gpu: &$gpu,
            items: View<'_, T>,
            segments: &crate::Segments<'_>,
            output: ViewMut<'_, U>,
            packed: Option<Packed<'_, '_>>,
            problem: &Reduce<U::Acc, O>,
        ) -> Result<()>
        where
            T: Widen<U::Acc>,
            U: Element,
            O: Operator<U::Acc>,
        {
            let (input, mut output) = (gpu.input(items)?, gpu.output(output)?);
            let problem = ErasedReduce::in_segments::<T, U, O>(problem, $language);
            let (input, output) = (input.erased(), output.erased());
            erased_segmented_reduce(gpu, input, segments, output, packed, &problem)
        }

        fn erased_segmented_reduce(
            gpu: &$gpu,
            input: $backend::ErasedSource<'_>,
            segments: &crate::Segments<'_>,
            output: $backend::ErasedTarget<'_, '_>,
            packed: Option<Packed<'_, '_>>,
            problem: &ErasedReduce,
        ) -> Result<()> {
            let (segments, mut workspace) = (segments_on(gpu, segments)?, Workspace::default());
            let options = gpu.options().into();
            let (unique, count) =
                packed.map_or((None, None), |(unique, count)| (unique, Some(count)));
            let mut unique = match unique {
                Some(unique) => Some((erased_output(gpu, unique.items)?, unique.of)),
                None => None,
            };
            let unique = unique.as_mut().map(|(unique, of)| (unique.reborrow(), *of));
            let mut count = count.map(|count| gpu.output(count)).transpose()?;
            let packed = match &mut count {
                Some(count) => Some($backend::ErasedPacked { unique, count: count.erased() }),
                None => None,
            };
            gpu.gpu().segmented_reduce_erased(
                &mut workspace,
                input,
                segments,
                output,
                packed,
                problem,
                &options,
            )
        }
    };
}
#[cfg(any(feature = "wgpu", feature = "cuda"))]
pub(crate) use segmented_calls;

/// A backend that can look at the facade's views.
pub(crate) trait Reach: Backend {
    /// The items to read, if they are where this backend can reach them.
    fn input<'a, T: Element>(&self, view: View<'a, T>) -> Result<Self::Input<'a, T>>;

    /// The items to write, if they are where this backend can reach them.
    fn output<'a, T: Element>(&self, view: ViewMut<'a, T>) -> Result<Self::Output<'a, T>>;
}

impl Reach for Cpu {
    #[inline]
    fn input<'a, T: Element>(&self, view: View<'a, T>) -> Result<&'a [T]> {
        match view.items {
            Items::Host(items) => Ok(items),
            Items::Device(range) => Err(wrong_device(range.device(), "cpu")),
        }
    }

    #[inline]
    fn output<'a, T: Element>(&self, view: ViewMut<'a, T>) -> Result<&'a mut [T]> {
        match view.items {
            ItemsMut::Host(items) => Ok(items),
            ItemsMut::Device(range) => Err(wrong_device(range.device(), "cpu")),
        }
    }
}

/// A backend whose calls may be bound to arrays of its device, to be run as often as wanted. Those of a CPU may not.
pub(crate) trait Record: Reach {
    /// A reduction into the one item of `result`.
    fn bind_reduce<T, A, O>(
        &self,
        _: &mut Self::Workspace,
        _input: View<'_, T>,
        _result: ViewMut<'_, A>,
        _: &Reduce<A, O>,
    ) -> Result<Recording>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        Err(no_commands())
    }

    /// A search into the one item of `result`.
    fn bind_position<T: Number>(
        &self,
        _: &mut Self::Workspace,
        _input: View<'_, T>,
        _result: ViewMut<'_, u64>,
        _: Extreme,
    ) -> Result<Recording> {
        Err(no_commands())
    }

    /// A scan.
    fn bind_scan<T, U, O>(
        &self,
        _: &mut Self::Workspace,
        _input: View<'_, T>,
        _output: ViewMut<'_, U>,
        _: &Scan<U::Acc, O>,
    ) -> Result<Recording>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        Err(no_commands())
    }

    /// All of an array read, and nothing done with it.
    fn bind_probe_read<T: Element>(&self, _input: View<'_, T>) -> Result<Recording> {
        Err(no_commands())
    }

    /// All bytes of an array copied to another.
    fn bind_probe_copy<T: Element, U: Element>(
        &self,
        _input: View<'_, T>,
        _output: ViewMut<'_, U>,
    ) -> Result<Recording> {
        Err(no_commands())
    }
}

impl Record for Cpu {}

fn no_commands() -> Error {
    Error::NoCommands { device: "cpu".to_owned() }
}

/// The error for an array on one device and a call for another.
#[cold]
pub(crate) fn wrong_device(array: &str, device: &str) -> Error {
    Error::WrongDevice { array: array.to_owned(), device: device.to_owned() }
}
