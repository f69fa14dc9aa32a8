//! Reductions, scans and positions on a GPU: every policy's sizes, arrays that begin anywhere, operators that do not commute.

use std::sync::Arc;

use upsweep_core::summation::WINDOW;
use upsweep_core::{
    AccessWidth, ArgMax, Arrangement, BitXor, Element, Error, GpuReduceStrategy, GpuScanStrategy,
    Load, Max, Min, Number, Operator, Product, Reduce, ReduceGlobal, ReduceLocal, Scan, ScanGlobal,
    ScanLocal, Sum, Tail, Widen, WorkgroupPolicy, bf16, f16, reference,
};
use upsweep_cuda::{
    Calls, Extreme, Gpu, Memory, ReduceOptions, ScanOptions, Source, Target, Workspace,
};
use upsweep_gpu::{BindScan, value_of};
use upsweep_testing::{Input, LastSet, Sample};

/// Longest first: what a long array leaves in the workspace must not be found by a short one. Around groups, rows, tiles,
/// windows and the chunks of all policies.
const LENGTHS: [usize; 15] =
    [1_000_003, 262_145, 65_537, 65_536, 32_769, 16_385, 8193, 8192, 4095, 2049, 129, 128, 5, 1, 0];

const POLICIES: [Option<(u32, u32)>; 5] =
    [None, Some((32, 1)), Some((1024, 1024)), Some((256, 32)), Some((512, 16))];

fn policy(number: usize) -> Option<WorkgroupPolicy> {
    POLICIES[number].map(|(threads_per_workgroup, items_per_thread)| WorkgroupPolicy {
        threads_per_workgroup,
        items_per_thread,
    })
}

fn check_reductions<T, A, O>(gpu: &Arc<Gpu>, operator: O)
where
    T: Number + Sample + Widen<A>,
    A: Number + Sample,
    O: Operator<A>,
{
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes16, tail: Tail::Exact };
    let multi_level = GpuReduceStrategy {
        load,
        local: ReduceLocal::Cooperative,
        global: ReduceGlobal::MultiLevel,
    };
    for number in 0..POLICIES.len() {
        let strategy = (number == 3).then_some(multi_level);
        let options = ReduceOptions { strategy, policy: policy(number) };
        let mut workspace = Workspace::default();
        for length in LENGTHS {
            let items: Vec<T> = Input::Mixed.array(number as u64, length);
            let start: Vec<A> = Input::Mixed.array(3, 1);
            for problem in [Reduce::new(operator), Reduce::new(operator).init(start[0])] {
                let expected = reference::specified::reduce(&items, &problem);
                let source = Source::Host(&items[..]);
                let found = gpu.reduce::<T, A, O>(&mut workspace, source, &problem, &options);
                let found = found.unwrap_or_else(|error| panic!("{error}"));
                assert!(
                    found.bits() == expected.bits() || found.is_nan() && expected.is_nan(),
                    "{} of {length} {} in {} with {:?}: {found} not {expected}",
                    O::NAME,
                    T::DTYPE,
                    A::DTYPE,
                    options.policy,
                );
            }
        }
    }
}

#[test]
fn reductions_give_the_bits_of_the_order() {
    let Some(gpu) = crate::common::gpu() else { return };
    check_reductions::<f32, f32, _>(gpu, Sum);
    check_reductions::<f64, f64, _>(gpu, Sum);
    check_reductions::<f16, f32, _>(gpu, Sum);
    check_reductions::<bf16, f32, _>(gpu, Max);
    check_reductions::<u8, u32, _>(gpu, Sum);
    check_reductions::<u32, u32, _>(gpu, Sum);
    check_reductions::<i8, i8, _>(gpu, Min);
    check_reductions::<i16, i64, _>(gpu, Sum);
    check_reductions::<u64, u64, _>(gpu, BitXor);
    check_reductions::<u16, u16, _>(gpu, Product);
}

