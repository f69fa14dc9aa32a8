//! Sums of short integers on GPUs, which scan words of several items where arrays begin and end at words: the prefixes, and that nothing
//! around them is touched, wherever they begin and end.

use core::ops::Range;

use upsweep::cudarc::driver::DeviceRepr;
use upsweep::explain::Launch;
use upsweep::strategy::{GpuOptions, Policy, Strategy};
use upsweep::{
    Array, Device, Element, Number, Operator, Scan, ScanPlan, Sum, View, ViewMut, Widen, f16,
    scan_in_place_with, scan_into_with,
};
use upsweep_testing::{
    Input, POISONS, Sample, TestDevice, assert_same, expected_scan, for_each_gpu,
};

/// Items around arrays.
const MARGIN: usize = 16;

/// Scans a part of one array of the device into a part of another, or in place, and gives all of the other.
fn scanned<T>(
    device: &Device,
    [from, to]: [&[T]; 2],
    [read, written]: [Range<usize>; 2],
    in_place: bool,
    problem: &Scan<T::Acc, Sum>,
) -> Vec<T>
where
    T: Number + Widen<<T as Element>::Acc> + DeviceRepr,
    Sum: Operator<T::Acc>,
{
    let items = written.len();
    if let Some(stream) = device.cuda_stream() {
        let from = stream.clone_htod(from).expect("an array");
        let mut to = stream.clone_htod(to).expect("an array");
        let mut part = to.slice_mut(written);
        let target = ViewMut::of_cuda(&mut part).expect("a part");
        if in_place {
            scan_in_place_with(device, target, problem).expect("a scan");
        } else {
            let part = from.slice(read);
            let source = View::of_cuda(&part).expect("a part");
            scan_into_with(device, source, target, problem).expect("a scan");
        }
        return stream.clone_dtoh(&to).expect("items");
    }
    let (from, to) = (Array::from_slice(device, from), Array::from_slice(device, to));
    let (from, to) = (from.expect("an array"), to.expect("an array"));
    let byte = |range: &Range<usize>| (range.start * size_of::<T>()) as u64;
    let [source, target] = [&from, &to].map(|array| array.buffer().expect("a buffer"));
    let target = ViewMut::<T>::of_buffer(target, byte(&written), items).expect("a part");
    if in_place {
        scan_in_place_with(device, target, problem).expect("a scan");
    } else {
        let source = View::<T>::of_buffer(source, byte(&read), items).expect("a part");
        scan_into_with(device, source, target, problem).expect("a scan");
    }
    to.to_vec().expect("items")
}

/// Of so many starts of a length each GPU takes one.
const ONE_IN: usize = 12;

/// Lengths around words, accesses, rows and chunks of them, and where the last of several chunks is a part.
fn lengths() -> impl Iterator<Item = usize> {
    let around = [0, 4, 16, 512, 2048, 8192, 16_384, 32_768, 65_536, 131_072];
    let around = around.into_iter().flat_map(|items: usize| [items.max(1) - 1, items, items + 1]);
    around.chain([2, 30_002, 100_003, 196_609, 400_007])
}

/// Where input and output begin: at words, at different ones, between them.
const STARTS: [[usize; 2]; 6] = [[0, 0], [4, 12], [8, 0], [1, 1], [3, 2], [0, 5]];

fn check<T>(device: &TestDevice, input: Input, init: T::Acc)
where
    T: Sample + Number + Widen<<T as Element>::Acc> + DeviceRepr,
    Sum: Operator<T::Acc>,
{
    let problems = [
        Scan::inclusive(Sum),
        Scan::exclusive(Sum).init(init),
        Scan::inclusive(Sum).reverse().init(init),
        Scan::exclusive(Sum).reverse(),
        Scan::exclusive(Sum),
        Scan::inclusive(Sum).reverse(),
    ];
    for (number, items) in lengths().enumerate() {
        let all: Vec<T> = input.array(items as u64, items + 2 * MARGIN);
        let poison = vec![T::from_bits(POISONS[0]); items + 2 * MARGIN];
        for (turn, start) in STARTS.into_iter().enumerate() {
            if !device.takes(number + turn, ONE_IN) {
                continue;
            }
            let [read, written] = start.map(|start| start..start + items);
            for (form, problem) in problems.iter().enumerate().skip((number + turn) % 3).step_by(3)
            {
                let in_place = (number + turn + form).is_multiple_of(4);
                let to = if in_place { &all } else { &poison };
                let source = if in_place { written.clone() } else { read.clone() };
                let mut expected = to.clone();
                let prefixes: Vec<T> = expected_scan(&all[source], problem);
                expected[written.clone()].copy_from_slice(&prefixes);
                let ranges = [read.clone(), written.clone()];
                let found = scanned(device, [&all, to], ranges, in_place, problem);
                let context = format!("{device}: {items} {} from {start:?}, {problem:?}", T::DTYPE);
                assert_same(&found, &expected, context);
            }
        }
    }
}

#[test]
fn sums_of_bytes() {
    for_each_gpu(|device| {
        check::<u8>(device, Input::Full, 250);
        check::<i8>(device, Input::Full, -7);
    });
}

#[test]
fn sums_of_16_bits() {
    for_each_gpu(|device| {
        check::<u16>(device, Input::Full, 65_530);
        check::<i16>(device, Input::Full, -7);
    });
}

/// The launches of a sum of so many items.
fn launches<T>(device: &Device, items: usize) -> Vec<Launch>
where
    T: Sample + Number + Widen<<T as Element>::Acc>,
    Sum: Operator<T::Acc>,
{
    let problem = Scan::<T::Acc, _>::inclusive(Sum);
    let mut plan = ScanPlan::<T, T, _>::new(device, items, problem).expect("a plan");
    let input = Array::filled(device, items, T::from_bits(0)).expect("an array");
    let mut output = Array::filled(device, items, T::from_bits(0)).expect("an array");
    let recording = plan.bind(&input, &mut output).expect("a recording");
    recording.described().expect("launches")
}

/// What a device says that it chooses, asked for, makes the same launches.
fn check_choice<T>(device: &TestDevice)
where
    T: Sample + Number + Widen<<T as Element>::Acc>,
    Sum: Operator<T::Acc>,
{
    let device = device.device.with_profile(None);
    for items in [1_000, 300_000, 1 << 21] {
        let (Strategy::GpuScan(scan), Policy::Workgroup(policy)) =
            device.scan_choice_of::<T, T>(items)
        else {
            panic!("a GPU's choice")
        };
        let options =
            GpuOptions { scan: Some(scan), policy: Some(policy), ..GpuOptions::default() };
        let asked = device.with_gpu_options(options).expect("its own choice");
        assert_eq!(
            launches::<T>(&asked, items),
            launches::<T>(&device, items),
            "{items} {}",
            T::DTYPE
        );
    }
}

#[test]
fn the_choice_is_what_is_launched() {
    for_each_gpu(|device| {
        check_choice::<u8>(device);
        check_choice::<i16>(device);
        check_choice::<f16>(device);
        check_choice::<u32>(device);
    });
}
