//! What there is on CUDA's GPUs only: arrays and streams of cudarc's, graphs. And what is said where there is no such GPU.

use std::sync::Arc;

use upsweep::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use upsweep::cudarc::driver::{CudaContext, CudaStream};
use upsweep::{
    Array, Device, Element, Error, Operator, PositionPlan, Reduce, ReducePlan, Scan, ScanPlan, Sum,
    View, ViewMut, Widen, argmax, inclusive_scan_in_place, inclusive_scan_into, partition,
    positions, reduce, reduce_by_key, reduce_by_key_into, reduce_into, reference,
    run_length_encode, select, unique, unique_by_key,
};
use upsweep_testing::{
    Input, Random, Recurrence, Recurs, Sample, assert_same, for_each_gpu, random_word,
};

const ITEMS: usize = 200_001;

#[test]
fn a_device_is_there_or_there_is_a_reason() {
    let list = Device::list();
    let usable = list.usable.iter().filter(|found| found.id.starts_with("cuda:")).count();
    let absent: Vec<_> = list.absent.iter().filter(|absent| absent.backend == "cuda").collect();
    assert_eq!(absent.len(), usize::from(usable == 0));
    assert!(absent.iter().all(|absent| !absent.reason.is_empty()), "{absent:?}");
    assert_eq!(Device::open("cuda:0").is_ok(), usable > 0);
    for (id, words) in [("cuda:999", ""), ("cuda:x", "cuda:0, cuda:1"), ("cuda", "cuda:0, cuda:1")]
    {
        let error = Device::open(id).expect_err("there is no such device").to_string();
        assert!(
            error.starts_with(&format!("no device '{id}'")) && error.contains(words),
            "{error}"
        );
    }
}

/// Calls `body` with each GPU of CUDA's, its context, and a stream of the context that is not the GPU's own.
fn for_each_context(body: impl Fn(&Device, &Arc<CudaContext>, &Arc<CudaStream>)) {
    for_each_gpu(|device| {
        if let Some(own) = device.device.cuda_stream() {
            let stream = own.context().new_stream().expect("a stream");
            body(&device.device, own.context(), &stream);
        }
    });
}

#[test]
fn arrays_of_the_callers() {
    for_each_context(|gpu, context, stream| {
        let items: Vec<u32> = Input::Full.array(1, ITEMS);
        let from = stream.clone_htod(&items).expect("an array");
        let mut to = stream.alloc_zeros::<u32>(ITEMS).expect("an array");
        let other = context.new_stream().expect("a stream");
        // In the arrays' own stream, in another, and in the default one.
        let devices = [
            Device::from_cuda_stream(Arc::clone(stream)).expect("a device"),
            Device::from_cuda_stream(other).expect("a device"),
            Device::from_cuda(context).expect("a device"),
            gpu.clone(),
        ];
        for device in &devices {
            let all = View::of_cuda(&from).expect("a view");
            let expected = reference::reduce(&items, &Reduce::<u32, _>::new(Sum));
            assert_eq!(reduce(device, all, Sum), Ok(expected));
            let part = from.slice(3..70_000);
            let part = View::of_cuda(&part).expect("a part");
            let mut target = to.slice_mut(7..70_004);
            let target = ViewMut::of_cuda(&mut target).expect("a part");
            inclusive_scan_into(device, part, target, Sum).expect("a scan");
            let expected: Vec<u32> = reference::scan(&items[3..70_000], &Scan::inclusive(Sum));
            let found = stream.clone_dtoh(&to).expect("items");
            assert_same(&found[7..70_004], &expected, device.id());
            assert!(found[..7].iter().chain(&found[70_004..]).all(|&item| item == 0));
            let data = ViewMut::of_cuda(&mut to).expect("a view");
            inclusive_scan_in_place(device, data, Sum).expect("a scan");
            let expected: Vec<u32> = reference::scan(&found, &Scan::inclusive(Sum));
            assert_same(&stream.clone_dtoh(&to).expect("items"), &expected, device.id());
            stream.memset_zeros(&mut to).expect("it can be set");
            device.wait().expect("nothing failed");
        }
        // A device of its own is another device, though it is the same GPU.
        let array = Array::from_slice(gpu, &items).expect("an array");
        let refused = reduce(&devices[0], &array, Sum);
        assert!(matches!(refused, Err(Error::WrongDevice { .. })), "{refused:?}");
        // SAFETY: the array is there, and nothing writes to it.
        let raw =
            unsafe { View::<u32>::of_cuda_pointer(array.cuda_pointer().expect("CUDA"), ITEMS) };
        assert_eq!(argmax(gpu, raw.expect("a view")), argmax(&Device::cpu(), &items));
        let mut total = Array::filled(gpu, 1, 0u32).expect("an array");
        reduce_into(gpu, View::of_cuda(&from).expect("a view"), &mut total, Sum).expect("a sum");
        assert_eq!(total.into_vec(), reduce(&Device::cpu(), &items, Sum).map(|sum| vec![sum]));
        let mut plan =
            ReducePlan::<u32, u32, _>::new(gpu, ITEMS, Reduce::new(Sum)).expect("a plan");
        let mut total = Array::filled(gpu, 1, 0u32).expect("an array");
        let refused = plan.bind(View::of_cuda(&from).expect("a view"), &mut total);
        assert!(matches!(refused, Err(Error::Buffer { .. })), "{refused:?}");
    });
}

