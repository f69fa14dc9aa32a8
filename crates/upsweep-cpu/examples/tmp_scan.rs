use std::time::Instant;
use upsweep_core::kernel::{Binary, Definition};
use upsweep_core::{Bounds, Direction, Dtype};
use upsweep_cpu::{Cpu, CpuOptions, ProgramOperator};
fn main() {
    let len: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let x: Vec<f32> = (0..len).map(|i| (i as f32 * 0.37).sin()).collect();
    let mut y = vec![0f32; len];
    let mut d = Definition::default();
    let a = d.argument(Dtype::F32).unwrap();
    let b = d.argument(Dtype::F32).unwrap();
    let r = d.binary(Binary::Add, a, b).unwrap();
    let op = ProgramOperator::new(&d, r, u64::from((-0f32).to_bits()), true);
    let cpu = Cpu::new(CpuOptions { threads: Some(1), ..Default::default() }).unwrap();
    let mut best = f64::MAX;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 2.0 {
        let t = Instant::now();
        cpu.scan_by(
            &op,
            bytemuck::cast_slice(&x),
            bytemuck::cast_slice_mut(&mut y),
            Bounds::Inclusive,
            Direction::Forward,
            None,
        )
        .unwrap();
        best = best.min(t.elapsed().as_secs_f64());
    }
    println!("{len}: {:.2} us, {:.3} ns per item", best * 1e6, best * 1e9 / len as f64);
}
