//! The committed results of the summation specification, on every GPU.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use upsweep_core::{Element, Operator, Reduce, Scan, Widen};
use upsweep_testing::Sample;
use upsweep_testing::vectors::{Engine, path, read};
use upsweep_wgpu::{Calls, Gpu, ReduceOptions, ScanOptions, Source, Target, Workspace};

/// Lines with more items than this are left to the CPU: software devices take too long.
const MOST: usize = 400_000;

/// A GPU, with the workspaces of the problems it has seen.
struct Device<'a> {
    gpu: &'a Arc<Gpu>,
    workspaces: RefCell<HashMap<String, Workspace>>,
}

impl Device<'_> {
    fn with_workspace<R>(&self, problem: String, work: impl FnOnce(&mut Workspace) -> R) -> R {
        work(self.workspaces.borrow_mut().entry(problem).or_default())
    }
}

impl Engine for Device<'_> {
    fn reduce<T, A, O>(&self, items: &[T], problem: &Reduce<A, O>) -> A
    where
        T: Sample + Widen<A>,
        A: Sample,
        O: Operator<A>,
    {
        let key = format!("{:?} {:?} {}", T::KIND, A::KIND, O::NAME);
        self.with_workspace(key, |workspace| {
            let options = ReduceOptions::default();
            self.gpu
                .reduce(workspace, Source::Host(items), problem, &options)
                .unwrap_or_else(|error| panic!("{:?}: {error}", self.gpu))
        })
    }

    fn scan<T, U, O>(&self, items: &[T], problem: &Scan<<U as Element>::Acc, O>) -> Vec<U>
    where
        T: Sample + Widen<U::Acc>,
        U: Sample,
        O: Operator<U::Acc>,
    {
        let mut output = vec![U::from_bits(0x5555_5555_5555_5555); items.len()];
        let Scan { bounds, direction, .. } = problem;
        let key = format!("{:?} {:?} {} {bounds:?} {direction:?}", T::KIND, U::KIND, O::NAME);
        self.with_workspace(key, |workspace| {
            let (from, to) = (Source::Host(items), Target::Host(&mut output[..]));
            let options = ScanOptions::default();
            self.gpu
                .scan(workspace, from, to, problem, &options)
                .unwrap_or_else(|error| panic!("{:?}: {error}", self.gpu));
        });
        output
    }
}

#[test]
fn every_gpu_gives_the_committed_bits() {
    let text = std::fs::read_to_string(path()).expect("the vectors are there");
    let rows = read(&text).expect("the vectors have their form");
    for gpu in crate::common::gpus() {
        let device = Device { gpu, workspaces: RefCell::default() };
        let mut lines = 0;
        for (question, expected) in &rows {
            // Long products come by results that are too small for a normal float.
            let small = question.operator == "product" && !gpu.limits().subnormals;
            let runs = match question.items.as_str() {
                "f64" => gpu.limits().float64,
                "affine_f32" => false,
                _ => true,
            };
            if runs && !small && question.length <= MOST {
                let found = question.answer(&device);
                assert!(found == *expected, "{gpu:?}: {question:?}: {found:x?} not {expected:x?}");
                lines += 1;
            }
        }
        assert!(lines > 500, "{gpu:?}: {lines} lines");
    }
}
