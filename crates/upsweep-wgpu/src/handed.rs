//! What kernels are handed at each launch: values that no kernel is made for, and numbers of items that are cut into windows.

use upsweep_core::{
    Apply, Dtype, Element, Error, Formula, GpuScanStrategy, Index, Kind, Language, Operator,
    Parameter, Recipe, Reduce, Scan, ScanGlobal, Source as Written, Sum, reference,
};
use upsweep_gpu::Folder;
use upsweep_testing::{Above, LastOther, rotation, wrapping_sum};

use crate::{
    Calls, Gpu, Ingredients, ReduceOptions, ScanOptions, Source, Stored, Target, Workspace, testing,
};

/// Several windows of a binding that is as short as any may be.
const ITEMS: usize = 600_001;
const SHORT: u64 = 1 << 20;

/// Of so many strategies one is tested in each run, beside those that it takes to meet every choice.
const ONE_IN: usize = 30;

/// Kernels that a device has made.
fn kernels(gpu: &Gpu) -> usize {
    gpu.pipelines.lock().expect("nobody panicked").len()
}

#[test]
fn values_of_operators_have_one_kernel() {
    let items: Vec<u32> = (0..3000).map(|item| item % 4).collect();
    for gpu in testing::gpus(&Folder::of_user()) {
        let mut made = Vec::new();
        for nothing in [0, 3, 2] {
            let problem = Reduce::<u32, _>::new(LastOther { nothing });
            let mut workspace = Workspace::default();
            let found = gpu.reduce(&mut workspace, Source::Host(&items), &problem, &<_>::default());
            let expected: u32 = reference::specified::reduce(&items, &problem);
            assert_eq!(found, Ok(expected), "{gpu:?}");
            made.push(kernels(&gpu));
        }
        assert!(made[0] > 0 && made.iter().all(|count| *count == made[0]), "{gpu:?}: {made:?}");
    }
}

/// What an operator is handed counts with what a recipe is.
#[test]
fn too_many_words_are_refused() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Many;
    impl Operator<u32> for Many {
        const NAME: &'static str = "many";
        const COMMUTATIVE: bool = true;
        fn identity(&self) -> u32 {
            0
        }
        fn combine(&self, left: u32, right: u32) -> u32 {
            left | right
        }
        fn source(&self, _: Language) -> Option<Written> {
            Some(Written { combine: "return left | right;".into(), ..Written::default() })
        }
        fn fields(&self) -> Option<Parameter> {
            Some(Parameter { kind: u32::KIND, words: vec![0; 63] })
        }
    }
    for gpu in testing::gpus(&Folder::of_user()) {
        let problem = Reduce::<u32, _>::new(Many);
        let (mut workspace, options) = (Workspace::default(), ReduceOptions::default());
        let found = gpu.reduce(&mut workspace, Source::Host(&[1u32, 2]), &problem, &options);
        assert!(matches!(found, Err(Error::Buffer { .. })), "{gpu:?}: {found:?}");
    }
}

#[test]
fn values_of_fields_have_one_kernel() {
    let items: Vec<f32> = (0..3000).map(|item| item as f32).collect();
    let bytes = f32::bytes(&items).expect("they have");
    for gpu in testing::gpus(&Folder::of_user()) {
        let mut made = Vec::new();
        for threshold in [100.0, 2000.0, 2999.5] {
            let above = Above { threshold };
            let fields = above.fields().expect("it has some");
            let call = vec![Formula::Value(0), Formula::Item(0)];
            let recipe = Recipe {
                parameters: vec![fields.kind],
                ..Recipe::of_arrays(
                    u32::KIND,
                    vec![f32::KIND],
                    Formula::Call(above.function(), call),
                )
            };
            let arrays = [Stored::Host(&bytes)];
            let (words, items_made) = (&fields.words[..], items.len() as u64);
            let made_of = Ingredients {
                recipe: &recipe,
                arrays: &arrays,
                anywhere: &[],
                lengths: &[],
                words,
                items: items_made,
            };
            let mut workspace = Workspace::default();
            let problem = Reduce::<u32, _>::new(Sum);
            let found = gpu.reduce_made(&mut workspace, &made_of, &problem, &<_>::default());
            let expected: u32 = items.iter().map(|&item| above.apply(item)).sum();
            assert_eq!(found, Ok(expected), "{gpu:?}");
            made.push(kernels(&gpu));
        }
        assert!(made[0] > 0 && made.iter().all(|count| *count == made[0]), "{gpu:?}: {made:?}");
    }
}

