//! Items that are made as they are read, in CUDA C++.

use core::fmt::Write;

use upsweep_core::summation::GROUP;
use upsweep_core::{Derivation, Derived, Dtype, Kind, Quotient, Recipe, Terms};
use upsweep_gpu::FusedInput;
use upsweep_gpu::layout::{bits_of_items, is_whole, of_memory, unpack_as};

use super::items::ExtraInputs;
use super::types::{access, in_memory};
use super::{CudaCpp, Scalar};
use crate::slice::Slice;

/// Threads of a warp.
const WARP: u32 = 32;

/// How many items are read at once: as many of the longest as an access has, if all arrays begin where such accesses may.
pub(crate) fn items_at_once(made: &FusedInput, inputs: &[Slice<'_>]) -> u32 {
    let most = made.recipe.items_of_access();
    let begins = |slice: &Slice<'_>| {
        let bytes = u64::from(most) * slice.kind().size() as u64;
        is_whole(slice.kind()) || slice.pointer().is_multiple_of(bytes.min(16))
    };
    if inputs.iter().all(begins) { most } else { 1 }
}

/// How items are read, so many at once of each array; and one. `fields` stand beside the arrays, and are `passed_on` as they are.
pub(super) fn text(
    made: &FusedInput,
    items: u32,
    ExtraInputs { fields, passed_on }: &ExtraInputs,
) -> String {
    let [at_once, one] =
        [("Access", items), ("InMemory", 1)].map(|(name, items)| ItemReader { made, name, items });
    let number = "item + u64(access) * ACCESS_ITEMS";
    let wide =
        |kind: Kind| access(kind, items * kind.size() as u32).map_or("u32", |(name, _)| name);
    let ordered = |k, kind| format!("((const {}*)(inputs.in{k} + item))[access]", wide(kind));
    let fetch = at_once.fetch(number, ordered);
    let fetch_once = at_once.fetch(number, |k, kind| {
        format!("read((const {}*)(inputs.in{k} + item) + access)", wide(kind))
    });
    let fetch_one = one.fetch("item", |k, _| format!("inputs.in{k}[item]"));
    let fetch_compared = match made.compares() {
        true => at_once.fetch_compared(number, ordered),
        false => "return fetch(inputs, item, access);".to_owned(),
    };
    let staged = staged(made, passed_on);
    let (inputs, moved): (Vec<String>, Vec<String>) = inputs(made).into_iter().unzip();
    format!(
        "struct Access {{ {accesses} }};\n\
         struct InMemory {{ {memories} }};\n\
         constexpr u32 ACCESS_ITEMS = {items}u;\n\
         struct Items {{ Item at[ACCESS_ITEMS]; }};\n\
         inline Items unpack(const Access& access) {{ return Items{{{{{unpacked}}}}}; }}\n\
         inline Item unpack_one(const InMemory& item) {{ return {unpacked_one}; }}\n\
         struct Inputs {{ {inputs}{fields}}};\n\
         inline Inputs at(const Inputs& inputs, u64 items) {{ return Inputs{{{moved}}}; }}\n\
         {staged}\
         inline const StagedItem* first_of(const Inputs& inputs) {{ return (const StagedItem*){first}; }}\n\
         template <typename Offset> inline Access fetch(const Inputs& inputs, Offset item, u32 access) {{\n\
         \x20   {fetch}\n}}\n\
         template <typename Offset> inline Access fetch_compared(const Inputs& inputs, Offset item, u32 access) {{\n\
         \x20   {fetch_compared}\n}}\n\
         inline Access fetch_once(const Inputs& inputs, u32 item, u32 access) {{\n\
         \x20   {fetch_once}\n}}\n\
         template <typename Offset> inline InMemory fetch_one(const Inputs& inputs, Offset item) {{\n\
         \x20   {fetch_one}\n}}\n",
        accesses = at_once.fields(wide),
        memories = one.fields(in_memory),
        unpacked = at_once.unpacked("access"),
        unpacked_one = one.unpacked("item"),
        inputs = inputs.concat(),
        moved = [&moved[..], &passed_on[..]].concat().join(", "),
        first = if made.recipe.arrays.is_empty() { "nullptr" } else { "inputs.in0" },
    )
}

