//! The GPU there is, for tests.

use std::sync::{Arc, OnceLock};

use upsweep_cuda::Gpu;
use upsweep_testing::skipped;

/// Backends, between commas, without which a run fails.
const REQUIRE_VARIABLE: &str = "UPSWEEP_TEST_REQUIRE";

/// The first GPU. Without one, tests are reported as skipped, or fail where it is required.
pub(crate) fn gpu() -> Option<&'static Arc<Gpu>> {
    static GPU: OnceLock<Option<Arc<Gpu>>> = OnceLock::new();
    let open = || match Gpu::open(0) {
        Ok(gpu) => Some(Arc::new(gpu)),
        Err(why) => {
            let required = std::env::var(REQUIRE_VARIABLE).unwrap_or_default();
            assert!(!required.split(',').any(|name| name == "cuda"), "a GPU is required: {why}");
            skipped("CUDA", &why);
            None
        }
    };
    GPU.get_or_init(open).as_ref()
}
