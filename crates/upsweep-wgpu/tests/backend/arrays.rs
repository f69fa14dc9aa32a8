//! Arrays in buffers of the caller's: anywhere in them, of every type, longer than a binding; and what is refused.

use std::sync::Arc;

use upsweep_core::{
    ArgMax, BitXor, Dtype, Error, Max, Min, Number, Operator, Product, Reduce, Scan, Sum, Widen,
    bf16, f16, reference,
};
use upsweep_testing::{Input, Sample};
use upsweep_wgpu::{
    Calls, Extreme, Gpu, ReduceOptions, ScanOptions, Slice, Source, Target, Workspace,
};
use wgpu::BufferUsages;

const USAGE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_DST).union(BufferUsages::COPY_SRC);

/// A buffer with a copy of `items` from item `before` on, and as many items behind.
fn buffer<T: Number>(gpu: &Gpu, items: &[T], before: usize) -> wgpu::Buffer {
    let mut all = vec![T::default(); items.len() + 2 * before];
    all[before..before + items.len()].copy_from_slice(items);
    let mut bytes = bytemuck::cast_slice::<T, u8>(&all).to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let (device, queue) = gpu.wgpu();
    let size = bytes.len().max(4) as u64;
    let descriptor =
        wgpu::BufferDescriptor { label: None, size, usage: USAGE, mapped_at_creation: false };
    let buffer = device.create_buffer(&descriptor);
    queue.write_buffer(&buffer, 0, &bytes);
    buffer
}

fn slice<'a, T: Number>(buffer: &'a wgpu::Buffer, before: usize, items: usize) -> Slice<'a> {
    Slice::new(buffer, T::DTYPE, (before * size_of::<T>()) as u64, items as u64).expect("a slice")
}

/// Reductions and scans of a range that begins anywhere; what lies around the output stays.
fn check_anywhere<T>(gpu: &Arc<Gpu>)
where
    T: Number + Sample + Widen<T>,
    T: upsweep_core::Element<Acc = T>,
    Sum: Operator<T>,
{
    for (before, length) in [(1, 5000), (3, 4093), (0, 2049), (2, 1)] {
        let items: Vec<T> = Input::Full.array(before as u64, length);
        let from = buffer(gpu, &items, before);
        let context = format!("{gpu:?}: {length} items of {} behind {before}", T::DTYPE);
        let input = slice::<T>(&from, before, length);
        let mut workspace = Workspace::default();
        let problem = Reduce::new(Sum);
        let found = gpu.reduce::<T, T, _>(
            &mut workspace,
            Source::Device(input),
            &problem,
            &ReduceOptions::default(),
        );
        assert_eq!(found, Ok(reference::reduce(&items, &problem)), "{context}");
        for problem in [Scan::inclusive(Sum), Scan::exclusive(Sum).reverse()] {
            let poison: Vec<T> = Input::Full.array(77, length + 2 * before);
            let to = buffer(gpu, &poison, 0);
            let output = slice::<T>(&to, before, length);
            gpu.scan::<T, T, _>(
                &mut workspace,
                Source::Device(input),
                Target::Device(output),
                &problem,
                &ScanOptions::default(),
            )
            .unwrap_or_else(|error| panic!("{context}: {error}"));
            let mut expected = poison.clone();
            let scanned: Vec<T> = reference::scan(&items, &problem);
            expected[before..before + length].copy_from_slice(&scanned);
            let mut found = vec![T::default(); length + 2 * before];
            gpu.read_back(slice::<T>(&to, 0, found.len()), &mut found).expect("what was written");
            assert!(found == expected, "{context}: {problem:?}");
        }
    }
}

#[test]
fn arrays_begin_anywhere() {
    for gpu in crate::common::gpus() {
        check_anywhere::<u8>(gpu);
        check_anywhere::<i16>(gpu);
        check_anywhere::<u32>(gpu);
        if gpu.limits().int64 {
            check_anywhere::<i64>(gpu);
        }
    }
}

