//! Data-parallel primitives at the memory speed of the device they run on.
//!
//! ```
//! use upsweep::{Device, Sum, Max, inclusive_scan, reduce, reduce_as};
//!
//! let device = Device::cpu();
//! let steps = [3u8, 200, 100];
//! assert_eq!(reduce(&device, &steps, Max)?, 200);
//! assert_eq!(reduce_as::<u64, _, _>(&device, &steps, Sum)?, 303);
//! let ends = inclusive_scan(&device, &[1.5f32, 2.0, -1.0], Sum)?;
//! assert_eq!(ends.into_vec()?, [1.5, 3.5, 2.5]);
//! # Ok::<(), upsweep::Error>(())
//! ```
//!
//! Floats are combined in one written order, so that a sum or a scan has the same bits on every
//! device, with any number of threads; see [`summation`].
//!
//! - [`Device`] says where; [`Device::list`] says what there is, and why something is not.
//! - [`reduce`], [`inclusive_scan`], [`exclusive_scan`] and their `_into` and `_in_place` forms
//!   are one call each; [`Reduce`] and [`Scan`] state start values, direction and determinism.
//! - [`segmented_reduce`], [`segmented_scan`], [`reduce_by_key`], [`inclusive_scan_by_key`] and their other forms combine
//!   neighbouring items apart from all others, cut by offsets, flags or keys: [`Segments`].
//! - [`ReducePlan`] and [`ScanPlan`] own their scratch memory: calls of a plan allocate
//!   nothing but some tens of bytes for each thread that is woken. On a GPU a plan can be bound to its arrays:
//!   a [`Recording`] runs in a command stream of wgpu or a stream of CUDA that is the caller's own.
//! - [`ReduceStream`] and [`ScanStream`] take an array chunk by chunk, with the bits of the whole.
//! - `any`, with feature `any`: the same calls for types that are values, which files and other languages have.
//! - [`mod@profile`]: what a tuning run measured on a device, which the policies of every call read.
//! - [`mod@ladder`] runs and times the seven classic steps of a sum on a GPU.
//! - [`Operator`] and [`Element`] are traits: operators and items of your own are as fast. [`operator`](macro@operator) makes
//!   an operator of a plain function, for every device; [`laws`] checks it.
//!
//! # Builds
//! Built-in operators on number types are compiled once, with the crate `upsweep-cpu`; calls of them compile next to nothing. In
//! a debug build they are as fast as in a release build with
//! ```toml
//! [profile.dev.package.upsweep-cpu]
//! opt-level = 3
//! ```
//! Features: `wgpu` and `cuda`, on by default, are the backends of GPUs; without them the crate knows CPUs only. `any` adds the
//! module of that name. On two cores a first release build takes two minutes, without the backends of GPUs one; after that a
//! crate with a dozen calls is built again in two seconds, and each operator of its own adds half a second.

#[cfg(feature = "any")]
pub mod any;
mod array;
mod auto;
mod backend;
#[cfg_attr(not(feature = "cuda"), path = "no_cuda.rs")]
mod cuda;
mod device;
mod erased;
pub mod explain;
mod fused;
#[cfg_attr(not(feature = "wgpu"), path = "no_gpu.rs")]
mod gpu;
pub mod ladder;
mod memory;
#[cfg(not(all(feature = "wgpu", feature = "cuda")))]
mod nothing;
mod plan;
pub mod profile;
mod recording;
mod reduce;
mod scan;
mod segmented;
mod stream;
mod view;

pub use array::Array;
pub use auto::{Placement, Reason, cpu_name};
#[cfg(feature = "cuda")]
pub use cuda::Awaited;
/// The version of cudarc whose arrays, contexts and streams are taken.
#[cfg(feature = "cuda")]
pub use cudarc;
pub use device::{Absent, CpuOptions, CpuShape, Device, DeviceInfo, DeviceList, InstructionSet};
pub use fused::{
    Constant, Count, Counting, Fused, Gathered, Mapped, Reversed, Strided, Zipped, constant,
    counting,
};
#[cfg(feature = "wgpu")]
pub use gpu::{DispatchProfile, RecordingProfile};
pub use plan::{PositionPlan, ReducePlan, ScanPlan};
pub use profile::Profile;
pub use recording::Recording;
pub use reduce::{
    Mean, argmax, argmin, mean, reduce, reduce_as, reduce_into, reduce_into_with, reduce_with,
};
pub use scan::{
    exclusive_scan, exclusive_scan_in_place, exclusive_scan_into, inclusive_scan,
    inclusive_scan_in_place, inclusive_scan_into, scan_in_place_with, scan_into_with,
};
pub use segmented::{
    GatherIndex, Offset, Segments, exclusive_scan_by_key, inclusive_scan_by_key, reduce_by_key,
    reduce_by_key_into, segmented_reduce, segmented_reduce_into, segmented_reduce_with,
    segmented_scan, segmented_scan_into,
};
pub use stream::{ReduceStream, ScanStream};
/// What the annotations write down of functions.
#[doc(hidden)]
pub use upsweep_core::kernel as __kernel;
pub use upsweep_core::{
    AccessWidth, Apply, ArgMax, ArgMin, Arrangement, BitAnd, BitOr, BitXor, Bounds, CpuPolicy,
    CpuStrategy, Determinism, Direction, Dtype, Element, Error, GpuOptions, GpuReduceStrategy,
    GpuScanStrategy, Indexed, Kind, Language, Launch, Limits, Load, Max, Min, Number, Operator,
    Parameter, Policy, Product, Quartiles, Reduce, ReduceGlobal, ReduceLocal, Result, Scan,
    ScanGlobal, ScanLocal, Source, Strategy, Sum, Tail, Why, Widen, WorkgroupPolicy, bf16, f16,
    laws, reference, summation,
};
pub use upsweep_macros::{Element, function, operator};
pub use view::{View, ViewMut};
/// The version of wgpu whose buffers and devices are taken.
#[cfg(feature = "wgpu")]
pub use wgpu;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Those of the start page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start.md")]
struct StartPage;

/// That of the page on operators.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/operators.md")]
struct OperatorsPage;
