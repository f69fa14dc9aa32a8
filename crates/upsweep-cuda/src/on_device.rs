//! What only a GPU can show: memory, launches, results that come back. Without one these tests say that they did
//! nothing.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, sys};
use upsweep_core::{Dtype, Error, Reduce, Scan, SegmentedBy, Sum, bf16, f16, reference};

use upsweep_gpu::Part;
use upsweep_gpu::bits::MOST_WORDS;

use crate::launch::{Arguments, Kernel, Launch};
use crate::mailbox::{self, Mailbox};
use crate::memory::{Buffer, POISON};
use crate::{
    Calls, Gpu, Marks, Memory, ReduceOptions, ScanOptions, Slice, Source, Workspace, testing,
};

/// The only kernel of a text.
fn kernel(gpu: &Gpu, text: &str, entry: &'static str) -> Arc<Kernel> {
    let module = gpu.load(text, &[entry]).unwrap_or_else(|error| panic!("{error}"));
    module.kernel(entry).expect("it has this entry point")
}

fn one_block(threads: u32) -> Launch {
    Launch { grid: [1, 1], threads, shared_bytes: 0, cooperative: false }
}

#[test]
fn a_device_says_what_it_can_do() {
    let Some(gpu) = testing::gpu() else { return };
    let (facts, limits) = (gpu.facts, gpu.limits());
    assert_eq!((facts.subgroup, facts.threads), (32, 1024), "{facts:?}");
    assert!(facts.arch >= 50 && facts.multiprocessors > 0 && facts.driver >= 11_000, "{facts:?}");
    assert!(
        facts.shared_bytes >= 48 << 10 && facts.shared_bytes_most >= facts.shared_bytes,
        "{facts:?}"
    );
    assert!(facts.registers_of_each >= 32 << 10 && facts.threads_of_each >= 1024, "{facts:?}");
    assert_eq!((gpu.id(), limits.interface.as_str()), ("cuda:0", "cuda"));
    assert_eq!(limits.memory_bytes, Some(facts.memory_bytes));
    assert!(!limits.name.is_empty() && limits.driver.starts_with("CUDA "), "{limits:?}");
}

#[test]
fn a_number_that_no_device_has_is_an_error() {
    let Some(_) = testing::gpu() else { return };
    let error = Gpu::open(1000).map(drop).expect_err("there are not as many").to_string();
    assert!(error.starts_with("no device 'cuda:1000': the driver sees "), "{error}");
}

#[test]
fn kernels_are_made_without_being_run() {
    let Some(_) = testing::gpu() else { return };
    let gpu = Arc::new(Gpu::open(0).expect("it was there before"));
    gpu.only_make_kernels();
    let mut workspace = Workspace::default();
    let (problem, options) = (Reduce::<u32, _>::new(Sum), ReduceOptions::default());
    let sum = gpu.reduce(&mut workspace, Source::Host(&[1u32, 2]), &problem, &options);
    let error = sum.expect_err("nothing is run").to_string();
    assert!(error.contains("kernels are made only"), "{error}");
}

#[test]
fn what_goes_to_the_device_comes_back() {
    let Some(gpu) = testing::gpu() else { return };
    for len in [0, 1, 3, 1000, (1 << 20) + 1] {
        let items: Vec<u32> = (0..len).map(|k: u32| k.wrapping_mul(2_654_435_761)).collect();
        let memory = Memory::holding(&gpu, &items).expect("memory");
        assert_eq!(memory.to_vec::<u32>().as_ref(), Ok(&items));
        let zeros = Memory::new::<u32>(&gpu, items.len()).expect("memory");
        assert_eq!(zeros.to_vec::<u32>(), Ok(vec![0; items.len()]));
        zeros.replace(&items).expect("as many");
        assert_eq!(zeros.to_vec::<u32>().as_ref(), Ok(&items));
        let bytes = Memory::filled(&gpu, items.len(), 7u8).expect("memory");
        assert_eq!(bytes.to_vec::<u8>(), Ok(vec![7; items.len()]));
        let wide = Memory::filled(&gpu, items.len(), 1.5f64).expect("memory");
        assert_eq!(wide.to_vec::<f64>(), Ok(vec![1.5; items.len()]));
        assert!(matches!(wide.to_vec::<u64>(), Err(Error::Buffer { .. })), "another type");
        assert!(matches!(wide.replace(&[1.0f64; 7]), Err(Error::LengthMismatch { .. })));
    }
}

