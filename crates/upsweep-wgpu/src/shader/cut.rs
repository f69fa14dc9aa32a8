//! Items that are cut into segments, in WGSL: what a value knows of them, and how the array is read that says where they begin.

use core::fmt::Write;
use core::ops::Deref;

use upsweep_core::{Dtype, Kind, SegmentedBy};
use upsweep_gpu::layout::field_names;
use upsweep_gpu::{OperatorNames, Segmentation};

use super::Held;
use super::made::BINDINGS;
use crate::slice::{Slice, grain};

/// How items are cut into segments, and which arrays there are for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    pub(crate) of: Segmentation,
    /// Whether the key of each segment is written.
    pub(crate) unique: bool,
    /// Arrays that items are read of: those of segments are behind them.
    pub(crate) arrays: usize,
}

impl Deref for Cut {
    type Target = Segmentation;

    fn deref(&self) -> &Segmentation {
        &self.of
    }
}

/// What kernels of segments have beside items and outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What says where segments begin.
    Marks,
    /// The keys of segments.
    Unique,
    /// How many there are.
    Count,
}

/// The flag of a scan that there are no offsets: `parameters.flags`, which the launch sets that knows how many there are.
pub(crate) const NO_OFFSETS: u32 = 16;

/// How the functions of values are called beside which something is known of segments.
pub(super) const OF_VALUES: OperatorNames = OperatorNames { acc: "ValueAcc", of: "value_" };

/// Items of a group.
const GROUP: u32 = upsweep_core::summation::GROUP as u32;
/// The parts of an access of several words.
const PARTS: [&str; 4] = [".x", ".y", ".z", ".w"];

impl Cut {
    /// Which of several arrays this is: that of keys only where they are written.
    pub(crate) fn place(&self, role: Role) -> usize {
        let behind = match role {
            Role::Marks => 0,
            Role::Unique => 1,
            Role::Count => 1 + usize::from(self.unique),
        };
        self.arrays + behind
    }

    /// How many arrays there are with those that items are read of.
    pub(crate) fn all_arrays(&self) -> usize {
        let last = if self.packs() { Role::Count } else { Role::Marks };
        self.place(last) + 1
    }

    /// The binding of an array.
    pub(crate) fn binding(&self, role: Role) -> u32 {
        BINDINGS[self.place(role)]
    }

    /// An expression for where an array begins in its binding.
    fn start(&self, role: Role) -> String {
        format!("parameters.starts.{}", ["x", "y", "z", "w"][self.place(role)])
    }

    /// Words of an item of the array.
    pub(crate) fn words(&self) -> u32 {
        self.size().div_ceil(4)
    }

    fn size(&self) -> u32 {
        self.kind.size() as u32
    }

    /// Bytes of an access to a group.
    fn width(&self) -> u32 {
        self.width_of(self.wide)
    }

    /// The same, if it is read at once or not.
    fn width_of(&self, wide: bool) -> u32 {
        if wide { (GROUP * self.size()).min(16) } else { 4 }
    }

    /// Whether all groups of this array begin where an access of their width may; in reverse they are counted from the array's end.
    pub(crate) fn is_wide(&self, marks: &Slice<'_>, turned: bool, alignment: u64) -> bool {
        let width = self.width_of(true);
        let before = marks.offset % grain(self.kind, alignment);
        let bytes = marks.items * self.kind.size() as u64;
        let begin = if turned { before + bytes } else { before };
        self.by != SegmentedBy::Offsets
            && self.kind.size().is_power_of_two()
            && self.kind.size() <= 16
            && marks.access(self.kind, alignment, width).0 == width
            && begin.is_multiple_of(u64::from(width))
    }

