//! Ten steps in one submission or one graph. Each works on what others have left, and only the GPU knows how much that is; the host waits
//! once, at the end.
//!
//! The job: rows of a text have lengths. Short rows are left out, the others are placed one behind another, and some figures of the places
//! are wanted.
//!
//! | step | reads | leaves |
//! |---|---|---|
//! | 1. select | lengths | `long`: those of at least 16 |
//! | 2. exclusive scan, sum | `long` | `starts` |
//! | 3. select | `starts` | `aligned`: multiples of 4 |
//! | 4. unique | `long` | `different`: the first of each run of equal lengths |
//! | 5. scan by key, max | `starts`, keys `long` | `reach`: the last start so far of the run |
//! | 6. select | `reach` | `even` |
//! | 7. inclusive scan, max | `aligned` | `highest` |
//! | 8. reduce, sum | `highest` | a number |
//! | 9. reduce, sum | `different` | a number |
//! | 10. reduce, max | `even` | a number |
//!
//! `cargo run --release --example chain [wgpu:N | cuda:N]`

use std::error::Error;

use upsweep::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use upsweep::wgpu;
use upsweep::{
    Array, Device, Fused, Max, Operator, Recording, Reduce, ReducePlan, Scan, ScanPlan, Segments,
    Sum, View, bind_segmented_scan, bind_unique,
};

const ROWS: usize = 1 << 20;

#[upsweep::function]
fn is_long(length: u32) -> bool {
    length >= 16
}

#[upsweep::function]
fn is_aligned(start: u32) -> bool {
    start & 3 == 0
}

#[upsweep::function]
fn is_even(start: u32) -> bool {
    start & 1 == 0
}

fn main() -> Result<(), Box<dyn Error>> {
    let id = std::env::args().nth(1).unwrap_or_else(|| "wgpu:0".to_owned());
    let device = match Device::open(&id) {
        Ok(device) if device.wgpu().is_some() || device.cuda_stream().is_some() => device,
        Ok(_) => {
            println!("{id} has no command stream: give wgpu:0, cuda:0 or another such id");
            return Ok(());
        }
        Err(error) => {
            println!("{error}; this example needs a GPU, or Vulkan in software such as lavapipe");
            return Ok(());
        }
    };
    let lengths: Vec<u32> = (0..ROWS as u32).map(|row| row / 3 * 7 % 97).collect();
    let mut arrays = Arrays::new(&device, &lengths)?;
    let steps = arrays.bind(&device)?;
    match device.wgpu() {
        Some((gpu, queue)) => submit(gpu, queue, &steps)?,
        None => launch(&device, &steps)?,
    }

    // Reading back waits, and says whether everything went well.
    let found: Vec<u32> = arrays
        .results
        .iter()
        .map(|found| Ok(found.to_vec()?[0]))
        .collect::<upsweep::Result<_>>()?;
    assert_eq!(found, on_host(&lengths));
    let name = &device.limits().name;
    println!(
        "{id}, {name}: {ROWS} rows in {} steps without a wait; all as on the host",
        steps.len()
    );
    Ok(())
}

/// All steps in one submission of wgpu's.
fn submit(gpu: &wgpu::Device, queue: &wgpu::Queue, steps: &[Recording]) -> upsweep::Result<()> {
    let mut encoder = gpu.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    steps.iter().try_for_each(|step| step.record(&mut pass))?;
    drop(pass);
    queue.submit([encoder.finish()]);
    Ok(())
}

/// All steps as one graph of CUDA's.
fn launch(device: &Device, steps: &[Recording]) -> Result<(), Box<dyn Error>> {
    let own = device.cuda_stream().ok_or("it has no stream")?;
    // What was copied to arrays is there before another stream reads it.
    device.wait()?;
    let stream = own.context().new_stream()?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    for step in steps {
        // SAFETY: the graph is dropped before the recordings are.
        unsafe { step.capture(&stream) }?;
    }
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags)?.ok_or("nothing was captured")?;
    graph.launch()?;
    Ok(stream.synchronize()?)
}

/// Items that a selection leaves, and how many they are.
struct Kept {
    items: Array<u32>,
    count: Array<u64>,
}

