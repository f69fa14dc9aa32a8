//! Device times of reductions and scans for a range of policies, each result checked: what defaults are chosen from.
//!
//! `sweep [LOG2_ITEMS …]` prints CSV: job, items, strategy, policy (threads x items per thread), microseconds (median,
//! quartiles), GB/s of the fewest bytes and of the limit of the same run, and per cent of it. `REDUCE=256x64` and
//! `SCAN=256x64,512x32` name policies, `STRATEGY=look-back,striped-4-exact/raking/reduce-then-scan` strategies of scans;
//! `ONLY=reduce` or another part of a job's name leaves the others out, `REPEATS=3` measures as often. Each launch works on another slice of a long array, so that nothing is found in the second-level cache.

use std::sync::Arc;

use upsweep_core::{
    AccessWidth, Arrangement, Element, Error, GpuReduceStrategy, GpuScanStrategy, Load, Number,
    Operator, Reduce, Result, Scan, ScanLocal, Strategy, Sum, Tail, Widen, WorkgroupPolicy, f16,
    reference,
};
use upsweep_cuda::{Gpu, Memory, Probe, ReduceOptions, ScanOptions, Slice, Workspace};

/// Items of the array whose slices are worked on: their bytes are several times those of the second-level cache.
const POOL: usize = 1 << 26;

/// Measured launches of a kernel that moves so many bytes.
fn repeats(bytes: f64) -> usize {
    let asked = std::env::var("REPEATS").ok().and_then(|count| count.parse().ok());
    asked.unwrap_or((5e9 / bytes).clamp(11.0, 100.0) as usize)
}

struct Bench {
    gpu: Arc<Gpu>,
    probe: Probe,
}

/// Long arrays, of which each launch takes another slice.
struct Pool {
    memory: Memory,
    items: usize,
}

impl Pool {
    fn slice(&self, turn: usize) -> Slice<'_> {
        let slices = self.memory.len() / self.items;
        let begin = (turn % slices * self.items) as u64;
        let slice = self.memory.slice().part(begin..begin + self.items as u64);
        slice.expect("it is among them")
    }
}

impl Bench {
    /// Slices of which each holds these items.
    fn pool<T: Number>(&self, items: &[T]) -> Result<Pool> {
        let slices = (POOL / items.len()).max(1);
        let memory = Memory::holding(&self.gpu, &items.repeat(slices))?;
        Ok(Pool { memory, items: items.len() })
    }

    /// Slices for as many items.
    fn room<T: Number>(&self, items: usize) -> Result<Pool> {
        let slices = (POOL / items).max(1);
        Ok(Pool { memory: Memory::new::<T>(&self.gpu, slices * items)?, items })
    }

