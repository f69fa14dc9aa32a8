//! Every strategy on a GPU gives the bits of the order, or is refused for what types and operator lack.

use std::sync::Arc;

use upsweep_core::{
    Apply, Element, Error, Extreme, Formula, GpuReduceStrategy, Language, Max, Number, Operator,
    Recipe, Reduce, ReduceGlobal, Sum, Widen, WorkgroupPolicy, bf16, f16, reference,
};
use upsweep_testing::{Above, Input, LastOther, Sample};

use crate::shader::Types;
use crate::{Calls, Gpu, Ingredients, Memory, ReduceOptions, Source, Stored, Workspace, testing};

/// Longest first: what a long array leaves in the workspace must not be found by a short one.
const LENGTHS: [u64; 8] = [300_007, 65_537, 8193, 2049, 2048, 127, 1, 0];

const POLICIES: [(u32, u32); 4] = [(32, 1), (512, 256), (128, 64), (1024, 4096)];

/// Strategies with their options, beginning with number `first`, every so many.
fn cells(first: usize, every: usize) -> impl Iterator<Item = (GpuReduceStrategy, ReduceOptions)> {
    let all = GpuReduceStrategy::all();
    all.enumerate().skip(first).step_by(every).map(|(number, strategy)| {
        let (threads_per_workgroup, items_per_thread) = POLICIES[(number + number / 4) % 4];
        let policy = Some(WorkgroupPolicy { threads_per_workgroup, items_per_thread });
        (strategy, ReduceOptions { strategy: Some(strategy), policy })
    })
}

/// So many strategies from one to the next, without a factor in common with the numbers of choices, that every choice of every
/// level is met.
const EVERY: usize = 11;

/// Whether a strategy can be had for such types.
fn is_there(types: &Types, strategy: &GpuReduceStrategy) -> bool {
    let fits = crate::bytes(strategy.load.width) as usize >= types.item.size();
    let collects = types.op.atomic(types.held()).is_some();
    fits && (strategy.global != ReduceGlobal::Atomic || collects)
}

/// What was found, unless the strategy is refused, as it must be.
fn found<V>(types: &Types, strategy: &GpuReduceStrategy, found: Result<V, Error>) -> Option<V> {
    match found {
        Ok(found) if is_there(types, strategy) => Some(found),
        Err(Error::StrategyRefused { reason, .. }) if !is_there(types, strategy) => {
            assert!(reason.contains("holds no") || reason.contains("no atomic"), "{reason}");
            None
        }
        other => panic!("{strategy:?} of {types:?}: {:?}", other.map(drop)),
    }
}

/// Reductions of arrays that begin `begin` items behind whole accesses.
fn check<T, A, O>(gpu: &Arc<Gpu>, operator: O, input: Input, begin: u64, first: usize, every: usize)
where
    T: Number + Sample + Widen<A>,
    A: Number + Sample,
    O: Operator<A>,
{
    let types = Types::of(&testing::signature::<T, A, A, O>(&operator)).expect("it has a text");
    let problem = Reduce::new(operator).init(input.array::<A>(3, 1)[0]);
    let all: Vec<T> = input.array(first as u64, (begin + LENGTHS[0]) as usize);
    let memory = Memory::holding(gpu, &all).expect("memory");
    for (strategy, options) in cells(first, every) {
        let mut workspace = Workspace::default();
        for length in LENGTHS {
            let slice = memory.slice().part(begin..begin + length).expect("it is among them");
            let reduced =
                gpu.reduce::<T, A, O>(&mut workspace, Source::Device(slice), &problem, &options);
            let Some(reduced) = found(&types, &strategy, reduced) else { break };
            let items = &all[begin as usize..][..length as usize];
            let expected = reference::specified::reduce(items, &problem);
            assert!(
                reduced.bits() == expected.bits() || reduced.is_nan() && expected.is_nan(),
                "{} of {length} {} in {} with {options:?}: {reduced} not {expected}",
                O::NAME,
                T::DTYPE,
                A::DTYPE,
            );
        }
    }
}

/// Searches for the first position of the largest item of arrays that begin so many items behind whole accesses.
fn check_positions<T: Number + Sample>(gpu: &Arc<Gpu>, begin: u64, first: usize) {
    let types = Types::of_position(T::DTYPE, Extreme::Largest);
    let all: Vec<T> = Input::Small.array(first as u64, (begin + LENGTHS[0]) as usize);
    let memory = Memory::holding(gpu, &all).expect("memory");
    for (strategy, options) in cells(first, EVERY) {
        let mut workspace = Workspace::default();
        for length in LENGTHS {
            let slice = memory.slice().part(begin..begin + length).expect("it is among them");
            let source = Source::<T>::Device(slice);
            let position = gpu.position(&mut workspace, source, Extreme::Largest, &options);
            let Some(position) = found(&types, &strategy, position) else { break };
            let items = all[begin as usize..][..length as usize].iter().map(|item| item.to_f64());
            let largest = items.clone().fold(f64::NEG_INFINITY, f64::max);
            let expected = items.clone().position(|item| item == largest);
            assert_eq!(position, expected.map(|k| k as u64), "{length} {} {options:?}", T::DTYPE);
        }
    }
}