fn check_types<T, A, O>(gpu: &Arc<Gpu>, operator: O)
where
    T: Number + Sample + Widen<A>,
    A: Number + Sample,
    O: Operator<A>,
{
    let items: Vec<T> = Input::Full.array(5, 4099);
    let problem = Reduce::new(operator);
    let mut workspace = Workspace::default();
    let options = ReduceOptions::default();
    for items in [&items[..], &[]] {
        let found = gpu.reduce::<T, A, O>(&mut workspace, Source::Host(items), &problem, &options);
        let found = found.unwrap_or_else(|error| panic!("{gpu:?}: {error}"));
        let expected = reference::reduce(items, &problem);
        let context =
            format!("{gpu:?}: {} of {} {} in {}", O::NAME, items.len(), T::DTYPE, A::DTYPE);
        assert!(
            found.bits() == expected.bits() || found.is_nan() && expected.is_nan(),
            "{context}: {found} not {expected}"
        );
    }
}

#[test]
fn types_and_operators() {
    for gpu in crate::common::gpus() {
        check_types::<u8, u8, _>(gpu, Sum);
        check_types::<i8, i8, _>(gpu, Min);
        check_types::<i8, i32, _>(gpu, Sum);
        check_types::<u16, u16, _>(gpu, Product);
        check_types::<i16, i16, _>(gpu, Max);
        check_types::<i32, i32, _>(gpu, Min);
        check_types::<u32, u32, _>(gpu, BitXor);
        check_types::<f16, f32, _>(gpu, Max);
        check_types::<bf16, f32, _>(gpu, Min);
        check_types::<f32, f32, _>(gpu, Min);
        check_types::<f32, f32, _>(gpu, Max);
        if gpu.limits().int64 {
            check_types::<u8, u64, _>(gpu, Sum);
            check_types::<i32, i64, _>(gpu, Sum);
            check_types::<i64, i64, _>(gpu, Min);
        } else {
            let refused = gpu.reduce::<u64, u64, _>(
                &mut Workspace::default(),
                Source::Host(&[1, 2]),
                &Reduce::new(Sum),
                &ReduceOptions::default(),
            );
            assert!(matches!(refused, Err(Error::ElementUnsupported { .. })), "{refused:?}");
        }
        if gpu.limits().float64 {
            check_types::<f64, f64, _>(gpu, Max);
        }
    }
}

#[test]
fn extremes_are_found_first() {
    for gpu in crate::common::gpus() {
        let (mut workspace, options) = (Workspace::default(), ReduceOptions::default());
        let mut items = vec![1.5f32; 10_000];
        items[7000] = -2.0;
        items[9000] = -2.0;
        items[4000] = 3.0;
        let mut position = |items: &[f32], extreme| {
            gpu.position(&mut workspace, Source::Host(items), extreme, &options)
        };
        assert_eq!(position(&items, Extreme::Smallest), Ok(Some(7000)), "{gpu:?}");
        assert_eq!(position(&items, Extreme::Largest), Ok(Some(4000)), "{gpu:?}");
        items[5000] = f32::NAN;
        items[5001] = f32::NAN;
        assert_eq!(position(&items, Extreme::Smallest), Ok(Some(5000)), "{gpu:?}");
        assert_eq!(position(&items, Extreme::Largest), Ok(Some(5000)), "{gpu:?}");
        assert_eq!(position(&[0.0, -0.0, 0.0], Extreme::Smallest), Ok(Some(0)), "{gpu:?}");
        assert_eq!(position(&[-0.0, 0.0], Extreme::Largest), Ok(Some(0)), "{gpu:?}");
        assert_eq!(position(&[], Extreme::Largest), Ok(None), "{gpu:?}");
    }
}