#[test]
fn memory_that_is_not_there_is_an_error_and_no_more() {
    let Some(gpu) = testing::gpu() else { return };
    let len = 1usize << 50;
    assert_eq!(Memory::new::<u8>(&gpu, len).map(drop), Err(Error::OutOfMemory { bytes: len }));
    let everything = Memory::new::<u64>(&gpu, usize::MAX).map(drop);
    assert_eq!(everything, Err(Error::OutOfMemory { bytes: usize::MAX }));
    assert_eq!(Memory::filled(&gpu, 2, 3u8).and_then(|memory| memory.to_vec()), Ok(vec![3u8; 2]));
}

#[test]
fn arrays_of_cudarc_are_slices() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.context().new_stream().expect("a stream");
    let items: Vec<u16> = (0..1001).collect();
    let array: CudaSlice<u16> = stream.clone_htod(&items).expect("an array");
    let all = Slice::of(&array).expect("a slice");
    assert_eq!((all.len(), all.kind(), all.width()), (1001, Dtype::U16.into(), 16));
    let mut found = vec![0u16; 1001];
    gpu.read_back(&all, &mut found).expect("it can be read");
    assert_eq!(found, items);
    let view = array.slice(3..);
    let part = Slice::of(&view).expect("a slice");
    assert_eq!((part.len(), part.width()), (998, 2));
    assert!(part.is(&all.part(3..1001).expect("it is among them")));
    gpu.read_back(&part, &mut found[3..]).expect("it can be read");
    assert_eq!(found, items);
    let shared = Gpu::from_context("cuda", gpu.context()).expect("a device");
    shared.read_back(&all, &mut found).expect("it is the same context");
    assert_eq!(found, items);
}

/// Leaves what it is given, `delay` clocks later.
const LEAVES: &str = "constexpr u32 RESULT_WORDS = 16u;\n\
                      struct ResultWords { u32 at[RESULT_WORDS]; };\n";
const LEAVES_KERNEL: &str = "extern \"C\" __global__ void leaves(u64* mailbox, u32 number, u64 value, long long delay) {\n\
                      \x20   const long long begin = clock64();\n\
                      \x20   while (clock64() - begin < delay) {}\n\
                      \x20   ResultWords words;\n\
                      \x20   for (u32 k = 0; k < RESULT_WORDS; ++k) words.at[k] = u32(value >> 32 * (k % 2)) ^ k / 2;\n\
                      \x20   leave_message(mailbox, number, words);\n}\n";

fn leaves_text() -> String {
    [include_str!("shader/names.cuh"), LEAVES, mailbox::TEXT, LEAVES_KERNEL].concat()
}

#[test]
fn a_mailbox_brings_each_message_once() {
    let Some(gpu) = testing::gpu() else { return };
    let leaves = kernel(&gpu, &leaves_text(), "leaves");
    let mut mailbox = Mailbox::new(&gpu, MOST_WORDS as u32).expect("a mailbox");
    let foreign = gpu.context().new_stream().expect("a stream");
    for round in 0..1000u64 {
        // Now and then so late that the driver waits.
        let delay = if round % 200 == 7 { 4_000_000i64 } else { 0 };
        let stream = if round % 2 == 0 { gpu.stream() } else { &foreign };
        let (device, number) = mailbox.next();
        // All words of what is left change.
        let value = (round * round) << 20;
        let arguments = Arguments::new().with(device).with(number).with(value).with(delay);
        // SAFETY: the arguments are the kernel's, and the mailbox outlives it.
        unsafe { gpu.launch(stream, &leaves, &one_block(1), &arguments) }.expect("it is launched");
        let message = mailbox.wait(stream).expect("a message");
        let word = |k: usize| (value >> (32 * (k % 2))) as u32 ^ (k / 2) as u32;
        assert_eq!(message, core::array::from_fn::<u32, MOST_WORDS, _>(word));
    }
    mailbox.next();
    let error = mailbox.wait(gpu.stream()).expect_err("nothing was launched").to_string();
    assert!(error.contains("left no result"), "{error}");
}