impl Kept {
    fn new(device: &Device) -> upsweep::Result<Self> {
        Ok(Self { items: Array::filled(device, ROWS, 0)?, count: Array::filled(device, 1, 0)? })
    }

    fn view(&self) -> upsweep::Result<View<'_, u32>> {
        self.items.view().with_length(&self.count)
    }
}

/// What the steps read and write.
struct Arrays {
    lengths: Array<u32>,
    long: Kept,
    starts: Array<u32>,
    aligned: Kept,
    different: Kept,
    reach: Array<u32>,
    even: Kept,
    highest: Array<u32>,
    results: [Array<u32>; 3],
}

impl Arrays {
    fn new(device: &Device, lengths: &[u32]) -> upsweep::Result<Self> {
        let room = |items| Array::filled(device, items, 0u32);
        Ok(Self {
            lengths: Array::from_slice(device, lengths)?,
            long: Kept::new(device)?,
            starts: room(ROWS)?,
            aligned: Kept::new(device)?,
            different: Kept::new(device)?,
            reach: room(ROWS)?,
            even: Kept::new(device)?,
            highest: room(ROWS)?,
            results: [room(1)?, room(1)?, room(1)?],
        })
    }

    /// The steps, each bound to its arrays. Where one reads fewer items than there is room for, a view says where their number is.
    fn bind(&mut self, device: &Device) -> upsweep::Result<Vec<Recording>> {
        let Self { lengths, long, starts, aligned, different, reach, even, highest, results } =
            self;
        let mut sum = ScanPlan::<u32, u32, _>::new(device, ROWS, Scan::exclusive(Sum))?;
        let mut max = ScanPlan::<u32, u32, _>::new(device, ROWS, Scan::inclusive(Max))?;
        let lengths = lengths.view().filter(is_long {});
        let mut steps = vec![lengths.bind_select(device, &mut long.items, &mut long.count)?];
        steps.push(sum.bind(long.view()?, &mut *starts)?);
        let starts = starts.view().with_length(&long.count)?;
        let to = &mut *aligned;
        let found = starts.filter(is_aligned {});
        steps.push(found.bind_select(device, &mut to.items, &mut to.count)?);
        let to = &mut *different;
        steps.push(bind_unique(device, long.view()?, &mut to.items, &mut to.count)?);
        let runs = Segments::by_keys(long.view()?);
        let problem = Scan::inclusive(Max);
        steps.push(bind_segmented_scan(device, starts, &runs, &mut *reach, &problem)?);
        let found = reach.view().with_length(&long.count)?.filter(is_even {});
        steps.push(found.bind_select(device, &mut even.items, &mut even.count)?);
        steps.push(max.bind(aligned.view()?, &mut *highest)?);
        let [first, second, third] = results;
        let highest = highest.view().with_length(&aligned.count)?;
        steps.push(reduction(device, Sum, highest, first)?);
        steps.push(reduction(device, Sum, different.view()?, second)?);
        steps.push(reduction(device, Max, even.view()?, third)?);
        Ok(steps)
    }
}

/// A reduction to the one item of an array.
fn reduction<O: Operator<u32>>(
    device: &Device,
    operator: O,
    items: View<'_, u32>,
    result: &mut Array<u32>,
) -> upsweep::Result<Recording> {
    ReducePlan::<u32, u32, _>::new(device, ROWS, Reduce::new(operator))?.bind(items, result)
}

/// The same in plain Rust.
fn on_host(lengths: &[u32]) -> [u32; 3] {
    let long: Vec<u32> = lengths.iter().copied().filter(|length| *length >= 16).collect();
    let (mut end, mut highest) = (0u32, 0);
    let (mut sum, mut different, mut last) = (0u32, 0u32, 0);
    for (row, length) in long.iter().enumerate() {
        let start = end;
        end = end.wrapping_add(*length);
        if is_aligned(start) {
            highest = start.max(highest);
            sum = sum.wrapping_add(highest);
        }
        if row == 0 || long[row - 1] != *length {
            different = different.wrapping_add(*length);
        }
        // Starts grow, so that the largest of a run so far is its last.
        if is_even(start) {
            last = start.max(last);
        }
    }
    [sum, different, last]
}