#[test]
fn numbers_go_on_from_window_to_window() {
    let items: Vec<u32> = (0..ITEMS as u32).map(|item| item.wrapping_mul(2_654_435_761)).collect();
    let bytes = u32::bytes(&items).expect("they have");
    let start = 4_000_000_000u32;
    let plus = |number: usize| items[number].wrapping_add(start.wrapping_add(number as u32));
    let made: Vec<u32> = (0..ITEMS).map(plus).collect();
    let counted = Formula::Counted(Dtype::U32, 0, Box::new(Index::Own));
    let formula = Formula::Call(wrapping_sum {}.function(), vec![Formula::Item(0), counted]);
    let recipe = Recipe {
        parameters: vec![u32::KIND],
        ..Recipe::of_arrays(u32::KIND, vec![u32::KIND], formula)
    };
    for mut gpu in testing::gpus(&Folder::of_user()) {
        testing::own(&mut gpu).facts.binding_bytes = SHORT;
        let arrays = [Stored::Host(&bytes)];
        let parameter = Parameter::of(start);
        let made_of = Ingredients {
            recipe: &recipe,
            arrays: &arrays,
            anywhere: &[],
            lengths: &[],
            words: &parameter.words,
            items: ITEMS as u64,
        };
        let mut workspace = Workspace::default();
        let problem = Reduce::<u32, _>::new(Sum);
        let found = gpu.reduce_made(&mut workspace, &made_of, &problem, &<_>::default());
        assert_eq!(found, Ok(reference::specified::reduce(&made, &problem)), "{gpu:?}");
        for problem in [Scan::<u32, _>::inclusive(Sum), Scan::inclusive(Sum).reverse()] {
            let mut output = vec![0u32; ITEMS];
            let to = Target::Host(&mut output[..]);
            let options = ScanOptions::default();
            let done = gpu.scan_made(&mut Workspace::default(), &made_of, to, &problem, &options);
            assert_eq!(done, Ok(()), "{gpu:?}");
            let expected: Vec<u32> = reference::specified::scan(&made, &problem);
            let wrong = output.iter().zip(&expected).position(|(found, wanted)| found != wanted);
            assert_eq!(wrong, None, "{gpu:?}: {:?}", problem.direction);
        }
        // What is read anywhere is in one binding.
        let index = Box::new(Index::Line { of: Box::new(Index::Own), first: 0, step: 1 });
        let anywhere = Recipe {
            anywhere: vec![u32::KIND],
            parameters: vec![u64::KIND; 3],
            ..Recipe::of_arrays(
                u32::KIND,
                Vec::new(),
                Formula::Anywhere { array: 0, index, last: 2 },
            )
        };
        let words: Vec<u32> = [ITEMS as u64 - 1, u64::MAX, ITEMS as u64 - 1]
            .iter()
            .flat_map(|&number| Parameter::of(number).words)
            .collect();
        let turned = Ingredients {
            recipe: &anywhere,
            arrays: &[],
            anywhere: &arrays,
            lengths: &[],
            words: &words,
            items: ITEMS as u64,
        };
        let problem = Reduce::<u32, _>::new(Sum);
        let refused = gpu.reduce_made(&mut workspace, &turned, &problem, &<_>::default());
        assert!(matches!(refused, Err(Error::Buffer { .. })), "{gpu:?}: {refused:?}");
    }
}

/// Strategies of scans that a device has write what a function makes, but the one that reads again what it wrote.
#[test]
fn strategies_write_what_a_function_makes() {
    let items: Vec<f32> = (0..20_001).map(|item| (item % 7) as f32 - 2.5).collect();
    let bytes = f32::bytes(&items).expect("they have");
    let above = Above { threshold: 5000.0 };
    let fields = above.fields().expect("it has some");
    let written = Formula::Call(above.function(), vec![Formula::Value(0), Formula::Prefix]);
    let recipe = Recipe {
        parameters: vec![fields.kind],
        written: Some(written),
        ..Recipe::of_arrays(f32::KIND, vec![f32::KIND], Formula::Item(0))
    };
    let problem = Scan::<f32, _>::inclusive(Sum);
    let prefixes: Vec<f32> = reference::specified::scan(&items, &problem);
    let expected: Vec<u32> = prefixes.iter().map(|&prefix| above.apply(prefix)).collect();
    assert!(expected.contains(&0) && expected.contains(&1));
    let strategies: Vec<_> = GpuScanStrategy::all().collect();
    let levels = strategies.iter().map(|of| rotation::levels_of(of.load, of.local, of.global));
    let chosen = rotation::chosen(&levels.collect::<Vec<_>>(), ONE_IN);
    for gpu in testing::gpus(&Folder::of_user()) {
        let mut ran = 0;
        // The one of the device's own choice cannot be refused.
        let own = crate::scan::policy::strategy(&gpu.facts);
        for strategy in chosen.iter().map(|&number| strategies[number]).chain([own]) {
            let arrays = [Stored::Host(&bytes)];
            let made_of = Ingredients {
                recipe: &recipe,
                arrays: &arrays,
                anywhere: &[],
                lengths: &[],
                words: &fields.words,
                items: items.len() as u64,
            };
            let options = ScanOptions { strategy: Some(strategy), ..ScanOptions::default() };
            let mut output = vec![7u32; items.len()];
            let to = Target::Host(&mut output[..]);
            match gpu.scan_made(&mut Workspace::default(), &made_of, to, &problem, &options) {
                Ok(()) => {
                    assert_ne!(strategy.global, ScanGlobal::ScanThenPropagate, "{gpu:?}");
                    assert!(output == expected, "{gpu:?}: {strategy:?}");
                    ran += 1;
                }
                Err(Error::StrategyRefused { .. }) => {}
                Err(error) => panic!("{gpu:?}: {strategy:?}: {error}"),
            }
        }
        assert!(ran > 0, "{gpu:?}");
    }
}

/// Values that kernels of a device without their type cannot be handed are refused.
#[test]
fn what_a_device_lacks_is_refused() {
    let words = Parameter::of(1u64).words;
    let recipe = Recipe {
        parameters: vec![Kind::Number(Dtype::U64)],
        ..Recipe::of_arrays(
            u64::KIND,
            Vec::new(),
            Formula::Counted(Dtype::U64, 0, Box::new(Index::Own)),
        )
    };
    for gpu in testing::gpus(&Folder::of_user()) {
        let made_of = Ingredients {
            recipe: &recipe,
            arrays: &[],
            anywhere: &[],
            lengths: &[],
            words: &words,
            items: 5,
        };
        let mut workspace = Workspace::default();
        let problem = Reduce::<u64, _>::new(Sum);
        let found = gpu.reduce_made(&mut workspace, &made_of, &problem, &<_>::default());
        match found {
            Err(Error::ElementUnsupported { .. }) => assert!(!gpu.limits().int64, "{gpu:?}"),
            found => assert_eq!(found, Ok(15), "{gpu:?}"),
        }
    }
}
