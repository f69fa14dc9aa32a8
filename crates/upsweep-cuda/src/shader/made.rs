//! Items that are made as they are read, in CUDA C++.

use core::fmt::Write;

use upsweep_core::{Dtype, Kind, Recipe, Terms};
use upsweep_gpu::Made;
use upsweep_gpu::layout::{is_whole, of_memory, unpack_as};

use super::types::{access, in_memory};
use super::{Beside, CudaCpp, Scalar};
use crate::slice::Slice;

/// How many items are read at once: as many of the longest as an access has, if all arrays begin where such accesses may.
pub(crate) fn items_at_once(made: &Made, inputs: &[Slice<'_>]) -> u32 {
    let most = made.recipe.items_of_access();
    let begins = |slice: &Slice<'_>| {
        let bytes = u64::from(most) * slice.kind().size() as u64;
        is_whole(slice.kind()) || slice.pointer().is_multiple_of(bytes.min(16))
    };
    if inputs.iter().all(begins) { most } else { 1 }
}

/// How items are read, so many at once of each array; and one. `fields` stand beside the arrays, and are `kept` as they are.
pub(crate) fn text(made: &Made, items: u32, Beside { fields, kept }: &Beside) -> String {
    let Recipe { arrays, anywhere, formula, .. } = &made.recipe;
    let (is_numbered, words) = (made.recipe.is_numbered(), made.recipe.words());
    let in_order: Vec<(usize, Kind)> = arrays.iter().copied().enumerate().collect();
    let others: Vec<(usize, Kind)> = anywhere.iter().copied().enumerate().collect();
    let given = if words > 0 { "Given given; " } else { "" };
    let wide =
        |kind: Kind| access(kind, items * kind.size() as u32).map_or("u32", |(name, _)| name);

    // What a launch is handed, and what of it is so many items further on.
    let mut handed: Vec<(String, String)> = Vec::new();
    for (k, kind) in &in_order {
        let of = in_memory(*kind);
        handed.push((format!("const {of}* in{k}; "), format!("inputs.in{k} + items")));
    }
    for (k, kind) in &others {
        handed.push((format!("const {}* any{k}; ", in_memory(*kind)), format!("inputs.any{k}")));
    }
    if is_numbered {
        handed.push(("u64 first; ".to_owned(), "inputs.first + items".to_owned()));
    }
    let moved: Vec<&str> = handed.iter().map(|(_, moved)| &**moved).collect();
    let inputs: String = handed.iter().map(|(declared, _)| &**declared).collect();

    // What is read of so many items at once; `each` says as what of each array.
    let read = |items: u32, each: &dyn Fn(Kind) -> String| -> String {
        let mut read: String =
            in_order.iter().map(|(k, kind)| format!("{} in{k}; ", each(*kind))).collect();
        read += if is_numbered { "u64 at; " } else { "" };
        let others = others.iter();
        read.extend(others.map(|(k, of)| format!("{} any{k}[{items}]; ", in_memory(*of))));
        read + given
    };
    let is_plain = others.is_empty() && !is_numbered && words == 0;
    // How it is read: each array in order as said, from the item of this number on.
    let fetched = |of: &str, items: u32, number: &str, each: &dyn Fn(usize, Kind) -> String| {
        let from: Vec<String> = in_order.iter().map(|(k, kind)| each(*k, *kind)).collect();
        if is_plain {
            return format!("return {of}{{{}}};", from.join(", "));
        }
        let mut lines = format!("{of} made;\n");
        for (k, from) in from.iter().enumerate() {
            let _ = writeln!(lines, "    made.in{k} = {from};");
        }
        if is_numbered {
            let _ = writeln!(lines, "    made.at = inputs.first + {number};");
        }
        lines += if words > 0 { "    made.given = inputs.given;\n" } else { "" };
        for ((k, _), (index, last)) in others.iter().zip(made.recipe.indices()) {
            for v in 0..items as usize {
                let terms = OfItem { made, of: "made", items, v };
                let index = index.text(true, &made.functions, &terms);
                let last = terms.index(last, true);
                let _ = writeln!(
                    lines,
                    "    made.any{k}[{v}] = inputs.any{k}[min(u64({index}), {last})];"
                );
            }
        }
        lines + "    return made;"
    };
    let unpacked = (0..items as usize)
        .map(|v| formula.text(&made.functions, &OfItem { made, of: "access", items, v }));
    let one = OfItem { made, of: "item", items: 1, v: 0 };
    let at_once = fetched("Access", items, "item + u64(access) * ACCESS_ITEMS", &|k, kind| {
        format!("((const {}*)(inputs.in{k} + item))[access]", wide(kind))
    });
    let once = fetched("Access", items, "item + u64(access) * ACCESS_ITEMS", &|k, kind| {
        format!("read((const {}*)(inputs.in{k} + item) + access)", wide(kind))
    });
    let fetched_one = fetched("InMemory", 1, "item", &|k, _| format!("inputs.in{k}[item]"));
    format!(
        "struct Access {{ {accesses} }};\n\
         struct InMemory {{ {memories} }};\n\
         constexpr u32 ACCESS_ITEMS = {items}u;\n\
         struct Items {{ Item at[ACCESS_ITEMS]; }};\n\
         inline Items unpack(const Access& access) {{ return Items{{{{{unpacked}}}}}; }}\n\
         inline Item unpack_one(const InMemory& item) {{ return {one}; }}\n\
         struct Inputs {{ {inputs}{fields}}};\n\
         inline Inputs at(const Inputs& inputs, u64 items) {{ return Inputs{{{moved}}}; }}\n\
         inline const InMemory* first_of(const Inputs& inputs) {{ return (const InMemory*){first}; }}\n\
         template <typename Offset> inline Access fetch(const Inputs& inputs, Offset item, u32 access) {{\n\
         \x20   {at_once}\n}}\n\
         inline Access fetch_once(const Inputs& inputs, u32 item, u32 access) {{\n\
         \x20   {once}\n}}\n\
         template <typename Offset> inline InMemory fetch_one(const Inputs& inputs, Offset item) {{\n\
         \x20   {fetched_one}\n}}\n",
        accesses = read(items, &|kind| wide(kind).to_owned()),
        memories = read(1, &|kind| in_memory(kind).to_owned()),
        unpacked = unpacked.collect::<Vec<_>>().join(", "),
        one = formula.text(&made.functions, &one),
        moved = [&moved[..], kept].concat().join(", "),
        first = if in_order.is_empty() { "nullptr" } else { "inputs.in0" },
    )
}

