//! Every GPU there is, for tests.

use std::sync::Arc;
use std::sync::OnceLock;

use upsweep_testing::skipped;
use upsweep_wgpu::Gpu;

/// If it is `required`, a run without any GPU fails.
const GPU_VARIABLE: &str = "UPSWEEP_TEST_GPU";

/// Every GPU. Without any, tests are reported as skipped, or fail where one is required.
pub(crate) fn gpus() -> &'static [Arc<Gpu>] {
    static GPUS: OnceLock<Vec<Arc<Gpu>>> = OnceLock::new();
    GPUS.get_or_init(|| {
        let open = |(number, adapter): (usize, &wgpu::Adapter)| {
            let gpu = Gpu::open(&format!("wgpu:{number}"), adapter);
            Arc::new(gpu.unwrap_or_else(|error| panic!("{error}")))
        };
        let gpus: Vec<Arc<Gpu>> = Gpu::adapters().iter().enumerate().map(open).collect();
        if gpus.is_empty() {
            let required = std::env::var(GPU_VARIABLE).is_ok_and(|gpu| gpu == "required");
            assert!(!required, "there is no GPU to test");
            skipped("wgpu", "there is no adapter");
        }
        gpus
    })
}
