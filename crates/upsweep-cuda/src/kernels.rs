//! The kernels of all primitives compile without a GPU, and keep what they hold in registers.

use std::collections::HashSet;

use upsweep_core::{
    AccessWidth, Arrangement, BitXor, Bounds, Direction, Element, Extreme, GpuReduceStrategy, Load,
    Max, Number, Operator, Product, ReduceGlobal, ReduceLocal, Strategy, Sum, Tail, Widen,
    WorkgroupPolicy, bf16, f16,
};

use crate::bytes;
use crate::device::Facts;
use crate::ladder;
use crate::reduce::{ReduceOptions, Reduction};
use crate::scan::{self, Form, Lies, ScanOptions, Scanning};
use crate::shader::{Shader, Types};
use crate::testing;

fn types<T, A, U, O>() -> Types
where
    T: Number + Widen<A>,
    A: Element,
    U: Element,
    O: Operator<A> + Default,
{
    Types::of::<T, A, U, O>(&O::default()).expect("it has a text")
}

/// Types of every size of item and of value, exact and not.
fn spread() -> Vec<Types> {
    vec![
        types::<u32, u32, u32, Sum>(),
        types::<f32, f32, f32, Sum>(),
        types::<f64, f64, f64, Product>(),
        types::<u64, u64, u64, Sum>(),
        types::<u8, u32, u32, Sum>(),
        types::<i8, i8, i8, Max>(),
        types::<u16, u64, u64, BitXor>(),
        types::<f16, f32, f16, Sum>(),
        types::<bf16, f32, f32, Max>(),
    ]
}

/// Compiles a shader for an architecture, and looks at what its kernel needs.
fn compile(shader: &Shader, arch: u32) {
    let Some(compiler) = testing::compiler() else { return };
    let compiled = compiler
        .compile(&shader.text(), arch, &[])
        .unwrap_or_else(|error| panic!("{:?}: {error}", shader.types));
    assert!(!compiled.log.contains("warning"), "{:?}: {}", shader.types, compiled.log);
    for usage in compiled.usage() {
        let needs = (usage.stack_bytes, usage.spill_bytes);
        assert_eq!(
            needs,
            (0, 0),
            "{usage:?} on sm_{arch}: {:?} {:?}",
            shader.types,
            shader.constants
        );
    }
}

/// The architectures from this one on that kernels are compiled for: known ones, and the newest that the compiler knows.
fn archs(first: u32) -> Vec<u32> {
    let Some(compiler) = testing::compiler() else { return Vec::new() };
    let newest = compiler.archs().expect("a list").pop().expect("it compiles for something");
    [80, 90, newest].into_iter().filter(|&arch| arch >= first).collect()
}

fn policies() -> [Option<WorkgroupPolicy>; 4] {
    let policy = |threads_per_workgroup, items_per_thread| {
        Some(WorkgroupPolicy { threads_per_workgroup, items_per_thread })
    };
    [None, policy(32, 1), policy(1024, 1024), policy(256, 32)]
}

#[test]
fn reductions_compile() {
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes16, tail: Tail::Exact };
    let mut all = spread();
    all.push(Types::of_position(f32::DTYPE, Extreme::Largest));
    all.push(Types::of_position(u8::DTYPE, Extreme::Smallest));
    for (number, types) in all.iter().enumerate() {
        let size = types.item.size() as u32;
        for (turn, &global) in
            [ReduceGlobal::LastBlock, ReduceGlobal::Atomic, ReduceGlobal::MultiLevel]
                .iter()
                .enumerate()
        {
            let strategy =
                Some(GpuReduceStrategy { load, local: ReduceLocal::Cooperative, global });
            let policy = policies()[(number + turn) % 4];
            let widths = [16, size.max(4), size];
            let width = widths[(number + turn) % 3];
            let options = ReduceOptions { strategy, policy };
            let Ok((_, shader)) = Reduction::kernel("cuda:0", types, &options, 1 << 28, width)
            else {
                assert!(global == ReduceGlobal::Atomic && types.op.atomic(types.held()).is_none());
                continue;
            };
            for arch in archs(80) {
                compile(&shader, arch);
            }
        }
    }
}

