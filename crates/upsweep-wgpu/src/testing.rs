//! Devices for the tests of what is not public.

use std::sync::Arc;

use upsweep_gpu::Folder;

use crate::Gpu;

/// A device that nobody else has.
pub(crate) fn own(gpu: &mut Arc<Gpu>) -> &mut Gpu {
    Arc::get_mut(gpu).expect("nobody else has it")
}

/// Every adapter; where a GPU is required, at least one.
pub(crate) fn adapters() -> Vec<wgpu::Adapter> {
    let adapters = Gpu::adapters();
    if adapters.is_empty() {
        let required = std::env::var("UPSWEEP_TEST_GPU").is_ok_and(|gpu| gpu == "required");
        assert!(!required, "there is no GPU to test");
        upsweep_testing::skipped("wgpu", "there is no adapter");
    }
    adapters
}

/// A device of each, which keeps files in this folder.
pub(crate) fn gpus(folder: &Folder) -> Vec<Arc<Gpu>> {
    let open = |adapter: &wgpu::Adapter| Gpu::open_with("gpu", adapter, folder).expect("a device");
    adapters().iter().map(open).map(Arc::new).collect()
}
