//! How a shader reads items and writes them, in CUDA C++.

use upsweep_core::{Dtype, Kind};
use upsweep_gpu::Held;
use upsweep_gpu::layout::unpack;

use super::types::{access, in_memory, pack};
use super::{CudaCpp, Shader, Types, counts_offsets, given_words, made, tells_faults};

impl Shader {
    /// How items are read: `Access`, several at once, and `InMemory`, one.
    pub(super) fn input(&self) -> String {
        let item = self.types.item;
        let extra = extra_inputs(&self.types);
        match &self.types.made {
            Some(made) => made::text(made, (self.width / item.size() as u32).max(1), &extra),
            None => input(item, self.width, &extra),
        }
    }

    /// How items are written: `OutAccess`, several at once, and `OutMemory`, one. Nothing of positions.
    pub(super) fn output(&self) -> String {
        if matches!(self.types.held(), Held::Position(_)) {
            return String::new();
        }
        let made = self.types.made.as_ref().and_then(made::written);
        let stored = made.unwrap_or_else(|| "Stored(leave(acc))".to_owned());
        let function = match self.types.selects() {
            true => "inline Stored stored(const Payload& item) { return item; }\n".to_owned(),
            false => format!("inline Stored stored(Acc acc) {{ return {stored}; }}\n"),
        };
        function + &output(self.types.output, self.out_width)
    }
}

/// How items of one array are read.
fn input(item: Kind, width: u32, ExtraInputs { fields, passed_on }: &ExtraInputs) -> String {
    let Some((name, items)) = access(item, width) else { return String::new() };
    let unpacked = unpack::<CudaCpp>(item, width, "access").join(", ");
    let one = unpack::<CudaCpp>(item, item.size() as u32, "item").join("");
    let memory = in_memory(item);
    let [moved, staged] = ["inputs.in0 + items", "from"]
        .map(|array| [&[array.to_owned()], &passed_on[..]].concat().join(", "));
    format!(
        "using InMemory = {memory};\n\
         using Access = {name};\n\
         constexpr u32 ACCESS_ITEMS = {items}u;\n\
         struct Items {{ Item at[ACCESS_ITEMS]; }};\n\
         inline Items unpack(Access access) {{ return Items{{{{{unpacked}}}}}; }}\n\
         inline Item unpack_one(InMemory item) {{ return {one}; }}\n\
         struct Inputs {{ const InMemory* in0; {fields}}};\n\
         inline Inputs at(const Inputs& inputs, u64 items) {{ return Inputs{{{moved}}}; }}\n\
         using StagedItem = InMemory;\n\
         constexpr u32 BESIDE = 0;\n\
         inline const u8* beside_of(const Inputs&) {{ return nullptr; }}\n\
         inline Inputs staged_at(const Inputs& inputs, const StagedItem* from, const u8*, u64) {{\n\
         \x20   return Inputs{{{staged}}};\n}}\n\
         inline const StagedItem* first_of(const Inputs& inputs) {{ return inputs.in0; }}\n\
         template <typename Offset> inline Access fetch(const Inputs& inputs, Offset item, u32 access) {{\n\
         \x20   return ((const Access*)(inputs.in0 + item))[access];\n}}\n\
         template <typename Offset> inline Access fetch_compared(const Inputs& inputs, Offset item, u32 access) {{\n\
         \x20   return fetch(inputs, item, access);\n}}\n\
         inline Access fetch_once(const Inputs& inputs, u32 item, u32 access) {{\n\
         \x20   return read((const Access*)(inputs.in0 + item) + access);\n}}\n\
         template <typename Offset> inline InMemory fetch_one(const Inputs& inputs, Offset item) {{\n\
         \x20   return inputs.in0[item];\n}}\n",
    )
}

/// How items are written.
fn output(output: Kind, width: u32) -> String {
    let Some((name, items)) = access(output, width) else { return String::new() };
    let values: Vec<String> = (0..items).map(|k| format!("items.at[{k}]")).collect();
    let packed = match output.number() {
        Some(Dtype::F16) if items > 1 => "pack_pairs<half_pair, OutAccess>(items.at)".to_owned(),
        Some(Dtype::Bf16) if items > 1 => "pack_pairs<bfloat_pair, OutAccess>(items.at)".to_owned(),
        _ => pack(output, width, &values),
    };
    format!(
        "using OutAccess = {name};\n\
         using OutMemory = {};\n\
         constexpr u32 OUT_ACCESS_ITEMS = {items}u;\n\
         struct OutItems {{ Stored at[OUT_ACCESS_ITEMS]; }};\n\
         inline OutAccess pack(OutItems items) {{ return {packed}; }}\n\
         inline OutMemory pack_one(Stored item) {{ return {}; }}\n",
        in_memory(output),
        pack(output, output.size() as u32, &["item".to_owned()]),
    )
}

/// What stands in `Inputs` behind arrays: fields, and how each is handed on.
pub(super) struct ExtraInputs {
    pub(super) fields: String,
    pub(super) passed_on: Vec<String>,
}

/// What stands there of segments, `segments.cuh`, of lengths, and the words that a launch is handed.
fn extra_inputs(types: &Types) -> ExtraInputs {
    let mut fields: Vec<(&str, String)> = Vec::new();
    let mut add = |kind, name: &str| fields.push((kind, name.to_owned()));
    if types.cut.is_some() {
        add("const Mark*", "marks");
        add("u64", "segments");
        add("Mark*", "unique");
        add("u64*", "count");
    }
    if types.selects() {
        add("u64*", "count");
        add("void*", "lengths");
    }
    if counts_offsets(types) {
        add("const u64*", "offset_count");
    }
    if types.is_bounded {
        add("const u64*", "length");
    }
    let lengths = types.made.iter().flat_map(|made| &made.recipe.lengths.all);
    for (number, _) in lengths.enumerate() {
        add("const u64*", &format!("length{number}"));
    }
    if tells_faults(types) {
        add("volatile u64*", "fault");
    }
    if given_words(types) > 0 {
        add("Given", "given");
    }
    let declared = |(kind, name): &(&str, String)| format!("{kind} {name}; ");
    let passed_on = fields.iter().map(|(_, name)| format!("inputs.{name}")).collect();
    ExtraInputs { fields: fields.iter().map(declared).collect(), passed_on }
}
