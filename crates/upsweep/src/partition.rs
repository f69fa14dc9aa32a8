//! Partitions in three parts.

use upsweep_core::Condition;

use crate::backend::ViewBackend;
use crate::erased::Erased;
use crate::fused::{Made, Parts, Source};
use crate::select::{check_length, first_of, room};
use crate::{Array, Device, Element, Error, Number, Recording, Result, View, ViewMut};

/// All items in three parts: those whose first flag is not 0; behind them those of the others whose second flag is not 0; and behind these the
/// rest. Each part keeps its order. The second result is where the second part and the rest begin.
///
/// # Arguments
/// - `items`: any number of items.
/// - `first`, `second`: a number for each of them. It is 0 if all of its bytes are: so −0 selects. Where the first flag selects, the second
///   says nothing.
///
/// # Result
/// All items in an array on the device. The same on every device, bit for bit.
///
/// # Cost
/// A CPU reads flags twice and items once, and writes all of them once. A GPU makes three selections in a row, each of which reads all items
/// and both flags; all items are written once. On a GPU it waits for the borders.
///
/// # Errors
/// Those of [`select`](crate::select()).
///
/// # Examples
/// ```
/// use upsweep::{Device, partition3};
/// let (first, second) = ([0u8, 1, 0, 0, 0], [0u8, 0, 1, 0, 1]);
/// let (all, borders) = partition3(&Device::cpu(), &[1u32, 2, 3, 4, 5], &first, &second)?;
/// assert_eq!((all.into_vec()?, borders), (vec![2, 3, 5, 1, 4], [1, 3]));
/// # Ok::<(), upsweep::Error>(())
/// ```
///
/// # Source
/// [`partition`](crate::partition()), with a part between: E. Dijkstra's *Dutch national flag* in a stable form.
pub fn partition3<'a, 'b, 'c, T: Element, F: Number, G: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    first: impl Into<View<'b, F>>,
    second: impl Into<View<'c, G>>,
) -> Result<(Array<T>, [usize; 2])> {
    let (items, first, second) = (items.into(), first.into(), second.into());
    let device = &*device.at_home(|| items.home().or_else(|| first.home()));
    let mut parts = InParts::new(device, items.len(), || first_of(items))?;
    let (output, borders) = parts.targets();
    by_flags(device, items, (first, second), output, borders)?;
    parts.finish()
}

/// As [`partition3`], into memory of the caller's, which has as many items; where the second part and the rest begin is written to the two items
/// of `borders`.
///
/// # Cost
/// As of [`partition3`]; it waits for nothing that is written on a GPU.
///
/// # Errors
/// Those of [`partition3`], and before anything is written [`Error::LengthMismatch`], and [`Error::Buffer`] unless there is room for two
/// borders.
pub fn partition3_into<'a, 'b, 'c, 'd, 'e, T: Element, F: Number, G: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    first: impl Into<View<'b, F>>,
    second: impl Into<View<'c, G>>,
    output: impl Into<ViewMut<'d, T>>,
    borders: impl Into<ViewMut<'e, u64>>,
) -> Result<()> {
    let flags = (first.into(), second.into());
    by_flags(device, items.into(), flags, output.into(), borders.into())
}

/// As [`partition3_into`], from arrays to others in a GPU's memory, to be begun as often as wanted. Everything that it needs is made here.
///
/// # Errors
/// Those of [`partition3_into`] and of [`ReducePlan::bind`](crate::ReducePlan::bind).
pub fn bind_partition3<'a, 'b, 'c, 'd, 'e, T: Element, F: Number, G: Number>(
    device: &Device,
    items: impl Into<View<'a, T>>,
    first: impl Into<View<'b, F>>,
    second: impl Into<View<'c, G>>,
    output: impl Into<ViewMut<'d, T>>,
    borders: impl Into<ViewMut<'e, u64>>,
) -> Result<Recording> {
    let (items, first, second) = (items.into(), first.into(), second.into());
    let mut output = output.into().fitted(items.len(), items.bound());
    let mut borders = borders.into();
    check_flags(items.len(), (&first, &second))?;
    check_outputs(items.len(), &output, &borders)?;
    let flags = [Source::of(first).bits(), Source::of(second).bits()];
    let (made, second) = flagged(items.len(), Source::of(items).bits(), flags);
    bind_made(device, &made, &second, (&mut output, &mut borders))
}

