//! Reductions whose value the host waits for without the driver.

use cudarc::driver::CudaStream;
use upsweep_core::Work;

use super::{Bound, BoundArray};
use crate::backend::ScratchMemory;
use crate::plan::check_length;
use crate::{Element, Error, Operator, Recording, ReducePlan, Result, View, Widen, recording};

/// A reduction on one of CUDA's GPUs, bound to its array, whose value comes to the host by itself: the kernel writes it to memory of
/// the host's, which [`wait`](Awaited::wait) watches. So a small reduction costs a launch, and neither a copy nor the driver's
/// wait; as a part of a graph, not even that much.
///
/// Every run is waited for before the next is begun.
///
/// # Cost
/// From the call to the value, of up to 2^16 `u32` on an H200: 8 µs, where a warp that stores one word takes as long; as a graph 5 µs.
/// Waiting keeps a thread busy for up to half a millisecond, and then leaves it to the driver.
#[derive(Debug)]
pub struct Awaited<A> {
    awaited: upsweep_cuda::Awaited<A>,
    recording: Recording,
}

impl<A: Element> Awaited<A> {
    /// The run, to be [submitted](Recording::submit), [launched](Recording::launch) into a stream or
    /// [captured](Recording::capture).
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Waits for the value of the run that was begun in the device's own stream.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if all work in the stream is done and there is no value, as when no run was begun, or the device
    /// failed.
    pub fn wait(&mut self) -> Result<A> {
        let stream = self.awaited.recording().gpu().stream().clone();
        self.awaited.wait(&stream)
    }

    /// Waits for the value of the run that was begun in this stream.
    ///
    /// # Errors
    /// As [`wait`](Awaited::wait).
    pub fn wait_in(&mut self, stream: &CudaStream) -> Result<A> {
        self.awaited.wait(stream)
    }
}

/// With feature `cuda`.
impl<T, A, O> ReducePlan<T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    /// A run on an array in the memory of one of CUDA's GPUs, to be begun as often as wanted, whose value the host waits for.
    ///
    /// # Errors
    /// [`Error::NoCommands`] on any other device, [`Error::PlanTooSmall`], [`Error::WrongDevice`], [`Error::Buffer`] for an array
    /// that cudarc may free any time, and those of the device.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Array, Device, Reduce, ReducePlan, Sum};
    /// # fn main() -> Result<(), upsweep::Error> {
    /// # let Ok(device) = Device::open("cuda:0") else { return Ok(()) };
    /// let prices = Array::from_slice(&device, &[3u32, 5, 7])?;
    /// let mut plan = ReducePlan::<u32, u32, _>::new(&device, prices.len(), Reduce::new(Sum))?;
    /// let mut total = plan.bind_awaited(&prices)?;
    /// for _ in 0..1000 {
    ///     total.recording().submit()?;
    ///     assert_eq!(total.wait()?, 15);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn bind_awaited<'a>(&mut self, input: impl Into<View<'a, T>>) -> Result<Awaited<A>> {
        let input = input.into();
        check_length(input.len(), self.items)?;
        let refused = |device: &str| Err(Error::NoCommands { device: device.to_owned() });
        let (gpu, workspace) = match &mut self.prepared {
            ScratchMemory::Cuda(gpu, workspace) => (gpu, workspace),
            ScratchMemory::Cpu(..) => return refused("cpu"),
            #[cfg(feature = "wgpu")]
            ScratchMemory::Wgpu(gpu, _) => return refused(gpu.gpu().id()),
            #[cfg(not(feature = "wgpu"))]
            ScratchMemory::Wgpu(..) => return refused("wgpu"),
        };
        let BoundArray { slice, memory, length } = BoundArray::of(gpu, input)?;
        let work = Work::of::<T, A, O, A>();
        let awaited = gpu.reducing(workspace, work, slice.len(), |workspace, options| {
            let (gpu, options) = (gpu.gpu(), options.into());
            // SAFETY: an array of ours is kept, one of the caller's was promised to be there.
            unsafe { gpu.bind_awaited::<T, A, O>(workspace, slice, &self.problem, &options) }
        })?;
        let kept = awaited.recording().clone().keeping(memory.into_iter().chain(length));
        let recording = Recording { bound: recording::Bound::Cuda(Bound(kept)) };
        Ok(Awaited { awaited, recording })
    }
}