/// Sums and products that do not commute by keys of so many items that they take two steps: of runs of one item, of some, of very many, and of
/// all; from the first item on and from another; as many as the host knows, and as the device does.
#[test]
fn many_items_are_reduced_by_key() {
    const MANY: usize = (1 << 23) + 77;
    let values: Vec<f32> = Input::Uniform.array(5, MANY);
    let turns: Vec<Recurrence> = Input::NearOne.array(6, MANY);
    for_each_context(|gpu, _, _| {
        for run in [1, 3, 9_000, MANY] {
            // Neighbours may have the same key, so that runs are of several lengths.
            let number = |item: usize| random_word(7, (item / run) as u64) % 5;
            let short: Vec<u8> = (0..MANY).map(|item| number(item) as u8).collect();
            check_by_key(gpu, (&short, run), &values, Sum);
            let long: Vec<u64> = (0..MANY).map(|item| !number(item)).collect();
            check_by_key(gpu, (&long, run), &turns, Recurs);
            let words: Vec<u32> = long.iter().map(|&key| key as u32).collect();
            check_by_key(gpu, (&words, run), &values, Sum);
        }
    });
}

/// Reductions by key on a GPU: what the CPU has.
fn check_by_key<K, T, O>(gpu: &Device, (keys, run): (&[K], usize), items: &[T], operator: O)
where
    K: Sample,
    T: Sample + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    let (room, problem) = (keys.len(), Reduce::new(operator));
    let array = |items: &[K]| Array::from_slice(gpu, items).expect("keys");
    let (all_keys, all) = (array(keys), Array::from_slice(gpu, items).expect("items"));
    for (first, len) in [(0, room), (1, room - 1), (0, room - 3), (0, 1), (0, 0)] {
        let context = format!("{}: {len} from {first}, runs of {run}, {}", gpu.id(), O::NAME);
        let part = first..first + len;
        let cpu = &Device::cpu();
        let wanted =
            reduce_by_key(cpu, &keys[part.clone()], &items[part.clone()], problem.operator);
        let (firsts, sums) = wanted.expect("values");
        let (firsts, sums) = (firsts.into_vec().expect("keys"), sums.into_vec().expect("values"));
        let length = Array::from_slice(gpu, &[len as u64]).expect("a length");
        let (of_keys, of_items) = match first {
            0 => (
                View::from(&all_keys).with_length(&length).expect("keys"),
                View::from(&all).with_length(&length).expect("items"),
            ),
            _ => {
                let begin = |pointer: Option<u64>, size: usize| {
                    pointer.expect("CUDA") + (first * size) as u64
                };
                let of_keys = begin(all_keys.cuda_pointer(), size_of::<K>());
                let of_items = begin(all.cuda_pointer(), size_of::<T>());
                // SAFETY: the arrays are there, with as many items from there on, and nothing writes to them.
                unsafe {
                    (
                        View::of_cuda_pointer(of_keys, len).expect("keys"),
                        View::of_cuda_pointer(of_items, len).expect("items"),
                    )
                }
            }
        };
        let room = of_keys.len();
        let (mut unique, mut values) = (
            Array::filled(gpu, room, keys[0]).expect("room"),
            Array::filled(gpu, room, items[0]).expect("room"),
        );
        let mut count = Array::filled(gpu, 1, u64::MAX).expect("a count");
        reduce_by_key_into(gpu, of_keys, of_items, &mut unique, &mut values, &mut count, &problem)
            .expect("begun");
        assert_eq!(count.into_vec(), Ok(vec![firsts.len() as u64]), "{context}");
        assert_same(&unique.to_vec().expect("keys")[..firsts.len()], &firsts, &context);
        assert_same(&values.to_vec().expect("values")[..sums.len()], &sums, &context);
    }
}

