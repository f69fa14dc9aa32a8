//! Layouts and axes of a call: what is checked, whatever the type of the items.

use upsweep_core::{Axis, Layout, Rows, axes_in_order};

use crate::{Error, Result};

/// Items in C order that are `items` in all.
pub(crate) fn packed(shape: &[usize], items: usize) -> Result<Layout> {
    let layout = Layout::packed(shape)?;
    if layout.len() == items {
        return Ok(layout);
    }
    let wanted = layout.len();
    let reason = format!("shape {shape:?} has {wanted} items, the view has {items}");
    Err(Error::Shape { reason })
}

/// Items at strides within `items` items.
pub(crate) fn strided(
    shape: &[usize],
    strides: &[isize],
    start: usize,
    items: usize,
) -> Result<Layout> {
    let layout = Layout::strided(shape, strides, start)?;
    layout.check(items)?;
    Ok(layout)
}

/// The same axes in this order.
pub(crate) fn permuted(layout: &Layout, order: &[usize]) -> Result<Layout> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    let dimensions = layout.axes.len();
    if !sorted.into_iter().eq(0..dimensions) {
        let reason = format!("{order:?} does not name each of {dimensions} dimensions once");
        return Err(Error::Shape { reason });
    }
    let axes = order.iter().map(|&axis| layout.axes[axis]).collect();
    Ok(Layout { axes, start: layout.start })
}

/// The same axes the other way round.
pub(crate) fn transposed(layout: &Layout) -> Layout {
    Layout { axes: layout.axes.iter().rev().copied().collect(), start: layout.start }
}

/// The axes of a call, in order, and whether results keep them.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    pub(crate) numbers: Vec<usize>,
    pub(crate) keepdims: bool,
}

impl Axes {
    /// These axes of so many dimensions.
    pub(crate) fn new(axes: &[isize], dimensions: usize) -> Result<Self> {
        Ok(Self { numbers: axes_in_order(axes, dimensions)?, keepdims: false })
    }

    /// The shape of the results of rows.
    pub(crate) fn reduced_shape(&self, input: &Layout) -> Vec<usize> {
        let kept = |(number, axis): (usize, &Axis)| match self.numbers.contains(&number) {
            false => Some(axis.len),
            true => self.keepdims.then_some(1),
        };
        input.axes.iter().enumerate().filter_map(kept).collect()
    }

    /// Number of items of each row.
    pub(crate) fn items(&self, input: &Layout) -> usize {
        self.numbers.iter().map(|&number| input.axes[number].len).product()
    }

    /// The rows of a reduction.
    pub(crate) fn reduced(&self, input: &Layout, output: &Layout) -> Result<Rows> {
        let wanted = self.reduced_shape(input);
        if output.shape() != wanted {
            return Err(self.other_shape("a reduction", input, &wanted, output));
        }
        let mut output = output.clone();
        if self.keepdims {
            let mut number = 0;
            output.axes.retain(|_| {
                number += 1;
                !self.numbers.contains(&(number - 1))
            });
        }
        Ok(Rows::reduced(input, &self.numbers, &output))
    }

    /// The rows of a scan.
    pub(crate) fn scanned(&self, input: &Layout, output: &Layout) -> Result<Rows> {
        let wanted = input.shape();
        if output.shape() != wanted {
            return Err(self.other_shape("a scan", input, &wanted, output));
        }
        Ok(Rows::scanned(input, &self.numbers, output))
    }

    #[cold]
    fn other_shape(&self, what: &str, input: &Layout, wanted: &[usize], output: &Layout) -> Error {
        let (axes, input, found) = (&self.numbers, input.shape(), output.shape());
        let reason = format!(
            "{what} of shape {input:?} along axes {axes:?} has shape {wanted:?}, the output has {found:?}"
        );
        Error::Shape { reason }
    }
}

/// The rows of a copy.
pub(crate) fn copied(input: &Layout, output: &Layout) -> Result<Rows> {
    let (from, to) = (input.shape(), output.shape());
    if from != to {
        let reason = format!("items of shape {from:?} do not fit an output of shape {to:?}");
        return Err(Error::Shape { reason });
    }
    let last: Vec<usize> = input.axes.len().checked_sub(1).into_iter().collect();
    Ok(Rows::scanned(input, &last, output))
}

/// The error for a view whose length only the device knows.
#[cold]
pub(crate) fn unknown_length() -> Error {
    let reason = "a view whose length only the device knows has no shape".to_owned();
    Error::Shape { reason }
}
