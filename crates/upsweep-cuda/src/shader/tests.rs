//! Every header compiles, for old and new architectures, needs no memory besides registers, and, where there is a GPU,
//! computes what the host does.

use std::sync::Arc;

use upsweep_core::{
    BitAnd, BitOr, BitXor, Element, Extreme, Language, Max, Min, Number, Operator, Product, Source,
    Sum, Widen, bf16, f16,
};

use upsweep_testing::rotation;

use super::on_device::{run, run_position};
use super::types::access;
use super::*;
use crate::launch::Kernel;
use crate::{Gpu, testing};

/// An operator of a caller's.
#[derive(Clone, Copy, Default)]
struct Last;

impl<A: Element> Operator<A> for Last {
    const NAME: &'static str = "last";
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> A {
        A::from_bytes(&[0; 8][..size_of::<A>()]).expect("a number")
    }

    fn combine(&self, _left: A, right: A) -> A {
        right
    }

    fn source(&self, language: Language) -> Option<Source> {
        let text = |text: &'static str| text.into();
        (language == Language::Cuda)
            .then(|| Source { combine: text("return right;"), ..Source::default() })
    }
}

/// Types, and what compares the kernel's results with the host's.
struct Case {
    types: Types,
    run: fn(&Arc<Gpu>, &Types, &Kernel, (u32, u32)),
}

/// A reduction of `T` as `A`, or a scan of `T` to `U`.
fn case<T, A, U, O>(cases: &mut Vec<Case>)
where
    T: Number + Widen<A>,
    A: Element,
    U: Element<Acc = A>,
    O: Operator<A> + Default,
{
    let types = Types::of(&testing::signature::<T, A, U, O>(&O::default())).expect("it has a text");
    cases.push(Case { types, run: run::<T, A, U, O> });
}

/// The cases of every operator that all numbers have.
fn of_numbers<T, A>(cases: &mut Vec<Case>)
where
    T: Number + Widen<A>,
    A: Element<Acc = A>,
    Sum: Operator<A>,
    Product: Operator<A>,
    Min: Operator<A>,
    Max: Operator<A>,
{
    case::<T, A, A, Sum>(cases);
    case::<T, A, A, Product>(cases);
    case::<T, A, A, Min>(cases);
    case::<T, A, A, Max>(cases);
    case::<T, A, A, Last>(cases);
}

/// As [`of_numbers`], for the operators that only integers have.
fn of_integers<T, A>(cases: &mut Vec<Case>)
where
    T: Number + Widen<A>,
    A: Element<Acc = A>,
    BitAnd: Operator<A>,
    BitOr: Operator<A>,
    BitXor: Operator<A>,
{
    case::<T, A, A, BitAnd>(cases);
    case::<T, A, A, BitOr>(cases);
    case::<T, A, A, BitXor>(cases);
}

/// The cases of positions.
fn of_positions<T: Number>(cases: &mut Vec<Case>) {
    for extreme in [Extreme::Smallest, Extreme::Largest] {
        let types = Types::of_position(T::DTYPE, extreme);
        cases.push(Case { types, run: run_position::<T> });
    }
}

/// All kinds of kernels that there are.
fn all() -> Vec<Case> {
    let mut all = Vec::new();
    macro_rules! numbers {
        ($($item:ident => $($acc:ident)*;)*) => { $(
            $(of_numbers::<$item, $acc>(&mut all);)*
            of_positions::<$item>(&mut all);
        )* };
    }
    macro_rules! integers {
        ($($item:ident => $($acc:ident)*;)*) => { $($(
            of_integers::<$item, $acc>(&mut all);
        )*)* };
    }
    numbers! {
        u8 => u8 u16 u32 u64 i16 i32 i64 f32 f64;
        i8 => i8 i16 i32 i64 f32 f64;
        u16 => u16 u32 u64 i32 i64 f32 f64;
        i16 => i16 i32 i64 f32 f64;
        u32 => u32 u64 i64 f64;
        i32 => i32 i64 f64;
        u64 => u64 f64;
        i64 => i64 f64;
        f16 => f32 f64;
        bf16 => f32 f64;
        f32 => f32 f64;
        f64 => f64;
    }
    integers! {
        u8 => u8 u64;
        i8 => i8 i64;
        u16 => u16 u64;
        i16 => i16 i64;
        u32 => u32 u64;
        i32 => i32 i64;
        u64 => u64;
        i64 => i64;
    }
    // What is rounded when it is written.
    case::<f16, f32, f16, Sum>(&mut all);
    case::<f16, f32, f16, Min>(&mut all);
    case::<bf16, f32, bf16, Product>(&mut all);
    case::<bf16, f32, bf16, Max>(&mut all);
    case::<f32, f32, f16, Sum>(&mut all);
    case::<f32, f32, bf16, Sum>(&mut all);
    all
}

/// The widths of accesses that hold an item.
fn widths(kind: Kind) -> Vec<u32> {
    [1, 2, 4, 8, 16].into_iter().filter(|&width| access(kind, width).is_some()).collect()
}

