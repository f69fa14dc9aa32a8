//! What there is on GPUs only: arrays that stay on the device, recordings, buffers and devices of the
//! caller's own, and arrays of the host that are longer than a buffer.

use upsweep::{
    Array, Device, Error, Max, PositionPlan, Recording, Reduce, ReducePlan, ReduceStream, Scan,
    ScanPlan, ScanStream, Sum, View, ViewMut, argmax, exclusive_scan, inclusive_scan,
    inclusive_scan_by_key, inclusive_scan_in_place, inclusive_scan_into, reduce, reduce_into,
    reference, scan_in_place_with, scan_into_with, segmented_reduce, wgpu,
};
use upsweep_testing::{Input, assert_same, for_each_gpu};

const ITEMS: usize = 200_001;

#[test]
fn results_stay_on_the_device() {
    for_each_gpu(|device| {
        let gpu = &device.device;
        let items: Vec<f32> = Input::Mixed.array(1, ITEMS);
        let on_device = Array::from_slice(gpu, &items).expect("an array");
        assert_eq!(on_device.len(), ITEMS);
        assert!(on_device.as_slice().is_none());
        assert_eq!(on_device.buffer().is_some(), gpu.wgpu().is_some());
        let mut ends = Array::filled(gpu, ITEMS, 1.0f32).expect("an array");
        inclusive_scan_into(gpu, &on_device, &mut ends, Sum).expect("a scan");
        let expected: Vec<f32> = reference::specified::scan(&items, &Scan::inclusive(Sum));
        assert_same(&ends.to_vec().expect("what was written"), &expected, device);
        inclusive_scan_in_place(gpu, &mut ends, Max).expect("a scan");
        let expected: Vec<f32> = reference::scan(&expected, &Scan::inclusive(Max));
        assert_same(&ends.to_vec().expect("what was written"), &expected, device);
        // A reduction of what is not there yet, into the device and to the host.
        let starts = exclusive_scan(gpu, &on_device, Sum).expect("a scan");
        let mut total = Array::filled(gpu, 1, 0.0f32).expect("an array");
        reduce_into(gpu, &starts, &mut total, Sum).expect("a sum");
        let starts: Vec<f32> = reference::specified::scan(&items, &Scan::exclusive(Sum));
        let expected = reference::specified::reduce(&starts, &Reduce::<f32, _>::new(Sum));
        assert_same(&total.into_vec().expect("a value"), &[expected], device);
        let mut host = [0.0f32];
        reduce_into(gpu, &starts, &mut host, Sum).expect("a sum");
        assert_same(&host, &[expected], device);
        assert_eq!(argmax(gpu, &on_device), argmax(&Device::cpu(), &items), "{device}");
        gpu.wait().expect("nothing failed");
    });
}

#[test]
fn short_items_and_filled_arrays() {
    for_each_gpu(|device| {
        let gpu = &device.device;
        for items in [0, 1, 2, 3, 5, 1001] {
            let array = Array::filled(gpu, items, 7u8).expect("an array");
            assert_eq!(array.to_vec(), Ok(vec![7; items]), "{device}");
            let sum = reduce(gpu, &array, Sum);
            assert_eq!(sum, Ok(reduce(&Device::cpu(), &vec![7u8; items], Sum).unwrap()));
            let mut other = inclusive_scan(gpu, &array, Sum).expect("a scan");
            let mut expected = vec![7u8; items];
            inclusive_scan_in_place(&Device::cpu(), &mut expected, Sum).expect("a CPU");
            assert_eq!(other.to_vec().as_ref(), Ok(&expected), "{device}");
            other.copy_from_slice(&vec![9; items]).expect("as many");
            assert_eq!(other.into_vec(), Ok(vec![9; items]), "{device}");
        }
    });
}

