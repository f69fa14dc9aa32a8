//! What a CPU does to arrays of one type while its numbers are found, and whether that is right.

use std::hint::black_box;

use bytemuck::{bytes_of, cast_slice, zeroed_slice_box};
use upsweep::{
    CpuOptions, CpuShape, CpuStrategy, Device, Dtype, Number, Operator, Reduce, Scan, Widen,
    reduce_with, scan_into_with,
};

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
pub(super) struct Arrays<T, U: Number, O> {
    operator: O,
    items: Buffer,
    /// In large pages, as the items: stores past the caches gain half of a scan of `u8` in these on a Xeon, and lose a fourth in small ones.
    output: Buffer,
    expected: Box<[U]>,
    /// What one thread without vectors makes of so many bytes.
    totals: Vec<(usize, U::Acc)>,
    types: core::marker::PhantomData<T>,
}

/// One thread without vectors.
pub(super) fn scalar() -> Result<Device> {
    let strategy = Some(CpuStrategy::Scalar);
    Ok(Device::cpu_with(CpuOptions { threads: Some(1), strategy, ..<_>::default() })?)
}

impl<T, U, O> Arrays<T, U, O>
where
    T: Number + Widen<U::Acc>,
    U: Number,
    U::Acc: Number,
    O: Operator<U::Acc>,
{
    /// Arrays of so many bytes that are read.
    pub(super) fn new(dtype: Dtype, bytes: usize, operator: O) -> Result<Self> {
        let count = bytes / size_of::<T>();
        let items = inputs::items(dtype, count, false)?;
        let mut expected = zeroed_slice_box(count);
        let problem = Scan::inclusive(operator);
        scan_into_with(
            &scalar()?,
            cast_slice::<u8, T>(items.bytes()),
            &mut expected[..],
            &problem,
        )?;
        let output = Buffer::new(size_of_val(&expected[..]))?;
        let (totals, types) = (Vec::new(), <_>::default());
        Ok(Self { operator, items, output, expected, totals, types })
    }

    /// The bytes that are read at most.
    pub(super) fn most(&self) -> usize {
        self.items.bytes().len()
    }

    fn items(&self, bytes: usize) -> &[T] {
        black_box(&cast_slice(self.items.bytes())[..bytes / size_of::<T>()])
    }

    fn total(&self, device: &Device, bytes: usize) -> Result<U::Acc> {
        let problem = Reduce::<U::Acc, O>::new(self.operator);
        Ok(black_box(reduce_with(device, self.items(bytes), &problem)?))
    }

    /// What the numbers of a device come to.
    pub(super) fn shape(&self, job: Job, device: &Device, bytes: usize) -> Option<CpuShape> {
        let count = bytes / size_of::<T>();
        match job {
            Job::Reduce => device.reduce_shape::<T>(count),
            Job::Scan => device.scan_shape::<T, U, O>(count),
        }
    }

    pub(super) fn call(&mut self, job: Job, device: &Device, bytes: usize) -> Result<()> {
        match job {
            Job::Reduce => self.total(device, bytes).map(drop),
            Job::Scan => {
                let count = bytes / size_of::<T>();
                let items = black_box(&cast_slice::<u8, T>(self.items.bytes())[..count]);
                let output = &mut self.output.items_mut::<U>()[..count];
                Ok(scan_into_with(device, items, output, &Scan::inclusive(self.operator))?)
            }
        }
    }

    /// Whether a call leaves the bits that it should.
    pub(super) fn is_right(&mut self, job: Job, device: &Device, bytes: usize) -> Result<bool> {
        let count = bytes / size_of::<T>();
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
                Ok(bytes_of(&self.total(device, bytes)?) == bytes_of(&expected))
            }
            Job::Scan => {
                let written = count * size_of::<U>();
                self.output.bytes_mut()[..written].fill(POISON);
                self.call(job, device, bytes)?;
                let expected: &[u8] = cast_slice(&self.expected[..count]);
                Ok(self.output.bytes()[..written] == *expected)
            }
        }
    }
}