/// Stores a number as into the device's memory, `delay` clocks later.
const COUNTS: &str = "extern \"C\" __global__ void counts(u64* count, u64 value, long long delay) {\n\
                      \x20   const long long begin = clock64();\n\
                      \x20   while (clock64() - begin < delay) {}\n\
                      \x20   *count = value;\n}\n";

#[test]
fn a_mailbox_brings_numbers_and_messages_in_turn() {
    let Some(gpu) = testing::gpu() else { return };
    let counts = kernel(&gpu, &[include_str!("shader/names.cuh"), COUNTS].concat(), "counts");
    let mailbox = Mailbox::new(&gpu, 1).expect("a mailbox");
    let stream = gpu.stream();
    // Numbers of which half a word is as a message's number would be, and the largest that may stand there.
    for (round, value) in
        [0, 1 << 32, 7, u64::MAX - 1, 1 << 33].into_iter().cycle().take(100).enumerate()
    {
        let delay = if round % 20 == 7 { 4_000_000i64 } else { 0 };
        mailbox.expect_number();
        let arguments = Arguments::new().with(mailbox.device()).with(value).with(delay);
        // SAFETY: the arguments are the kernel's, and the mailbox outlives it.
        unsafe { gpu.launch(stream, &counts, &one_block(1), &arguments) }.expect("it is launched");
        assert_eq!(mailbox.number(stream).expect("a number"), value);
        assert_eq!(mailbox.number(stream).expect("the same number"), value);
        mailbox.forget_number();
    }
    let mut mailbox = mailbox;
    // The number of the first message, for which the last number is not mistaken.
    assert_eq!(mailbox.next().1, 1);
    let error = mailbox.wait(stream).expect_err("nothing was launched").to_string();
    assert!(error.contains("left no result"), "{error}");
    mailbox.expect_number();
    let error = mailbox.number(stream).expect_err("nothing was launched").to_string();
    assert!(error.contains("left no result"), "{error}");
}

/// Fills all of its shared memory, and adds up what is there.
const FILLS: &str = "extern \"C\" __global__ void fills(unsigned* sum, unsigned words) {\n\
            \x20   extern __shared__ unsigned shared[];\n\
            \x20   for (unsigned k = threadIdx.x; k < words; k += blockDim.x) shared[k] = k;\n\
            \x20   __syncthreads();\n\
            \x20   unsigned mine = 0;\n\
            \x20   for (unsigned k = threadIdx.x; k < words; k += blockDim.x) mine += shared[words - 1 - k];\n\
            \x20   atomicAdd(sum, mine);\n}\n";

#[test]
fn more_shared_memory_is_there_for_the_asking() {
    let Some(gpu) = testing::gpu() else { return };
    let fills = kernel(&gpu, FILLS, "fills");
    for shared_bytes in [1 << 10, 48 << 10, gpu.facts.shared_bytes_most, 16 << 10] {
        let (sum, words) = (Buffer::zeros(&gpu, 4).expect("memory"), shared_bytes / 4);
        let launch = Launch { shared_bytes, ..one_block(256) };
        assert!(gpu.blocks_at_once(&fills, 256, shared_bytes).expect("a number") >= 1);
        let arguments = Arguments::new().with(sum.pointer()).with(words);
        // SAFETY: the arguments are the kernel's, and the memory is freed behind it.
        unsafe { gpu.launch(gpu.stream(), &fills, &launch, &arguments) }.expect("it is launched");
        let mut found = [0u8; 4];
        // SAFETY: the memory is ours.
        unsafe { gpu.copy_out(sum.pointer(), &mut found) }.expect("it can be read");
        assert_eq!(u32::from_le_bytes(found), (0..words).sum::<u32>());
    }
    let launch = Launch { shared_bytes: gpu.facts.shared_bytes_most + 4, ..one_block(256) };
    // SAFETY: nothing is launched.
    let error = unsafe {
        gpu.launch(gpu.stream(), &fills, &launch, &Arguments::new().with(0u64).with(0u32))
    };
    let error = error.expect_err("there is not as much").to_string();
    assert!(error.contains("bytes of shared memory"), "{error}");
    gpu.wait().expect("the device is as it was");
}

/// Every block waits for all others: those that all run at once meet.
const MEETS: &str = "extern \"C\" __global__ void meets(unsigned* count) {\n\
            \x20   atomicAdd(count, 1);\n\
            \x20   for (int look = 0; look < 100000000; ++look) {\n\
            \x20       if (*reinterpret_cast<volatile unsigned*>(count) == gridDim.x) return;\n\
            \x20   }\n\
            \x20   atomicAdd(count, 1u << 31);\n}\n";

