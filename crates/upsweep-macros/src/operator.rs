//! `#[operator]`: a function of two values as an operator, or a structure that has one.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Ident, ItemFn, ItemImpl, PatType, Result, Token, Type};

use crate::expression::at;
use crate::fields::Block;
use crate::function::{self, Signature};

/// What stands in the parentheses of the annotation.
#[derive(Default)]
pub(crate) struct OperatorArguments {
    identity: Option<Expr>,
    padding: Option<Expr>,
    name: Option<Ident>,
    commutative: bool,
    exact: bool,
}

impl Parse for OperatorArguments {
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

pub(crate) fn expand(declared: &OperatorArguments, function: &ItemFn) -> Result<TokenStream> {
    let callable = function::expand(function)?;
    let Signature { parameters, result } = Signature::of(&function.sig)?;
    let name = &function.sig.ident;
    let [left, right] = &parameters[..] else {
        return at(
            &function.sig.inputs,
            "an operator takes two values, of which `left` is the earlier one",
        );
    };
    same_types(left, right, &result)?;
    let Some(identity) = &declared.identity else {
        return at(
            name,
            "declare what the operator gives for no items, as in `#[operator(identity = 0)]`",
        );
    };
    let operator = declared.name.clone().unwrap_or_else(|| camel(name));
    let text = name.unraw().to_string().replace('_', " ");
    let implemented = OperatorImpl {
        of: &quote!(#operator),
        name: &text,
        declared,
        result: &result,
        identity: quote!(#identity),
        padding: declared.padding.as_ref().map(ToTokens::to_token_stream),
        combined: quote!(#name(left, right)),
        function: quote!(<#name as ::upsweep::__kernel::Callable>::FUNCTION),
        fields: None,
    };
    let visibility = &function.vis;
    let docs: Vec<&Attribute> =
        function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
    Ok(quote! {
        #callable

        #(#docs)*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #visibility struct #operator;

        #implemented
    })
}

/// `#[operator]` on a block: `identity`, `combine` and perhaps `padding` are given the fields of a structure.
pub(crate) fn expand_block(declared: &OperatorArguments, block: &ItemImpl) -> Result<TokenStream> {
    let of_block = Block::of(block)?;
    for (argument, instead) in [
        (declared.identity.as_ref().map(Spanned::span), "write `fn identity(self)` in the block"),
        (declared.padding.as_ref().map(Spanned::span), "write `fn padding(self)` in the block"),
        (
            declared.name.as_ref().map(Spanned::span),
            "the structure is the operator, and has its name",
        ),
    ] {
        argument.map_or(Ok(()), |span| Err(Error::new(span, instead)))?;
    }
    of_block.only(
        &["identity", "padding", "combine"],
        "an operator has `identity`, `combine` and `padding`; write this in another block",
    )?;
    let place = block.self_ty.span();
    let missing = |text: &str| Error::new(place, text);
    let combine = of_block.function("combine")?.ok_or_else(|| {
        missing("write how it combines, as in `fn combine(self, left: u32, right: u32) -> u32`")
    })?;
    let (_, Signature { parameters, result }) = of_block.named(combine)?;
    let [left, right] = &parameters[..] else {
        return at(
            &combine.sig.inputs,
            "`combine` takes two values behind `self`, of which `left` is the earlier one",
        );
    };
    same_types(left, right, &result)?;
    let identity = of_block.function("identity")?.ok_or_else(|| {
        missing("write what it gives for no items, as in `fn identity(self) -> u32`")
    })?;
    let padding = of_block.function("padding")?;
    for value in [Some(identity), padding].into_iter().flatten() {
        let (_, Signature { parameters, result: of }) = of_block.named(value)?;
        if let Some(parameter) = parameters.first() {
            return at(parameter, "this is a value of the operator's; it is given `self` alone");
        }
        if !is_same(&of, &result) {
            return at(&of, "an operator's identity and padding are of the type that it combines");
        }
    }
    let of = of_block.of;
    let structure = of.segments.last().map(|segment| words(&segment.ident)).unwrap_or_default();
    // A structure's own functions are found before those of traits.
    let implemented = OperatorImpl {
        of: &quote!(#of),
        name: &structure,
        declared,
        result: &result,
        identity: quote!(#of::identity(*self)),
        padding: padding.map(|_| quote!(#of::padding(*self))),
        combined: quote!(#of::combine(*self, left, right)),
        function: quote!(&FUNCTION),
        fields: Some(quote!(::upsweep::Parameter::of(*self))),
    };
    let (kept, tree) = (of_block.kept(), of_block.tree(combine)?);
    Ok(quote! {
        #kept

        const _: () = {
            #tree

            #implemented
        };
    })
}

/// Refuses values that are not of the result's type.
fn same_types(left: &PatType, right: &PatType, result: &Type) -> Result<()> {
    for value in [left, right] {
        if !is_same(&value.ty, result) {
            return at(&value.ty, "an operator's two values and its result have one type");
        }
    }
    Ok(())
}

/// Whether two types are written alike.
fn is_same(of: &Type, other: &Type) -> bool {
    of.to_token_stream().to_string() == other.to_token_stream().to_string()
}

/// What is said of an operator.
struct OperatorImpl<'a> {
    /// Its type, and its name in messages.
    of: &'a TokenStream,
    name: &'a str,
    declared: &'a OperatorArguments,
    /// The type of values.
    result: &'a Type,
    identity: TokenStream,
    padding: Option<TokenStream>,
    combined: TokenStream,
    /// What `combine` says.
    function: TokenStream,
    /// Its fields, if it has some.
    fields: Option<TokenStream>,
}

impl ToTokens for OperatorImpl<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { of, name, declared, result, identity, padding, combined, function, fields } =
            self;
        let commutative = declared.commutative;
        let exact = declared.exact.then(|| {
            quote!(
                const EXACT: bool = true;
            )
        });
        let padding = padding.as_ref().map(|padding| {
            quote! {
                #[inline(always)]
                fn padding(&self) -> #result {
                    #padding
                }
            }
        });
        let fields = fields.as_ref().map(|fields| {
            quote! {
                fn fields(&self) -> ::core::option::Option<::upsweep::Parameter> {
                    ::core::option::Option::Some(#fields)
                }
            }
        });
        tokens.extend(quote! {
            impl ::upsweep::Operator<#result> for #of {
                const NAME: &'static str = #name;
                const COMMUTATIVE: bool = #commutative;
                #exact

                #[inline(always)]
                fn identity(&self) -> #result {
                    #identity
                }

                #padding

                #[inline(always)]
                fn combine(&self, left: #result, right: #result) -> #result {
                    #combined
                }

                #fields

                fn function(&self) -> ::core::option::Option<&'static ::upsweep::__kernel::Function> {
                    ::core::option::Option::Some(#function)
                }

                fn source(&self, language: ::upsweep::Language) -> ::core::option::Option<::upsweep::Source> {
                    static TEXTS: ::upsweep::__kernel::Texts = ::upsweep::__kernel::Texts::new();
                    TEXTS.source(#function, language).ok()
                }
            }
        });
    }
}

/// `SumOfResidues` as "sum of residues".
fn words(name: &Ident) -> String {
    let mut text = String::new();
    for letter in name.unraw().to_string().chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// `last_set` as `LastSet`.
fn camel(name: &Ident) -> Ident {
    let mut text = String::new();
    for word in name.unraw().to_string().split('_') {
        let mut letters = word.chars();
        text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        text.extend(letters);
    }
    format_ident!("{text}", span = name.span())
}
