//! NVIDIA GPUs, by CUDA's driver and its run-time compiler.

mod bits;
mod cache;
mod compile;
mod nvrtc;
#[cfg(test)]
mod testing;
