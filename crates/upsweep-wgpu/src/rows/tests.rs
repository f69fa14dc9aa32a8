//! What no device here has: no subgroups, or narrower ones than it promises; small grids and bindings; few threads.

use std::sync::Arc;

use upsweep_core::reference::rows as reference;
use upsweep_core::{Element, Error, Language, Layout, Operator, Reduce, Rows, Scan, Sum, Widen};
use upsweep_gpu::{
    ErasedReduce, ErasedScan, ErasedSource, ErasedTarget, Folder, RowsOptions, rows,
};
use upsweep_testing::{Input, Recurrence, Recurs, Sample, rotation};

use crate::device::Facts;
use crate::{Gpu, Workspace, testing};

/// Shapes, and the axis along which rows lie: short rows and long ones, along memory and across it.
const CASES: [(&[usize], usize); 7] = [
    (&[70, 100], 1),
    (&[70, 300], 1),
    (&[5, 65_600], 1),
    (&[300, 37], 0),
    (&[2049, 64], 0),
    (&[3, 5000, 12], 1),
    (&[70_000, 3], 0),
];

fn check<T, O>(gpu: &Arc<Gpu>, operator: O, case: usize)
where
    T: Sample + Element<Acc = T> + Widen<T> + PartialEq,
    O: Operator<T>,
{
    let (shape, along) = CASES[case];
    let context = format!("{:?}: {} of {shape:?} along {along}", gpu.facts, O::NAME);
    let others = shape.iter().enumerate().filter(|(axis, _)| *axis != along);
    let others: Vec<usize> = others.map(|(_, &len)| len).collect();
    let [input, reduced] = [shape, &others].map(|shape| Layout::packed(shape).expect("a shape"));
    let items: Vec<T> = Input::Mixed.array(case as u64, input.len());
    let source = &items[..];
    let from = || ErasedSource::Host(&source, 0..items.len());
    let mut workspace = Workspace::default();

    let own = Rows::reduced(&input, &[along], &reduced);
    let problem = Reduce::new(operator);
    let (mut found, mut expected) = (vec![items[0]; own.count()], vec![items[0]; own.count()]);
    reference::reduce(&items, &own, &mut expected, &problem);
    let (mut target, all) = (&mut found[..], 0..own.count());
    let to = ErasedTarget::Host(&mut target, all);
    let problem = ErasedReduce::of::<T, T, O>(&problem, Language::Wgsl);
    rows::reduce(gpu, &mut workspace, from(), &own, to, &problem, &RowsOptions::default())
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(found == expected, "{context}");

    let own = Rows::scanned(&input, &[along], &input);
    let problem = Scan::inclusive(operator).reverse();
    let (mut found, mut expected) = (items.clone(), items.clone());
    reference::scan(&items, &own, &mut expected, &problem);
    let (mut target, all) = (&mut found[..], 0..items.len());
    let to = ErasedTarget::Host(&mut target, all);
    let problem = ErasedScan::of::<T, T, T, O>(&problem, Language::Wgsl);
    rows::scan(gpu, &mut workspace, from(), &own, to, &problem, &RowsOptions::default())
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(found == expected, "{context}: scan");
}

/// Every device, of which this is known and not what is true.
fn gpus_with(change: impl Fn(&mut Facts)) -> Vec<Arc<Gpu>> {
    let mut gpus = testing::gpus(&Folder::of_user());
    gpus.iter_mut().for_each(|gpu| change(&mut testing::own(gpu).facts));
    gpus
}

#[test]
fn less_than_a_device_has_is_enough() {
    let changes: [fn(&mut Facts); 2] = [
        |facts| (facts.subgroup, facts.grid) = (1, 3),
        |facts| (facts.subgroup, facts.threads, facts.grid) = (2, 64, 5),
    ];
    for (turn, change) in changes.into_iter().enumerate() {
        for (number, gpu) in gpus_with(change).iter().enumerate() {
            let case =
                |first: usize| (rotation::seed() as usize + first + turn + number) % CASES.len();
            check::<f32, _>(gpu, Sum, case(0));
            check::<Recurrence, _>(gpu, Recurs, case(1));
        }
    }
}

#[test]
fn arrays_are_within_one_binding() {
    for gpu in gpus_with(|facts| facts.binding_bytes = 1 << 12) {
        let items = vec![1.0f32; 2000];
        let input = Layout::packed(&[2, 1000]).expect("a shape");
        let rows = Rows::reduced(&input, &[1], &Layout::packed(&[2]).expect("a shape"));
        let problem = ErasedReduce::of::<f32, f32, Sum>(&Reduce::new(Sum), Language::Wgsl);
        let (source, mut found) = (&items[..], [0.0f32; 2]);
        let mut target = &mut found[..];
        let from = ErasedSource::Host(&source, 0..items.len());
        let to = ErasedTarget::Host(&mut target, 0..2);
        let mut workspace = Workspace::default();
        let options = RowsOptions::default();
        let done = rows::reduce(&gpu, &mut workspace, from, &rows, to, &problem, &options);
        let Err(Error::Buffer { reason }) = done else { panic!("{done:?}") };
        assert!(reason.contains("within one binding") && reason.contains("2000 items"), "{reason}");
    }
}
