//! Annotated `impl` blocks: functions that are given the fields of a structure, which kernels get at each launch.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{FnArg, ImplItem, ImplItemFn, ItemImpl, Path, Result, Type};

use crate::expression::at;
use crate::function::{self, Signature};

/// The functions of an `impl` block whose `self` is a structure by value.
pub(crate) struct Block<'a> {
    pub(crate) block: &'a ItemImpl,
    /// The structure.
    pub(crate) of: &'a Path,
    pub(crate) functions: Vec<&'a ImplItemFn>,
}

impl<'a> Block<'a> {
    pub(crate) fn of(block: &'a ItemImpl) -> Result<Self> {
        if let Some((_, path, _)) = &block.trait_ {
            return at(path, "annotate a block without a trait, as in `impl Greater { … }`");
        }
        if let Some(generic) = block.generics.params.first() {
            return at(generic, "kernels have no generic structures; write a block for each type");
        }
        if let Some(word) = &block.unsafety {
            return at(word, "a kernel's function is safe; write a plain `impl`");
        }
        let Type::Path(of) = &*block.self_ty else {
            return at(&block.self_ty, "write the block for a structure with `#[derive(Element)]`");
        };
        let mut functions = Vec::new();
        for item in &block.items {
            let ImplItem::Fn(function) = item else {
                return at(
                    item,
                    "an annotated block has functions alone; write this in another one",
                );
            };
            functions.push(function);
        }
        Ok(Self { block, of: &of.path, functions })
    }

    /// The function of this name, which takes the fields by value.
    pub(crate) fn function(&self, name: &str) -> Result<Option<&'a ImplItemFn>> {
        let Some(function) = self.functions.iter().find(|function| function.sig.ident == name)
        else {
            return Ok(None);
        };
        let signature = &function.sig;
        match signature.inputs.first() {
            Some(FnArg::Receiver(own)) if own.reference.is_some() || own.colon_token.is_some() => {
                at(own, "write `self`: kernels are given the fields themselves")
            }
            Some(FnArg::Receiver(own)) if own.mutability.is_some() => {
                at(own, "write `self`, and `let mut` for what changes")
            }
            Some(FnArg::Receiver(_)) => Ok(Some(function)),
            _ => at(&signature.ident, "write `self` first: it stands for the fields"),
        }
    }

    /// Refuses functions that are not among these.
    pub(crate) fn only(&self, names: &[&str], instead: &str) -> Result<()> {
        let other = |function: &&&ImplItemFn| !names.iter().any(|name| function.sig.ident == name);
        match self.functions.iter().find(other) {
            Some(function) => at(&function.sig.ident, instead),
            None => Ok(()),
        }
    }

    /// One of the functions with the structure's name instead of `Self`, and its parameters behind `self`.
    pub(crate) fn named(&self, function: &ImplItemFn) -> Result<(ImplItemFn, Signature)> {
        let mut function = function.clone();
        SelfReplacer(self.of).visit_impl_item_fn_mut(&mut function);
        let signature = Signature::behind_self(&function.sig)?;
        Ok((function, signature))
    }

    /// The tree of a function, and a copy that is only looked at; both stand in a block of their own.
    pub(crate) fn tree(&self, function: &ImplItemFn) -> Result<TokenStream> {
        let (mut function, signature) = self.named(function)?;
        let tree = function::tree(
            &function.sig.ident,
            Some(&self.block.self_ty),
            &signature,
            &function.block,
        )?;
        function::guarded(&mut function.block);
        let (of, name, own) = (self.of, &function.sig.ident, &function.sig);
        let types = signature.parameters.iter().map(|parameter| &parameter.ty);
        let (result, block) = (&signature.result, &function.block);
        Ok(quote! {
            #[allow(warnings, clippy::all, reason = "a copy of code that is looked at as it was written")]
            trait Checked {
                fn #name(self, #(_: #types),*) -> #result;
            }

            #[allow(warnings, clippy::all, reason = "a copy of code that is looked at as it was written")]
            impl Checked for #of {
                #own #block
            }

            #tree
        })
    }

    /// The block as it is, its functions inlined.
    pub(crate) fn kept(&self) -> TokenStream {
        let mut block = self.block.clone();
        for item in &mut block.items {
            if let ImplItem::Fn(function) = item
                && !function::is_inline(&function.attrs)
            {
                function.attrs.push(syn::parse_quote!(#[inline]));
            }
        }
        quote!(#block)
    }
}

/// `#[function]` on a block.
pub(crate) fn expand(block: &ItemImpl) -> Result<TokenStream> {
    let of_block = Block::of(block)?;
    let place = block.self_ty.span();
    let Some(function) = of_block.function("apply")? else {
        of_block.only(&["apply"], "the function of a block is called `apply`")?;
        return at(place, "write what it does, as in `fn apply(self, value: f32) -> u32`");
    };
    of_block.only(&["apply"], "a block has one function, `apply`; write this in another block")?;
    let (_, signature) = of_block.named(function)?;
    if !(1..=2).contains(&signature.parameters.len()) {
        return at(&function.sig.inputs, "`apply` takes one item behind `self`, or two");
    }
    let (kept, tree, of) = (of_block.kept(), of_block.tree(function)?, of_block.of);
    let fields = quote! {
        fn fields(&self) -> ::core::option::Option<::upsweep::Parameter> {
            ::core::option::Option::Some(::upsweep::Parameter::of(*self))
        }
    };
    // A structure's own function is found before those of traits.
    let call = |arguments| quote!(#of::apply(*self, #arguments));
    let apply = signature.apply(&quote!(#of), &call, Some(fields));
    Ok(quote! {
        #kept

        const _: () = {
            #tree

            impl ::upsweep::__kernel::Callable for #of {
                const FUNCTION: &'static ::upsweep::__kernel::Function = &FUNCTION;
            }
        };

        #apply
    })
}

/// Writes the structure's name for `Self`, which stands for nothing outside the block.
struct SelfReplacer<'a>(&'a Path);

impl VisitMut for SelfReplacer<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        if path.segments.first().is_some_and(|first| first.ident == "Self") {
            let behind = path.segments.iter().skip(1).cloned();
            let mut named = self.0.clone();
            named.segments.extend(behind);
            *path = named;
        }
    }
}
