//! From the host's call to the value in the host's memory: what a small reduction costs its caller.

use std::hint::black_box;
use std::time::Instant;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use upsweep_core::{Reduce, Result, Sum};
use upsweep_cuda::{Calls, Memory, ReduceOptions, Source, Workspace};

use crate::Bench;
use crate::contest::middle_and_quartiles;

/// Calls that are measured, and calls before.
const CALLS: usize = 2000;
const WARMUP: usize = 500;

pub(crate) fn run(bench: &Bench) -> Result<()> {
    println!("job,items,way,us,q1_us,q3_us");
    for n in [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 20] {
        sums(bench, n)?;
    }
    Ok(())
}

/// One way to a sum.
type Way<'a> = (String, Box<dyn FnMut() -> Result<u32> + 'a>);

fn sums(bench: &Bench, n: usize) -> Result<()> {
    let gpu = &bench.gpu;
    let stream = gpu.stream();
    let items: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let expected = items.iter().fold(0u32, |sum, &item| sum.wrapping_add(item));
    let (array, result) = (Memory::holding(gpu, &items)?, Memory::new::<u32>(gpu, 4)?);
    let (problem, options) = (Reduce::new(Sum), ReduceOptions::default());
    let (mut plain, mut captured) = (Workspace::default(), Workspace::default());

    // SAFETY: the array lives longer than what is bound to it.
    let mut awaited = unsafe {
        gpu.bind_awaited::<u32, u32, _>(&mut captured, array.slice(), &problem, &options)
    }?;
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    stream.begin_capture(mode).expect("a capture begins");
    // SAFETY: the graph is gone before the recording.
    unsafe { awaited.recording().capture(stream) }?;
    let graph = stream.end_capture(flags).expect("a capture ends").expect("something was captured");

    let mut ways: Vec<Way<'_>> = vec![(
        "upsweep".to_owned(),
        Box::new(|| {
            let input = Source::Device(array.slice());
            gpu.reduce::<u32, u32, _>(&mut plain, input, &problem, &options)
        }),
    )];
    let mut planned = Workspace::default();
    // SAFETY: as above.
    let mut bound = unsafe {
        gpu.bind_awaited::<u32, u32, _>(&mut planned, array.slice(), &problem, &options)
    }?;
    ways.push((
        "upsweep planned".to_owned(),
        Box::new(move || {
            bound.recording().submit()?;
            bound.wait(stream)
        }),
    ));
    ways.push((
        "upsweep as a graph".to_owned(),
        Box::new(|| {
            graph.launch().expect("a graph is launched");
            awaited.wait(stream)
        }),
    ));
    for peer in &bench.peers {
        let job = peer.job(gpu, "reduce u32", n)?.expect("it has sums");
        let (from, to) = (array.slice(), result.slice());
        ways.push((
            peer.name.clone(),
            Box::new(move || {
                job.begin(gpu, from, to)?;
                let mut value = [0; 4];
                gpu.read_back(&to, &mut value).map(|()| value[0])
            }),
        ));
    }
    let mut times = vec![Vec::new(); ways.len()];
    for call in 0..WARMUP + CALLS {
        for ((name, way), times) in ways.iter_mut().zip(&mut times) {
            let began = Instant::now();
            let found = black_box(way()?);
            let us = began.elapsed().as_secs_f64() * 1e6;
            assert_eq!(found, expected, "{name}: {n} items");
            if call >= WARMUP {
                times.push(us);
            }
        }
    }
    for ((name, _), times) in ways.iter().zip(times) {
        let [middle, q1, q3] = middle_and_quartiles(times);
        println!("reduce u32,{n},{name},{middle:.2},{q1:.2},{q3:.2}");
    }
    Ok(())
}
