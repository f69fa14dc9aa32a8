//! Rows of arrays of two dimensions, along memory and across it, in turns with reading or copying as many bytes.

use upsweep_core::{Language, Layout, Reduce, Result, Rows, Scan, Sum, reference};
use upsweep_cuda::{Memory, Slice, Workspace};
use upsweep_gpu::{ErasedReduce, ErasedScan, GpuDevice, rows};

use crate::Bench;
use crate::contest::Engine;
use crate::jobs::{array, unit};

/// Lengths of rows, at a constant number of items.
const LENGTHS: [usize; 7] = [8, 32, 128, 1000, 1 << 14, 1 << 20, 1 << 27];

/// All of them, for arrays of about so many items; or rows of the lengths that `LENGTHS` lists, with commas between them.
pub(crate) fn run(bench: &Bench, n: usize, wants: impl Fn(&str) -> bool) -> Result<()> {
    let lengths = match std::env::var("LENGTHS") {
        Ok(asked) => asked.split(',').map(|len| len.parse().expect("a length")).collect(),
        Err(_) => LENGTHS.to_vec(),
    };
    for len in lengths.into_iter().filter(|&len| len <= n / 2) {
        let count = n / len;
        for (way, shape, along) in [("rows", [count, len], 1), ("columns", [len, count], 0)] {
            if wants(&format!("sum of {way}")) {
                bench.reduce_rows(&format!("sum of {way} of {len} f32"), shape, along)?;
            }
            if wants(&format!("scan of {way}")) {
                bench.scan_rows(&format!("scan of {way} of {len} f32"), shape, along)?;
            }
        }
    }
    // The rows of the output begin at multiples of a line of memory; and anywhere.
    for shape in [[1 << 14, n >> 14], [1 << 20, 100], [n / 100, 100]] {
        if wants("transpose") && shape[0] * shape[1] <= n {
            bench.transpose(&format!("transpose {} by {} f32", shape[0], shape[1]), shape)?;
        }
    }
    Ok(())
}

impl Bench {
    fn reduce_rows(&self, job: &str, shape: [usize; 2], along: usize) -> Result<()> {
        let gpu = &self.gpu;
        let (n, count) = (shape[0] * shape[1], shape[1 - along]);
        let items = array(n, unit);
        let (input, output) = (Memory::holding(gpu, &items)?, Memory::new::<f32>(gpu, count)?);
        let rows = Rows::reduced(&Layout::packed(&shape)?, &[along], &Layout::packed(&[count])?);
        let problem = Reduce::new(Sum);
        let erased = ErasedReduce::in_segments::<f32, f32, _>(&problem, Language::Cuda);
        let mut workspace = Workspace::default();
        let slices: [Slice<'_>; 2] = [input.slice(), output.slice()];
        let bound =
            rows::bind_reduce(gpu, &mut workspace, slices, &rows, &erased, &<_>::default())?;
        gpu.begin(&bound)?;
        let found = output.to_vec::<f32>()?;
        for number in (0..count).step_by(count.div_ceil(100)) {
            let row = reference::rows::row(&items, &rows, number);
            let wanted: f32 = reference::specified::reduce(&row, &problem);
            assert_eq!(found[number].to_bits(), wanted.to_bits(), "{job}: row {number}");
        }
        let mut peers = Vec::new();
        for peer in self.peers.iter().filter(|_| along == 1) {
            let Some(own) = peer.segmented_job(gpu, "sum of rows f32", n, count)? else { continue };
            own.begin_segments(gpu, slices[0], slices[1], (0, count as u64))?;
            let theirs = output.to_vec::<f32>()?;
            // Items are of both signs, and a row may come to nothing.
            let is_near = |(&a, &b): (&f32, &f32)| (a - b).abs() <= (1.0 + a.abs()) * 1e-3;
            assert!(found.iter().zip(&theirs).all(is_near), "{job}: {}", peer.name);
            peers.push((&peer.name, own));
        }
        let read = |_| self.probe.read(gpu, gpu.stream(), input.slice());
        let mut engines =
            vec![Engine::new("read", read), Engine::new("upsweep", |_| gpu.begin(&bound))];
        engines.extend(peers.iter().map(|(name, own)| {
            let begin = |_| own.begin_segments(gpu, slices[0], slices[1], (0, count as u64));
            Engine::new(name, begin)
        }));
        self.contest(job, n, 4 * n, engines)
    }

    fn scan_rows(&self, job: &str, shape: [usize; 2], along: usize) -> Result<()> {
        let gpu = &self.gpu;
        let (n, count) = (shape[0] * shape[1], shape[1 - along]);
        let items = array(n, unit);
        let (input, output) = (Memory::holding(gpu, &items)?, Memory::new::<f32>(gpu, n)?);
        let layout = Layout::packed(&shape)?;
        let rows = Rows::scanned(&layout, &[along], &layout);
        let problem = Scan::inclusive(Sum);
        let erased = ErasedScan::of::<f32, f32, f32, _>(&problem, Language::Cuda);
        let mut workspace = Workspace::default();
        let slices: [Slice<'_>; 2] = [input.slice(), output.slice()];
        let bound = rows::bind_scan(gpu, &mut workspace, slices, &rows, &erased, &<_>::default())?;
        gpu.begin(&bound)?;
        let found = output.to_vec::<f32>()?;
        for number in (0..count).step_by(count.div_ceil(20)) {
            let row = reference::rows::row(&items, &rows, number);
            let wanted: Vec<f32> = reference::specified::scan(&row, &problem);
            let own = reference::rows::row(&found, &rows, number);
            let wrong = own.iter().zip(&wanted).position(|(a, b)| a.to_bits() != b.to_bits());
            assert_eq!(wrong, None, "{job}: row {number}");
        }
        let copy = |_| self.probe.copy(gpu, gpu.stream(), input.slice(), output.slice());
        let engines =
            vec![Engine::new("copy", copy), Engine::new("upsweep", |_| gpu.begin(&bound))];
        self.contest(job, n, 8 * n, engines)
    }

    fn transpose(&self, job: &str, shape: [usize; 2]) -> Result<()> {
        let gpu = &self.gpu;
        let n = shape[0] * shape[1];
        let items = array(n, unit);
        let (input, output) = (Memory::holding(gpu, &items)?, Memory::new::<f32>(gpu, n)?);
        let turned = Layout::strided(&[shape[1], shape[0]], &[1, shape[1] as isize], 0)?;
        let rows = Rows::scanned(&turned, &[], &Layout::packed(&[shape[1], shape[0]])?);
        let slices: [Slice<'_>; 2] = [input.slice(), output.slice()];
        let bound = rows::bind_copy(gpu, slices, &rows, slices[0].kind())?;
        gpu.begin(&bound)?;
        let found = output.to_vec::<f32>()?;
        for at in (0..n).step_by(n / 10_007) {
            let (row, column) = (at / shape[0], at % shape[0]);
            assert_eq!(
                found[at].to_bits(),
                items[column * shape[1] + row].to_bits(),
                "{job}: {at}"
            );
        }
        let copy = |_| self.probe.copy(gpu, gpu.stream(), input.slice(), output.slice());
        let engines =
            vec![Engine::new("copy", copy), Engine::new("upsweep", |_| gpu.begin(&bound))];
        self.contest(job, n, 8 * n, engines)
    }
}
