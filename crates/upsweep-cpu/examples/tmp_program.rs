use std::time::Instant;
use upsweep_core::kernel::{Binary, Definition, Method, ValueType};
use upsweep_core::{Bounds, Direction, Dtype};
use upsweep_cpu::{Cpu, CpuOptions, Program, ProgramOperator};
fn best(mut f: impl FnMut()) -> f64 {
    let mut b = f64::MAX;
    for _ in 0..25 {
        let t = Instant::now();
        f();
        b = b.min(t.elapsed().as_secs_f64());
    }
    b
}
fn main() {
    let n = 1usize << 22;
    let x: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37).sin()).collect();
    let mut y = vec![0f32; n];
    let bytes: &[u8] = bytemuck::cast_slice(&x);
    let f32t = ValueType::Number(Dtype::F32);
    let copy = best(|| y.copy_from_slice(std::hint::black_box(&x)));
    let gb = |t: f64, b: usize| b as f64 / t / 1e9;
    println!("memcpy {:.0} us, {:.1} GB/s (read+write)", copy * 1e6, gb(copy, 8 * n));
    let mut d = Definition::default();
    let a = d.argument(Dtype::F32).unwrap();
    let one = d.constant(f32t, u64::from(1f32.to_bits()));
    let sq = d.binary(Binary::Mul, a, a).unwrap();
    let r = d.binary(Binary::Add, sq, one).unwrap();
    let p = Program::new(&d, &[r]);
    let e = d.method(Method::Exp, a).unwrap();
    let pe = Program::new(&d, &[e]);
    let op2 = |build: &dyn Fn(&mut Definition, _, _) -> _, dt, id, c| {
        let mut d = Definition::default();
        let a = d.argument(dt).unwrap();
        let b = d.argument(dt).unwrap();
        let r = build(&mut d, a, b);
        ProgramOperator::new(&d, r, id, c)
    };
    let sum = op2(
        &|d, a, b| d.binary(Binary::Add, a, b).unwrap(),
        Dtype::F32,
        u64::from((-0f32).to_bits()),
        true,
    );
    let max = op2(
        &|d, a, b| {
            let l = d.binary(Binary::Less, a, b).unwrap();
            d.select(l, b, a).unwrap()
        },
        Dtype::F32,
        u64::from(f32::NEG_INFINITY.to_bits()),
        true,
    );
    let last = op2(
        &|d, a, b| {
            let z = d.constant(ValueType::Number(Dtype::I32), 0);
            let l = d.binary(Binary::Equal, b, z).unwrap();
            d.select(l, a, b).unwrap()
        },
        Dtype::I32,
        0,
        false,
    );
    let sum8 = op2(&|d, a, b| d.binary(Binary::Add, a, b).unwrap(), Dtype::U8, 0, true);
    let sum64 =
        op2(&|d, a, b| d.binary(Binary::Add, a, b).unwrap(), Dtype::F64, (-0f64).to_bits(), true);
    for threads in [1, 2] {
        let cpu = Cpu::new(CpuOptions { threads: Some(threads), ..Default::default() }).unwrap();
        println!("{threads} threads");
        let t = best(|| {
            cpu.evaluate(&p, n, &[bytes], &mut [bytemuck::cast_slice_mut(&mut y)]).unwrap()
        });
        println!(
            "x*x+1     {:6.0} us {:5.1} GB/s  {:.2} of memcpy",
            t * 1e6,
            gb(t, 8 * n),
            t / copy
        );
        let t = best(|| {
            cpu.evaluate(&pe, n, &[bytes], &mut [bytemuck::cast_slice_mut(&mut y)]).unwrap()
        });
        println!("exp       {:6.0} us {:5.1} GB/s", t * 1e6, gb(t, 8 * n));
        for (name, op, len) in [
            ("sum", &sum, n),
            ("max", &max, n),
            ("last", &last, n),
            ("sum u8", &sum8, n),
            ("sum f64", &sum64, n),
            ("sum 1K", &sum, 1024),
            ("sum 16", &sum, 16),
            ("max 64K", &max, 65536),
            ("last 16", &last, 16),
        ] {
            let b = &bytes[..4 * len];
            let t = best(|| {
                std::hint::black_box(cpu.reduce_by(op, b, None).unwrap());
            });
            print!("{name:8} reduce {:9.2} us {:6.2} GB/s", t * 1e6, gb(t, 4 * len));
            let t = best(|| {
                cpu.scan_by(
                    op,
                    b,
                    &mut bytemuck::cast_slice_mut::<f32, u8>(&mut y)[..4 * len],
                    Bounds::Inclusive,
                    Direction::Forward,
                    None,
                )
                .unwrap()
            });
            print!("  scan {:9.2} us {:6.2} GB/s of items", t * 1e6, gb(t, 4 * len));
            let t = best(|| {
                cpu.scan_by(
                    op,
                    b,
                    &mut bytemuck::cast_slice_mut::<f32, u8>(&mut y)[..4 * len],
                    Bounds::Exclusive,
                    Direction::Reverse,
                    None,
                )
                .unwrap()
            });
            println!("  reverse {:6.2}", gb(t, 4 * len));
        }
        for len in [1, 16, 1000, 100_000] {
            let t = best(|| {
                cpu.evaluate(
                    &p,
                    len,
                    &[&bytes[..4 * len]],
                    &mut [&mut bytemuck::cast_slice_mut(&mut y)[..4 * len]],
                )
                .unwrap()
            });
            println!("x*x+1 of {len}: {:.2} us", t * 1e6);
        }
    }
}
