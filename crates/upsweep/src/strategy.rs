//! Which algorithm a call runs at each level, and with which numbers: for whoever wants another than the library chooses.
//!
//! A strategy says how items are loaded, what threads of a workgroup do together, and what workgroups do together:
//! [`GpuReduceStrategy`], [`GpuScanStrategy`], [`CpuStrategy`]. A policy has the numbers: [`WorkgroupPolicy`], [`CpuPolicy`]. Neither
//! changes a result. [`Device::with_gpu_options`](crate::Device::with_gpu_options) and [`CpuOptions`](crate::CpuOptions) ask for them,
//! [`Device::reduce_choice`](crate::Device::reduce_choice) and [`scan_choice`](crate::Device::scan_choice) say what would be taken.
//!
//! ```
//! use upsweep::strategy::{CpuStrategy, Strategy};
//! use upsweep::{CpuOptions, Device, Sum, reduce};
//! let options = CpuOptions { strategy: Some(CpuStrategy::Simd), ..CpuOptions::default() };
//! let device = Device::cpu_with(options)?;
//! assert_eq!(device.reduce_choice(1000, 4).0, Strategy::Cpu(CpuStrategy::Simd));
//! assert_eq!(reduce(&device, &[1u32, 2, 3], Sum)?, 6);
//! # Ok::<(), upsweep::Error>(())
//! ```

pub use upsweep_core::{
    AccessWidth, Arrangement, CpuPolicy, CpuStrategy, GpuOptions, GpuReduceStrategy,
    GpuScanStrategy, Load, Policy, ReduceGlobal, ReduceLocal, ScanGlobal, ScanLocal, Strategy,
    Tail, WorkgroupPolicy,
};
pub use upsweep_cpu::CpuShape;
