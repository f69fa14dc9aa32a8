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
/// # Examples
/// ```
/// use upsweep::{Device, inclusive_scan, laws, reduce};
///
/// /// The last item that is not 0.
/// #[upsweep::operator(identity = 0)]
/// fn last_set(left: u32, right: u32) -> u32 {
///     if right == 0 { left } else { right }
/// }
///
/// laws::check(&LastSet, &[0, 1, 2, 7])?;
/// let device = Device::cpu();
/// assert_eq!(reduce(&device, &[3u32, 0, 5, 0], LastSet)?, 5);
/// assert_eq!(inclusive_scan(&device, &[3u32, 0, 5, 0], LastSet)?.into_vec()?, [3, 3, 5, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// On an `impl` block it makes operators of the values of a structure, which derives [`Element`](macro@Element): `combine` takes
/// the fields as `self` and two values behind them, and `identity` says what it gives for no items; so does `padding`, if it is
/// another value. The block is the operator's own Rust; only `combine` becomes text for kernels. They are handed the fields, the
/// identity and the padding at each launch, so that a structure has one kernel, whatever its values are.
///
/// ```
/// use upsweep::{Device, Element, inclusive_scan, laws, reduce};
///
/// /// The sum modulo a number. Items are less than it.
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Modulo {
///     modulus: u32,
/// }
///
/// #[upsweep::operator(commutative)]
/// impl Modulo {
///     fn identity(self) -> u32 {
///         0
///     }
///
///     fn combine(self, left: u32, right: u32) -> u32 {
///         let room = self.modulus - right;
///         if left >= room { left - room } else { left + right }
///     }
/// }
///
/// let (device, seven) = (Device::cpu(), Modulo { modulus: 7 });
/// laws::check(&seven, &[0, 1, 5, 6])?;
/// assert_eq!(reduce(&device, &[3u32, 5, 6], seven)?, 0);
/// assert_eq!(inclusive_scan(&device, &[3u32, 5, 6], seven)?.into_vec()?, [3, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[proc_macro_attribute]
pub fn operator(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let declared = parse_macro_input!(arguments as operator::Declared);
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
/// # Examples
/// ```
/// use upsweep::{Device, reduce};
///
/// /// The sum of two residues.
/// #[upsweep::function]
/// fn added(left: u32, right: u32, modulus: u32) -> u32 {
///     let room = modulus - right;
///     if left >= room { left - room } else { left + right }
/// }
///
/// #[upsweep::operator(identity = 0, commutative)]
/// fn sum_of_residues(left: u32, right: u32) -> u32 {
///     added(left, right, 4_000_000_007)
/// }
///
/// assert_eq!(reduce(&Device::cpu(), &[4_000_000_000u32, 10], SumOfResidues)?, 3);
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// On an `impl` block it makes a function of the values of a structure, which derives [`Element`](macro@Element): `apply` takes
/// the fields as `self`, and an item or two behind them. Fields are handed to kernels at each launch: a structure has one kernel,
/// whatever its values are.
///
/// ```
/// use upsweep::{Device, Element, Fused, Sum, View};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Greater {
///     threshold: f32,
/// }
///
/// #[upsweep::function]
/// impl Greater {
///     fn apply(self, value: f32) -> u32 {
///         (value > self.threshold) as u32
///     }
/// }
///
/// let (device, items) = (Device::cpu(), [1.0f32, 2.0, 3.0, 4.0]);
/// let above = |threshold| View::from(&items).map(Greater { threshold }).reduce(&device, Sum);
/// assert_eq!((above(2.5)?, above(0.0)?), (2, 4));
/// # Ok::<(), upsweep::Error>(())
/// ```
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
/// # Examples
/// ```
/// use upsweep::{Device, Element, inclusive_scan};
///
/// /// The map x → scale · x + shift.
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Affine {
///     scale: f32,
///     shift: f32,
/// }
///
/// /// One map after another.
/// #[upsweep::operator(identity = Affine { scale: 1.0, shift: 0.0 })]
/// fn compose(left: Affine, right: Affine) -> Affine {
///     Affine { scale: right.scale * left.scale, shift: right.scale * left.shift + right.shift }
/// }
///
/// let steps = [Affine { scale: 2.0, shift: 1.0 }, Affine { scale: 3.0, shift: 0.0 }];
/// let maps = inclusive_scan(&Device::cpu(), &steps, Compose)?.into_vec()?;
/// assert_eq!(maps[1], Affine { scale: 6.0, shift: 3.0 });
/// # Ok::<(), upsweep::Error>(())
/// ```
#[proc_macro_derive(Element)]
pub fn element(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    output(element::expand(&input))
}
