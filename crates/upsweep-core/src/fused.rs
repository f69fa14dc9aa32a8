//! Items that are made as they are read: by functions, of what lies in one or several arrays, of numbers that are counted, and of
//! values that are handed to kernels at each launch.

use core::hash::{Hash, Hasher};
use core::ops::Range;

use crate::kernel::{Composition, Function};
use crate::{Dtype, Element, Kind};

/// A function that every device can call: `name {}` for a function `name` with `#[upsweep::function]`, or a value of a structure
/// whose `impl` block has it.
pub trait Apply<Arguments>: Copy + Send + Sync + 'static {
    /// What it gives.
    type Output;

    /// Calls it.
    fn apply(&self, arguments: Arguments) -> Self::Output;

    /// What it says.
    fn function(&self) -> &'static Function;

    /// Its fields, which are what the function is given first; `None` if it has none.
    fn fields(&self) -> Option<Parameter> {
        None
    }
}

/// A value that kernels are handed at each launch, so that another one needs no other kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What it is.
    pub kind: Kind,
    /// How it lies in memory, in whole words, the last one filled up with zeros. None of a type that only the CPU can handle.
    pub words: Vec<u32>,
}

impl Parameter {
    /// A value as one.
    pub fn of<T: Element>(value: T) -> Self {
        let items = [value];
        let bytes = T::bytes(&items).unwrap_or_default();
        let word = |piece: &[u8]| {
            let mut bytes = [0; 4];
            bytes[..piece.len()].copy_from_slice(piece);
            u32::from_le_bytes(bytes)
        };
        Self { kind: T::KIND, words: bytes.chunks(4).map(word).collect() }
    }
}

/// Words of a parameter of this kind.
fn words_of(kind: Kind) -> usize {
    kind.size().div_ceil(4)
}

/// What is handed to a function: an item, or two of two arrays.
pub trait Arguments: Copy {
    /// The arguments.
    type Tuple;

    /// The same as arguments.
    fn tuple(self) -> Self::Tuple;
}

impl<T: Element> Arguments for T {
    type Tuple = (T,);

    #[inline(always)]
    fn tuple(self) -> (T,) {
        (self,)
    }
}

impl<T: Element, U: Element> Arguments for (T, U) {
    type Tuple = (T, U);

    #[inline(always)]
    fn tuple(self) -> (T, U) {
        self
    }
}

/// Items on the host that are made as they are read.
pub trait Make: Copy + Send + Sync {
    /// What is made.
    type Item;

    /// Number of items.
    fn len(&self) -> usize;

    /// Whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those of these numbers, which are among them, in order.
    fn make(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = Self::Item> + ExactSizeIterator;

    /// The one of this number, which is among them.
    fn item(&self, number: usize) -> Self::Item;
}

impl<T: Element> Make for &[T] {
    type Item = T;

    #[inline(always)]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline(always)]
    fn make(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        self[range].iter().copied()
    }

    #[inline(always)]
    fn item(&self, number: usize) -> T {
        self[number]
    }
}

/// How an item is made.
#[derive(Clone, Debug)]
pub enum Formula {
    /// The item of the same number in the array of this number.
    Item(usize),
    /// An item anywhere in the array of this number among those that are read so.
    Anywhere {
        /// Which array.
        array: usize,
        /// Which of its items.
        index: Box<Index>,
        /// The parameter that says the number of its last item, behind which nothing is read.
        last: usize,
    },
    /// A parameter.
    Value(usize),
    /// What a parameter counts on from, an integer of this type, and so many.
    Counted(Dtype, usize, Box<Index>),
    /// The prefix that a scan has found.
    Prefix,
    /// 1 of an item of which a condition holds, else 0. No part of another formula.
    Indicator(Box<Condition>),
    /// What a function gives.
    Call(&'static Function, Vec<Formula>),
}

/// The number of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// That of the item that is made.
    Own,
    /// `first + step · of`, modulo 2^64, which are parameters.
    Line {
        /// The number that is multiplied.
        of: Box<Index>,
        /// The parameter that is added.
        first: usize,
        /// The parameter that it is multiplied with.
        step: usize,
    },
    /// What is made, an unsigned integer of this type; but the number that a parameter says, if it is larger.
    Gathered(Box<Formula>, Dtype, usize),
}

/// How a language of kernels says what formulas consist of: expressions. `structure` is the name of the structure that is wanted,
/// where it is one; numbers of items have as many bits as the language counts items with, or 64 if they are `long`.
pub trait Terms {
    /// The item of an array that is read in order.
    fn item(&self, array: usize, structure: &str) -> String;

