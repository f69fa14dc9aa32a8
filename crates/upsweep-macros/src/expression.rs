//! Expressions, statements and blocks as trees.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Block, Expr, Lit, Member, Pat, RangeLimits, Result, Stmt, UnOp};
use upsweep_core::kernel::Method;

use crate::open::{self, opened};
use crate::scope::Scope;

/// An error at a place in the source.
pub(crate) fn at<T>(place: impl Spanned, message: &str) -> Result<T> {
    Err(syn::Error::new(place.span(), message))
}

/// What a path names that stands alone.
pub(crate) fn single(path: &syn::Path) -> Option<&syn::Ident> {
    path.get_ident()
}

const NUMBERS: [&str; 10] = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"];

impl Scope {
    /// A block in a scope of its own.
    pub(crate) fn block(&mut self, block: &Block) -> Result<TokenStream> {
        self.inside(|scope| scope.statements(&block.stmts))
    }

    fn statements(&mut self, statements: &[Stmt]) -> Result<TokenStream> {
        let mut done = Vec::new();
        let mut value = quote!(None);
        for (number, statement) in statements.iter().enumerate() {
            match statement {
                Stmt::Local(local) => done.push(self.local(local)?),
                Stmt::Expr(expression, semicolon) => {
                    let last = number + 1 == statements.len() && semicolon.is_none();
                    if last && !is_statement(expression) {
                        let expression = self.expression(expression)?;
                        value = quote!(Some(&#expression));
                    } else {
                        self.statement(expression, &mut done)?;
                    }
                }
                Stmt::Item(item) => {
                    return at(
                        item,
                        "kernels have no items inside functions; write it outside and annotate it",
                    );
                }
                Stmt::Macro(call) => {
                    return at(&call.mac.path, "kernels have no macros; write what it stands for");
                }
            }
        }
        Ok(quote! {
            ::upsweep::__kernel::Block { statements: &[#(#done),*], value: #value }
        })
    }

    fn local(&mut self, local: &syn::Local) -> Result<TokenStream> {
        let Some(init) = &local.init else {
            return at(local, "give the variable its value at once, as in `let mut total = 0u32;`");
        };
        if let Some((_, diverge)) = &init.diverge {
            return at(diverge, "kernels have no `let … else`; write `if` or `match`");
        }
        let (pattern, of) = match &local.pat {
            Pat::Type(typed) => {
                let of = crate::function::type_of(&typed.ty)?;
                (&*typed.pat, quote!(Some(#of)))
            }
            pattern => {
                open::closed(&init.expr)?;
                (pattern, quote!(None))
            }
        };
        // The value is what it was before the pattern's names are known.
        let value = self.expression(&init.expr)?;
        let pattern = self.binding(pattern)?;
        Ok(quote!(::upsweep::__kernel::Statement::Let(#pattern, #of, #value)))
    }

    fn statement(&mut self, expression: &Expr, done: &mut Vec<TokenStream>) -> Result<()> {
        let statement = match expression {
            Expr::Assign(assign) => {
                if let Expr::Tuple(places) = &*assign.left {
                    return self.taken_apart(places, &assign.right, done);
                }
                let place = self.place(&assign.left)?;
                let value = self.expression(&assign.right)?;
                quote!(Assign(#place, None, #value))
            }
            Expr::Binary(binary) if compound(&binary.op).is_some() => {
                let operator = compound(&binary.op);
                let place = self.place(&binary.left)?;
                let value = self.expression(&binary.right)?;
                quote!(Assign(#place, Some(::upsweep::__kernel::Binary::#operator), #value))
            }
            Expr::ForLoop(each) => {
                if let Some(label) = &each.label {
                    return at(label, "kernels have no labels; leave the outer loop by a variable");
                }
                let Expr::Range(range) = strip(&each.expr) else {
                    return at(
                        &each.expr,
                        "loops of kernels go over a range of integers, as in `0..count`",
                    );
                };
                let (Some(first), Some(end)) = (&range.start, &range.end) else {
                    return at(range, "a loop over a range needs both ends, as in `0..count`");
                };
                open::one_closed(first, end)?;
                let (first, end) = (self.expression(first)?, self.expression(end)?);
                let inclusive = matches!(range.limits, RangeLimits::Closed(_));
                let (variable, body) = self.inside(|scope| {
                    Ok((scope.binding(&each.pat)?, scope.statements(&each.body.stmts)?))
                })?;
                quote!(For {
                    variable: #variable, first: #first, end: #end, inclusive: #inclusive, body: #body,
                })
            }
            Expr::While(each) => {
                if let Some(label) = &each.label {
                    return at(label, "kernels have no labels; leave the outer loop by a variable");
                }
                let condition = self.expression(&each.cond)?;
                let body = self.block(&each.body)?;
                quote!(While(#condition, #body))
            }
            expression => {
                open::closed(expression)?;
                let value = self.expression(expression)?;
                quote!(Evaluate(#value))
            }
        };
        done.push(quote!(::upsweep::__kernel::Statement::#statement));
        Ok(())
    }

    /// `(a, b) = (b, a);` by way of new variables.
    fn taken_apart(
        &mut self,
        places: &syn::ExprTuple,
        value: &Expr,
        done: &mut Vec<TokenStream>,
    ) -> Result<()> {
        open::closed(value)?;
        let value = self.expression(value)?;
        let mut names = Vec::new();
        let mut assigned = Vec::new();
        for place in &places.elems {
            if matches!(place, Expr::Infer(_)) {
                names.push(quote!(::upsweep::__kernel::Pattern::Any));
                continue;
            }
            let place = self.place(place)?;
            let local = self.hidden();
            names.push(quote! {
                ::upsweep::__kernel::Pattern::Name { local: #local, name: "part", mutable: false }
            });
            assigned.push(quote! {
                ::upsweep::__kernel::Statement::Assign(
                    #place, None, ::upsweep::__kernel::Expression::Local(#local),
                )
            });
        }
        done.push(quote! {
            ::upsweep::__kernel::Statement::Let(
                ::upsweep::__kernel::Pattern::Tuple(&[#(#names),*]), None, #value,
            )
        });
        done.extend(assigned);
        Ok(())
    }

    fn place(&mut self, place: &Expr) -> Result<TokenStream> {
        let root = {
            let mut root = strip(place);
            while let Expr::Field(field) = root {
                root = strip(&field.base);
            }
            root
        };
        match root {
            Expr::Path(_) => self.expression(place),
            other => at(other, "only variables and their fields are assigned to in kernels"),
        }
    }

    /// An expression as a tree.
    pub(crate) fn expression(&mut self, expression: &Expr) -> Result<TokenStream> {
        let span = expression.span();
        let tree = match expression {
            Expr::Paren(inner) => return self.expression(&inner.expr),
            Expr::Group(inner) => return self.expression(&inner.expr),
            Expr::Lit(literal) => literal_tree(&literal.lit)?,
            Expr::Path(path) => self.path(path)?,
            Expr::Unary(unary) => {
                let operator = match unary.op {
                    UnOp::Neg(_) => quote!(Negate),
                    UnOp::Not(_) => quote!(Not),
                    _ => return at(unary, "kernels have no references; write the value itself"),
                };
                let value = self.expression(&unary.expr)?;
                quote!(Unary(::upsweep::__kernel::Unary::#operator, &#value))
            }
            Expr::Binary(binary) => self.binary(binary)?,
            Expr::Cast(cast) => {
                open::closed(&cast.expr)?;
                let value = self.expression(&cast.expr)?;
                let to = crate::function::type_of(&cast.ty)?;
                quote!(Cast(&#value, #to))
            }
            Expr::Call(call) => self.call(call)?,
            Expr::MethodCall(call) => {
                open::closed(&call.receiver)?;
                if let Some(generics) = &call.turbofish {
                    return at(generics, "methods of numbers have no type arguments");
                }
                let operands: Vec<&Expr> =
                    core::iter::once(&*call.receiver).chain(&call.args).collect();
                self.method(&call.method, &operands)?
            }
            Expr::Tuple(tuple) if tuple.elems.is_empty() => {
                return at(tuple, "a kernel's expression must have a value; `()` is none");
            }
            Expr::Tuple(tuple) => {
                let values = self.list(tuple.elems.iter())?;
                quote!(Tuple(&[#(#values),*]))
            }
            Expr::Struct(value) => self.structure(value)?,
            Expr::Field(field) => {
                let value = self.expression(&field.base)?;
                let name = match &field.member {
                    Member::Named(name) => name.to_string(),
                    Member::Unnamed(index) => index.index.to_string(),
                };
                quote!(Field(&#value, #name))
            }
            Expr::If(branch) => {
                if let Expr::Let(asked) = strip(&branch.cond) {
                    return at(
                        asked,
                        "kernels have no `if let`; write `match`, or compare with `==`",
                    );
                }
                let condition = self.expression(&branch.cond)?;
                let yes = self.block(&branch.then_branch)?;
                let no = match &branch.else_branch {
                    None => quote!(None),
                    Some((_, no)) => {
                        let no = self.branch(no)?;
                        quote!(Some(#no))
                    }
                };
                quote!(If(&#condition, #yes, #no))
            }
            Expr::Match(choice) => {
                open::closed(&choice.expr)?;
                let value = self.expression(&choice.expr)?;
                let mut arms = Vec::new();
                for arm in &choice.arms {
                    arms.push(self.inside(|scope| {
                        let pattern = scope.pattern(&arm.pat)?;
                        let guard = match &arm.guard {
                            None => quote!(None),
                            Some((_, guard)) => {
                                let guard = scope.expression(guard)?;
                                quote!(Some(#guard))
                            }
                        };
                        let value = scope.branch(&arm.body)?;
                        Ok(quote!(::upsweep::__kernel::Arm { pattern: #pattern, guard: #guard, value: #value }))
                    })?);
                }
                quote!(Match(&#value, &[#(#arms),*]))
            }
            Expr::Block(block) if block.label.is_none() => {
                let block = self.block(&block.block)?;
                quote!(Block(#block))
            }
            Expr::Return(back) => match &back.expr {
                Some(value) => {
                    let value = self.expression(value)?;
                    quote!(Return(&#value))
                }
                None => return at(back, "a kernel's function returns a value"),
            },
            Expr::Break(out) => {
                if let Some(value) = &out.expr {
                    return at(
                        value,
                        "`break` carries no value in kernels; assign it to a variable",
                    );
                }
                if let Some(label) = &out.label {
                    return at(label, "kernels have no labels; leave the outer loop by a variable");
                }
                quote!(Break)
            }
            Expr::Continue(on) => {
                if let Some(label) = &on.label {
                    return at(label, "kernels have no labels; leave the outer loop by a variable");
                }
                quote!(Continue)
            }
            Expr::Let(asked) => {
                return at(
                    asked,
                    "kernels have no `let` in conditions; write `match`, or compare with `==`",
                );
            }
            other => return at(other, refusal(other)),
        };
        Ok(quote_spanned!(span=> ::upsweep::__kernel::Expression::#tree))
    }

    /// What stands behind `else` or `=>`.
    fn branch(&mut self, expression: &Expr) -> Result<TokenStream> {
        match expression {
            Expr::Block(block) if block.label.is_none() => self.block(&block.block),
            other if is_statement(other) => {
                let mut done = Vec::new();
                self.statement(other, &mut done)?;
                Ok(quote!(::upsweep::__kernel::Block { statements: &[#(#done),*], value: None }))
            }
            other => {
                let value = self.expression(other)?;
                Ok(quote!(::upsweep::__kernel::Block { statements: &[], value: Some(&#value) }))
            }
        }
    }

    fn list<'a>(&mut self, values: impl Iterator<Item = &'a Expr>) -> Result<Vec<TokenStream>> {
        values.map(|value| self.expression(value)).collect()
    }

    fn binary(&mut self, binary: &syn::ExprBinary) -> Result<TokenStream> {
        let operator = match binary.op {
            BinOp::Add(_) => "Add",
            BinOp::Sub(_) => "Sub",
            BinOp::Mul(_) => "Mul",
            BinOp::Div(_) => "Div",
            BinOp::Rem(_) => "Rem",
            BinOp::BitAnd(_) => "BitAnd",
            BinOp::BitOr(_) => "BitOr",
            BinOp::BitXor(_) => "BitXor",
            BinOp::Shl(_) => "Shl",
            BinOp::Shr(_) => "Shr",
            BinOp::Eq(_) => "Equal",
            BinOp::Ne(_) => "Unequal",
            BinOp::Lt(_) => "Less",
            BinOp::Le(_) => "LessOrEqual",
            BinOp::Gt(_) => "Greater",
            BinOp::Ge(_) => "GreaterOrEqual",
            BinOp::And(_) | BinOp::Or(_) => "Lazy",
            _ => return at(binary, "an assignment has no value; write it as a statement"),
        };
        if let "Equal" | "Unequal" | "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual" =
            operator
        {
            open::one_closed(&binary.left, &binary.right)?;
        }
        if let (Some(place), None) = (opened(&binary.left), opened(&binary.right)) {
            // The other one says the type, and is looked at first.
            if !open::is_plain(&binary.left) && !operator.starts_with("Sh") {
                return open::unknown(place);
            }
        }
        let (left, right) = (self.expression(&binary.left)?, self.expression(&binary.right)?);
        if operator == "Lazy" {
            let until = matches!(binary.op, BinOp::Or(_));
            return Ok(quote!(Lazy { until: #until, left: &#left, right: &#right }));
        }
        let operator = format_ident!("{operator}");
        Ok(quote!(Binary(::upsweep::__kernel::Binary::#operator, &#left, &#right)))
    }

    /// A variable, or a constant.
    fn path(&mut self, path: &syn::ExprPath) -> Result<TokenStream> {
        if let Some(local) = single(&path.path).and_then(|name| self.find(name)) {
            return Ok(quote!(Local(#local)));
        }
        Ok(constant(path))
    }

    fn call(&mut self, call: &syn::ExprCall) -> Result<TokenStream> {
        let Expr::Path(path) = strip(&call.func) else {
            return at(&call.func, "kernels call functions by their names");
        };
        for segment in &path.path.segments {
            if !segment.arguments.is_empty() {
                return at(
                    &segment.arguments,
                    "kernels have no generic functions; write one for each type",
                );
            }
        }
        let segments: Vec<String> =
            path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let arguments: Vec<&Expr> = call.args.iter().collect();
        if let [of, name] = &segments[..]
            && NUMBERS.contains(&of.as_str())
        {
            let of = &path.path.segments[0].ident;
            return match (name.as_str(), &arguments[..]) {
                ("from_bits", [bits]) => {
                    let bits = self.expression(bits)?;
                    Ok(quote!(FromBits(&#bits, <#of as ::upsweep::__kernel::Described>::TYPE)))
                }
                ("from", [value]) => {
                    open::closed(value)?;
                    let value = self.expression(value)?;
                    Ok(quote!(Cast(&#value, <#of as ::upsweep::__kernel::Described>::TYPE)))
                }
                // `u32::max(a, b)`: its first value has the type that is named.
                (_, [first, ..]) => {
                    open::closed(first)?;
                    self.method(&path.path.segments[1].ident, &arguments)
                }
                _ => at(call, "kernels have no such function"),
            };
        }
        if let Some(own) = single(&path.path) {
            if self.is_own(own) {
                return at(own, "kernels have no recursion; write a loop");
            }
            if self.find(own).is_some() {
                return at(own, "kernels have no function values; call a function by its name");
            }
        }
        let values = self.list(call.args.iter())?;
        let function = quote_spanned! {path.span()=>
            <#path as ::upsweep::__kernel::Callable>::FUNCTION
        };
        Ok(quote!(Call(#function, &[#(#values),*])))
    }

    fn method(&mut self, name: &syn::Ident, operands: &[&Expr]) -> Result<TokenStream> {
        let text = name.to_string();
        let Some(method) = Method::ALL.iter().find(|method| method.name() == text) else {
            let instead = match text.as_str() {
                "into" | "try_into" => "write `as` with the type",
                "clone" | "to_owned" => "write the value itself: it is copied",
                "checked_add" | "checked_sub" | "checked_mul" | "overflowing_add" => {
                    "write the `wrapping_` or `saturating_` method and compare"
                }
                "iter" | "len" | "get" => "there are no slices in kernels",
                _ => "`docs/operators.md` lists those that there are",
            };
            return at(name, &format!("kernels have no method `{text}`; {instead}"));
        };
        if operands.len() != method.arguments() + 1 {
            return at(name, &format!("`{text}` takes {} arguments", method.arguments()));
        }
        let method = format_ident!("{method:?}");
        let operands = self.list(operands.iter().copied())?;
        Ok(quote!(Method(::upsweep::__kernel::Method::#method, &[#(#operands),*])))
    }

    fn structure(&mut self, value: &syn::ExprStruct) -> Result<TokenStream> {
        if let Some(rest) = &value.rest {
            return at(rest, "write all fields; kernels have no `..`");
        }
        let mut fields = Vec::new();
        for field in &value.fields {
            let Member::Named(name) = &field.member else {
                return at(&field.member, "kernels have structures with named fields");
            };
            let name = name.to_string();
            let value = self.expression(&field.expr)?;
            fields.push(quote!((#name, #value)));
        }
        let path = &value.path;
        Ok(quote!(Struct(<#path as ::upsweep::__kernel::Described>::TYPE, &[#(#fields),*])))
    }
}

/// A constant: Rust says what it is.
pub(crate) fn constant(path: impl quote::ToTokens + Spanned) -> TokenStream {
    quote_spanned!(path.span()=> Constant(|| ::upsweep::__kernel::Described::value(#path)))
}

/// A literal.
pub(crate) fn literal_tree(literal: &Lit) -> Result<TokenStream> {
    Ok(match literal {
        Lit::Bool(value) => quote!(Bool(#value)),
        Lit::Int(value) if value.suffix().is_empty() => {
            // In patterns the sign belongs to the literal.
            let digits = value.base10_digits();
            let Ok(number) = digits.trim_start_matches('-').parse::<u64>() else {
                return at(value, "kernels have integers of up to 64 bits");
            };
            match digits.starts_with('-') {
                true => quote!(Unary(
                    ::upsweep::__kernel::Unary::Negate, &::upsweep::__kernel::Expression::Integer(#number),
                )),
                false => quote!(Integer(#number)),
            }
        }
        Lit::Float(value) if value.suffix().is_empty() => {
            let digits = value.base10_digits();
            quote!(Float(#digits))
        }
        Lit::Int(_) | Lit::Float(_) => constant(literal),
        other => return at(other, "kernels have numbers and `bool` only; write a number"),
    })
}

/// Without parentheses.
pub(crate) fn strip(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => strip(&inner.expr),
        Expr::Group(inner) => strip(&inner.expr),
        other => other,
    }
}

/// Whether it is done rather than evaluated.
fn is_statement(expression: &Expr) -> bool {
    match expression {
        Expr::Assign(_) | Expr::ForLoop(_) | Expr::While(_) => true,
        Expr::Binary(binary) => compound(&binary.op).is_some(),
        _ => false,
    }
}

/// The operator in `+=` and its like.
fn compound(operator: &BinOp) -> Option<syn::Ident> {
    let name = match operator {
        BinOp::AddAssign(_) => "Add",
        BinOp::SubAssign(_) => "Sub",
        BinOp::MulAssign(_) => "Mul",
        BinOp::DivAssign(_) => "Div",
        BinOp::RemAssign(_) => "Rem",
        BinOp::BitAndAssign(_) => "BitAnd",
        BinOp::BitOrAssign(_) => "BitOr",
        BinOp::BitXorAssign(_) => "BitXor",
        BinOp::ShlAssign(_) => "Shl",
        BinOp::ShrAssign(_) => "Shr",
        _ => return None,
    };
    Some(syn::Ident::new(name, Span::call_site()))
}

/// What to write instead of something that kernels do not have.
fn refusal(expression: &Expr) -> &'static str {
    match expression {
        Expr::Closure(_) => "kernels have no closures; write an annotated function",
        Expr::Reference(_) => "kernels have no references; write the value itself",
        Expr::Index(_) | Expr::Array(_) | Expr::Repeat(_) => {
            "kernels have no arrays; write a tuple, or a structure with a field for each"
        }
        Expr::Macro(_) => "kernels have no macros; write what it stands for",
        Expr::Loop(_) => "kernels have no `loop`; write `while`, or `for` over a range",
        Expr::Try(_) => "kernels have no `?`; they have nothing that fails",
        Expr::Range(_) => "ranges stand in `for` and in patterns only",
        Expr::Unsafe(_) => "kernels have no `unsafe`; write plain Rust",
        Expr::Async(_) | Expr::Await(_) => "kernels wait for nothing; write plain Rust",
        _ => "kernels have no such expression; `docs/operators.md` lists those that there are",
    }
}