/// How items are read where a chunk of one array, or of two, is staged: of the second, `beside`, from a place of its own on.
fn staged(made: &FusedInput, passed_on: &[String]) -> String {
    let (kind, second) = match made.reads_in_order() {
        Some([kind]) => (kind, None),
        Some([kind, second]) => (kind, Some(in_memory(*second))),
        _ => return "using StagedItem = InMemory;\n".to_owned(),
    };
    let (beside, begin) = match second {
        None => ("0u".to_owned(), "nullptr"),
        Some(second) => (format!("u32(sizeof({second}))"), "(const u8*)inputs.in1"),
    };
    let second = second.map(|second| format!("(const {second}*)beside"));
    // What is in front of items is read where they are.
    let anywhere = made.compares().then(|| "inputs.any0".to_owned());
    let first = made.recipe.is_numbered().then(|| "inputs.first + first".to_owned());
    let passed_on = passed_on.iter().cloned();
    let all = core::iter::once("from".to_owned())
        .chain(second)
        .chain(anywhere)
        .chain(first)
        .chain(passed_on);
    format!(
        "using StagedItem = {};\n\
         constexpr u32 BESIDE = {beside};\n\
         inline const u8* beside_of(const Inputs& inputs) {{ return {begin}; }}\n\
         inline Inputs staged_at(const Inputs& inputs, const StagedItem* from, const u8* beside, u64 first) {{\n\
         \x20   return Inputs{{{}}};\n}}\n",
        in_memory(*kind),
        all.collect::<Vec<_>>().join(", ")
    )
}

/// What a launch is handed for items, and what of it is so many items further on.
fn inputs(made: &FusedInput) -> Vec<(String, String)> {
    let Recipe { arrays, anywhere, .. } = &made.recipe;
    let in_order = arrays.iter().enumerate().map(|(k, kind)| {
        (format!("const {}* in{k}; ", in_memory(*kind)), format!("inputs.in{k} + items"))
    });
    let anywhere = anywhere.iter().enumerate().map(|(k, kind)| {
        (format!("const {}* any{k}; ", in_memory(*kind)), format!("inputs.any{k}"))
    });
    let first = || ("u64 first; ".to_owned(), "inputs.first + items".to_owned());
    in_order.chain(anywhere).chain(made.recipe.is_numbered().then(first)).collect()
}

/// How so many items are read at once of each array, into a structure of this name.
struct ItemReader<'a> {
    made: &'a FusedInput,
    name: &'static str,
    items: u32,
}

impl ItemReader<'_> {
    /// The fields of the structure, given the types of accesses to arrays in order.
    fn fields(&self, access: impl Fn(Kind) -> &'static str) -> String {
        let Recipe { arrays, anywhere, .. } = &self.made.recipe;
        let in_order =
            arrays.iter().enumerate().map(|(k, kind)| format!("{} in{k}; ", access(*kind)));
        let mut fields: String = in_order.collect();
        fields += if self.made.recipe.is_numbered() { "u64 at; " } else { "" };
        fields.extend(
            anywhere
                .iter()
                .enumerate()
                .map(|(k, kind)| format!("{} any{k}[{}]; ", in_memory(*kind), self.items)),
        );
        fields += if self.made.recipe.words() > 0 { "Given given; " } else { "" };
        fields
    }

    /// Statements that return the structure: each array in order is read as said, from the item of this number on.
    fn fetch(&self, number: &str, each: impl Fn(usize, Kind) -> String) -> String {
        let mut anywhere = String::new();
        for (k, index, last) in self.made.recipe.indices() {
            for (v, terms) in self.terms("made").enumerate() {
                let index = index.text(true, &self.made.functions, &terms);
                let last = terms.index(last, true);
                let _ = writeln!(
                    anywhere,
                    "    made.any{k}[{v}] = inputs.any{k}[min(u64({index}), {last})];"
                );
            }
        }
        self.fetch_with(number, each, &anywhere)
    }

    /// The same where items are compared with those in front, and are in shared memory with them: of a group that is one access, its last item
    /// goes to the next lane, since the lanes would want few banks there.
    fn fetch_compared(&self, number: &str, each: impl Fn(usize, Kind) -> String) -> String {
        let Some(&kind) = self.made.recipe.arrays.first() else { return String::new() };
        let in_front = "(inputs.in0 + item + u64(access) * ACCESS_ITEMS)[-1]";
        let bits = self.terms("made").last().map(|terms| terms.item_bits(0));
        let anywhere = match bits.as_deref() {
            Some([last]) if self.items as usize == GROUP && kind.size() <= 4 => format!(
                "    const u32 last = __shfl_up_sync(ALL_LANES, u32({last}), 1);\n\
                 \x20   made.any0[0] = threadIdx.x % {WARP} == 0 ? {in_front} : {}(last);\n",
                in_memory(kind)
            ),
            _ => format!("    made.any0[0] = {in_front};\n"),
        };
        self.fetch_with(number, each, &anywhere)
    }

    /// The same, with statements that read what lies `anywhere`.
    fn fetch_with(
        &self,
        number: &str,
        each: impl Fn(usize, Kind) -> String,
        anywhere: &str,
    ) -> String {
        let (name, recipe) = (self.name, &self.made.recipe);
        let (is_numbered, is_given) = (recipe.is_numbered(), recipe.words() > 0);
        let from = recipe.arrays.iter().enumerate().map(|(k, kind)| each(k, *kind));
        let from: Vec<String> = from.collect();
        if recipe.anywhere.is_empty() && !is_numbered && !is_given {
            return format!("return {name}{{{}}};", from.join(", "));
        }
        let mut lines = format!("{name} made;\n");
        for (k, from) in from.iter().enumerate() {
            let _ = writeln!(lines, "    made.in{k} = {from};");
        }
        if is_numbered {
            let _ = writeln!(lines, "    made.at = inputs.first + {number};");
        }
        lines += if is_given { "    made.given = inputs.given;\n" } else { "" };
        lines += anywhere;
        lines + "    return made;"
    }

    /// Expressions for the items in the structure, which is a variable of this name.
    fn unpacked(&self, of: &str) -> String {
        let all: Vec<_> = self.terms(of).collect();
        let fronts = core::iter::once(None).chain(all.iter().map(Some));
        let items = all.iter().zip(fronts);
        let items = items.map(|(terms, front)| self.made.item_text::<CudaCpp, _>(terms, front));
        items.collect::<Vec<_>>().join(", ")
    }

    /// The items of a structure that is a variable of this name.
    fn terms<'b>(&'b self, of: &'b str) -> impl Iterator<Item = ItemTerms<'b>> {
        let Self { made, items, .. } = *self;
        (0..items as usize).map(move |v| ItemTerms { made, of, items, v })
    }
}

