//! Items that are made as they are read, in WGSL.

use core::hash::{Hash, Hasher};
use std::sync::Arc;

use upsweep_core::kernel::{Composition, Function, compose};
use upsweep_core::{Dtype, Kind, Language, Recipe};

use super::Op;
use super::types::{access, is_whole, unpack_as};
use crate::slice::Slice;

/// Most arrays that a kernel reads: it has four words for where they begin.
pub(crate) const MOST_ARRAYS: usize = 4;

/// The bindings of arrays: those between are the output, the state and the parameters.
pub(crate) const BINDINGS: [u32; MOST_ARRAYS] = [0, 4, 5, 6];

/// A recipe, and the functions that it calls.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) recipe: Recipe,
    functions: Arc<Composition>,
}

// Operators of one name may stand beside one recipe. The text of the same functions is made once, and so is only itself.
impl PartialEq for Made {
    fn eq(&self, other: &Self) -> bool {
        self.recipe == other.recipe && Arc::ptr_eq(&self.functions, &other.functions)
    }
}

impl Eq for Made {}

impl Hash for Made {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.recipe.hash(state);
    }
}

impl Made {
    /// The recipe's functions and the operator in one text, of which the operator calls its own; `None` if one of them has none.
    pub(crate) fn of(
        recipe: &Recipe,
        op: Op,
        operator: Option<&'static Function>,
    ) -> Option<(Self, Op)> {
        let mut functions = Vec::new();
        recipe.formula.for_each_function(&mut |function| functions.push(function));
        let own = match &op {
            Op::Custom { .. } => Some(operator?),
            _ => None,
        };
        functions.extend(own);
        let functions = compose(Language::Wgsl, &functions).ok()?;
        let op = match (op, functions.functions.last().filter(|_| own.is_some())) {
            (Op::Custom { name, exact, commutative, structure, numbers, .. }, Some(called)) => {
                Op::Custom {
                    name,
                    exact,
                    commutative,
                    declarations: String::new(),
                    structure: if structure.is_empty() { structure } else { called.result.clone() },
                    combine: format!("return {}(left, right);", called.name),
                    numbers,
                }
            }
            (op, _) => op,
        };
        Some((Self { recipe: recipe.clone(), functions }, op))
    }

    /// The functions.
    pub(crate) fn declarations(&self) -> &str {
        &self.functions.declarations
    }

    /// The types of numbers that the text computes with.
    pub(crate) fn numbers(&self) -> &[Dtype] {
        &self.functions.numbers
    }

    /// The type of items.
    pub(crate) fn item(&self) -> &str {
        let mut calls = 0usize;
        self.recipe.formula.for_each_function(&mut |_| calls += 1);
        let last = calls.checked_sub(1).and_then(|last| self.functions.functions.get(last));
        last.map_or("u32", |function| &function.result)
    }

    /// How many items are read at once: as many of the longest as an access has, if all arrays begin where such accesses may, and
    /// all bindings hold whole ones.
    pub(crate) fn items_at_once(&self, inputs: &[Slice<'_>], alignment: u64) -> u32 {
        let most = (16 / self.recipe.widest().size().max(1)).max(1) as u32;
        let begins = |(slice, &kind): (&Slice<'_>, &Kind)| {
            let wanted = most * kind.size() as u32;
            is_whole(kind) || slice.access(kind, alignment, wanted.max(4)) == (wanted.max(4), true)
        };
        if inputs.iter().zip(&self.recipe.arrays).all(begins) { most } else { 1 }
    }

    /// How items are read, so many at once of each array.
    pub(crate) fn text(&self, items: u32) -> String {
        let arrays: Vec<Array> = (0..)
            .zip(&self.recipe.arrays)
            .map(|(number, &kind)| Array { number, kind, items })
            .collect();
        let types = self.recipe.formula.types(&self.functions.functions);
        let made = |v: usize| {
            let of_array = |k: usize| arrays[k].unpacked(&types[k])[v].clone();
            self.recipe.formula.text(&self.functions.functions, &of_array)
        };
        let all = |each: fn(&Array) -> String| arrays.iter().map(each).collect::<String>();
        let unpacked: Vec<String> = (0..items as usize).map(made).collect();
        let fetched: Vec<String> = arrays.iter().map(Array::fetched).collect();
        format!(
            "const ACCESS_ITEMS = {items}u;\n\
             {bindings}\
             struct Access {{ {fields} }}\n\
             fn fetch(item: u32) -> Access {{ return Access({fetched}); }}\n\
             /// Of several arrays nobody asks for an access by its number.\n\
             fn read_access(at: u32) -> Access {{ return fetch(at * ACCESS_ITEMS); }}\n\
             fn unpack(access: Access) -> array<Item, ACCESS_ITEMS> {{\n\
             \x20   return array<Item, ACCESS_ITEMS>({unpacked});\n}}\n",
            bindings = all(Array::binding),
            fields = all(|array| format!("in{}: {}, ", array.number, array.access())),
            fetched = fetched.join(", "),
            unpacked = unpacked.join(", "),
        )
    }
}

/// One of the arrays, of which so many items are read at once.
struct Array {
    number: usize,
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
        let width = (self.items * self.kind.size() as u32).max(4);
        access(self.kind, width).map_or_else(|| "u32".to_owned(), |(name, _)| name)
    }

    fn binding(&self) -> String {
        format!(
            "@group(0) @binding({}) var<storage, read> in{}: array<{}>;\n",
            BINDINGS[self.number],
            self.number,
            self.access()
        )
    }

    /// An expression for the access that begins with `item`; of less than a word, shifted to its beginning.
    fn fetched(&self) -> String {
        let Self { number, kind, .. } = self;
        let at = format!("(parameters.starts.{} + item)", ["x", "y", "z", "w"][*number]);
        match self.of_word() {
            Some(each) => {
                format!("in{number}[{at} / {each}u] >> ({}u * ({at} % {each}u))", 8 * kind.size())
            }
            None => format!("in{number}[{at} / ACCESS_ITEMS]"),
        }
    }

    /// Expressions for the items, structures having this name.
    fn unpacked(&self, name: &str) -> Vec<String> {
        let width = (self.items * self.kind.size() as u32).max(4);
        unpack_as(self.kind, width, &format!("access.in{}", self.number), name)
    }
}
