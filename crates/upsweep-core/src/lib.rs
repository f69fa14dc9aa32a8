//! The words of upsweep: what every layer above and below the backends speaks.
//!
//! - [`Element`] and [`Number`]: what may stand in an array; [`Widen`]: how an item becomes the
//!   type it is combined in.
//! - [`Operator`] and the built-in ones: [`Sum`], [`Product`], [`Min`], [`Max`], [`BitAnd`],
//!   [`BitOr`], [`BitXor`], [`ArgMin`], [`ArgMax`].
//! - [`Reduce`] and [`Scan`]: a problem, stated without naming a device.
//! - [`Limits`], [`Strategy`], [`Policy`]: what a device can do and what was chosen for it.
//! - [`Profile`]: what a tuning run measured on one device, which policies read first.
//! - [`Backend`]: the one seam. Nothing above it knows a vendor.
//! - [`ReduceState`] and [`ScanState`]: an array that comes in chunks; [`Tree`] and [`Carry`]: what
//!   is known of the items so far.
//! - [`kernel`]: functions of the caller's, from Rust to the languages of GPUs.
//! - [`Apply`], [`Make`] and [`Recipe`]: items that are made as they are read.
//! - [`Layout`] and [`Rows`]: where the items of an n-dimensional array lie, and those along some of its axes.
//! - [`segments`]: neighbouring items that are combined apart from all others.
//! - [`laws`]: whether an operator keeps what it promises.
//! - [`LadderStep`] and [`Rungs`]: the seven classic steps of a sum on a GPU.
//! - [`summation`]: the order in which floats are combined, the same on every device.
//! - [`mod@reference`]: the obvious sequential answers that every backend is held to.
//!
//! This crate contains no unsafe code and knows no GPU.

#![forbid(unsafe_code)]

mod backend;
mod carry;
mod element;
mod error;
mod explain;
mod float16;
mod fused;
mod indexed;
pub mod kernel;
mod ladder;
pub mod laws;
mod limits;
mod operator;
mod pairs;
mod problem;
mod profile;
pub mod reference;
mod rows;
pub mod segments;
mod strategy;
mod stream;
pub mod summation;
mod tree;

pub use backend::Backend;
pub use carry::Carry;
pub use element::{Dtype, Element, Kind, Number, Widen};
pub use error::{Error, Result};
pub use explain::{Launch, Quartiles, Why};
pub use float16::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
pub use fused::{
    Apply, Arguments, Condition, Derivation, Derived, DeviceLength, DeviceLengths, Formula, Index,
    Make, Parameter, Quotient, Recipe, Terms,
};
pub use half::{bf16, f16};
pub use indexed::{ArgMax, ArgMin, Extreme, Indexed};
pub use ladder::{LadderStep, Pass, Rung, Rungs};
pub use limits::Limits;
pub use operator::{
    BitAnd, BitOr, BitXor, Builtin, Flipped, Language, Max, Min, Operator, Product, Source, Sum,
};
pub use problem::{Bounds, Determinism, Direction, Reduce, Scan};
pub use profile::{
    Best, Crossing, FromHost, Measured, PROFILED, Profile, Rows as ProfileRows, Traffic, Work,
};
pub use rows::{Axis, Layout, RowAxis, Rows, axes_in_order};
pub use segments::{InSegments, Segmented, SegmentedBy, Segments};
pub use strategy::{
    AccessWidth, Arrangement, CpuPolicy, CpuStrategy, GpuOptions, GpuReduceStrategy,
    GpuScanStrategy, Load, Policy, ReduceGlobal, ReduceLocal, RowsStrategy, ScanGlobal, ScanLocal,
    Strategy, Tail, WorkgroupPolicy,
};
pub use stream::{REDUCE_CHUNK, ReduceState, ScanState};
pub use tree::Tree;
