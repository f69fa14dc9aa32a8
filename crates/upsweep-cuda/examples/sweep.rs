//! Device times of reductions and scans for a range of policies, each result checked: what defaults are chosen from.
//!
//! `sweep [LOG2_ITEMS …]` prints CSV: job, items, strategy, threads, items per thread, microseconds (median, quartiles),
//! GB/s of the fewest bytes, and per cent of the limit of the same run. `ONLY=reduce` or another part of a job's name leaves
//! the others out. Before each measured launch another array is read, so that nothing is found in the second-level cache.

use std::sync::Arc;

use upsweep_core::{
    Element, Number, Operator, Reduce, Result, Scan, Sum, Widen, WorkgroupPolicy, f16, reference,
};
use upsweep_cuda::{Gpu, Memory, Probe, ReduceOptions, ScanOptions, Source, Target, Workspace};

/// Bytes that no cache holds beside what is measured.
const FLUSH: usize = 256 << 20;

/// Measured launches of a kernel that moves so many bytes.
fn repeats(bytes: f64) -> usize {
    (5e9 / bytes).clamp(11.0, 100.0) as usize
}

struct Bench {
    gpu: Arc<Gpu>,
    probe: Probe,
    flush: Memory,
}

impl Bench {
    /// Median and quartiles in microseconds.
    fn time(&self, bytes: f64, mut work: impl FnMut() -> Result<()>) -> Result<[f64; 3]> {
        let stream = self.gpu.stream();
        work()?;
        let mut times = Vec::new();
        for _ in 0..repeats(bytes) {
            // Two of them, so that the launch that is measured has been given to the device before it is its turn.
            self.probe.read(&self.gpu, stream, self.flush.slice())?;
            self.probe.read(&self.gpu, stream, self.flush.slice())?;
            times.push(self.gpu.time(stream, &mut work)?.as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        let at = |quarter: usize| times[(times.len() - 1) * quarter / 4];
        Ok([at(2), at(1), at(3)])
    }

    fn reductions<T, A>(&self, job: &str, n: usize, item: fn(u32) -> T) -> Result<()>
    where
        T: Number + Widen<A>,
        A: Number,
        Sum: Operator<A>,
    {
        let items = array(n, item);
        let held = Memory::holding(&self.gpu, &items)?;
        let result = Memory::new::<A>(&self.gpu, 1)?;
        let bytes = size_of_val(&items[..]) as f64;
        let stream = self.gpu.stream();
        let limit = self.time(bytes, || self.probe.read(&self.gpu, stream, held.slice()))?[0];
        let problem = Reduce::new(Sum);
        let expected = reference::specified::reduce(&items, &problem);
        for threads_per_workgroup in [32, 64, 128, 256, 512] {
            for items_per_thread in [64, 128, 256, 512] {
                let policy = WorkgroupPolicy { threads_per_workgroup, items_per_thread };
                let options = ReduceOptions { strategy: None, policy: Some(policy) };
                let mut workspace = Workspace::default();
                let us = self.time(bytes, || {
                    let (from, to) = (held.slice(), result.slice());
                    self.gpu.reduce_into::<T, A, _>(
                        &mut workspace,
                        stream,
                        from,
                        to,
                        &problem,
                        &options,
                    )
                })?;
                self.gpu.wait()?;
                assert_eq!(result.to_vec::<A>()?, [expected], "{job} of {n} items: {policy:?}");
                print(job, n, policy, us, bytes, limit);
            }
        }
        Ok(())
    }

    fn scans<T, U>(&self, job: &str, n: usize, item: fn(u32) -> T, inclusive: bool) -> Result<()>
    where
        T: Number + Widen<<U as Element>::Acc>,
        U: Number,
        Sum: Operator<U::Acc>,
    {
        let items = array(n, item);
        let held = Memory::holding(&self.gpu, &items)?;
        let output = Memory::new::<U>(&self.gpu, n)?;
        let bytes = (n * (size_of::<T>() + size_of::<U>())) as f64;
        let stream = self.gpu.stream();
        // A copy moves as many bytes when it copies half of them.
        let halves = [(); 2].map(|()| Memory::new::<u8>(&self.gpu, bytes as usize / 2));
        let [from, to] = halves;
        let (from, to) = (from?, to?);
        let limit =
            self.time(bytes, || self.probe.copy(&self.gpu, stream, from.slice(), to.slice()))?[0];
        let problem = if inclusive { Scan::inclusive(Sum) } else { Scan::exclusive(Sum) };
        let expected: Vec<U> = reference::specified::scan(&items, &problem);
        for threads_per_workgroup in [128, 256, 512] {
            for items_per_thread in [16, 32, 64] {
                let policy = WorkgroupPolicy { threads_per_workgroup, items_per_thread };
                let options = ScanOptions { strategy: None, policy: Some(policy) };
                let mut workspace = Workspace::default();
                let us = self.time(bytes, || {
                    let (from, to) =
                        (Source::<T>::Device(held.slice()), Target::<U>::Device(output.slice()));
                    self.gpu.scan(&mut workspace, from, to, &problem, &options)
                })?;
                self.gpu.wait()?;
                let found = output.to_vec::<U>()?;
                let wrong =
                    found.iter().zip(&expected).position(|(found, expected)| found != expected);
                assert_eq!(wrong, None, "{job} of {n} items: {policy:?}");
                print(job, n, policy, us, bytes, limit);
            }
        }
        Ok(())
    }
}

fn array<T>(n: usize, item: fn(u32) -> T) -> Vec<T> {
    (0..n as u32).map(|i| item((i ^ (i >> 7)).wrapping_mul(2_654_435_761))).collect()
}

/// A float in [−1, 1).
fn unit(word: u32) -> f32 {
    (word >> 8) as f32 / (1 << 23) as f32 - 1.0
}

fn print(job: &str, n: usize, policy: WorkgroupPolicy, us: [f64; 3], bytes: f64, limit_us: f64) {
    let WorkgroupPolicy { threads_per_workgroup, items_per_thread } = policy;
    println!(
        "{job},{n},{threads_per_workgroup},{items_per_thread},{:.2},{:.2},{:.2},{:.0},{:.0},{:.1}",
        us[0],
        us[1],
        us[2],
        bytes / us[0] / 1e3,
        bytes / limit_us / 1e3,
        100.0 * limit_us / us[0]
    );
}

fn main() -> Result<()> {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut sizes: Vec<u32> =
        std::env::args().skip(1).map(|size| size.parse().expect("a power of two")).collect();
    if sizes.is_empty() {
        sizes = vec![16, 20, 24];
    }
    let gpu = Arc::new(Gpu::open(0)?);
    eprintln!("{:?}", gpu.limits());
    let (probe, flush) = (Probe::new(&gpu)?, Memory::new::<u8>(&gpu, FLUSH)?);
    let bench = Bench { gpu, probe, flush };
    println!("job,items,threads,items_per_thread,median_us,q1_us,q3_us,gbps,limit_gbps,pct");
    for log in sizes {
        let n = 1usize << log;
        let wants = |job: &str| job.contains(&only);
        if wants("reduce u32") {
            bench.reductions::<u32, u32>("reduce u32", n, |word| word)?;
        }
        if wants("reduce f32") {
            bench.reductions::<f32, f32>("reduce f32", n, unit)?;
        }
        if wants("reduce u8 u32") {
            bench.reductions::<u8, u32>("reduce u8 u32", n, |word| word as u8)?;
        }
        if wants("reduce f16 f32") {
            let item = |word| f16::from_f32(unit(word));
            bench.reductions::<f16, f32>("reduce f16 f32", n, item)?;
        }
        if wants("exclusive_scan u32") {
            bench.scans::<u32, u32>("exclusive_scan u32", n, |word| word, false)?;
        }
        if wants("inclusive_scan f32") {
            bench.scans::<f32, f32>("inclusive_scan f32", n, unit, true)?;
        }
        if wants("inclusive_scan f64") {
            bench.scans::<f64, f64>("inclusive_scan f64", n, |word| f64::from(unit(word)), true)?;
        }
        if wants("inclusive_scan u8 u32") {
            bench.scans::<u8, u32>("inclusive_scan u8 u32", n, |word| word as u8, true)?;
        }
    }
    Ok(())
}
