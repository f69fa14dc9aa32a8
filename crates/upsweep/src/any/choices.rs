//! What is known of calls before they run.

use super::kernel::ScanKernel;
use super::{Op, Scan, with_dtype};
use crate::strategy::{CpuPolicy, CpuShape, Policy, Strategy};
use crate::{Device, Dtype};

/// The strategy and policy that a reduction of so many items gets: see [`Device::reduce_choice_of`].
pub fn reduce_choice(device: &Device, item: Dtype, items: usize) -> (Strategy, Policy) {
    with_dtype!(item, T => device.reduce_choice_of::<T>(items))
}

/// The strategy and policy that a scan of so many items gets: see [`Device::scan_choice_of`].
pub fn scan_choice(device: &Device, item: Dtype, out: Dtype, items: usize) -> (Strategy, Policy) {
    // Of what is read, only the size counts.
    with_dtype!(out, U => device.scan_choice_from::<U>(items, item.into(), item.size()))
}

/// What the numbers of a CPU come to for a reduction of so many items; nothing on a GPU: see [`Device::reduce_shape`].
pub fn reduce_shape(device: &Device, item: Dtype, items: usize) -> Option<CpuShape> {
    with_dtype!(item, T => device.reduce_shape::<T>(items))
}

/// What the numbers of a CPU come to for a scan of so many items; nothing on a GPU, and of what there is not: see
/// [`Device::scan_shape`].
pub fn scan_shape(
    device: &Device,
    op: Op,
    item: Dtype,
    out: Dtype,
    items: usize,
) -> Option<CpuShape> {
    Scan::inclusive(op).check(item, out).ok()?;
    let kernel = ScanKernel::new(op, item, out).ok()?;
    device.kind().erased().cpu().map(|cpu| kernel.code.shape(cpu, items))
}

/// The numbers of a CPU for items of this type; nothing on a GPU: see [`Device::cpu_policy`].
pub fn cpu_policy(device: &Device, dtype: Dtype) -> Option<CpuPolicy> {
    with_dtype!(dtype, T => device.cpu_policy::<T>())
}
