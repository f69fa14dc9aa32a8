//! What is the caller's own: structures, operators with fields, items that are made as they are read.

use upsweep_core::{Apply, Condition, Recipe};
use upsweep_gpu::Selecting;
use upsweep_testing::{
    AddedPowers, Around, BothTagged, Capped, Extent, Joined, LargestStretch, LastOther, Modulo,
    Pair, Powers, Products, Quadratic, Recurrence, Recurs, Stretch, SumUpTo, Tagged, Wide, WideSum,
    is_odd, powers_of, product, recipes, selections, stretch_of,
};

use super::*;
use crate::shader::made::MOST_ARRAYS;

/// Items of one type.
fn of<T: Element>(operator: impl Operator<T>) -> Types {
    types::<T, T, T, _>(operator)
}

/// Kernels of all by default; and on some devices, which go round, with segments and in the form of a reduction that does not commute.
fn translate_all(all: &[Types]) {
    let (mut translator, mut counts) = (Translator::new(), 0);
    for types in all {
        by_default(&mut translator, types, &mut counts, types.op.is_commutative(), true);
        for (number, device) in DEVICES.into_iter().enumerate() {
            if !(number + counts).is_multiple_of(3) {
                continue;
            }
            let facts = facts(device);
            let strategy = scan::policy::strategy(&facts);
            let width = reduce::bytes(strategy.load.width).max(types.item.size() as u32);
            let lies = Lies {
                width,
                out_width: width_of(types.output, types.output.size() as u32),
                aligned: true,
                out_aligned: true,
                shared_words: false,
                in_place: false,
            };
            let device = ("none", &facts);
            let made = Scanning::kernels(device, types, strategy, Form::TOTAL, 1 << 20, lies, None);
            let (_, shaders) = made.unwrap_or_else(|error| panic!("{types:?}: {error}"));
            for shader in &shaders {
                let context = format!("the total of {types:?}");
                translator.add(&facts, shader, vec!["a total".to_owned()], &context);
            }
            let arrays = types.made.as_ref().map_or(1, |made| made.recipe.all_arrays());
            for reduces in [false, true] {
                // Of items that are made segments are reduced.
                if types.made.is_some() && !reduces {
                    continue;
                }
                let (by, kind) = [
                    (SegmentedBy::Offsets, Dtype::U32.into()),
                    (SegmentedBy::Keys, TRIPLE),
                    (SegmentedBy::Keys, Dtype::U32.into()),
                ][(number + counts) / 3 % 3];
                let of = Segmentation { by, kind, wide: false, reduces, is_bounded: false };
                let cut = Some(Cut { of, unique: false, arrays });
                if cut.is_some_and(|cut| cut.all_arrays() > MOST_ARRAYS) {
                    continue;
                }
                let types = Types { cut, ..types.clone() };
                let form = form(if reduces { 0 } else { number & 3 }, true);
                let lies = (true, true);
                let made =
                    scan_kernels(&mut translator, &facts, &types, strategy, form, lies, None);
                made.unwrap_or_else(|error| panic!("{types:?}: {error}"));
            }
        }
    }
    translator.translate(ONE_IN);
}

#[test]
fn structures() {
    translate_all(&[
        of::<Pair>(Joined),
        of::<Recurrence>(Recurs),
        of::<Powers>(AddedPowers),
        of::<Stretch>(LargestStretch),
        of::<Tagged>(BothTagged),
        of::<Wide>(WideSum),
        of::<Extent>(Around),
    ]);
}

#[test]
fn operators_with_fields() {
    translate_all(&[
        of::<u32>(LastOther { nothing: 3 }),
        types::<u8, u32, u32, _>(LastOther { nothing: 3 }),
        of::<u64>(Modulo { modulus: 7 }),
        types::<i16, i32, i32, _>(Capped { most: 9, less: 2, rest: 0 }),
        of::<f32>(SumUpTo { most: 9.5 }),
        of::<Quadratic>(Products { square: 5, unused: 0.5 }),
    ]);
}

/// The types of what a recipe makes.
fn made<A: Element, U: Element, O: Operator<A>>(recipe: &Recipe, operator: O) -> Types {
    let signature = Signature::of::<A, A, U, O>(&operator, Language::Wgsl);
    Types::of_made(recipe, &signature).expect("it can be composed")
}

