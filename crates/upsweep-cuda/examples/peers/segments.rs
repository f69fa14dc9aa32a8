//! Segmented reductions and scans by key, beside CUB.

use upsweep_core::{
    GpuScanStrategy, Reduce, Result, Scan, SegmentedBy, Strategy, Sum, reference::segmented,
};
use upsweep_cuda::{Calls, Marks, Memory, ScanOptions, Workspace};
use upsweep_gpu::GpuDevice;

use crate::Bench;
use crate::contest::{Engine, Pool};
use crate::jobs::{array, unit};
use crate::ways::ways;

/// All of them, for arrays of so many items.
pub(crate) fn run(bench: &Bench, n: usize, wants: impl Fn(&str) -> bool) -> Result<()> {
    for size in [16, 256, 65_536] {
        let job = format!("segmented_reduce f32 of {size}");
        if wants(&job) && size <= n {
            let offsets = (0..=n).step_by(size).map(|offset| offset as u32).collect();
            bench.segmented_reduce(&job, n, offsets)?;
        }
    }
    if wants("segmented_reduce f32 mixed") {
        bench.segmented_reduce("segmented_reduce f32 mixed", n, mixed(n))?;
    }
    if wants("inclusive_scan_by_key u32") {
        bench.scan_by_key("inclusive_scan_by_key u32", n)?;
    }
    if wants("reduce_by_key u32") {
        bench.reduce_by_key("reduce_by_key u32", n)?;
    }
    Ok(())
}

/// Segments of which each size, a power of two up to 2^22, has about as many items in all as any other; so half of them have
/// one item, a quarter two.
fn mixed(n: usize) -> Vec<u32> {
    let (mut offsets, mut state) = (vec![0u32], 1u64);
    let mut end = 0;
    while end < n {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = 1usize << (state >> 32 | 1 << 22).trailing_zeros().min(22);
        end = n.min(end + size);
        offsets.push(end as u32);
    }
    offsets
}

impl Bench {
    fn segmented_reduce(&self, job: &str, n: usize, offsets: Vec<u32>) -> Result<()> {
        let gpu = &self.gpu;
        let items = array(n, unit);
        let segments = offsets.len() - 1;
        let (pool, outputs) = (Pool::holding(gpu, &items)?, Pool::room::<f32>(gpu, segments)?);
        let offsets_there = Memory::holding(gpu, &offsets)?;
        let problem = Reduce::new(Sum);
        let bounds: Vec<usize> = offsets.iter().map(|&offset| offset as usize).collect();
        let expected: Vec<f32> = segmented::reduce_by_offsets(&items, &bounds, &problem);
        let mut engines = vec![self.read(&pool)];
        for way in ways(GpuScanStrategy::all(), Strategy::GpuScan) {
            let options =
                ScanOptions { strategy: way.strategy, policy: way.policy, ..Default::default() };
            let mut workspace = Workspace::default();
            let (pool, outputs, problem) = (&pool, &outputs, &problem);
            let marks = offsets_there.slice();
            let ours = move |turn| {
                let slices = [pool.slice(turn), outputs.slice(turn)];
                let bound = gpu.bind_segmented_reduce::<f32, f32, _>(
                    &mut workspace,
                    slices,
                    Marks { by: SegmentedBy::Offsets, kind: marks.kind(), slice: marks },
                    [None, None],
                    problem,
                    &options,
                )?;
                gpu.begin(&bound)
            };
            if let Some(engine) = way.engine(ours)? {
                let mut found = vec![0.0f32; segments];
                gpu.read_back(&outputs.slice(1), &mut found)?;
                let wrong = found.iter().zip(&expected).position(|(found, wanted)| found != wanted);
                assert_eq!(wrong, None, "{}: {job} of {n} items", way.name);
                engines.push(engine);
            }
        }
        for peer in &self.peers {
            let theirs = peer.segmented_job(gpu, "segmented_reduce f32", n, segments)?;
            if let Some(theirs) = theirs {
                let marks = (offsets_there.slice().pointer(), segments as u64);
                let (pool, outputs) = (&pool, &outputs);
                engines.push(Engine::new(&peer.name, move |turn| {
                    theirs.begin_segments(gpu, pool.slice(turn), outputs.slice(turn), marks)
                }));
            }
        }
        self.contest(job, n, 4 * (n + segments), engines)
    }

