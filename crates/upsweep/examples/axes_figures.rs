//! What sums and scans of rows cost: `axes_figures [DEVICE] [LOG2_ITEMS]`.
//!
//! Arrays of two dimensions of about as many `f32`, with rows of several lengths along memory and across it, and transpositions. A turn is
//! some calls and a wait, by the host's clock, beside a copy of the array in the same way. Prints CSV: job, items, milliseconds of a
//! call (median), GB/s of the fewest bytes, and their share of what the copy has. Some rows of each result are checked.

use std::time::{Duration, Instant};

use upsweep::reference::specified;
use upsweep::{Array, Device, Error, NdArray, Reduce, Scan, Sum, View};

/// Lengths of rows.
const LENGTHS: [usize; 7] = [8, 32, 100, 1000, 1 << 14, 1 << 20, 1 << 27];

/// Turns of each job, and calls of a turn.
const TURNS: usize = 5;
const CALLS: usize = 4;

/// How long a job runs before it is timed: a GPU that has waited for the host to check results runs slowly at first.
const WAKING: Duration = Duration::from_millis(300);

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let device = Device::open(&arguments.next().unwrap_or_else(|| "cpu".to_owned()))?;
    let size: u32 = arguments.next().map_or(24, |size| size.parse().expect("a power of two"));
    println!("job,items,ms,gbps,of_copy");
    for length in LENGTHS.into_iter().filter(|&length| length <= (1 << size) / 2) {
        let count = (1 << size) / length;
        rows(&device, [count, length], 1)?;
        rows(&device, [length, count], 0)?;
    }
    let one = |items: usize| items as f32;
    for shape in [[1 << (size / 2), 1 << (size - size / 2)], [(1 << size) / 100, 100]] {
        let items: Vec<f32> = (0..shape[0] * shape[1]).map(one).collect();
        let input = NdArray::new(Array::from_slice(&device, &items)?, shape)?;
        let turned = [shape[1], shape[0]];
        let mut output = NdArray::new(Array::filled(&device, items.len(), 0.0f32)?, turned)?;
        let name = format!("transpose {} by {}", shape[0], shape[1]);
        let time = time(&device, || input.view().transposed().copy_into(&device, &mut output))?;
        let limit = copy(&device, &input)?;
        print(&name, items.len(), 8, time, limit);
        assert_eq!(output.to_vec()?[1], items[shape[1]]);
    }
    Ok(())
}

/// A sum and a scan of rows along an axis.
fn rows(device: &Device, shape: [usize; 2], axis: usize) -> Result<(), Error> {
    let (n, count) = (shape[0] * shape[1], shape[1 - axis]);
    let items: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 / 1000.0).collect();
    let input = NdArray::new(Array::from_slice(device, &items)?, shape)?;
    let mut sums = NdArray::new(Array::filled(device, count, 0.0f32)?, [count])?;
    let mut prefixes = NdArray::new(Array::filled(device, n, 0.0f32)?, shape)?;
    let limit = copy(device, &input)?;
    let (sum, scan) = (Reduce::new(Sum), Scan::inclusive(Sum));
    let way = ["columns", "rows"][axis];
    let along = input.view().axis(axis as isize)?;
    let taken = time(device, || along.reduce_into(device, &mut sums, &sum))?;
    print(&format!("sum of {way} of {}", shape[axis]), n, 4, taken, limit);
    let taken = time(device, || along.scan_into(device, &mut prefixes, &scan))?;
    print(&format!("scan of {way} of {}", shape[axis]), n, 8, taken, limit);
    let (sums, prefixes) = (sums.to_vec()?, prefixes.to_vec()?);
    let [stride, step] = if axis == 1 { [shape[1], 1] } else { [1, shape[1]] };
    for row in (0..count).step_by(count.div_ceil(10)) {
        let of = |all: &[f32]| -> Vec<f32> {
            (0..shape[axis]).map(|item| all[row * stride + item * step]).collect()
        };
        let own = of(&items);
        let wanted: f32 = specified::reduce(&own, &sum);
        assert_eq!(sums[row].to_bits(), wanted.to_bits(), "{way} {row}");
        let wanted: Vec<f32> = specified::scan(&own, &scan);
        assert_eq!(of(&prefixes), wanted, "{way} {row}");
    }
    Ok(())
}

/// Seconds of a copy of an array.
fn copy(device: &Device, input: &NdArray<f32>) -> Result<f64, Error> {
    let items = input.len();
    let mut output = NdArray::new(Array::filled(device, items, 0.0f32)?, [items])?;
    let flat = View::from(input.array()).shape([items])?;
    time(device, || flat.copy_into(device, &mut output))
}

/// Seconds of a call, the median of several turns.
fn time(device: &Device, mut call: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let begun = Instant::now();
    while begun.elapsed() < WAKING {
        call()?;
        device.wait()?;
    }
    let mut times = Vec::new();
    for _ in 0..TURNS {
        let began = Instant::now();
        (0..CALLS).try_for_each(|_| call())?;
        device.wait()?;
        times.push(began.elapsed().as_secs_f64() / CALLS as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[TURNS / 2])
}

fn print(job: &str, items: usize, bytes: usize, time: f64, copy: f64) {
    let rate = (bytes * items) as f64 / time / 1e9;
    let limit = (8 * items) as f64 / copy / 1e9;
    println!("{job},{items},{:.3},{rate:.0},{:.3}", time * 1e3, rate / limit);
}
