//! What goes wrong outside is an error that says so: no panic, no wait without end, and nothing that looks like a
//! result.

use std::sync::Arc;

use upsweep_core::{Dtype, Error, Reduce, Result, Scan, Sum};
use upsweep_wgpu::{
    Calls, Extreme, Gpu, ReduceOptions, ScanOptions, Slice, Source, Target, Workspace,
};
use wgpu::BufferUsages;

const USAGE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_DST).union(BufferUsages::COPY_SRC);

fn buffer(gpu: &Gpu, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    gpu.wgpu().0.create_buffer(&descriptor)
}

fn reduce(gpu: &Arc<Gpu>, workspace: &mut Workspace, items: Source<'_, u32>) -> Result<u32> {
    gpu.reduce(workspace, items, &Reduce::new(Sum), &ReduceOptions::default())
}

fn scan(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    items: Source<'_, u32>,
    output: Target<'_, u32>,
) -> Result<()> {
    let options = ScanOptions::default();
    gpu.scan(workspace, items, output, &Scan::inclusive(Sum), &options)
}

#[track_caller]
fn is_failure<T: core::fmt::Debug>(result: Result<T>, context: &str) {
    match result {
        Err(Error::DeviceFailed { reason, .. }) => assert!(!reason.is_empty(), "{context}"),
        other => panic!("{context}: {other:?}"),
    }
}

/// Devices of this test's own, which it may break.
fn own() -> Vec<(wgpu::Adapter, Arc<Gpu>)> {
    crate::common::gpus();
    let open = |adapter: wgpu::Adapter| {
        let gpu = Arc::new(Gpu::open("own", &adapter).expect("a device"));
        (adapter, gpu)
    };
    Gpu::adapters().into_iter().map(open).collect()
}

/// As [`own`], by the caller's hand and with limits of the caller's.
fn given(limits: impl Fn(wgpu::Limits) -> wgpu::Limits) -> Vec<Arc<Gpu>> {
    crate::common::gpus();
    let open = |adapter: wgpu::Adapter| {
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: limits(adapter.limits()),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
        Arc::new(Gpu::from_wgpu("given", &adapter, device, queue))
    };
    Gpu::adapters().into_iter().map(open).collect()
}

#[test]
fn a_lost_device_is_an_error_for_ever() {
    let mut gpus: Vec<Arc<Gpu>> = own().into_iter().map(|(_, gpu)| gpu).collect();
    gpus.extend(given(|limits| limits));
    for gpu in gpus {
        let items: Vec<u32> = (0..100_000).collect();
        let (mut used, mut fresh) = (Workspace::default(), Workspace::default());
        let resident = buffer(&gpu, 4000, USAGE);
        let slice = Slice::new(&resident, Dtype::U32, 0, 1000).expect("a slice");
        let mut output = vec![7u32; items.len()];
        assert!(reduce(&gpu, &mut used, Source::Host(&items)).is_ok(), "{gpu:?}");
        let found = scan(&gpu, &mut used, Source::Host(&items), Target::Host(&mut output));
        assert_eq!(found, Ok(()), "{gpu:?}");
        let total = buffer(&gpu, 16, USAGE);
        let recording = gpu
            .bind_reduce::<u32, u32, _>(
                &mut Workspace::default(),
                [slice, Slice::new(&total, Dtype::U32, 0, 1).expect("a slice")],
                &Reduce::new(Sum),
                &ReduceOptions::default(),
            )
            .and_then(|bound| gpu.recording(bound))
            .expect("a recording");
        gpu.wgpu().0.destroy();
        for round in 0..2 {
            for workspace in [&mut used, &mut fresh] {
                let context = format!("{gpu:?}, round {round}");
                is_failure(reduce(&gpu, workspace, Source::Host(&items)), &context);
                is_failure(reduce(&gpu, workspace, Source::Device(slice)), &context);
                is_failure(reduce(&gpu, workspace, Source::Host(&[])), &context);
                output.fill(7);
                let to = Target::Host(&mut output[..]);
                is_failure(scan(&gpu, workspace, Source::Host(&items), to), &context);
                let to = Target::Device(slice);
                is_failure(scan(&gpu, workspace, Source::Device(slice), to), &context);
                let (options, extreme) = (ReduceOptions::default(), Extreme::Largest);
                let from = Source::Host(&items[..]);
                is_failure(gpu.position(workspace, from, extreme, &options), &context);
                is_failure(gpu.read_back(slice, &mut output[..1000]), &context);
                assert!(output.iter().all(|&item| item == 7), "{context}: nothing was written");
                if gpu.wgpu().0.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
                    is_failure(gpu.time(&recording, 2), &context);
                    is_failure(gpu.profile(&recording, 2), &context);
                }
            }
        }
    }
}

