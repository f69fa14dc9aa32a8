//! The annotations of upsweep, which re-exports them: `#[operator]`, `#[function]`, `#[derive(Element)]`.
//!
//! An annotated function stays what it is, for the CPU. Beside it stands what it says, as constant data: a tree that
//! `upsweep_core::kernel` writes as WGSL or as CUDA C++ when a GPU asks for it. What kernels cannot say is an error where it is
//! written. `docs/operators.md` lists what they can.

mod element;
mod expression;
mod fields;
mod function;
mod open;
mod operator;
mod scope;

use proc_macro::TokenStream;
use syn::{DeriveInput, Item, parse_macro_input};

fn output(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(|error| error.into_compile_error()).into()
}

/// Makes an associative operator of a function of two values, or of a structure that has one.
///
/// `fn last_set(left, right)` gives the operator `LastSet`, with the function's visibility and documentation; the function
/// can be called as before. On GPUs the operator runs as WGSL or CUDA C++ with the meaning of the Rust code. `left` is the
/// earlier item.
///
/// # Arguments
/// - `identity = …`: what the operator gives for no items.
/// - `commutative`: items may be combined in any order.
/// - `exact`: grouping cannot be seen in the result, although the type rounds, as for a maximum.
/// - `padding = …`: what leaves every other value as it is, bit for bit, if the identity does not.
/// - `name = …`: the operator's name, if another is wanted.
///
#[doc = include_str!("../docs/operator.md")]
#[proc_macro_attribute]
pub fn operator(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let declared = parse_macro_input!(arguments as operator::OperatorArguments);
    let item = parse_macro_input!(item as Item);
    output(match &item {
        Item::Fn(function) => operator::expand(&declared, function),
        Item::Impl(block) => operator::expand_block(&declared, block),
        other => expression::at(
            other,
            "write a function, or an `impl` block with `fn identity(self)` and `fn combine(self, left, right)`",
        ),
    })
}

/// Lets operators and other annotated functions call a function on every device.
///
#[doc = include_str!("../docs/function.md")]
#[proc_macro_attribute]
pub fn function(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as Item);
    if !arguments.is_empty() {
        let place = proc_macro2::TokenStream::from(arguments);
        return output(expression::at(place, "`#[function]` takes no arguments"));
    }
    output(match &item {
        Item::Fn(function) => function::expand(function),
        Item::Impl(block) => fields::expand(block),
        other => {
            expression::at(other, "write a function, or an `impl` block with `fn apply(self, …)`")
        }
    })
}

/// Makes an item of arrays of a `#[repr(C)]` structure of numbers without gaps.
///
/// The structure is combined as itself. It is exact if all its fields are. Annotated functions can read its fields, take it
/// apart and make new ones.
///
#[doc = include_str!("../docs/element.md")]
#[proc_macro_derive(Element)]
pub fn element(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    output(element::expand(&input))
}
