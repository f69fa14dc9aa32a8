//! The primitives for types that are values: files, Python and MPI know a [`Dtype`](crate::Dtype) when they run, not when they are
//! compiled.
//!
//! ```
//! use upsweep::{Device, Dtype, any::{self, AnyView, Op, Reduce, Scan}};
//!
//! let device = Device::cpu();
//! let bytes = [1u8, 2, 250, 255];
//! let items = AnyView::from_bytes(Dtype::U8, &bytes)?;
//! // Sums of integers are made in 64 bits.
//! let total = any::reduce(&device, items, &Reduce::new(Op::Sum))?;
//! assert_eq!(total.map(|total| total.to_string()).as_deref(), Some("508"));
//! let sums = any::scan(&device, items, Dtype::U64, &Scan::inclusive(Op::Sum))?;
//! assert_eq!(sums.into_typed::<u64>()?.into_vec()?, [1, 3, 253, 508]);
//! # Ok::<(), upsweep::Error>(())
//! ```
//!
//! - [`AnyView`], [`AnyViewMut`] and [`AnyArray`] are the views and arrays of the typed calls with a [`Dtype`](crate::Dtype) beside
//!   them; [`Scalar`] is one number, [`Op`] an operator.
//! - [`reduce`], [`reduce_into`], [`scan`], [`scan_into`], [`scan_in_place`], [`segmented_reduce`], [`segmented_reduce_into`],
//!   [`segmented_scan`], [`segmented_scan_into`] and [`reduce_by_key`] are the typed functions of these names, on every device, with
//!   the same bits. Positions of extremes and means are reductions here, by [`Op`]: of all items, and of each segment.
//! - [`select`], [`partition`], [`partition3`], [`positions`], [`unique`], [`unique_by_key`], [`run_length_encode`] and their `_into` forms
//!   keep items by flags, by a comparison with a number ([`Where`]) or as the first of a run, of every type by the code for its size.
//! - [`AnyNdView`], [`AnyNdViewMut`] and [`AnyNdArray`] have several dimensions; [`reduce_axes`], [`scan_axes`] and their `_into` forms
//!   take the rows along some axes, each as an array of its own; [`transpose`], [`copy`] and [`copy_into`] move items.
//! - [`ReduceCall`] and [`ScanCall`] look a kernel up once, for calls on short arrays again and again.
//! - [`ReduceStream`], [`ScanStream`], [`SelectStream`], [`PositionStream`], [`UniqueStream`] and [`RunLengthStream`] take an array chunk by
//!   chunk; [`bind_reduce`] and [`bind_scan`] give recordings.
//! - [`accumulator`] and [`scan_output`] say in which type a result comes, [`holds`] and [`convert`] which types become which.
//!
//! Some pairs of an operator and two types have kernels; [`reduce_kernel`] and [`scan_kernel`] say which. Sums, products and bit
//! operators of signed integers run as unsigned ones. Items of any other pair are widened first: in host memory
//! piece by piece, on a GPU as they are read. All kernels are compiled in the library: a call from here compiles nothing.
//!
//! [`AnyFused`] makes items of arrays as they are read, by a [`Definition`]: a function that is known when a program runs.
//! [`AnyFunction`] is one for calls again and again, [`AnyOperator`] an operator of this kind. Structures, gathered items and segments of what is
//! made are typed calls by [`Fused`](crate::Fused).

mod array;
mod axes;
mod axes_by;
mod bind;
mod choices;
mod compare;
mod convert;
mod converted;
mod explain;
mod function;
mod fused;
mod kernel;
mod nd;
mod op;
mod operator;
mod pairs;
mod partition;
mod position;
mod reduce;
mod runs;
mod scalar;
mod scan;
mod segmented;
mod select;
mod stream;
mod view;
mod within;

pub use array::AnyArray;
pub use axes::{
    bind_reduce_axes, bind_scan_axes, copy, copy_into, reduce_axes, reduce_axes_into, scan_axes,
    scan_axes_into, transpose,
};
pub use axes_by::{reduce_axes_by, scan_axes_by};
pub use bind::{
    bind_probe_copy, bind_probe_read, bind_reduce, bind_reduce_up_to, bind_scan, bind_scan_up_to,
};
pub use choices::{cpu_policy, reduce_choice, reduce_shape, scan_choice, scan_shape};
pub use compare::{Comparison, Where};
pub use convert::{check_accumulator, convert, holds};
pub use explain::{explain_reduce, explain_scan};
pub use function::AnyFunction;
pub use fused::AnyFused;
pub use kernel::{Kernel, accumulator, combined_in, reduce_kernel, scan_kernel, scan_output};
pub use nd::{AnyAlong, AnyNdArray, AnyNdView, AnyNdViewMut};
pub use op::Op;
pub use operator::AnyOperator;
pub use partition::{ThreeParts, bind_partition3, partition3, partition3_into};
pub use reduce::{Reduce, ReduceCall, reduce, reduce_into, reference_reduce};
pub use runs::{
    bind_run_length_encode, bind_unique, run_length_encode, run_length_encode_into, unique,
    unique_by_key, unique_by_key_into, unique_into,
};
pub use scalar::Scalar;
pub use scan::{Scan, ScanCall, reference_scan, scan, scan_in_place, scan_into};
pub use segmented::{
    reduce_by_key, segmented_reduce, segmented_reduce_into, segmented_scan, segmented_scan_into,
    segments_by_flags, segments_by_keys, segments_by_offsets,
};
pub use select::{
    AnyCompacted, Keep, bind_partition, bind_positions, bind_select, partition, partition_into,
    positions, positions_into, select, select_into,
};
pub use stream::{
    PositionStream, ReduceStream, RunLengthStream, ScanStream, SelectStream, UniqueStream,
};
pub use upsweep_core::kernel::{Binary, Definition, Method, Term, Unary, ValueType};
pub use view::{AnyView, AnyViewMut};

/// Calls `$body` with `$type` standing for the Rust type of a [`Dtype`](crate::Dtype).
macro_rules! with_dtype {
    ($dtype:expr, $type:ident => $body:expr) => {
        $crate::any::with_dtype!(@arms $dtype, $type => $body,
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64,
            F16 $crate::f16, Bf16 $crate::bf16, F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $type:ident => $body:expr, $($variant:ident $rust:ty),*) => {
        match $dtype {
            $($crate::Dtype::$variant => {
                type $type = $rust;
                $body
            })*
            other => unreachable!("{other} has no Rust type"),
        }
    };
}
use with_dtype;

/// Calls `$body` with `$type` standing for the Rust type of an unsigned [`Dtype`].
macro_rules! with_unsigned {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            $crate::Dtype::U8 => {
                type $type = u8;
                $body
            }
            $crate::Dtype::U16 => {
                type $type = u16;
                $body
            }
            $crate::Dtype::U32 => {
                type $type = u32;
                $body
            }
            _ => {
                type $type = u64;
                $body
            }
        }
    };
}
use with_unsigned;

/// The unsigned type of the same size.
fn unsigned(dtype: crate::Dtype) -> crate::Dtype {
    match dtype.size() {
        1 => crate::Dtype::U8,
        2 => crate::Dtype::U16,
        4 => crate::Dtype::U32,
        _ => crate::Dtype::U64,
    }
}
