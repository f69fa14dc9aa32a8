//! Every GPU that wgpu reaches: Vulkan, Metal, DirectX 12.
//!
//! - [`Gpu`] is a device; [`Wgpu`], a GPU and how it is to be used, implements
//!   [`Backend`](upsweep_core::Backend).
//! - [`Slice`] is a range of a buffer, the caller's or ours; [`Memory`] is a buffer of ours.
//! - `shader` puts kernels together: a generated header in front of plain WGSL.
//! - [`Calls`] are the primitives, with the scratch memory of a [`Workspace`]. What is [bound](Bound) to arrays becomes a [`Recording`].
//! - `reduce`, `scan`, `segmented`, `select` and `rows` hold their kernels.
//! - [`Ladder`]: the seven classic steps of a sum, to learn from.
//!
//! # What can hang, and what cannot
//! **No kernel of ours can run for ever, whatever the device does.** Every loop has an end that is known before it
//! begins. Where a workgroup waits for another it counts its looks, and after a hundred or more in vain computes
//! what is missing itself, or raises a flag, and the call is an error (`Error::DeviceFailed`), never a wrong result that
//! looks right. The host waits for the device as long as the driver says that it works; drivers end work that takes
//! too long (mostly after 2 to 10 seconds) and report the device as lost, which is an error too. So a call
//! can hang only where the driver itself does, or behind work of the caller's own in the same queue that never ends.
//!
//! What waiting needs, no interface promises: WebGPU, Vulkan, Metal and DirectX 12 leave it to the device whether a
//! workgroup goes on while others wait for it. So it is tried. When a device is opened, one small launch finds out
//! - whether neighbouring threads are neighbouring lanes of one subgroup; if not, the device is used as one without
//!   subgroups;
//! - whether words that carry their own proof arrive whole in other workgroups; if not, workgroups only hand
//!   something on from launch to launch (WGSL's atomics are relaxed: they order nothing but themselves, and
//!   nothing else is asked of them);
//! - whether workgroups go on while all others that fit on the device wait for them
//!   ([`Limits::forward_progress`](upsweep_core::Limits)); if not, strategies that need it are refused with
//!   [`StrategyRefused`](upsweep_core::Error::StrategyRefused), and others are chosen. Devices made of software fail
//!   by definition: their workgroups are threads of the operating system, which may stop any of them at any time;
//! - whether results that are too small for a normal float are kept.
//!
//! The trial shows what a device did, which is no proof of what it will do. It decides which strategies are chosen.
//! That waits are bounded, and that what is handed on proves itself, does not rest on it.
//!
//! # Files
//! What the trial said, and on Vulkan what the driver made of kernels, is kept in the folder `$UPSWEEP_CACHE_DIR`, or
//! else `upsweep` in the platform's folder for such files (`$XDG_CACHE_HOME` or `~/.cache`, `~/Library/Caches`,
//! `%LOCALAPPDATA%`); if the variable is empty, nowhere. Files that are damaged, of another device or of another driver
//! are ignored, and a folder that cannot be written is not missed. What lies there is given to the driver: the folder
//! should be the user's own. For [a device of the caller's](Gpu::from_wgpu) only the trial is kept.

mod backend;
mod cache;
mod device;
mod faults;
#[cfg(test)]
mod handed;
mod ladder;
mod launch_sizes;
mod litmus;
mod mailbox;
mod memory;
#[cfg(test)]
mod narrow;
mod probe;
mod profile;
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
#[cfg(test)]
mod translation;

pub use backend::{Ingredients, Packed, Segments, Source, Stored, Target, Wgpu, Workspace};
pub use device::Gpu;
pub use ladder::Ladder;
pub use memory::Memory;
pub use profile::{DispatchProfile, RecordingProfile};
pub use record::{Bound, Recording};
pub use slice::Slice;
pub use upsweep_core::Extreme;
pub use upsweep_gpu::{Calls, ReduceOptions, ScanOptions};
