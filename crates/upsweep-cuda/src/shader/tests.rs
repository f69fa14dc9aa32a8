//! Every header compiles, for old and new architectures, and needs no memory besides registers.

use upsweep_core::{
    BitAnd, BitOr, BitXor, Element, Extreme, Language, Max, Min, Number, Operator, Product, Source,
    Sum, Widen, bf16, f16,
};

use super::*;
use crate::testing;

/// An operator of a caller's.
#[derive(Clone, Copy)]
struct Last;

impl<A: Element> Operator<A> for Last {
    const NAME: &'static str = "last";
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> A {
        crate::bits::from_words([0; 2]).expect("a number")
    }

    fn combine(&self, _left: A, right: A) -> A {
        right
    }

    fn source(&self, language: Language) -> Option<Source> {
        let text = |text: &'static str| text.into();
        (language == Language::Cuda).then(|| Source {
            combine: text("return right;"),
            identity: text("0"),
            padding: text("0"),
        })
    }
}

/// Types of a reduction of `T` as `A`, and of scans of `T` to itself and to `A`.
fn add<T, A>(all: &mut Vec<Types>)
where
    T: Number + Widen<A>,
    A: Element,
    Sum: Operator<A>,
    Product: Operator<A>,
    Min: Operator<A>,
    Max: Operator<A>,
    Last: Operator<A>,
{
    all.extend(Types::of::<T, A, A, _>(&Sum));
    all.extend(Types::of::<T, A, T, _>(&Product));
    all.extend(Types::of::<T, A, A, _>(&Min));
    all.extend(Types::of::<T, A, T, _>(&Max));
    all.extend(Types::of::<T, A, A, _>(&Last));
}

/// As [`add`], for what only integers have.
fn add_bits<T, A>(all: &mut Vec<Types>)
where
    T: Number + Widen<A>,
    A: Element,
    BitAnd: Operator<A>,
    BitOr: Operator<A>,
    BitXor: Operator<A>,
{
    all.extend(Types::of::<T, A, A, _>(&BitAnd));
    all.extend(Types::of::<T, A, T, _>(&BitOr));
    all.extend(Types::of::<T, A, A, _>(&BitXor));
}

/// All types of kernels that there are, each once.
fn all() -> Vec<Types> {
    let mut all = Vec::new();
    macro_rules! numbers {
        ($($item:ident => $($acc:ident)*;)*) => { $($(
            add::<$item, $acc>(&mut all);
        )*)* };
    }
    macro_rules! integers {
        ($($item:ident => $($acc:ident)*;)*) => { $($(
            add_bits::<$item, $acc>(&mut all);
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
    for extreme in [Extreme::Smallest, Extreme::Largest] {
        all.extend(Dtype::ALL.map(|item| Types::of_position(item, extreme)));
    }
    all
}

/// The widths of accesses that hold an item.
fn widths(dtype: Dtype) -> Vec<u32> {
    [1, 2, 4, 8, 16].into_iter().filter(|&width| access(dtype, width).is_some()).collect()
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
        text +=
            "    acc = combine(acc, unordered(add_to_total(static_cast<Total*>(total), acc)));\n";
    }
    text += "    static_assert(SMALL == 7u && LARGE == 7ull << 40, \"constants are as they were given\");\n\
             \x20   static_assert(sizeof(Result) <= 8, \"a result has its bits in a word of 64\");\n\
             \x20   results[lane] = result_bits(acc);\n}\n";
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

#[test]
fn every_type_and_operator_compiles() {
    let kernels: Vec<String> = (0..)
        .zip(all())
        .map(|(number, types): (usize, _)| {
            let pick = |dtype| {
                let widths = widths(dtype);
                widths[number % widths.len()]
            };
            kernel(&types, (pick(types.item), pick(types.output)), &format!("k{number}"))
        })
        .collect();
    assert!(kernels.len() > 200);
    for arch in archs() {
        compile(&kernels, arch);
    }
}

#[test]
fn every_width_of_accesses_compiles() {
    let mut kernels = Vec::new();
    for types in all()
        .into_iter()
        .filter(|types| types.op == Op::Sum && types.item.size() >= types.acc.size() / 2)
    {
        for width in widths(types.item) {
            for out_width in widths(types.output) {
                kernels.push(kernel(&types, (width, out_width), &format!("k{}", kernels.len())));
            }
        }
    }
    compile(&kernels, 90);
}

#[test]
fn a_header_follows_from_its_types_alone() {
    let types = Types::of::<f16, f32, f16, _>(&Min).expect("they have a text");
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
