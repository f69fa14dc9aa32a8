//! Items at other places than their own: from the end, every so many, at numbers that are items themselves.

use core::ops::Range;

use upsweep_core::{Derivation, Formula, Index, Make, Parameter};

use super::{BoundedLen, Fused, Parts};
use crate::{Error, GatherIndex, Result};

/// Where the item is that is asked for, as a number among all.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Place<'a> {
    of: Index,
    /// On which line of numbers it is, if it is not `of` itself.
    line: Option<Line<'a>>,
}

/// Numbers `first + terms + step · n`, modulo 2^64.
#[derive(Clone, Debug)]
struct Line<'a> {
    first: u64,
    step: u64,
    /// Numbers of items that only the device knows, each with what it is multiplied with.
    terms: Vec<(BoundedLen<'a>, u64)>,
}

impl<'a> Place<'a> {
    /// Each item in its own place.
    pub(super) const OWN: Self = Self { of: Index::Own, line: None };

    /// Items at these numbers.
    pub(super) fn at(of: Index) -> Self {
        Self { of, line: None }
    }

    /// The item of number `first + step · n`, where this is that of number n.
    pub(super) fn on_line(&self, first: u64, step: u64) -> Self {
        let line = match &self.line {
            None => Line { first, step, terms: Vec::new() },
            Some(own) => Line {
                first: first.wrapping_add(step.wrapping_mul(own.first)),
                step: step.wrapping_mul(own.step),
                terms: own.terms.iter().map(|(len, by)| (*len, step.wrapping_mul(*by))).collect(),
            },
        };
        Self { of: self.of.clone(), line: Some(line) }
    }

    /// The item of number `len - 1 - n` among `len` items, of which the device may know how many there are.
    fn counted_back(&self, len: usize, bounded: Option<BoundedLen<'a>>) -> Self {
        let known = if bounded.is_some() { 0 } else { len as u64 };
        let mut place = self.on_line(known.wrapping_sub(1), u64::MAX);
        if let (Some(line), Some(bounded)) = (&mut place.line, bounded) {
            line.terms.push((bounded, 1));
        }
        place
    }

    pub(super) fn is_own(&self) -> bool {
        self.line.is_none() && self.of == Index::Own
    }

    /// The number for kernels; what they must be handed for it is added to `parts`.
    pub(super) fn index(&self, parts: &mut Parts<'a>) -> Index {
        let of = self.of.clone();
        let Some(line) = &self.line else { return of };
        let [first, step] =
            [line.first, line.step].map(|number| parts.parameter(Parameter::of(number)));
        for (len, coefficient) in &line.terms {
            let coefficient = parts.parameter(Parameter::of(*coefficient));
            parts.derive(first, len, Derivation::Term { coefficient });
        }
        Index::Line { of: Box::new(of), first, step }
    }
}

/// Items from the last one to the first; see [`Fused::reversed`].
#[derive(Clone, Copy, Debug)]
pub struct Reversed<E>(pub(super) E);

impl<'a, E: Fused<'a>> Fused<'a> for Reversed<E> {
    type Item = E::Item;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn bound(&self) -> usize {
        self.0.bound()
    }

    fn bounded_len(&self) -> Option<BoundedLen<'a>> {
        self.0.bounded_len()
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn on_host(&self) -> Result<impl Make<Item = Self::Item> + 'a> {
        Ok(Reversed(self.0.on_host()?))
    }

    fn formulas(&self, place: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula> {
        self.0.formulas(&place.counted_back(self.len(), self.bounded_len()), parts)
    }
}

impl<M: Make> Make for Reversed<M> {
    type Item = M::Item;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn make(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = M::Item> + ExactSizeIterator {
        let all = self.len();
        self.0.make(all - range.end..all - range.start).rev()
    }

    #[inline(always)]
    fn item(&self, number: usize) -> M::Item {
        self.0.item(self.len() - 1 - number)
    }
}

/// Every so many items; see [`Fused::strided`].
#[derive(Clone, Copy, Debug)]
pub struct Strided<E> {
    pub(super) input: E,
    pub(super) step: usize,
}

impl<'a, E: Fused<'a>> Fused<'a> for Strided<E> {
    type Item = E::Item;

    fn len(&self) -> usize {
        if self.step == 0 { 0 } else { self.input.len().div_ceil(self.step) }
    }

    fn bound(&self) -> usize {
        if self.step == 0 { 0 } else { self.input.bound().div_ceil(self.step) }
    }

