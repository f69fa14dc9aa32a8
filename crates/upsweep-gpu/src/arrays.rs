//! Items wherever they are.

use core::ops::Range;

use upsweep_core::{Direction, Element, Error, Kind, Recipe, Result, SegmentedBy};

use crate::{ErasedType, HostItems, HostItemsMut};

/// Items in a device's memory, as a backend knows them.
pub trait Part: Copy {
    /// Number of items.
    fn len(&self) -> usize;

    /// Whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the items are, if their memory says so.
    fn kind(&self) -> Option<Kind>;

    /// The items of these numbers, which are among them; they are of this kind.
    #[must_use]
    fn part(&self, kind: Kind, range: Range<usize>) -> Self;

    /// The first `items` items, which are of this kind.
    ///
    /// # Errors
    /// [`Error::Buffer`] if there are fewer.
    fn first(&self, kind: Kind, items: usize) -> Result<Self> {
        if items > self.len() {
            let reason = format!("{items} items are not among {}", self.len());
            return Err(Error::Buffer { reason });
        }
        Ok(self.part(kind, 0..items))
    }

    /// Where the device has the number of items, a `u64`, if [`len`](Part::len) is no more than their bound.
    fn length(&self) -> Option<Self>;

    /// The same items, whose number the device has there.
    #[must_use]
    fn with_length(self, length: Self) -> Self;

    /// All of these items, whatever their length.
    #[must_use]
    fn whole(self) -> Self;

    /// Whether this is the same range of memory.
    fn is(&self, other: &Self) -> bool;

    /// Checks that a kernel may read this and write the other.
    ///
    /// # Errors
    /// [`Error::Buffer`] if they are not apart.
    fn check_apart(&self, written: &Self) -> Result<()>;
}

/// Items to read.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a, T, S> {
    /// In the host's memory: copied to the device.
    Host(&'a [T]),
    /// In the device's memory.
    Device(S),
}

/// Items to read that are not the only ones, as bytes: a kernel makes others of them and of those of other arrays.
#[derive(Clone, Copy, Debug)]
pub enum Stored<'a, S> {
    /// In the host's memory: copied to the device.
    Host(&'a [u8]),
    /// In the device's memory.
    Device(S),
}

impl<S: Part> Stored<'_, S> {
    /// Where the device has the number of items.
    pub(crate) fn length(&self) -> Option<S> {
        match self {
            Self::Host(_) => None,
            Self::Device(slice) => slice.length(),
        }
    }
}

/// What kernels make items of.
#[derive(Clone, Copy, Debug)]
pub struct Ingredients<'a, S> {
    /// How.
    pub recipe: &'a Recipe,
    /// Arrays that are read in order, of which each has as many items as are made, or more.
    pub arrays: &'a [Stored<'a, S>],
    /// Arrays that are read anywhere.
    pub anywhere: &'a [Stored<'a, S>],
    /// Where the device has each of the recipe's lengths.
    pub lengths: &'a [S],
    /// The words of the recipe's parameters.
    pub words: &'a [u32],
    /// How many are made.
    pub items: u64,
}

/// What a launch reads.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, S> {
    /// Arrays that are read in order, of as many items each.
    pub arrays: &'a [S],
    /// Arrays that are read anywhere.
    pub anywhere: &'a [S],
    /// Where the device has the recipe's lengths, from which parameters follow.
    pub lengths: &'a [S],
    /// The words of parameters, and those of the operator's values that kernels are handed.
    pub words: &'a [u32],
    /// How many items there are, or most of them.
    pub items: u64,
    /// Where the device has their number, or what it follows from, if the host knows no more than `items`.
    pub length: Option<S>,
}

impl<'a, S: Part> Inputs<'a, S> {
    /// Arrays of as many items each, of which there is at least one, and words that kernels are handed.
    pub fn of(arrays: &'a [S], words: &'a [u32]) -> Self {
        let items = arrays.first().map_or(0, |array| array.len() as u64);
        let length = arrays.first().and_then(S::length);
        Self { arrays, anywhere: &[], lengths: &[], words, items, length }
    }

