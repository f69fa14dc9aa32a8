//! NVIDIA GPUs, by CUDA's driver and its run-time compiler.

mod bits;
mod cache;
mod compile;
mod device;
mod driver;
mod launch;
mod mailbox;
mod memory;
mod nvrtc;
#[cfg(test)]
mod on_device;
mod shader;
mod slice;
#[cfg(test)]
mod testing;
mod time;

pub use device::Gpu;
pub use memory::Memory;
pub use slice::Slice;
pub use upsweep_core::Extreme;