    fn scan_by_key(&self, job: &str, n: usize) -> Result<()> {
        let gpu = &self.gpu;
        let items = array(n, |word| word);
        let keys: Vec<u32> = (0..n).map(|item| item as u32 / 8).collect();
        let (pool, outputs) = (Pool::holding(gpu, &items)?, Pool::room::<u32>(gpu, n)?);
        let keys = Memory::holding(gpu, &keys)?;
        // As many bytes in and out as a copy of three halves of the items.
        let (from, to) = (Memory::new::<u32>(gpu, n / 2 * 3)?, Memory::new::<u32>(gpu, n / 2 * 3)?);
        let copy = |_| self.probe.copy(gpu, gpu.stream(), from.slice(), to.slice());
        let problem = Scan::inclusive(Sum);
        let mut engines = vec![Engine::new("copy", copy)];
        for way in ways(GpuScanStrategy::all(), Strategy::GpuScan) {
            let options =
                ScanOptions { strategy: way.strategy, policy: way.policy, ..Default::default() };
            let mut workspace = Workspace::default();
            let (pool, outputs, problem, keys) = (&pool, &outputs, &problem, &keys);
            let ours = move |turn| {
                let (slices, keys) = ([pool.slice(turn), outputs.slice(turn)], keys.slice());
                let bound = gpu.bind_segmented_scan::<u32, u32, _>(
                    &mut workspace,
                    slices,
                    Marks { by: SegmentedBy::Keys, kind: keys.kind(), slice: keys },
                    problem,
                    &options,
                )?;
                gpu.begin(&bound)
            };
            if let Some(engine) = way.engine(ours)? {
                let mut found = vec![0u32; n];
                gpu.read_back(&outputs.slice(1), &mut found)?;
                let mut sum = 0u32;
                for (item, (&value, &found)) in items.iter().zip(&found).enumerate() {
                    sum = if item % 8 == 0 { value } else { sum.wrapping_add(value) };
                    assert_eq!(found, sum, "{}: {job} of {n} items, item {item}", way.name);
                }
                engines.push(engine);
            }
        }
        for peer in &self.peers {
            if let Some(theirs) = peer.segmented_job(gpu, "inclusive_scan_by_key u32", n, 0)? {
                let marks = (keys.slice().pointer(), 0);
                let (pool, outputs) = (&pool, &outputs);
                engines.push(Engine::new(&peer.name, move |turn| {
                    theirs.begin_segments(gpu, pool.slice(turn), outputs.slice(turn), marks)
                }));
            }
        }
        self.contest(job, n, 12 * n, engines)
    }

    fn reduce_by_key(&self, job: &str, n: usize) -> Result<()> {
        let gpu = &self.gpu;
        let items = array(n, |word| word);
        let keys: Vec<u32> = (0..n).map(|item| item as u32 / 8).collect();
        let (pool, keys) = (Pool::holding(gpu, &items)?, Memory::holding(gpu, &keys)?);
        let (unique, output) = (Memory::new::<u32>(gpu, n)?, Memory::new::<u32>(gpu, n)?);
        let count = Memory::new::<u64>(gpu, 1)?;
        let (problem, options) = (Reduce::new(Sum), ScanOptions::default());
        let mut workspace = Workspace::default();
        let mut ours = |turn| {
            let (slices, keys) = ([pool.slice(turn), output.slice()], keys.slice());
            let asked = [Some(unique.slice()), Some(count.slice())];
            let bound = gpu.bind_segmented_reduce::<u32, u32, _>(
                &mut workspace,
                slices,
                Marks { by: SegmentedBy::Keys, kind: keys.kind(), slice: keys },
                asked,
                &problem,
                &options,
            )?;
            gpu.begin(&bound)
        };
        ours(0)?;
        let runs = n.div_ceil(8);
        assert_eq!(count.to_vec::<u64>()?, [runs as u64], "{job} of {n} items");
        let found = output.to_vec::<u32>()?;
        for (run, (values, &found)) in items.chunks(8).zip(&found).enumerate() {
            let sum = values.iter().fold(0u32, |sum, value| sum.wrapping_add(*value));
            assert_eq!(found, sum, "{job} of {n} items, run {run}");
        }
        self.contest(job, n, 9 * n, vec![self.read(&pool), Engine::new("upsweep", ours)])
    }
}
