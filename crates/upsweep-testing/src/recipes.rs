//! Recipes for kernels, of every kind of part.

use upsweep_core::{
    Apply, Condition, Derivation, Derived, DeviceLength, DeviceLengths, Dtype, Element, Formula,
    Index, Kind, Quotient, Recipe,
};

use crate::{Above, Stretch, Wide, is_behind, is_near, product};

/// Recipes of what lies elsewhere or nowhere, and of functions with fields; the last one is of what a scan writes.
#[must_use]
pub fn recipes() -> Vec<Recipe> {
    let [float, integer] = [Kind::Number(Dtype::F32), Kind::Number(Dtype::U32)];
    let long = Kind::Number(Dtype::U64);
    let above = Above { threshold: 0.0 }.function();
    let line = |first| Index::Line { of: Box::new(Index::Own), first, step: first + 1 };
    let anywhere = |array, index, last| Formula::Anywhere { array, index: Box::new(index), last };
    let of = |item, arrays: &[Kind], anywhere: &[Kind], parameters: &[Kind], formula| Recipe {
        anywhere: anywhere.to_vec(),
        parameters: parameters.to_vec(),
        ..Recipe::of_arrays(item, arrays.to_vec(), formula)
    };
    let with_field = |of| Formula::Call(above, vec![Formula::Value(0), of]);
    let counted = Formula::Counted(Dtype::U32, 0, Box::new(Index::Own));
    let turned = anywhere(0, line(0), 2);
    let turned_alone = turned.clone();
    let beside = Formula::Call(product {}.function(), vec![Formula::Item(0), turned.clone()]);
    let found = Index::Gathered(Box::new(Formula::Item(0)), Dtype::U32, 0);
    let mixed = Index::Gathered(Box::new(counted.clone()), Dtype::U32, 1);
    let written = Some(with_field(Formula::Prefix));
    let plain = of(float, &[float], &[], &[Above::KIND], Formula::Item(0));
    let gathered = anywhere(0, found.clone(), 1);
    let of_length = |items: Option<Quotient>, recipe: Recipe, derived: Vec<Derived>| {
        let all = vec![DeviceLength { bound: 3, is_gathered: items.is_none() }];
        Recipe { lengths: DeviceLengths { all, items, derived }, ..recipe }
    };
    let derived = |parameter, derivation| {
        let quotient = Quotient { length: 0, divisor: 4 };
        Derived { parameter, quotient, derivation }
    };
    let from_end = vec![
        derived(0, Derivation::Term { coefficient: 5 }),
        derived(0, Derivation::Term { coefficient: 5 }),
        derived(2, Derivation::Last),
    ];
    let among = vec![derived(0, Derivation::Last), derived(1, Derivation::Last)];
    vec![
        of(integer, &[float], &[], &[Above::KIND], with_field(Formula::Item(0))),
        of(integer, &[], &[], &[integer], counted),
        of(float, &[], &[float], &[long; 3], turned),
        of(float, &[float], &[float], &[long; 3], beside),
        of(float, &[integer], &[float], &[long; 2], anywhere(0, found, 1)),
        of(float, &[], &[float], &[integer, long, long], anywhere(0, mixed, 2)),
        of(float, &[], &[], &[float], Formula::Value(0)),
        of_length(
            Some(Quotient { length: 0, divisor: 4 }),
            of(float, &[], &[float], &[long; 6], turned_alone),
            from_end,
        ),
        of_length(None, of(float, &[integer], &[float], &[long; 5], gathered), among),
        Recipe { written, ..plain },
    ]
}

