//! Device times of `upsweep` beside `lampshade`, on one device, from the same resident buffers; and what feeding a GPU
//! with small reductions costs.
//!
//! `wgpu-peers [ADAPTER]` prints CSV: job, items, engine, microseconds (median, quartiles), GB/s of the fewest bytes.
//! Engines take turns; every result is compared.

mod feeding;
mod lampshade;

use std::sync::Arc;

use upsweep_core::Result;
use upsweep_wgpu::Gpu;

fn main() -> Result<()> {
    let number =
        std::env::args().nth(1).map_or(0, |text| text.parse().expect("number of an adapter"));
    let adapters = Gpu::adapters();
    let adapter = adapters.get(number).expect("no such adapter");
    let gpu = Arc::new(Gpu::open("wgpu", adapter)?);
    println!("job,items,engine,median_us,q1_us,q3_us,gbps");
    feeding::measure(&gpu)?;
    lampshade::measure(&gpu, &adapter.get_info())
}

/// A line of the table.
fn print(job: &str, items: u32, engine: &str, mut us: Vec<f64>, bytes: f64) {
    us.sort_by(f64::total_cmp);
    let at = |quarter: usize| us[(us.len() - 1) * quarter / 4];
    let gbps = bytes / at(2) / 1e3;
    println!("{job},{items},{engine},{:.2},{:.2},{:.2},{gbps:.0}", at(2), at(1), at(3));
}

/// Items that repeat after a while only.
fn items(count: u32) -> Vec<u32> {
    (0..count).map(|i| (i ^ (i >> 7)).wrapping_mul(2_654_435_761)).collect()
}

/// A buffer for kernels and copies.
fn buffer(device: &wgpu::Device, bytes: u64) -> wgpu::Buffer {
    let usage =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes.max(16),
        usage,
        mapped_at_creation: false,
    })
}
