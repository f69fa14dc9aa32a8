//! What tests of this crate share: the compiler, which needs no GPU.

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
