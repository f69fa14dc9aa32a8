//! What `bench` measures.

use upsweep::any::Op;
use upsweep::{Dtype, InstructionSet};

use crate::selection::{Devices, Primitive, Strategies};

/// What is measured, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is done with the items.
    pub primitives: Vec<Primitive>,
    /// The operator of reductions and scans.
    pub operator: Op,
    /// Types of the items.
    pub dtypes: Vec<Dtype>,
    /// The type to combine in, and of a scan's output, unless it is that of the items.
    pub acc: Option<Dtype>,
    /// Numbers of items.
    pub lengths: Vec<usize>,
    /// Where it is done.
    pub devices: Devices,
    /// In which ways.
    pub strategies: Strategies,
    /// Instruction sets of a CPU; the widest unless said.
    pub instruction_sets: Option<Vec<InstructionSet>>,
    /// Threads of a CPU; all of them unless said.
    pub threads: Option<usize>,
    /// Times that each row is measured.
    pub samples: usize,
    /// Whether rows of a GPU are also measured launch by launch.
    pub profile: bool,
    /// Whether energy is measured too.
    pub energy: bool,
}
