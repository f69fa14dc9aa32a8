//! Shaders: a generated header in front of plain CUDA C++.
//!
//! The header says sizes, types and the operator; the `.cuh` files say what is done, in the order in which they are
//! listed, for C++ wants names before their use. All functions run on the device.

pub(crate) mod cut;
mod items;
pub(crate) mod made;
#[cfg(test)]
mod on_device;
pub(crate) mod operator;
pub(crate) mod syntax;
#[cfg(test)]
mod tests;
pub(crate) mod types;

use std::sync::Arc;

use upsweep_core::{Kind, Result};
use upsweep_gpu::bits::MOST_WORDS;
use upsweep_gpu::layout::words_stored;
use upsweep_gpu::{OperatorNames, Syntax};

use crate::device::Gpu;
use crate::memory::Buffer;

pub(crate) use cut::Cut;
pub(crate) use syntax::CudaCpp;
use types::{declared, in_memory, pack};
pub(crate) use upsweep_gpu::{FusedInput, Held, Op, Scalar};

/// The types of one kernel.
pub(crate) type Types = upsweep_gpu::Types<CudaCpp>;

/// Words that kernels are handed: behind the parameters come the operator's values, if it has fields.
fn given_words(types: &Types) -> usize {
    types.parameters() + types.values.count()
}

/// Words of a start value: two for a number, and a multiple of two.
pub(crate) fn init_words(types: &Types) -> u32 {
    match types.held() {
        Held::Structure(_) => types.held().words().next_multiple_of(2),
        _ => 2,
    }
}

/// Words that functions of the device ask for, which see no arguments of kernels.
fn taken_words(types: &Types) -> usize {
    let asks = types.writes_other() || types.values.count() > 0;
    if asks { given_words(types) } else { 0 }
}

/// Where they see them.
fn taken_declared(types: &Types) -> String {
    match taken_words(types) {
        0 => String::new(),
        words => format!("__shared__ u32 taken[{words}];\n"),
    }
}

/// What every kernel does first: it puts them there.
fn take_given(types: &Types) -> String {
    let words = taken_words(types);
    if words == 0 {
        return "inline void take_given(const Inputs&) {}\n".to_owned();
    }
    let put: String = (0..words)
        .map(|word| format!("        taken[{word}] = inputs.given.at[{word}];\n"))
        .collect();
    format!(
        "inline void take_given(const Inputs& inputs) {{\n\
         \x20   if (threadIdx.x == 0) {{\n{put}\x20   }}\n\
         \x20   __syncthreads();\n}}\n"
    )
}

/// What the threads of a warp do together.
pub(crate) const SUBGROUP: &str = include_str!("subgroup.cuh");

/// What workgroups tell others of the same launch.
pub(crate) const PUBLISHED: &str = include_str!("published.cuh");

/// Bytes of the state that workgroups share, with this many values published: `published.cuh`.
fn state_bytes(types: &Types, slots: u64) -> u64 {
    let total = 4 * u64::from(types.result_words().next_multiple_of(2));
    24 + total + 8 * u64::from(types.words()) * slots
}

/// Where in the state the total for atomics is, or what comes in behind a scan as it is stored.
pub(crate) const TOTAL: u64 = 16;

/// Where in the state the address is at which workgroups say that they have waited in vain.
const IN_VAIN: u64 = 8;

/// The state of a kernel that publishes this many values.
pub(crate) fn state(gpu: &Arc<Gpu>, types: &Types, slots: u64) -> Result<Arc<Buffer>> {
    let state = Buffer::zeros(gpu, state_bytes(types, slots))?;
    state.set_word(IN_VAIN, gpu.in_vain())?;
    Ok(Arc::new(state))
}

/// Named sizes of a kernel.
pub(crate) type Constants = Vec<(&'static str, u64)>;

/// Everything that makes one shader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shader {
    pub(crate) types: Types,
    /// Bytes of one access to the input, and to the output if there is one.
    pub(crate) width: u32,
    pub(crate) out_width: u32,
    pub(crate) constants: Constants,
    /// The texts behind the header, names before their use.
    pub(crate) parts: Vec<&'static str>,
    /// Entry points: functions of this name, declared `extern "C" __global__`.
    pub(crate) entries: Vec<&'static str>,
}