fn check_scans<T, U, O>(gpu: &Arc<Gpu>, operator: O)
where
    T: Number + Sample + Widen<U::Acc>,
    U: Number + Sample,
    U::Acc: Sample,
    O: Operator<U::Acc> + core::fmt::Debug,
{
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes16, tail: Tail::Exact };
    let look_back =
        GpuScanStrategy { load, local: ScanLocal::Cooperative, global: ScanGlobal::LookBack };
    for number in 0..POLICIES.len() {
        let strategy = (number >= 3).then_some(look_back);
        let options = ScanOptions { strategy, policy: policy(number), stalled: None };
        let start: Vec<U::Acc> = Input::Mixed.array(3, 1);
        let problems = [
            Scan::inclusive(operator),
            Scan::exclusive(operator),
            Scan::exclusive(operator).init(start[0]),
            Scan::inclusive(operator).reverse(),
            Scan::exclusive(operator).reverse(),
        ];
        for problem in problems {
            let mut workspace = Workspace::default();
            for length in LENGTHS {
                let items: Vec<T> = Input::Mixed.array(number as u64, length);
                let expected: Vec<U> = reference::specified::scan(&items, &problem);
                let mut found = vec![U::from_bits(0x5555_5555_5555_5555); length];
                gpu.scan(
                    &mut workspace,
                    Source::Host(&items),
                    Target::Host(&mut found),
                    &problem,
                    &options,
                )
                .unwrap_or_else(|error| panic!("{error}"));
                let wrong = found.iter().zip(&expected).position(|(found, expected)| {
                    found.bits() != expected.bits() && !(found.is_nan() && expected.is_nan())
                });
                assert_eq!(
                    wrong,
                    None,
                    "{} of {length} {} to {}: {problem:?} with {:?}",
                    O::NAME,
                    T::DTYPE,
                    U::DTYPE,
                    options.policy
                );
            }
        }
    }
}

#[test]
fn scans_give_the_bits_of_the_order() {
    let Some(gpu) = crate::common::gpu() else { return };
    check_scans::<f32, f32, _>(gpu, Sum);
    check_scans::<f64, f64, _>(gpu, Sum);
    check_scans::<f16, f16, _>(gpu, Sum);
    check_scans::<bf16, f32, _>(gpu, Max);
    check_scans::<u8, u32, _>(gpu, Sum);
    check_scans::<u8, u8, _>(gpu, Sum);
    check_scans::<u32, u32, _>(gpu, Sum);
    check_scans::<u64, u64, _>(gpu, Product);
    check_scans::<u32, u32, _>(gpu, LastSet);
}

/// Scans and reductions of a range of the device's memory that begins anywhere; what lies around the output stays.
fn check_anywhere<T>(gpu: &Arc<Gpu>)
where
    T: Number + Sample + Element<Acc = T> + Widen<T>,
    Sum: Operator<T>,
{
    for (before, length) in [(1, 50_000), (3, 40_933), (0, 20_049), (2, 1), (5, 70_001)] {
        let around: Vec<T> = Input::Full.array(before, length + 2 * before as usize);
        let range = before..before + length as u64;
        let items = &around[before as usize..][..length];
        let from = Memory::holding(gpu, &around).expect("memory");
        let input = from.slice().part(range.clone()).expect("it is among them");
        let mut workspace = Workspace::default();
        let problem = Reduce::new(Sum);
        let found = gpu.reduce::<T, T, _>(
            &mut workspace,
            Source::Device(input),
            &problem,
            &ReduceOptions::default(),
        );
        assert_eq!(found, Ok(reference::reduce(items, &problem)), "{length} behind {before}");
        for problem in [Scan::inclusive(Sum), Scan::exclusive(Sum).reverse()] {
            let scanned: Vec<T> = reference::scan(items, &problem);
            let poison: Vec<T> = Input::Full.array(77, around.len());
            for in_place in [false, true] {
                let held = if in_place { &around } else { &poison };
                let to = Memory::holding(gpu, held).expect("memory");
                let output = to.slice().part(range.clone()).expect("it is among them");
                let options = ScanOptions::default();
                if in_place {
                    let data = Target::<T>::Device(output);
                    gpu.scan_in_place(&mut workspace, data, &problem, &options)
                } else {
                    let (from, to) = (Source::<T>::Device(input), Target::<T>::Device(output));
                    gpu.scan(&mut workspace, from, to, &problem, &options)
                }
                .unwrap_or_else(|error| panic!("{error}"));
                let mut expected = held.clone();
                expected[before as usize..][..length].copy_from_slice(&scanned);
                gpu.wait().expect("nobody waited in vain");
                let found = to.to_vec::<T>().expect("it can be read");
                assert!(found == expected, "{length} behind {before}: {problem:?} {in_place}");
            }
        }
    }
}

#[test]
fn arrays_begin_anywhere() {
    let Some(gpu) = crate::common::gpu() else { return };
    check_anywhere::<u8>(gpu);
    check_anywhere::<i16>(gpu);
    check_anywhere::<u32>(gpu);
    check_anywhere::<i64>(gpu);
}

