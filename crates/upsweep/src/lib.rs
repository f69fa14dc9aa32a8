//! Reduce and scan arrays at the speed of memory, on CPUs and GPUs, with the same bits on every device.
//!
//! **One call on the CPU.**
//!
//! ```
//! use upsweep::{Device, Max, Sum, inclusive_scan, reduce, reduce_as};
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
//! **The same on a GPU.** Arrays stay there, and the host waits only where it reads them.
//!
//! ```
//! use upsweep::{Array, Device, Sum, inclusive_scan, reduce};
//!
//! let device = Device::open("wgpu:0").unwrap_or_else(|_| Device::cpu());
//! let steps = Array::from_slice(&device, &[3u32, 200, 100])?;
//! let ends = inclusive_scan(&device, &steps, Sum)?;
//! assert_eq!(reduce(&device, &steps, Sum)?, 303);
//! assert_eq!(ends.to_vec()?, [3, 203, 303]);
//! # Ok::<(), upsweep::Error>(())
//! ```
//!
//! **An operator of your own** is a plain function. It runs on every device.
//!
//! ```
//! use upsweep::{Device, inclusive_scan};
//!
//! /// The last item so far that is not 0.
//! #[upsweep::operator(identity = 0)]
//! fn last_set(left: u32, right: u32) -> u32 {
//!     if right == 0 { left } else { right }
//! }
//!
//! let filled = inclusive_scan(&Device::cpu(), &[7u32, 0, 0, 9, 0], LastSet)?;
//! assert_eq!(filled.into_vec()?, [7, 7, 7, 9, 9]);
//! # Ok::<(), upsweep::Error>(())
//! ```
//!
//! # Features, and what they cost to build
//! | feature | what it adds | first release build on two cores |
//! |---|---|---|
//! | none (`default-features = false`) | CPUs | one minute |
//! | `wgpu`, `cuda` (on by default) | GPUs by Vulkan, Metal and DirectX 12; NVIDIA's by CUDA. Both are looked for when the program runs | two minutes with both |
//! | `any` | the module of that name: types and operators as values | not measured apart |
//! | `ndarray` | views of arrays of the crate of that name | not measured apart |
//!
//! After that a crate with a dozen calls is built again in two seconds, and each operator of its own adds half a second: built-in operators
//! on number types are compiled once, with the crate `upsweep-cpu`. In a debug build they are as fast as in a release build with
//! ```toml
//! [profile.dev.package.upsweep-cpu]
//! opt-level = 3
//! ```
//!
//! # What there is
//! | for | look at |
//! |---|---|
//! | devices, and why one is not there | [`Device`], [`Device::list`] |
//! | one value of all items | [`reduce`], [`reduce_as`], [`mean`], [`argmin`], [`argmax`]; [`Reduce`] has start values |
//! | all prefixes | [`inclusive_scan`], [`exclusive_scan`] and their `_into` and `_in_place` forms; [`Scan`] has start values and directions |
//! | neighbours that are combined apart from others | [`Segments`], [`segmented_reduce`], [`segmented_scan`], [`segmented_argmin`], [`reduce_by_key`], [`inclusive_scan_by_key`] |
//! | arrays of several dimensions, along some axes | [`View::shape`], [`NdView`], [`Along`], [`NdArray`]; of a fused input [`Fused::shape`]; [`transpose`] and strided copies |
//! | items that are kept, one behind another | [`select`], [`positions`], [`Fused::filter`] |
//! | items that are kept, and the others behind them | [`partition`], [`partition3`] |
//! | runs of neighbours that are the same | [`unique`], [`unique_by_key`], [`run_length_encode`] |
//! | items that are made as they are read | [`Fused`], [`counting`], [`constant`] |
//! | calls without allocation, in a command stream of the caller's | [`ReducePlan`], [`ScanPlan`], [`Recording`] |
//! | arrays that come in chunks | [`ReduceStream`], [`ScanStream`], [`SelectStream`], [`PositionStream`], [`UniqueStream`], [`RunLengthStream`] |
//! | memory of the caller's | [`View`], [`ViewMut`] |
//! | operators, items and functions of your own | [`operator`](macro@operator), [`Element`], [`function`](macro@function); [`laws`] checks an operator |
//! | types that are known when the program runs | `any`, with the feature of that name |
//! | the order in which floats are combined | [`summation`] |
//! | why a call does what it does | [`explain`], [`mod@strategy`], [`mod@profile`], [`mod@ladder`] |

// What annotations write calls the crate by its name, here too.
extern crate self as upsweep;

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
mod nd;
#[cfg(not(all(feature = "wgpu", feature = "cuda")))]
mod nothing;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod on_gpu;
mod partition;
mod plan;
pub mod profile;
mod recording;
mod reduce;
mod runs;
mod scan;
mod segmented;
mod select;
pub mod strategy;
mod stream;
mod view;

pub use array::Array;
pub use auto::{Placement, Reason, cpu_name};
#[cfg(feature = "cuda")]
pub use cuda::Awaited;
/// The version of cudarc whose arrays, contexts and streams are taken.
#[cfg(feature = "cuda")]
pub use cudarc;
pub use device::{Absent, CpuOptions, Device, DeviceInfo, DeviceList, InstructionSet};
pub use fused::{
    Constant, Count, Counting, Filtered, Fused, Gathered, Mapped, Reversed, Strided, Zipped,
    constant, counting, segmented_argmax, segmented_argmax_into, segmented_argmin,
    segmented_argmin_into,
};
#[cfg(feature = "wgpu")]
pub use gpu::{DispatchProfile, RecordingProfile};
pub use nd::{Along, NdArray, NdItems, NdView, NdViewMut, transpose};
/// The version of ndarray whose views are taken.
#[cfg(feature = "ndarray")]
pub use ndarray;
pub use partition::{bind_partition3, partition3, partition3_into};
pub use plan::{PositionPlan, ReducePlan, ScanPlan};
pub use profile::Profile;
pub use recording::{
    Recording, bind_reduce_by_key, bind_run_length_encode, bind_segmented_reduce,
    bind_segmented_scan, bind_unique,
};
pub use reduce::{
    Mean, argmax, argmin, mean, reduce, reduce_as, reduce_into, reduce_into_with, reduce_with,
};
pub use runs::{
    run_length_encode, run_length_encode_into, unique, unique_by_key, unique_by_key_into,
    unique_in_place, unique_into,
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
pub use select::{
    Compacted, bind_partition, bind_select, partition, partition_into, positions, positions_into,
    select, select_in_place, select_into,
};
pub use stream::{
    PositionStream, ReduceStream, RunLengthStream, ScanStream, SelectStream, UniqueStream,
};
/// What the annotations write down of functions.
#[doc(hidden)]
pub use upsweep_core::kernel as __kernel;
pub use upsweep_core::{
    Apply, ArgMax, ArgMin, BitAnd, BitOr, BitXor, Bounds, Determinism, Direction, Dtype, Element,
    Error, Indexed, Kind, Language, Limits, Max, Min, Number, Operator, Parameter, Product, Reduce,
    Result, Scan, Source, Sum, Widen, bf16, f16, laws, reference, summation,
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