#[test]
fn a_cooperative_launch_holds_all_blocks_or_none() {
    let Some(gpu) = testing::gpu() else { return };
    let meets = kernel(&gpu, MEETS, "meets");
    let at_once = gpu.facts.multiprocessors * gpu.blocks_at_once(&meets, 32, 0).expect("a number");
    let launch = Launch { grid: [at_once, 1], cooperative: true, ..one_block(32) };
    let count = Buffer::zeros(&gpu, 4).expect("memory");
    // SAFETY: the argument is the kernel's, and the memory is freed behind it.
    let ran = |launch| unsafe {
        gpu.launch(gpu.stream(), &meets, launch, &Arguments::new().with(count.pointer()))
    };
    // One thread of each block counts for all its 32.
    count.set(0).expect("it can be set");
    let single = Launch { threads: 1, grid: [at_once.min(gpu.facts.multiprocessors), 1], ..launch };
    ran(&single).expect("it is launched");
    let mut found = [0u8; 4];
    // SAFETY: the memory is ours.
    unsafe { gpu.copy_out(count.pointer(), &mut found) }.expect("it can be read");
    assert_eq!(u32::from_le_bytes(found), single.grid[0], "all blocks met");
    let error =
        ran(&Launch { grid: [at_once + 1, 1], ..launch }).expect_err("one is too many").to_string();
    assert!(error.contains("more blocks than the device holds at once"), "{error}");
    gpu.wait().expect("the device is as it was");
}

#[test]
fn time_on_the_device_is_measured() {
    let Some(gpu) = testing::gpu() else { return };
    let leaves = kernel(&gpu, &leaves_text(), "leaves");
    let room = Buffer::zeros(&gpu, 16).expect("memory");
    let clocks = |delay: i64| {
        let arguments = Arguments::new().with(room.pointer()).with(1u32).with(0u64).with(delay);
        // SAFETY: the arguments are the kernel's, and the memory is freed behind it.
        let work = || unsafe { gpu.launch(gpu.stream(), &leaves, &one_block(1), &arguments) };
        gpu.time(gpu.stream(), work).expect("a time")
    };
    clocks(0);
    assert!(clocks(20_000_000) > 5 * clocks(1_000_000), "twenty times as many clocks");
}

#[test]
fn recordings_run_as_often_as_wanted() {
    let Some(gpu) = testing::gpu() else { return };
    let data = Memory::filled(&gpu, 5000, 1u32).expect("memory");
    let (mut workspace, problem) = (Workspace::default(), Scan::inclusive(Sum));
    let (slices, options) = ([data.slice(), data.slice()], ScanOptions::default());
    let bound = gpu.bind_scan::<u32, u32, _>(&mut workspace, slices, &problem, &options);
    // SAFETY: the recording keeps the array.
    let recording = unsafe { gpu.recording(bound.expect("it can be bound")).expect("a recording") };
    let recording = recording.keeping([data.clone()]);
    drop(workspace);
    let mut expected = vec![1u32; 5000];
    let mut runs = |count: usize| {
        for _ in 0..count {
            expected = reference::scan(&expected, &problem);
        }
        expected.clone()
    };
    recording.submit().expect("it is launched");
    let foreign = gpu.context().new_stream().expect("a stream");
    gpu.wait().expect("it is done");
    recording.launch(&foreign).expect("it is launched");
    gpu.wait().expect("streams of the caller's are waited for");
    assert_eq!(data.to_vec(), Ok(runs(2)));
    assert_eq!(recording.time(3).expect("times").len(), 3);
    assert_eq!(data.to_vec(), Ok(runs(3)));
    foreign
        .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .expect("a capture");
    assert!(recording.launch(&foreign).is_err(), "that would outlive the recording");
    // SAFETY: the graph is gone before the recording.
    unsafe { recording.capture(&foreign) }.expect("it is captured");
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = foreign.end_capture(flags).expect("a graph").expect("not an empty one");
    graph.launch().expect("it is launched");
    graph.launch().expect("it is launched");
    gpu.wait().expect("they are done");
    drop(graph);
    assert_eq!(data.to_vec(), Ok(runs(2)));
}

