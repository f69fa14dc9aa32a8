//! Arrays of several dimensions: views and fused inputs with a shape and strides, calls along some axes, and strided copies.
//!
//! `items.rs` has views and fused inputs with a shape, `array.rs` the array that owns its items, `along.rs` the calls along axes, `rows.rs`
//! which backend does them, `copy.rs` copies and transposition, `axes.rs` what all of them check, for typed calls and for `any`.

mod along;
mod array;
pub(crate) mod axes;
mod copy;
pub(crate) mod items;
#[cfg(feature = "ndarray")]
mod ndarray;
pub(crate) mod rows;

pub use along::Along;
pub use array::NdArray;
pub use copy::transpose;
pub use items::{NdItems, NdView, NdViewMut};