    /// The item that was read of an array that is read anywhere.
    fn anywhere(&self, array: usize, structure: &str) -> String;

    /// Unsigned integers with all bits of the item of an array that is read in order: it is of such, or a structure.
    fn item_bits(&self, array: usize) -> Vec<String>;

    /// The same of the item that was read of an array that is read anywhere.
    fn anywhere_bits(&self, array: usize) -> Vec<String>;

    /// A parameter.
    fn value(&self, parameter: usize, structure: &str) -> String;

    /// The prefix that a scan has found.
    fn prefix(&self) -> String;

    /// The number of the item that is made.
    fn number(&self, long: bool) -> String;

    /// A parameter as the number of an item.
    fn index(&self, parameter: usize, long: bool) -> String;

    /// A value of an unsigned type as the number of an item, at most the one that a parameter says.
    fn within(&self, value: &str, of: Dtype, last: usize, long: bool) -> String;

    /// A number of an item as an integer of this type, counted on from a parameter.
    fn counted(&self, of: Dtype, start: usize, number: &str) -> String;
}

impl Formula {
    /// An expression for the item, in any language that calls functions as Rust does.
    pub fn text(&self, functions: &Composition, terms: &impl Terms) -> String {
        self.text_as("Value", functions, terms)
    }

    /// The same where an item that no function makes is a structure of this name.
    pub fn text_as(&self, structure: &str, functions: &Composition, terms: &impl Terms) -> String {
        match self {
            Formula::Item(array) => terms.item(*array, structure),
            Formula::Anywhere { array, .. } => terms.anywhere(*array, structure),
            Formula::Value(parameter) => terms.value(*parameter, structure),
            Formula::Counted(of, start, index) => {
                terms.counted(*of, *start, &index.text(of.size() > 4, functions, terms))
            }
            Formula::Prefix => terms.prefix(),
            // Conditions are text of the backends'.
            Formula::Indicator(_) => String::new(),
            Formula::Call(function, arguments) => {
                let Some(named) = functions.named(function) else { return String::new() };
                let arguments = arguments.iter().zip(&named.parameters);
                let arguments: Vec<_> =
                    arguments.map(|(from, of)| from.text_as(of, functions, terms)).collect();
                format!("{}({})", named.name, arguments.join(", "))
            }
        }
    }

    /// Expressions for unsigned integers with all of its bits, as [`Terms::item_bits`] has them; what is made is such an integer itself.
    pub fn bits(&self, functions: &Composition, terms: &impl Terms) -> Vec<String> {
        match self {
            Formula::Item(array) => terms.item_bits(*array),
            Formula::Anywhere { array, .. } => terms.anywhere_bits(*array),
            made => vec![made.text(functions, terms)],
        }
    }

    /// The type that a function gives, as kernels name it; `None` of what no function makes.
    pub fn result<'a>(&self, functions: &'a Composition) -> Option<&'a str> {
        let Formula::Call(function, _) = self else { return None };
        functions.named(function).map(|named| &*named.result)
    }

    /// Calls `body` with every part of it, what is made first before what is made of it.
    pub fn for_each<'a>(&'a self, body: &mut impl FnMut(&'a Formula)) {
        match self {
            Formula::Anywhere { index, .. } | Formula::Counted(_, _, index) => {
                index.for_each(body);
            }
            Formula::Call(_, arguments) => {
                arguments.iter().for_each(|argument| argument.for_each(body));
            }
            Formula::Indicator(condition) => condition.for_each(body),
            Formula::Item(_) | Formula::Value(_) | Formula::Prefix => {}
        }
        body(self);
    }
}

impl Index {
    /// An expression for it.
    pub fn text(&self, long: bool, functions: &Composition, terms: &impl Terms) -> String {
        match self {
            Index::Own => terms.number(long),
            Index::Line { of, first, step } => {
                let [first, step] = [first, step].map(|parameter| terms.index(*parameter, long));
                format!("({first} + {step} * {})", of.text(long, functions, terms))
            }
            Index::Gathered(formula, of, last) => {
                terms.within(&formula.text(functions, terms), *of, *last, long)
            }
        }
    }

