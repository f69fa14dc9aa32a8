//! Arrays of calls in the device's memory: what comes from the host is brought there, what goes to it is written to memory of ours
//! and copied in the end.

use core::ops::Range;
use std::sync::Arc;

use upsweep_core::{Error, Kind, Result};

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

/// All arrays that items are made of in the device's memory, of which some may have been brought there.
pub(crate) fn stored_all<'a, 'b: 'a, G: Primitives>(
    made: &Ingredients<'_, G::Slice<'b>>,
    uploaded: &'a [Option<G::Buffer>],
) -> Result<Vec<G::Slice<'a>>> {
    let uploaded = uploaded.iter().map(Option::as_ref).chain(core::iter::repeat(None));
    let stored = |((array, kind, items), own)| stored::<G>(array, kind, items, own);
    arrays(made).zip(uploaded).map(stored).collect()
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

/// How many items there are. Waits for the device, if only that knows.
///
/// # Errors
/// Those of the device.
pub fn known_len<G: Primitives>(
    gpu: &Arc<G>,
    items: &ErasedSource<'_, G::Slice<'_>>,
) -> Result<usize> {
    known(gpu, items.length(), items.len())
}

/// Where the device has the number of items that are made of those of arrays.
pub(crate) fn length_of<S: Part>(made: &Ingredients<'_, S>) -> Result<Option<S>> {
    one_length(made.arrays.iter().filter_map(Stored::length))
}

/// What a launch reads of these, and of the words that its kernels are handed.
pub(crate) fn inputs<'a, S, T: Part>(
    made: &Ingredients<'_, S>,
    slices: &'a [T],
    words: &'a [u32],
) -> Result<Inputs<'a, T>> {
    let (arrays, anywhere) = slices.split_at(made.arrays.len());
    let length = one_length(arrays.iter().filter_map(T::length))?;
    Ok(Inputs { arrays, anywhere, words, items: made.items, length })
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
