//! Items that are made as they are read, in WGSL.

use core::fmt::Write;

use upsweep_core::{Dtype, Kind, Recipe, Terms};
use upsweep_gpu::FusedInput;
use upsweep_gpu::layout::{bits_of_items, is_whole, of_memory, unpack_as};

use super::Scalar;
use super::Wgsl;
use super::types::access;
use crate::slice::Slice;

/// Most arrays that a kernel reads: it has four words for where they begin.
pub(crate) const MOST_ARRAYS: usize = 4;

/// The bindings of arrays: those between are the output, the state and the parameters.
pub(crate) const BINDINGS: [u32; MOST_ARRAYS] = [0, 4, 5, 6];

/// Words that kernels are handed: those in front, and the recipe's.
pub(super) fn given_words(made: &FusedInput) -> usize {
    words_in_front(made, [0; 2]).len() + made.recipe.words()
}

/// Those in front: the number of a window's first item, if it is asked for; a 0 if all items are one.
pub(super) fn words_in_front(made: &FusedInput, first: [u32; 2]) -> Vec<u32> {
    match () {
        () if made.recipe.is_numbered() => first.to_vec(),
        () if is_repeated(made) => vec![0],
        () => Vec::new(),
    }
}

/// Whether all items are one.
fn is_repeated(made: &FusedInput) -> bool {
    let Recipe { arrays, anywhere, .. } = &made.recipe;
    arrays.is_empty() && anywhere.is_empty() && !made.recipe.is_numbered()
}

/// How many items are read at once: as many of the longest as an access has, if all arrays begin where such accesses may, and
/// all bindings hold whole ones.
pub(crate) fn items_at_once(made: &FusedInput, inputs: &[Slice<'_>], alignment: u64) -> u32 {
    let most = made.recipe.items_of_access();
    let begins = |(slice, &kind): (&Slice<'_>, &Kind)| {
        let wanted = most * kind.size() as u32;
        is_whole(kind) || slice.access(kind, alignment, wanted.max(4)) == (wanted.max(4), true)
    };
    if inputs.iter().zip(&made.recipe.arrays).all(begins) { most } else { 1 }
}

/// How items are read, so many at once of each array; what kernels are handed begins with this word.
pub(super) fn text(made: &FusedInput, items: u32, first_word: usize) -> String {
    let arrays = Arrays::of(made, items);
    let terms = |v| ItemTerms { made, arrays: &arrays, v, first_word, is_read: true };
    let all: Vec<ItemTerms<'_>> = (0..items as usize).map(terms).collect();
    let fronts = core::iter::once(None).chain(all.iter().map(Some));
    let unpacked = all.iter().zip(fronts);
    let unpacked = unpacked.map(|(terms, front)| made.item_text::<Wgsl, _>(terms, front));
    let (fields, fetch) = fetch(made, &arrays, &all);
    format!(
        "const ACCESS_ITEMS = {items}u;\n\
         {bindings}\
         struct Access {{ {fields} }}\n\
         fn fetch(item: u32) -> Access {{{fetch}}}\n\
         /// Of several arrays nobody asks for an access by its number.\n\
         fn read_access(at: u32) -> Access {{ return fetch(at * ACCESS_ITEMS); }}\n\
         fn unpack(access: Access) -> array<Item, ACCESS_ITEMS> {{\n\
         \x20   return array<Item, ACCESS_ITEMS>({unpacked});\n}}\n",
        bindings = arrays.all().map(Array::binding).collect::<String>(),
        unpacked = unpacked.collect::<Vec<_>>().join(", "),
    )
}

/// The fields of an access, and how that one is read which begins with `item`.
fn fetch(made: &FusedInput, arrays: &Arrays, all: &[ItemTerms<'_>]) -> (String, String) {
    let Arrays { in_order, anywhere } = arrays;
    let field = |array: &Array| format!("{}: {}, ", array.name, array.access());
    let mut fields: String = in_order.iter().map(field).collect();
    let fetched = in_order.iter().map(|array| array.fetched("item"));
    if anywhere.is_empty() && !made.recipe.is_numbered() && !in_order.is_empty() {
        let fetched: Vec<String> = fetched.collect();
        return (fields, format!(" return Access({}); ", fetched.join(", ")));
    }
    let set = in_order.iter().zip(fetched);
    let mut lines: String =
        set.map(|(array, from)| format!("    access.{} = {from};\n", array.name)).collect();
    // Structures have fields, whether there is something to say or not.
    fields += "at: u32, ";
    lines += "    access.at = item;\n";
    for (number, index, last) in made.recipe.indices() {
        let Some(array) = anywhere.get(number) else { continue };
        let name = &array.name;
        let _ = write!(fields, "{name}: array<{}, ACCESS_ITEMS>, ", array.access());
        for terms in all {
            let v = terms.v;
            let index = index.text(false, &made.functions, terms);
            let last = terms.index(last, false);
            let from = array.fetched(&format!("{name}_at{v}"));
            let _ = write!(
                lines,
                "    let {name}_at{v} = min({index}, {last});\n\
                 \x20   access.{name}[{v}] = {from};\n",
            );
        }
    }
    (fields, format!("\n    var access: Access;\n{lines}    return access;\n"))
}

/// An expression for what is written of a value `acc`, if it is not the value.
pub(super) fn written(made: &FusedInput, first_word: usize) -> Option<String> {
    let written = made.recipe.written.as_ref()?;
    let terms = ItemTerms { made, arrays: &Arrays::default(), v: 0, first_word, is_read: false };
    Some(written.text(&made.functions, &terms))
}

/// An item of an access, or what is written.
struct ItemTerms<'a> {
    made: &'a FusedInput,
    arrays: &'a Arrays,
    /// Which one of the access.
    v: usize,
    /// The word with which begins what kernels are handed.
    first_word: usize,
    /// Whether an access is read, and nothing written.
    is_read: bool,
}

impl ItemTerms<'_> {
    /// The words of a parameter.
    fn words(&self, parameter: usize) -> Vec<String> {
        let in_front = words_in_front(self.made, [0; 2]).len();
        self.made.parameter_words(parameter, |word| self.word(in_front + word))
    }

    fn word(&self, number: usize) -> String {
        super::handed_word(self.first_word + number)
    }
}

