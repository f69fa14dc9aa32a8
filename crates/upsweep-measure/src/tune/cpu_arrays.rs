//! What a CPU does to arrays of one type while its numbers are found, and whether that is right.

use std::hint::black_box;

use upsweep::any::{self, AnyView, AnyViewMut, Op, ReduceCall, Scalar, ScanCall};
use upsweep::strategy::{CpuShape, CpuStrategy};
use upsweep::{CpuOptions, Device, Dtype};

use crate::buffer::{Buffer, POISON};
use crate::error::Result;
use crate::inputs;

/// What is done with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Job {
    Reduce,
    Scan,
}

impl Job {
    pub(super) fn name(self) -> &'static str {
        match self {
            Job::Reduce => "reduce",
            Job::Scan => "scan",
        }
    }
}

/// What jobs read, write, and should write. An array of fewer bytes is the beginning of that of most.
pub(super) struct Arrays {
    dtype: Dtype,
    sum: ReduceCall,
    sums: ScanCall,
    items: Buffer,
    /// In large pages, as the items: stores past the caches gain half of a scan of `u8` in these on a Xeon, and lose a fourth in small ones.
    output: Buffer,
    expected: Buffer,
    /// What one thread without vectors makes of so many bytes.
    totals: Vec<(usize, Option<Scalar>)>,
}

/// One thread without vectors.
pub(super) fn scalar() -> Result<Device> {
    let strategy = Some(CpuStrategy::Scalar);
    Ok(Device::cpu_with(CpuOptions { threads: Some(1), strategy, ..<_>::default() })?)
}

impl Arrays {
    /// Arrays of so many bytes that are read.
    pub(super) fn new(device: &Device, dtype: Dtype, bytes: usize) -> Result<Self> {
        let items = inputs::items(dtype, bytes / dtype.size(), false)?;
        let problem = any::Reduce::new(Op::Sum).acc(any::combined_in(dtype));
        let sum = ReduceCall::new(device, dtype, &problem)?;
        let sums = ScanCall::new(dtype, dtype, &any::Scan::inclusive(Op::Sum))?;
        let [mut expected, output] =
            [Buffer::new(items.bytes().len())?, Buffer::new(items.bytes().len())?];
        sums.run_into(
            &scalar()?,
            AnyView::from_bytes(dtype, items.bytes())?,
            AnyViewMut::from_bytes(dtype, expected.bytes_mut())?,
        )?;
        Ok(Self { dtype, sum, sums, items, output, expected, totals: Vec::new() })
    }

    /// The bytes that are read at most.
    pub(super) fn most(&self) -> usize {
        self.items.bytes().len()
    }

    fn items(&self, bytes: usize) -> Result<AnyView<'_>> {
        Ok(black_box(AnyView::from_bytes(self.dtype, &self.items.bytes()[..bytes])?))
    }

    fn total(&self, device: &Device, bytes: usize) -> Result<Option<Scalar>> {
        Ok(black_box(self.sum.run(device, self.items(bytes)?)?))
    }

    /// What the numbers of a device come to.
    pub(super) fn shape(&self, job: Job, device: &Device, bytes: usize) -> Option<CpuShape> {
        let (dtype, count) = (self.dtype, bytes / self.dtype.size());
        match job {
            Job::Reduce => any::reduce_shape(device, dtype, count),
            Job::Scan => any::scan_shape(device, Op::Sum, dtype, dtype, count),
        }
    }

    pub(super) fn call(&mut self, job: Job, device: &Device, bytes: usize) -> Result<()> {
        match job {
            Job::Reduce => self.total(device, bytes).map(drop),
            Job::Scan => {
                let items = AnyView::from_bytes(self.dtype, &self.items.bytes()[..bytes])?;
                let output = &mut self.output.bytes_mut()[..bytes];
                let output = AnyViewMut::from_bytes(self.dtype, output)?;
                Ok(self.sums.run_into(device, black_box(items), output)?)
            }
        }
    }

    /// Whether a call leaves the bits that it should.
    pub(super) fn is_right(&mut self, job: Job, device: &Device, bytes: usize) -> Result<bool> {
        match job {
            Job::Reduce => {
                let known = self.totals.iter().find(|(of, _)| *of == bytes).map(|known| known.1);
                let expected = match known {
                    Some(total) => total,
                    None => self.total(&scalar()?, bytes)?,
                };
                if known.is_none() {
                    self.totals.push((bytes, expected));
                }
                Ok(self.total(device, bytes)? == expected)
            }
            Job::Scan => {
                self.output.bytes_mut()[..bytes].fill(POISON);
                self.call(job, device, bytes)?;
                Ok(self.output.bytes()[..bytes] == self.expected.bytes()[..bytes])
            }
        }
    }
}