/// Recipes of items of which some are selected: of every size, by flags, by a predicate and as the first of each run, in an
/// array or behind another, and of their numbers; those of a part of three; all; and all of what lies elsewhere.
#[must_use]
pub fn selections() -> Vec<Recipe> {
    let number = |dtype: Dtype| Kind::Number(dtype);
    let by_flags = |item: Kind, flags: Dtype| Recipe {
        condition: Some(Condition::IsSet(1)),
        ..Recipe::of_arrays(item, vec![item, number(flags)], Formula::Item(0))
    };
    let near = |of: Formula| Condition::Holds(Formula::Call(is_near {}.function(), vec![of]));
    let line = Index::Line { of: Box::new(Index::Own), first: 0, step: 1 };
    let every_so_many = Formula::Anywhere { array: 0, index: Box::new(line), last: 2 };
    let every_so_many_of = |condition| Recipe {
        anywhere: vec![Wide::KIND],
        parameters: vec![number(Dtype::U64); 3],
        condition: Some(condition),
        ..Recipe::of_arrays(Wide::KIND, Vec::new(), every_so_many.clone())
    };
    // The first of all goes on with a run.
    let begins_behind = |kind: Kind| {
        let all = Recipe::of_runs(kind);
        let numbers = Formula::Counted(Dtype::U32, 3, Box::new(Index::Own));
        let behind = Condition::Holds(Formula::Call(is_behind {}.function(), vec![numbers]));
        let condition =
            all.condition.map(|begins| Condition::Both(Box::new(begins), Box::new(behind)));
        let parameters = [&all.parameters[..], &[number(Dtype::U32)]].concat();
        Recipe { condition, parameters, ..all }
    };
    // By two arrays of flags, of which the second says nothing where the first is set.
    let in_part = |part: usize, item: Kind| Recipe {
        condition: Some(Condition::IsSet(1).in_three(Condition::IsSet(2))[part].clone()),
        ..Recipe::of_arrays(
            item,
            vec![item, number(Dtype::U8), number(Dtype::U16)],
            Formula::Item(0),
        )
    };
    let beside = number(Dtype::U32);
    let by_key = |key: Kind| Recipe {
        item: beside,
        arrays: vec![key, beside],
        formula: Formula::Item(1),
        ..Recipe::of_runs(key)
    };
    let float = number(Dtype::F32);
    let products = Formula::Call(product {}.function(), vec![Formula::Item(0), Formula::Item(1)]);
    let counted = Formula::Counted(Dtype::U32, 0, Box::new(Index::Own));
    vec![
        by_flags(number(Dtype::U32), Dtype::U8),
        by_flags(number(Dtype::U64), Dtype::U16),
        by_flags(number(Dtype::U8), Dtype::U8),
        by_flags(Stretch::KIND, Dtype::U32),
        by_flags(Wide::KIND, Dtype::U64),
        Recipe {
            condition: Some(near(Formula::Item(0))),
            ..Recipe::of_arrays(float, vec![float], Formula::Item(0))
        },
        Recipe {
            condition: Some(near(products.clone())),
            ..Recipe::of_arrays(float, vec![float; 2], products)
        },
        Recipe {
            condition: Some(Condition::IsSet(0)),
            parameters: vec![number(Dtype::U32)],
            ..Recipe::of_arrays(number(Dtype::U32), vec![number(Dtype::U16)], counted)
        },
        Recipe::of_runs(number(Dtype::U8)),
        Recipe::of_runs(number(Dtype::U32)),
        Recipe::of_runs(Wide::KIND),
        begins_behind(number(Dtype::U8)),
        begins_behind(number(Dtype::U32)),
        begins_behind(Wide::KIND),
        by_key(number(Dtype::U64)),
        by_key(Stretch::KIND),
        in_part(1, number(Dtype::U32)),
        in_part(2, Wide::KIND),
        Recipe {
            condition: Some(near(Formula::Item(0)).in_three(near(Formula::Item(0)))[1].clone()),
            ..Recipe::of_arrays(float, vec![float], Formula::Item(0))
        },
        Recipe {
            condition: Some(Condition::All),
            ..Recipe::of_arrays(number(Dtype::U16), vec![number(Dtype::U16)], Formula::Item(0))
        },
        Recipe {
            lengths: DeviceLengths {
                all: vec![DeviceLength { bound: 3, is_gathered: false }],
                items: Some(Quotient { length: 0, divisor: 4 }),
                derived: vec![Derived {
                    parameter: 2,
                    quotient: Quotient { length: 0, divisor: 4 },
                    derivation: Derivation::Last,
                }],
            },
            parameters: vec![number(Dtype::U64); 5],
            ..every_so_many_of(Condition::All)
        },
        every_so_many_of(Condition::All),
    ]
}