impl Terms for ItemTerms<'_> {
    fn item(&self, array: usize, structure: &str) -> String {
        let array = &self.arrays.in_order[array];
        array.unpacked(&format!("access.{}", array.name), structure)[self.v].clone()
    }

    fn anywhere(&self, array: usize, structure: &str) -> String {
        let array = &self.arrays.anywhere[array];
        array.unpacked(&format!("access.{}[{}]", array.name, self.v), structure)[0].clone()
    }

    fn item_bits(&self, array: usize) -> Vec<String> {
        let array = &self.arrays.in_order[array];
        array.bits(&format!("access.{}", array.name))[self.v].clone()
    }

    fn anywhere_bits(&self, array: usize) -> Vec<String> {
        let array = &self.arrays.anywhere[array];
        array.bits(&format!("access.{}[{}]", array.name, self.v))[0].clone()
    }

    fn value(&self, parameter: usize, structure: &str) -> String {
        let mut words = self.words(parameter);
        if is_repeated(self.made) && self.is_read {
            // A driver that sees that floats are one value adds them in an order of its own (NVIDIA's for Vulkan). It does not see
            // that the word in front is 0; of a number that no item has, it saw.
            let differs = format!("((access.at + {}u) & {})", self.v, self.word(0));
            words.iter_mut().for_each(|word| *word = format!("({word} ^ {differs})"));
        }
        of_memory::<Wgsl>(self.made.recipe.parameters[parameter], &words, structure)
    }

    fn prefix(&self) -> String {
        "leave(acc)".to_owned()
    }

    fn number(&self, long: bool) -> String {
        let first = [self.word(0), self.word(1)];
        match long {
            true => {
                format!("({} + u64(access.at + {}u))", Scalar::U64.of_words::<Wgsl>(&first), self.v)
            }
            false => format!("({} + access.at + {}u)", first[0], self.v),
        }
    }

    fn index(&self, parameter: usize, long: bool) -> String {
        let words = self.words(parameter);
        if long { Scalar::U64.of_words::<Wgsl>(&words) } else { words[0].clone() }
    }

    fn within(&self, value: &str, of: Dtype, last: usize, long: bool) -> String {
        let is_long = of.size() > 4;
        let within = format!("min({value}, {})", self.index(last, is_long));
        match (is_long, long) {
            (true, false) => format!("u32({within})"),
            (false, true) => format!("u64({within})"),
            _ => within,
        }
    }

    fn counted(&self, of: Dtype, start: usize, number: &str) -> String {
        let sum = format!("({} + {number})", self.index(start, of.size() > 4));
        match of.is_signed_integer() {
            true => format!("bitcast<{}>{sum}", Scalar::of(of).name()),
            false => sum,
        }
    }
}