/// Items and flags that begin where the copy engine may copy from, and where it may not; of more chunks than run at once.
#[test]
fn selections_of_arrays_that_begin_anywhere() {
    const LONG: usize = (5 << 19) + 77;
    let items: Vec<u32> = Input::Full.array(3, LONG);
    let flags: Vec<u8> = items.iter().map(|item| u8::from(item % 3 != 0)).collect();
    for_each_context(|gpu, _, stream| {
        let device = &Device::from_cuda_stream(Arc::clone(stream)).expect("a device");
        let (from, marks) =
            (stream.clone_htod(&items).expect("items"), stream.clone_htod(&flags).expect("flags"));
        for (item, flag) in [(0, 0), (4, 16), (1, 0), (0, 1), (8, 4), (3, 5)] {
            let len = LONG - 16;
            let context = format!("{}: from item {item}, flag {flag}", gpu.id());
            let (own, marked) = (&items[item..item + len], &flags[flag..flag + len]);
            let part = from.slice(item..item + len);
            let part = View::of_cuda(&part).expect("a part");
            let marks = marks.slice(flag..flag + len);
            let marks = View::of_cuda(&marks).expect("a part");
            let kept = select(device, part, marks).expect("items").into_vec().expect("items");
            assert_same(&kept, &reference::compaction::select(own, marked), &context);
            let (all, border) = partition(device, part, marks).expect("items");
            let (expected, first) = reference::compaction::partition(own, marked);
            assert_eq!(border, first, "{context}");
            assert_same(&all.into_vec().expect("items"), &expected, &context);
            let found = positions::<u32, u32>(device, part).expect("places");
            let expected = reference::compaction::positions(own).into_iter();
            let expected: Vec<u32> = expected.map(|place| place as u32).collect();
            assert_same(&found.into_vec().expect("places"), &expected, &context);
        }
    });
}

/// Runs of one item, of a few and of more than a workgroup's; a chunk ends within some, and others end with it.
fn runs_of<T: Sample>(items: usize, most: usize) -> Vec<T> {
    let mut random = Random::new(most as u64);
    let mut values = Input::Full.array::<T>(7, 5000).into_iter().cycle();
    let mut all = Vec::with_capacity(items);
    while all.len() < items {
        let run = (1 + random.below(most)).min(items - all.len());
        all.extend(values.next().into_iter().cycle().take(run));
    }
    all
}

/// Runs in more chunks than run at once, where chunks wait in shared memory, with what is in front of them.
fn check_long_runs<T: Sample + PartialEq>(gpu: &Device) {
    const LONG: usize = 5 << 19;
    for (most, begin, items) in [
        (1, 0, LONG + 3),
        (2, 16, LONG),
        (7, 0, LONG - 1),
        (16, 1, LONG + 8191),
        (3000, 32, LONG),
        (400_000, 0, LONG + 16),
    ] {
        let all: Vec<T> = runs_of(begin + items, most);
        let own = &all[begin..];
        let context = format!("{}: {items} {} from {begin} in runs of {most}", gpu.id(), T::KIND);
        let there = Array::from_slice(gpu, &all).expect("memory");
        let pointer = there.cuda_pointer().expect("CUDA") + (begin * size_of::<T>()) as u64;
        // SAFETY: the array is there, and nothing writes to it.
        let part = unsafe { View::<T>::of_cuda_pointer(pointer, items) }.expect("a view");
        let (expected, lengths) = reference::compaction::run_length_encode(own);
        let kept = unique(gpu, part).expect("items").into_vec().expect("items");
        assert_same(&kept, &expected, &context);
        let (values, counts) = run_length_encode::<T, u32>(gpu, part).expect("runs");
        assert_same(&values.into_vec().expect("items"), &expected, &context);
        let found: Vec<u64> =
            counts.into_vec().expect("counts").into_iter().map(u64::from).collect();
        assert_same(&found, &lengths, &context);
        // Items beside keys, of which the device knows how many there are.
        let fewer = items - most.min(items / 2);
        let length = Array::filled(gpu, 1, fewer as u64).expect("memory");
        let beside: Vec<u8> = Input::Full.array(5, items);
        let there = Array::from_slice(gpu, &beside).expect("memory");
        let keys = part.with_length(&length).expect("a length");
        let bytes = there.view().with_length(&length).expect("a length");
        let (kept, others) = unique_by_key(gpu, keys, bytes).expect("items");
        let (expected, first) =
            reference::compaction::unique_by_key(&own[..fewer], &beside[..fewer]);
        assert_same(&kept.into_vec().expect("keys"), &expected, &context);
        assert_same(&others.into_vec().expect("items"), &first, &context);
        let (values, counts) = run_length_encode::<T, u64>(gpu, keys).expect("runs");
        let (expected, lengths) = reference::compaction::run_length_encode(&own[..fewer]);
        assert_same(&values.into_vec().expect("items"), &expected, &context);
        assert_same(&counts.into_vec().expect("counts"), &lengths, &context);
    }
}

