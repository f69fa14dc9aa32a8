//! Three steps in one submission: an exclusive scan, a kernel of one's own, a reduction. All arrays
//! stay on the GPU, and the host waits once, at the end.
//!
//! The job: rows of a text have lengths; every row is given the place where it starts (a scan of the
//! lengths), rounded up to a multiple of 16 (a kernel of ours), and the starts are summed up (a
//! reduction) to check them against the host.
//!
//! `cargo run --release --example one_submission [wgpu:N]`

use upsweep::wgpu;
use upsweep::{Array, Device, Reduce, ReducePlan, Result, Scan, ScanPlan, Sum};

const ROWS: usize = 1 << 20;

const ALIGN: &str = "
@group(0) @binding(0) var<storage, read_write> starts: array<u32>;

@compute @workgroup_size(64)
fn align(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&starts)) {
        starts[id.x] = (starts[id.x] + 15u) & ~15u;
    }
}
";

fn main() -> Result<()> {
    let id = std::env::args().nth(1).unwrap_or_else(|| "wgpu:0".to_owned());
    let device = match Device::open(&id) {
        Ok(device) => device,
        Err(error) => {
            println!("{error}; this example needs a GPU, or Vulkan in software such as lavapipe");
            return Ok(());
        }
    };
    let Some((gpu, queue)) = device.wgpu() else {
        println!(
            "{id} is not reached through wgpu: give wgpu:0 or another such id that `upsweep devices` lists"
        );
        return Ok(());
    };

    // What is made once: arrays, plans, and everything bound to them.
    let lengths: Vec<u32> = (0..ROWS as u32).map(|row| row % 97).collect();
    let rows = Array::from_slice(&device, &lengths)?;
    let mut starts = Array::filled(&device, ROWS, 0u32)?;
    let mut total = Array::filled(&device, 1, 0u32)?;
    let mut scan = ScanPlan::<u32, u32, _>::new(&device, ROWS, Scan::exclusive(Sum))?;
    let mut sum = ReducePlan::<u32, u32, _>::new(&device, ROWS, Reduce::new(Sum))?;
    let scan = scan.bind(&rows, &mut starts)?;
    let sum = sum.bind(&starts, &mut total)?;
    let (align, arrays) = own_kernel(gpu, &starts);

    // What is done in every frame or step: one encoder, one pass, one submission.
    let mut encoder = gpu.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    scan.record(&mut pass)?;
    pass.set_pipeline(&align);
    pass.set_bind_group(0, &arrays, &[]);
    pass.dispatch_workgroups(ROWS as u32 / 64, 1, 1);
    sum.record(&mut pass)?;
    drop(pass);
    queue.submit([encoder.finish()]);

    // Reading back waits, and says whether everything went well.
    let (starts, total) = (starts.into_vec()?, total.into_vec()?[0]);
    let mut end = 0u32;
    let mut expected = 0u32;
    for (row, start) in starts.iter().enumerate() {
        let aligned = (end + 15) & !15;
        assert_eq!(*start, aligned, "the start of row {row}");
        expected = expected.wrapping_add(aligned);
        end += lengths[row];
    }
    assert_eq!(total, expected, "the sum of all starts");
    println!(
        "{id}, {}: {ROWS} rows placed in one submission of {} launches; all as on the host",
        device.limits().name,
        scan.launches() + 1 + sum.launches(),
    );
    Ok(())
}

/// The pipeline of our kernel, and the array that it works on.
fn own_kernel(
    gpu: &wgpu::Device,
    starts: &Array<u32>,
) -> (wgpu::ComputePipeline, Option<wgpu::BindGroup>) {
    let module = gpu.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("align"),
        source: wgpu::ShaderSource::Wgsl(ALIGN.into()),
    });
    let pipeline = gpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("align"),
        layout: None,
        module: &module,
        entry_point: Some("align"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let group = starts.buffer().map(|buffer| {
        gpu.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("starts"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
        })
    });
    (pipeline, group)
}
