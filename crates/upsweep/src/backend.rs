//! From the facade's words to a backend: which one a device has, and how it sees a view.

use std::sync::Arc;

use upsweep_core::Backend;
use upsweep_cpu::Cpu;

use crate::gpu::Wgpu;
use crate::view::{Items, ItemsMut};
use crate::{Element, Error, Result, View, ViewMut};

/// The backend of a device.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Cpu(Arc<Cpu>),
    Wgpu(Wgpu),
}

/// Scratch memory of a plan or a stream, with the backend that it belongs to.
#[derive(Debug)]
pub(crate) enum Prepared {
    Cpu(Arc<Cpu>, <Cpu as Backend>::Workspace),
    Wgpu(Wgpu, Box<<Wgpu as Backend>::Workspace>),
}

impl Prepared {
    /// Scratch memory for calls with at most `items` items of `item_bytes` bytes.
    pub(crate) fn new(kind: &Kind, items: usize, item_bytes: usize) -> Result<Self> {
        Ok(match kind {
            Kind::Cpu(cpu) => Self::Cpu(Arc::clone(cpu), cpu.workspace(items, item_bytes)?),
            Kind::Wgpu(gpu) => Self::Wgpu(gpu.clone(), Box::new(gpu.workspace(items, item_bytes)?)),
        })
    }
}

/// `$body` with the backend of a device.
macro_rules! on_backend {
    ($device:expr, $backend:ident => $body:expr) => {
        match $device.kind() {
            $crate::backend::Kind::Cpu($backend) => $body,
            $crate::backend::Kind::Wgpu($backend) => $body,
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
        }
    };
}
pub(crate) use on_prepared;

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

/// The error for an array on one device and a call for another.
#[cold]
pub(crate) fn wrong_device(array: &str, device: &str) -> Error {
    Error::WrongDevice { array: array.to_owned(), device: device.to_owned() }
}