/// How kernels look how many items there are, where parameters follow from lengths; they are replaced in `inputs`. Statements of `none` say
/// that there is nothing to count.
pub(super) fn items_within(made: &FusedInput, none: &str) -> String {
    let lengths = &made.recipe.lengths;
    let words =
        |parameter| made.parameter_words(parameter, |word| format!("inputs.given.at[{word}]"));
    let number = |parameter| Scalar::U64.of_words::<CudaCpp>(&words(parameter));
    let quotient = |of: &Quotient| format!("ceil_div(own{}, {})", of.length, number(of.divisor));
    let mut text = String::new();
    for (k, length) in lengths.all.iter().enumerate() {
        let bound = number(length.bound);
        let _ = writeln!(
            text,
            "    const u64 own{k} = within_bound(inputs, *inputs.length{k}, {bound});"
        );
    }
    let items = match &lengths.items {
        Some(of) => format!("min(bound, {})", quotient(of)),
        None => "inputs.length ? within_bound(inputs, *inputs.length, bound) : bound".to_owned(),
    };
    let _ = writeln!(text, "    const u64 items = {items};");
    let _ = writeln!(
        text,
        "    if (items == 0 && blockIdx.x == 0 && threadIdx.x == 0) {{\n{none}    }}"
    );
    for (k, _) in lengths.all.iter().enumerate().filter(|(_, length)| length.is_gathered) {
        let _ = writeln!(text, "    find_some(inputs, own{k}, items);");
    }
    for (number_of, derived) in lengths.derived.iter().enumerate() {
        let Derived { parameter, quotient: of, derivation } = derived;
        let (own, of) = (number(*parameter), quotient(of));
        let value = match derivation {
            Derivation::Last => format!("min({own}, max({of}, 1ull) - 1)"),
            Derivation::Term { coefficient } => format!("{own} + {} * {of}", number(*coefficient)),
        };
        let _ = writeln!(text, "    const u64 derived{number_of} = {value};");
        for (word, shift) in words(*parameter).iter().zip([0, 32]) {
            let _ = writeln!(text, "    {word} = u32(derived{number_of} >> {shift});");
        }
    }
    format!("inline u64 items_within(Inputs& inputs, u64 bound) {{\n{text}    return items;\n}}\n")
}

/// An expression for what is written of a value `acc`, if it is not the value.
pub(super) fn written(made: &FusedInput) -> Option<String> {
    let written = made.recipe.written.as_ref()?;
    let terms = ItemTerms { made, of: "", items: 1, v: 0 };
    Some(written.text(&made.functions, &terms))
}

/// An item of an access, or what is written.
struct ItemTerms<'a> {
    made: &'a FusedInput,
    /// The name of the access; of none, words are where functions of the device see them.
    of: &'a str,
    /// Items of the access.
    items: u32,
    /// Which one of it.
    v: usize,
}

impl ItemTerms<'_> {
    /// The words of a parameter.
    fn words(&self, parameter: usize) -> Vec<String> {
        self.made.parameter_words(parameter, |word| match self.of {
            "" => super::taken(word),
            of => format!("{of}.given.at[{word}]"),
        })
    }
}

impl Terms for ItemTerms<'_> {
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

    fn item_bits(&self, array: usize) -> Vec<String> {
        let kind = self.made.recipe.arrays[array];
        let width = self.items * kind.size() as u32;
        bits_of_items::<CudaCpp>(kind, width, &format!("{}.in{array}", self.of))[self.v].clone()
    }

    fn anywhere_bits(&self, array: usize) -> Vec<String> {
        let kind = self.made.recipe.anywhere[array];
        let from = format!("{}.any{array}[{}]", self.of, self.v);
        bits_of_items::<CudaCpp>(kind, kind.size() as u32, &from).concat()
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
