//! What first calls of a process cost.

use std::sync::Arc;
use std::time::Instant;

use upsweep_core::{Reduce, Result, Scan, Sum};
use upsweep_cuda::{Calls, Gpu, Memory, ReduceOptions, ScanOptions, Source, Target, Workspace};

const ITEMS: usize = 1 << 24;

/// Cold if nothing is kept in `UPSWEEP_CACHE_DIR`, warm in the process after that.
pub(crate) fn run() -> Result<()> {
    println!("first,ms");
    let gpu = timed("opening the device", || Gpu::open(0).map(Arc::new))?;
    let (input, output) = (Memory::filled(&gpu, ITEMS, 1u32)?, Memory::new::<u32>(&gpu, ITEMS)?);
    let mut workspace = Workspace::default();
    let sum = timed("reduce u32", || {
        let (problem, options) = (Reduce::new(Sum), ReduceOptions::default());
        gpu.reduce::<u32, u32, _>(&mut workspace, Source::Device(input.slice()), &problem, &options)
    })?;
    assert_eq!(sum, ITEMS as u32);
    timed("exclusive_scan u32", || {
        let (problem, options) = (Scan::exclusive(Sum), ScanOptions::default());
        let (from, to) = (Source::Device(input.slice()), Target::Device(output.slice()));
        gpu.scan::<u32, u32, _>(&mut workspace, from, to, &problem, &options)?;
        gpu.wait()
    })?;
    timed("inclusive_scan f32", || {
        let (problem, options) = (Scan::inclusive(Sum), ScanOptions::default());
        let (input, output) =
            (Memory::filled(&gpu, 1 << 16, 1.0f32)?, Memory::new::<f32>(&gpu, 1 << 16)?);
        let (from, to) = (Source::Device(input.slice()), Target::Device(output.slice()));
        gpu.scan::<f32, f32, _>(&mut workspace, from, to, &problem, &options)?;
        gpu.wait()
    })
}

fn timed<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    let result = work();
    println!("{what},{:.1}", began.elapsed().as_secs_f64() * 1e3);
    result
}