    /// Values in segments, given the functions of values alone, and how the array is read and what is written beside values.
    pub(super) fn text(&self, of_values: &str, held: Held) -> String {
        let parts = self.width() / 4;
        let (access, word) = match parts {
            1 => ("u32".to_owned(), "marks[at]".to_owned()),
            _ => (format!("vec{parts}<u32>"), format!("marks[at / {parts}u][at % {parts}u]")),
        };
        let (binding, start) = (self.binding(Role::Marks), self.start(Role::Marks));
        let mut text = self.values(of_values, held);
        let _ = write!(
            text,
            "@group(0) @binding({binding}) var<storage, read> marks: array<{access}>;\n\
             fn mark_word(at: u32) -> u32 {{ return {word}; }}\n"
        );
        // What only the device knows may be that there are none: as if one were 0.
        let none = match self.is_bounded {
            true => format!("if ((parameters.flags & {NO_OFFSETS}u) != 0u) {{ return 0u; }} "),
            false => String::new(),
        };
        match self.by {
            SegmentedBy::Offsets if self.kind == Kind::Number(Dtype::U32) => {
                let _ = writeln!(
                    text,
                    "fn offset_at(number: u32) -> u32 {{ {none}return mark_word({start} + number); }}"
                );
            }
            SegmentedBy::Offsets => {
                let _ = write!(
                    text,
                    "/// What has more bits than items can be counted with is behind all of them.\n\
                     fn offset_at(number: u32) -> u32 {{\n\
                     \x20   {none}let at = 2u * ({start} + number);\n\
                     \x20   return select(0xffffffffu, mark_word(at), mark_word(at + 1u) == 0u);\n}}\n"
                );
            }
            _ => text += &self.marks(),
        }
        if self.packs() {
            text += &self.written();
        } else {
            text +=
                "fn write_unique(segment: u32, item: u32) {}\nfn write_count(segments: u32) {}\n";
        }
        text
    }

    /// How keys or flags are read: one, or those of a group.
    fn marks(&self) -> String {
        let (size, each) = (self.size(), self.words());
        let one: Vec<String> = match 4 / size {
            per @ 2.. => {
                let bits = 8 * size;
                vec![format!(
                    "extractBits(mark_word(at / {per}u), {bits}u * (at % {per}u), {bits}u)"
                )]
            }
            _ => (0..each).map(|k| format!("mark_word({each}u * at + {k}u)")).collect(),
        };
        let group = if self.wide {
            self.group()
        } else {
            let one = |k| format!("mark_at(item + {k}u)");
            let all: Vec<String> = (0..GROUP).map(one).collect();
            format!("    return array<Mark, {GROUP}>({});\n", all.join(", "))
        };
        format!(
            "alias Mark = array<u32, MARK_WORDS>;\n\
             fn mark_at(item: u32) -> Mark {{\n\
             \x20   let at = {start} + item;\n\
             \x20   return Mark({});\n}}\n\
             fn marks_of_group(item: u32) -> array<Mark, {GROUP}> {{\n{group}}}\n",
            one.join(", "),
            start = self.start(Role::Marks),
        )
    }

    /// The accesses to a group, and what they hold.
    fn group(&self) -> String {
        let (size, width) = (self.size(), self.width());
        let mut text = format!(
            "    let at = ({} + item) / {}u;\n",
            self.start(Role::Marks),
            (width / size).max(1)
        );
        let mut words = Vec::new();
        for access in 0..GROUP * size / width {
            let _ = writeln!(text, "    let part{access} = marks[at + {access}u];");
            match width / 4 {
                1 => words.push(format!("part{access}")),
                parts => {
                    let of = |part: &&str| format!("part{access}{part}");
                    words.extend(PARTS[..parts as usize].iter().map(of));
                }
            }
        }
        let bits = 8 * size;
        let all: Vec<String> = match 4 / size {
            per @ 2.. => {
                let of = |word: &String| {
                    let word = word.clone();
                    (0..per)
                        .map(move |k| format!("Mark(extractBits({word}, {}u, {bits}u))", k * bits))
                };
                words.iter().flat_map(of).collect()
            }
            _ => {
                let each = words.chunks(self.words() as usize);
                each.map(|words| format!("Mark({})", words.join(", "))).collect()
            }
        };
        let _ = writeln!(text, "    return array<Mark, {GROUP}>({});", all.join(", "));
        text
    }