    /// How many there are, as Rust counts them.
    pub fn len(&self) -> usize {
        usize::try_from(self.items).unwrap_or(usize::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Checks that the place of their length is apart from what is written.
    ///
    /// # Errors
    /// [`Error::Buffer`] if it is not.
    pub(crate) fn check_length_apart(&self, written: &S) -> Result<()> {
        self.places().try_for_each(|length| length.check_apart(written))
    }

    /// Whether anything follows from a length that only the device knows.
    pub fn is_bounded(&self) -> bool {
        self.places().next().is_some()
    }

    /// Where lengths are.
    pub fn places(&self) -> impl Iterator<Item = &S> + Clone {
        self.length.iter().chain(self.lengths)
    }

    /// All arrays, those that are read in order first.
    pub fn all(&self) -> impl Iterator<Item = &'a S> + Clone + use<'a, S> {
        self.arrays.iter().chain(self.anywhere)
    }
}

/// Most words that kernels are handed as parameters.
pub const MOST_PARAMETERS: usize = 64;

/// Checks that kernels can be handed as many words.
pub(crate) fn check_words(words: usize) -> Result<()> {
    if words <= MOST_PARAMETERS {
        return Ok(());
    }
    let reason = format!("a kernel is handed {MOST_PARAMETERS} words at most, here are {words}");
    Err(Error::Buffer { reason })
}

impl<S> Ingredients<'_, S> {
    /// Checks that these are the arrays of the recipe, and that a kernel can be handed as many.
    ///
    /// # Errors
    /// [`Error::Buffer`] if there are too many, or others.
    pub fn check(&self, most_arrays: usize) -> Result<()> {
        let own = [self.arrays.len(), self.anywhere.len()];
        let wanted = [self.recipe.arrays.len(), self.recipe.anywhere.len()];
        if own != wanted {
            let reason = format!("items are made of {wanted:?} arrays, here are {own:?}");
            return Err(Error::Buffer { reason });
        }
        let (lengths, wanted) = (self.lengths.len(), self.recipe.lengths.all.len());
        if lengths != wanted {
            let reason = format!("items follow from {wanted} lengths, here are {lengths}");
            return Err(Error::Buffer { reason });
        }
        let arrays = self.arrays.len() + self.anywhere.len();
        if arrays > most_arrays {
            let reason = format!("a kernel reads {most_arrays} arrays at most, here are {arrays}");
            return Err(Error::Buffer { reason });
        }
        check_words(self.recipe.words())
    }
}

/// Items to write, or to read and overwrite.
#[derive(Debug)]
pub enum Target<'a, T, S> {
    /// In the host's memory: copied there from the device.
    Host(&'a mut [T]),
    /// In the device's memory.
    Device(S),
}

impl<T, S: Part> Source<'_, T, S> {
    /// Number of items.
    pub fn len(&self) -> usize {
        match self {
            Source::Host(items) => items.len(),
            Source::Device(slice) => slice.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Element, S: Part> Source<'_, T, S> {
    /// The same without the type.
    pub fn erased(&self) -> ErasedSource<'_, S> {
        match self {
            Source::Host(items) => ErasedSource::Host(items, 0..items.len()),
            Source::Device(slice) => ErasedSource::Device(*slice),
        }
    }
}

impl<T, S: Part> Target<'_, T, S> {
    /// Number of items.
    pub fn len(&self) -> usize {
        match self {
            Target::Host(items) => items.len(),
            Target::Device(slice) => slice.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Element, S: Part> Target<'_, T, S> {
    /// The same without the type.
    pub fn erased(&mut self) -> ErasedTarget<'_, S> {
        match self {
            Target::Host(items) => {
                let all = 0..items.len();
                ErasedTarget::Host(items, all)
            }
            Target::Device(slice) => ErasedTarget::Device(*slice),
        }
    }
}

/// An array that says where segments begin.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a, S> {
    /// How it does.
    pub by: SegmentedBy,
    /// Of what it is.
    pub kind: Kind,
    /// Numbers in it.
    pub count: usize,
    /// Where it is.
    pub stored: Stored<'a, S>,
}

/// Where the values of segments go, one behind another, and what is found out with them.
#[derive(Debug)]
pub struct Packed<'a, K, S> {
    /// The key of each segment.
    pub unique: Option<Target<'a, K, S>>,
    /// One number: how many segments there are.
    pub count: Target<'a, u64, S>,
}

/// The same without Rust's types.
pub struct ErasedPacked<'a, S> {
    /// The key of each segment, and its type.
    pub unique: Option<(ErasedTarget<'a, S>, ErasedType)>,
    /// One `u64`: how many segments there are.
    pub count: ErasedTarget<'a, S>,
}

impl<K: Element, S: Part> Packed<'_, K, S> {
    /// The same without the type.
    pub fn erased(&mut self) -> ErasedPacked<'_, S> {
        ErasedPacked {
            unique: self.unique.as_mut().map(|unique| (unique.erased(), ErasedType::of::<K>())),
            count: self.count.erased(),
        }
    }
}

/// Items to read, whose type is known otherwise.
#[derive(Clone)]
pub enum ErasedSource<'a, S> {
    /// Of the items in the host's memory those of these numbers: copied to the device.
    Host(&'a dyn HostItems, Range<usize>),
    /// In the device's memory.
    Device(S),
}

