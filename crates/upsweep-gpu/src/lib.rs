//! What backends of GPUs share on the host's side. No GPU is needed to know any of it.
//!
//! - [`Primitives`] are what a backend says of its GPU: its memory ([`GpuDevice`]), and how kernels of reductions ([`BindReduce`]), scans
//!   ([`BindScan`]), segments ([`BindSegmented`]), selections ([`BindSelect`]) and rows ([`BindRows`]) are bound to arrays there.
//! - [`reduce`], [`scan`], [`segmented`] and [`rows`] are calls, made with these: what is checked, brought to the device, bound, begun and brought
//!   back. [`Calls`] are the same with Rust's types. [`ReduceOptions`], [`ScanOptions, SelectOptions`] and [`Form`]: what is asked for.
//! - [`OnGpu`], a GPU and how it is to be used, implements [`Backend`](upsweep_core::Backend) with that: arrays of the host
//!   that are too long for one piece, and streams.
//! - [`Source`] and [`Target`] are items of the host or of a device; [`Part`] is what a backend's slice can;
//!   [`Stored`]: items of one of several arrays; [`Ingredients`]: these and what kernels make of them; [`Inputs`]: the same where a
//!   launch reads it.
//! - [`ErasedReduce`] and [`ErasedScan`] are problems whose types are values, [`ErasedSource`] and [`ErasedTarget`] their arrays:
//!   what calls are made with.
//! - [`Types`]: the types of a kernel, with [`FusedInput`], how its items are made, and [`Segmentation`], how they are cut into
//!   segments; they write what a kernel's header has in every language.
//! - [`RowsShape`]: how rows of an n-dimensional array are dealt out to threads; [`Copying`]: the same of a copy between two layouts.
//! - [`Syntax`]: what differs from one language of kernels to another.
//! - [`Op`]: what kernels combine values by; [`Held`] and [`Scalar`]: what these are meanwhile. Their text is asked for with
//!   [`OperatorNames`], and of a [`PositionSearch`] each language writes the end.
//! - [`Custom`]: an operator of the caller's own with its text; [`OperatorValues`]: what kernels know of an operator's values, those
//!   of its fields among them.
//! - [`bits`]: numbers as bytes and words; [`layout`]: items in memory as text of kernels.
//! - [`Folder`]: files that outlive a program; [`show_refused`]: kernels that do not compile.

mod arrays;
pub mod bits;

mod copying;
mod custom;
mod erased;
mod folder;
mod fused_input;
mod host;
pub mod layout;
mod on_device;
mod on_gpu;
mod operator;
mod operator_text;
mod operator_values;
mod options;
mod packed;
mod primitives;
pub mod reduce;
mod refused;
pub mod rows;
mod rows_shape;
pub mod scan;
pub mod segmented;
pub mod select;
mod syntax;
mod typed;
mod types;
mod value_text;

pub use arrays::{
    ErasedPacked, ErasedSource, ErasedTarget, Ingredients, Inputs, MOST_PARAMETERS, Packed, Part,
    Segments, Source, Stored, Target, several_lengths,
};
pub use copying::Copying;
pub use custom::Custom;
pub use erased::{
    DefinedOperator, ErasedOperator, ErasedReduce, ErasedReduceState, ErasedScan, ErasedScanState,
    ErasedType, OperatorText, Signature, value_of,
};
pub use folder::{Folder, hash};
pub use fused_input::FusedInput;
pub use host::{HostItems, HostItemsMut};
pub use on_device::known_len;
pub use on_gpu::OnGpu;
pub use operator::{Held, Op, Scalar};
pub use operator_text::{OperatorNames, PositionSearch};
pub use operator_values::{OperatorValues, Spelled};
pub use options::{Form, Init, ReduceOptions, RowsOptions, ScanOptions};
pub use packed::{WORD, packed_begin, packed_type};
pub use primitives::{
    BindReduce, BindRows, BindScan, BindSegmented, BindSelect, GpuDevice, Job, Primitives,
    SelectOutputs,
};
pub use refused::show_refused;
pub use rows_shape::{RowsFacts, RowsShape, is_long};
pub use select::Selecting;
pub use syntax::Syntax;
pub use typed::{Calls, Results};
pub use types::{Segmentation, Types};
