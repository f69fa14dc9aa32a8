//! In the place of `cuda.rs` where feature `cuda` is off: the same words, of which there is nothing.

pub(crate) use crate::nothing::{
    NoBound as Bound, NoGpu as Cuda, NoMemory as Memory, NoRange as Range, only_make_kernels,
    reduce_made, scan_made,
};
use crate::strategy::GpuOptions;
use crate::{Error, Result};

const NOT_BUILT: &str = "upsweep was built without its feature cuda";

pub(crate) fn open(id: &str, _: &str, _: GpuOptions) -> Result<Cuda> {
    Err(Error::NoDevice { id: id.to_owned(), reason: NOT_BUILT.to_owned() })
}

pub(crate) fn list() -> core::result::Result<Vec<Cuda>, String> {
    Err(NOT_BUILT.to_owned())
}
