//! What compactions by one's own types cost on a GPU: `compaction_figures [DEVICE] [LOG2_ITEMS]`.
//!
//! Each job in turns with a copy of what it reads, by the device's own clock: reductions by key of several types, run lengths and selections of `u32`; points of twelve
//! bytes that are selected, partitioned, and made unique. Half of the items have a flag, of selections of `u32` also a tenth and nine tenths; runs have eight items. Prints CSV: job, items,
//! microseconds (median), GB/s of the fewest bytes, and their share of what the copy has. Every result is checked.

use std::time::Duration;

use upsweep::reference::compaction;
use upsweep::{
    Array, Device, Element, Error, Recording, Reduce, Sum, bind_partition, bind_reduce_by_key,
    bind_run_length_encode, bind_select, bind_unique,
};

/// Items of a run.
const RUN: usize = 8;

/// Turns of a job and its copy, and runs of each in a turn.
const TURNS: usize = 5;
const RUNS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
    id: u32,
}

/// What is timed.
struct Job<'a> {
    name: &'a str,
    items: usize,
    /// The fewest bytes that it moves.
    bytes: usize,
    recording: Recording,
    /// A copy, and the bytes that it moves.
    copy: (Recording, usize),
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let device = &Device::open(&arguments.next().unwrap_or_else(|| "wgpu:0".to_owned()))?;
    let size: u32 = arguments.next().map_or(20, |size| size.parse().expect("a power of two"));
    let items = 1usize << size;
    let mixed = |i: usize| (i as u32).wrapping_mul(2_654_435_761);
    let flags: Vec<u8> = (0..items).map(|i| (mixed(i) >> 16 & 1) as u8).collect();
    println!("job,items,us,gbps,of_copy");
    by_key(device, "u32", items, mixed)?;
    by_key(device, "u8", items, |i| mixed(i) as u8)?;
    by_key(device, "u64", items, |i| u64::from(mixed(i)) << 32)?;
    words(device, items, mixed)?;
    let of_run = |i: usize| Point { x: i as f32, y: -(i as f32), id: mixed(i) };
    let points: Vec<Point> = (0..items).map(|i| of_run(i / RUN)).collect();
    structures(device, &points, &flags)
}

/// Sums of `u32` by keys of a type.
fn by_key<K: Element + PartialEq>(
    device: &Device,
    name: &str,
    items: usize,
    key: impl Fn(usize) -> K,
) -> Result<(), Error> {
    let keys: Vec<K> = (0..items).map(|i| key(i / RUN)).collect();
    let values: Vec<u32> = (0..items as u32).map(|i| i.wrapping_mul(40_503)).collect();
    let (firsts, lengths) = compaction::run_length_encode(&keys);
    let mut begin = 0;
    let sums: Vec<u32> = lengths
        .iter()
        .map(|length| {
            let run = &values[begin..][..*length as usize];
            begin += run.len();
            run.iter().fold(0, |sum: u32, item| sum.wrapping_add(*item))
        })
        .collect();
    let room = || Array::filled(device, items, keys[0]);
    let (mut unique, mut copied) = (room()?, room()?);
    let mut output = Array::filled(device, items, u32::MAX)?;
    let mut number = Array::filled(device, 1, u64::MAX)?;
    let (keys, values) = (Array::from_slice(device, &keys)?, Array::from_slice(device, &values)?);
    let copy = (device.bind_probe_copy(&keys, &mut copied)?, 2 * size_of::<K>() * items);
    let sum = Reduce::new(Sum);
    let recording =
        bind_reduce_by_key(device, &keys, &values, &mut unique, &mut output, &mut number, &sum)?;
    let bytes = (size_of::<K>() + size_of::<u32>()) * (items + firsts.len());
    Job { name: &format!("reduce by key {name}"), items, bytes, recording, copy }.time()?;
    assert_eq!(number.to_vec()?, [firsts.len() as u64]);
    assert!(unique.to_vec()?.starts_with(&firsts) && output.to_vec()?.starts_with(&sums));
    Ok(())
}

