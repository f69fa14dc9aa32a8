//! What tests of this crate share: the compiler, which needs no GPU, and a GPU where there is one.

use std::sync::Arc;

use crate::Gpu;
use crate::cache::Folder;
use crate::compile::Compiler;

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
