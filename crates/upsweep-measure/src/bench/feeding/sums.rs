//! Sums that have nothing to do with one another.

use bytemuck::cast_slice;
use upsweep::any::{self, AnyArray, Op, ReduceCall, Scalar};
use upsweep::{Device, Dtype, Error, Result};

use super::ways::{Recordings, Work};
use crate::buffer::{Buffer, POISON, available_memory};
use crate::inputs;

/// Independent sums of so many numbers each.
pub(super) struct Sums<'a> {
    device: &'a Device,
    items: Buffer,
    n: usize,
    sum: ReduceCall,
    expected: Vec<Option<Scalar>>,
    /// What was found.
    found: Vec<Option<Scalar>>,
    recordings: Recordings<'a>,
    /// On a GPU, each with its result.
    results: Vec<AnyArray>,
}

impl<'a> Sums<'a> {
    /// So many sums, on a GPU with their arrays and all that they need.
    pub(super) fn new(device: &'a Device, n: usize, count: usize) -> Result<Self> {
        let bytes = n.saturating_mul(count).saturating_mul(size_of::<u32>());
        let fits = available_memory().is_none_or(|most| bytes as u64 <= most / 2);
        let items = fits.then(|| inputs::items(Dtype::U32, n * count, false).ok()).flatten();
        let items = items.ok_or(Error::OutOfMemory { bytes })?;
        let problem = any::Reduce::new(Op::Sum).acc(Dtype::U32);
        let mut sums = Self {
            device,
            items,
            n,
            sum: ReduceCall::new(device, Dtype::U32, &problem)?,
            expected: Vec::new(),
            found: vec![None; count],
            recordings: Recordings::new(device, false),
            results: Vec::new(),
        };
        for which in 0..count {
            let own = sums.own(which);
            let sum = own.iter().fold(0, |sum: u32, item| sum.wrapping_add(*item));
            if device.id() != "cpu" {
                let input = AnyArray::from_view(device, own)?;
                let mut result = AnyArray::filled(device, 1, Scalar::new(0u32))?;
                sums.recordings.push(any::bind_reduce(device, &input, &mut result, &problem)?);
                sums.results.push(result);
            }
            sums.expected.push(Some(Scalar::new(sum)));
        }
        device.wait()?;
        Ok(sums)
    }

    /// The numbers of one of them.
    fn own(&self, which: usize) -> &[u32] {
        &cast_slice(self.items.bytes())[which * self.n..][..self.n]
    }
}

impl<'a> Work<'a> for Sums<'a> {
    fn bytes(&self) -> u64 {
        self.items.bytes().len() as u64
    }

    fn recordings(&mut self) -> &mut Recordings<'a> {
        &mut self.recordings
    }

    fn run_on_host(&mut self) -> Result<()> {
        for which in 0..self.found.len() {
            let own = std::hint::black_box(self.own(which));
            self.found[which] = self.sum.run(self.device, own)?;
        }
        Ok(())
    }

    fn wait_for(&mut self, _: usize) -> Result<()> {
        self.device.wait()
    }

    fn poison(&mut self) -> Result<()> {
        let poison = u32::from_ne_bytes([POISON; 4]);
        self.found.fill(None);
        for result in &mut self.results {
            result.copy_from(&[poison])?;
        }
        self.device.wait()
    }

    fn are_right(&mut self) -> Result<bool> {
        for (result, found) in self.results.iter().zip(&mut self.found) {
            *found = Scalar::from_bytes(Dtype::U32, &result.to_bytes()?);
        }
        Ok(self.found == self.expected)
    }
}
