//! Shaders: a generated header in front of plain WGSL.
//!
//! The header says sizes, types and the operator; the `.wgsl` files say what is done. Declarations of WGSL may
//! stand in any order, so that nothing else is needed to put a shader together.

pub(crate) mod cut;
pub(crate) mod made;
pub(crate) mod operator;
pub(crate) mod syntax;
pub(crate) mod types;
pub(crate) mod unroll;

use core::fmt::Write;
use std::collections::HashMap;

use upsweep_core::{Dtype, Kind};
use upsweep_gpu::bits::MOST_WORDS;
use upsweep_gpu::layout::{unpack, width_of, words_stored};
use upsweep_gpu::{Names, Syntax};

use crate::backend::Inputs;
use crate::reduce::Init;

pub(crate) use cut::Cut;
pub(crate) use syntax::Wgsl;
use types::{access, pack};
pub(crate) use upsweep_gpu::{Held, Made, Op, Scalar};

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
        self.constants
            .iter()
            .find(|(name, _)| *name == "SUBGROUP")
            .map_or(1, |&(_, threads)| threads)
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

    /// The short way to round several values to `f16`, in front of the other: for devices that round as they should, where none of the
    /// values is a NaN.
    fn packed_halves(&self, output: Kind, values: &[String]) -> String {
        let packs = self.constants.iter().any(|&(name, is)| name == PACKS_HALVES && is == 1);
        if !packs || output != Kind::Number(Dtype::F16) {
            return String::new();
        }
        let mut text = String::new();
        for (k, pair) in values.chunks(2).enumerate() {
            let _ =
                writeln!(text, "    let word{k} = pack2x16float(vec2<f32>({}));", pair.join(", "));
        }
        let words: Vec<String> = (0..values.len() / 2).map(|k| format!("word{k}")).collect();
        let beyond: Vec<String> =
            words.iter().map(|word| format!("beyond_infinity({word})")).collect();
        let all = match &words[..] {
            [word] => word.clone(),
            words => format!("OutAccess({})", words.join(", ")),
        };
        let _ = writeln!(
            text,
            "    if ((({}) & 0x80008000u) == 0u) {{\n        return {all};\n    }}",
            beyond.join(" | ")
        );
        text
    }

    fn header(&self) -> String {
        let Types { item, output, .. } = &self.types;
        let [_, value, stored] = self.types.type_names();
        let made = self.types.made.as_ref();
        let mut text = self.types.type_aliases();
        text += &match &self.types.cut {
            Some(cut) => cut.text(&self.types.operator_text(&cut::OF_VALUES), self.types.held()),
            None => self.types.operator_text(&Names::PLAIN),
        };
        text += &self.types.words_text();
        text += &shuffles(&self.types, self.subgroup());
        text += &result_words(&self.types);
        if let Some(made) = &self.types.made {
            text += made.declarations();
            let items = width_of(*item, self.width) / item.size() as u32;
            text += &made::text(made, items, first_word(&self.types));
        } else if let Some((name, items)) = access(*item, self.width) {
            text += include_str!("fetch.wgsl");
            let unpacked = unpack::<Wgsl>(*item, self.width, "access").join(", ");
            let _ = write!(
                text,
                "alias Access = {name};\n\
                 const ACCESS_ITEMS = {items}u;\n\
                 fn unpack(access: Access) -> array<Item, ACCESS_ITEMS> {{\n\
                 \x20   return array<Item, ACCESS_ITEMS>({unpacked});\n}}\n",
            );
        }
        let read = access(*item, self.width);
        let read = read.as_ref().map(|(name, _)| name);
        if let Some((name, items)) = access(*output, self.out_width) {
            let values: Vec<String> = (0..items).map(|k| format!("items[{k}]")).collect();
            let written = made.and_then(|made| made::written(made, first_word(&self.types)));
            let convert = match written {
                Some(written) => written,
                None if value == stored => "leave(acc)".to_owned(),
                None => format!("{stored}(leave(acc))"),
            };
            if self.writes {
                let _ = write!(
                    text,
                    "alias OutAccess = {};\n\
                     const OUT_ACCESS_ITEMS = {items}u;\n\
                     fn stored(acc: Acc) -> Stored {{ return {convert}; }}\n\
                     fn pack(items: array<Stored, OUT_ACCESS_ITEMS>) -> OutAccess {{\n{}\
                     \x20   return {};\n}}\n",
                    if made.is_none() && read == Some(&name) { "Access" } else { &name },
                    self.packed_halves(*output, &values),
                    pack(*output, &values),
                );
                if self.shared_words {
                    text += &bits_of(*output);
                } else {
                    text += &write_part(*output, self.out_width, self.types.packed);
                }
            }
        }
        if let Some(function) = self.atomic {
            text += &self.types.total_text(function);
        }
        text += ROUNDING;
        text
    }
}

