//! What it costs a call that policies read a profile first: `cargo run --release -p upsweep --example lookup`.

use std::hint::black_box;
use std::time::Instant;

use upsweep::profile::{self, Traffic, Work};
use upsweep::{Device, Limits, Sum};

/// Times of each, of which the median is printed.
const SAMPLES: usize = 101;

/// Calls of one sample, so that reading the clock does not count.
const CALLS: u64 = 10_000;

/// Nanoseconds of one call, the median.
fn nanoseconds(mut call: impl FnMut(u64)) -> f64 {
    let mut times: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let begun = Instant::now();
            (0..CALLS).for_each(|number| call(black_box(number)));
            begun.elapsed().as_secs_f64() * 1e9 / CALLS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[SAMPLES / 2]
}

fn main() {
    println!("what,rows,nanoseconds");
    for interface in ["cuda", "vulkan"] {
        let found = profile::find(&Limits::least("NVIDIA H200", interface)).profile;
        let Some(profile) = found else { continue };
        let rows: usize = profile.reductions.iter().map(|rows| rows.best().len()).sum();
        // Lengths of all sizes, in no order that a branch predictor learns.
        let length = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (34 + number % 24);
        let time = nanoseconds(|number| {
            let work = Work::of::<f64, f64, Sum, f64>();
            black_box(work.and_then(|work| profile.reduction(work, length(number))));
        });
        println!("a row of the shipped profile for {interface},{rows},{time:.1}");
    }
    let auto = Device::auto();
    let time = nanoseconds(|number| {
        black_box(auto.placement(Traffic::Reads, number, &[]));
    });
    println!("a place for a call on arrays of the host,,{time:.1}");
}
