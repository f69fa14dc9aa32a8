//! What tests of this crate share: the compiler, which needs no GPU, and a GPU where there is one.

use std::sync::Arc;

use upsweep_core::{Element, Language, Operator};
use upsweep_gpu::{Folder, Signature};

use crate::Gpu;
use crate::compile::Compiler;
use crate::device::Facts;

/// The types of a call and its operator.
pub(crate) fn signature<T, A, U, O>(operator: &O) -> Signature
where
    T: Element,
    A: Element,
    U: Element,
    O: Operator<A>,
{
    Signature::of::<T, A, U, O>(operator, Language::Cuda)
}

/// A compiler that keeps nothing, if there is one; where there must be one, its absence is a failure.
pub(crate) fn compiler() -> Option<Compiler> {
    let compiler = Compiler::of_machine(Folder::default());
    match compiler.version() {
        Ok(_) => Some(compiler),
        Err(why) => {
            let required =
                std::env::var("UPSWEEP_TEST_NVRTC").is_ok_and(|value| value == "required");
            assert!(!required, "NVRTC is required: {why}");
            upsweep_testing::skipped("NVRTC", &why);
            None
        }
    }
}

/// The first GPU, if there is one; where there must be one, its absence is a failure.
pub(crate) fn gpu() -> Option<Arc<Gpu>> {
    match Gpu::open(0) {
        Ok(gpu) => Some(Arc::new(gpu)),
        Err(why) => {
            let required = std::env::var("UPSWEEP_TEST_REQUIRE").unwrap_or_default();
            assert!(
                !required.split(',').any(|backend| backend == "cuda"),
                "a GPU is required: {why}"
            );
            upsweep_testing::skipped("CUDA", &why);
            None
        }
    }
}

/// Facts of devices that are not here: an A100 (80), an H200 (90), or for any other architecture a small one with
/// the least of everything.
pub(crate) fn facts(arch: u32) -> Facts {
    let (multiprocessors, shared, l2, memory) = match arch {
        80 => (108, 164, 40 << 20, 40 << 30),
        90 => (132, 228, 60 << 20, 140 << 30),
        _ => (8, 64, 1 << 20, 2 << 30),
    };
    Facts {
        arch,
        subgroup: 32,
        threads: 1024,
        shared_bytes: 48 << 10,
        // The system keeps a KiB of each block.
        shared_bytes_most: (shared - 1) << 10,
        grid: i32::MAX as u32,
        multiprocessors,
        threads_of_each: if matches!(arch, 80 | 90) { 2048 } else { 1024 },
        blocks_of_each: if matches!(arch, 80 | 90) { 32 } else { 16 },
        shared_bytes_of_each: shared << 10,
        registers_of_each: 64 << 10,
        l2_bytes: l2,
        memory_bytes: memory,
        memory_kilohertz: 0,
        memory_bits: 0,
        integrated: false,
        cooperative: true,
        pools: true,
        driver: 13_000,
    }
}
