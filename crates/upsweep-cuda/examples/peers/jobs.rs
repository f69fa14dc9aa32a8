//! The jobs, each with its engines.

use std::fmt::Debug;

use upsweep_core::{
    Element, GpuReduceStrategy, GpuScanStrategy, Number, Operator, Reduce, Result, Scan, Strategy,
    Sum, Widen, f16, reference,
};
use upsweep_cuda::{Calls, Extreme, Memory, ReduceOptions, ScanOptions, Workspace};
use upsweep_gpu::GpuDevice;
use upsweep_testing::LastSet;

use crate::Bench;
use crate::axes;
use crate::contest::{self, Engine, Pool};
use crate::own;
use crate::segments;
use crate::ways::ways;

/// All jobs of arrays of so many items, but those that are not asked for.
pub(crate) fn run(bench: &Bench, n: usize) -> Result<()> {
    let only = std::env::var("ONLY").unwrap_or_default();
    let wants = |job: &str| job.contains(&only);
    let half = |word| f16::from_f32(unit(word));
    let double = |word| f64::from(unit(word));
    if wants("reduce u32") {
        bench.reduction::<u32, u32>("reduce u32", n, |word| word)?;
    }
    if wants("reduce f32") {
        bench.reduction::<f32, f32>("reduce f32", n, unit)?;
    }
    if wants("reduce u8 u32") {
        bench.reduction::<u8, u32>("reduce u8 u32", n, |word| word as u8)?;
    }
    if wants("reduce f16 f32") {
        bench.reduction::<f16, f32>("reduce f16 f32", n, half)?;
    }
    if wants("argmin f32") {
        bench.argmin("argmin f32", n)?;
    }
    if wants("exclusive_scan u32") {
        bench.scan::<u32, u32, _>("exclusive_scan u32", n, |word| word, Scan::exclusive(Sum))?;
    }
    if wants("inclusive_scan u32") {
        bench.scan::<u32, u32, _>("inclusive_scan u32", n, |word| word, Scan::inclusive(Sum))?;
    }
    if wants("inclusive_scan f32") {
        bench.scan::<f32, f32, _>("inclusive_scan f32", n, unit, Scan::inclusive(Sum))?;
    }
    if wants("inclusive_scan f64") {
        bench.scan::<f64, f64, _>("inclusive_scan f64", n, double, Scan::inclusive(Sum))?;
    }
    if wants("inclusive_scan u8 u32") {
        let item = |word| word as u8;
        bench.scan::<u8, u32, _>("inclusive_scan u8 u32", n, item, Scan::inclusive(Sum))?;
    }
    if wants("reduce u32 unaligned") {
        bench.reduction_from::<u32, u32>("reduce u32 unaligned", 1, n, |word| word)?;
    }
    if wants("reduce f32 unaligned") {
        bench.reduction_from::<f32, f32>("reduce f32 unaligned", 1, n, unit)?;
    }
    if wants("inclusive_scan u32 unaligned") {
        let (job, scan) = ("inclusive_scan u32 unaligned", Scan::inclusive(Sum));
        bench.scan_from::<u32, u32, _>(job, 1, n, |word| word, scan)?;
    }
    if wants("inclusive_scan u32 last set") {
        let job = "inclusive_scan u32 last set";
        bench.scan::<u32, u32, _>(job, n, |word| word & word >> 8 & 3, Scan::inclusive(LastSet))?;
    }
    own::run(bench, n, wants)?;
    segments::run(bench, n, wants)?;
    axes::run(bench, n, wants)
}

impl Bench {
    fn reduction<T, A>(&self, job: &str, n: usize, item: fn(u32) -> T) -> Result<()>
    where
        T: Number + Widen<A>,
        A: Number + Debug,
        Sum: Operator<A>,
    {
        self.reduction_from::<T, A>(job, 0, n, item)
    }

