//! `#[function]`: a function, and beside it what it says; or one that a structure's fields belong to.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, FnArg, Ident, ItemFn, PatType, Result, ReturnType, Type};

use crate::expression::at;
use crate::scope::Scope;

/// A function that kernels can say: its parameters and its result.
pub(crate) struct Signature {
    pub(crate) parameters: Vec<PatType>,
    pub(crate) result: Type,
}

impl Signature {
    /// That of a function without `self`.
    pub(crate) fn of(signature: &syn::Signature) -> Result<Self> {
        if let Some(FnArg::Receiver(own)) = signature.inputs.first() {
            return at(
                own,
                "kernels have functions without `self`; give the value a name and a type",
            );
        }
        Self::behind_self(signature)
    }

    /// What stands behind `self`, if there is one.
    pub(crate) fn behind_self(signature: &syn::Signature) -> Result<Self> {
        if let Some(word) = &signature.asyncness {
            return at(word, "a kernel's function waits for nothing; write a plain `fn`");
        }
        if let Some(word) = &signature.unsafety {
            return at(word, "a kernel's function is safe; write a plain `fn`");
        }
        if let Some(abi) = &signature.abi {
            return at(abi, "a kernel's function is Rust's; write a plain `fn`");
        }
        if let Some(generic) = signature.generics.params.first() {
            return at(generic, "kernels have no generic functions; write one for each type");
        }
        let typed = |input: &FnArg| match input {
            FnArg::Typed(typed) => Some(typed.clone()),
            FnArg::Receiver(_) => None,
        };
        let parameters = signature.inputs.iter().filter_map(typed).collect();
        let ReturnType::Type(_, result) = &signature.output else {
            return at(&signature.ident, "a kernel's function returns a value, as in `-> u32`");
        };
        Ok(Self { parameters, result: (**result).clone() })
    }
}

/// The type of kernels that a type of the source is.
pub(crate) fn type_of(of: &Type) -> Result<TokenStream> {
    match of {
        Type::Reference(_) => {
            return at(of, "kernels have no references; write the type of the value");
        }
        Type::Slice(_) | Type::Array(_) => {
            return at(
                of,
                "kernels have no arrays; write a tuple, or a structure with a field for each",
            );
        }
        Type::Infer(_) => return at(of, "write the type; kernels are made before it is inferred"),
        Type::ImplTrait(_) | Type::TraitObject(_) => {
            return at(of, "kernels have no traits; write a type");
        }
        _ => {}
    }
    Ok(quote_spanned!(of.span()=> <#of as ::upsweep::__kernel::Described>::TYPE))
}

/// The function as it is, and a type of its name that says its tree.
pub(crate) fn expand(function: &ItemFn) -> Result<TokenStream> {
    let signature = Signature::of(&function.sig)?;
    let name = &function.sig.ident;
    let tree = tree(name, None, &signature, &function.block)?;
    let checked = checked(function);
    let visibility = &function.vis;
    let span = name.span();
    // A structure with braces stands beside the function in another namespace: whoever can name the one can name the other.
    let callable = quote_spanned! {span=>
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[allow(non_camel_case_types, dead_code, reason = "it has the name of the function whose tree it carries")]
        #visibility struct #name {}
    };
    let apply = signature.apply(&quote!(#name), &|arguments| quote!(#name(#arguments)), None);
    let has_inline = is_inline(&function.attrs);
    let inline = (!has_inline).then(|| quote!(#[inline]));
    Ok(quote! {
        #inline
        #function

        #callable

        const _: () = {
            #checked

            #tree

            impl ::upsweep::__kernel::Callable for #name {
                const FUNCTION: &'static ::upsweep::__kernel::Function = &FUNCTION;
            }
        };

        #apply
    })
}

/// Whether one of these attributes says whether it is inlined.
pub(crate) fn is_inline(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("inline"))
}

/// What a function says, as a static `FUNCTION`. `own` is the type of its `self`.
pub(crate) fn tree(
    name: &Ident,
    own: Option<&Type>,
    signature: &Signature,
    block: &syn::Block,
) -> Result<TokenStream> {
    let text = name.to_string();
    let mut scope = Scope::of(name);
    let mut trees = Vec::new();
    if let Some(own) = own {
        let (pattern, of) = (scope.own_fields(), type_of(own)?);
        trees.push(quote!((#pattern, #of)));
    }
    for PatType { pat, ty, .. } in &signature.parameters {
        let (pattern, of) = (scope.binding(pat)?, type_of(ty)?);
        trees.push(quote!((#pattern, #of)));
    }
    let of = type_of(&signature.result)?;
    let body = scope.block(block)?;
    Ok(quote! {
        static FUNCTION: ::upsweep::__kernel::Function = ::upsweep::__kernel::Function {
            name: #text,
            parameters: &[#(#trees),*],
            result: #of,
            body: #body,
        };
    })
}

impl Signature {
    /// How it is applied to items, or nothing if it takes more than two: `call` is a call with these arguments.
    pub(crate) fn apply(
        &self,
        of: &TokenStream,
        call: &dyn Fn(TokenStream) -> TokenStream,
        fields: Option<TokenStream>,
    ) -> Option<TokenStream> {
        let types: Vec<_> = self.parameters.iter().map(|parameter| &parameter.ty).collect();
        let places: Vec<_> = (0..types.len()).map(syn::Index::from).collect();
        let result = &self.result;
        let call = call(quote!(#(arguments.#places),*));
        (1..=2).contains(&types.len()).then(|| {
            quote! {
                impl ::upsweep::Apply<(#(#types,)*)> for #of {
                    type Output = #result;

                    #[inline(always)]
                    fn apply(&self, arguments: (#(#types,)*)) -> #result {
                        #call
                    }

                    fn function(&self) -> &'static ::upsweep::__kernel::Function {
                        <Self as ::upsweep::__kernel::Callable>::FUNCTION
                    }

                    #fields
                }
            }
        })
    }
}

/// A copy of the function that nobody calls, in which operands pass through a function that takes numbers alone: so Rust sees
/// that no operator or method of a caller's own is meant.
fn checked(function: &ItemFn) -> TokenStream {
    let mut copy = function.clone();
    copy.attrs.clear();
    copy.vis = syn::Visibility::Inherited;
    guarded(&mut copy.block);
    quote! {
        #[allow(warnings, clippy::all, reason = "a copy of code that is looked at as it was written")]
        #copy
    }
}

/// Lets operands pass through that function.
pub(crate) fn guarded(block: &mut syn::Block) {
    Guard.visit_block_mut(block);
}

struct Guard;

impl VisitMut for Guard {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_mut::visit_expr_mut(self, expression);
        match expression {
            Expr::Binary(binary) if !matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                guard(&mut binary.right);
                if !is_assignment(&binary.op) {
                    guard(&mut binary.left);
                }
            }
            Expr::Unary(unary) => guard(&mut unary.expr),
            Expr::MethodCall(call) => guard(&mut call.receiver),
            _ => {}
        }
    }
}

fn is_assignment(operator: &BinOp) -> bool {
    matches!(
        operator,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

fn guard(expression: &mut Box<Expr>) {
    // Literals are numbers, and have no type of their own yet.
    if matches!(**expression, Expr::Lit(_)) {
        return;
    }
    let span = expression.span();
    let inner = &**expression;
    **expression = Expr::Verbatim(quote_spanned!(span=> ::upsweep::__kernel::operand(#inner)));
}