impl Shader {
    /// The shader as CUDA C++.
    pub(crate) fn text(&self) -> String {
        let mut text = include_str!("names.cuh").to_owned();
        text += &self.header();
        for part in &self.parts {
            text.push('\n');
            text += part;
        }
        text
    }

    /// What is generated, names of numbers apart.
    fn header(&self) -> String {
        let types = &self.types;
        let mut text = self.sizes();
        if let (Op::Custom(own), Kind::Struct { .. }) = (&types.op, types.acc) {
            text += &own.source.declarations;
        }
        text += types.made.as_ref().map_or("", FusedInput::declarations);
        text += &types.type_aliases();
        text += &declared(&self.kinds_in_memory());
        text += include_str!("rounding.cuh");
        text += &taken_declared(types);
        let of_values = types.operator_text(&OperatorNames::PLAIN);
        text += &match &types.cut {
            Some(cut) => cut.text(of_values),
            None => of_values,
        };
        text += &types.words_text();
        text += &self.shuffles();
        text += &result(types);
        text += &given(given_words(types));
        text += &self.input();
        text += &take_given(types);
        text += &self.output();
        text += &sized(types);
        let atomic = types.op.atomic(types.held()).filter(|_| types.cut.is_none());
        text + &atomic.map_or(String::new(), |function| types.total_text(function))
    }

    /// Named sizes.
    fn sizes(&self) -> String {
        let constant = |(name, value): &(&str, u64)| match u32::try_from(*value) {
            Ok(value) => CudaCpp::constant(name, value),
            Err(_) => format!("constexpr u64 {name} = {value}ull;\n"),
        };
        "\n".to_owned() + &self.constants.iter().map(constant).collect::<String>()
    }

    /// Of what all arrays are.
    fn kinds_in_memory(&self) -> Vec<Kind> {
        let Types { item, output, made, cut, .. } = &self.types;
        let recipes = made.iter().map(|made| &made.recipe);
        let arrays = recipes.flat_map(|recipe| recipe.arrays.iter().chain(&recipe.anywhere));
        let marks = cut.iter().map(|cut| &cut.kind);
        arrays.chain([item, output]).chain(marks).copied().collect()
    }

    /// How values go between the lanes of a warp.
    fn shuffles(&self) -> String {
        let shuffle = |(name, function): (&str, &str)| {
            let moved = |word: &str| format!("{function}(ALL_LANES, {word}, lane)");
            "/// All lanes of the warp call it.\n".to_owned() + &self.types.shuffle(name, moved)
        };
        let shuffles = [
            ("shuffled", "__shfl_sync"),
            ("shuffled_xor", "__shfl_xor_sync"),
            ("shuffled_up", "__shfl_up_sync"),
            ("shuffled_down", "__shfl_down_sync"),
        ];
        shuffles.into_iter().map(shuffle).collect()
    }
}

/// Whether only the device knows how many offsets there are.
fn counts_offsets(types: &Types) -> bool {
    types.cut.as_ref().is_some_and(|cut| cut.is_bounded)
}

/// Whether kernels look at a length in the device's memory, which may be above its bound.
pub(crate) fn tells_faults(types: &Types) -> bool {
    types.is_bounded || counts_offsets(types)
}

/// How kernels learn how many items and segments there are, and who has some.
fn sized(types: &Types) -> String {
    let (of_items, of_offsets) = (types.is_bounded, counts_offsets(types));
    let known =
        "template <typename Call> inline const Call& sized(const Call& call) { return call; }\n";
    if !tells_faults(types) {
        return include_str!("known_length.cuh").to_owned() + known;
    }
    let set = |is_set, text| if is_set { text } else { "" };
    format!(
        "constexpr u32 LENGTH_ABOVE_BOUND = {LENGTH_ABOVE_BOUND};\n{}{}{}\
         template <typename Call> inline Call sized(Call call) {{\n{}{}    return call;\n}}\n",
        include_str!("within_bound.cuh"),
        if of_items { sized_by_items(types) } else { include_str!("known_length.cuh").to_owned() },
        set(of_offsets, include_str!("device_offsets.cuh")),
        set(of_items, "    call.set_items(items_within(call.inputs, call.items));\n"),
        set(of_offsets, "    set_offsets(call.inputs);\n"),
    )
}

