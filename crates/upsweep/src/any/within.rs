//! Comparisons as predicates that kernels have: whether the place of an item among all that its type has lies between two others. One code
//! for all types of a size, and for all comparisons.

use super::{Comparison, Where};
use crate::{Dtype, Element};

macro_rules! within {
    ($($word:ident $within:ident)*) => {$(
        /// Whether items lie within bounds, whose type may be any of this size.
        #[derive(Clone, Copy, Debug, PartialEq, Element)]
        #[repr(C)]
        pub(super) struct $within {
            /// The bit of a sign; 0 if there is none.
            sign: $word,
            /// The same bit of a float, 0 of an integer.
            minus: $word,
            /// All other bits of a float.
            rest: $word,
            /// The place of the first item within.
            least: $word,
            /// The place of the last.
            most: $word,
            /// 1 for all items but those.
            outside: $word,
        }

        #[upsweep::function]
        impl $within {
            fn apply(self, bits: $word) -> bool {
                // The larger a float below zero is without its sign, the smaller it is.
                let below = if bits & self.minus == 0 { 0 } else { self.rest };
                let place = bits ^ self.sign ^ below;
                ((place >= self.least) & (place <= self.most)) != (self.outside == 1)
            }
        }

        impl From<Bounds> for $within {
            fn from(bounds: Bounds) -> Self {
                let Bounds { sign, minus, least, most, outside } = bounds;
                let rest = if minus == 0 { 0 } else { $word::MAX ^ minus as $word };
                let [sign, minus, least, most] = [sign, minus, least, most].map(|word| word as $word);
                Self { sign, minus, rest, least, most, outside: outside.into() }
            }
        }
    )*};
}

within!(u8 Within8 u16 Within16 u32 Within32 u64 Within64);

/// The same of any size.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    sign: u64,
    minus: u64,
    least: u64,
    most: u64,
    outside: bool,
}

impl From<Where> for Bounds {
    fn from(Where { comparison, number }: Where) -> Self {
        let dtype = number.dtype();
        let all = u64::MAX >> (64 - 8 * dtype.size());
        let top = all ^ (all >> 1);
        // The place of the largest number, and the bits of a sign and of a minus.
        let (infinity, sign, minus) = match dtype {
            Dtype::F16 => (0x7c00, top, top),
            Dtype::Bf16 => (0x7f80, top, top),
            Dtype::F32 => (f32::INFINITY.to_bits().into(), top, top),
            Dtype::F64 => (f64::INFINITY.to_bits(), top, top),
            integer if integer.is_signed_integer() => (all ^ top, top, 0),
            _ => (all, 0, 0),
        };
        let place = |bits: u64| if bits & minus == 0 { bits ^ sign } else { bits ^ all };
        let (first, last) = match minus {
            0 => (0, all),
            _ => (place(infinity | minus), place(infinity)),
        };
        let bits = number.word();
        let is_zero = bits & !minus == 0 && minus != 0;
        let own = if is_zero { (place(minus), place(0)) } else { (place(bits), place(bits)) };
        let is_number = (first..=last).contains(&own.0);
        let within = match comparison {
            _ if !is_number => None,
            Comparison::Less => own.0.checked_sub(1).map(|most| (first, most)),
            Comparison::LessOrEqual => Some((first, own.1)),
            Comparison::Greater => own.1.checked_add(1).map(|least| (least, last)),
            Comparison::GreaterOrEqual => Some((own.0, last)),
            Comparison::Equal | Comparison::NotEqual => Some(own),
        };
        // Nothing is within bounds in the wrong order.
        let within = within.filter(|(least, most)| least <= most);
        let (least, most) = within.unwrap_or((all, 0));
        Self { sign, minus, least, most, outside: comparison == Comparison::NotEqual }
    }
}
