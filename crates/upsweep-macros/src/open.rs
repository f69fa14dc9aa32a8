//! Literals whose type only Rust's inference could find.
//!
//! A tree says no more than the source does. Beside another operand, for a declared type, a parameter or a result, a literal's
//! type is written down somewhere; where it is not, it is asked for.

use proc_macro2::Span;
use syn::{BinOp, Block, Expr, Lit, Result, Stmt};

use crate::expression::strip;

/// The place of a literal that leaves the type of the whole open, if there is one.
pub(crate) fn opened(expression: &Expr) -> Option<Span> {
    match strip(expression) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) if number.suffix().is_empty() => Some(number.span()),
            Lit::Float(number) if number.suffix().is_empty() => Some(number.span()),
            _ => None,
        },
        Expr::Unary(unary) => opened(&unary.expr),
        Expr::Binary(binary) => match binary.op {
            BinOp::Shl(_) | BinOp::Shr(_) => opened(&binary.left),
            BinOp::Add(_)
            | BinOp::Sub(_)
            | BinOp::Mul(_)
            | BinOp::Div(_)
            | BinOp::Rem(_)
            | BinOp::BitAnd(_)
            | BinOp::BitOr(_)
            | BinOp::BitXor(_) => opened(&binary.right).and_then(|_| opened(&binary.left)),
            _ => None,
        },
        Expr::Tuple(tuple) => tuple.elems.iter().find_map(opened),
        Expr::If(branch) => {
            let (_, no) = branch.else_branch.as_ref()?;
            all([in_block(&branch.then_branch), value(no)])
        }
        Expr::Match(choice) => all(choice.arms.iter().map(|arm| value(&arm.body))),
        Expr::Block(block) => in_block(&block.block).unwrap_or(None),
        _ => None,
    }
}

/// What a branch says of the type: nothing if it has no value, `Some(None)` if it says it.
type BranchType = Option<Option<Span>>;

fn value(expression: &Expr) -> BranchType {
    match strip(expression) {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => None,
        Expr::Block(block) => in_block(&block.block),
        other => Some(opened(other)),
    }
}

fn in_block(block: &Block) -> BranchType {
    match block.stmts.last() {
        Some(Stmt::Expr(last, None)) => value(last),
        _ => None,
    }
}

/// The first literal, if every branch with a value leaves its type open.
fn all(branches: impl IntoIterator<Item = BranchType>) -> Option<Span> {
    let mut first = None;
    for said in branches.into_iter().flatten() {
        first = first.or(Some(said?));
    }
    first
}

/// Whether there is nothing in it but literals and operators.
pub(crate) fn is_plain(expression: &Expr) -> bool {
    match strip(expression) {
        Expr::Lit(_) => true,
        Expr::Unary(unary) => is_plain(&unary.expr),
        Expr::Binary(binary) => is_plain(&binary.left) && is_plain(&binary.right),
        _ => false,
    }
}

pub(crate) fn unknown<T>(place: Span) -> Result<T> {
    let text = place.source_text().unwrap_or_else(|| "0".to_owned());
    let of = if text.contains('.') { "f32" } else { "u32" };
    let message = format!(
        "the type of this literal is not written down; write `{text}{of}`, or the type of the variable, as in `let x: {of}`"
    );
    Err(syn::Error::new(place, message))
}

/// Asks for a type where nothing around an expression says it.
pub(crate) fn closed(expression: &Expr) -> Result<()> {
    opened(expression).map_or(Ok(()), unknown)
}

/// Asks for a type where one of two must say it.
pub(crate) fn one_closed(left: &Expr, right: &Expr) -> Result<()> {
    match (opened(left), opened(right)) {
        (Some(place), Some(_)) => unknown(place),
        _ => Ok(()),
    }
}