/// A partition of items that are made of arrays of a GPU's.
pub(crate) fn bind_made<T: Element>(
    device: &Device,
    made: &Made<'_>,
    second: &Condition,
    (output, borders): (&mut ViewMut<'_, T>, &mut ViewMut<'_, u64>),
) -> Result<Recording> {
    match device.at_home(|| output.home()).kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: "cpu".to_owned() }),
        Erased::Gpu(gpu) => {
            gpu.bind_partition3(made, second, output.erased().items, borders.erased().items)
        }
    }
}

/// That there are as many flags as items.
fn check_flags<F, G>(items: usize, (first, second): (&View<'_, F>, &View<'_, G>)) -> Result<()> {
    check_length(items, first.len())?;
    check_length(items, second.len())
}

#[inline(never)]
fn by_flags<T: Element, F: Number, G: Number>(
    device: &Device,
    items: View<'_, T>,
    (first, second): (View<'_, F>, View<'_, G>),
    output: ViewMut<'_, T>,
    mut borders: ViewMut<'_, u64>,
) -> Result<()> {
    let mut output = output.fitted(items.len(), items.bound());
    check_flags(items.len(), (&first, &second))?;
    check_outputs(items.len(), &output, &borders)?;
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            let (first, second) = (cpu.input(first)?, cpu.input(second)?);
            let found = cpu.partition3(cpu.input(items)?, first, second, cpu.output(output)?)?;
            cpu.output(borders)?.copy_from_slice(&found.map(|border| border as u64));
            Ok(())
        }
        Erased::Gpu(gpu) => {
            let flags = [Source::of(first).bits(), Source::of(second).bits()];
            let (made, second) = flagged(items.len(), Source::of(items).bits(), flags);
            gpu.partition3(&made, &second, output.erased().items, borders.erased().items)
        }
    }
}

/// Items that flags put into three parts, as kernels know them, by the first flags; and the condition of the second part.
pub(crate) fn flagged<'a>(
    len: usize,
    items: Source<'a>,
    flags: [Source<'a>; 2],
) -> (Made<'a>, Condition) {
    let mut parts = Parts::default();
    let kind = items.kind;
    let item = parts.array(items);
    flags.into_iter().for_each(|flags| {
        parts.array(flags);
    });
    (Made::selecting(len, kind, item, Condition::IsSet(1), parts), Condition::IsSet(2))
}

/// That there is an output for each item, and for two borders.
pub(crate) fn check_outputs<T>(
    items: usize,
    output: &ViewMut<'_, T>,
    borders: &ViewMut<'_, u64>,
) -> Result<()> {
    check_length(items, output.len())?;
    check_borders(borders.len())
}

/// That there is room for two borders.
pub(crate) fn check_borders(borders: usize) -> Result<()> {
    if borders == 2 {
        return Ok(());
    }
    Err(Error::Buffer {
        reason: format!("three parts have 2 borders, there is room for {borders}"),
    })
}

/// Room for all items, and for two borders.
pub(crate) struct InParts<T> {
    items: Array<T>,
    borders: Array<u64>,
}

impl<T: Element> InParts<T> {
    pub(crate) fn new(
        device: &Device,
        len: usize,
        first: impl FnOnce() -> Result<T>,
    ) -> Result<Self> {
        Ok(Self { items: room(device, len, first)?, borders: Array::filled(device, 2, 0)? })
    }

    /// Where the items go, and the borders.
    pub(crate) fn targets(&mut self) -> (ViewMut<'_, T>, ViewMut<'_, u64>) {
        (self.items.view_mut(), self.borders.view_mut())
    }

    /// All items, and where the second part and the rest begin. Waits for it.
    pub(crate) fn finish(self) -> Result<(Array<T>, [usize; 2])> {
        Ok((self.items, borders_of(&self.borders)?))
    }
}

/// Two borders, in the host's memory.
pub(crate) fn borders_of(borders: &Array<u64>) -> Result<[usize; 2]> {
    let found = borders.to_vec()?;
    Ok([0, 1].map(|k| found.get(k).and_then(|border| usize::try_from(*border).ok()).unwrap_or(0)))
}
