//! Shaders: a generated header in front of plain WGSL.
//!
//! The header says sizes, types and the operator; the `.wgsl` files say what is done. Declarations of WGSL may
//! stand in any order, so that nothing else is needed to put a shader together.

pub(crate) mod cut;
mod items;
pub(crate) mod made;
pub(crate) mod operator;
pub(crate) mod syntax;
pub(crate) mod types;
pub(crate) mod unroll;

use core::fmt::Write;
use std::collections::HashMap;

use upsweep_core::Kind;
use upsweep_gpu::bits::MOST_WORDS;
use upsweep_gpu::layout::{width_of, words_stored};
use upsweep_gpu::{OperatorNames, Syntax};

use crate::backend::Inputs;
use crate::select;
use upsweep_gpu::Init;

pub(crate) use cut::Cut;
pub(crate) use items::PACKS_HALVES;
pub(crate) use syntax::Wgsl;
pub(crate) use upsweep_gpu::{FusedInput, Held, Op, Scalar};

/// The types of one kernel.
pub(crate) type Types = upsweep_gpu::Types<Wgsl>;

/// Vectors of four words that hold a start value.
fn init_vectors(types: &Types) -> usize {
    types.held().words().div_ceil(4) as usize
}

/// The word behind the start value with which begins what kernels are handed.
fn first_word(types: &Types) -> usize {
    4 * init_vectors(types)
}

/// Of what kernels are handed the number of the first word of the recipe's parameters.
pub(crate) fn first_parameter(types: &Types) -> usize {
    let in_front = types.made.as_ref().map_or(0, |made| made::words_in_front(made, [0; 2]).len());
    first_word(types) + in_front
}

/// Words that kernels are handed behind it for what is made.
fn words_of_made(types: &Types) -> usize {
    types.made.as_ref().map_or(0, made::given_words)
}

/// Words that kernels are handed behind the start value: behind those of what is made come the operator's values, if it has fields.
fn given_words(types: &Types) -> usize {
    words_of_made(types) + types.values.count()
}

/// What kernels are handed: the words of the start value, and in vectors behind them those of parameters, where the window's
/// first item has this number.
pub(crate) fn handed(types: &Types, init: Init, first: u64, inputs: &Inputs<'_>) -> Vec<u32> {
    let mut words = init.unwrap_or_default()[..].to_vec();
    words.resize(4 * init_vectors(types), 0);
    if let Some(made) = &types.made {
        words.extend(made::words_in_front(made, [first as u32, (first >> 32) as u32]));
    }
    words.extend(inputs.words);
    words
}

/// One of the words that kernels are handed.
fn handed_word(number: usize) -> String {
    format!("parameters.init[{}].{}", number / 4, ["x", "y", "z", "w"][number % 4])
}

/// Named sizes of a kernel.
pub(crate) type Constants = Vec<(&'static str, u32)>;

/// Everything that makes one shader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shader {
    pub(crate) types: Types,
    /// Bytes of one access to the input, and to the output if there is one.
    pub(crate) width: u32,
    pub(crate) out_width: u32,
    pub(crate) constants: Constants,
    /// The texts behind the header.
    pub(crate) parts: Vec<&'static str>,
    /// Entry points: `name` calls `run_name` with the numbers of the workgroup and of the thread.
    pub(crate) entries: Vec<&'static str>,
    /// Whether it writes items.
    pub(crate) writes: bool,
    /// Whether the output's words are written with atomics.
    pub(crate) shared_words: bool,
    /// WGSL's function that combines a value with the total, if that is asked for.
    pub(crate) atomic: Option<&'static str>,
}

/// What the threads of one workgroup do together.
pub(crate) const WORKGROUP: &str = include_str!("workgroup.wgsl");

/// Words that workgroups share.
pub(crate) const STATE: &str = include_str!("state.wgsl");

/// What workgroups tell others of the same launch.
pub(crate) const PUBLISHED: &str = include_str!("published.wgsl");

/// How an array is read.
pub(crate) const INPUT: &str = include_str!("input.wgsl");

impl Shader {
    /// The shader as WGSL.
    pub(crate) fn text(&self) -> String {
        let vectors = init_vectors(&self.types) + given_words(&self.types).div_ceil(4);
        let mut text = format!("const INIT_VECTORS = {vectors}u;\n");
        for (name, value) in &self.constants {
            let _ = writeln!(text, "const {name} = {value}u;");
        }
        text += &self.header();
        let mut names: HashMap<&str, u32> = self.constants.iter().copied().collect();
        names.insert("WORDS", self.types.words());
        for (name, kind, width) in [
            ("ACCESS_ITEMS", self.types.item, self.width),
            ("OUT_ACCESS_ITEMS", self.types.output, self.out_width),
        ] {
            names.insert(name, width_of(kind, width) / kind.size() as u32);
        }
        for part in &self.parts {
            text.push('\n');
            text += &unroll::unroll(part, &names);
        }
        for entry in &self.entries {
            text += &self.entry(entry);
        }
        text
    }

    /// Threads of a subgroup; 1 if the kernel uses none.
    fn subgroup(&self) -> u32 {
        self.constant("SUBGROUP")
    }

