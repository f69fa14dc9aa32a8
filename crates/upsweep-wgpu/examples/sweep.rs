//! Device times of reductions and scans for a range of policies, each result checked: what defaults are chosen from.
//!
//! `sweep [ADAPTER] [LOG2_ITEMS …]` prints CSV: job, items, strategy, threads, items per thread, microseconds
//! (median, quartiles), GB/s of the fewest bytes, and per cent of the limit of the same run.

use std::sync::Arc;
use std::time::Duration;

use upsweep_core::{
    AccessWidth, Arrangement, Element, Error, GpuReduceStrategy, GpuScanStrategy, Load, Operator,
    Reduce, ReduceGlobal, ReduceLocal, Result, Scan, ScanGlobal, ScanLocal, Strategy, Sum, Tail,
    Widen, WorkgroupPolicy, f16,
};
use upsweep_wgpu::{Calls, Gpu, Recording, ReduceOptions, ScanOptions, Slice, Source, Workspace};
use wgpu::BufferUsages;

/// Device time that warms up: a GPU that was idle runs at a fraction of its clock, the longer the host was busy with
/// so many bytes.
fn warm_up(bytes: f64) -> Duration {
    Duration::from_millis(150) + Duration::from_nanos(bytes as u64)
}

/// Measured runs of a recording that moves so many bytes.
fn repeats(bytes: f64) -> u32 {
    (5e9 / bytes).clamp(20.0, 400.0) as u32
}

const STORAGE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let only = std::env::var("ONLY").unwrap_or_default();
    let adapter =
        arguments.next().map_or(0, |number| number.parse().expect("number of an adapter"));
    let mut sizes: Vec<u32> = arguments.map(|size| size.parse().expect("a power of two")).collect();
    if sizes.is_empty() {
        sizes = vec![16, 20, 24];
    }
    let adapters = Gpu::adapters();
    let gpu = Arc::new(Gpu::open("wgpu", adapters.get(adapter).expect("no such adapter"))?);
    eprintln!("{:?}", gpu.limits());
    println!(
        "job,items,strategy,threads,items_per_thread,median_us,q1_us,q3_us,gbps,limit_gbps,pct"
    );
    for log in sizes {
        let n = 1usize << log;
        if "reduce u32".contains(&only) {
            reductions::<u32, u32>(&gpu, "reduce u32", n, |word| word)?;
        }
        if "reduce f32".contains(&only) {
            reductions::<f32, f32>(&gpu, "reduce f32", n, unit)?;
        }
        if "reduce u8 u32".contains(&only) {
            reductions::<u8, u32>(&gpu, "reduce u8 u32", n, |word| word as u8)?;
        }
        if "reduce f16 f32".contains(&only) {
            reductions::<f16, f32>(&gpu, "reduce f16 f32", n, |word| f16::from_f32(unit(word)))?;
        }
        if "exclusive_scan u32".contains(&only) {
            scans::<u32, u32>(&gpu, "exclusive_scan u32", n, |word| word, false)?;
        }
        if "inclusive_scan f32".contains(&only) {
            scans::<f32, f32>(&gpu, "inclusive_scan f32", n, unit, true)?;
        }
        if "inclusive_scan u8 u32".contains(&only) {
            scans::<u8, u32>(&gpu, "inclusive_scan u8 u32", n, |word| word as u8, true)?;
        }
    }
    Ok(())
}

/// A float in [−1, 1).
fn unit(word: u32) -> f32 {
    (word >> 8) as f32 / (1 << 23) as f32 - 1.0
}

fn input<T: bytemuck::NoUninit>(gpu: &Gpu, n: usize, item: fn(u32) -> T) -> (Vec<T>, wgpu::Buffer) {
    let items: Vec<T> =
        (0..n as u32).map(|i| item((i ^ (i >> 7)).wrapping_mul(2_654_435_761))).collect();
    let (device, queue) = gpu.wgpu();
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: size_of_val(items.as_slice()).next_multiple_of(16).max(16) as u64,
        usage: STORAGE,
        mapped_at_creation: false,
    });
    for (piece, bytes) in bytemuck::cast_slice::<T, u8>(&items).chunks(64 << 20).enumerate() {
        queue.write_buffer(&buffer, (piece * (64 << 20)) as u64, bytes);
        queue.submit([]);
    }
    (items, buffer)
}

fn empty(gpu: &Gpu, bytes: u64) -> wgpu::Buffer {
    gpu.wgpu().0.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes.next_multiple_of(16).max(16),
        usage: STORAGE,
        mapped_at_creation: false,
    })
}

/// Median and quartiles in microseconds.
fn timed(gpu: &Gpu, recording: &Recording, bytes: f64) -> Result<[f64; 3]> {
    let repeats = repeats(bytes);
    let run = || Ok(gpu.time(recording, repeats)?.expect("the device has timestamps"));
    let mut busy = Duration::ZERO;
    let warm_up = warm_up(bytes);
    while busy < warm_up {
        let times: Vec<Duration> = run()?;
        busy += times.iter().sum::<Duration>().max(warm_up / 100);
    }
    let mut times = run()?;
    times.sort_unstable();
    let at = |quarter: usize| times[(times.len() - 1) * quarter / 4].as_secs_f64() * 1e6;
    Ok([at(2), at(1), at(3)])
}

