//! Items that are cut into segments, in CUDA C++: what a value knows of them, and how the array is read that says where they begin.

use core::ops::Deref;

use upsweep_core::SegmentedBy;
use upsweep_gpu::Segmentation;

use super::types::in_memory;

/// How items are cut into segments, and what becomes of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    pub(crate) of: Segmentation,
    /// Whether there may be more segments than 32 bits count.
    pub(crate) long: bool,
}

impl Deref for Cut {
    type Target = Segmentation;

    fn deref(&self) -> &Segmentation {
        &self.of
    }
}

impl Cut {
    /// Whether values carry what is known of segments.
    fn is_carried(&self) -> bool {
        !self.reduces || self.packs()
    }

    /// Words of what is known of segments beside a value: whether one begins, or how many.
    pub(super) fn words_beside(&self) -> u32 {
        match (self.is_carried(), self.packs() && self.long) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        }
    }

    /// Values in segments, given the functions of values alone, and what says where segments begin, as it lies in memory.
    pub(super) fn text(&self, of_values: String) -> String {
        let values = if self.is_carried() { self.values(&of_values) } else { of_values };
        let offset = if self.by == SegmentedBy::Offsets { "offsets[number]" } else { "0" };
        format!(
            "{values}\
             using Mark = {};\n\
             inline u64 offset_at(const Mark* offsets, u64 number) {{ return {offset}; }}\n",
            in_memory(self.kind),
        )
    }

    /// What the functions of values say of values alone, and what is known of segments beside each. In reverse, what comes later is to
    /// the left.
    fn values(&self, of_values: &str) -> String {
        let begins = if self.words_beside() == 2 { "u64" } else { "u32" };
        let both = if self.packs() { "+" } else { "|" };
        format!(
            "namespace of_values {{\n{of_values}}}\n\
             using Begins = {begins};\n\
             struct Acc {{ of_values::Acc value; Begins begins; }};\n\
             inline Acc hold(Value value) {{ return Acc{{of_values::hold(value), 0}}; }}\n\
             inline Value leave(Acc acc) {{ return of_values::leave(acc.value); }}\n\
             inline Acc enter(Item item, u64 index) {{ return Acc{{of_values::enter(item, index), 0}}; }}\n\
             inline Acc combine(Acc left, Acc right) {{\n\
             \x20   const of_values::Acc both = of_values::combine(left.value, right.value);\n\
             \x20   const Acc& later = REVERSE ? left : right;\n\
             \x20   return Acc{{later.begins ? later.value : both, left.begins {both} right.begins}};\n}}\n\
             inline Acc identity() {{ return Acc{{of_values::identity(), 0}}; }}\n\
             inline Acc padding() {{ return Acc{{of_values::padding(), 0}}; }}\n",
        )
    }
}
