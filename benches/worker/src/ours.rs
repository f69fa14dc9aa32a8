//! upsweep, as its users call it: `upsweep` chooses for itself, `upsweep.simd` stays on one
//! thread. Also the reference for every engine, and for rounding sums the specified order, whose
//! bits both must have.

use std::cell::RefCell;
use std::rc::Rc;

use rayon::prelude::*;
use upsweep::reference::{self, specified};
use upsweep::strategy::CpuStrategy;
use upsweep::summation::{TILE, WINDOW};
use upsweep::{
    ArgMax, ArgMin, CpuOptions, Device, Element, Indexed, Max, Min, Number, Operator, Reduce, Scan,
    Sum, Widen,
};
use upsweep_worker::{Arrays, Buffer, Cell, Digest, Item, Kind, digest, hash};

/// Items of which the reference makes prefixes at once.
const CHUNK: usize = 1 << 20;

/// About how many windows of a rounding scan are compared with the specified bits.
const COMPARED: usize = 64;

fn devices() -> [(&'static str, usize, Device); 2] {
    let options = CpuOptions { strategy: Some(CpuStrategy::Simd), ..CpuOptions::default() };
    let simd = Device::cpu_with(options).expect("every CPU has vectors of some kind");
    [("upsweep", rayon::current_num_threads(), Device::cpu()), ("upsweep.simd", 1, simd)]
}

fn rounding<T: Item>(items: usize) -> Buffer<T> {
    Buffer::of(items, |index| T::of(hash(index), Kind::Unit))
}

fn same_bits<A: Item>(found: &[A], expected: &[A], first: usize) -> Result<(), String> {
    let pairs = found.iter().zip(expected);
    match pairs.enumerate().find(|(_, (found, expected))| found.bits() != expected.bits()) {
        None => Ok(()),
        Some((item, _)) => Err(format!("item {} has not the specified bits", first + item)),
    }
}

pub(crate) fn sum<T, A>(cell: &mut Cell, arrays: &Arrays<T>)
where
    T: Item + Widen<A>,
    A: Item + Element,
    Sum: Operator<A>,
{
    let input = Rc::clone(&arrays.input);
    cell.expect(move || digest(&[reference::reduce::<T, A, _>(&input, &Reduce::new(Sum))]));
    for (name, threads, device) in devices() {
        let sum = move |items: &[T]| -> A {
            upsweep::reduce_as(&device, items, Sum).expect("a sum of anything")
        };
        cell.reduction(name, threads, &arrays.input, sum.clone());
        let items = arrays.input.len();
        if !A::EXACT {
            cell.also(move || {
                let input = rounding(items);
                same_bits(&[sum(&input)], &[specified_sum(&input)], 0)
            });
        }
    }
}

/// The specified sum: tiles on all threads, then the tree over them.
fn specified_sum<T, A>(items: &[T]) -> A
where
    T: Widen<A>,
    A: Element,
    Sum: Operator<A>,
{
    let tile = |tile: &[T]| specified::reduce(tile, &Reduce::new(Sum));
    let mut level: Vec<A> = items.par_chunks(TILE).map(tile).collect();
    while level.len() > 1 {
        let pairs = level.chunks(2);
        level = pairs.map(|pair| pair.iter().copied().reduce(add).expect("one or two")).collect();
    }
    level.first().copied().unwrap_or(Sum.identity())
}

fn add<A: Element>(left: A, right: A) -> A
where
    Sum: Operator<A>,
{
    Sum.combine(left, right)
}

pub(crate) fn position<T>(cell: &mut Cell, arrays: &Arrays<T>, largest: bool)
where
    T: Item + Number<Acc = T>,
    Min: Operator<T>,
    Max: Operator<T>,
    ArgMin: Operator<Indexed<T>>,
    ArgMax: Operator<Indexed<T>>,
{
    let input = Rc::clone(&arrays.input);
    cell.expect(move || {
        let pairs = (0u64..).zip(input.iter());
        let items: Vec<_> = pairs.map(|(index, &value)| Indexed { value, index }).collect();
        let found: Indexed<T> = match largest {
            true => reference::reduce(&items, &Reduce::new(ArgMax)),
            false => reference::reduce(&items, &Reduce::new(ArgMin)),
        };
        digest(&[found.index])
    });
    for (name, threads, device) in devices() {
        if largest {
            cell.reduction(name, threads, &arrays.input, move |items| {
                upsweep::argmax(&device, items).expect("a CPU").expect("items")
            });
        } else {
            cell.reduction(name, threads, &arrays.input, move |items| {
                upsweep::argmin(&device, items).expect("a CPU").expect("items")
            });
        }
    }
}

pub(crate) fn scan<T>(cell: &mut Cell, arrays: &Arrays<T>)
where
    T: Item + Element<Acc = T>,
    Sum: Operator<T>,
{
    let input = Rc::clone(&arrays.input);
    cell.expect(move || {
        let mut problem = Scan::inclusive(Sum);
        let mut digest = Digest::default();
        for chunk in input.chunks(CHUNK) {
            let prefixes: Vec<T> = reference::scan(chunk, &problem);
            digest.add(&prefixes);
            problem = problem.init(prefixes[prefixes.len() - 1]);
        }
        digest.value()
    });
    for (name, threads, device) in devices() {
        let scan = move |items: &[T], output: &mut [T]| {
            upsweep::inclusive_scan_into(&device, items, output, Sum).expect("equal lengths");
        };
        cell.scan(name, threads, &arrays.input, &arrays.output, scan.clone());
        let output = Rc::clone(&arrays.output);
        if !T::EXACT {
            cell.also(move || has_specified_bits(&scan, &output));
        }
    }
}

/// Compares a scan that rounds with the specified one, window by window on all threads: the scan
/// of a window that starts with the carry of those before it is its part of the whole scan. Of
/// long scans some windows are compared, evenly spread: the specified order in plain code is slow.
fn has_specified_bits<T>(
    scan: &impl Fn(&[T], &mut [T]),
    output: &RefCell<Buffer<T>>,
) -> Result<(), String>
where
    T: Item + Element<Acc = T>,
    Sum: Operator<T>,
{
    let mut output = output.borrow_mut();
    let input = rounding(output.len());
    scan(&input, &mut output);

    let totals: Vec<T> = input.par_chunks_exact(WINDOW).map(window_total).collect();
    let mut carries = vec![None];
    for (window, &total) in totals.iter().enumerate() {
        carries.push(Some(carries[window].map_or(total, |carry| add(carry, total))));
    }

    let windows = output.par_chunks(WINDOW).zip(input.par_chunks(WINDOW)).zip(carries);
    let stride = (totals.len() / COMPARED).max(1);
    windows.enumerate().step_by(stride).try_for_each(|(window, ((found, items), carry))| {
        let mut problem = Scan::inclusive(Sum);
        problem.init = carry;
        let expected: Vec<T> = specified::scan(items, &problem);
        same_bits(found, &expected, window * WINDOW)
    })
}

/// The total of a whole window: groups, rows and tiles are powers of two, so that together they
/// are one binary tree.
fn window_total<T: Element>(items: &[T]) -> T
where
    Sum: Operator<T>,
{
    let mut level = items.to_vec();
    while level.len() > 1 {
        level = level.as_chunks::<2>().0.iter().map(|&[left, right]| add(left, right)).collect();
    }
    level[0]
}
