//! The ladder of GPUs that wgpu reaches.

use upsweep_core::Rungs;

use crate::Result;
use crate::gpu::Wgpu;

/// The ladder over these items.
pub(super) fn rungs(gpu: &Wgpu, items: &[u32]) -> Result<Box<dyn Rungs>> {
    Ok(Box::new(upsweep_wgpu::Ladder::new(gpu.gpu(), items)?))
}
