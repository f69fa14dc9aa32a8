//! One piece of work on a GPU, at several lengths: its arrays, its results, and whether they are right.

use std::ops::Range;

use bytemuck::{cast_slice, pod_read_unaligned};
use upsweep::{Array, Device, Number, Recording, Result, View};

use crate::bench::POISON;

/// What can be run with any cell, at every length.
pub(crate) trait Jobs {
    /// The numbers of items, shorter ones first.
    fn lengths(&self) -> &[usize];

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

/// Work that reads one array and writes another, or one item.
pub(crate) struct Arrays<T, U, F> {
    device: Device,
    digest: Option<Digest<U>>,
    lengths: Vec<usize>,
    inputs: Vec<Array<T>>,
    outputs: Vec<Array<U>>,
    limits: Vec<Recording>,
    /// The results at all lengths, one behind another or one within another.
    expected: Vec<U>,
    places: Vec<Range<usize>>,
    bind: F,
}

fn poison<U: Number>() -> U {
    pod_read_unaligned(&[POISON; 8][..size_of::<U>()])
}

impl<T, U, F> Arrays<T, U, F>
where
    T: Number,
    U: Number,
    F: Fn(&Device, &Array<T>, &mut Array<U>) -> Result<Recording>,
{
    /// Work whose result is one item: those at all `lengths` are `expected`.
    pub(crate) fn of_values(
        device: &Device,
        items: &[T],
        lengths: Vec<usize>,
        expected: Vec<U>,
        bind: F,
    ) -> Result<Self> {
        let inputs = on_device(device, items, &lengths)?;
        let limits = inputs.iter().map(|input| device.bind_probe_read(input));
        let limits = limits.collect::<Result<_>>()?;
        let one = |_| Array::filled(device, 1, poison::<U>());
        let outputs = lengths.iter().map(one).collect::<Result<_>>()?;
        let places = (0..lengths.len()).map(|number| number..number + 1).collect();
        let (device, digest) = (device.clone(), None);
        Ok(Self { device, digest, lengths, inputs, outputs, limits, expected, places, bind })
    }

    /// Work whose result is as long as its input: that of fewer items is the beginning of that of all, `expected`.
    pub(crate) fn of_arrays(
        device: &Device,
        items: &[T],
        lengths: Vec<usize>,
        expected: Vec<U>,
        digest: Digest<U>,
        bind: F,
    ) -> Result<Self> {
        let inputs = on_device(device, items, &lengths)?;
        let filled = |&length| Array::filled(device, length, poison::<U>());
        let mut outputs: Vec<Array<U>> = lengths.iter().map(filled).collect::<Result<_>>()?;
        let pairs = inputs.iter().zip(&mut outputs);
        let limits = pairs.map(|(input, output)| device.bind_probe_copy(input, output));
        let limits = limits.collect::<Result<_>>()?;
        let places = lengths.iter().map(|&length| 0..length).collect();
        let (device, digest) = (device.clone(), Some(digest));
        Ok(Self { device, digest, lengths, inputs, outputs, limits, expected, places, bind })
    }
}

/// The first items of an array, so many, for each length.
fn on_device<T: Number>(device: &Device, items: &[T], lengths: &[usize]) -> Result<Vec<Array<T>>> {
    lengths.iter().map(|&length| Array::from_slice(device, &items[..length])).collect()
}

impl<T, U, F> Jobs for Arrays<T, U, F>
where
    T: Number,
    U: Number,
    F: Fn(&Device, &Array<T>, &mut Array<U>) -> Result<Recording>,
{
    fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    fn bind(&mut self, device: &Device, length: usize) -> Result<Recording> {
        (self.bind)(device, &self.inputs[length], &mut self.outputs[length])
    }

    fn limit(&self, length: usize) -> &Recording {
        &self.limits[length]
    }

    fn poison(&mut self, length: usize) -> Result<()> {
        let items = self.places[length].len();
        if items > COMPARED {
            // The items themselves are not their result.
            return self.limits[length].submit();
        }
        self.outputs[length].copy_from_slice(&vec![poison::<U>(); items])
    }

    fn correct(&self, length: usize) -> Result<bool> {
        let expected = &self.expected[self.places[length].clone()];
        if let Some(digest) = self.digest.as_ref().filter(|_| expected.len() > COMPARED) {
            let found = digest(&self.device, self.outputs[length].view())?;
            return Ok(found == digest(&Device::cpu(), expected.into())?);
        }
        let found = self.outputs[length].to_vec()?;
        Ok(cast_slice::<U, u8>(&found) == cast_slice::<U, u8>(expected))
    }
}