/// A sum that comes ever closer to 2^18. Commutes but for rounding.
#[derive(Clone, Copy, Debug)]
struct Saturating;

impl Operator<f32> for Saturating {
    const NAME: &'static str = "saturating sum";
    const COMMUTATIVE: bool = true;

    fn identity(&self) -> f32 {
        0.0
    }

    fn combine(&self, left: f32, right: f32) -> f32 {
        left + right * (1.0 - left / 262_144.0)
    }

    fn source(&self, language: Language) -> Option<upsweep_core::Source> {
        (language == Language::Cuda).then(|| upsweep_core::Source {
            combine: "return left + right * (1.0f - left / 262144.0f);".into(),
            ..upsweep_core::Source::default()
        })
    }
}

#[test]
fn every_strategy_sums_words() {
    let Some(gpu) = testing::gpu() else { return };
    check::<u32, u32, _>(&gpu, Sum, Input::Full, 0, 0, 1);
}

#[test]
fn strategies_follow_the_order() {
    let Some(gpu) = testing::gpu() else { return };
    check::<f32, f32, _>(&gpu, Sum, Input::Mixed, 0, 0, 5);
    check::<f64, f64, _>(&gpu, Sum, Input::Mixed, 0, 1, EVERY);
    check::<u8, f32, _>(&gpu, Sum, Input::Full, 0, 2, EVERY);
    check::<f16, f32, _>(&gpu, Sum, Input::Mixed, 1, 3, EVERY);
    check::<f32, f32, _>(&gpu, Saturating, Input::Uniform, 3, 4, EVERY);
}

#[test]
fn strategies_take_what_cannot_round() {
    let Some(gpu) = testing::gpu() else { return };
    check::<u8, u32, _>(&gpu, Sum, Input::Full, 0, 5, EVERY);
    check::<u8, u32, _>(&gpu, Sum, Input::Full, 1, 6, 4 * EVERY);
    check::<bf16, f32, _>(&gpu, Max, Input::Mixed, 0, 7, EVERY);
    check::<i64, i64, _>(&gpu, Max, Input::Full, 0, 8, EVERY);
    check_positions::<f32>(&gpu, 0, 9);
    check_positions::<u8>(&gpu, 0, 10);
}

#[test]
fn strategies_read_what_begins_anywhere() {
    let Some(gpu) = testing::gpu() else { return };
    check::<u32, u32, _>(&gpu, Sum, Input::Full, 1, 0, EVERY);
    check::<f32, f32, _>(&gpu, Sum, Input::Mixed, 3, 1, 5);
    check::<f64, f64, _>(&gpu, Sum, Input::Mixed, 1, 2, EVERY);
    check::<u8, f32, _>(&gpu, Sum, Input::Full, 13, 3, EVERY);
    check::<i8, i32, _>(&gpu, Sum, Input::Full, 7, 4, EVERY);
    check::<u16, u16, _>(&gpu, Max, Input::Full, 5, 6, EVERY);
    check_positions::<f32>(&gpu, 2, 7);
    check_positions::<i8>(&gpu, 11, 8);
    check_positions::<f64>(&gpu, 1, 9);
}

#[test]
fn values_of_operators_have_one_kernel() {
    let Some(gpu) = testing::gpu() else { return };
    let items: Vec<u32> = (0..3000).map(|item| item % 4).collect();
    let mut made = Vec::new();
    for nothing in [0, 3, 2] {
        let problem = Reduce::<u32, _>::new(LastOther { nothing });
        let (mut workspace, options) = (Workspace::default(), ReduceOptions::default());
        let found = gpu.reduce(&mut workspace, Source::Host(&items), &problem, &options);
        assert_eq!(found, Ok(reference::specified::reduce(&items, &problem)), "{nothing}");
        made.push(gpu.modules.lock().expect("nobody panicked").len());
    }
    assert!(made.iter().all(|count| *count == made[0]), "{made:?}");
}

#[test]
fn values_of_fields_have_one_kernel() {
    let Some(gpu) = testing::gpu() else { return };
    let items: Vec<f32> = (0..3000).map(|item| item as f32).collect();
    let bytes = f32::bytes(&items).expect("they have");
    let mut made = Vec::new();
    for threshold in [100.0, 2000.0, 2999.5] {
        let above = Above { threshold };
        let fields = above.fields().expect("it has some");
        let call = Formula::Call(above.function(), vec![Formula::Value(0), Formula::Item(0)]);
        let recipe = Recipe {
            parameters: vec![fields.kind],
            ..Recipe::of_arrays(u32::KIND, vec![f32::KIND], call)
        };
        let ingredients = Ingredients {
            recipe: &recipe,
            arrays: &[Stored::Host(&bytes)],
            anywhere: &[],
            lengths: &[],
            words: &fields.words,
            items: items.len() as u64,
        };
        let (mut workspace, options) = (Workspace::default(), ReduceOptions::default());
        let found = gpu.reduce_made(&mut workspace, &ingredients, &Reduce::new(Sum), &options);
        let expected: u32 = items.iter().map(|&item| above.apply(item)).sum();
        assert_eq!(found, Ok(expected), "{threshold}");
        made.push(gpu.modules.lock().expect("nobody panicked").len());
    }
    assert!(made.iter().all(|count| *count == made[0]), "{made:?}");
}
