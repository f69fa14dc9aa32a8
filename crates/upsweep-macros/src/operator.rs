//! `#[operator]`: a function of two values as an operator.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, Ident, ItemFn, Result, Token};

use crate::expression::at;
use crate::function::{self, Signature};

/// What stands in the parentheses of the annotation.
#[derive(Default)]
pub(crate) struct Declared {
    identity: Option<Expr>,
    padding: Option<Expr>,
    name: Option<Ident>,
    commutative: bool,
    exact: bool,
}

impl Parse for Declared {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut declared = Self::default();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            let value = |input: ParseStream<'_>| -> Result<Expr> {
                input.parse::<Token![=]>()?;
                input.parse()
            };
            match word.to_string().as_str() {
                "identity" => declared.identity = Some(value(input)?),
                "padding" => declared.padding = Some(value(input)?),
                "commutative" => declared.commutative = true,
                "exact" => declared.exact = true,
                "name" => {
                    input.parse::<Token![=]>()?;
                    declared.name = Some(input.parse()?);
                }
                _ => {
                    return at(
                        word,
                        "an operator declares `identity = …`, `padding = …`, `name = …`, `commutative` and `exact`",
                    );
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(declared)
    }
}

pub(crate) fn expand(declared: &Declared, function: &ItemFn) -> Result<TokenStream> {
    let callable = function::expand(function)?;
    let Signature { parameters, result } = Signature::of(&function.sig)?;
    let name = &function.sig.ident;
    let [left, right] = &parameters[..] else {
        return at(
            &function.sig.inputs,
            "an operator takes two values, of which `left` is the earlier one",
        );
    };
    for of in [&left.ty, &right.ty] {
        if of.to_token_stream().to_string() != result.to_token_stream().to_string() {
            return at(of, "an operator's two values and its result have one type");
        }
    }
    let Some(identity) = &declared.identity else {
        return at(
            name,
            "declare what the operator gives for no items, as in `#[operator(identity = 0)]`",
        );
    };
    let operator = declared.name.clone().unwrap_or_else(|| camel(name));
    let text = name.to_string().trim_start_matches("r#").replace('_', " ");
    let padding = declared.padding.as_ref().map(|padding| {
        quote! {
            #[inline(always)]
            fn padding(&self) -> #result {
                #padding
            }
        }
    });
    let exact = declared.exact.then(|| {
        quote!(
            const EXACT: bool = true;
        )
    });
    let commutative = declared.commutative;
    let visibility = &function.vis;
    let docs: Vec<&Attribute> =
        function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
    Ok(quote! {
        #callable

        #(#docs)*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #visibility struct #operator;

        impl ::upsweep::Operator<#result> for #operator {
            const NAME: &'static str = #text;
            const COMMUTATIVE: bool = #commutative;
            #exact

            #[inline(always)]
            fn identity(&self) -> #result {
                #identity
            }

            #padding

            #[inline(always)]
            fn combine(&self, left: #result, right: #result) -> #result {
                #name(left, right)
            }

            fn function(&self) -> ::core::option::Option<&'static ::upsweep::__kernel::Function> {
                ::core::option::Option::Some(<#name as ::upsweep::__kernel::Callable>::FUNCTION)
            }

            fn source(&self, language: ::upsweep::Language) -> ::core::option::Option<::upsweep::Source> {
                static TEXTS: ::upsweep::__kernel::Texts = ::upsweep::__kernel::Texts::new();
                let function = <#name as ::upsweep::__kernel::Callable>::FUNCTION;
                TEXTS.source(function, language).ok()
            }
        }
    })
}

/// `last_set` as `LastSet`.
fn camel(name: &Ident) -> Ident {
    let mut text = String::new();
    for word in name.to_string().trim_start_matches("r#").split('_') {
        let mut letters = word.chars();
        text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        text.extend(letters);
    }
    format_ident!("{text}", span = name.span())
}