#[test]
fn strategies_of_reductions_compile() {
    let mut all = spread();
    all.push(types::<u8, f64, f64, Sum>());
    all.push(Types::of_position(f64::DTYPE, Extreme::Largest));
    all.push(Types::of_position(u8::DTYPE, Extreme::Smallest));
    let archs = archs(80);
    for (number, types) in all.iter().enumerate() {
        let loads = Load::all().filter(|load| bytes(load.width) as usize >= types.item.size());
        for (turn, load) in loads.enumerate() {
            // Every local with every load, in three of the types at hand.
            let turn = turn + turn / 3 + number;
            let local = ReduceLocal::ALL[turn % 3];
            let global = [ReduceGlobal::LastBlock, ReduceGlobal::MultiLevel][turn / 3 % 2];
            let options = ReduceOptions {
                strategy: Some(GpuReduceStrategy { load, local, global }),
                policy: policies()[(number + turn / 2) % 4],
            };
            let kernel = Reduction::kernel("cuda:0", types, &options, 1 << 28, bytes(load.width));
            let (_, shader) = kernel.unwrap_or_else(|error| panic!("{error}"));
            if let Some(&arch) = archs.get(turn % archs.len().max(1)) {
                compile(&shader, arch);
            }
        }
    }
}

#[test]
fn reductions_are_refused_for_what_types_lack() {
    let load =
        Load { arrangement: Arrangement::Blocked, width: AccessWidth::Bytes4, tail: Tail::Checked };
    let strategy = |global| GpuReduceStrategy { load, local: ReduceLocal::Raking, global };
    let refused = |types: &Types, global, reason: &str| {
        let options = ReduceOptions { strategy: Some(strategy(global)), policy: None };
        let kernel = Reduction::kernel("cuda:0", types, &options, 1 << 20, 8);
        let error = kernel.map(drop).expect_err("it cannot be had").to_string();
        assert!(error.contains(&Strategy::GpuReduce(strategy(global)).to_string()), "{error}");
        assert!(error.contains(reason), "{error}");
    };
    let wide = types::<f64, f64, f64, Sum>();
    refused(&wide, ReduceGlobal::LastBlock, "an access of 4 bytes holds no f64");
    let rounds = types::<f32, f32, f32, Sum>();
    refused(&rounds, ReduceGlobal::Atomic, "there is no atomic sum of f32");
}

#[test]
fn scans_compile() {
    for (number, types) in spread().iter().enumerate() {
        for (turn, direction) in [Direction::Forward, Direction::Reverse].into_iter().enumerate() {
            let bounds = [Bounds::Inclusive, Bounds::Exclusive][(number + turn) % 2];
            let form = Form { bounds, direction };
            let lies = Lies { aligned: number % 4 != 3, out_aligned: (number + turn) % 5 != 4 };
            let options =
                ScanOptions { strategy: None, policy: policies()[(number / 2 + 2 * turn) % 4] };
            for arch in archs(90) {
                let facts = Facts { arch, ..testing::facts(90) };
                let device = ("cuda:0", &facts);
                let kernel = Scanning::kernel(device, types, form, 1 << 28, lies, &options);
                let (_, shader) = kernel.unwrap_or_else(|error| panic!("{error}"));
                compile(&shader, arch);
            }
        }
    }
}

#[test]
fn probes_compile() {
    let Some(compiler) = testing::compiler() else { return };
    for arch in archs(80) {
        let compiled = compiler.compile(&crate::probe::text(), arch, &[]);
        let usage = compiled.unwrap_or_else(|error| panic!("{error}")).usage();
        assert_eq!(usage.len(), 3, "three kernels");
        assert!(usage.iter().all(|usage| usage.spill_bytes + usage.stack_bytes == 0));
    }
}

#[test]
fn the_ladder_compiles() {
    let Some(compiler) = testing::compiler() else { return };
    for arch in archs(80) {
        let compiled = compiler.compile(&ladder::text(), arch, &[]);
        let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
        assert!(!compiled.log.contains("warning"), "{}", compiled.log);
        let usage = compiled.usage();
        let names: HashSet<_> = usage.iter().map(|usage| usage.entry.as_str()).collect();
        assert_eq!(names, ladder::entries().into_iter().collect());
        assert!(usage.iter().all(|usage| usage.spill_bytes + usage.stack_bytes == 0), "{usage:?}");
    }
}

#[test]
fn a_device_without_a_copy_engine_refuses_by_name() {
    let form = Form { bounds: Bounds::Inclusive, direction: Direction::Forward };
    let lies = Lies { aligned: true, out_aligned: true };
    let facts = testing::facts(80);
    let types = types::<f32, f32, f32, Sum>();
    let strategy = Some(scan::policy::strategy(90));
    let options = ScanOptions { strategy, policy: None };
    let kernel =
        |items, options| Scanning::kernel(("cuda:0", &facts), &types, form, items, lies, options);
    let error = kernel(1 << 28, &options).map(drop).expect_err("it has none").to_string();
    assert!(error.contains("aggregates") && error.contains("copy engine"), "{error}");
    kernel(1 << 16, &options).map(drop).expect("all workgroups hold as many at once");
    kernel(1 << 28, &ScanOptions::default()).map(drop).expect("it looks back");
}
