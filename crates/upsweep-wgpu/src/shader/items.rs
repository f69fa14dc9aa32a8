//! How a shader reads items and writes them, in WGSL.

use core::fmt::Write;

use upsweep_core::{Dtype, Kind};
use upsweep_gpu::Syntax;
use upsweep_gpu::layout::{unpack, width_of, words_stored};

use super::types::{access, pack};
use super::{Shader, Wgsl, first_word, made};

/// The constant that says whether `pack2x16float` rounds as it should.
pub(crate) const PACKS_HALVES: &str = "PACKS_HALVES";

impl Shader {
    /// How items are read: `Access`, several at once.
    pub(super) fn input(&self) -> String {
        let item = self.types.item;
        if let Some(made) = &self.types.made {
            let items = width_of(item, self.width) / item.size() as u32;
            return made.declarations().to_owned()
                + &made::text(made, items, first_word(&self.types));
        }
        let Some((name, items)) = access(item, self.width) else { return String::new() };
        let unpacked = unpack::<Wgsl>(item, self.width, "access").join(", ");
        format!(
            "{}alias Access = {name};\n\
             const ACCESS_ITEMS = {items}u;\n\
             fn unpack(access: Access) -> array<Item, ACCESS_ITEMS> {{\n\
             \x20   return array<Item, ACCESS_ITEMS>({unpacked});\n}}\n",
            include_str!("fetch.wgsl"),
        )
    }

    /// How items are written: `OutAccess`, several at once, and one of them.
    pub(super) fn output(&self) -> String {
        let output = self.types.output;
        let Some((name, items)) = access(output, self.out_width) else { return String::new() };
        let values: Vec<String> = (0..items).map(|k| format!("items[{k}]")).collect();
        let one = if self.shared_words {
            bits_of(output)
        } else {
            write_part(output, self.out_width, self.types.packed)
        };
        format!(
            "alias OutAccess = {};\n\
             const OUT_ACCESS_ITEMS = {items}u;\n\
             fn stored({}) -> Stored {{ return {}; }}\n\
             fn pack(items: array<Stored, OUT_ACCESS_ITEMS>) -> OutAccess {{\n{}\
             \x20   return {};\n}}\n\
             {one}",
            if self.is_read_as(&name) { "Access" } else { &name },
            if self.types.selects() { "item: Payload" } else { "acc: Acc" },
            self.stored(),
            self.packed_halves(output, &values),
            pack(output, &values),
        )
    }

    /// Whether one array is read by accesses of this type.
    fn is_read_as(&self, name: &str) -> bool {
        let read = access(self.types.item, self.width);
        self.types.made.is_none() && read.is_some_and(|(read, _)| read == name)
    }

    /// An expression for what is written of a value `acc`, or of an `item` that is selected.
    fn stored(&self) -> String {
        let [_, value, stored] = self.types.type_names();
        if self.types.selects() {
            return "item".to_owned();
        }
        let made = self.types.made.as_ref();
        match made.and_then(|made| made::written(made, first_word(&self.types))) {
            Some(written) => written,
            None if value == stored => "leave(acc)".to_owned(),
            None => format!("{stored}(leave(acc))"),
        }
    }

    /// The short way to round several values to `f16`, in front of the other: for devices that round as they should, where none of the
    /// values is a NaN.
    fn packed_halves(&self, output: Kind, values: &[String]) -> String {
        let packs = self.constants.iter().any(|&(name, is)| name == PACKS_HALVES && is == 1);
        if !packs || output != Kind::Number(Dtype::F16) {
            return String::new();
        }
        let rounded = values.chunks(2).enumerate().map(|(k, pair)| {
            format!("    let word{k} = pack2x16float(vec2<f32>({}));\n", pair.join(", "))
        });
        let words: Vec<String> = (0..values.len() / 2).map(|k| format!("word{k}")).collect();
        let beyond: Vec<String> =
            words.iter().map(|word| format!("beyond_infinity({word})")).collect();
        let all = match &words[..] {
            [word] => word.clone(),
            words => format!("OutAccess({})", words.join(", ")),
        };
        format!(
            "{}    if ((({}) & 0x80008000u) == 0u) {{\n        return {all};\n    }}\n",
            rounded.collect::<String>(),
            beyond.join(" | "),
        )
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
