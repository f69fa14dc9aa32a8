//! Arrays of calls in the device's memory: what comes from the host is brought there, what goes to it is written to memory of ours
//! and copied in the end.

use core::ops::Range;
use std::sync::Arc;

use upsweep_core::{Error, Kind, Recipe, Result};

use crate::arrays::{ErasedSource, ErasedTarget, Ingredients, Inputs, Part, Stored, one_length};
use crate::host::HostItemsMut;
use crate::primitives::Primitives;

/// The items of a call in the device's memory; `uploaded` keeps those that were brought there.
pub(crate) fn source<'a, 'b: 'a, G: Primitives>(
    gpu: &Arc<G>,
    input: ErasedSource<'_, G::Slice<'b>>,
    kind: Kind,
    uploaded: &'a mut Option<G::Buffer>,
) -> Result<G::Slice<'a>> {
    match input {
        ErasedSource::Device(slice) => match slice.kind().filter(|own| *own != kind) {
            None => Ok(G::reborrow(slice)),
            Some(own) => {
                Err(Error::Buffer { reason: format!("a slice of {own} is not one of {kind}") })
            }
        },
        ErasedSource::Host(items, range) => {
            let count = range.len() as u64;
            let buffer = gpu.upload(&items.bytes(range))?;
            G::slice(uploaded.insert(buffer), kind, count)
        }
    }
}

/// The first `items` items of an array, brought to the device if they are in the host's memory.
pub(crate) fn upload<G: Primitives>(
    gpu: &Arc<G>,
    array: &Stored<'_, G::Slice<'_>>,
    kind: Kind,
    items: usize,
) -> Result<Option<G::Buffer>> {
    match array {
        Stored::Device(_) => Ok(None),
        Stored::Host(bytes) => gpu.upload(&bytes[..kind.size() * items]).map(Some),
    }
}

/// The same in the device's memory, where they lie or where they were brought.
pub(crate) fn stored<'a, 'b: 'a, G: Primitives>(
    array: &Stored<'_, G::Slice<'b>>,
    kind: Kind,
    items: usize,
    uploaded: Option<&'a G::Buffer>,
) -> Result<G::Slice<'a>> {
    match (array, uploaded) {
        (Stored::Device(slice), _) => G::reborrow(*slice).first(kind, items),
        (Stored::Host(_), Some(buffer)) => G::slice(buffer, kind, items as u64),
        (Stored::Host(_), None) => {
            Err(Error::Buffer { reason: "an array is in the host's memory".to_owned() })
        }
    }
}

/// The arrays that items are made of, with what they hold and how many of it are read.
fn arrays<'m, S: Part>(
    made: &Ingredients<'m, S>,
) -> impl Iterator<Item = (&'m Stored<'m, S>, Kind, usize)> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    let in_order = made.arrays.iter().zip(&made.recipe.arrays);
    let in_order = in_order.map(move |(array, &kind)| (array, kind, items));
    let anywhere = made.anywhere.iter().zip(&made.recipe.anywhere);
    let anywhere = anywhere.map(|(array, &kind)| {
        let all = match array {
            Stored::Device(slice) => slice.len(),
            Stored::Host(bytes) => bytes.len() / kind.size().max(1),
        };
        (array, kind, all)
    });
    in_order.chain(anywhere)
}

/// Those arrays that items are made of and the host holds, brought to the device.
pub(crate) fn upload_all<G: Primitives>(
    gpu: &Arc<G>,
    made: &Ingredients<'_, G::Slice<'_>>,
) -> Result<Vec<Option<G::Buffer>>> {
    arrays(made).map(|(array, kind, items)| upload(gpu, array, kind, items)).collect()
}

/// All arrays that items are made of in the device's memory, of which some may have been brought there; and behind them where lengths are.
pub(crate) fn stored_all<'a, 'b: 'a, G: Primitives>(
    made: &Ingredients<'_, G::Slice<'b>>,
    uploaded: &'a [Option<G::Buffer>],
) -> Result<Vec<G::Slice<'a>>> {
    let uploaded = uploaded.iter().map(Option::as_ref).chain(core::iter::repeat(None));
    let stored = |((array, kind, items), own)| stored::<G>(array, kind, items, own);
    let lengths = made.lengths.iter().map(|length| Ok(G::reborrow(*length)));
    arrays(made).zip(uploaded).map(stored).chain(lengths).collect()
}

/// How many of at most `bound` items there are. Waits for it, if only the device knows.
pub(crate) fn known<G: Primitives>(
    gpu: &Arc<G>,
    length: Option<G::Slice<'_>>,
    bound: usize,
) -> Result<usize> {
    let Some(length) = length else { return Ok(bound) };
    let mut bytes = [0; 8];
    gpu.to_host(&length, &mut bytes)?;
    Ok(usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(bound).min(bound))
}

/// How many of at most `bound` items there are. Waits for it, if only the device knows.
///
/// # Errors
/// [`Error::LengthAboveBound`] if there are more, and those of the device.
pub(crate) fn known_within<G: Primitives>(
    gpu: &Arc<G>,
    length: Option<G::Slice<'_>>,
    bound: usize,
) -> Result<usize> {
    let Some(length) = length else { return Ok(bound) };
    let mut bytes = [0; 8];
    gpu.to_host(&length, &mut bytes)?;
    let (length, most) = (u64::from_le_bytes(bytes), bound as u64);
    let known = usize::try_from(length).ok().filter(|length| *length <= bound);
    known.ok_or(Error::LengthAboveBound { length, bound: most })
}