/// More bytes than one binding holds.
#[test]
fn arrays_longer_than_a_binding() {
    for gpu in crate::common::gpus() {
        let Some(binding) = gpu.limits().binding_bytes.filter(|&bytes| bytes <= 1 << 28) else {
            continue;
        };
        let length = (binding / 4 + 100_003) as usize;
        let items: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let mut workspace = Workspace::default();
        let problem = Reduce::new(Sum);
        let found = gpu.reduce::<u32, u32, _>(
            &mut workspace,
            Source::Host(&items),
            &problem,
            &ReduceOptions::default(),
        );
        assert_eq!(found, Ok(reference::reduce(&items, &problem)), "{gpu:?}");
        for problem in [Scan::inclusive(Sum), Scan::exclusive(Sum).reverse()] {
            let expected: Vec<u32> = reference::scan(&items, &problem);
            let mut data = items.clone();
            gpu.scan_in_place(
                &mut workspace,
                Target::Host(&mut data),
                &problem,
                &ScanOptions::default(),
            )
            .unwrap_or_else(|error| panic!("{gpu:?}: {error}"));
            assert!(data == expected, "{gpu:?}: {problem:?}");
        }
    }
}

#[test]
fn mistakes_are_named() {
    for gpu in crate::common::gpus() {
        let (device, _) = gpu.wgpu();
        let make = |size, usage| {
            let descriptor =
                wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
            device.create_buffer(&descriptor)
        };
        let short = make(16, USAGE);
        let error = Slice::new(&short, Dtype::U32, 4, 4).expect_err("too short").to_string();
        assert!(error.contains("16 bytes") && error.contains("4 items of u32"), "{error}");
        let error = Slice::new(&short, Dtype::U32, 2, 1).expect_err("not aligned").to_string();
        assert!(error.contains("byte 2"), "{error}");
        let unusable = make(16, BufferUsages::COPY_DST);
        let error = Slice::new(&unusable, Dtype::U8, 0, 1).expect_err("usage").to_string();
        assert!(error.contains("STORAGE"), "{error}");
        let mut workspace = Workspace::default();
        let mut output = [0u32; 3];
        let unequal = gpu.scan::<u32, u32, _>(
            &mut workspace,
            Source::Host(&[1, 2]),
            Target::Host(&mut output),
            &Scan::inclusive(Sum),
            &ScanOptions::default(),
        );
        assert_eq!(unequal, Err(Error::LengthMismatch { input: 2, output: 3 }));
        let structure = gpu.reduce(
            &mut workspace,
            Source::Host(&[upsweep_core::Indexed { value: 1u32, index: 0 }]),
            &Reduce::new(ArgMax),
            &ReduceOptions::default(),
        );
        assert!(structure.is_err(), "{structure:?}");
    }
}

/// The caller's own device, opened without a single feature: no subgroups, no 64-bit types.
#[test]
fn a_plain_device_follows_the_order_too() {
    for adapter in Gpu::adapters() {
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
        let gpu = Arc::new(Gpu::from_wgpu("plain", &adapter, device, queue));
        assert_eq!(gpu.limits().subgroup_sizes, (1, 1));
        let mut workspace = Workspace::default();
        let items: Vec<f32> = Input::Mixed.array(4, 70_001);
        let problem = Reduce::new(Sum);
        let options = ReduceOptions::default();
        let source = Source::Host(&items[..]);
        let found = gpu.reduce::<f32, f32, _>(&mut workspace, source, &problem, &options);
        let expected = reference::specified::reduce(&items, &problem);
        assert_eq!(found.map(f32::to_bits), Ok(expected.to_bits()), "{gpu:?}");
        let problem = Scan::exclusive(Sum);
        let mut output = vec![f32::NAN; items.len()];
        let target = Target::Host(&mut output[..]);
        gpu.scan::<f32, f32, _>(&mut workspace, source, target, &problem, &ScanOptions::default())
            .unwrap_or_else(|error| panic!("{gpu:?}: {error}"));
        let expected: Vec<f32> = reference::specified::scan(&items, &problem);
        let same = output.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same, "{gpu:?}");
    }
}
