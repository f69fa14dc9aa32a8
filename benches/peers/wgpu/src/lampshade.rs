//! Sums and exclusive scans of resident `u32`, ours and lampshade's in turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lampshade::{Reducer, Scanner, U32Reduction};
use upsweep_core::{Dtype, Reduce, Result, Scan, Sum, reference};
use upsweep_wgpu::{Calls, Gpu, ReduceOptions, ScanOptions, Slice, Workspace};

use crate::{buffer, items, print};

/// Time for the clock to rise, and turns that are measured.
const WARM: Duration = Duration::from_millis(300);
const TURNS: u32 = 40;

/// Records a job once.
type Job<'a> = Box<dyn FnMut(&mut wgpu::CommandEncoder) + 'a>;

/// Times of jobs that take turns, in microseconds of the device.
struct Clock<'a> {
    gpu: &'a Gpu,
    queries: wgpu::QuerySet,
    ticks: wgpu::Buffer,
}

impl<'a> Clock<'a> {
    fn new(gpu: &'a Gpu, jobs: u32) -> Self {
        let (device, _) = gpu.wgpu();
        let count = 2 * jobs * TURNS;
        let ty = wgpu::QueryType::Timestamp;
        let queries = device.create_query_set(&wgpu::QuerySetDescriptor { label: None, ty, count });
        let ticks = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(count) * 8,
            usage: wgpu::BufferUsages::QUERY_RESOLVE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        Self { gpu, queries, ticks }
    }

    fn turns(&self, jobs: &mut [Job<'_>]) -> Result<Vec<Vec<f64>>> {
        let (device, queue) = self.gpu.wgpu();
        let begin = Instant::now();
        loop {
            let mut encoder = device.create_command_encoder(&<_>::default());
            let mut query = 0;
            for _ in 0..TURNS {
                for job in &mut *jobs {
                    encoder.write_timestamp(&self.queries, query);
                    job(&mut encoder);
                    encoder.write_timestamp(&self.queries, query + 1);
                    query += 2;
                }
            }
            encoder.resolve_query_set(&self.queries, 0..query, &self.ticks, 0);
            queue.submit([encoder.finish()]);
            device.poll(wgpu::PollType::wait_indefinitely()).expect("the device goes on");
            if begin.elapsed() > WARM {
                break;
            }
        }
        let count = u64::from(2 * TURNS) * jobs.len() as u64;
        let mut ticks = vec![0u64; count as usize];
        self.gpu.read_back(Slice::new(&self.ticks, Dtype::U64, 0, count)?, &mut ticks)?;
        let period = f64::from(queue.get_timestamp_period()) / 1e3;
        let pairs: Vec<f64> =
            ticks.chunks_exact(2).map(|pair| (pair[1] - pair[0]) as f64 * period).collect();
        Ok((0..jobs.len())
            .map(|job| pairs.iter().skip(job).step_by(jobs.len()).copied().collect())
            .collect())
    }
}

pub fn measure(gpu: &Arc<Gpu>, info: &wgpu::AdapterInfo) -> Result<()> {
    let (device, queue) = gpu.wgpu();
    let clock = Clock::new(gpu, 2);
    for log in [20, 22, 24, 26] {
        let count = 1u32 << log;
        let data = items(count);
        let input = buffer(device, u64::from(count) * 4);
        queue.write_buffer(&input, 0, bytemuck::cast_slice(&data));
        let outputs = [0, 1].map(|_| buffer(device, u64::from(count) * 4));
        let from = Slice::new(&input, Dtype::U32, 0, u64::from(count))?;

        let results = [0, 1].map(|_| buffer(device, 16));
        let to = Slice::new(&results[0], Dtype::U32, 0, 1)?;
        let problem = Reduce::new(Sum);
        let mut workspace = Workspace::default();
        let ours = gpu.bind_reduce::<u32, u32, _>(
            &mut workspace,
            [from, to],
            &problem,
            &ReduceOptions::default(),
        )?;
        let ours = gpu.recording(ours)?;
        let mut reducer = Reducer::new(device, queue);
        let mut jobs: [Job<'_>; 2] = [
            Box::new(|encoder| ours.record(&mut encoder.begin_compute_pass(&<_>::default()))),
            Box::new(|encoder| {
                reducer
                    .record_reduce(encoder, &input, &results[1], count, U32Reduction::Sum)
                    .expect("a reduction");
            }),
        ];
        let times = clock.turns(&mut jobs)?;
        drop(jobs);
        let expected = reference::reduce(&data, &problem);
        for (engine, (us, result)) in
            ["upsweep", "lampshade"].iter().zip(times.into_iter().zip(&results))
        {
            let mut found = [0u32];
            gpu.read_back(Slice::new(result, Dtype::U32, 0, 1)?, &mut found)?;
            assert_eq!(found[0], expected, "{engine}");
            print("reduce", count, engine, us, f64::from(count) * 4.0);
        }

        let to = Slice::new(&outputs[0], Dtype::U32, 0, u64::from(count))?;
        let problem = Scan::exclusive(Sum);
        let mut workspace = Workspace::default();
        let ours = gpu.bind_scan::<u32, u32, _>(
            &mut workspace,
            [from, to],
            &problem,
            &ScanOptions::default(),
        )?;
        let ours = gpu.recording(ours)?;
        let mut scanner = Scanner::new_for_adapter(device, queue, info);
        let mut jobs: [Job<'_>; 2] = [
            Box::new(|encoder| ours.record(&mut encoder.begin_compute_pass(&<_>::default()))),
            Box::new(|encoder| {
                scanner.record_exclusive_scan(encoder, &input, &outputs[1], count).expect("a scan");
            }),
        ];
        let times = clock.turns(&mut jobs)?;
        drop(jobs);
        let expected: Vec<u32> = reference::scan(&data, &problem);
        for (engine, (us, output)) in
            ["upsweep", "lampshade"].iter().zip(times.into_iter().zip(&outputs))
        {
            let mut found = vec![0u32; count as usize];
            gpu.read_back(Slice::new(output, Dtype::U32, 0, u64::from(count))?, &mut found)?;
            assert!(found == expected, "{engine}");
            print("exclusive_scan", count, engine, us, f64::from(count) * 8.0);
        }
    }
    Ok(())
}
