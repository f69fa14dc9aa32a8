//! What operators and functions of one's own cost: `own_figures [DEVICE] [LOG2_ITEMS]`.
//!
//! In turns, of arrays that stay on the device: the built-in sum, the same as an annotated function, the sum of an array of as many
//! bytes as two have, and a dot product of two, which reads them as they are. Prints CSV: job, items, milliseconds from call to value
//! (median, quartiles), GB/s of what is read. Every result is checked.

use std::time::Instant;

use upsweep::{Array, Device, Error, Fused, Sum, View, reduce};

#[upsweep::operator(identity = 0.0, padding = -0.0, commutative)]
fn own_sum(left: f32, right: f32) -> f32 {
    left + right
}

#[upsweep::function]
fn product(left: f32, right: f32) -> f32 {
    left * right
}

/// Turns of every job.
const ROUNDS: usize = 31;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let device = Device::open(&arguments.next().unwrap_or_else(|| "cpu".to_owned()))?;
    let size: u32 = arguments.next().map_or(26, |size| size.parse().expect("a power of two"));
    let items = 1usize << size;
    let value = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32;
    let host: Vec<f32> = (0..2 * items).map(value).collect();
    let (left, right) = host.split_at(items);
    let both = Array::from_slice(&device, &host)?;
    let [left, right] = [Array::from_slice(&device, left)?, Array::from_slice(&device, right)?];
    drop(host);
    let pairs = left.view().zip(right.view()).map(product {});
    type Job<'a> = (&'static str, usize, Box<dyn Fn() -> Result<f32, Error> + 'a>);
    let jobs: [Job<'_>; 4] = [
        ("built-in sum", 1, Box::new(|| reduce(&device, &left, Sum))),
        ("own sum", 1, Box::new(|| reduce(&device, &left, OwnSum))),
        ("sum of both", 2, Box::new(|| reduce(&device, &both, Sum))),
        ("dot product", 2, Box::new(|| pairs.reduce(&device, Sum))),
    ];
    // Once for the compilers; the first two are the same in every bit.
    let first: Vec<f32> = jobs.iter().map(|(.., run)| run()).collect::<Result<_, _>>()?;
    assert_eq!(first[0].to_bits(), first[1].to_bits());
    let cpu = Device::cpu();
    let (left, right) = (left.to_vec()?, right.to_vec()?);
    let expected = View::from(&left).zip(View::from(&right)).map(product {}).reduce(&cpu, Sum)?;
    assert_eq!(first[3].to_bits(), expected.to_bits());
    let mut times = [const { Vec::new() }; 4];
    for round in 0..ROUNDS {
        for place in 0..jobs.len() {
            let which = (round + place) % jobs.len();
            let began = Instant::now();
            let found = jobs[which].2()?;
            times[which].push(began.elapsed().as_secs_f64() * 1e3);
            assert_eq!(found.to_bits(), first[which].to_bits());
        }
    }
    println!("job,items,ms,q1_ms,q3_ms,gbps");
    for ((name, arrays, _), times) in jobs.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let [q1, middle, q3] = [1, 2, 3].map(|quarter| times[(ROUNDS - 1) * quarter / 4]);
        let bytes = (arrays * items * size_of::<f32>()) as f64;
        println!("{name},{items},{middle:.4},{q1:.4},{q3:.4},{:.1}", bytes / middle / 1e6);
    }
    Ok(())
}
