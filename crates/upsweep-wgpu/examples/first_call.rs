//! How long a program waits for its first results, on every GPU: opening, the first reduction, the first scan.
//!
//! Run it twice: the second run finds what the first left in the cache folder. With `UPSWEEP_CACHE_DIR=` it leaves
//! and finds nothing. Drivers may keep files of their own; Mesa's do not with `MESA_SHADER_CACHE_DISABLE=true`.

use std::sync::Arc;
use std::time::Instant;

use upsweep_core::{Reduce, Result, Scan, Sum};
use upsweep_wgpu::{Calls, Gpu, ReduceOptions, ScanOptions, Source, Target, Workspace};

fn main() -> Result<()> {
    for (number, adapter) in Gpu::adapters().iter().enumerate() {
        let began = Instant::now();
        let gpu = Arc::new(Gpu::open(&format!("wgpu:{number}"), adapter)?);
        println!("{gpu:?}\n    opened in {:.1?}", began.elapsed());
        let limits = gpu.limits();
        let (subgroups, progress) = (limits.subgroup_sizes, limits.forward_progress);
        println!("    subgroups of {subgroups:?}, forward progress: {progress}");
        let items = vec![1.0f32; 4096];
        let mut workspace = Workspace::default();
        let began = Instant::now();
        let (problem, options) = (Reduce::new(Sum), ReduceOptions::default());
        let _: f32 = gpu.reduce(&mut workspace, Source::Host(&items), &problem, &options)?;
        println!("    first reduction in {:.1?}", began.elapsed());
        let mut output = vec![0.0f32; items.len()];
        let (from, to) = (Source::Host(&items[..]), Target::Host(&mut output[..]));
        let began = Instant::now();
        gpu.scan(&mut workspace, from, to, &Scan::inclusive(Sum), &ScanOptions::default())?;
        println!("    first scan in {:.1?}", began.elapsed());
    }
    Ok(())
}