    fn for_each<'a>(&'a self, body: &mut impl FnMut(&'a Formula)) {
        match self {
            Index::Own => {}
            Index::Line { of, .. } => of.for_each(body),
            Index::Gathered(formula, ..) => formula.for_each(body),
        }
    }

    /// Whether the number of the item that is made is asked for.
    fn is_numbered(&self) -> bool {
        match self {
            Index::Own => true,
            Index::Line { of, .. } => of.is_numbered(),
            // What it is made of is looked at by itself.
            Index::Gathered(..) => false,
        }
    }
}

// A function is only itself.
impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Formula::Item(own), Formula::Item(other)) => own == other,
            (Formula::Value(own), Formula::Value(other)) => own == other,
            (Formula::Prefix, Formula::Prefix) => true,
            (Formula::Indicator(own), Formula::Indicator(other)) => own == other,
            (
                Formula::Anywhere { array, index, last },
                Formula::Anywhere { array: other, index: number, last: end },
            ) => (array, index, last) == (other, number, end),
            (Formula::Counted(of, start, index), Formula::Counted(other, first, number)) => {
                (of, start, index) == (other, first, number)
            }
            (Formula::Call(own, from), Formula::Call(other, of)) => {
                core::ptr::eq(*own, *other) && from == of
            }
            _ => false,
        }
    }
}

impl Eq for Formula {}

impl Hash for Formula {
    fn hash<H: Hasher>(&self, state: &mut H) {
        core::mem::discriminant(self).hash(state);
        match self {
            Formula::Item(number) | Formula::Value(number) => number.hash(state),
            Formula::Anywhere { array, index, last } => (array, index, last).hash(state),
            Formula::Counted(of, start, index) => (of, start, index).hash(state),
            Formula::Prefix => {}
            Formula::Indicator(condition) => condition.hash(state),
            Formula::Call(function, arguments) => {
                core::ptr::from_ref(*function).hash(state);
                arguments.hash(state);
            }
        }
    }
}

/// What kernels make of several arrays as they read them. It says nothing of the values of parameters, so that one kernel serves
/// for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// What is made.
    pub item: Kind,
    /// Of what the arrays are that are read in order.
    pub arrays: Vec<Kind>,
    /// Of what those are that are read anywhere. Numbers of an array's items are made of arrays in front of it.
    pub anywhere: Vec<Kind>,
    /// Of what the parameters are, whose words follow one another.
    pub parameters: Vec<Kind>,
    /// What an item is made of.
    pub formula: Formula,
    /// What is written of each prefix that a scan has found, if that is not the prefix.
    pub written: Option<Formula>,
    /// Which of the items are selected, where not all are wanted.
    pub condition: Option<Condition>,
    /// What follows from lengths that only the device knows.
    pub lengths: DeviceLengths,
}

/// Lengths that only the device knows, and the numbers that it derives from them at each launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceLengths {
    /// Each of them.
    pub all: Vec<DeviceLength>,
    /// How many items are made; none if that follows from no length here.
    pub items: Option<Quotient>,
    /// Parameters that the device replaces.
    pub derived: Vec<Derived>,
}

/// A length that only the device knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceLength {
    /// The parameter with its bound.
    pub bound: usize,
    /// Whether items are gathered from what is so long: with length 0, no index stands for an item.
    pub is_gathered: bool,
}

/// A length divided by a step, rounded up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quotient {
    /// Which of the lengths.
    pub length: usize,
    /// The parameter with the step.
    pub divisor: usize,
}

/// A parameter of 64 bits that follows from a length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Derived {
    /// Which parameter.
    pub parameter: usize,
    /// From what it follows.
    pub quotient: Quotient,
    /// How.
    pub derivation: Derivation,
}

/// How a parameter follows from a quotient of a length. The host's value of it is where the device begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Derivation {
    /// The number of the last of so many items, 0 if there are none; at most the host's value.
    Last,
    /// The host's value plus the quotient times another parameter, modulo 2^64. Several such terms add up.
    Term {
        /// The parameter that the quotient is multiplied with.
        coefficient: usize,
    },
}

