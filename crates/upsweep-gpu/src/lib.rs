//! What backends of GPUs share on the host's side. No GPU is needed to know any of it.
//!
//! - [`Primitives`] is what a backend says of its GPU: how an array that the GPU holds at once is reduced and scanned.
//! - [`OnGpu`], a GPU and how it is to be used, implements [`Backend`](upsweep_core::Backend) with that: arrays of the host
//!   that are too long for one piece, and streams.
//! - [`Source`] and [`Target`] are items of the host or of a device; [`Part`] is what a backend's slice can.
//! - [`bits`]: numbers as bytes and words.
//! - [`Folder`]: files that outlive a program.

mod arrays;
pub mod bits;
mod folder;
mod on_gpu;

pub use arrays::{Part, Source, Target};
pub use folder::{Folder, hash};
pub use on_gpu::{OnGpu, Primitives};
