//! Rows along the axes of an array of two dimensions: how the speed depends on the length of a row, and on whether it lies along memory.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Instant;

use bytemuck::cast_slice;
use upsweep::any::{self, AnyArray, AnyNdViewMut, AnyView, AnyViewMut, Scalar};
use upsweep::{Device, Dtype, Recording, Result};

use super::gpu_job::{bound, shortest_if_slow, slow_words};
use super::job::{self, Run, measured};
use super::outcome::Outcome;
use super::setup::Setup;
use crate::buffer::{Buffer, POISON, poison, poisoned};
use crate::error;
use crate::gpu_timing::{in_turns, seconds, wake};
use crate::host_timing::{Call, Effort, Times};
use crate::statistics::median;
use crate::workload::Workload;

/// Items of rows that are compared with the reference, about: all of them would take longer than what is measured.
const COMPARED: usize = 1 << 20;

/// Fewest and most rows that are compared.
const FEWEST: usize = 2;
const MOST: usize = 4096;

/// How rows lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Along memory: the last axis.
    Rows,
    /// Across memory: axis 0.
    Columns,
}

impl Axis {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Rows, Self::Columns];

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Columns => "columns",
        }
    }
}

/// Rows of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsOf {
    /// How they lie.
    pub axis: Axis,
    /// Items of each.
    pub length: usize,
}

/// A reduction or scan of rows.
pub(super) struct Axes<'a> {
    workload: Workload,
    rows: RowsOf,
    /// How many rows there are.
    count: usize,
    items: AnyView<'a>,
    /// Rows that are compared, and the bytes of their right results.
    expected: Vec<(usize, Vec<u8>)>,
}

impl<'a> Axes<'a> {
    /// As many whole rows as the items make.
    pub(super) fn new(workload: Workload, rows: RowsOf, items: AnyView<'a>) -> error::Result<Self> {
        let count = items.len() / rows.length;
        let items = items.slice(0..count * rows.length)?;
        let mut axes = Self { workload, rows, count, items, expected: Vec::new() };
        let compared = (COMPARED / rows.length).clamp(FEWEST, MOST).min(count);
        for number in 0..compared {
            // The first, the last, and others at equal distances.
            let row = number * (count - 1) / (compared - 1).max(1);
            axes.expected.push((row, axes.reference(row)?));
        }
        Ok(axes)
    }

