//! GPUs that CUDA reaches, behind the facade.

use upsweep_cuda::Gpu;

use crate::{Error, Result};

/// Why there is no device of CUDA's that calls could run on.
pub(crate) fn absence() -> String {
    match Gpu::devices() {
        Err(Error::NoDevice { reason, .. }) => reason,
        Err(error) => error.to_string(),
        Ok(count) => {
            format!(
                "the driver sees {count}, which this version reaches by crate upsweep-cuda alone"
            )
        }
    }
}

/// The GPU `cuda:number`.
pub(crate) fn open<T>(id: &str, number: &str) -> Result<T> {
    let reason = match number.parse::<usize>() {
        Ok(_) => absence(),
        Err(_) => "ids of CUDA's GPUs are cuda:0, cuda:1 and so on".to_owned(),
    };
    Err(Error::NoDevice { id: id.to_owned(), reason })
}