/// How kernels look how many items there are.
fn sized_by_items(types: &Types) -> String {
    let counts = match &types.cut {
        _ if types.selects() => {
            "    if (COUNTS) {\n        inputs.count[BEGINS_BEHIND] = 0;\n    }\n    \
             if (OFFSET_WORDS > 0) {\n        *(u64*)inputs.lengths = 0;\n    }\n"
        }
        Some(cut) if cut.packs() => "    if (inputs.count) {\n        *inputs.count = 0;\n    }\n",
        _ => "",
    };
    let items = match &types.made {
        Some(made) if !made.recipe.lengths.all.is_empty() => {
            include_str!("derived_lengths.cuh").to_owned()
                + &made::items_within(made, "        count_none(inputs);\n")
        }
        _ => include_str!("items_within.cuh").to_owned(),
    };
    format!(
        "constexpr u32 NOTHING_TO_GATHER = {NOTHING_TO_GATHER};\n\
         /// Says that there is nothing to count.\n\
         inline void count_none(const Inputs& inputs) {{\n{counts}}}\n{items}{}",
        include_str!("device_length.cuh")
    )
}

/// What the word of faults says of a length above its bound; 1 is said by who has waited in vain.
pub(crate) const LENGTH_ABOVE_BOUND: u32 = 2;

/// What it says of indices where nothing is that they could stand for.
pub(crate) const NOTHING_TO_GATHER: u32 = 3;

/// The words that a launch is handed, in whole pairs.
fn given(words: usize) -> String {
    match words.next_multiple_of(2) {
        0 => String::new(),
        even => format!("struct Given {{ u32 at[{even}]; }};\n"),
    }
}

/// One of them where functions of the device see it.
fn taken(word: usize) -> String {
    format!("taken[{word}]")
}

/// A result as it lies in memory, of a position its index; and what a start value is.
fn result(types: &Types) -> String {
    let held = types.held();
    let (words, result, memory) = match held {
        Held::Structure(kind) => {
            let words = words_stored::<CudaCpp>(kind, "leave(acc)");
            (words, pack(kind, kind.size() as u32, &["leave(acc)".to_owned()]), in_memory(kind))
        }
        _ => {
            let (bits, memory) = match (held, types.acc) {
                (Held::Position(_), _) => ("acc.index".to_owned(), "u64"),
                (_, Kind::Number(dtype)) => {
                    (format!("u64({})", CudaCpp::stored(dtype, "leave(acc)")), in_memory(types.acc))
                }
                _ => ("0".to_owned(), "u64"),
            };
            let words = ["", " >> 32"].map(|shift| format!("u32({bits}{shift})")).to_vec();
            (words, format!("{memory}({bits})"), memory)
        }
    };
    let init = match held {
        Held::Position(_) => "padding()".to_owned(),
        _ => {
            let words: Vec<String> = (0..MOST_WORDS).map(|k| format!("words.at[{k}]")).collect();
            format!("hold({})", held.value_of_words::<CudaCpp>(&words))
        }
    };
    format!(
        "using Result = {memory};\n\
         constexpr u32 RESULT_WORDS = {}u, INIT_WORDS = {}u;\n\
         struct ResultWords {{ u32 at[RESULT_WORDS]; }};\n\
         struct InitWords {{ u32 at[INIT_WORDS]; }};\n\
         inline Result result_of(Acc acc) {{ return {result}; }}\n\
         inline ResultWords result_words(Acc acc) {{ return ResultWords{{{{{}}}}}; }}\n\
         inline Acc init(const InitWords& words) {{ return {init}; }}\n",
        types.result_words(),
        init_words(types),
        words.join(", "),
    )
}
