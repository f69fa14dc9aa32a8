//! Sums and scans of rows beside those of the crate `ndarray`, in turns: `axes_beside_ndarray [LOG2_ITEMS] [THREADS]`.
//!
//! Arrays of two dimensions of about as many `f32`, with rows of several lengths along memory and across it, as in `axes_figures`. `ndarray`
//! has one thread. Prints CSV: job, items, milliseconds of a call of ours and of theirs (medians), and of a copy by `ndarray`.
//! Some sums of ours are compared with the specification bit for bit, theirs to a hundredth.

use std::time::Instant;

use ndarray::{Array2, Axis};
use upsweep::reference::specified;
use upsweep::{CpuOptions, Device, Error, NdView, NdViewMut, Reduce, Scan, Sum, ViewMut};

/// Lengths of rows.
const LENGTHS: [usize; 6] = [8, 32, 100, 1000, 1 << 14, 1 << 20];

/// Turns of all jobs on an array.
const TURNS: usize = 9;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let size: u32 = arguments.next().map_or(24, |size| size.parse().expect("a power of two"));
    let device = match arguments.next() {
        Some(threads) => {
            let threads = Some(threads.parse().expect("a number"));
            Device::cpu_with(CpuOptions { threads, ..CpuOptions::default() })?
        }
        None => Device::cpu(),
    };
    println!("job,items,ms,ndarray_ms,copy_ms");
    for length in LENGTHS {
        let count = (1 << size) / length;
        rows(&device, [count, length], 1)?;
        rows(&device, [length, count], 0)?;
    }
    Ok(())
}

/// Rows along an axis of an array of this shape.
fn rows(device: &Device, shape: [usize; 2], axis: usize) -> Result<(), Error> {
    let items = Array2::from_shape_fn(shape, |(i, j)| ((i * shape[1] + j) % 1000) as f32 / 1000.0);
    let count = shape[1 - axis];
    let (sum, scan) = (Reduce::new(Sum), Scan::inclusive(Sum));
    let (mut sums, mut theirs) = (vec![0f32; count], ndarray::Array1::zeros(count));
    let (mut prefixes, mut prefixes_of_theirs) = (items.clone(), items.clone());
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..TURNS {
        let along = NdView::try_from(items.view())?.axis(axis as isize)?;
        let mut turn = 0;
        let mut timed = |call: &mut dyn FnMut() -> Result<(), Error>| {
            let began = Instant::now();
            let done = call();
            times[turn].push(began.elapsed().as_secs_f64() * 1e3);
            turn += 1;
            done
        };
        timed(&mut || along.reduce_into(device, ViewMut::from(&mut sums).shape([count])?, &sum))?;
        timed(&mut || {
            theirs = items.sum_axis(Axis(axis));
            Ok(())
        })?;
        timed(&mut || along.scan_into(device, NdViewMut::try_from(prefixes.view_mut())?, &scan))?;
        timed(&mut || {
            prefixes_of_theirs.assign(&items);
            prefixes_of_theirs.accumulate_axis_inplace(Axis(axis), |&before, item| *item += before);
            Ok(())
        })?;
        timed(&mut || {
            prefixes_of_theirs.assign(&items);
            Ok(())
        })?;
    }
    for (number, lane) in
        items.lanes(Axis(axis)).into_iter().enumerate().step_by(count.div_ceil(10))
    {
        let wanted: f32 = specified::reduce(&lane.to_vec(), &sum);
        assert_eq!(sums[number].to_bits(), wanted.to_bits(), "{number}");
        assert!((theirs[number] - wanted).abs() <= wanted.abs() * 1e-2, "{number}");
    }
    let [own, other, own_scan, other_scan, copy] = times.map(median);
    let (way, length, n) = (["columns", "rows"][axis], shape[axis], items.len());
    println!("sum of {way} of {length},{n},{own:.3},{other:.3},{copy:.3}");
    println!("scan of {way} of {length},{n},{own_scan:.3},{other_scan:.3},{copy:.3}");
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