#[test]
fn arrays_are_used_where_they_are() {
    let mut all = Vec::new();
    for_each_gpu(|device| all.push(device.device.clone()));
    for gpu in &all {
        let array = Array::from_slice(gpu, &[1u32, 2]).expect("an array");
        let refused = reduce(&Device::cpu(), &array, Sum);
        let expected = Error::WrongDevice { array: gpu.id().to_owned(), device: "cpu".to_owned() };
        assert_eq!(refused, Err(expected));
        for other in all.iter().filter(|other| other.id() != gpu.id()) {
            let refused = reduce(other, &array, Sum);
            assert!(matches!(refused, Err(Error::WrongDevice { .. })), "{refused:?}");
        }
        // Two devices with one id are one.
        if let Ok(again) = Device::open(gpu.id()) {
            assert_eq!(reduce(&again, &array, Sum), Ok(3));
        }
    }
}

/// Begins recordings one after another: in one pass of the caller's, or where there is none by themselves.
fn begin(gpu: &Device, recordings: [&Recording; 3]) {
    let Some((device, queue)) = gpu.wgpu() else {
        return recordings.into_iter().for_each(|recording| recording.submit().expect("a run"));
    };
    let mut encoder = device.create_command_encoder(&Default::default());
    let mut pass = encoder.begin_compute_pass(&Default::default());
    for recording in recordings {
        recording.record(&mut pass).expect("it is one of wgpu's");
    }
    drop(pass);
    queue.submit([encoder.finish()]);
}

#[test]
fn recordings_run_as_often_as_wanted() {
    for_each_gpu(|device| {
        let gpu = &device.device;
        let mut items: Vec<u32> = Input::Full.array(3, ITEMS);
        let mut input = Array::from_slice(gpu, &items).expect("an array");
        let mut output = Array::filled(gpu, ITEMS, 0u32).expect("an array");
        let mut total = Array::filled(gpu, 1, 0u32).expect("an array");
        let mut place = Array::filled(gpu, 1, 0u64).expect("an array");
        let problem = Scan::exclusive(Sum).reverse();
        let mut plan = ScanPlan::<u32, u32, _>::new(gpu, ITEMS, problem).expect("a plan");
        let scan = plan.bind(&input, &mut output).expect("a recording");
        let mut plan =
            ReducePlan::<u32, u32, _>::new(gpu, ITEMS, Reduce::new(Sum)).expect("a plan");
        let sum = plan.bind(&output, &mut total).expect("a recording");
        let mut plan = PositionPlan::<u32>::argmax(gpu, ITEMS).expect("a plan");
        let largest = plan.bind(&output, &mut place).expect("a recording");
        assert!(scan.strategy().is_some() && sum.launches() >= 1);
        for round in 0..3 {
            items[0] = round;
            input.copy_from_slice(&items).expect("as many");
            begin(gpu, [&scan, &sum, &largest]);
            let expected: Vec<u32> = reference::scan(&items, &problem);
            assert_same(&output.to_vec().expect("items"), &expected, device);
            let sum = reference::reduce(&expected, &Reduce::<u32, _>::new(Sum));
            assert_eq!(total.to_vec(), Ok(vec![sum]), "{device}");
            let largest = argmax(&Device::cpu(), &expected).expect("a CPU").expect("items");
            assert_eq!(place.to_vec(), Ok(vec![largest]), "{device}");
        }
    });
}

