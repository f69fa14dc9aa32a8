//! Sums, products and bit operators of signed integers: bit for bit those of unsigned ones, whose kernels this crate has.
//!
//! A generic call on such types asks [`is_found`] when it is compiled, and then compiles no kernel of its own.

use castaway::cast;
use upsweep_core::{
    BitAnd, BitOr, BitXor, Bounds, Builtin, Carry, Direction, Element, Operator, Product, Scan, Sum,
};

use crate::device::ExecutionContext;
use crate::scan::Source;
use crate::{reduce, scan};

/// Whether items of type `T` are combined in the same signed type by an operator that cannot see the sign.
pub(crate) const fn is_found<T: Element, A: Element, O: Operator<A>>() -> bool {
    let (Some(item), Some(acc)) = (T::KIND.number(), A::KIND.number()) else { return false };
    let same = item.is_signed_integer() && acc.is_signed_integer() && item.size() == acc.size();
    same && matches!(
        O::BUILTIN,
        Some(Builtin::Sum | Builtin::Product | Builtin::BitAnd | Builtin::BitOr | Builtin::BitXor)
    )
}

/// A value of a type that is the other one.
fn expect<A: Element, B: Element>(value: A) -> B {
    match cast!(value, B) {
        Ok(value) => value,
        Err(_) => unreachable!("both are one signed type"),
    }
}

macro_rules! unsigned {
    ($($signed:ident $unsigned:ident $total:ident $scan:ident,)*) => {
        /// The value of all items, of which there is at least one, of types and by an operator that are found.
        pub(crate) fn total<T: Element, A: Element>(
            context: &ExecutionContext<'_>,
            items: &[T],
            operator: Option<Builtin>,
        ) -> A {
            let Some(operator) = operator else { unreachable!("built-in operators are found") };
            $(if let Ok(items) = cast!(items, &[$signed]) {
                let total = $total(context, bytemuck::cast_slice(items), operator);
                return expect::<$signed, A>(total.cast_signed());
            })*
            unreachable!("these are all the signed types")
        }

        /// Scans all items, of types and by an operator that are found. `carry` is what comes in, and afterwards what goes out.
        pub(crate) fn scan<T, U, O>(
            context: &ExecutionContext<'_>,
            source: Source<'_, T>,
            output: &mut [U],
            problem: &Scan<U::Acc, O>,
            carry: &mut Carry<U::Acc>,
        ) where
            T: Element,
            U: Element,
            O: Operator<U::Acc>,
        {
            let operator = &problem.operator;
            let Some(builtin) = O::BUILTIN else { unreachable!("built-in operators are found") };
            let before = carry.total(operator);
            let (bounds, direction) = (problem.bounds, problem.direction);
            $(if let Ok(output) = cast!(&mut *output, &mut [$signed]) {
                let source = match source {
                    Source::InPlace => Source::InPlace,
                    Source::Separate(items) => match cast!(items, &[$signed]) {
                        Ok(items) => Source::Separate(bytemuck::cast_slice(items)),
                        Err(_) => unreachable!("items are of the type that they are combined in"),
                    },
                };
                let before = before.map(|value| expect::<U::Acc, $signed>(value).cast_unsigned());
                let output = bytemuck::cast_slice_mut(output);
                if let Some(after) =
                    $scan(context, source, output, builtin, bounds, direction, before)
                {
                    carry.set(expect::<$signed, U::Acc>(after.cast_signed()), operator);
                }
                return;
            })*
            unreachable!("these are all the signed types, which outputs are combined in")
        }

        $(
            #[inline(never)]
            fn $total(context: &ExecutionContext<'_>, items: &[$unsigned], operator: Builtin) -> $unsigned {
                match operator {
                    Builtin::Sum => reduce::total(context, items, Sum),
                    Builtin::Product => reduce::total(context, items, Product),
                    Builtin::BitAnd => reduce::total(context, items, BitAnd),
                    Builtin::BitOr => reduce::total(context, items, BitOr),
                    Builtin::BitXor => reduce::total(context, items, BitXor),
                    Builtin::Min | Builtin::Max => unreachable!("an extreme sees the sign"),
                }
            }

            #[inline(never)]
            fn $scan(
                context: &ExecutionContext<'_>,
                source: Source<'_, $unsigned>,
                output: &mut [$unsigned],
                operator: Builtin,
                bounds: Bounds,
                direction: Direction,
                before: Option<$unsigned>,
            ) -> Option<$unsigned> {
                macro_rules! with {
                    ($operator:ident) => {{
                        let mut problem = Scan::inclusive($operator);
                        (problem.bounds, problem.direction) = (bounds, direction);
                        let mut carry = Carry::new(before, &$operator);
                        scan::scan(context, source, output, &problem, &mut carry);
                        carry.total(&$operator)
                    }};
                }
                match operator {
                    Builtin::Sum => with!(Sum),
                    Builtin::Product => with!(Product),
                    Builtin::BitAnd => with!(BitAnd),
                    Builtin::BitOr => with!(BitOr),
                    Builtin::BitXor => with!(BitXor),
                    Builtin::Min | Builtin::Max => unreachable!("an extreme sees the sign"),
                }
            }
        )*
    };
}

unsigned! {
    i8 u8 total_8 scan_8,
    i16 u16 total_16 scan_16,
    i32 u32 total_32 scan_32,
    i64 u64 total_64 scan_64,
}