#[test]
fn too_little_memory_is_an_error() {
    // No buffer of more than a MiB.
    for gpu in given(|limits| wgpu::Limits { max_buffer_size: 1 << 20, ..limits }) {
        let mut workspace = Workspace::default();
        let items = vec![1u32; 300_000];
        let found = reduce(&gpu, &mut workspace, Source::Host(&items));
        assert_eq!(found, Err(Error::OutOfMemory { bytes: 1_200_000 }), "{gpu:?}");
        let mut output = items.clone();
        let found = scan(&gpu, &mut workspace, Source::Host(&items), Target::Host(&mut output));
        assert_eq!(found, Err(Error::OutOfMemory { bytes: 1_200_000 }), "{gpu:?}");
        assert_eq!(reduce(&gpu, &mut workspace, Source::Host(&items[..1000])), Ok(1000), "{gpu:?}");
    }
}

/// Lost while it works, as by a driver that starts anew.
#[test]
fn a_device_may_be_lost_at_any_time() {
    for (_, gpu) in own() {
        let items = vec![1u32; 100_000];
        std::thread::scope(|scope| {
            let (begun, begins) = std::sync::mpsc::channel();
            let device = gpu.wgpu().0;
            scope.spawn(move || {
                begins.recv().expect("the other thread works");
                device.destroy();
            });
            let (mut workspace, mut output) = (Workspace::default(), items.clone());
            loop {
                let sum = reduce(&gpu, &mut workspace, Source::Host(&items));
                let found =
                    scan(&gpu, &mut workspace, Source::Host(&items), Target::Host(&mut output));
                // Nobody listens once the device is gone.
                let _ = begun.send(());
                assert!(matches!(sum, Ok(100_000) | Err(Error::DeviceFailed { .. })), "{sum:?}");
                match found {
                    Ok(()) => assert!((1..=100_000).eq(output.iter().copied())),
                    found => return is_failure(found, "lost"),
                }
            }
        });
    }
}

#[test]
fn a_device_lost_before_it_is_given_is_an_error() {
    for adapter in Gpu::adapters() {
        let descriptor = wgpu::DeviceDescriptor::default();
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
        device.destroy();
        let gpu = Arc::new(Gpu::from_wgpu("given", &adapter, device, queue));
        is_failure(reduce(&gpu, &mut Workspace::default(), Source::Host(&[1])), "lost");
    }
}

#[test]
fn buffers_of_the_wrong_kind_are_errors() {
    for gpu in crate::common::gpus() {
        let mut workspace = Workspace::default();
        // Readable by kernels, not by copies.
        let closed = buffer(gpu, 4000, BufferUsages::STORAGE);
        let slice = Slice::new(&closed, Dtype::U32, 0, 1000).expect("a slice");
        assert_eq!(reduce(gpu, &mut workspace, Source::Device(slice)), Ok(0), "{gpu:?}");
        let mut output = vec![7u32; 1000];
        let found = gpu.read_back(slice, &mut output);
        is_failure(found, "usage COPY_SRC is missing");
        // Destroyed by its owner.
        let gone = buffer(gpu, 4000, USAGE);
        let slice = Slice::new(&gone, Dtype::U32, 0, 1000).expect("a slice");
        gone.destroy();
        is_failure(reduce(gpu, &mut workspace, Source::Device(slice)), "destroyed");
        is_failure(gpu.read_back(slice, &mut output), "destroyed");
        let found = scan(gpu, &mut workspace, Source::Device(slice), Target::Host(&mut output));
        is_failure(found, "destroyed");
        // All is well again.
        assert_eq!(reduce(gpu, &mut workspace, Source::Host(&[1, 2, 3])), Ok(6), "{gpu:?}");
    }
}

#[test]
fn arrays_of_another_device_are_errors() {
    for (adapter, gpu) in own() {
        let other = Arc::new(Gpu::open("other", &adapter).expect("a device"));
        let strange = buffer(&other, 4000, USAGE);
        let slice = Slice::new(&strange, Dtype::U32, 0, 1000).expect("a slice");
        let mut workspace = Workspace::default();
        let found = reduce(&gpu, &mut workspace, Source::Device(slice));
        let said = format!("{found:?}");
        assert!(said.contains("'other'") && said.contains("'own'"), "{said}");
        is_failure(found, "reduce");
        let mut output = vec![7u32; 1000];
        let found = scan(&gpu, &mut workspace, Source::Device(slice), Target::Host(&mut output));
        is_failure(found, "scan");
        is_failure(gpu.read_back(slice, &mut output), "read_back");
        // A workspace of another device.
        let mut workspace = Workspace::default();
        assert_eq!(reduce(&other, &mut workspace, Source::Host(&[1, 2, 3])), Ok(6));
        let found = reduce(&gpu, &mut workspace, Source::Host(&[1, 2, 3]));
        is_failure(found, "workspace");
    }
}

/// Adapters are asked for twice, and devices still know that they are not the same.
#[test]
fn arrays_of_a_device_opened_apart_are_errors() {
    for (gpu, (_, other)) in crate::common::gpus().iter().zip(own()) {
        let strange = buffer(&other, 4000, USAGE);
        let slice = Slice::new(&strange, Dtype::U32, 0, 1000).expect("a slice");
        let mut workspace = Workspace::default();
        let found = reduce(gpu, &mut workspace, Source::Device(slice));
        is_failure(found, "reduce");
    }
}
