//! Operators and elements of a user's own, chosen so that no mistake in the order goes unseen.

use std::sync::atomic::{AtomicUsize, Ordering};

use upsweep::{Element, Kind, Language, Operator, Source};

use crate::{Input, Sample};

/// The map `x → scale · x + shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine<T> {
    /// What is multiplied with.
    pub scale: T,
    /// What is added then.
    pub shift: T,
}

/// One map after another: `left` is applied first. Not commutative.
///
/// On wrapping integers it is exact. On floats it rounds; with positive finite scales, as
/// [`Sample`] makes them, the padding `x → 1 · x + −0` leaves every map as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compose;

macro_rules! affine {
    ($($type:ident $exact:literal $zero:literal $padding:literal $one:literal
       $combine:expr;)*) => { $(
        impl Element for Affine<$type> {
            type Acc = Self;
            const KIND: Kind = Kind::Opaque;
            const EXACT: bool = $exact;

            #[inline(always)]
            fn to_acc(self) -> Self {
                self
            }

            #[inline(always)]
            fn from_acc(acc: Self) -> Self {
                acc
            }
        }

        impl Operator<Affine<$type>> for Compose {
            const NAME: &'static str = "compose";
            const COMMUTATIVE: bool = false;

            #[inline(always)]
            fn identity(&self) -> Affine<$type> {
                Affine { scale: $one, shift: $zero }
            }

            #[inline(always)]
            fn padding(&self) -> Affine<$type> {
                Affine { scale: $one, shift: $padding }
            }

            #[inline(always)]
            fn combine(&self, left: Affine<$type>, right: Affine<$type>) -> Affine<$type> {
                let combine: fn($type, $type, $type) -> $type = $combine;
                Affine {
                    scale: combine(right.scale, left.scale, $padding),
                    shift: combine(right.scale, left.shift, right.shift),
                }
            }
        }
    )* };
}

affine! {
    u32 true 0 0 1 |a, x, b| a.wrapping_mul(x).wrapping_add(b);
    f32 false 0.0 -0.0 1.0 |a, x, b| a * x + b;
}

impl Sample for Affine<u32> {
    fn sample(_: Input, word: u64) -> Self {
        Sample::from_bits(word)
    }

    fn bits(self) -> u64 {
        self.scale.bits() << 32 | self.shift.bits()
    }

    fn from_bits(bits: u64) -> Self {
        Self { scale: Sample::from_bits(bits >> 32), shift: Sample::from_bits(bits) }
    }
}

impl Sample for Affine<f32> {
    /// The scale is near 1; the shift is uniform, from the word's lower half.
    fn sample(_: Input, word: u64) -> Self {
        Self {
            scale: f32::sample(Input::NearOne, word),
            shift: f32::sample(Input::Uniform, word << 32),
        }
    }

    fn bits(self) -> u64 {
        self.scale.bits() << 32 | self.shift.bits()
    }

    fn from_bits(bits: u64) -> Self {
        Self { scale: Sample::from_bits(bits >> 32), shift: Sample::from_bits(bits) }
    }
}

/// The last item that is not zero. Not commutative, on plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last;

impl Operator<u32> for Last {
    const NAME: &'static str = "last";
    const COMMUTATIVE: bool = false;

    #[inline(always)]
    fn identity(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn combine(&self, left: u32, right: u32) -> u32 {
        if right == 0 { left } else { right }
    }
}

/// A sum that stays at the largest value. Known to every device.
#[upsweep::operator(identity = 0, commutative)]
pub fn saturating_sum(left: u32, right: u32) -> u32 {
    left.saturating_add(right)
}

/// How often [`Explosive`] may combine before it panics.
static FUSE: AtomicUsize = AtomicUsize::new(usize::MAX);

/// [`Last`], until it has combined as often as [`explosive`] said; then it panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explosive(());

/// An operator that panics once it has combined `combinations` times, on whichever thread.
///
/// All such operators share one counter: use one at a time.
pub fn explosive(combinations: usize) -> Explosive {
    FUSE.store(combinations, Ordering::SeqCst);
    Explosive(())
}

impl Operator<u32> for Explosive {
    const NAME: &'static str = "explosive";
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> u32 {
        0
    }

    fn combine(&self, left: u32, right: u32) -> u32 {
        let left_over = FUSE.fetch_sub(1, Ordering::Relaxed);
        assert!(left_over != 1, "this operator panics on purpose");
        Last.combine(left, right)
    }
}

/// The last item that is not 0. Exact, not commutative, and known to CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastSet;

impl Operator<u32> for LastSet {
    const NAME: &'static str = "last set";
    const COMMUTATIVE: bool = false;
    const EXACT: bool = true;

    fn identity(&self) -> u32 {
        0
    }

    fn combine(&self, left: u32, right: u32) -> u32 {
        if right == 0 { left } else { right }
    }

    fn source(&self, language: Language) -> Option<Source> {
        (language == Language::Cuda).then(|| Source {
            combine: "return right == 0u ? left : right;".into(),
            ..Source::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The laws that the backends rely on: padding changes no bit, exchange of operands does.
    #[test]
    fn maps_obey_the_laws_of_operators() {
        let exact: Vec<Affine<u32>> = Input::Full.array(1, 100);
        let float: Vec<Affine<f32>> = Input::Full.array(1, 100);
        for index in 0..98 {
            let [a, b, c] = [exact[index], exact[index + 1], exact[index + 2]];
            let grouped = Compose.combine(Compose.combine(a, b), c);
            assert_eq!(grouped, Compose.combine(a, Compose.combine(b, c)));
            assert_ne!(Compose.combine(a, b), Compose.combine(b, a));
            let (identity, padding) = (Operator::<Affine<f32>>::identity(&Compose), padding());
            let map = float[index];
            for neutral in [identity, padding] {
                assert_eq!(Compose.combine(map, neutral).bits(), map.bits());
                assert_eq!(Compose.combine(neutral, map).bits(), map.bits());
            }
            let minus = Affine { shift: -0.0, ..map };
            assert_eq!(Compose.combine(padding, minus).bits(), minus.bits());
            assert_eq!(Compose.combine(minus, padding).bits(), minus.bits());
        }
    }

    fn padding() -> Affine<f32> {
        Operator::<Affine<f32>>::padding(&Compose)
    }

    #[test]
    fn the_fuse_burns_down() {
        let operator = explosive(2);
        assert_eq!(operator.combine(1, 0), 1);
        assert!(std::panic::catch_unwind(|| operator.combine(1, 2)).is_err());
    }
}