/// All recipes that make numbers of floats.
fn recipes_of_floats() -> impl Iterator<Item = Recipe> {
    let float = Kind::Number(Dtype::F32);
    recipes().into_iter().filter(move |recipe| recipe.item == float && recipe.written.is_none())
}

/// Sums of what they make.
pub(super) fn made_of_floats() -> Vec<Types> {
    recipes_of_floats().map(|recipe| made::<f32, f32, _>(&recipe, Sum)).collect()
}

/// Searches among what some of them make.
pub(super) fn found_of_floats() -> impl Iterator<Item = Types> {
    let search = (Dtype::F32, Extreme::Smallest);
    let found = move |recipe| Types::of_position_made(&recipe, search, "none");
    recipes_of_floats().step_by(2).map(move |recipe| found(recipe).expect("it has a text"))
}

#[test]
fn items_that_are_made() {
    let recipe = |item, arrays: &[Kind], function| {
        let items = (0..arrays.len()).map(upsweep_core::Formula::Item).collect();
        let call = upsweep_core::Formula::Call(function, items);
        Recipe::of_arrays(item, arrays.to_vec(), call)
    };
    let [float, integer] = [Kind::Number(Dtype::F32), Kind::Number(Dtype::I32)];
    let dot = recipe(float, &[float, float], product {}.function());
    let powers = recipe(Powers::KIND, &[float], powers_of {}.function());
    let stretches = recipe(Stretch::KIND, &[integer], stretch_of {}.function());
    let bytes = recipe(Kind::Number(Dtype::U32), &[Kind::Number(Dtype::U8)], is_odd {}.function());
    let mut all = vec![
        made::<f32, f32, _>(&dot, Sum),
        made::<f32, f32, _>(&dot, Max),
        made::<f32, f32, _>(&dot, SumUpTo { most: 9.5 }),
        made::<u32, u32, _>(&bytes, Sum),
        made::<u32, u32, _>(&bytes, LastOther { nothing: 1 }),
        made::<Powers, Powers, _>(&powers, AddedPowers),
        made::<Stretch, Stretch, _>(&stretches, LargestStretch),
    ];
    for recipe in recipes() {
        let writes_other = recipe.written.is_some();
        all.push(match recipe.item.number() {
            Some(Dtype::F32) if writes_other => made::<f32, u32, _>(&recipe, Sum),
            Some(Dtype::F32) => made::<f32, f32, _>(&recipe, Sum),
            _ => made::<u32, u32, _>(&recipe, LastOther { nothing: 1 }),
        });
    }
    translate_all(&all);
}

/// Selections of every kind, by each way in which chunks learn what comes before them.
#[test]
fn selections_of_every_kind() {
    let mut translator = Translator::new();
    let ways = [
        Selecting::Selected,
        Selecting::Partitioned,
        Selecting::Counted,
        Selecting::Behind,
        Selecting::Last,
    ];
    for (number, recipe) in selections().iter().enumerate() {
        let signature = upsweep_gpu::select::signature(recipe, 1 << 20, Language::Wgsl);
        let types = Types::of_made(recipe, &signature).expect("it has a text");
        for (turn, device) in DEVICES.into_iter().enumerate() {
            let facts = facts(device);
            let way = match recipe.condition {
                // Beside keys there is no place for lengths.
                Some(Condition::Begins(..)) if turn % 2 == 0 && recipe.arrays.len() == 1 => {
                    Selecting::Runs { long: turn % 4 == 0 }
                }
                _ => ways[(number + turn) % ways.len()],
            };
            let (form, types) = (Form::of_selection(way), types.clone().selecting(way));
            let strategy = scan::policy::strategy(&facts);
            let made = scan_kernels(
                &mut translator,
                &facts,
                &types,
                strategy,
                (form, false),
                (true, true),
                None,
            );
            made.unwrap_or_else(|error| panic!("{types:?}: {error}"));
        }
    }
    translator.translate(1);
    // How many there are is a sum.
    let sums =
        selections().into_iter().map(|recipe| made::<u64, u64, _>(&recipe.indicator().0, Sum));
    translate_all(&sums.collect::<Vec<_>>());
}
