//! What `tune` measures.

use upsweep::Dtype;
use upsweep::any::Op;

use super::budget::Span;
use crate::selection::Primitive;

/// What is measured of each device.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is done with the items; one scan stands for both.
    pub primitives: Vec<Primitive>,
    /// The operator of reductions and scans.
    pub operator: Op,
    /// Types of the items, if not some of one, four and eight bytes.
    pub dtypes: Option<Vec<Dtype>>,
    /// The type to combine in, and of a scan's output, unless it is that of the items.
    pub acc: Option<Dtype>,
    /// Numbers of items, if not every power of two in the range that matters.
    pub lengths: Option<Vec<usize>>,
    /// How long it may take, if not two minutes, or 25 seconds if it is quick.
    pub budget: Option<Span>,
    /// Fewer types and lengths, in less time.
    pub quick: bool,
    /// Whether calls of a GPU on arrays in the host's memory are left out.
    pub skip_host: bool,
    /// Whether the program that runs has `tune --make-kernels`, so that copies of it make kernels of CUDA's side by side.
    pub has_helpers: bool,
}