impl<'a, S: Part> ErasedSource<'a, S> {
    /// Number of items.
    pub fn len(&self) -> usize {
        match self {
            Self::Host(_, range) => range.len(),
            Self::Device(slice) => slice.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items of these numbers, which are among them; they are of this kind.
    pub(crate) fn part(&self, kind: Kind, range: Range<usize>) -> Self {
        match self {
            Self::Host(items, all) => Self::Host(*items, inside(all, range)),
            Self::Device(slice) => Self::Device(slice.part(kind, range)),
        }
    }

    /// The first items, of which there are no fewer, whatever their length was.
    pub(crate) fn known(&self, kind: Kind, items: usize) -> Self {
        match self.part(kind, 0..items) {
            Self::Device(slice) => Self::Device(slice.whole()),
            host @ Self::Host(..) => host,
        }
    }

    /// Whether they are in the host's memory.
    pub(crate) fn is_on_host(&self) -> bool {
        matches!(self, Self::Host(..))
    }

    /// Where the device has the number of items.
    pub(crate) fn length(&self) -> Option<S> {
        match self {
            Self::Host(..) => None,
            Self::Device(slice) => slice.length(),
        }
    }
}

/// Items to write, or to read and overwrite, whose type is known otherwise.
pub enum ErasedTarget<'a, S> {
    /// Of the items in the host's memory those of these numbers: copied there from the device.
    Host(&'a mut dyn HostItemsMut, Range<usize>),
    /// In the device's memory.
    Device(S),
}

impl<S: Part> ErasedTarget<'_, S> {
    /// Number of items.
    pub fn len(&self) -> usize {
        match self {
            Self::Host(_, range) => range.len(),
            Self::Device(slice) => slice.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All items, for a while.
    pub fn reborrow(&mut self) -> ErasedTarget<'_, S> {
        match self {
            Self::Host(items, all) => ErasedTarget::Host(*items, all.clone()),
            Self::Device(slice) => ErasedTarget::Device(*slice),
        }
    }

    /// The first items, of which there are no fewer, whatever their length was.
    pub(crate) fn known(&mut self, kind: Kind, items: usize) -> ErasedTarget<'_, S> {
        match self.part(kind, 0..items) {
            ErasedTarget::Device(slice) => ErasedTarget::Device(slice.whole()),
            host @ ErasedTarget::Host(..) => host,
        }
    }

    /// The items of these numbers.
    pub(crate) fn part(&mut self, kind: Kind, range: Range<usize>) -> ErasedTarget<'_, S> {
        match self {
            Self::Host(items, all) => ErasedTarget::Host(*items, inside(all, range)),
            Self::Device(slice) => ErasedTarget::Device(slice.part(kind, range)),
        }
    }

    /// Whether they are in the host's memory.
    pub(crate) fn is_on_host(&self) -> bool {
        matches!(self, Self::Host(..))
    }

    /// Where the device has the number of items.
    pub(crate) fn length(&self) -> Option<S> {
        match self {
            Self::Host(..) => None,
            Self::Device(slice) => slice.length(),
        }
    }
}

/// Of a range the part with these numbers.
fn inside(all: &Range<usize>, part: Range<usize>) -> Range<usize> {
    all.start + part.start..all.start + part.end
}

/// The pieces of at most `most` items of a chunk, in the order in which a scan meets them.
pub(crate) fn pieces(
    items: usize,
    most: usize,
    direction: Direction,
) -> impl Iterator<Item = Range<usize>> {
    (0..items.div_ceil(most.max(1))).map(move |number| {
        let (start, end) = (number * most, items.min((number + 1).saturating_mul(most)));
        match direction {
            Direction::Forward => start..end,
            Direction::Reverse => items - end..items - start,
        }
    })
}

/// The one place where the lengths of arrays that are read together lie.
///
/// # Errors
/// [`Error::Buffer`] if there are several: nobody knows whether they are equal.
pub(crate) fn one_length<S: Part>(mut lengths: impl Iterator<Item = S>) -> Result<Option<S>> {
    let first = lengths.next();
    if first.is_some_and(|first| lengths.any(|other| !other.is(&first))) {
        return Err(several_lengths());
    }
    Ok(first)
}

/// Nobody knows whether lengths in several places are equal.
#[must_use]
pub fn several_lengths() -> Error {
    let reason =
        "arrays that are read together have lengths in several places of the device's memory";
    Error::Buffer { reason: reason.to_owned() }
}

/// Checks that an output is as long as its input.
pub(crate) fn check_lengths(input: usize, output: usize) -> Result<()> {
    if input == output { Ok(()) } else { Err(Error::LengthMismatch { input, output }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_the_order_of_the_scan() {
        let all = |items, most, direction| pieces(items, most, direction).collect::<Vec<_>>();
        assert_eq!(all(10, 4, Direction::Forward), [0..4, 4..8, 8..10]);
        assert_eq!(all(10, 4, Direction::Reverse), [6..10, 2..6, 0..2]);
        assert_eq!(all(10, usize::MAX, Direction::Reverse), vec![0..10; 1]);
        assert_eq!(all(0, 4, Direction::Forward), []);
    }
}