/// Jobs with items of four bytes.
fn words(device: &Device, items: usize, value: impl Fn(usize) -> u32) -> Result<(), Error> {
    let keys: Vec<u32> = (0..items).map(|i| value(i / RUN)).collect();
    let values: Vec<u32> = (0..items).map(&value).collect();
    let (firsts, lengths) = compaction::run_length_encode(&keys);
    let [keys, values] = [keys, values].map(|items| Array::from_slice(device, &items));
    let (keys, values) = (keys?, values?);
    let array = || Array::filled(device, items, u32::MAX);
    let (mut unique, mut others) = (array()?, array()?);
    let mut number = Array::filled(device, 1, u64::MAX)?;
    let copy = || device.bind_probe_copy(&keys, &mut array()?);
    let size = size_of::<u32>();
    let check = |unique: &Array<u32>, others: &Array<u32>, number: &Array<u64>, wanted: &[u32]| {
        assert_eq!(number.to_vec()?, [firsts.len() as u64]);
        assert!(unique.to_vec()?.starts_with(&firsts) && others.to_vec()?.starts_with(wanted));
        Ok(())
    };

    let recording = bind_run_length_encode(device, &keys, &mut unique, &mut others, &mut number)?;
    let bytes = size * (items + 2 * firsts.len());
    Job { name: "run lengths u32", items, bytes, recording, copy: (copy()?, 2 * size * items) }
        .time()?;
    let lengths: Vec<u32> = lengths.into_iter().map(|length| length as u32).collect();
    check(&unique, &others, &number, &lengths)?;

    let keys = values.to_vec()?;
    for percent in [10, 50, 90] {
        let is_kept = |i: usize| u8::from((value(i) >> 16) % 100 < percent);
        let flags: Vec<u8> = (0..items).map(is_kept).collect();
        let kept = compaction::select(&keys, &flags);
        let flags = Array::from_slice(device, &flags)?;
        let recording = bind_select(device, &values, &flags, &mut unique, &mut number)?;
        let bytes = size * (items + kept.len()) + items;
        let name = &format!("select u32 {percent} % kept");
        Job { name, items, bytes, recording, copy: (copy()?, 2 * size * items) }.time()?;
        assert_eq!(number.to_vec()?, [kept.len() as u64]);
        assert!(unique.to_vec()?.starts_with(&kept));
    }
    Ok(())
}

/// Jobs with points.
fn structures(device: &Device, points: &[Point], flags: &[u8]) -> Result<(), Error> {
    let (items, size) = (points.len(), size_of::<Point>());
    let there = Array::from_slice(device, points)?;
    let marks = Array::from_slice(device, flags)?;
    let mut output = Array::filled(device, items, points[0])?;
    let mut number = Array::filled(device, 1, u64::MAX)?;
    let copied = 2 * size * items;
    let copy = |output: &mut Array<Point>| device.bind_probe_copy(&there, output);
    let check = |output: &Array<Point>, number: &Array<u64>, (wanted, count): (&[Point], usize)| {
        assert_eq!(number.to_vec()?, [count as u64]);
        assert!(output.to_vec()?.starts_with(wanted));
        Ok::<(), Error>(())
    };

    let kept = compaction::select(points, flags);
    let limit = (copy(&mut output)?, copied);
    let recording = bind_select(device, &there, &marks, &mut output, &mut number)?;
    let bytes = size * (items + kept.len()) + items;
    Job { name: "select 12 bytes", items, bytes, recording, copy: limit }.time()?;
    check(&output, &number, (&kept, kept.len()))?;

    let (all, border) = compaction::partition(points, flags);
    let limit = (copy(&mut output)?, copied);
    let recording = bind_partition(device, &there, &marks, &mut output, &mut number)?;
    let bytes = 2 * size * items + items;
    Job { name: "partition 12 bytes", items, bytes, recording, copy: limit }.time()?;
    check(&output, &number, (&all, border))?;

    let firsts = compaction::unique(points);
    let limit = (copy(&mut output)?, copied);
    let recording = bind_unique(device, &there, &mut output, &mut number)?;
    let bytes = size * (items + firsts.len());
    Job { name: "unique 12 bytes", items, bytes, recording, copy: limit }.time()?;
    check(&output, &number, (&firsts, firsts.len()))
}

impl Job<'_> {
    /// Times the job and its copy in turns, and runs the job once more.
    fn time(&self) -> Result<(), Error> {
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..TURNS {
            for (times, recording) in times.iter_mut().zip([&self.recording, &self.copy.0]) {
                // The first of several follows the other's.
                let all = recording.time(RUNS)?.ok_or_else(|| Error::Buffer {
                    reason: "the device has no clock for its work".to_owned(),
                })?;
                times.extend(all.iter().skip(1).map(Duration::as_secs_f64));
            }
        }
        self.recording.submit()?;
        let [own, limit] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
        });
        let rate = self.bytes as f64 / own / 1e9;
        let share = rate / (self.copy.1 as f64 / limit / 1e9);
        println!("{},{},{:.2},{rate:.0},{share:.3}", self.name, self.items, own * 1e6);
        Ok(())
    }
}