    /// Median and quartiles in microseconds; `work` is given its turn.
    fn time(&self, bytes: f64, mut work: impl FnMut(usize) -> Result<()>) -> Result<[f64; 3]> {
        let stream = self.gpu.stream();
        work(0)?;
        let mut times = Vec::new();
        for turn in 1..=repeats(bytes) {
            times.push(self.probe.time(&self.gpu, stream, || work(turn))?.as_secs_f64() * 1e6);
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
        let pool = self.pool(&items)?;
        let result = Memory::new::<A>(&self.gpu, 1)?;
        let bytes = size_of_val(&items[..]) as f64;
        let stream = self.gpu.stream();
        let limit =
            self.time(bytes, |turn| self.probe.read(&self.gpu, stream, pool.slice(turn)))?[0];
        print(job, n, "read", "", [limit; 3], bytes, limit);
        let problem = Reduce::new(Sum);
        let expected = reference::specified::reduce(&items, &problem);
        // Names of strategies, as `blocked-16-checked/raking/last-block`, or `all`; without any, the default.
        let names = std::env::var("STRATEGY").unwrap_or_default();
        let mut strategies: Vec<Option<GpuReduceStrategy>> = match names.as_str() {
            "all" => GpuReduceStrategy::all().map(Some).collect(),
            names => names.split(',').filter_map(|name| name.parse().ok().map(Some)).collect(),
        };
        if strategies.is_empty() {
            strategies.push(None);
        }
        for strategy in strategies {
            let name =
                strategy.map_or("default".to_owned(), |s| Strategy::GpuReduce(s).to_string());
            for policy in policies("REDUCE", &[32, 64, 128, 256, 512], &[64, 128, 256, 512]) {
                let options = ReduceOptions { strategy, policy };
                let mut workspace = Workspace::default();
                let reduced = self.time(bytes, |turn| {
                    let (from, to) = (pool.slice(turn), result.slice());
                    let gpu = &self.gpu;
                    gpu.reduce_into::<T, A, _>(&mut workspace, stream, from, to, &problem, &options)
                });
                let us = match reduced {
                    Err(refused @ Error::StrategyRefused { .. }) => {
                        eprintln!("{job}: {refused}");
                        break;
                    }
                    us => us?,
                };
                self.gpu.wait()?;
                assert_eq!(result.to_vec::<A>()?, [expected], "{job} of {n}: {name} {policy:?}");
                print(job, n, &name, &written(policy), us, bytes, limit);
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
        let (pool, outputs) = (self.pool(&items)?, self.room::<U>(n)?);
        let bytes = (n * (size_of::<T>() + size_of::<U>())) as f64;
        let stream = self.gpu.stream();
        // A copy moves as many bytes when it copies half of them.
        let half = bytes as usize / 2;
        let (from, to) = (self.room::<u8>(half)?, self.room::<u8>(half)?);
        let limit = self.time(bytes, |turn| {
            self.probe.copy(&self.gpu, stream, from.slice(turn), to.slice(turn))
        })?[0];
        print(job, n, "copy", "", [limit; 3], bytes, limit);
        let problem = if inclusive { Scan::inclusive(Sum) } else { Scan::exclusive(Sum) };
        let expected: Vec<U> = reference::specified::scan(&items, &problem);
        for (name, strategy) in strategies() {
            for policy in policies("SCAN", &[128, 256, 512], &[16, 32, 64]) {
                let options = ScanOptions { strategy: Some(strategy), policy, stalled: None };
                let mut workspace = Workspace::default();
                let mut last = 0;
                let us = self.time(bytes, |turn| {
                    last = turn;
                    let slices = [pool.slice(turn), outputs.slice(turn)];
                    let gpu = &self.gpu;
                    gpu.scan_into::<T, U, _>(&mut workspace, stream, slices, &problem, &options)
                })?;
                self.gpu.wait()?;
                let mut found = vec![U::default(); n];
                self.gpu.read_back(&outputs.slice(last), &mut found)?;
                let wrong =
                    found.iter().zip(&expected).position(|(found, expected)| found != expected);
                assert_eq!(wrong, None, "{job} of {n} items: {policy:?}");
                print(job, n, &name, &written(policy), us, bytes, limit);
            }
        }
        Ok(())
    }
}

/// The strategies of scans that `STRATEGY` names, each as `load/local/global` or by its global part; else the tuned ones.
fn strategies() -> Vec<(String, GpuScanStrategy)> {
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes16, tail: Tail::Exact };
    let named = std::env::var("STRATEGY").unwrap_or("aggregates,look-back".to_owned());
    let strategy = |name: &str| match name.parse() {
        Ok(global) => GpuScanStrategy { load, local: ScanLocal::Cooperative, global },
        Err(_) => name.parse().expect("a strategy"),
    };
    named.split(',').map(|name| (name.to_owned(), strategy(name))).collect()
}

/// The policies that a variable names, as `256x64,512x32`, or all that these numbers make; none is the default.
fn policies(variable: &str, threads: &[u32], items: &[u32]) -> Vec<Option<WorkgroupPolicy>> {
    let policy = |threads_per_workgroup, items_per_thread| {
        Some(WorkgroupPolicy { threads_per_workgroup, items_per_thread })
    };
    let mut all = vec![None];
    if let Ok(named) = std::env::var(variable) {
        for name in named.split(',').filter(|name| !name.is_empty()) {
            let (threads, items) = name.split_once('x').expect("threads x items");
            all.push(policy(threads.parse().expect("a number"), items.parse().expect("a number")));
        }
    } else {
        all.extend(threads.iter().flat_map(|&t| items.iter().map(move |&i| policy(t, i))));
    }
    all
}

fn written(policy: Option<WorkgroupPolicy>) -> String {
    policy.map_or("chosen".to_owned(), |policy| {
        format!("{}x{}", policy.threads_per_workgroup, policy.items_per_thread)
    })
}

fn array<T>(n: usize, item: fn(u32) -> T) -> Vec<T> {
    (0..n as u32).map(|i| item((i ^ (i >> 7)).wrapping_mul(2_654_435_761))).collect()
}

/// A float in [−1, 1).
fn unit(word: u32) -> f32 {
    (word >> 8) as f32 / (1 << 23) as f32 - 1.0
}

fn print(
    job: &str,
    n: usize,
    strategy: &str,
    policy: &str,
    us: [f64; 3],
    bytes: f64,
    limit_us: f64,
) {
    println!(
        "{job},{n},{strategy},{policy},{:.2},{:.2},{:.2},{:.0},{:.0},{:.1}",
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
    let probe = Probe::new(&gpu)?;
    let bench = Bench { gpu, probe };
    println!("job,items,strategy,policy,median_us,q1_us,q3_us,gbps,limit_gbps,pct");
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