/// The arrays that items are made of.
#[derive(Default)]
struct Arrays {
    in_order: Vec<Array>,
    anywhere: Vec<Array>,
}

impl Arrays {
    /// Those of a recipe: so many items are read at once of each that is read in order.
    fn of(made: &FusedInput, items: u32) -> Self {
        let Recipe { arrays, anywhere, .. } = &made.recipe;
        let in_order = (0..).zip(arrays).map(|(k, &kind)| {
            let (name, place) = (format!("in{k}"), k);
            Array { name, place, kind, items }
        });
        let anywhere = (0..).zip(anywhere).map(|(k, &kind)| {
            let (name, place) = (format!("any{k}"), arrays.len() + k);
            Array { name, place, kind, items: 1 }
        });
        Self { in_order: in_order.collect(), anywhere: anywhere.collect() }
    }

    /// All of them.
    fn all(&self) -> impl Iterator<Item = &Array> {
        self.in_order.iter().chain(&self.anywhere)
    }
}

/// One of the arrays, of which so many items are read at once.
struct Array {
    name: String,
    /// Its place among all of them.
    place: usize,
    kind: Kind,
    items: u32,
}

impl Array {
    /// Items of a word of which the others are not wanted.
    fn of_word(&self) -> Option<u32> {
        let size = self.kind.size() as u32;
        (self.items * size < 4).then_some(4 / size)
    }

    fn access(&self) -> String {
        access(self.kind, self.width()).map_or_else(|| "u32".to_owned(), |(name, _)| name)
    }

    fn binding(&self) -> String {
        format!(
            "@group(0) @binding({}) var<storage, read> {}: array<{}>;\n",
            BINDINGS[self.place],
            self.name,
            self.access()
        )
    }

    /// An expression for the access that begins with this item; of less than a word, shifted to its beginning.
    fn fetched(&self, item: &str) -> String {
        let Self { name, place, kind, items } = self;
        let at = format!("(parameters.starts.{} + {item})", ["x", "y", "z", "w"][*place]);
        match self.of_word() {
            Some(each) => {
                format!("{name}[{at} / {each}u] >> ({}u * ({at} % {each}u))", 8 * kind.size())
            }
            None if item == "item" => format!("{name}[{at} / ACCESS_ITEMS]"),
            None => format!("{name}[{at} / {items}u]"),
        }
    }

    /// Expressions for the items of an access, structures having this name.
    fn unpacked(&self, access: &str, structure: &str) -> Vec<String> {
        unpack_as::<Wgsl>(self.kind, self.width(), access, structure)
    }

    /// Expressions for unsigned integers with the bits of each of them.
    fn bits(&self, access: &str) -> Vec<Vec<String>> {
        bits_of_items::<Wgsl>(self.kind, self.width(), access)
    }

    /// Bytes of an access.
    fn width(&self) -> u32 {
        (self.items * self.kind.size() as u32).max(4)
    }
}
