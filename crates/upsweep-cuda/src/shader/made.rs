//! Items that are made as they are read, in CUDA C++.

use std::sync::Arc;

use core::hash::{Hash, Hasher};
use upsweep_core::kernel::{Composition, Function, compose};
use upsweep_core::{Kind, Language, Recipe};

use super::Op;
use super::types::{access, in_memory, is_whole, unpack_as};
use crate::slice::Slice;

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
        let functions = compose(Language::Cuda, &functions).ok()?;
        let op = match (op, functions.functions.last().filter(|_| own.is_some())) {
            (Op::Custom { name, exact, commutative, structure, .. }, Some(called)) => Op::Custom {
                name,
                exact,
                commutative,
                declarations: String::new(),
                structure: if structure.is_empty() { structure } else { called.result.clone() },
                combine: format!("return {}(left, right);", called.name),
            },
            (op, _) => op,
        };
        Some((Self { recipe: recipe.clone(), functions }, op))
    }

    /// The functions.
    pub(crate) fn declarations(&self) -> &str {
        &self.functions.declarations
    }

    fn calls(&self) -> usize {
        let mut calls = 0;
        self.recipe.formula.for_each_function(&mut |_| calls += 1);
        calls
    }

    /// The type of items.
    pub(crate) fn item(&self) -> &str {
        let last = self.calls().checked_sub(1).and_then(|last| self.functions.functions.get(last));
        last.map_or("u32", |function| &function.result)
    }

    /// How many items are read at once: as many of the longest as an access has, if all arrays begin where such accesses may.
    pub(crate) fn items_at_once(&self, inputs: &[Slice<'_>]) -> u32 {
        let most = (16 / self.recipe.widest().size().max(1)).max(1) as u64;
        let begins = |slice: &Slice<'_>| {
            let bytes = most * slice.kind().size() as u64;
            is_whole(slice.kind()) || slice.pointer().is_multiple_of(bytes.min(16))
        };
        if inputs.iter().all(begins) { most as u32 } else { 1 }
    }

    /// How items are read, so many at once of each array; and one. `fields` stand beside the arrays, and are `kept` as they are.
    pub(crate) fn text(&self, items: u32, [fields, kept]: &[String; 2]) -> String {
        let arrays: Vec<(usize, &Kind)> = self.recipe.arrays.iter().enumerate().collect();
        let types = self.recipe.formula.types(&self.functions.functions);
        let all = |each: &dyn Fn(usize, Kind) -> String| -> String {
            arrays.iter().map(|(k, kind)| each(*k, **kind)).collect()
        };
        let listed = |each: &dyn Fn(usize, Kind) -> String| -> String {
            arrays.iter().map(|(k, kind)| each(*k, **kind)).collect::<Vec<_>>().join(", ")
        };
        let memory = in_memory;
        let wide =
            |kind: Kind| access(kind, items * kind.size() as u32).map_or("u32", |(name, _)| name);
        // Expressions for an item whose arrays' items are these.
        let made =
            |of: &dyn Fn(usize) -> String| self.recipe.formula.text(&self.functions.functions, of);
        let unpacked = (0..items as usize).map(|v| {
            made(&|k| {
                let kind = self.recipe.arrays[k];
                let width = items * kind.size() as u32;
                unpack_as(kind, width, &format!("access.in{k}"), &types[k])[v].clone()
            })
        });
        let one = made(&|k| {
            let kind = self.recipe.arrays[k];
            unpack_as(kind, kind.size() as u32, &format!("item.in{k}"), &types[k]).concat()
        });
        format!(
            "struct Access {{ {accesses} }};\n\
             struct InMemory {{ {memories} }};\n\
             constexpr u32 ACCESS_ITEMS = {items}u;\n\
             struct Items {{ Item at[ACCESS_ITEMS]; }};\n\
             inline Items unpack(const Access& access) {{ return Items{{{{{unpacked}}}}}; }}\n\
             inline Item unpack_one(const InMemory& item) {{ return {one}; }}\n\
             struct Inputs {{ {inputs}{fields}}};\n\
             inline Inputs at(const Inputs& inputs, u64 items) {{ return Inputs{{{moved}{kept}}}; }}\n\
             inline const InMemory* first_of(const Inputs& inputs) {{ return (const InMemory*)inputs.in0; }}\n\
             template <typename Offset> inline Access fetch(const Inputs& inputs, Offset item, u32 access) {{\n\
             \x20   return Access{{{fetched}}};\n}}\n\
             inline Access fetch_once(const Inputs& inputs, u32 item, u32 access) {{\n\
             \x20   return Access{{{fetched_once}}};\n}}\n\
             template <typename Offset> inline InMemory fetch_one(const Inputs& inputs, Offset item) {{\n\
             \x20   return InMemory{{{fetched_one}}};\n}}\n",
            accesses = all(&|k, kind| format!("{} in{k}; ", wide(kind))),
            memories = all(&|k, kind| format!("{} in{k}; ", memory(kind))),
            unpacked = unpacked.collect::<Vec<_>>().join(", "),
            inputs = all(&|k, kind| format!("const {}* in{k}; ", memory(kind))),
            moved = listed(&|k, _| format!("inputs.in{k} + items")),
            fetched = listed(&|k, kind| {
                format!("((const {}*)(inputs.in{k} + item))[access]", wide(kind))
            }),
            fetched_once = listed(&|k, kind| {
                format!("read((const {}*)(inputs.in{k} + item) + access)", wide(kind))
            }),
            fetched_one = listed(&|k, _| format!("inputs.in{k}[item]")),
        )
    }
}
