//! One piece of work on a GPU, at several lengths: its arrays, its results, and whether they are right.

use std::ops::Range;

use bytemuck::{cast_slice, pod_read_unaligned};
use upsweep::{Array, Device, Number, Recording, Result, View};

use crate::buffer::{Buffer, POISON};

/// What can be run with any cell, at every length.
pub(crate) trait Jobs {
    /// The numbers of items, shorter ones first.
    fn lengths(&self) -> &[usize];

    /// Gives the arrays of a length another place in the device's memory, for runs that are bound from now on.
    fn move_arrays(&mut self, length: usize) -> Result<()>;

    /// A run at the length of this number, on a device that was told how.
    fn bind(&mut self, device: &Device, length: usize) -> Result<Recording>;

    /// The same bytes, moved without arithmetic.
    fn limit(&self, length: usize) -> &Recording;

    /// Spoils the result, so that one that is not written is not taken for a right one.
    fn poison(&mut self, length: usize) -> Result<()>;

    /// Whether the last result is right.
    fn correct(&self, length: usize) -> Result<bool>;
}

/// Results of at most so many items are compared item by item; of longer ones the value of a reduction on the device is.
pub(crate) const COMPARED: usize = 1 << 20;

/// What a device makes of all items of an output, as bytes, or of those in the host's memory.
pub(crate) type Digest<U> = Box<dyn Fn(&Device, View<'_, U>) -> Result<Vec<u8>>>;

/// Moves the bytes of a piece of work without arithmetic.
type Limit<T, U> = fn(&Device, &Array<T>, &mut Array<U>) -> Result<Recording>;

/// The arrays of one length.
struct Pair<T, U> {
    input: Array<T>,
    output: Array<U>,
    limit: Recording,
}

/// Work that reads one array and writes another, or one item.
pub(crate) struct Arrays<'a, T, U, F> {
    device: Device,
    items: &'a [T],
    limit: Limit<T, U>,
    digest: Option<Digest<U>>,
    lengths: Vec<usize>,
    pairs: Vec<Pair<T, U>>,
    /// Of `U`: the results at all lengths, one behind another or one within another.
    expected: Buffer,
    places: Vec<Range<usize>>,
    bind: F,
}

fn poison<U: Number>() -> U {
    pod_read_unaligned(&[POISON; 8][..size_of::<U>()])
}

impl<'a, T, U, F> Arrays<'a, T, U, F>
where
    T: Number,
    U: Number,
    F: Fn(&Device, &Array<T>, &mut Array<U>) -> Result<Recording>,
{
    /// Work whose result is one item: those at all `lengths` are `expected`.
    pub(crate) fn of_values(
        device: &Device,
        items: &'a [T],
        lengths: Vec<usize>,
        expected: Buffer,
        bind: F,
    ) -> Result<Self> {
        let limit: Limit<T, U> = |device, input, _| device.bind_probe_read(input);
        let places = (0..lengths.len()).map(|number| number..number + 1).collect();
        let (device, digest, pairs) = (device.clone(), None, Vec::new());
        let all = Self { device, items, limit, digest, lengths, pairs, expected, places, bind };
        all.with_pairs()
    }

    /// Work whose result is as long as its input: that of fewer items is the beginning of that of all, `expected`.
    pub(crate) fn of_arrays(
        device: &Device,
        items: &'a [T],
        lengths: Vec<usize>,
        expected: Buffer,
        digest: Digest<U>,
        bind: F,
    ) -> Result<Self> {
        let limit: Limit<T, U> = |device, input, output| device.bind_probe_copy(input, output);
        let places = lengths.iter().map(|&length| 0..length).collect();
        let (device, digest, pairs) = (device.clone(), Some(digest), Vec::new());
        let all = Self { device, items, limit, digest, lengths, pairs, expected, places, bind };
        all.with_pairs()
    }

    fn with_pairs(mut self) -> Result<Self> {
        let pairs = (0..self.lengths.len()).map(|length| self.pair(length));
        self.pairs = pairs.collect::<Result<_>>()?;
        Ok(self)
    }

    /// New arrays of the first items, as many as a length says, and of its result.
    fn pair(&self, length: usize) -> Result<Pair<T, U>> {
        let input = Array::from_slice(&self.device, &self.items[..self.lengths[length]])?;
        let mut output = Array::filled(&self.device, self.places[length].len(), poison::<U>())?;
        let limit = (self.limit)(&self.device, &input, &mut output)?;
        Ok(Pair { input, output, limit })
    }
}

impl<T, U, F> Jobs for Arrays<'_, T, U, F>
where
    T: Number,
    U: Number,
    F: Fn(&Device, &Array<T>, &mut Array<U>) -> Result<Recording>,
{
    fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    fn move_arrays(&mut self, length: usize) -> Result<()> {
        // The old ones are there until then, so that the new ones lie elsewhere.
        self.pairs[length] = self.pair(length)?;
        Ok(())
    }

    fn bind(&mut self, device: &Device, length: usize) -> Result<Recording> {
        let Pair { input, output, .. } = &mut self.pairs[length];
        (self.bind)(device, input, output)
    }

    fn limit(&self, length: usize) -> &Recording {
        &self.pairs[length].limit
    }

    fn poison(&mut self, length: usize) -> Result<()> {
        let items = self.places[length].len();
        if items > COMPARED {
            // The items themselves are not their result.
            return self.pairs[length].limit.submit();
        }
        self.pairs[length].output.copy_from_slice(&vec![poison::<U>(); items])
    }

    fn correct(&self, length: usize) -> Result<bool> {
        let expected: &[U] = &cast_slice(self.expected.bytes())[self.places[length].clone()];
        if let Some(digest) = self.digest.as_ref().filter(|_| expected.len() > COMPARED) {
            let found = digest(&self.device, self.pairs[length].output.view())?;
            return Ok(found == digest(&Device::cpu(), expected.into())?);
        }
        let found = self.pairs[length].output.to_vec()?;
        Ok(cast_slice::<U, u8>(&found) == cast_slice::<U, u8>(expected))
    }
}
