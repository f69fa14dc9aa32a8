//! The tests of the public functions, in one program: kernels of user-defined types are compiled once for all of them, and every
//! GPU is opened once. `plans` counts allocations, `large` needs the machine's memory, and `faults` waits for what others would be
//! told, so those are programs of their own.

mod annotated;
#[cfg(feature = "any")]
mod any;
#[cfg(feature = "any")]
mod any_axes;
#[cfg(feature = "any")]
mod any_fused;
#[cfg(feature = "any")]
mod any_select;
#[cfg(feature = "any")]
mod any_widened;
mod auto;
mod axes;
#[cfg(feature = "cuda")]
mod cuda;
mod determinism;
mod examples;
mod explain;
mod fields;
mod fused;
#[cfg(feature = "wgpu")]
mod gpu;
mod guards;
mod inputs;
mod ladder;
mod lengths;
mod lengths_anywhere;
mod operators;
mod oracle;
#[cfg(all(feature = "cuda", feature = "wgpu"))]
mod packed;
mod profile;
mod properties;
mod reduce;
mod runs;
mod scan_custom;
mod scan_floats;
mod scan_signed;
mod scan_unsigned;
mod segmented;
mod select;
mod share;
mod streams;
mod structures;
mod vectors;
mod widening;