    /// The right result of a row.
    fn reference(&self, row: usize) -> Result<Vec<u8>> {
        let Workload { dtype, stored, .. } = self.workload;
        let bytes = self.of_row(self.items.bytes().unwrap_or_default(), dtype.size(), row);
        // At the alignment of every type.
        let mut aligned = vec![0u64; bytes.len().div_ceil(8)];
        let aligned: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut aligned)[..bytes.len()];
        aligned.copy_from_slice(&bytes);
        let items = AnyView::from_bytes(dtype, aligned)?;
        if self.scans() {
            return any::reference_scan(items, stored, &self.workload.scan())?.to_bytes();
        }
        let value = any::reference_reduce(items, &self.workload.reduction())?;
        Ok(value.unwrap_or(Scalar::new(u64::MAX)).bytes().to_vec())
    }

    fn scans(&self) -> bool {
        self.workload.primitive.scans()
    }

    /// The lengths of the dimensions, and the number of the axis.
    fn shape(&self) -> ([usize; 2], isize) {
        match self.rows.axis {
            Axis::Rows => ([self.count, self.rows.length], 1),
            Axis::Columns => ([self.rows.length, self.count], 0),
        }
    }

    /// The bytes of one row of an array of this shape.
    fn of_row(&self, all: &[u8], size: usize, row: usize) -> Vec<u8> {
        let RowsOf { axis, length } = self.rows;
        match axis {
            Axis::Rows => all[row * length * size..][..length * size].to_vec(),
            Axis::Columns => {
                let item = |place: usize| &all[(place * self.count + row) * size..][..size];
                (0..length).flat_map(item).copied().collect()
            }
        }
    }

    /// The type of the output.
    fn written(&self) -> Dtype {
        let Workload { dtype, stored, .. } = self.workload;
        if self.scans() { stored } else { self.workload.reduction().result(dtype) }
    }

    /// Items of the output.
    fn results(&self) -> usize {
        if self.scans() { self.items.len() } else { self.count }
    }

    fn bytes_read(&self) -> u64 {
        self.workload.bytes_read(self.items.len())
    }

    /// The fewest bytes that are moved: every item is read, and every result is written.
    fn bytes(&self) -> u64 {
        self.bytes_read() + (self.results() * self.written().size()) as u64
    }

    fn call(&self, device: &Device, items: AnyView<'_>, output: AnyViewMut<'_>) -> Result<()> {
        let (shape, axis) = self.shape();
        let rows = items.shape(shape)?.axis(axis)?;
        if self.scans() {
            let output: AnyNdViewMut<'_> = output.shape(shape)?;
            return any::scan_axes_into(device, &rows, output, &self.workload.scan());
        }
        let output = output.shape([self.count])?;
        any::reduce_axes_into(device, &rows, output, &self.workload.reduction())
    }

    fn bind(
        &self,
        device: &Device,
        items: AnyView<'_>,
        output: AnyViewMut<'_>,
    ) -> Result<Recording> {
        let (shape, axis) = self.shape();
        let rows = items.shape(shape)?.axis(axis)?;
        if self.scans() {
            return any::bind_scan_axes(device, &rows, output.shape(shape)?, &self.workload.scan());
        }
        let output = output.shape([self.count])?;
        any::bind_reduce_axes(device, &rows, output, &self.workload.reduction())
    }

    /// Whether the rows that are compared are those of the reference.
    fn is_right(&self, output: &[u8]) -> bool {
        let size = self.written().size();
        let is_right = |(row, wanted): &(usize, Vec<u8>)| match self.scans() {
            true => self.of_row(output, size, *row) == *wanted,
            false => output[row * size..][..size] == wanted[..],
        };
        self.expected.iter().all(is_right)
    }

    /// The row of a setup.
    pub(super) fn on(&self, setup: &Setup, effort: Effort, output: &mut Buffer) -> Outcome {
        if let Some(device) = setup.gpu() {
            return self
                .on_gpu(device, effort)
                .unwrap_or_else(|error| Outcome::refused(error.to_string()));
        }
        job::outcome(setup, |device| {
            let read = self.bytes_read();
            let limit = if self.scans() { 2 * read } else { read };
            let mut run = OnCpu { of: self, device, limit: &setup.limit, output };
            measured(&setup.limit, effort, [self.bytes(), limit], &mut run)
        })
    }

    /// Room for the output, and for a copy of the items if that is the limit.
    pub(super) fn room(&self) -> usize {
        let copied = if self.scans() { self.items.len() * self.workload.dtype.size() } else { 0 };
        copied.max(self.results() * self.written().size())
    }

    fn on_gpu(&self, device: &Device, effort: Effort) -> Result<Outcome> {
        let items = AnyArray::from_view(device, self.items)?;
        let mut output = AnyArray::filled(device, self.results(), poison(self.written()))?;
        device.wait()?;
        let start = Instant::now();
        self.call(device, items.view(), output.view_mut())?;
        device.wait()?;
        let first = start.elapsed().as_secs_f64();
        if !self.is_right(&output.to_bytes()?) {
            return Ok(Outcome::wrong());
        }
        let copied = bound(device, self.bytes_read());
        let (limit, limit_bytes) = match self.scans() {
            true => (any::bind_probe_copy(device, &items, &mut output)?, 2 * copied),
            false => (any::bind_probe_read(device, &items)?, copied),
        };
        let job = self.bind(device, items.view(), output.view_mut())?;
        let measure = || {
            wake(device, self.bytes())?;
            in_turns(2, effort.samples, &mut |which, runs| match which {
                0 => seconds(device, &job, runs),
                _ => seconds(device, &limit, runs),
            })
        };
        let slow = |limits: &[f64]| shortest_if_slow(device, self.scans(), limit_bytes, limits);
        let mut found = measure()?;
        let mut shortest = slow(&found[1]);
        // Whatever made the device slow, waking it anew is what can be done.
        if shortest.is_some() {
            found = measure()?;
            shortest = slow(&found[1]);
        }
        let bytes = self.results() * self.written().size();
        let poison = poisoned(bytes);
        output.copy_from(AnyView::from_bytes(self.written(), &cast_slice(&poison)[..bytes])?)?;
        self.call(device, items.view(), output.view_mut())?;
        if !self.is_right(&output.to_bytes()?) {
            return Ok(Outcome::wrong());
        }
        let (jobs, limits) = (&found[0], &found[1]);
        let times = Times {
            median: median(jobs),
            min: jobs[0],
            max: jobs[jobs.len() - 1],
            limit: median(limits),
            first,
            bytes: self.bytes(),
            limit_bytes,
        };
        let mut outcome = Outcome::right(times, None);
        if let Some(shortest) = shortest {
            outcome.checked = slow_words(&times, shortest);
        }
        Ok(outcome)
    }
}

