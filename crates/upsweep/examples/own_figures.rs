//! What operators and functions of one's own cost: `own_figures [DEVICE] [LOG2_ITEMS]`.
//!
//! In turns, of arrays that stay on the device: the built-in sum, the same as an annotated function, both of `u32` too, the sum of an
//! array of as many bytes as two have, and a dot product of two, which reads them as they are. Prints CSV: job, items, milliseconds from call to value
//! (median, quartiles), GB/s of what is read; on a GPU also of the four sums by its own clock. Every result is checked.

use std::time::Instant;

use upsweep::{Array, Device, Error, Fused, Recording, Reduce, ReducePlan, Sum, View, reduce};

#[upsweep::operator(identity = 0.0, padding = -0.0, commutative)]
fn own_sum(left: f32, right: f32) -> f32 {
    left + right
}

#[upsweep::operator(identity = 0, commutative)]
fn own_sum_of_words(left: u32, right: u32) -> u32 {
    left.wrapping_add(right)
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
    let words: Vec<u32> = left.iter().map(|value| value.to_bits()).collect();
    let words = Array::from_slice(&device, &words)?;
    let [left, right] = [Array::from_slice(&device, left)?, Array::from_slice(&device, right)?];
    drop(host);
    let pairs = left.view().zip(right.view()).map(product {});
    // Every job gives the bits of its value.
    type Job<'a> = (&'static str, usize, Box<dyn Fn() -> Result<u32, Error> + 'a>);
    let jobs: [Job<'_>; 6] = [
        ("built-in sum", 1, Box::new(|| reduce(&device, &left, Sum).map(f32::to_bits))),
        ("own sum", 1, Box::new(|| reduce(&device, &left, OwnSum).map(f32::to_bits))),
        ("built-in sum of u32", 1, Box::new(|| reduce(&device, &words, Sum))),
        ("own sum of u32", 1, Box::new(|| reduce(&device, &words, OwnSumOfWords))),
        ("sum of both", 2, Box::new(|| reduce(&device, &both, Sum).map(f32::to_bits))),
        ("dot product", 2, Box::new(|| pairs.reduce(&device, Sum).map(f32::to_bits))),
    ];
    // Once for the compilers; the first two are the same in every bit, and so are the next.
    let first: Vec<u32> = jobs.iter().map(|(.., run)| run()).collect::<Result<_, _>>()?;
    assert_eq!([first[0], first[2]], [first[1], first[3]]);
    let cpu = Device::cpu();
    let (ours, theirs) = (left.to_vec()?, right.to_vec()?);
    let pairs_here = View::from(&ours).zip(View::from(&theirs));
    let expected = pairs_here.map(product {}).reduce(&cpu, Sum)?;
    assert_eq!(first[5], expected.to_bits());
    let mut times = [const { Vec::new() }; 6];
    for round in 0..ROUNDS {
        for place in 0..jobs.len() {
            let which = (round + place) % jobs.len();
            let began = Instant::now();
            let found = jobs[which].2()?;
            times[which].push(began.elapsed().as_secs_f64() * 1e3);
            assert_eq!(found, first[which]);
        }
    }
    println!("job,items,ms,q1_ms,q3_ms,gbps");
    let print = |name: &str, arrays: usize, mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        let [q1, middle, q3] = [1, 2, 3].map(|quarter| times[(times.len() - 1) * quarter / 4]);
        let bytes = (arrays * items * size_of::<f32>()) as f64;
        println!("{name},{items},{middle:.4},{q1:.4},{q3:.4},{:.1}", bytes / middle / 1e6);
    };
    for ((name, arrays, _), times) in jobs.iter().zip(times) {
        print(name, *arrays, times);
    }
    if device.id() == "cpu" {
        return Ok(());
    }
    let (mut value, mut word) =
        (Array::filled(&device, 1, 0f32)?, Array::filled(&device, 1, 0u32)?);
    let sums: [(&str, Recording); 4] = [
        (
            "built-in sum",
            ReducePlan::new(&device, items, Reduce::new(Sum))?.bind(&left, &mut value)?,
        ),
        ("own sum", ReducePlan::new(&device, items, Reduce::new(OwnSum))?.bind(&left, &mut value)?),
        (
            "built-in sum of u32",
            ReducePlan::new(&device, items, Reduce::new(Sum))?.bind(&words, &mut word)?,
        ),
        (
            "own sum of u32",
            ReducePlan::new(&device, items, Reduce::new(OwnSumOfWords))?.bind(&words, &mut word)?,
        ),
    ];
    let mut times = [const { Vec::new() }; 4];
    for round in 0..ROUNDS {
        for place in 0..sums.len() {
            let which = (round + place) % sums.len();
            // The first of several follows another's.
            let all = sums[which].1.time(8)?.unwrap_or_default();
            times[which].extend(all.iter().skip(1).map(|time| time.as_secs_f64() * 1e3));
            let found = if which < 2 { value.to_vec()?[0].to_bits() } else { word.to_vec()?[0] };
            assert_eq!(found, first[which]);
        }
    }
    for ((name, recording), times) in sums.iter().zip(times).filter(|(_, times)| !times.is_empty())
    {
        let strategy = recording.strategy().map(|strategy| strategy.to_string());
        print(&format!("{name} by {}", strategy.unwrap_or_default()), 1, times);
    }
    Ok(())
}
