//! The CPU backend of upsweep: vectors and threads at the speed of memory.
//!
//! - [`Cpu`] is the device; it implements [`Backend`](upsweep_core::Backend).
//! - `reduce`, `scan`, `segmented` and `compact` hold the primitives, `simd` the only intrinsics; `fused` makes items as they are read.
//! - `program` evaluates definitions, functions that are known when a program runs, and reduces and scans by them.
//! - `team` brings several threads to one call; `parts` deals blocks out to them.
//! - `isa` compiles every kernel once for each instruction set and chooses at run time.

mod compact;
mod device;
mod erased;
mod fused;
#[cfg(not(test))]
mod instances;
mod isa;
mod known;
mod limits;
mod parts;
mod policy;
mod probe;
mod program;
mod reduce;
mod rows;
mod scalar;
mod scan;
mod segmented;
mod shape;
mod signed;
mod simd;
mod team;

pub use compact::ItemIndex;
pub use device::{Cpu, CpuOptions, Workspace};
#[cfg(not(test))]
#[doc(hidden)]
pub use instances::instances;
pub use isa::InstructionSet;
pub use program::{Program, ProgramOperator};
pub use segmented::SegmentValue;
pub use shape::CpuShape;

#[cfg(test)]
mod tests {
    use fearless_simd::Level;

    use crate::InstructionSet;

    /// The instruction sets to test: all that this CPU has, or the one that
    /// `UPSWEEP_TEST_ISA` names (valgrind does not know AVX-512).
    pub(crate) fn levels() -> Vec<Level> {
        let sets = match std::env::var("UPSWEEP_TEST_ISA") {
            Ok(name) => vec![name.parse().expect("UPSWEEP_TEST_ISA names an instruction set")],
            Err(_) => InstructionSet::available(),
        };
        let levels: Vec<Level> = sets.iter().filter_map(|set| set.level()).collect();
        assert!(!levels.is_empty(), "this CPU has none of {sets:?}");
        levels
    }
}
