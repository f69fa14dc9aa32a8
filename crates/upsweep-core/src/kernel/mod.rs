//! Functions of the caller's in kernels: from plain Rust to WGSL and CUDA C++.
//!
//! The annotations `#[operator]`, `#[function]` and `#[derive(Element)]` leave the Rust code as it is, for the CPU, and write
//! down beside it what it says: a [`Function`] is a tree of constant data. A macro sees no types; this module finds them, and
//! writes the tree as text with the meaning that it has in Rust. `docs/operators.md` lists what may be written.
//!
//! - [`Function`] … [`Method`]: the tree; [`Type`], [`Struct`], [`Value`]: types and constants.
//! - [`Described`]: which Rust types there are in kernels; [`Callable`]: which functions.
//! - [`Module`]: functions become text; [`field`]: what fields are called there; [`Texts`]: an operator's text, made once;
//!   [`compose`]: that of several functions in one kernel.
//! - [`Definition`]: a function that is known when a program runs.

mod compose;
mod definition;
mod helpers;
mod lower;
mod module;
mod operations;
mod spelling;
mod texts;
mod tree;
mod types;

pub use compose::{Composition, Named, compose};
pub use definition::{Defined, Definition, Step, Term, ValueType};
pub use module::{Module, Refused, field};
pub use texts::Texts;
pub use tree::{Arm, Binary, Block, Expression, Function, Method, Pattern, Statement, Unary};
pub use types::{Described, Operand, Struct, Type, Value};

/// A function that kernels can call: what an annotation implements for a type of the function's name.
#[diagnostic::on_unimplemented(
    message = "kernels cannot call `{Self}`",
    label = "not an annotated function",
    note = "annotate it with `#[upsweep::function]`, or write a structure with the names of its fields"
)]
pub trait Callable {
    /// The function.
    const FUNCTION: &'static Function;
}

/// A value that may stand beside an operator: what annotations write around operands in the copy of a function that is only
/// looked at.
pub fn operand<T: Operand>(value: T) -> T {
    value
}
