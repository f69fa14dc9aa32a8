//! Names and what they stand for, and the patterns that make them.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, Pat, RangeLimits, Result};

use crate::expression::{at, constant, literal_tree, strip};

/// The names that are known at a place. Each binding has a number of its own.
pub(crate) struct Scope {
    own: String,
    names: Vec<HashMap<String, u32>>,
    next: u32,
}

impl Scope {
    /// That of a function of this name.
    pub(crate) fn of(function: &Ident) -> Self {
        Self { own: function.to_string(), names: vec![HashMap::new()], next: 0 }
    }

    /// Whether it is the function's own name, and no variable's.
    pub(crate) fn is_own(&self, name: &Ident) -> bool {
        *name == self.own && self.find(name).is_none()
    }

    /// What `work` does, in a scope that ends with it.
    pub(crate) fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.names.push(HashMap::new());
        let done = work(self);
        self.names.pop();
        done
    }

    pub(crate) fn find(&self, name: &Ident) -> Option<u32> {
        let name = name.to_string();
        self.names.iter().rev().find_map(|names| names.get(&name)).copied()
    }

    /// A binding without a name.
    pub(crate) fn hidden(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn bind(&mut self, name: &Ident) -> u32 {
        let local = self.hidden();
        if let Some(names) = self.names.last_mut() {
            names.insert(name.to_string(), local);
        }
        local
    }

    /// `self`, which stands for the fields that a function is given first.
    pub(crate) fn own_fields(&mut self) -> TokenStream {
        let local = self.bind(&Ident::new("self", proc_macro2::Span::call_site()));
        quote!(::upsweep::__kernel::Pattern::Name { local: #local, name: "fields", mutable: false })
    }

    /// A pattern that always matches.
    pub(crate) fn binding(&mut self, pattern: &Pat) -> Result<TokenStream> {
        match pattern {
            Pat::Ident(_) | Pat::Wild(_) | Pat::Tuple(_) | Pat::Struct(_) | Pat::Paren(_) => {
                self.pattern(pattern)
            }
            other => at(other, "write a name, `_`, a tuple or a structure of them"),
        }
    }

    /// A pattern of a `match`.
    pub(crate) fn pattern(&mut self, pattern: &Pat) -> Result<TokenStream> {
        let tree = match pattern {
            Pat::Wild(_) => quote!(Any),
            Pat::Paren(inner) => return self.pattern(&inner.pat),
            Pat::Ident(ident) => {
                if let Some(by_ref) = &ident.by_ref {
                    return at(by_ref, "kernels have no references; write the name alone");
                }
                if let Some((sign, _)) = &ident.subpat {
                    return at(sign, "kernels have no `@`; write a guard");
                }
                let name = ident.ident.to_string();
                // As Rust's lints have it, what is all capitals is a constant.
                if name.chars().all(|letter| !letter.is_lowercase()) && name != "_" {
                    let value = constant(&ident.ident);
                    quote!(Value(::upsweep::__kernel::Expression::#value))
                } else {
                    let mutable = ident.mutability.is_some();
                    let local = self.bind(&ident.ident);
                    quote!(Name { local: #local, name: #name, mutable: #mutable })
                }
            }
            Pat::Tuple(tuple) => {
                let parts = self.patterns(tuple.elems.iter())?;
                quote!(Tuple(&[#(#parts),*]))
            }
            Pat::Struct(value) => {
                let mut fields = Vec::new();
                for field in &value.fields {
                    let syn::Member::Named(name) = &field.member else {
                        return at(&field.member, "kernels have structures with named fields");
                    };
                    let name = name.to_string();
                    let pattern = self.pattern(&field.pat)?;
                    fields.push(quote!((#name, #pattern)));
                }
                quote!(Struct(&[#(#fields),*]))
            }
            Pat::Lit(literal) => {
                let value = value(&syn::Expr::Lit(literal.clone()))?;
                quote!(Value(#value))
            }
            Pat::Path(path) => {
                let value = constant(path);
                quote!(Value(::upsweep::__kernel::Expression::#value))
            }
            Pat::Range(range) => {
                let Some(start) = &range.start else {
                    return at(range, "write where the range begins, as in `0..=9`");
                };
                let first = value(start)?;
                match (&range.end, &range.limits) {
                    (None, _) => quote!(Range(#first, None)),
                    (Some(end), RangeLimits::Closed(_)) => {
                        let last = value(end)?;
                        quote!(Range(#first, Some(#last)))
                    }
                    (Some(_), RangeLimits::HalfOpen(sign)) => {
                        return at(sign, "write the last value of the range, as in `0..=9`");
                    }
                }
            }
            Pat::Or(or) => {
                let known = self.next;
                let parts = self.patterns(or.cases.iter())?;
                if self.next != known {
                    return at(
                        or,
                        "patterns beside `|` have no names in kernels; write a line for each",
                    );
                }
                quote!(Or(&[#(#parts),*]))
            }
            Pat::Rest(rest) => return at(rest, "write `_` for each part; kernels have no `..`"),
            Pat::TupleStruct(of) => return at(of, "kernels have structures with named fields"),
            other => {
                return at(
                    other,
                    "kernels have no such pattern; write literals, ranges, names or tuples",
                );
            }
        };
        Ok(quote!(::upsweep::__kernel::Pattern::#tree))
    }

    fn patterns<'a>(&mut self, all: impl Iterator<Item = &'a Pat>) -> Result<Vec<TokenStream>> {
        all.map(|pattern| self.pattern(pattern)).collect()
    }
}

/// A literal, perhaps negative, or a constant in a pattern.
fn value(expression: &syn::Expr) -> Result<TokenStream> {
    let tree = match strip(expression) {
        syn::Expr::Lit(literal) => literal_tree(&literal.lit)?,
        syn::Expr::Unary(unary) => {
            let inner = value(&unary.expr)?;
            quote!(Unary(::upsweep::__kernel::Unary::Negate, &#inner))
        }
        syn::Expr::Path(path) => constant(path),
        other => return at(other, "write a literal or a constant"),
    };
    Ok(quote!(::upsweep::__kernel::Expression::#tree))
}
