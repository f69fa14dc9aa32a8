//! Items on a device.

use crate::backend::{Kind, wrong_device};
use crate::memory::Memory;
use crate::view::{Items, ItemsMut};
use crate::{Device, Element, Error, Result, View, ViewMut, cuda, gpu};

/// Items in the memory of a device.
///
/// On the CPU an array is a slice of the host's memory. On a GPU it is in that GPU's memory: calls that read and
/// write such arrays neither copy them nor wait; [`to_vec`](Array::to_vec) does both.
///
/// ```
/// use upsweep::{Array, Device, Sum, inclusive_scan_into};
/// let device = Device::cpu();
/// let steps = Array::from_slice(&device, &[1u32, 2, 3])?;
/// let mut ends = Array::filled(&device, steps.len(), 0u32)?;
/// inclusive_scan_into(&device, &steps, &mut ends, Sum)?;
/// assert_eq!(ends.to_vec()?, [1, 3, 6]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct Array<T> {
    place: Place<T>,
}

#[derive(Debug)]
enum Place<T> {
    Host(Vec<T>),
    Device(Memory),
}

impl<T: Element> Array<T> {
    /// An array of `len` items, each `value`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device cannot hold that many;
    /// [`Error::ElementUnsupported`] on a GPU that has no such items.
    pub fn filled(device: &Device, len: usize, value: T) -> Result<Self> {
        let place = match device.kind() {
            Kind::Cpu(_) => {
                let mut items = reserve(len)?;
                items.resize(len, value);
                Place::Host(items)
            }
            Kind::Wgpu(gpu) => Place::Device(Memory::Wgpu(gpu::Memory::filled(gpu, len, value)?)),
            Kind::Cuda(gpu) => Place::Device(Memory::Cuda(cuda::Memory::filled(gpu, len, value)?)),
        };
        Ok(Self { place })
    }

    /// A copy of `items` on the device.
    ///
    /// # Errors
    /// As [`filled`](Array::filled).
    pub fn from_slice(device: &Device, items: &[T]) -> Result<Self> {
        let place = match device.kind() {
            Kind::Cpu(_) => {
                let mut copy = reserve(items.len())?;
                copy.extend_from_slice(items);
                Place::Host(copy)
            }
            Kind::Wgpu(gpu) => Place::Device(Memory::Wgpu(gpu::Memory::holding(gpu, items)?)),
            Kind::Cuda(gpu) => Place::Device(Memory::Cuda(cuda::Memory::holding(gpu, items)?)),
        };
        Ok(Self { place })
    }

    /// An array of the host's.
    pub(crate) fn from_host(items: Vec<T>) -> Self {
        Self { place: Place::Host(items) }
    }

    /// An array with room for as many items, holding anything; a copy of those of the host.
    pub(crate) fn room_for(device: &Device, items: View<'_, T>) -> Result<Self> {
        match items.items {
            Items::Host(items) => Self::from_slice(device, items),
            Items::Device(range) if device.kind().is_cpu() => {
                Err(wrong_device(range.device(), device.id()))
            }
            Items::Device(range) => Self::with_room(device, range.len()),
        }
    }

    /// An array on a GPU with room for so many items, holding anything.
    pub(crate) fn with_room(device: &Device, len: usize) -> Result<Self> {
        let memory = match device.kind() {
            Kind::Cpu(_) => return Err(wrong_device("cpu", device.id())),
            Kind::Wgpu(gpu) => Memory::Wgpu(gpu::Memory::room_for::<T>(gpu, len)?),
            Kind::Cuda(gpu) => Memory::Cuda(cuda::Memory::room_for::<T>(gpu, len)?),
        };
        Ok(Self { place: Place::Device(memory) })
    }

    /// The first items alone; on a GPU in the same memory.
    pub(crate) fn truncated(self, len: usize) -> Self {
        let place = match self.place {
            Place::Host(mut items) => {
                items.truncate(len);
                Place::Host(items)
            }
            Place::Device(memory) => Place::Device(memory.truncated(len)),
        };
        Self { place }
    }

    /// Replaces all items by those of the host.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are as many.
    pub fn copy_from_slice(&mut self, items: &[T]) -> Result<()> {
        match &mut self.place {
            Place::Host(own) if own.len() == items.len() => {
                own.copy_from_slice(items);
                Ok(())
            }
            Place::Host(own) => {
                Err(Error::LengthMismatch { input: items.len(), output: own.len() })
            }
            Place::Device(memory) => memory.replace(items),
        }
    }

    /// A copy in the host's memory. Waits for what writes the array, and says if that failed.
    ///
    /// # Errors
    /// Those of the device; none on the CPU.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        match &self.place {
            Place::Host(items) => Ok(items.clone()),
            Place::Device(memory) => memory.to_vec(),
        }
    }

    /// The items in the host's memory: on the CPU as they are, else a copy as by
    /// [`to_vec`](Array::to_vec).
    ///
    /// # Errors
    /// Those of the device; none on the CPU.
    pub fn into_vec(self) -> Result<Vec<T>> {
        match self.place {
            Place::Host(items) => Ok(items),
            Place::Device(memory) => memory.to_vec(),
        }
    }
}

/// Room in the host's memory for so many items.
pub(crate) fn reserve<T>(len: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    items
        .try_reserve_exact(len)
        .map_err(|_| Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
    Ok(items)
}

#[cfg(feature = "any")]
impl<T: crate::Number> Array<T> {
    /// The same bits as items of another type of the same size.
    pub(crate) fn bits_as<U: crate::Number>(self) -> Array<U> {
        let place = match self.place {
            Place::Host(items) => Place::Host(bytemuck::cast_vec(items)),
            Place::Device(memory) => Place::Device(memory.bits_as(U::DTYPE)),
        };
        Array { place }
    }
}

impl<T> Array<T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items, if they are in the host's memory.
    pub fn as_slice(&self) -> Option<&[T]> {
        match &self.place {
            Place::Host(items) => Some(items),
            Place::Device(_) => None,
        }
    }

    /// The items, if they are in the host's memory.
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        match &mut self.place {
            Place::Host(items) => Some(items),
            Place::Device(_) => None,
        }
    }

    /// All items, to read.
    pub fn view(&self) -> View<'_, T> {
        View::of(match &self.place {
            Place::Host(items) => Items::Host(items),
            Place::Device(memory) => Items::Device(memory.range()),
        })
    }

    /// All items, to write.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut {
            items: match &mut self.place {
                Place::Host(items) => ItemsMut::Host(items),
                Place::Device(memory) => ItemsMut::Device(memory.range()),
            },
        }
    }

    /// The memory, if it is a device's.
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    pub(crate) fn memory(&self) -> Option<&Memory> {
        match &self.place {
            Place::Host(_) => None,
            Place::Device(memory) => Some(memory),
        }
    }
}

impl<'a, T> From<&'a Array<T>> for View<'a, T> {
    fn from(array: &'a Array<T>) -> Self {
        array.view()
    }
}

impl<'a, T> From<&'a mut Array<T>> for ViewMut<'a, T> {
    fn from(array: &'a mut Array<T>) -> Self {
        array.view_mut()
    }
}
