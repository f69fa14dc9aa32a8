//! The arrays of a workload on a GPU at several lengths, and whether results are right.

use std::ops::Range;

use bytemuck::cast_slice;
use upsweep::any::{self, AnyArray, AnyView};
use upsweep::{Device, Dtype, Recording, Result};

use crate::buffer::{Buffer, poison, poisoned};
use crate::workload::Workload;

/// Results of at most so many items are compared item by item; of longer ones the value of a reduction on the device is.
pub(crate) const COMPARED: usize = 1 << 20;

/// The arrays of one length.
struct Pair {
    input: AnyArray,
    output: AnyArray,
    limit: Recording,
}

/// Work that reads one array and writes another, or one item, at every length.
pub(crate) struct Arrays<'a> {
    device: Device,
    workload: Workload,
    items: AnyView<'a>,
    /// The type of results.
    out: Dtype,
    lengths: Vec<usize>,
    pairs: Vec<Pair>,
    /// The results at all lengths, one behind another or one within another.
    expected: Buffer,
    places: Vec<Range<usize>>,
}

impl<'a> Arrays<'a> {
    /// Arrays on a device of the first `items`, as many as each length says, shorter ones first. `expected` are the values at all lengths, or the
    /// scan of all items.
    pub(crate) fn new(
        device: &Device,
        workload: Workload,
        items: AnyView<'a>,
        lengths: Vec<usize>,
        expected: Buffer,
    ) -> Result<Self> {
        let (out, places) = if workload.primitive.scans() {
            (workload.stored, lengths.iter().map(|&length| 0..length).collect())
        } else {
            let out = workload.reduction().result(workload.dtype);
            (out, (0..lengths.len()).map(|number| number..number + 1).collect())
        };
        let (device, pairs) = (device.clone(), Vec::new());
        let mut all = Self { device, workload, items, out, lengths, pairs, expected, places };
        let pairs = (0..all.lengths.len()).map(|length| all.pair(length));
        all.pairs = pairs.collect::<Result<_>>()?;
        Ok(all)
    }

    /// New arrays of the first items, as many as a length says, and of its result.
    fn pair(&self, length: usize) -> Result<Pair> {
        let device = &self.device;
        let input = AnyArray::from_view(device, self.items.slice(0..self.lengths[length])?)?;
        let mut output = AnyArray::filled(device, self.places[length].len(), poison(self.out))?;
        let limit = if self.workload.primitive.scans() {
            any::bind_probe_copy(device, &input, &mut output)?
        } else {
            any::bind_probe_read(device, &input)?
        };
        Ok(Pair { input, output, limit })
    }

    /// The numbers of items, shorter ones first.
    pub(crate) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Gives the arrays of a length another place in the device's memory, for runs that are bound from now on.
    pub(crate) fn move_arrays(&mut self, length: usize) -> Result<()> {
        // The old ones are there until then, so that the new ones lie elsewhere.
        self.pairs[length] = self.pair(length)?;
        Ok(())
    }

    /// A run at the length of this number, on a device that was told how.
    pub(crate) fn bind(&mut self, device: &Device, length: usize) -> Result<Recording> {
        let Pair { input, output, .. } = &mut self.pairs[length];
        if self.workload.primitive.scans() {
            any::bind_scan(device, &*input, output, &self.workload.scan())
        } else {
            any::bind_reduce(device, &*input, output, &self.workload.reduction())
        }
    }

    /// The same bytes, moved without arithmetic.
    pub(crate) fn limit(&self, length: usize) -> &Recording {
        &self.pairs[length].limit
    }

    /// Spoils the result, so that one that is not written is not taken for a right one.
    pub(crate) fn poison(&mut self, length: usize) -> Result<()> {
        let items = self.places[length].len();
        if items > COMPARED {
            // The items themselves are not their result.
            return self.pairs[length].limit.submit();
        }
        let bytes = items * self.out.size();
        let poison = poisoned(bytes);
        let poison = AnyView::from_bytes(self.out, &cast_slice(&poison)[..bytes])?;
        self.pairs[length].output.copy_from(poison)
    }

    /// Whether the last result is right.
    pub(crate) fn correct(&self, length: usize) -> Result<bool> {
        let place = self.places[length].clone();
        let expected = AnyView::from_bytes(self.out, self.expected.bytes())?.slice(place)?;
        let output = &self.pairs[length].output;
        if expected.len() > COMPARED {
            let acc = any::combined_in(self.out);
            let problem = any::Reduce::new(self.workload.op).acc(acc);
            let found = any::reduce(&self.device, output, &problem)?;
            return Ok(found == any::reduce(&Device::cpu(), expected, &problem)?);
        }
        Ok(Some(&output.to_bytes()?[..]) == expected.bytes())
    }
}
