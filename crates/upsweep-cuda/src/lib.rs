//! NVIDIA GPUs, by CUDA's driver and its run-time compiler.
//!
//! - [`Gpu`] is a device, with a stream of its own or in a stream of the caller's; [`Cuda`], a GPU and how it is to be used,
//!   implements [`Backend`](upsweep_core::Backend).
//! - [`Slice`] is a range of the device's memory, the caller's or ours; [`Memory`] is memory of ours.
//! - [`Calls`] are the primitives, with the scratch memory of a [`Workspace`]. What is [bound](Bound) to arrays is launched into a
//!   stream of the caller's, or becomes a [`Recording`].
//! - [`Ladder`]: the seven classic steps of a sum, to learn from.
//! - `shader` puts kernels together: a generated header in front of plain CUDA C++.
//! - `compile` and `nvrtc` make them what the device runs; `launch` launches them.
//!
//! # What must be here
//! Nothing to build. To run, NVIDIA's driver, and NVRTC, the compiler of kernels: from the CUDA toolkit, or alone by
//! `pip install nvidia-cuda-nvrtc`. It is looked for where the dynamic loader looks, in the toolkit that `CUDA_PATH` or
//! `CUDA_HOME` names and among Python's packages; `UPSWEEP_NVRTC` names its file or folder, and then nothing else is
//! looked at. Without a driver there is no device, and [`Gpu::devices`] says why; without NVRTC a device can be opened, and
//! the first kernel that is not kept from before is an error that says what to install.
//!
//! # What is computed
//! Kernels are compiled without joining multiplications and additions, without reordering, with subnormals. Integers
//! wrap. So results have the same bits as those of every other device.
//!
//! # What is there
//! Reductions and scans, in one launch each where nothing else is asked for. Scans of arrays that all workgroups hold at once
//! exchange totals only; so do longer ones from compute capability 9.0 on, whose copy engine fills shared memory while workgroups
//! wait for one another; on older devices they look back. All other strategies run where they are asked for; what would break the
//! order of summation, or an access that holds no item, is refused by name.
//!
//! # What cannot hang
//! Workgroups that wait for others look a bounded number of times; if that was too few, they say so in a word of the host's, and
//! whatever waits for the device next reports it. The launches in which they do are either cooperative, so that all run at
//! once; or have one that waits, and all others run beside it; or each waits only for those that began before it, which go on.
//!
//! # Order
//! What a device does for us runs in its stream: its own, or the caller's ([`Gpu::from_context`],
//! [`Gpu::from_stream`]), in the order of the calls. Memory of ours is freed in that stream too; if kernels were launched
//! into others, everything in the context is waited for first.
//!
//! # When something fails
//! Errors of the driver come back as [`Error::DeviceFailed`](upsweep_core::Error::DeviceFailed) with the driver's name for
//! them. Some make the context useless: a kernel that writes where nothing is, memory that is faulty. From then on every
//! call says so at once, with the first reason.
//!
//! # Files
//! Cubins are kept in the folder `$UPSWEEP_CACHE_DIR`, or else `upsweep` in the platform's folder for such files
//! (`$XDG_CACHE_HOME` or `~/.cache`, `~/Library/Caches`, `%LOCALAPPDATA%`); if the variable is empty, nowhere. A file's name
//! holds the architecture and a hash of the text, the options, the compiler and our version. Files that are damaged are
//! compiled anew, and a folder that cannot be written is not missed. What lies there runs on the device: the folder
//! should be the user's own.

mod backend;
mod compile;
mod device;
mod driver;
#[cfg(test)]
mod functions;
#[cfg(test)]
mod kernels;
mod ladder;
mod launch;
mod mailbox;
mod mapped;
mod memory;
mod nvrtc;
#[cfg(test)]
mod on_device;
mod probe;
mod record;
mod reduce;
mod rows;
mod scan;
mod segmented;
mod select;
mod shader;
mod slice;
#[cfg(test)]
mod testing;
mod time;

pub use backend::{Cuda, Ingredients, Inputs, Packed, Segments, Source, Stored, Target, Workspace};
pub use device::Gpu;
pub use ladder::Ladder;
pub use memory::Memory;
pub use probe::Probe;
pub use record::{Awaited, Bound, Recording};
pub use slice::Slice;
pub use upsweep_core::Extreme;
pub use upsweep_gpu::segmented::Marks;
pub use upsweep_gpu::{Calls, ReduceOptions, ScanOptions};

/// The bytes of an access.
pub(crate) fn bytes(width: upsweep_core::AccessWidth) -> u32 {
    match width {
        upsweep_core::AccessWidth::Bytes4 => 4,
        upsweep_core::AccessWidth::Bytes8 => 8,
        upsweep_core::AccessWidth::Bytes16 => 16,
    }
}
