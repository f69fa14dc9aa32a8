//! Every GPU that wgpu reaches: Vulkan, Metal, DirectX 12.
//!
//! - [`Gpu`] is a device; it implements [`Backend`](upsweep_core::Backend).
//! - [`Slice`] is a range of a buffer, the caller's or ours.
//! - `shader` puts kernels together: a generated header in front of plain WGSL.
//! - `reduce` and `scan` hold the primitives.

mod backend;
mod bits;
mod cache;
mod device;
mod litmus;
mod probe;
mod record;
mod reduce;
mod scan;
mod shader;
mod slice;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod translation;

pub use backend::{Source, Target, Workspace};
pub use device::Gpu;
pub use record::Recording;
pub use reduce::ReduceOptions;
pub use scan::ScanOptions;
pub use shader::Extreme;
pub use slice::Slice;