/// A short item as bits of a word.
fn bits_of(output: Kind) -> String {
    let Kind::Number(dtype) = output else { return String::new() };
    let bits = 8 * output.size();
    format!(
        "const OUT_BITS = {bits}u;\n\
         const OUT_MASK = {:#x}u;\n\
         fn bits_of(item: Stored) -> u32 {{ return {}; }}\n",
        (1u64 << bits) - 1,
        Wgsl::stored(dtype, "item"),
    )
}

/// How one item of an access in the output is written. Neighbours of a short one in its word are kept.
fn write_part(output: Kind, width: u32, packed: u32) -> String {
    let size = output.size() as u32;
    let Kind::Number(dtype) = output else {
        let each = size / 4;
        let parts = width_of(output, width) / 4;
        let words =
            words_stored::<Wgsl>(output, "item").into_iter().enumerate().map(|(k, word)| {
                let place =
                    if parts > 1 { format!("[part * {each}u + {k}u]") } else { String::new() };
                format!("    output[access]{place} = {word};\n")
            });
        return format!(
            "fn write_part(access: u32, part: u32, item: Stored) {{\n{}}}\n",
            words.collect::<String>()
        );
    };
    let bits = Wgsl::stored(dtype, "item");
    let word = if width / size.max(4) > 1 {
        "output[access][part / WORD_ITEMS]"
    } else {
        "output[access]"
    };
    let items = (4 / size).max(1);
    if items == 1 {
        let mut text = format!(
            "const WORD_ITEMS = 1u;\n\
             fn write_part(access: u32, part: u32, item: Stored) {{ {word} = {bits}; }}\n"
        );
        if packed > 1 {
            let _ = writeln!(
                text,
                "fn write_bits(access: u32, part: u32, item: Stored, mask: u32) {{\n\
                 \x20   {word} = ({word} & ~mask) | (item & mask);\n}}"
            );
        }
        return text;
    }
    format!(
        "{}const WORD_ITEMS = {items}u;\n\
         fn write_part(access: u32, part: u32, item: Stored) {{\n\
         \x20   let shift = (part % WORD_ITEMS) * OUT_BITS;\n\
         \x20   {word} = ({word} & ~(OUT_MASK << shift)) | (bits_of(item) << shift);\n}}\n",
        bits_of(output),
    )
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

/// The words of a result: of a position its index, else the value.
fn result_words(types: &Types) -> String {
    let words = match types.held() {
        Held::Position(_) => vec!["acc.low".to_owned(), "acc.high".to_owned()],
        held => {
            let words = match types.acc {
                Kind::Number(dtype) if dtype.size() < 4 => vec![Wgsl::stored(dtype, "value")],
                Kind::Number(dtype) => Scalar::of(dtype).words_of::<Wgsl>("value"),
                kind => words_stored::<Wgsl>(kind, "value"),
            };
            let init: Vec<String> = (0..MOST_WORDS).map(handed_word).collect();
            let text = format!(
                "const RESULT_WORDS = {}u;\n\
                 const RESULT_BITS = {}u;\n\
                 fn result_of(acc: Acc) -> array<u32, RESULT_WORDS> {{\n\
                 \x20   let value = leave(acc);\n\
                 \x20   return array<u32, RESULT_WORDS>({});\n}}\n\
                 fn init() -> Acc {{ return hold({}); }}\n",
                words.len(),
                8 * types.acc.size(),
                words.join(", "),
                held.value_of_words::<Wgsl>(&init),
            );
            return text;
        }
    };
    format!(
        "const RESULT_WORDS = 2u;\n\
         const RESULT_BITS = 64u;\n\
         fn result_of(acc: Acc) -> array<u32, RESULT_WORDS> {{\n\
         \x20   return array<u32, RESULT_WORDS>({});\n}}\n\
         fn init() -> Acc {{ return padding(); }}\n",
        words.join(", ")
    )
}

/// The constant that says whether `pack2x16float` rounds as it should.
pub(crate) const PACKS_HALVES: &str = "PACKS_HALVES";

/// Rounding to the short floats, to nearest, ties to even; what WGSL's own functions do with ties and
/// subnormals is up to the device.
pub(crate) const ROUNDING: &str = include_str!("rounding.wgsl");
