//! Numbers and structures of them in CUDA C++: how they lie in memory, and what they are computed in.

use upsweep_core::Kind;
use upsweep_gpu::bits::MOST_WORDS;
use upsweep_gpu::layout::{self, is_whole, width_of};

use super::CudaCpp;

/// The type of one access of `width` bytes to items of `kind`, and how many items it holds. `None` where an item does
/// not fit in it.
pub(crate) fn access(kind: Kind, width: u32) -> Option<(&'static str, u32)> {
    let width = width_of(kind, width);
    let size = kind.size() as u32;
    let name = match (kind, width) {
        _ if width < size => return None,
        (Kind::Number(_), 8) if size == 8 => "u64",
        (Kind::Number(_), 16) if size == 8 => "ulonglong2",
        (Kind::Number(_), 1) => "u8",
        (Kind::Number(_), 2) => "u16",
        (_, 4) => "u32",
        (_, 8) => "uint2",
        (_, 16) => "uint4",
        (Kind::Number(_), _) => return None,
        _ => whole(size as usize / 4),
    };
    Some((name, width / size))
}

/// The type in memory of one item.
pub(crate) fn in_memory(kind: Kind) -> &'static str {
    match (kind, kind.size()) {
        (Kind::Number(_), 1) => "u8",
        (Kind::Number(_), 2) => "u16",
        (Kind::Number(_), 8) => "u64",
        _ => access(kind, 0).map_or("u32", |(name, _)| name),
    }
}

/// The type that items of a structure lie in where no type of CUDA's has as many bytes, by their words.
fn whole(words: usize) -> &'static str {
    const NAMES: [&str; MOST_WORDS + 1] = [
        "Words0", "Words1", "Words2", "Words3", "Words4", "Words5", "Words6", "Words7", "Words8",
        "Words9", "Words10", "Words11", "Words12", "Words13", "Words14", "Words15", "Words16",
    ];
    NAMES.get(words).unwrap_or(&"u32")
}

/// The largest power of two, at most 16, of which the size of an item is a multiple: where items begin.
pub(crate) fn alignment(kind: Kind) -> u64 {
    1 << (kind.size() as u64 | 16).trailing_zeros()
}

/// The types that items of these kinds lie in, where they are none of CUDA's.
pub(crate) fn declared(kinds: &[Kind]) -> String {
    let whole_ones = kinds.iter().filter(|kind| is_whole(**kind));
    let mut sizes: Vec<(usize, u64)> =
        whole_ones.map(|kind| (kind.size() / 4, alignment(*kind))).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let declare = |(words, alignment): (usize, u64)| {
        let name = whole(words);
        format!(
            "struct __align__({alignment}) {name} {{ u32 at[{words}]; }};\n\
             inline {name} read(const {name}* from) {{\n\
             \x20   {name} item;\n\
             #pragma unroll\n\
             \x20   for (u32 k = 0; k < {words}; ++k) {{\n\
             \x20       item.at[k] = __ldcs(from->at + k);\n\
             \x20   }}\n\
             \x20   return item;\n}}\n"
        )
    };
    sizes.into_iter().map(declare).collect()
}

/// An expression for the access that holds `values`.
pub(crate) fn pack(kind: Kind, width: u32, values: &[String]) -> String {
    let name = access(kind, width).map_or("u32", |(name, _)| name);
    let parts = layout::pack::<CudaCpp>(kind, values);
    match &parts[..] {
        _ if is_whole(kind) => format!("{name}{{{{{}}}}}", parts.join(", ")),
        [part] => format!("{name}({part})"),
        _ => format!("make_{name}({})", parts.join(", ")),
    }
}
