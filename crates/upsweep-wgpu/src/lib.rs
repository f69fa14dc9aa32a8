//! Every GPU that wgpu reaches: Vulkan, Metal, DirectX 12.
//!
//! - [`Gpu`] is a device; [`Wgpu`], a GPU and how it is to be used, implements
//!   [`Backend`](upsweep_core::Backend).
//! - [`Slice`] is a range of a buffer, the caller's or ours; [`Memory`] is a buffer of ours.
//! - `shader` puts kernels together: a generated header in front of plain WGSL.
//! - `reduce` and `scan` hold the primitives.

mod backend;
mod bits;
mod device;
mod faults;
mod handle;
mod memory;
mod probe;
mod record;
mod reduce;
mod scan;
mod shader;
mod slice;

pub use backend::{Source, Target, Workspace};
pub use device::Gpu;
pub use handle::Wgpu;
pub use memory::Memory;
pub use record::Recording;
pub use reduce::ReduceOptions;
pub use scan::ScanOptions;
pub use slice::Slice;
pub use upsweep_core::Extreme;