fn print(
    job: &str,
    n: usize,
    strategy: Strategy,
    policy: WorkgroupPolicy,
    us: [f64; 3],
    bytes: f64,
    limit: f64,
) {
    let gbps = bytes / us[0] / 1e3;
    println!(
        "{job},{n},{strategy},{},{},{:.2},{:.2},{:.2},{gbps:.0},{limit:.0},{:.1}",
        policy.threads_per_workgroup,
        policy.items_per_thread,
        us[0],
        us[1],
        us[2],
        100.0 * gbps / limit
    );
}

fn loads(width: AccessWidth) -> Load {
    Load { arrangement: Arrangement::Striped, width, tail: Tail::Exact }
}

fn reductions<T, A>(gpu: &Arc<Gpu>, job: &str, n: usize, item: fn(u32) -> T) -> Result<()>
where
    T: Widen<A> + upsweep_core::Number,
    A: upsweep_core::Number,
    Sum: Operator<A>,
{
    let (items, buffer) = input(gpu, n, item);
    let slice = Slice::new(&buffer, T::DTYPE, 0, n as u64)?;
    let result = empty(gpu, 16);
    let to = Slice::new(&result, A::DTYPE, 0, 1)?;
    let bytes = size_of_val(items.as_slice()) as f64;
    let limit = bytes / timed(gpu, &gpu.probe_read(slice, to)?, bytes)?[0] / 1e3;
    let problem = Reduce::new(Sum);
    let expected = if A::EXACT {
        upsweep_core::reference::reduce(&items, &problem)
    } else {
        upsweep_core::reference::specified::reduce(&items, &problem)
    };
    for global in [ReduceGlobal::Atomic, ReduceGlobal::LastBlock, ReduceGlobal::MultiLevel] {
        for threads in [128, 256, 512] {
            for items_per_thread in [16, 32, 64] {
                let strategy = GpuReduceStrategy {
                    load: loads(AccessWidth::Bytes16),
                    local: ReduceLocal::Cooperative,
                    global,
                };
                let policy = WorkgroupPolicy { threads_per_workgroup: threads, items_per_thread };
                let options = ReduceOptions { strategy: Some(strategy), policy: Some(policy) };
                let mut workspace = Workspace::default();
                let slices = [slice, to];
                let bound = gpu.bind_reduce::<T, A, _>(&mut workspace, slices, &problem, &options);
                let recording = match bound {
                    Err(Error::StrategyRefused { .. }) => continue,
                    bound => gpu.recording(bound?)?,
                };
                let us = timed(gpu, &recording, bytes)?;
                let from = Source::<T>::Device(slice);
                let found = gpu.reduce(&mut workspace, from, &problem, &options)?;
                assert_eq!(found, expected, "{job} of {n} items: {strategy:?} {policy:?}");
                print(job, n, Strategy::GpuReduce(strategy), policy, us, bytes, limit);
            }
        }
    }
    Ok(())
}

fn scans<T, U>(
    gpu: &Arc<Gpu>,
    job: &str,
    n: usize,
    item: fn(u32) -> T,
    inclusive: bool,
) -> Result<()>
where
    T: Widen<<U as Element>::Acc> + upsweep_core::Number,
    U: upsweep_core::Number,
    Sum: Operator<U::Acc>,
{
    let (items, buffer) = input(gpu, n, item);
    let slice = Slice::new(&buffer, T::DTYPE, 0, n as u64)?;
    let output = empty(gpu, (n * size_of::<U>()) as u64);
    let to = Slice::new(&output, U::DTYPE, 0, n as u64)?;
    let bytes = (n * (size_of::<T>() + size_of::<U>())) as f64;
    // A copy moves as many bytes when it copies half of them.
    let half = empty(gpu, bytes as u64 / 2);
    let other = empty(gpu, bytes as u64 / 2);
    let words = bytes as u64 / 8;
    let copy = gpu.probe_copy(
        Slice::new(&half, upsweep_core::Dtype::U32, 0, words)?,
        Slice::new(&other, upsweep_core::Dtype::U32, 0, words)?,
    )?;
    let limit = bytes / timed(gpu, &copy, bytes)?[0] / 1e3;
    let problem = if inclusive { Scan::inclusive(Sum) } else { Scan::exclusive(Sum) };
    let expected: Vec<U> = if U::Acc::EXACT {
        upsweep_core::reference::scan(&items, &problem)
    } else {
        upsweep_core::reference::specified::scan(&items, &problem)
    };
    let mut found = expected.clone();
    for &global in ScanGlobal::ALL.iter().filter(|&&global| global != ScanGlobal::ScanThenPropagate)
    {
        for threads in [256, 512] {
            for items_per_thread in [16, 32, 64] {
                let strategy = GpuScanStrategy {
                    load: loads(AccessWidth::Bytes16),
                    local: ScanLocal::Cooperative,
                    global,
                };
                let policy = WorkgroupPolicy { threads_per_workgroup: threads, items_per_thread };
                let options =
                    ScanOptions { strategy: Some(strategy), policy: Some(policy), stalled: None };
                let mut workspace = Workspace::default();
                let slices = [slice, to];
                let bound = gpu.bind_scan::<T, U, _>(&mut workspace, slices, &problem, &options);
                let recording = match bound {
                    Err(Error::StrategyRefused { .. }) => continue,
                    bound => gpu.recording(bound?)?,
                };
                let us = timed(gpu, &recording, bytes)?;
                gpu.read_back(to, &mut found)?;
                let wrong =
                    found.iter().zip(&expected).position(|(found, expected)| found != expected);
                assert_eq!(wrong, None, "{job} of {n} items: {strategy:?} {policy:?}");
                print(job, n, Strategy::GpuScan(strategy), policy, us, bytes, limit);
            }
        }
    }
    Ok(())
}