/// A reduction of segments has several launches that may begin while others run, and reads what the scan in front of it has just
/// written: in a stream, and in a graph, run behind run.
#[test]
fn launches_that_overlap_wait_for_one_another() {
    let Some(gpu) = testing::gpu() else { return };
    let (items, size) = (1 << 20, 7);
    let offsets: Vec<u32> =
        (0..).map(|k| k * size).take_while(|&at| at < items).chain([items]).collect();
    let data = Memory::filled(&gpu, items as usize, 1u32).expect("memory");
    let sums = Memory::filled(&gpu, offsets.len() - 1, 0u32).expect("memory");
    let marks = Memory::holding(&gpu, &offsets).expect("memory");
    let (mut workspace, mut other) = (Workspace::default(), Workspace::default());
    let (problem, options) = (Scan::inclusive(Sum), ScanOptions::default());
    let (slices, in_place) = ([data.slice(), sums.slice()], [data.slice(), data.slice()]);
    let (by, slice, of_sum) = (SegmentedBy::Offsets, marks.slice(), Reduce::new(Sum));
    let (marks, none) = (Marks { by, kind: slice.kind(), slice }, [None, None]);
    let scan = gpu.bind_scan::<u32, u32, _>(&mut workspace, in_place, &problem, &options);
    let reduce = gpu
        .bind_segmented_reduce::<u32, u32, _>(&mut other, slices, marks, none, &of_sum, &options);
    let [scan, reduce] = [scan, reduce].map(|bound| {
        // SAFETY: the arrays live longer than what is bound to them.
        unsafe { gpu.recording(bound.expect("it can be bound")).expect("a recording") }
    });
    let mut expected = vec![1u32; items as usize];
    let mut runs = |count: usize| -> Vec<u32> {
        for _ in 0..count {
            expected = reference::scan(&expected, &problem);
        }
        let sum = |of: &[u32]| of.iter().fold(0, |sum: u32, &item| sum.wrapping_add(item));
        expected.chunks(size as usize).map(sum).collect()
    };
    for _ in 0..5 {
        scan.submit().expect("it is launched");
        reduce.submit().expect("it is launched");
    }
    assert_eq!(sums.to_vec(), Ok(runs(5)));
    let foreign = gpu.context().new_stream().expect("a stream");
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    foreign.begin_capture(mode).expect("a capture");
    for _ in 0..2 {
        // SAFETY: the graph is gone before the recordings.
        unsafe { scan.capture(&foreign).and_then(|()| reduce.capture(&foreign)) }
            .expect("captured");
    }
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = foreign.end_capture(flags).expect("a graph").expect("not an empty one");
    for _ in 0..5 {
        graph.launch().expect("it is launched");
    }
    gpu.wait().expect("they are done");
    drop(graph);
    assert_eq!(sums.to_vec(), Ok(runs(10)));
}

#[test]
fn what_is_awaited_comes_once_for_each_run() {
    let Some(gpu) = testing::gpu() else { return };
    let (mut workspace, options) = (Workspace::default(), ReduceOptions::default());
    let data = Memory::filled(&gpu, 70_001, 3u64).expect("memory");
    // SAFETY: the array lives longer than what is bound to it.
    let awaited = unsafe {
        let problem = Reduce::new(Sum).init(1 << 40);
        gpu.bind_awaited::<u64, u64, _>(&mut workspace, data.slice(), &problem, &options)
    };
    let mut awaited = awaited.expect("it can be bound");
    drop(workspace);
    let expected = (1 << 40) + 3 * 70_001;
    for _ in 0..3 {
        awaited.recording().submit().expect("it is launched");
        assert_eq!(awaited.wait(gpu.stream()), Ok(expected));
    }
    let error = awaited.wait(gpu.stream()).expect_err("nothing was begun").to_string();
    assert!(error.contains("left no result"), "{error}");

    let foreign = gpu.context().new_stream().expect("a stream");
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    foreign.begin_capture(mode).expect("a capture");
    // SAFETY: the graph is gone before the recording.
    unsafe { awaited.recording().capture(&foreign) }.expect("it is captured");
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = foreign.end_capture(flags).expect("a graph").expect("not an empty one");
    for _ in 0..3 {
        graph.launch().expect("it is launched");
        assert_eq!(awaited.wait(&foreign), Ok(expected));
    }
    drop(graph);
}

