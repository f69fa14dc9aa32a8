//! From the facade's words to a backend: which one a device has, and how it sees a view.

use std::sync::Arc;

use upsweep_core::{Backend, Extreme};
use upsweep_cpu::Cpu;

use crate::cuda::Cuda;
use crate::erased::Erased;
use crate::gpu::Wgpu;
use crate::view::{Items, ItemsMut};
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

    /// The CPU, or the GPU by calls whose types are values.
    pub(crate) fn erased(&self) -> Erased<'_> {
        match self {
            Self::Cpu(cpu) => Erased::Cpu(cpu),
            Self::Wgpu(gpu) => Erased::Gpu(gpu),
            Self::Cuda(gpu) => Erased::Gpu(gpu),
        }
    }
}

/// Scratch memory of a plan or a stream, with the backend that it belongs to.
#[derive(Debug)]
pub(crate) enum ScratchMemory {
    Cpu(Arc<Cpu>, <Cpu as Backend>::Workspace),
    Wgpu(Wgpu, Box<<Wgpu as Backend>::Workspace>),
    Cuda(Cuda, Box<<Cuda as Backend>::Workspace>),
}

impl ScratchMemory {
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
            $crate::backend::ScratchMemory::Cpu($backend, $workspace) => $body,
            $crate::backend::ScratchMemory::Wgpu($backend, $workspace) => $body,
            $crate::backend::ScratchMemory::Cuda($backend, $workspace) => $body,
        }
    };
}
pub(crate) use on_prepared;

/// A backend that can look at the facade's views.
pub(crate) trait ViewBackend: Backend {
    /// The items to read, if they are where this backend can reach them.
    fn input<'a, T: Element>(&self, view: View<'a, T>) -> Result<Self::Input<'a, T>>;

    /// The items to write, if they are where this backend can reach them.
    fn output<'a, T: Element>(&self, view: ViewMut<'a, T>) -> Result<Self::Output<'a, T>>;
}

impl ViewBackend for Cpu {
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
pub(crate) trait Record: ViewBackend {
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