#[test]
fn buffers_of_the_callers() {
    for_each_gpu(|device| {
        let gpu = &device.device;
        let Some((wgpu_device, queue)) = gpu.wgpu() else { return };
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_DST
            | wgpu::BufferUsages::COPY_SRC;
        let make = || {
            let size = 4000;
            let label = None;
            wgpu_device.create_buffer(&wgpu::BufferDescriptor {
                label,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let (from, to) = (make(), make());
        let words: Vec<u8> = (0..1000u32).flat_map(u32::to_le_bytes).collect();
        queue.write_buffer(&from, 0, &words);
        let part = View::<u32>::of_buffer(&from, 40, 500).expect("a part");
        assert_eq!(reduce(gpu, part, Sum), Ok((10..510).sum()), "{device}");
        let target = ViewMut::<u32>::of_buffer(&to, 400, 500).expect("a part");
        inclusive_scan_into(gpu, part, target, Sum).expect("a scan");
        let last = View::<u32>::of_buffer(&to, 400 + 499 * 4, 1).expect("the last item");
        assert_eq!(reduce(gpu, last, Sum), Ok((10..510).sum()), "{device}");
        let short = View::<u32>::of_buffer(&from, 40, 1000).expect_err("too short").to_string();
        assert!(short.contains("4000 bytes") && short.contains("1000 items"), "{short}");
        let same = ViewMut::<u32>::of_buffer(&from, 2040, 490).expect("a part");
        let part = View::<u32>::of_buffer(&from, 40, 490).expect("a part");
        let refused = inclusive_scan_into(gpu, part, same, Sum);
        assert!(matches!(refused, Err(Error::Buffer { .. })), "{refused:?}");
    });
}

#[test]
fn mistakes_are_named() {
    for_each_gpu(|device| {
        let gpu = &device.device;
        let array = Array::from_slice(gpu, &[1u32, 2]).expect("an array");
        let mut two = Array::filled(gpu, 2, 0u32).expect("an array");
        let refused = reduce_into(gpu, &array, &mut two, Sum);
        assert_eq!(refused, Err(Error::ResultLength { items: 2 }));
        let mut three = Array::filled(gpu, 3, 0u32).expect("an array");
        let refused = inclusive_scan_into(gpu, &array, &mut three, Sum);
        assert_eq!(refused, Err(Error::LengthMismatch { input: 2, output: 3 }));
        let mut plan = ReducePlan::<u32, u32, _>::new(gpu, 1, Reduce::new(Sum)).expect("a plan");
        let mut one = Array::filled(gpu, 1, 0u32).expect("an array");
        let refused = plan.bind(&array, &mut one).expect_err("too long");
        assert_eq!(refused, Error::PlanTooSmall { input: 2, planned: 1 });
        let refused = plan.bind(&[1], &mut one).expect_err("an array of the host");
        assert!(matches!(refused, Error::WrongDevice { .. }), "{refused:?}");
    });
    let mut plan = ReducePlan::<u32, u32, _>::new(&Device::cpu(), 1, Reduce::new(Sum)).unwrap();
    let refused = plan.bind(&[1], &mut [0]).expect_err("a CPU");
    assert_eq!(refused, Error::NoCommands { device: "cpu".to_owned() });
    assert!(matches!(Device::open("wgpu:999"), Err(Error::NoDevice { .. })));
    assert!(matches!(Device::open("wgpu:x"), Err(Error::NoDevice { .. })));
}

/// Buffers of at most this many bytes.
const SMALL: u64 = 1 << 20;

/// The device of every adapter, with limits that are made of the adapter's.
fn devices_with(limits: impl Fn(wgpu::Limits) -> wgpu::Limits) -> Vec<Device> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let open = |adapter: wgpu::Adapter| {
        let features = adapter.features() & wgpu::Features::SUBGROUP;
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: limits(adapter.limits()),
            required_features: features,
            ..Default::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
        Device::from_wgpu(&adapter, device, queue).expect("enough of a device")
    };
    adapters.into_iter().map(open).collect()
}

/// A device of the caller's with the least that wgpu grants to any.
#[test]
fn a_device_with_small_limits_does_everything() {
    for gpu in devices_with(|_| wgpu::Limits::downlevel_defaults()) {
        assert_eq!(gpu.limits().l1_bytes, 16_352);
        let items: Vec<f32> = Input::Mixed.array(6, 70_001);
        let expected = reference::specified::reduce(&items, &Reduce::<f32, _>::new(Sum));
        assert_same(&[reduce(&gpu, &items, Sum).expect("a sum")], &[expected], &gpu.limits().name);
        assert_eq!(argmax(&gpu, &items), argmax(&Device::cpu(), &items));
        let expected: Vec<f32> = reference::specified::scan(&items, &Scan::exclusive(Sum));
        let found = exclusive_scan(&gpu, &items, Sum).and_then(Array::into_vec).expect("a scan");
        assert_same(&found, &expected, &gpu.limits().name);
        let bytes: Vec<u8> = Input::Full.array(7, 70_001);
        let found = inclusive_scan(&gpu, &bytes, Max).and_then(Array::into_vec).expect("a scan");
        assert_eq!(found, reference::scan::<_, u8, _>(&bytes, &Scan::inclusive(Max)));
        let offsets: Vec<u32> = (0..=7000).map(|segment| segment * 10).chain([70_001]).collect();
        let sums = |device: &Device| {
            let sums = segmented_reduce(device, &items, offsets.as_slice(), Sum);
            sums.and_then(Array::into_vec).expect("sums of segments")
        };
        assert_same(&sums(&gpu), &sums(&Device::cpu()), &gpu.limits().name);
        let keys: Vec<u32> = (0..70_001).map(|item| item / 7).collect();
        let scanned = |device: &Device| {
            let scanned = inclusive_scan_by_key(device, &keys, &items, Sum);
            scanned.and_then(Array::into_vec).expect("a scan by key")
        };
        assert_same(&scanned(&gpu), &scanned(&Device::cpu()), &gpu.limits().name);
    }
}

/// A device of the caller's, with arrays of the host that are longer than its largest buffer.
#[test]
fn arrays_of_the_host_come_in_pieces() {
    let small = |limits| wgpu::Limits {
        max_buffer_size: SMALL,
        max_storage_buffer_binding_size: SMALL,
        ..limits
    };
    for gpu in devices_with(small) {
        let length = 3 * SMALL as usize / 4 + 12_345;
        let items: Vec<f32> = Input::Mixed.array(5, length);
        let problem = Reduce::new(Sum).init(0.375f32);
        let found = upsweep::reduce_with(&gpu, &items, &problem).expect("a sum");
        assert_same(
            &[found],
            &[reference::specified::reduce(&items, &problem)],
            &gpu.limits().name,
        );
        assert_eq!(argmax(&gpu, &items), argmax(&Device::cpu(), &items));
        for problem in [Scan::inclusive(Sum), Scan::exclusive(Sum).reverse().init(0.5f32)] {
            let expected: Vec<f32> = reference::specified::scan(&items, &problem);
            let mut output = vec![0.0f32; length];
            scan_into_with(&gpu, &items, &mut output, &problem).expect("a scan");
            assert_same(&output, &expected, &gpu.limits().name);
            output.copy_from_slice(&items);
            scan_in_place_with(&gpu, &mut output, &problem).expect("a scan");
            assert_same(&output, &expected, &gpu.limits().name);
        }
        let refused = Array::filled(&gpu, length, 0.0f32);
        assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{refused:?}");
    }
}

/// Chunks that are on the device already.
#[test]
fn streams_of_arrays_on_the_device() {
    for_each_gpu(|device| {
        let gpu = &device.device;
        let unit = ReduceStream::<f32, f32, Sum>::CHUNK;
        let items: Vec<f32> = Input::Mixed.array(8, unit + 77_777);
        let mut sum = ReduceStream::<f32, f32, _>::new(gpu, Reduce::new(Sum)).expect("a stream");
        let mut scan = ScanStream::<f32, f32, _>::new(gpu, Scan::inclusive(Sum)).expect("a stream");
        let mut found = Vec::new();
        for chunk in items.chunks(unit) {
            let chunk = Array::from_slice(gpu, chunk).expect("an array");
            let mut output = Array::filled(gpu, chunk.len(), 0.0f32).expect("an array");
            sum.push(&chunk).expect("a chunk");
            scan.next(&chunk, &mut output).expect("a chunk");
            found.extend(output.into_vec().expect("items"));
        }
        let expected = reference::specified::reduce(&items, &Reduce::<f32, _>::new(Sum));
        assert_same(&[sum.finish()], &[expected], device);
        let expected: Vec<f32> = reference::specified::scan(&items, &Scan::inclusive(Sum));
        assert_same(&found, &expected, device);
    });
}
