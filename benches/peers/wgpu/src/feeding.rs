//! A hundred small reductions: waited for one by one, encoded together; and one from host call to host value.

use std::sync::Arc;
use std::time::{Duration, Instant};

use upsweep_core::{Dtype, Reduce, Result, Sum, reference};
use upsweep_wgpu::{Calls, Gpu, ReduceOptions, Slice, Source, Workspace};

use crate::{buffer, items, print};

const OPERATIONS: usize = 100;
const TURNS: usize = 30;
const WARM: Duration = Duration::from_millis(300);

pub fn measure(gpu: &Arc<Gpu>) -> Result<()> {
    let (device, queue) = gpu.wgpu();
    let problem = Reduce::new(Sum);
    let options = ReduceOptions::default();
    for log in [10, 16] {
        let count = 1u32 << log;
        let data = items(count);
        let bytes = f64::from(count) * 4.0;
        let input = buffer(device, u64::from(count) * 4);
        queue.write_buffer(&input, 0, bytemuck::cast_slice(&data));
        let from = Slice::new(&input, Dtype::U32, 0, u64::from(count))?;
        let expected = reference::reduce(&data, &problem);

        let mut workspace = Workspace::default();
        let mut whole = || {
            let begin = Instant::now();
            let found: u32 =
                gpu.reduce(&mut workspace, Source::<u32>::Device(from), &problem, &options)?;
            assert_eq!(found, expected);
            Ok(begin.elapsed().as_secs_f64() * 1e6)
        };
        warm(&mut whole)?;
        let us = (0..10 * TURNS).map(|_| whole()).collect::<Result<Vec<_>>>()?;
        print("reduce, host to host", count, "upsweep", us, bytes);

        let result = buffer(device, 16);
        let to = Slice::new(&result, Dtype::U32, 0, 1)?;
        let mut workspace = Workspace::default();
        let bound =
            gpu.bind_reduce::<u32, u32, _>(&mut workspace, [from, to], &problem, &options)?;
        let recording = gpu.recording(bound)?;
        let mut waited = || {
            let begin = Instant::now();
            for _ in 0..OPERATIONS {
                let mut encoder = device.create_command_encoder(&<_>::default());
                recording.record(&mut encoder.begin_compute_pass(&<_>::default()));
                queue.submit([encoder.finish()]);
                device.poll(wgpu::PollType::wait_indefinitely()).expect("the device goes on");
            }
            Ok(begin.elapsed().as_secs_f64() * 1e6 / OPERATIONS as f64)
        };
        warm(&mut waited)?;
        let us = (0..TURNS).map(|_| waited()).collect::<Result<Vec<_>>>()?;
        print("100 reductions, each waited for, host time of one", count, "upsweep", us, bytes);

        let mut together = || {
            let begin = Instant::now();
            let mut encoder = device.create_command_encoder(&<_>::default());
            let mut pass = encoder.begin_compute_pass(&<_>::default());
            for _ in 0..OPERATIONS {
                recording.record(&mut pass);
            }
            drop(pass);
            queue.submit([encoder.finish()]);
            device.poll(wgpu::PollType::wait_indefinitely()).expect("the device goes on");
            Ok(begin.elapsed().as_secs_f64() * 1e6 / OPERATIONS as f64)
        };
        warm(&mut together)?;
        let us = (0..TURNS).map(|_| together()).collect::<Result<Vec<_>>>()?;
        print("100 reductions in one submission, host time of one", count, "upsweep", us, bytes);

        let hundred = recording.repeated(OPERATIONS);
        if let Some(times) = gpu.time(&hundred, TURNS as u32)? {
            let us =
                times.iter().map(|time| time.as_secs_f64() * 1e6 / OPERATIONS as f64).collect();
            print(
                "100 reductions in one submission, device time of one",
                count,
                "upsweep",
                us,
                bytes,
            );
        }
        let mut found = [0u32];
        gpu.read_back(to, &mut found)?;
        assert_eq!(found[0], expected);
    }
    Ok(())
}

/// Calls until the clock has risen.
fn warm(call: &mut dyn FnMut() -> Result<f64>) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < WARM {
        call()?;
    }
    Ok(())
}