    /// How a segment's key is written, if that is asked for, and how many segments there are.
    fn written(&self) -> String {
        let (size, each) = (self.size(), self.words());
        let (binding, start) = (self.binding(Role::Unique), self.start(Role::Unique));
        let unique = match (self.unique, 4 / size) {
            (false, _) => "fn write_unique(segment: u32, item: u32) {}\n".to_owned(),
            (true, per @ 2..) => format!(
                "@group(0) @binding({binding}) var<storage, read_write> unique: array<atomic<u32>>;\n\
                 fn write_unique(segment: u32, item: u32) {{\n\
                 \x20   let at = {start} + segment;\n\
                 \x20   let shift = {bits}u * (at % {per}u);\n\
                 \x20   atomicAnd(&unique[at / {per}u], ~({mask}u << shift));\n\
                 \x20   atomicOr(&unique[at / {per}u], mark_at(item)[0] << shift);\n}}\n",
                bits = 8 * size,
                mask = (1u32 << (8 * size)) - 1,
            ),
            (true, _) => {
                let write = |k| format!("    unique[{each}u * at + {k}u] = key[{k}];\n");
                format!(
                    "@group(0) @binding({binding}) var<storage, read_write> unique: array<u32>;\n\
                     fn write_unique(segment: u32, item: u32) {{\n\
                     \x20   let at = {start} + segment;\n\
                     \x20   let key = mark_at(item);\n{}}}\n",
                    (0..each).map(write).collect::<String>()
                )
            }
        };
        format!(
            "{unique}@group(0) @binding({binding}) var<storage, read_write> count: array<u32>;\n\
             fn write_count(segments: u32) {{\n\
             \x20   count[2u * {start}] = segments;\n\
             \x20   count[2u * {start} + 1u] = 0u;\n}}\n",
            binding = self.binding(Role::Count),
            start = self.start(Role::Count),
        )
    }

    /// What the functions of values say of values alone, and what is known of segments beside each. In reverse, what comes later is to
    /// the left. Nothing branches: every step of a scan would.
    fn values(&self, of_values: &str, held: Held) -> String {
        let both = if self.packs() { "+" } else { "|" };
        let chosen = match held {
            Held::Structure(kind) => {
                let field = |name| format!("select(first.{name}, second.{name}, is_second)");
                format!("ValueAcc({})", field_names(kind).map(field).collect::<Vec<_>>().join(", "))
            }
            _ => "select(first, second, is_second)".to_owned(),
        };
        format!(
            "{of_values}\
             struct Acc {{ value: ValueAcc, begins: u32 }}\n\
             fn value_chosen(first: ValueAcc, second: ValueAcc, is_second: bool) -> ValueAcc {{\n\
             \x20   return {chosen};\n}}\n\
             fn hold(value: Value) -> Acc {{ return Acc(value_hold(value), 0u); }}\n\
             fn leave(acc: Acc) -> Value {{ return value_leave(acc.value); }}\n\
             fn enter(item: Item, index: u32) -> Acc {{ return Acc(value_enter(item, index), 0u); }}\n\
             fn combine(left: Acc, right: Acc) -> Acc {{\n\
             \x20   var later = right;\n\
             \x20   if (REVERSE == 1u) {{\n\
             \x20       later = left;\n\
             \x20   }}\n\
             \x20   let both = value_combine(left.value, right.value);\n\
             \x20   return Acc(value_chosen(both, later.value, later.begins != 0u), left.begins {both} right.begins);\n}}\n\
             fn identity() -> Acc {{ return Acc(value_identity(), 0u); }}\n\
             fn padding() -> Acc {{ return Acc(value_padding(), 0u); }}\n"
        )
    }
}