    /// A reduction of all items but the first ones.
    fn reduction_from<T, A>(
        &self,
        job: &str,
        first: usize,
        n: usize,
        item: fn(u32) -> T,
    ) -> Result<()>
    where
        T: Number + Widen<A>,
        A: Number + Debug,
        Sum: Operator<A>,
    {
        let gpu = &self.gpu;
        let items = array(n, item);
        let pool = Pool::holding(gpu, &items)?;
        let (result, theirs) = (Memory::new::<A>(gpu, 1)?, Memory::new::<A>(gpu, 1)?);
        let problem = Reduce::new(Sum);
        let expected = reference::specified::reduce(&items[first..], &problem);
        let mut engines = vec![self.read(&pool)];
        for way in ways(GpuReduceStrategy::all(), Strategy::GpuReduce) {
            let options = ReduceOptions { strategy: way.strategy, policy: way.policy };
            let mut workspace = Workspace::default();
            let (pool, problem, result) = (&pool, &problem, &result);
            let ours = move |turn| {
                let slices = [pool.slice_from(first, turn), result.slice()];
                gpu.begin(&gpu.bind_reduce::<T, A, _>(&mut workspace, slices, problem, &options)?)
            };
            if let Some(engine) = way.engine(ours)? {
                assert_eq!(result.to_vec::<A>()?, [expected], "{}: {job} of {n} items", way.name);
                engines.push(engine);
            }
        }
        for name in [job.to_owned(), format!("{job} same bits")] {
            engines.extend(self.cub(&name, n, &pool, |_| theirs.slice())?);
        }
        self.contest(job, n, size_of_val(&items[..]), engines)
    }

    fn argmin(&self, job: &str, n: usize) -> Result<()> {
        let gpu = &self.gpu;
        let items = array(n, unit);
        let pool = Pool::holding(gpu, &items)?;
        let (result, theirs) = (Memory::new::<u64>(gpu, 1)?, Memory::new::<u64>(gpu, 2)?);
        let least = items.iter().copied().fold(f32::INFINITY, f32::min);
        let expected = items.iter().position(|&item| item == least).map(|place| place as u64);
        let mut engines = vec![self.read(&pool)];
        for way in ways(GpuReduceStrategy::all(), Strategy::GpuReduce) {
            let options = ReduceOptions { strategy: way.strategy, policy: way.policy };
            let mut workspace = Workspace::default();
            let (pool, result) = (&pool, &result);
            let ours = move |turn| {
                let (slices, least) = ([pool.slice(turn), result.slice()], Extreme::Smallest);
                gpu.begin(&gpu.bind_position::<f32>(&mut workspace, slices, least, &options)?)
            };
            if let Some(engine) = way.engine(ours)? {
                let found = result.to_vec::<u64>()?.first().copied();
                assert_eq!(found, expected, "{}: {job} of {n} items", way.name);
                engines.push(engine);
            }
        }
        engines.extend(self.cub(job, n, &pool, |_| theirs.slice())?);
        self.contest(job, n, 4 * n, engines)
    }