/// How many items there are. Waits for the device, if only that knows.
///
/// # Errors
/// [`Error::LengthAboveBound`] if there are more than the items are long, and those of the device.
pub fn known_len<G: Primitives>(
    gpu: &Arc<G>,
    items: &ErasedSource<'_, G::Slice<'_>>,
) -> Result<usize> {
    known_within(gpu, items.length(), items.len())
}

/// How many items are made. Waits for it, if only the device knows.
pub(crate) fn known_of_made<G: Primitives>(
    gpu: &Arc<G>,
    made: &Ingredients<'_, G::Slice<'_>>,
) -> Result<usize> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    let in_order = made.arrays.iter().filter_map(Stored::length);
    let length = one_length(own_length(made.recipe, made.lengths).chain(in_order))?;
    let (Some(length), Some(quotient)) = (length, &made.recipe.lengths.items) else {
        return known(gpu, length.map(G::reborrow), items);
    };
    let number = |parameter| made.recipe.number_in(made.words, parameter);
    let bound = number(made.recipe.lengths.all[quotient.length].bound);
    let bound = usize::try_from(bound).unwrap_or(usize::MAX);
    let length = known(gpu, Some(G::reborrow(length)), bound)? as u64;
    let made = length.div_ceil(number(quotient.divisor).max(1));
    Ok(usize::try_from(made).unwrap_or(items).min(items))
}

/// The length from which the number of items follows, if a recipe says so.
fn own_length<S: Part>(recipe: &Recipe, lengths: &[S]) -> impl Iterator<Item = S> {
    let items = recipe.lengths.items.as_ref();
    items.and_then(|items| lengths.get(items.length)).copied().into_iter()
}

/// What a launch reads of these, and of the words that its kernels are handed.
pub(crate) fn inputs<'a, S, T: Part>(
    made: &Ingredients<'_, S>,
    slices: &'a [T],
    words: &'a [u32],
) -> Result<Inputs<'a, T>> {
    let (arrays, others) = slices.split_at(made.arrays.len());
    let (anywhere, lengths) = others.split_at(made.anywhere.len());
    let own = own_length(made.recipe, lengths);
    let length = one_length(own.chain(arrays.iter().filter_map(T::length)))?;
    Ok(Inputs { arrays, anywhere, lengths, words, items: made.items, length })
}

/// An array that is written: the caller's, or memory of ours that is copied to it in the end.
pub(crate) enum Written<'a, 'b, G: Primitives> {
    Device(G::Slice<'b>),
    Host { buffer: G::Buffer, kind: Kind, to: &'a mut dyn HostItemsMut, range: Range<usize> },
}

impl<'a, 'b, G: Primitives> Written<'a, 'b, G> {
    /// One that holds anything.
    pub(crate) fn new(
        gpu: &Arc<G>,
        target: ErasedTarget<'a, G::Slice<'b>>,
        kind: Kind,
    ) -> Result<Self> {
        Ok(match target {
            ErasedTarget::Device(slice) => Self::Device(slice),
            ErasedTarget::Host(to, range) => {
                let buffer = gpu.room((range.len() * kind.size()) as u64)?;
                Self::Host { buffer, kind, to, range }
            }
        })
    }

    /// One that holds the items which are there.
    pub(crate) fn holding(
        gpu: &Arc<G>,
        target: ErasedTarget<'a, G::Slice<'b>>,
        kind: Kind,
    ) -> Result<Self> {
        Ok(match target {
            ErasedTarget::Device(slice) => Self::Device(slice),
            ErasedTarget::Host(to, range) => {
                let buffer = gpu.upload(&to.bytes(range.clone()))?;
                Self::Host { buffer, kind, to, range }
            }
        })
    }

    /// Where it is written.
    pub(crate) fn slice(&self) -> Result<G::Slice<'_>> {
        match self {
            Self::Device(slice) => Ok(G::reborrow(*slice)),
            Self::Host { buffer, kind, range, .. } => G::slice(buffer, *kind, range.len() as u64),
        }
    }

    pub(crate) fn is_on_host(&self) -> bool {
        matches!(self, Self::Host { .. })
    }

    /// Copies as many items to the host as there are of at most `bound`, if that is where they are wanted. Waits for them.
    pub(crate) fn finish_known(
        self,
        gpu: &Arc<G>,
        length: Option<G::Slice<'_>>,
        bound: usize,
    ) -> Result<()> {
        if !self.is_on_host() {
            return Ok(());
        }
        let items = known(gpu, length, bound)?;
        self.finish(gpu, items)
    }

    /// Copies the first items to the host, if that is where they are wanted. Waits for them.
    pub(crate) fn finish(self, gpu: &Arc<G>, items: usize) -> Result<()> {
        let Self::Host { buffer, kind, to, range: Range { start, .. } } = self else {
            return Ok(());
        };
        let slice = G::slice(&buffer, kind, items as u64)?;
        to.fill(start..start + items, &mut |bytes| gpu.to_host(&slice, bytes))
    }
}