/// An expression for what is written of a value `acc`, if it is not the value.
pub(crate) fn written(made: &Made) -> Option<String> {
    let written = made.recipe.written.as_ref()?;
    let terms = OfItem { made, of: "", items: 1, v: 0 };
    Some(written.text(&made.functions, &terms))
}

/// An item of an access, or what is written.
struct OfItem<'a> {
    made: &'a Made,
    /// The name of the access; of none, words are where functions of the device see them.
    of: &'a str,
    /// Items of the access.
    items: u32,
    /// Which one of it.
    v: usize,
}

impl OfItem<'_> {
    /// The words of a parameter.
    fn words(&self, parameter: usize) -> Vec<String> {
        let recipe = &self.made.recipe;
        let [begin, end] = [parameter, parameter + 1].map(|k| recipe.word_of(k));
        let word = |word| match self.of {
            "" => super::taken(word),
            of => format!("{of}.given.at[{word}]"),
        };
        (begin..end).map(word).collect()
    }
}

impl Terms for OfItem<'_> {
    fn item(&self, array: usize, structure: &str) -> String {
        let kind = self.made.recipe.arrays[array];
        let width = self.items * kind.size() as u32;
        unpack_as::<CudaCpp>(kind, width, &format!("{}.in{array}", self.of), structure)[self.v]
            .clone()
    }

    fn anywhere(&self, array: usize, structure: &str) -> String {
        let kind = self.made.recipe.anywhere[array];
        let from = format!("{}.any{array}[{}]", self.of, self.v);
        unpack_as::<CudaCpp>(kind, kind.size() as u32, &from, structure).concat()
    }

    fn value(&self, parameter: usize, structure: &str) -> String {
        of_memory::<CudaCpp>(
            self.made.recipe.parameters[parameter],
            &self.words(parameter),
            structure,
        )
    }

    fn prefix(&self) -> String {
        "leave(acc)".to_owned()
    }

    fn number(&self, _: bool) -> String {
        format!("({}.at + {})", self.of, self.v)
    }

    fn index(&self, parameter: usize, _: bool) -> String {
        Scalar::U64.of_words::<CudaCpp>(&self.words(parameter))
    }

    fn within(&self, value: &str, _: Dtype, last: usize, _: bool) -> String {
        format!("min(u64({value}), {})", self.index(last, true))
    }

    fn counted(&self, of: Dtype, start: usize, number: &str) -> String {
        let words = self.words(start);
        let sum = match &words[..] {
            [one] => format!("{one} + u32({number})"),
            words => format!("{} + {number}", Scalar::U64.of_words::<CudaCpp>(words)),
        };
        format!("{}({sum})", Scalar::of(of).name())
    }
}