/// A scan that goes on from what came in behind the windows before gives the bits of the whole.
fn check_carries<T, O>(gpu: &Arc<Gpu>, operator: O)
where
    T: Number + Sample + Element<Acc = T> + Widen<T>,
    O: Operator<T>,
{
    let items: Vec<T> = Input::Mixed.array(5, 5 * WINDOW + 777);
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes16, tail: Tail::Exact };
    let look_back =
        GpuScanStrategy { load, local: ScanLocal::Cooperative, global: ScanGlobal::LookBack };
    for number in 0..POLICIES.len() {
        let strategy = (number >= 3).then_some(look_back);
        let options = ScanOptions { strategy, policy: policy(number), stalled: None };
        let whole = Scan::exclusive(operator);
        let expected: Vec<T> = reference::specified::scan(&items, &whole);
        let mut found = vec![T::from_bits(0x5555_5555_5555_5555); items.len()];
        let (mut workspace, mut problem, mut from) = (Workspace::default(), whole, 0);
        for windows in [3, 1, 1, 0] {
            let to = if windows == 0 { items.len() } else { from + windows * WINDOW };
            let (source, target) =
                (Source::Host(&items[from..to]), Target::Host(&mut found[from..to]));
            gpu.scan::<T, T, O>(&mut workspace, source, target, &problem, &options)
                .unwrap_or_else(|error| panic!("{error}"));
            let carry = gpu.carry(&workspace, (to - from) as u64);
            match carry {
                Ok(carry) => {
                    problem.init = Some(value_of(&carry, gpu.id()).expect("a number"));
                }
                Err(error) => assert!(windows == 0, "{error}"),
            }
            from = to;
        }
        let wrong = found.iter().zip(&expected).position(|(found, expected)| {
            found.bits() != expected.bits() && !(found.is_nan() && expected.is_nan())
        });
        assert_eq!(wrong, None, "{} of {} with {:?}", O::NAME, T::DTYPE, options.policy);
    }
}

#[test]
fn scans_go_on_from_their_carry() {
    let Some(gpu) = crate::common::gpu() else { return };
    check_carries::<f32, _>(gpu, Sum);
    check_carries::<f64, _>(gpu, Product);
    check_carries::<f32, _>(gpu, Min);
    check_carries::<u64, _>(gpu, Sum);
    check_carries::<u32, _>(gpu, LastSet);
}

#[test]
fn extremes_are_found_first() {
    let Some(gpu) = crate::common::gpu() else { return };
    let (mut workspace, options) = (Workspace::default(), ReduceOptions::default());
    let mut items = vec![1.5f32; 3_000_000];
    items[7000] = -2.0;
    items[9000] = -2.0;
    items[2_400_000] = 3.0;
    let mut position = |items: &[f32], extreme| {
        gpu.position(&mut workspace, Source::Host(items), extreme, &options)
    };
    assert_eq!(position(&items, Extreme::Smallest), Ok(Some(7000)));
    assert_eq!(position(&items, Extreme::Largest), Ok(Some(2_400_000)));
    items[2_500_000] = f32::NAN;
    items[2_500_001] = f32::NAN;
    assert_eq!(position(&items, Extreme::Smallest), Ok(Some(2_500_000)));
    assert_eq!(position(&items, Extreme::Largest), Ok(Some(2_500_000)));
    assert_eq!(position(&[0.0, -0.0, 0.0], Extreme::Smallest), Ok(Some(0)));
    assert_eq!(position(&[-0.0, 0.0], Extreme::Largest), Ok(Some(0)));
    assert_eq!(position(&[], Extreme::Largest), Ok(None));
}

#[test]
fn mistakes_are_named() {
    let Some(gpu) = crate::common::gpu() else { return };
    let mut workspace = Workspace::default();
    let mut output = [0u32; 3];
    let unequal = gpu.scan::<u32, u32, _>(
        &mut workspace,
        Source::Host(&[1, 2]),
        Target::Host(&mut output),
        &Scan::inclusive(Sum),
        &ScanOptions::default(),
    );
    assert_eq!(unequal, Err(Error::LengthMismatch { input: 2, output: 3 }));
    let mut last_set = |strategy: Option<&str>| {
        let strategy = strategy.map(|name| name.parse().expect("a name"));
        let options = ReduceOptions { strategy, policy: None };
        let from = Source::Host(&[1, 2]);
        gpu.reduce::<u32, u32, _>(&mut workspace, from, &Reduce::new(LastSet), &options)
    };
    let order = last_set(Some("striped-16-exact/cooperative/last-block"));
    assert!(matches!(order, Err(Error::NotCommutative { .. })), "{order:?}");
    assert_eq!(last_set(None), Ok(2));
    let memory = Memory::holding(gpu, &[1u32, 2, 3]).expect("memory");
    let typed = gpu.reduce::<f32, f32, _>(
        &mut workspace,
        Source::Device(memory.slice()),
        &Reduce::new(Sum),
        &ReduceOptions::default(),
    );
    assert!(matches!(typed, Err(Error::Buffer { .. })), "{typed:?}");
    let structure = gpu.reduce(
        &mut workspace,
        Source::Host(&[upsweep_core::Indexed { value: 1u32, index: 0 }]),
        &Reduce::new(ArgMax),
        &ReduceOptions::default(),
    );
    assert!(matches!(structure, Err(Error::OperatorUntranslated { .. })), "{structure:?}");
}
