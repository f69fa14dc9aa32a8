//! Arrays of several dimensions: views with a shape and strides, calls along some axes, and strided copies.
//!
//! `view.rs` has the views, `array.rs` the array that owns its items, `along.rs` the calls along axes, `fused.rs` the same of items that are made
//! as they are read, `copy.rs` copies and transposition, `axes.rs` what all of them check, for typed calls and for `any`.

mod along;
mod array;
pub(crate) mod axes;
mod copy;
mod fused;
#[cfg(feature = "ndarray")]
mod ndarray;
mod view;

pub use along::Along;
pub use array::NdArray;
pub use copy::transpose;
pub use fused::{FusedAlong, NdFused};
pub use view::{NdView, NdViewMut};