#[test]
fn long_runs_of_every_size() {
    for_each_context(|gpu, _, _| {
        check_long_runs::<u8>(gpu);
        check_long_runs::<u16>(gpu);
        check_long_runs::<u32>(gpu);
        check_long_runs::<u64>(gpu);
    });
}

#[test]
fn recordings_run_in_streams_and_graphs_of_the_callers() {
    for_each_context(|gpu, _, stream| {
        let items: Vec<f32> = Input::Mixed.array(2, ITEMS);
        let input = Array::from_slice(gpu, &items).expect("an array");
        let mut ends = Array::filled(gpu, ITEMS, 0.0f32).expect("an array");
        let mut total = Array::filled(gpu, 1, 0.0f32).expect("an array");
        let mut place = Array::filled(gpu, 1, 0u64).expect("an array");
        let problem = Scan::inclusive(Sum);
        let mut scan = ScanPlan::<f32, f32, _>::new(gpu, ITEMS, problem).expect("a plan");
        let scan = scan.bind(&input, &mut ends).expect("a recording");
        let mut sum = ReducePlan::<f32, f32, _>::new(gpu, ITEMS, Reduce::new(Sum)).expect("a plan");
        let sum = sum.bind(&ends, &mut total).expect("a recording");
        let mut largest = PositionPlan::<f32>::argmax(gpu, ITEMS).expect("a plan");
        let largest = largest.bind(&ends, &mut place).expect("a recording");
        drop(input);
        let expected: Vec<f32> = reference::specified::scan(&items, &problem);
        let expected_total = reference::specified::reduce(&expected, &Reduce::<f32, _>::new(Sum));
        let expected_place = argmax(&Device::cpu(), &expected).expect("a CPU").expect("items");
        let mut check = |how: &str| {
            gpu.wait().expect("nothing failed");
            assert_same(&ends.to_vec().expect("items"), &expected, how);
            assert_same(&total.to_vec().expect("a sum"), &[expected_total], how);
            assert_eq!(place.to_vec(), Ok(vec![expected_place]), "{how}");
            ends.copy_from_slice(&vec![0.0; ITEMS]).expect("as many");
            total.copy_from_slice(&[0.0]).expect("as many");
            place.copy_from_slice(&[0]).expect("as many");
        };
        for recording in [&scan, &sum, &largest] {
            recording.launch(stream).expect("it is launched");
        }
        check("in a stream");
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).expect("a capture");
        assert!(scan.launch(stream).is_err(), "the graph could outlive the recording");
        for recording in [&scan, &sum, &largest] {
            // SAFETY: the graph is dropped first.
            unsafe { recording.capture(stream) }.expect("it is captured");
        }
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).expect("a graph").expect("three launches");
        for round in 0..3 {
            graph.launch().expect("it is launched");
            stream.synchronize().expect("it is done");
            check(&format!("run {round} of a graph"));
        }
        drop(graph);
        let times = scan.time(5).expect("times").expect("CUDA has a clock");
        assert_eq!(times.len(), 5);
        #[cfg(feature = "wgpu")]
        assert_eq!(scan.profile(1).map(|profile| profile.is_none()), Ok(true));
    });
}

#[test]
fn values_that_are_awaited_come_by_themselves() {
    for_each_context(|gpu, _, stream| {
        let items: Vec<f32> = Input::Mixed.array(3, ITEMS);
        let input = Array::from_slice(gpu, &items).expect("an array");
        let problem = Reduce::<f32, _>::new(Sum);
        let mut plan = ReducePlan::<f32, f32, _>::new(gpu, ITEMS, problem).expect("a plan");
        let mut sum = plan.bind_awaited(&input).expect("it is bound");
        drop((input, plan));
        let expected = reference::specified::reduce(&items, &problem);
        for _ in 0..3 {
            sum.recording().launch(stream).expect("it is launched");
            assert_same(&[sum.wait_in(stream).expect("a sum")], &[expected], gpu.id());
            sum.recording().submit().expect("it is launched");
            assert_same(&[sum.wait().expect("a sum")], &[expected], gpu.id());
        }
        assert!(sum.wait().is_err(), "nothing was begun");
    });
}

#[test]
fn nothing_is_awaited_on_other_devices() {
    let cpu = Device::cpu();
    let mut plan = ReducePlan::<u32, u32, _>::new(&cpu, 3, Reduce::new(Sum)).expect("a plan");
    let refused = plan.bind_awaited(&[1, 2, 3]).expect_err("a CPU has no kernels");
    assert_eq!(refused, Error::NoCommands { device: "cpu".to_owned() });
    let refused = plan.bind_awaited(&[1, 2, 3, 4]).expect_err("there are too many");
    assert_eq!(refused, Error::PlanTooSmall { input: 4, planned: 3 });
}