/// Rows on a CPU.
struct OnCpu<'a> {
    of: &'a Axes<'a>,
    device: &'a Device,
    limit: &'a Device,
    output: &'a mut Buffer,
}

impl Run for OnCpu<'_> {
    fn poison(&mut self) {
        self.output.bytes_mut().fill(POISON);
    }

    fn run(&mut self, call: Call, times: NonZeroU32) -> Result<()> {
        let of = self.of;
        for _ in 0..times.get() {
            let items = black_box(of.items);
            let input = items.bytes().unwrap_or_default();
            match call {
                Call::Job => {
                    let written = of.written();
                    let output = &mut self.output.bytes_mut()[..of.results() * written.size()];
                    of.call(self.device, items, AnyViewMut::from_bytes(written, output)?)?;
                }
                Call::Limit if of.scans() => {
                    let output = &mut self.output.bytes_mut()[..input.len()];
                    self.limit.probe_copy(input, output)?;
                }
                Call::Limit => drop(black_box(self.limit.probe_read(input)?)),
            }
        }
        Ok(())
    }

    fn correct(&self) -> bool {
        self.of.is_right(self.output.bytes())
    }
}

#[cfg(test)]
mod tests {
    use upsweep::any::Op;

    use super::*;
    use crate::selection::Primitive;

    #[test]
    fn rows_are_compared_where_they_lie() -> error::Result<()> {
        let items: Vec<u32> = (1..=7).collect();
        for (primitive, axis, right) in [
            (Primitive::Reduce, Axis::Rows, &[6u32, 15][..]),
            (Primitive::Reduce, Axis::Columns, &[9, 12]),
            (Primitive::InclusiveScan, Axis::Rows, &[1, 3, 6, 4, 9, 15]),
            (Primitive::InclusiveScan, Axis::Columns, &[1, 2, 4, 6, 9, 12]),
        ] {
            let workload = Workload::new(primitive, Op::Sum, Dtype::U32, None);
            let rows = RowsOf { axis, length: 3 };
            let axes = Axes::new(workload, rows, AnyView::from(&items))?;
            assert_eq!(axes.expected.len(), 2, "one item belongs to no row");
            let mut output = right.to_vec();
            assert!(axes.is_right(cast_slice(&output)), "{primitive:?} {axis:?}");
            output.iter_mut().for_each(|item| *item += 1);
            assert!(!axes.is_right(cast_slice(&output)), "{primitive:?} {axis:?}");
            axes.call(&Device::cpu(), axes.items, AnyViewMut::from(&mut output))?;
            assert_eq!(output, right, "{primitive:?} {axis:?}");
            assert_eq!(axes.bytes(), 4 * (6 + right.len()) as u64);
        }
        Ok(())
    }
}
