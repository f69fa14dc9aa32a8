//! Numbers and structures of them in WGSL: how they lie in words of memory, and what they are computed in.

use upsweep_core::Kind;
use upsweep_gpu::Scalar;
use upsweep_gpu::layout::{self, is_whole, width_of};

use super::Wgsl;

/// The WGSL type of one access of `width` bytes to items of `kind`, and how many items it holds.
/// `None` where an item does not fit in it.
pub(crate) fn access(kind: Kind, width: u32) -> Option<(String, u32)> {
    let width = width_of(kind, width);
    let size = kind.size() as u32;
    let items = width / size;
    let (name, part) = match kind {
        Kind::Number(dtype) if size == 8 => (Scalar::of(dtype).name(), 8),
        _ => ("u32", 4),
    };
    match (items, width / part) {
        (0, _) => None,
        (_, 1) => Some((name.to_owned(), items)),
        (_, parts) if is_whole(kind) => Some((format!("array<{name}, {parts}>"), items)),
        (_, parts) => Some((format!("vec{parts}<{name}>"), items)),
    }
}

/// An expression for the `OutAccess` that holds `values`. By that name: arrays of one shape and two names are one type in WGSL, but two
/// in what naga (30) makes of it, which is not valid SPIR-V where the one is returned for the other.
pub(crate) fn pack(kind: Kind, values: &[String]) -> String {
    let words = layout::pack::<Wgsl>(kind, values);
    if words.len() > 1 { format!("OutAccess({})", words.join(", ")) } else { words.concat() }
}
