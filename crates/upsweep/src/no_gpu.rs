//! In the place of `gpu.rs` where feature `wgpu` is off: the same words, of which there is nothing.

pub(crate) use crate::nothing::{
    NoBound as Bound, NoGpu as Wgpu, NoMemory as Memory, NoRange as Range, reduce_made, scan_made,
};
use crate::strategy::GpuOptions;
use crate::{Error, Result};

const NOT_BUILT: &str = "upsweep was built without its feature wgpu";

pub(crate) fn open(id: &str, _: &str, _: GpuOptions) -> Result<Wgpu> {
    Err(Error::NoDevice { id: id.to_owned(), reason: NOT_BUILT.to_owned() })
}

pub(crate) fn list() -> core::result::Result<Vec<Wgpu>, String> {
    Err(NOT_BUILT.to_owned())
}
