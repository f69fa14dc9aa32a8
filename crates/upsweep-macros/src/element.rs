//! `#[derive(Element)]`: a structure of numbers as an item of arrays.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Result};

use crate::expression::at;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    if let Some(generic) = input.generics.params.first() {
        return at(generic, "elements are not generic; write a structure for each type");
    }
    let Data::Struct(data) = &input.data else {
        return at(name, "elements are numbers and structures of them; write a `struct`");
    };
    let Fields::Named(fields) = &data.fields else {
        return at(name, "write a structure with named fields");
    };
    if fields.named.is_empty() {
        return at(name, "an element has at least one field");
    }
    if !is_repr_c(input)? {
        return at(
            name,
            "write `#[repr(C)]` above the structure, so that devices know how it lies in memory",
        );
    }
    let text = name.to_string();
    let mut kinds = Vec::new();
    let mut descriptions = Vec::new();
    let mut values = Vec::new();
    let mut checks = Vec::new();
    let mut exact = Vec::new();
    let mut sizes = Vec::new();
    let mut packed = Vec::new();
    let mut unpacked = Vec::new();
    for field in &fields.named {
        let (ident, of) = (&field.ident, &field.ty);
        let field_text = ident.as_ref().map(ToString::to_string);
        kinds.push(quote_spanned! {of.span()=>
            (#field_text, ::core::mem::offset_of!(#name, #ident), <#of as ::upsweep::Number>::DTYPE)
        });
        descriptions.push(quote_spanned! {of.span()=>
            (#field_text, <#of as ::upsweep::__kernel::Described>::TYPE)
        });
        values.push(quote!(::upsweep::__kernel::Described::value(self.#ident)));
        exact.push(quote!(<#of as ::upsweep::Element>::EXACT));
        // The field begins where the ones before it end.
        checks.push(quote_spanned! {field.span()=>
            assert!(
                ::core::mem::offset_of!(#name, #ident) == 0 #(+ #sizes)*,
                "there is a gap before this field; put larger fields first, or fill the gap with a field"
            );
        });
        sizes.push(quote!(::core::mem::size_of::<#of>()));
        let place = quote!(
            ::core::mem::offset_of!(#name, #ident)
                ..::core::mem::offset_of!(#name, #ident) + ::core::mem::size_of::<#of>()
        );
        packed.push(quote!(bytes[#place].copy_from_slice(&item.#ident.to_ne_bytes());));
        unpacked.push(quote!(#ident: <#of>::from_ne_bytes(bytes.get(#place)?.try_into().ok()?)));
    }
    checks.push(quote_spanned! {name.span()=>
        assert!(
            ::core::mem::size_of::<#name>() == 0 #(+ #sizes)*,
            "there is a gap at the end of the structure; fill it with a field"
        );
    });
    Ok(quote! {
        const _: () = {
            #(const _: () = #checks)*

            static STRUCT: ::upsweep::__kernel::Struct =
                ::upsweep::__kernel::Struct { name: #text, fields: &[#(#descriptions),*] };

            impl ::upsweep::__kernel::Described for #name {
                const TYPE: ::upsweep::__kernel::Type = ::upsweep::__kernel::Type::Struct(&STRUCT);

                fn value(self) -> ::upsweep::__kernel::Value {
                    ::upsweep::__kernel::Value::Fields(Self::TYPE, ::std::vec![#(#values),*])
                }
            }

            impl ::upsweep::Element for #name {
                type Acc = Self;
                const KIND: ::upsweep::Kind = ::upsweep::Kind::Struct {
                    name: ::core::concat!(::core::module_path!(), "::", #text),
                    fields: &[#(#kinds),*],
                };
                const EXACT: bool = #(#exact)&&*;

                #[inline(always)]
                fn to_acc(self) -> Self {
                    self
                }

                #[inline(always)]
                fn from_acc(acc: Self) -> Self {
                    acc
                }

                fn bytes(
                    items: &[Self],
                ) -> ::core::option::Option<::std::borrow::Cow<'_, [u8]>> {
                    const SIZE: usize = ::core::mem::size_of::<#name>();
                    let mut all = ::std::vec![0u8; items.len() * SIZE];
                    for (item, bytes) in items.iter().zip(all.chunks_exact_mut(SIZE)) {
                        #(#packed)*
                    }
                    ::core::option::Option::Some(::std::borrow::Cow::Owned(all))
                }

                fn from_bytes(bytes: &[u8]) -> ::core::option::Option<Self> {
                    if bytes.len() != ::core::mem::size_of::<#name>() {
                        return ::core::option::Option::None;
                    }
                    ::core::option::Option::Some(Self { #(#unpacked),* })
                }
            }
        };
    })
}

/// Whether it lies in memory as it is written.
fn is_repr_c(input: &DeriveInput) -> Result<bool> {
    let mut found = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("C") {
                found = true;
                return Ok(());
            }
            Err(meta.error("write `#[repr(C)]` alone: devices lay fields out as C does"))
        })?;
    }
    Ok(found)
}