    fn scan<T, U, O>(
        &self,
        job: &str,
        n: usize,
        item: fn(u32) -> T,
        problem: Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Number + Widen<<U as Element>::Acc>,
        U: Number + Debug,
        O: Operator<U::Acc>,
    {
        self.scan_from::<T, U, O>(job, 0, n, item, problem)
    }

    /// A scan of all items but the first ones, to where as many are left out.
    fn scan_from<T, U, O>(
        &self,
        job: &str,
        first: usize,
        n: usize,
        item: fn(u32) -> T,
        problem: Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Number + Widen<<U as Element>::Acc>,
        U: Number + Debug,
        O: Operator<U::Acc>,
    {
        let gpu = &self.gpu;
        let items = array(n, item);
        let (pool, outputs) = (Pool::holding(gpu, &items)?, Pool::room::<U>(gpu, n)?);
        let bytes = n * (size_of::<T>() + size_of::<U>());
        // A copy moves as many bytes when it copies half of them.
        let (from, to) = (Pool::room::<u8>(gpu, bytes / 2)?, Pool::room::<u8>(gpu, bytes / 2)?);
        let copy = |turn| self.probe.copy(gpu, gpu.stream(), from.slice(turn), to.slice(turn));
        let mut engines = vec![Engine::new("copy", copy)];
        // One item after another, where nobody sees the order: of 2^30 items the other takes minutes.
        let reference = if O::EXACT { reference::scan } else { reference::specified::scan };
        let expected: Vec<U> = reference(&items[first..], &problem);
        for way in ways(GpuScanStrategy::all(), Strategy::GpuScan) {
            let (strategy, policy) = (way.strategy, way.policy);
            let options = ScanOptions { strategy, policy, stalled: None };
            let mut workspace = Workspace::default();
            let (pool, outputs, problem) = (&pool, &outputs, &problem);
            let ours = move |turn| {
                let slices = [pool, outputs].map(|pool| pool.slice_from(first, turn));
                gpu.begin(&gpu.bind_scan::<T, U, _>(&mut workspace, slices, problem, &options)?)
            };
            if let Some(engine) = way.engine(ours)? {
                let mut found = vec![U::default(); n - first];
                gpu.read_back(&outputs.slice_from(first, 1), &mut found)?;
                let wrong =
                    found.iter().zip(&expected).position(|(found, expected)| found != expected);
                assert_eq!(wrong, None, "{}: {job} of {n} items", way.name);
                engines.push(engine);
            }
        }
        drop((items, expected));
        engines.extend(self.cub(job, n, &pool, |turn| outputs.slice(turn))?);
        self.contest(job, n, bytes, engines)
    }

    pub(crate) fn read<'a>(&'a self, pool: &'a Pool) -> Engine<'a> {
        Engine::new("read", |turn| self.probe.read(&self.gpu, self.gpu.stream(), pool.slice(turn)))
    }

    /// The same job of every library that has it.
    pub(crate) fn cub<'a>(
        &'a self,
        job: &str,
        n: usize,
        pool: &'a Pool,
        output: impl Fn(usize) -> upsweep_cuda::Slice<'a> + Copy + 'a,
    ) -> Result<Vec<Engine<'a>>> {
        let mut engines = Vec::new();
        for peer in &self.peers {
            if let Some(found) = peer.job(&self.gpu, job, n)? {
                let name =
                    peer.name.clone() + if job.ends_with("same bits") { ", same bits" } else { "" };
                engines.push(Engine::new(&name, move |turn| {
                    found.begin(&self.gpu, pool.slice(turn), output(turn))
                }));
            }
        }
        Ok(engines)
    }

    /// Lets them take turns, and prints what came of it.
    pub(crate) fn contest(
        &self,
        job: &str,
        n: usize,
        bytes: usize,
        mut engines: Vec<Engine<'_>>,
    ) -> Result<()> {
        let bytes = bytes as f64;
        let times = contest::hold(&self.gpu, &self.probe, bytes, &mut engines)?;
        for (engine, [middle, q1, q3]) in engines.iter().zip(&times) {
            println!(
                "{job},{n},{},{middle:.2},{q1:.2},{q3:.2},{:.0},{:.1}",
                engine.name.replace(',', ""),
                bytes / middle / 1e3,
                100.0 * times[0][0] / middle
            );
        }
        Ok(())
    }
}

pub(crate) fn array<T>(n: usize, item: fn(u32) -> T) -> Vec<T> {
    (0..n as u32).map(|i| item((i ^ (i >> 7)).wrapping_mul(2_654_435_761))).collect()
}

/// A float in [−1, 1).
pub(crate) fn unit(word: u32) -> f32 {
    (word >> 8) as f32 / (1 << 23) as f32 - 1.0
}
