//! Items that are made as they are read: by functions, of what lies in one or several arrays.

use core::hash::{Hash, Hasher};
use core::ops::Range;

use crate::kernel::{Function, Named};
use crate::{Element, Kind};

/// A function that every device can call: `name {}` for a function `name` with `#[upsweep::function]`.
pub trait Apply<Arguments>: Copy + Send + Sync + 'static {
    /// What it gives.
    type Output;

    /// Calls it.
    fn apply(&self, arguments: Arguments) -> Self::Output;

    /// What it says.
    fn function(&self) -> &'static Function;
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
    fn make(&self, range: Range<usize>) -> impl Iterator<Item = Self::Item>;
}

impl<T: Element> Make for &[T] {
    type Item = T;

    #[inline(always)]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline(always)]
    fn make(&self, range: Range<usize>) -> impl Iterator<Item = T> {
        self[range].iter().copied()
    }
}

/// How an item is made of those of the same number in arrays.
#[derive(Clone, Debug)]
pub enum Formula {
    /// The item of the array of this number.
    Item(usize),
    /// What a function gives.
    Call(&'static Function, Vec<Formula>),
}

impl Formula {
    /// An expression for the item, in any language that calls functions as Rust does; `item` gives those for items of arrays.
    /// `functions` are those of [`for_each_function`](Formula::for_each_function), in its order.
    pub fn text(&self, functions: &[Named], item: &dyn Fn(usize) -> String) -> String {
        self.text_of(&mut functions.iter(), item)
    }

    fn text_of<'a>(
        &self,
        functions: &mut impl Iterator<Item = &'a Named>,
        item: &dyn Fn(usize) -> String,
    ) -> String {
        match self {
            Formula::Item(number) => item(*number),
            Formula::Call(_, arguments) => {
                let arguments: Vec<_> =
                    arguments.iter().map(|argument| argument.text_of(functions, item)).collect();
                let name = functions.next().map_or("", |function| &function.name);
                format!("{name}({})", arguments.join(", "))
            }
        }
    }

    /// The types of arrays' items, as the functions that take them call them.
    pub fn types(&self, functions: &[Named]) -> Vec<String> {
        let mut types = Vec::new();
        self.types_of(&mut functions.iter(), &mut types);
        types
    }

    fn types_of<'a>(
        &self,
        functions: &mut impl Iterator<Item = &'a Named>,
        types: &mut Vec<String>,
    ) {
        let Formula::Call(_, arguments) = self else { return };
        arguments.iter().for_each(|argument| argument.types_of(functions, types));
        let parameters = functions.next().map_or(&[][..], |function| &function.parameters);
        for (argument, of) in arguments.iter().zip(parameters) {
            if let Formula::Item(number) = argument {
                types.resize(types.len().max(number + 1), String::new());
                types[*number].clone_from(of);
            }
        }
    }

    /// Calls `body` with every function, what is called first before what calls it.
    pub fn for_each_function(&self, body: &mut impl FnMut(&'static Function)) {
        if let Formula::Call(function, arguments) = self {
            arguments.iter().for_each(|argument| argument.for_each_function(body));
            body(function);
        }
    }
}

// A function is only itself.
impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Formula::Item(own), Formula::Item(other)) => own == other,
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
        match self {
            Formula::Item(number) => number.hash(state),
            Formula::Call(function, arguments) => {
                core::ptr::from_ref(*function).hash(state);
                arguments.hash(state);
            }
        }
    }
}

/// What kernels make of several arrays as they read them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// What is made.
    pub item: Kind,
    /// Of what the arrays are.
    pub arrays: Vec<Kind>,
    /// What an item is made of.
    pub formula: Formula,
}

impl Recipe {
    /// The number of the first array with the longest items, which says how the others are read.
    pub fn widest_number(&self) -> usize {
        let numbers = (0..self.arrays.len()).rev();
        numbers.max_by_key(|&number| self.arrays[number].size()).unwrap_or(0)
    }

    /// Of what that array is.
    pub fn widest(&self) -> Kind {
        self.arrays.get(self.widest_number()).copied().unwrap_or(Kind::Opaque)
    }
}
