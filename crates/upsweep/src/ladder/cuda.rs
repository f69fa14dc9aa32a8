//! The ladder of GPUs that CUDA reaches.

use upsweep_core::Rungs;

use crate::Result;
use crate::cuda::Cuda;

/// The ladder over these items.
pub(super) fn rungs(gpu: &Cuda, items: &[u32]) -> Result<Box<dyn Rungs>> {
    Ok(Box::new(upsweep_cuda::Ladder::new(gpu.gpu(), items)?))
}