/// A kernel that uses every function of a header, as `entry` in a namespace of its own.
fn kernel(types: &Types, (width, out_width): (u32, u32), entry: &str) -> String {
    let shader = Shader {
        types: types.clone(),
        width,
        out_width,
        constants: vec![("SMALL", 7), ("LARGE", 7 << 40)],
        parts: vec![include_str!("tests.cuh")],
        entries: vec![],
    };
    let mut text = shader.header() + &include_str!("tests.cuh").replace("KERNEL", entry);
    if !matches!(types.held(), Held::Position(_)) {
        text += "    OutItems items;\n\
                 \x20   for (u32 k = 0; k < OUT_ACCESS_ITEMS; ++k) items.at[k] = stored(acc);\n\
                 \x20   static_cast<OutAccess*>(output)[lane] = pack(items);\n\
                 \x20   static_cast<OutMemory*>(output_one)[lane] = pack_one(stored(acc));\n";
    }
    if types.op.atomic(types.held()).is_some() {
        text += "    if (lane == 0) {\n\
                 \x20       acc = combine(acc, unordered(add_to_total(static_cast<Total*>(total), acc)));\n    }\n";
    }
    text += "    static_assert(SMALL == 7u && LARGE == 7ull << 40, \"constants are as they were given\");\n\
             \x20   static_assert(RESULT_WORDS == 2u, \"a number has its bits in two words\");\n\
             \x20   const ResultWords words_of_result = result_words(acc);\n\
             \x20   results[lane] = words_of_result.at[0] | u64(words_of_result.at[1]) << 32;\n}\n";
    format!("namespace of_{entry} {{\n{text}}}\n")
}

/// Compiles kernels and looks at what they need.
fn compile(kernels: &[String], arch: u32) {
    let Some(compiler) = testing::compiler() else { return };
    let text = include_str!("names.cuh").to_owned() + &kernels.concat();
    let compiled = compiler.compile(&text, arch, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(!compiled.log.contains("warning"), "{}", compiled.log);
    let usage = compiled.usage();
    assert_eq!(usage.len(), kernels.len());
    for usage in usage {
        assert_eq!((usage.stack_bytes, usage.spill_bytes), (0, 0), "{usage:?} on sm_{arch}");
        assert!((1..=128).contains(&usage.registers), "{usage:?} on sm_{arch}");
    }
}

/// An old architecture, the one that measurements are made on, and the newest that the compiler knows.
fn archs() -> Vec<u32> {
    let Some(compiler) = testing::compiler() else { return Vec::new() };
    let newest = compiler.archs().expect("a list").pop().expect("it compiles for something");
    vec![80, 90, newest]
}

/// All kernels, each with accesses of one of the widths that it may have.
fn kernels() -> Vec<(Case, (u32, u32), String)> {
    let kernels = all().into_iter().enumerate().map(|(number, case)| {
        let pick = |kind| {
            let widths = widths(kind);
            widths[number % widths.len()]
        };
        let widths = (pick(case.types.item), pick(case.types.output));
        let text = kernel(&case.types, widths, &format!("k{number}"));
        (case, widths, text)
    });
    kernels.collect()
}

/// Each for one of the architectures, with each seed the next.
#[test]
fn every_type_and_operator_compiles() {
    let kernels: Vec<String> = kernels().into_iter().map(|(_, _, text)| text).collect();
    assert!(kernels.len() > 200);
    let archs = archs();
    let cells: Vec<_> = (0..kernels.len() * archs.len()).map(|cell| [cell / archs.len()]).collect();
    let chosen = rotation::chosen(&cells, archs.len());
    for (number, &arch) in archs.iter().enumerate() {
        let own = chosen.iter().filter(|&cell| cell % archs.len() == number);
        let texts: Vec<String> = own.map(|cell| kernels[cell / archs.len()].clone()).collect();
        assert!(!texts.is_empty(), "nothing for sm_{arch}");
        compile(&texts, arch);
    }
}

#[test]
fn every_type_and_operator_computes_what_the_host_does() {
    let Some(gpu) = testing::gpu() else { return };
    let kernels = kernels();
    let text: String = kernels.iter().map(|(_, _, text)| text.as_str()).collect();
    let name = |number| -> &'static str { format!("k{number}").leak() };
    let entries: Vec<&'static str> = (0..kernels.len()).map(name).collect();
    let module = gpu.load(&(include_str!("names.cuh").to_owned() + &text), &entries);
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    for (entry, (case, widths, _)) in entries.iter().zip(&kernels) {
        let kernel = module.kernel(entry).expect("it has this entry point");
        (case.run)(&gpu, &case.types, &kernel, *widths);
    }
}

#[test]
fn every_width_of_accesses_compiles() {
    let (mut kernels, mut levels) = (Vec::new(), Vec::new());
    let sums = all().into_iter().map(|case| case.types).filter(|types| types.op == Op::Sum);
    for types in sums.filter(|types| types.item.size() >= types.acc.size() / 2) {
        for width in widths(types.item) {
            for out_width in widths(types.output) {
                kernels.push(kernel(&types, (width, out_width), &format!("k{}", kernels.len())));
                levels.push([
                    format!("{:?} by {width} bytes", types.item),
                    format!("{:?} in {:?}", types.output, types.acc),
                    format!("{out_width} bytes of {}", types.output.size()),
                ]);
            }
        }
    }
    let chosen = rotation::chosen(&levels, 4);
    let kernels: Vec<String> = chosen.into_iter().map(|cell| kernels[cell].clone()).collect();
    compile(&kernels, 90);
}

#[test]
fn a_header_follows_from_its_types_alone() {
    let types = Types::of(&testing::signature::<f16, f32, f16, _>(&Min)).expect("they have a text");
    let shader = Shader {
        types,
        width: 16,
        out_width: 4,
        constants: vec![("THREADS", 256)],
        parts: vec!["// the part\n"],
        entries: vec!["reduce"],
    };
    let text = shader.text();
    assert_eq!(text, shader.clone().text());
    for line in [
        "constexpr u32 THREADS = 256u;",
        "using Item = f32;",
        "using Access = uint4;",
        "constexpr u32 ACCESS_ITEMS = 8u;",
        "constexpr u32 OUT_ACCESS_ITEMS = 2u;",
        "// the part",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
    }
}
