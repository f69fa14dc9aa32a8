//! upsweep's reductions and scans in turns with the limits of memory, and with CUB: the figures of the record.
//!
//! `peers [LOG2_ITEMS …]` prints CSV: job, items, engine, microseconds of the device (mean of the middle half, quartiles), GB/s of the fewest bytes,
//! and per cent of the limit. In every round each engine runs once, so that a change of the clock meets all
//! alike; every run works on another slice of a long array, so that nothing is found in the second-level cache. Every result is checked first.
//!
//! - `CUB=libcub.so[,…]` names libraries made of `benches/peers/cuda/cub.cu`; without, upsweep stands beside the limits alone.
//! - `STRATEGIES=look-back,atomic` and `POLICIES=256x64,512x16` let more of ours take part than what is chosen: strategies with
//!   one of these in their names, threads of a workgroup by items of a thread. So defaults are found.
//! - `ONLY=scan` leaves out the jobs without that in their names; `ROUNDS=25` says how many rounds.
//! - `peers latency` measures from the host's call to the value in the host's memory, in plain calls and as a graph.
//! - `peers first` says what a process's first calls cost, with what is kept in `UPSWEEP_CACHE_DIR`.

mod axes;
mod contest;
mod cub;
mod first;
mod jobs;
mod latency;
mod own;
mod segments;
mod ways;

use std::sync::Arc;

use upsweep_core::Result;
use upsweep_cuda::{Gpu, Probe};

/// What all jobs need.
struct Bench {
    gpu: Arc<Gpu>,
    probe: Probe,
    peers: Vec<cub::Cub>,
}

impl Bench {
    fn new() -> Result<Self> {
        let gpu = Arc::new(Gpu::open(0)?);
        eprintln!("{:?}", gpu.limits());
        let paths = std::env::var("CUB").unwrap_or_default();
        let peers = paths.split(',').filter(|path| !path.is_empty()).map(cub::Cub::load).collect();
        let probe = Probe::new(&gpu)?;
        Ok(Self { gpu, probe, peers })
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("first") => first::run(),
        Some("latency") => latency::run(&Bench::new()?),
        _ => {
            let sizes: Vec<u32> =
                arguments.iter().map(|size| size.parse().expect("a power of two")).collect();
            let sizes = if sizes.is_empty() { vec![16, 20, 24, 28] } else { sizes };
            let bench = Bench::new()?;
            println!("job,items,engine,us,q1_us,q3_us,gbps,pct");
            sizes.into_iter().try_for_each(|size| jobs::run(&bench, 1 << size))
        }
    }
}
