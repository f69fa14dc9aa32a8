//! Three steps in a stream of one's own: an exclusive scan, a kernel of one's own, a reduction. The context, the stream and
//! the arrays are cudarc's; nothing is copied, and the host waits once, at the end. Then the same three steps as a graph.
//!
//! The job: rows of a text have lengths; every row is given the place where it starts (a scan of the lengths), rounded up to a
//! multiple of 16 (a kernel of ours), and the starts are summed up (a reduction) to check them against the host.
//!
//! `cargo run --release --example cuda_stream`

use std::error::Error;
use std::sync::Arc;

use upsweep::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use upsweep::cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg,
};
use upsweep::cudarc::nvrtc::Ptx;
use upsweep::{
    Device, Reduce, ReducePlan, Scan, ScanPlan, Sum, View, ViewMut, exclusive_scan_into,
    reduce_into,
};

const ROWS: usize = 1 << 20;

/// Our kernel: `starts[i] = (starts[i] + 15) & ~15`. The driver compiles it.
const ALIGN: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry align(.param .u64 starts, .param .u32 rows) {
    .reg .pred %outside;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    ld.param.u32 %r4, [rows];
    setp.ge.u32 %outside, %r3, %r4;
    @%outside ret;
    ld.param.u64 %rd0, [starts];
    cvta.to.global.u64 %rd1, %rd0;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3];
    add.u32 %r5, %r5, 15;
    and.b32 %r5, %r5, -16;
    st.global.u32 [%rd3], %r5;
    ret;
}
";

fn main() -> Result<(), Box<dyn Error>> {
    if let Err(error) = Device::open("cuda:0") {
        println!("{error}; this example needs an NVIDIA GPU");
        return Ok(());
    }
    // What the caller has: a context, a stream, arrays, a kernel.
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let align = context.load_module(Ptx::from_src(ALIGN))?.load_function("align")?;
    let lengths: Vec<u32> = (0..ROWS as u32).map(|row| row % 97).collect();
    let rows: CudaSlice<u32> = stream.clone_htod(&lengths)?;
    let mut starts = stream.alloc_zeros::<u32>(ROWS)?;
    let mut total = stream.alloc_zeros::<u32>(1)?;

    // Three steps, each behind the one before in the caller's stream.
    let device = Device::from_cuda_stream(Arc::clone(&stream))?;
    exclusive_scan_into(&device, View::of_cuda(&rows)?, ViewMut::of_cuda(&mut starts)?, Sum)?;
    launch(&stream, &align, &mut starts)?;
    reduce_into(&device, View::of_cuda(&starts)?, ViewMut::of_cuda(&mut total)?, Sum)?;

    // Waits, and says whether everything went well.
    device.wait()?;
    check(&lengths, &stream.clone_dtoh(&starts)?, stream.clone_dtoh(&total)?[0]);
    println!(
        "{}: {ROWS} rows placed in a stream of the caller's; all as on the host",
        device.limits().name
    );
    as_graph(&device, &stream, &align, &lengths)
}

/// The same three steps, captured once and launched as one. What they need is made before: plans are bound to their arrays.
fn as_graph(
    device: &Device,
    stream: &Arc<CudaStream>,
    align: &CudaFunction,
    lengths: &[u32],
) -> Result<(), Box<dyn Error>> {
    // SAFETY: all that follows is in one stream; cudarc's events would be captured too.
    unsafe { stream.context().disable_event_tracking() };
    let rows: CudaSlice<u32> = stream.clone_htod(lengths)?;
    let mut starts = stream.alloc_zeros::<u32>(ROWS)?;
    let total = stream.alloc_zeros::<u32>(1)?;
    let [from, to, sum] = [&rows, &starts, &total].map(|array| array.device_ptr(stream).0);
    let mut scan = ScanPlan::<u32, u32, _>::new(device, ROWS, Scan::exclusive(Sum))?;
    let mut reduce = ReducePlan::<u32, u32, _>::new(device, ROWS, Reduce::new(Sum))?;
    // SAFETY: the arrays live longer than the recordings, and are used in this stream alone.
    let (scan, reduce) = unsafe {
        let (input, output) =
            (View::of_cuda_pointer(from, ROWS)?, ViewMut::of_cuda_pointer(to, ROWS)?);
        let (summed, result) =
            (View::of_cuda_pointer(to, ROWS)?, ViewMut::of_cuda_pointer(sum, 1)?);
        (scan.bind(input, output)?, reduce.bind(summed, result)?)
    };

    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    // SAFETY: the graph is dropped before the recordings.
    unsafe { scan.capture(stream) }?;
    launch(stream, align, &mut starts)?;
    // SAFETY: as above.
    unsafe { reduce.capture(stream) }?;
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags)?.ok_or("nothing was captured")?;
    for _ in 0..3 {
        graph.launch()?;
    }
    device.wait()?;
    drop(graph);
    check(lengths, &stream.clone_dtoh(&starts)?, stream.clone_dtoh(&total)?[0]);
    println!("the same three times as a graph; all as on the host");
    Ok(())
}

/// Rounds the starts up to multiples of 16.
fn launch(
    stream: &Arc<CudaStream>,
    align: &CudaFunction,
    starts: &mut CudaSlice<u32>,
) -> Result<(), Box<dyn Error>> {
    let rows = ROWS as u32;
    let mut launch = stream.launch_builder(align);
    launch.arg(starts).arg(&rows);
    // SAFETY: these are the kernel's arguments, and it stays inside of the array.
    unsafe { launch.launch(LaunchConfig::for_num_elems(rows)) }?;
    Ok(())
}

/// Compares with the host.
fn check(lengths: &[u32], starts: &[u32], total: u32) {
    let (mut end, mut expected) = (0u32, 0u32);
    for (row, (start, length)) in starts.iter().zip(lengths).enumerate() {
        let aligned = (end + 15) & !15;
        assert_eq!(*start, aligned, "the start of row {row}");
        expected = expected.wrapping_add(aligned);
        end += length;
    }
    assert_eq!(total, expected, "the sum of all starts");
}