#[test]
fn poison_stays_until_something_is_written() {
    let Some(gpu) = testing::gpu() else { return };
    let buffer = Buffer::new(&gpu, 1000).expect("memory");
    buffer.set(POISON).expect("it can be set");
    buffer.write(10, &[1, 2, 3]).expect("it can be written");
    let mut found = vec![0u8; 1000];
    // SAFETY: the memory is ours.
    unsafe { gpu.copy_out(buffer.pointer(), &mut found) }.expect("it can be read");
    assert_eq!(found[10..13], [1, 2, 3]);
    assert!(found.iter().enumerate().all(|(k, &byte)| byte == POISON || (10..13).contains(&k)));
    assert_eq!(buffer.bytes(), 1000);
}

/// Converts numbers as kernels do, with the functions of every header.
const CONVERTS: &str = concat!(
    include_str!("shader/names.cuh"),
    include_str!("shader/rounding.cuh"),
    "extern \"C\" __global__ void converts(const u32* bits, u32* halves, u32* bfloats, u32* values, u32 count) {\n\
     \x20   const u32 k = blockIdx.x * blockDim.x + threadIdx.x;\n\
     \x20   if (k >= count) return;\n\
     \x20   halves[k] = half_bits(__uint_as_float(bits[k]));\n\
     \x20   bfloats[k] = bfloat_bits(__uint_as_float(bits[k]));\n\
     \x20   values[k] = __float_as_uint(half_value(u16(k)));\n}\n"
);

#[test]
fn short_floats_are_converted_as_on_the_host() {
    let Some(gpu) = testing::gpu() else { return };
    // Every 1021st of all floats, and those around what is halfway between two of the shorter.
    let mut patterns: Vec<u32> = (0..=u32::MAX).step_by(1021).collect();
    for short in 0..=u16::MAX {
        for wide in [f16::from_bits(short).to_f32().to_bits(), u32::from(short) << 16] {
            for half in [0x1000, 0x8000] {
                patterns.extend([
                    wide,
                    wide ^ half,
                    (wide ^ half).wrapping_add(1),
                    (wide ^ half).wrapping_sub(1),
                ]);
            }
        }
    }
    let count = patterns.len();
    let bits = Memory::holding(&gpu, &patterns).expect("memory");
    let [halves, bfloats, values] =
        [(); 3].map(|()| Memory::new::<u32>(&gpu, count).expect("memory"));
    let launch = Launch { grid: [(count as u32).div_ceil(256), 1], ..one_block(256) };
    let arguments = [&bits, &halves, &bfloats, &values]
        .into_iter()
        .fold(Arguments::new(), |arguments, memory| arguments.with(memory.slice().pointer()))
        .with(count as u32);
    let converts = kernel(&gpu, CONVERTS, "converts");
    // SAFETY: the arguments are the kernel's, and the memory is freed behind it.
    unsafe { gpu.launch(gpu.stream(), &converts, &launch, &arguments) }.expect("it is launched");
    let [halves, bfloats, values] =
        [halves, bfloats, values].map(|memory| memory.to_vec::<u32>().expect("it can be read"));
    for (k, &pattern) in patterns.iter().enumerate() {
        let value = f32::from_bits(pattern);
        let (half, bfloat) = (f16::from_bits(halves[k] as u16), bf16::from_bits(bfloats[k] as u16));
        assert!(halves[k] >> 16 == 0 && bfloats[k] >> 16 == 0);
        if value.is_nan() {
            assert!(half.is_nan() && bfloat.is_nan(), "{pattern:#x}");
        } else {
            assert_eq!(half.to_bits(), f16::from_f32(value).to_bits(), "{pattern:#x} as f16");
            assert_eq!(bfloat.to_bits(), bf16::from_f32(value).to_bits(), "{pattern:#x} as bf16");
        }
        if k <= usize::from(u16::MAX) {
            let (found, expected) = (f32::from_bits(values[k]), f16::from_bits(k as u16).to_f32());
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{k:#x}"
            );
        }
    }
}

#[test]
fn kernels_of_these_tests_compile_without_a_gpu() {
    let Some(compiler) = testing::compiler() else { return };
    for text in [&leaves_text(), FILLS, MEETS, CONVERTS] {
        compiler.compile(text, 90, &[]).unwrap_or_else(|error| panic!("{error}"));
    }
}