/// Of which items something holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// All of them.
    All,
    /// Those of which a `bool` is true.
    Holds(Formula),
    /// Those of which the item of the same number, in the array of this number, has a bit that is set.
    IsSet(usize),
    /// The first of all, and those of which the first formula has other bits than of the item in front. The second is that: the same array,
    /// read anywhere, whatever it has for the first item of all.
    Begins(Formula, Formula),
    /// Those of which this does not hold.
    Not(Box<Condition>),
    /// Those of which both hold.
    Both(Box<Condition>, Box<Condition>),
}

impl Condition {
    /// Calls `body` with every part of its formulas, what is made first before what is made of it.
    fn for_each<'a>(&'a self, body: &mut impl FnMut(&'a Formula)) {
        match self {
            Self::Holds(formula) => formula.for_each(body),
            Self::Begins(own, front) => {
                own.for_each(body);
                front.for_each(body);
            }
            Self::All | Self::IsSet(_) => {}
            Self::Not(other) => other.for_each(body),
            Self::Both(own, other) => {
                own.for_each(body);
                other.for_each(body);
            }
        }
    }

    /// What is compared with the same of the item in front, if that is asked for.
    pub fn compared(&self) -> Option<&Formula> {
        match self {
            Self::Begins(own, _) => Some(own),
            Self::Not(other) => other.compared(),
            Self::Both(own, other) => own.compared().or_else(|| other.compared()),
            Self::All | Self::Holds(_) | Self::IsSet(_) => None,
        }
    }

    /// The same of those arrays alone that have its flags, whose numbers are added to `arrays`; `None` if anything else says it.
    fn by_flags(&self, arrays: &mut Vec<usize>) -> Option<Self> {
        Some(match self {
            Self::All => Self::All,
            Self::IsSet(array) => {
                let known = arrays.iter().position(|other| other == array);
                Self::IsSet(known.unwrap_or_else(|| {
                    arrays.push(*array);
                    arrays.len() - 1
                }))
            }
            Self::Not(other) => Self::Not(Box::new(other.by_flags(arrays)?)),
            Self::Both(own, other) => {
                let own = own.by_flags(arrays)?;
                Self::Both(Box::new(own), Box::new(other.by_flags(arrays)?))
            }
            Self::Holds(_) | Self::Begins(..) => return None,
        })
    }

    /// Of three parts, of which this condition says the first and another one the second: the conditions of each.
    #[must_use]
    pub fn in_three(self, second: Self) -> [Self; 3] {
        let not = |condition: &Self| Box::new(Self::Not(Box::new(condition.clone())));
        let rest = Self::Both(not(&self), not(&second));
        let middle = Self::Both(not(&self), Box::new(second));
        [self, middle, rest]
    }
}

/// The kind by which items are dealt out that are made of no array; and of numbers that say whether a condition holds.
const COUNTED: Kind = Kind::Number(Dtype::U32);

impl Recipe {
    /// What is made of the items of arrays that are read in order.
    pub fn of_arrays(item: Kind, arrays: Vec<Kind>, formula: Formula) -> Self {
        let (anywhere, parameters) = (Vec::new(), Vec::new());
        let lengths = DeviceLengths::default();
        let (written, condition) = (None, None);
        Self { item, arrays, anywhere, parameters, formula, written, condition, lengths }
    }

    /// The first item of each run of the same bits, of an array that is handed over twice: read in order, and anywhere. Its parameters are those
    /// of [`words_of_runs`](Recipe::words_of_runs).
    pub fn of_runs(kind: Kind) -> Self {
        let index = Box::new(Index::Line { of: Box::new(Index::Own), first: 0, step: 1 });
        let in_front = Formula::Anywhere { array: 0, index, last: 2 };
        Self {
            anywhere: vec![kind],
            parameters: vec![Kind::Number(Dtype::U64); 3],
            condition: Some(Condition::Begins(Formula::Item(0), in_front)),
            ..Self::of_arrays(kind, vec![kind], Formula::Item(0))
        }
    }

    /// The words of its parameters for so many items: in front of item `i` is item `-1 + 1 * i`, none of which is behind the last.
    pub fn words_of_runs(items: u64) -> [u32; 6] {
        let last = items.saturating_sub(1);
        [u32::MAX, u32::MAX, 1, 0, last as u32, (last >> 32) as u32]
    }

    /// The number of the first array, of those that are read in order, with the longest items, which says how the others are read.
    pub fn widest_number(&self) -> usize {
        let numbers = (0..self.arrays.len()).rev();
        numbers.max_by_key(|&number| self.arrays[number].size()).unwrap_or(0)
    }