    fn bounded_len(&self) -> Option<BoundedLen<'a>> {
        Some(self.input.bounded_len()?.strided(self.step))
    }

    fn check(&self) -> Result<()> {
        if self.step == 0 { Err(Error::NoStep) } else { self.input.check() }
    }

    fn on_host(&self) -> Result<impl Make<Item = Self::Item> + 'a> {
        Ok(Strided { input: self.input.on_host()?, step: self.step })
    }

    fn formulas(&self, place: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula> {
        self.input.formulas(&place.on_line(0, self.step as u64), parts)
    }
}

impl<M: Make> Make for Strided<M> {
    type Item = M::Item;

    #[inline(always)]
    fn len(&self) -> usize {
        if self.step == 0 { 0 } else { self.input.len().div_ceil(self.step) }
    }

    #[inline(always)]
    fn make(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = M::Item> + ExactSizeIterator {
        let Self { input, step } = *self;
        range.map(
            #[inline(always)]
            move |number| input.item(number * step),
        )
    }

    #[inline(always)]
    fn item(&self, number: usize) -> M::Item {
        self.input.item(number * self.step)
    }
}

/// Items at numbers that are items themselves; see [`Fused::gather`].
#[derive(Clone, Copy, Debug)]
pub struct Gathered<E, I> {
    pub(super) input: E,
    pub(super) indices: I,
}

impl<'a, E, I> Fused<'a> for Gathered<E, I>
where
    E: Fused<'a>,
    I: Fused<'a, Item: GatherIndex>,
{
    type Item = E::Item;

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn bound(&self) -> usize {
        self.indices.bound()
    }

    fn bounded_len(&self) -> Option<BoundedLen<'a>> {
        self.indices.bounded_len()
    }

    fn check(&self) -> Result<()> {
        self.input.check()?;
        self.indices.check()?;
        match (self.input.len(), self.indices.len()) {
            (0, indices) if indices > 0 => Err(Error::NothingToGather { indices }),
            _ => Ok(()),
        }
    }

    fn on_host(&self) -> Result<impl Make<Item = Self::Item> + 'a> {
        Ok(Gathered { input: self.input.on_host()?, indices: self.indices.on_host()? })
    }

    fn formulas(&self, place: &Place<'a>, parts: &mut Parts<'a>) -> Vec<Formula> {
        let of = <I::Item as crate::Number>::DTYPE;
        let indices = self.indices.formulas(place, parts).pop();
        // No index of 32 bits is larger than all of them.
        let most = if of.size() > 4 { u64::MAX } else { u32::MAX.into() };
        let last = (self.input.len() as u64).saturating_sub(1).min(most);
        let last = parts.parameter(Parameter::of(last));
        if let Some(len) = self.input.bounded_len() {
            let length = parts.derive(last, &len, Derivation::Last);
            parts.gathers_from(length);
        }
        let indices = Box::new(indices.unwrap_or(Formula::Item(0)));
        self.input.formulas(&Place::at(Index::Gathered(indices, of, last)), parts)
    }
}

impl<M, I> Make for Gathered<M, I>
where
    M: Make,
    I: Make<Item: GatherIndex>,
{
    type Item = M::Item;

    #[inline(always)]
    fn len(&self) -> usize {
        self.indices.len()
    }

    #[inline(always)]
    fn make(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = M::Item> + ExactSizeIterator {
        let input = self.input;
        let last = input.len().saturating_sub(1);
        self.indices.make(range).map(
            #[inline(always)]
            move |index| input.item(index.number().min(last)),
        )
    }

    #[inline(always)]
    fn item(&self, number: usize) -> M::Item {
        let last = self.input.len().saturating_sub(1);
        self.input.item(self.indices.item(number).number().min(last))
    }
}

/// Adds an array that is read at a place: its formula.
pub(super) fn read<'a>(
    items: usize,
    source: super::Source<'a>,
    place: &Place<'a>,
    parts: &mut Parts<'a>,
) -> Formula {
    if place.is_own() {
        parts.arrays.push(source);
        return Formula::Item(parts.arrays.len() - 1);
    }
    let index = Box::new(place.index(parts));
    let last = parts.parameter(Parameter::of((items as u64).saturating_sub(1)));
    if let Some(len) = source.bounded_len(items) {
        parts.derive(last, &len, Derivation::Last);
    }
    // Kernels look at parameters, and not at the length.
    parts.anywhere.push(source.whole());
    Formula::Anywhere { array: parts.anywhere.len() - 1, index, last }
}
