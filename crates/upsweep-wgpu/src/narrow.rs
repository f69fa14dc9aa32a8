//! Devices whose subgroups are wider than they promise: Metal promises 4 threads and has 32, Vulkan on Intel 8 and has
//! up to 32. Kernels are made for what is promised.

use core::fmt::Debug;
use std::sync::Arc;

use upsweep_core::reference::specified;
use upsweep_core::{
    Number, Operator, Reduce, Scan, ScanGlobal, ScanLocal, Sum, Widen, WorkgroupPolicy,
};

use crate::scan::policy::strategy;
use crate::{Calls, Gpu, ReduceOptions, ScanOptions, Source, Target, Workspace, testing};
use upsweep_gpu::Folder;
use upsweep_testing::rotation;

/// Several windows of chunks, and a part of a chunk.
const ITEMS: u32 = 150_001;

#[test]
fn half_of_a_subgroup_is_counted_on() {
    let integers: Vec<u32> = (0..ITEMS).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let floats: Vec<f32> = integers.iter().map(|&word| word as f32 / 1e9 - 2.0).collect();
    let mut tried = 0;
    for mut gpu in testing::gpus(&Folder::of_user()) {
        testing::own(&mut gpu).facts.subgroup /= 2;
        if gpu.facts.subgroup < 2 {
            continue;
        }
        tried += 1;
        let mut cells = Vec::new();
        for global in [ScanGlobal::LookBackFallback, ScanGlobal::ReduceThenScan] {
            for policy in [(64, 32), (256, 16)] {
                for of_floats in [false, true] {
                    cells.push((global, policy, of_floats));
                }
            }
        }
        let levels: Vec<[String; 3]> = (cells.iter())
            .map(|(a, b, c)| [format!("{a:?}"), format!("{b:?}"), format!("{c:?}")])
            .collect();
        for cell in rotation::chosen(&levels, 4) {
            let (global, (threads_per_workgroup, items_per_thread), of_floats) = cells[cell];
            let policy = WorkgroupPolicy { threads_per_workgroup, items_per_thread };
            match of_floats {
                true => scans(&gpu, global, policy, &floats),
                false => scans(&gpu, global, policy, &integers),
            }
        }
        let (problem, from) = (Reduce::<f32, _>::new(Sum), Source::Host(&floats[..]));
        let options = ReduceOptions::default();
        let sum = gpu.reduce(&mut Workspace::default(), from, &problem, &options);
        assert_eq!(sum, Ok(specified::reduce(&floats, &problem)), "{gpu:?}");
    }
    assert!(tried > 0 || testing::adapters().is_empty(), "no device has subgroups of 4");
}

fn scans<T>(gpu: &Arc<Gpu>, global: ScanGlobal, policy: WorkgroupPolicy, items: &[T])
where
    T: Number<Acc = T> + Widen<T> + PartialEq + Debug,
    Sum: Operator<T>,
{
    let mut strategy = strategy(&gpu.facts);
    (strategy.local, strategy.global) = (ScanLocal::Cooperative, global);
    let options = ScanOptions { strategy: Some(strategy), policy: Some(policy), stalled: None };
    let problem = Scan::inclusive(Sum);
    let mut found = items.to_vec();
    let (from, to) = (Source::Host(items), Target::Host(&mut found[..]));
    let done = gpu.scan(&mut Workspace::default(), from, to, &problem, &options);
    let context = format!("{gpu:?}: {strategy:?} {policy:?} of {}", T::DTYPE);
    assert_eq!(done, Ok(()), "{context}");
    let expected: Vec<T> = specified::scan(items, &problem);
    let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(wrong, None, "{context}");
}