    /// Of what that array is; numbers if there is none.
    pub fn widest(&self) -> Kind {
        self.arrays.get(self.widest_number()).copied().unwrap_or(COUNTED)
    }

    /// How many arrays are read.
    pub fn all_arrays(&self) -> usize {
        self.arrays.len() + self.anywhere.len()
    }

    /// Items that are read at once, where all arrays are: as many as 16 bytes hold of the longest.
    pub fn items_of_access(&self) -> u32 {
        let anywhere = self.anywhere.iter().map(|kind| kind.size()).max();
        let most = self.widest().size().max(anywhere.unwrap_or(1)).max(1);
        (16 / most).max(1) as u32
    }

    /// Calls `body` with every part of its formulas, what is made first before what is made of it.
    pub fn for_each<'a>(&'a self, body: &mut impl FnMut(&'a Formula)) {
        self.formula.for_each(body);
        self.written.iter().for_each(|written| written.for_each(body));
        self.condition.iter().for_each(|condition| condition.for_each(body));
    }

    /// The functions that it calls.
    pub fn functions(&self) -> Vec<&'static Function> {
        let mut functions = Vec::new();
        self.for_each(&mut |part| {
            if let Formula::Call(function, _) = part {
                functions.push(*function);
            }
        });
        functions
    }

    /// A recipe of as many numbers as items, 1 where the condition holds and else 0, whose sum is how many are selected; and which of the arrays
    /// it reads in order. Flags are read without the items beside them.
    pub fn indicator(&self) -> (Self, Vec<usize>) {
        let condition = self.condition.clone().unwrap_or(Condition::All);
        let mut flags = Vec::new();
        let (condition, arrays, anywhere) = match condition.by_flags(&mut flags) {
            Some(condition) if !flags.is_empty() => (condition, flags, Vec::new()),
            _ => (condition, (0..self.arrays.len()).collect(), self.anywhere.clone()),
        };
        let counted = Self {
            item: COUNTED,
            arrays: arrays.iter().map(|&array| self.arrays[array]).collect(),
            anywhere,
            parameters: self.parameters.clone(),
            formula: Formula::Indicator(Box::new(condition)),
            written: None,
            condition: None,
            lengths: self.lengths.clone(),
        };
        (counted, arrays)
    }

    /// What is read or handed over as a value, arrays and all.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds = [&self.arrays[..], &self.anywhere[..]].concat();
        self.for_each(&mut |part| match part {
            Formula::Value(parameter) => kinds.extend(self.parameters.get(*parameter)),
            Formula::Counted(of, ..) => kinds.push(Kind::Number(*of)),
            _ => {}
        });
        kinds
    }

    /// Whether it asks for the number of the item that is made.
    pub fn is_numbered(&self) -> bool {
        let mut is_numbered = false;
        self.for_each(&mut |part| {
            if let Formula::Anywhere { index, .. } | Formula::Counted(_, _, index) = part {
                is_numbered |= index.is_numbered();
            }
        });
        is_numbered
    }

    /// The number of the first word of a parameter.
    pub fn word_of(&self, parameter: usize) -> usize {
        self.parameters.iter().take(parameter).copied().map(words_of).sum()
    }

    /// A parameter of 64 bits among the words of all.
    pub fn number_in(&self, words: &[u32], parameter: usize) -> u64 {
        let at = self.word_of(parameter);
        let word = |at: usize| u64::from(words.get(at).copied().unwrap_or(0));
        word(at) | word(at + 1) << 32
    }

    /// Words of all parameters.
    pub fn words(&self) -> usize {
        self.word_of(self.parameters.len())
    }

    /// Of arrays that are read anywhere, in their order, and as far as anything asks for them: which one, the numbers of items that it is read at, and
    /// the parameter that says which of its items is the last.
    pub fn indices(&self) -> Vec<(usize, &Index, usize)> {
        let mut indices = vec![None; self.anywhere.len()];
        self.for_each(&mut |part| {
            if let Formula::Anywhere { array, index, last } = part
                && let Some(own) = indices.get_mut(*array)
            {
                *own = Some((&**index, *last));
            }
        });
        let found = indices.into_iter().enumerate();
        found.filter_map(|(array, found)| found.map(|(index, last)| (array, index, last))).collect()
    }
}