    /// The named size; 1 if the kernel has none of this name.
    pub(crate) fn constant(&self, name: &str) -> u32 {
        self.constants.iter().find(|(own, _)| *own == name).map_or(1, |&(_, size)| size)
    }

    /// An entry point. The grid may be folded.
    fn entry(&self, name: &str) -> String {
        let (parameter, keep) = if self.subgroup() > 1 {
            (
                "    @builtin(subgroup_invocation_id) lane_of_thread: u32,\n",
                "    lane = lane_of_thread;\n",
            )
        } else {
            ("", "")
        };
        format!(
            "\n@compute @workgroup_size(THREADS)\n\
             fn {name}(\n\
             \x20   @builtin(workgroup_id) id: vec3<u32>,\n\
             \x20   @builtin(num_workgroups) count: vec3<u32>,\n\
             \x20   @builtin(local_invocation_index) thread: u32,\n{parameter}) {{\n{keep}\
             \x20   run_{name}(id.y * count.x + id.x, thread);\n}}\n"
        )
    }

    /// What is generated, named sizes apart.
    fn header(&self) -> String {
        let types = &self.types;
        let mut text = types.type_aliases();
        text += &match &types.cut {
            Some(cut) => cut.text(&types.operator_text(&cut::OF_VALUES), types.held()),
            None => types.operator_text(&OperatorNames::PLAIN),
        };
        text += &types.words_text();
        text += &shuffles(types, self.subgroup());
        text += &result(types);
        text += &self.input();
        if self.writes {
            text += &self.output();
        }
        if types.selects() {
            text += &select::count_text(types);
        }
        if let Some(function) = self.atomic {
            text += &types.total_text(function);
        }
        text + ROUNDING
    }
}

/// How values go between the threads of a subgroup.
fn shuffles(types: &Types, subgroup: u32) -> String {
    if subgroup == 1 {
        return "/// A thread is a subgroup of its own.\nvar<private> lane: u32;\n\
                fn shuffled(acc: Acc, lane: u32) -> Acc { return acc; }\n\
                fn shuffled_xor(acc: Acc, lane: u32) -> Acc { return acc; }\n\
                fn holds_for_any(yes: bool) -> bool { return yes; }\n\
                fn last_lane(yes: bool) -> u32 { return u32(yes); }\n"
            .to_owned();
    }
    let shuffle = |(name, function): (&str, &str)| {
        types.shuffle(name, |word| format!("{function}({word}, lane)"))
    };
    let shuffles = [("shuffled", "subgroupShuffle"), ("shuffled_xor", "subgroupShuffleXor")];
    format!(
        "/// This thread's number in its subgroup.\nvar<private> lane: u32;\n{}{}",
        shuffles.map(shuffle).concat(),
        votes(subgroup),
    )
}

/// What the threads of a subgroup tell each other of a condition. The number of a lane is found by votes on its bits, from the highest
/// down: `subgroupMax` gave all ones for zeros in some kernels of an NVIDIA driver (580.159.04), and shuffles were slower there.
fn votes(subgroup: u32) -> String {
    let most = u32::BITS - subgroup.leading_zeros();
    let vote = |bit: u32| {
        format!("    found |= select(0u, {bit}u, subgroupAny(number >= (found | {bit}u)));\n")
    };
    format!(
        "fn holds_for_any(yes: bool) -> bool {{ return subgroupAny(yes); }}\n\
         /// 1 + the last lane for which this holds; 0 if it holds for none.\n\
         fn last_lane(yes: bool) -> u32 {{\n\
         \x20   let number = select(0u, lane + 1u, yes);\n\
         \x20   var found = 0u;\n\
         {}\
         \x20   return found;\n}}\n",
        (0..most).rev().map(|place| vote(1 << place)).collect::<String>(),
    )
}

/// A result as it lies in memory, of a position its index; and what a start value is.
fn result(types: &Types) -> String {
    let held = types.held();
    let (leave, words, bits, init) = match (held, types.acc) {
        (Held::Position(_), _) => ("", Wgsl::position_words("acc"), 64, "padding()".to_owned()),
        (_, kind) => {
            let words = match kind {
                Kind::Number(dtype) if dtype.size() < 4 => vec![Wgsl::stored(dtype, "value")],
                Kind::Number(dtype) => Scalar::of(dtype).words_of::<Wgsl>("value"),
                kind => words_stored::<Wgsl>(kind, "value"),
            };
            let init: Vec<String> = (0..MOST_WORDS).map(handed_word).collect();
            let init = format!("hold({})", held.value_of_words::<Wgsl>(&init));
            ("    let value = leave(acc);\n", words, 8 * kind.size(), init)
        }
    };
    format!(
        "const RESULT_WORDS = {}u;\n\
         const RESULT_BITS = {bits}u;\n\
         fn result_of(acc: Acc) -> array<u32, RESULT_WORDS> {{\n\
         {leave}\
         \x20   return array<u32, RESULT_WORDS>({});\n}}\n\
         fn init() -> Acc {{ return {init}; }}\n",
        words.len(),
        words.join(", "),
    )
}

/// Rounding to the short floats, to nearest, ties to even; what WGSL's own functions do with ties and
/// subnormals is up to the device.
pub(crate) const ROUNDING: &str = include_str!("rounding.wgsl");
