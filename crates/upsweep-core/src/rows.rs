//! Where the items of an n-dimensional array lie, and its rows: the items along some of its axes.
//!
//! An array of n dimensions is a range of memory, and for each dimension a length and a stride. A call along some axes sees
//! *rows*: the items along those axes in C order, one row for each place on the other axes. A row has the bits that the same call gives for
//! an array that holds this row alone.

use crate::{Error, Result};

/// A dimension: how many places it has, and how many items of memory lie between two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// Number of places.
    pub len: usize,
    /// Items from one to the next: negative from the end, 0 where all are the same item.
    pub stride: isize,
}

/// Where the items of an n-dimensional array lie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The dimensions, the last of which counts fastest.
    pub axes: Vec<Axis>,
    /// The number of the first item of all, whose place is 0 on each axis.
    pub start: usize,
}

impl Layout {
    /// Items one behind another in C order.
    ///
    /// ```
    /// use upsweep_core::Layout;
    /// let strides: Vec<isize> = Layout::packed(&[2, 3])?.axes.iter().map(|axis| axis.stride).collect();
    /// assert_eq!(strides, [3, 1]);
    /// # Ok::<(), upsweep_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are more items than are counted.
    pub fn packed(shape: &[usize]) -> Result<Self> {
        let mut axes: Vec<Axis> = shape.iter().map(|&len| Axis { len, stride: 0 }).collect();
        let mut stride = 1usize;
        for axis in axes.iter_mut().rev() {
            axis.stride = stride as isize;
            stride = stride
                .checked_mul(axis.len.max(1))
                .filter(|&s| isize::try_from(s).is_ok())
                .ok_or_else(|| Error::Shape {
                    reason: format!("{shape:?} has more items than are counted"),
                })?;
        }
        Ok(Self { axes, start: 0 })
    }

    /// The same places, as many items apart as `strides` say, from item `start` on.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is a stride for each dimension.
    pub fn strided(shape: &[usize], strides: &[isize], start: usize) -> Result<Self> {
        if shape.len() != strides.len() {
            let (axes, strides) = (shape.len(), strides.len());
            return Err(Error::Shape {
                reason: format!("{axes} dimensions have {axes} strides, not {strides}"),
            });
        }
        // That items are counted.
        Self::packed(shape)?;
        let axes = shape.iter().zip(strides).map(|(&len, &stride)| Axis { len, stride }).collect();
        Ok(Self { axes, start })
    }

    /// The length of each dimension.
    pub fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.len).collect()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.len).product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.axes.iter().any(|axis| axis.len == 0)
    }

    /// Checks that all items are among `items`.
    ///
    /// # Errors
    /// [`Error::Shape`] if one is not.
    pub fn check(&self, items: usize) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let [mut first, mut last] = [self.start as i128; 2];
        for axis in &self.axes {
            let reach = (axis.len as i128 - 1) * axis.stride as i128;
            *(if reach < 0 { &mut first } else { &mut last }) += reach;
        }
        if first >= 0 && last < items as i128 {
            return Ok(());
        }
        let (shape, strides) = (self.shape(), self.strides());
        Err(Error::Shape {
            reason: format!(
                "shape {shape:?} with strides {strides:?} from item {} on reaches from item {first} to {last}; there are {items}",
                self.start
            ),
        })
    }

    /// Checks that no two items are at the same place, as far as lengths and strides show it: of the axes in the order of their strides, each
    /// steps over all that those before it reach.
    ///
    /// # Errors
    /// [`Error::Shape`] if two may be.
    pub fn check_apart(&self) -> Result<()> {
        let mut axes: Vec<&Axis> = self.axes.iter().filter(|axis| axis.len > 1).collect();
        axes.sort_by_key(|axis| axis.stride.unsigned_abs());
        let mut reached = 0u128;
        for axis in axes {
            let stride = axis.stride.unsigned_abs() as u128;
            if stride <= reached && !self.is_empty() {
                let (shape, strides) = (self.shape(), self.strides());
                let reason = format!(
                    "items of shape {shape:?} with strides {strides:?} overlap, so they cannot be written"
                );
                return Err(Error::Shape { reason });
            }
            reached += stride * (axis.len as u128 - 1);
        }
        Ok(())
    }

    /// The stride of each dimension.
    pub fn strides(&self) -> Vec<isize> {
        self.axes.iter().map(|axis| axis.stride).collect()
    }

    /// Whether items lie one behind another in C order, from the first on.
    pub fn is_packed(&self) -> bool {
        let mut stride = 1;
        self.axes.iter().rev().all(|axis| {
            let follows = axis.len == 1 || axis.stride == stride;
            stride *= axis.len as isize;
            follows
        }) || self.is_empty()
    }
}

/// Checks that these are axes of so many dimensions, each once, and puts them in order. Negative ones count from the last.
///
/// ```
/// assert_eq!(upsweep_core::axes_in_order(&[-1, 0], 3)?, [0, 2]);
/// # Ok::<(), upsweep_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] if one is none of them, or is there twice.
pub fn axes_in_order(axes: &[isize], dimensions: usize) -> Result<Vec<usize>> {
    let number = |&axis: &isize| {
        let from_start = if axis < 0 { axis + dimensions as isize } else { axis };
        usize::try_from(from_start).ok().filter(|axis| *axis < dimensions).ok_or_else(|| {
            Error::Shape { reason: format!("axis {axis} is none of {dimensions} dimensions") }
        })
    };
    let mut found: Vec<usize> = axes.iter().map(number).collect::<Result<_>>()?;
    found.sort_unstable();
    match found.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(Error::Shape { reason: format!("axis {} is named twice", twice[0]) }),
        None => Ok(found),
    }
}

/// A dimension of a call: how far its places are apart in the input and in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowAxis {
    /// Number of places.
    pub len: usize,
    /// Items of the input from one to the next.
    pub input: isize,
    /// Items of the output from one to the next; 0 where it has one item for all.
    pub output: isize,
}

impl RowAxis {
    /// The stride of the input, or of the output.
    fn strides(&self) -> [isize; 2] {
        [self.input, self.output]
    }

    /// Both as one, if places of the second follow one another from place to place of the first.
    fn merged(self, inner: Self) -> Option<Self> {
        let follows = |outer: isize, inner_stride: isize| {
            inner_stride.checked_mul(inner.len as isize) == Some(outer)
        };
        let all =
            self.strides().into_iter().zip(inner.strides()).all(|(outer, of)| follows(outer, of));
        all.then(|| Self { len: self.len * inner.len, ..inner })
    }
}

/// The rows of an array, and where what is found of them goes.
///
/// Dimensions of one place are dropped, and those that follow one another are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    /// The axes across rows, the last of which counts fastest.
    pub across: Vec<RowAxis>,
    /// The axes along a row, in the order of its items. Of a reduction the output's strides are 0.
    pub along: Vec<RowAxis>,
    /// The numbers of the first items of input and output.
    pub start: [usize; 2],
}

impl Rows {
    /// The rows of `input` along these axes, which are in order, each reduced to an item of `output`, which has the other axes.
    pub fn reduced(input: &Layout, along: &[usize], output: &Layout) -> Self {
        let mut others = output.axes.iter();
        let pairs = input.axes.iter().enumerate().map(|(number, axis)| {
            let is_along = along.contains(&number);
            let stride = if is_along { 0 } else { others.next().map_or(0, |axis| axis.stride) };
            (is_along, RowAxis { len: axis.len, input: axis.stride, output: stride })
        });
        Self::of(pairs, [input.start, output.start])
    }

    /// The rows of `input` along these axes, each item of which has one in `output`, which has all axes.
    pub fn scanned(input: &Layout, along: &[usize], output: &Layout) -> Self {
        let all = input.axes.iter().zip(&output.axes).enumerate();
        let pairs = all.map(|(number, (axis, to))| {
            let axis = RowAxis { len: axis.len, input: axis.stride, output: to.stride };
            (along.contains(&number), axis)
        });
        Self::of(pairs, [input.start, output.start])
    }

    fn of(axes: impl Iterator<Item = (bool, RowAxis)>, start: [usize; 2]) -> Self {
        let (along, across): (Vec<_>, Vec<_>) = axes.partition(|(is_along, _)| *is_along);
        let own = |axes: Vec<(bool, RowAxis)>| axes.into_iter().map(|(_, axis)| axis).collect();
        Self { across: merged(own(across)), along: merged(own(along)), start }
    }

    /// The same with axes across rows in the order in which memory is read best: those with the longest strides of the input first, or
    /// where those are equal of the output. Rows are apart, so nobody sees their order.
    #[must_use]
    pub fn in_memory_order(mut self) -> Self {
        self.across.sort_by_key(|axis| {
            core::cmp::Reverse((axis.input.unsigned_abs(), axis.output.unsigned_abs()))
        });
        Self { across: merged(self.across), ..self }
    }

    /// The same with axes across rows in the order in which the output is written best: for copies.
    #[must_use]
    pub fn in_output_order(mut self) -> Self {
        self.across.retain(|axis| axis.len != 1);
        self.across.sort_by_key(|axis| {
            core::cmp::Reverse((axis.output.unsigned_abs(), axis.input.unsigned_abs()))
        });
        Self { across: merged(self.across), ..self }
    }

    /// The same of an operator whose grouping and order cannot be seen: axes along a row in the order in which memory is read best.
    #[must_use]
    pub fn in_any_order(mut self) -> Self {
        for axis in &mut self.along {
            if axis.input < 0 && axis.output == 0 {
                self.start[0] =
                    self.start[0].wrapping_add_signed(axis.input * (axis.len as isize - 1));
                axis.input = -axis.input;
            }
        }
        self.along.sort_by_key(|axis| core::cmp::Reverse(axis.input));
        Self { along: merged(self.along), ..self }
    }

    /// The same rows from the end: the last item of each is its first.
    #[must_use]
    pub fn from_the_end(mut self) -> Self {
        for axis in &mut self.along {
            let last = axis.len.saturating_sub(1) as isize;
            let [input, output] = axis.strides().map(|stride| stride * last);
            self.start = [
                self.start[0].wrapping_add_signed(input),
                self.start[1].wrapping_add_signed(output),
            ];
            (axis.input, axis.output) = (-axis.input, -axis.output);
        }
        self
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.across.iter().map(|axis| axis.len).product()
    }

    /// Items of each row.
    pub fn items(&self) -> usize {
        self.along.iter().map(|axis| axis.len).product()
    }

    /// The last places in the input and in the output that belong to rows, if these have items.
    pub fn last_places(&self) -> [usize; 2] {
        let mut last = self.start;
        for axis in self.across.iter().chain(&self.along) {
            for (place, stride) in last.iter_mut().zip([axis.input, axis.output]) {
                *place += axis.len.saturating_sub(1) * stride.max(0) as usize;
            }
        }
        last
    }

    /// Whether each row has one place of the output, and not each of its items.
    pub fn reduces(&self) -> bool {
        self.along.iter().all(|axis| axis.output == 0)
    }

    /// Whether every one of so many items of the output is written, of which no two are at one place.
    pub fn writes_all(&self, items: usize) -> bool {
        let each = if self.reduces() { 1 } else { self.items() };
        self.count() * each == items
    }

    /// Where a row begins in the input and in the output.
    #[inline]
    pub fn row(&self, number: usize) -> [usize; 2] {
        let [input, output] = offsets(&self.across, number);
        [self.start[0].wrapping_add_signed(input), self.start[1].wrapping_add_signed(output)]
    }

    /// How far behind the beginning of its row an item is, in the input and in the output.
    #[inline]
    pub fn item(&self, number: usize) -> [isize; 2] {
        offsets(&self.along, number)
    }

    /// The stride of the one axis along rows in input and output, 1 if a row is one item; `None` if there are several.
    pub fn step(&self) -> Option<[isize; 2]> {
        match self.along[..] {
            [] => Some([1, 1]),
            [axis] => Some(axis.strides()),
            _ => None,
        }
    }
}

/// Without axes of one place, and those as one that follow one another. An axis of no places stays.
fn merged(axes: Vec<RowAxis>) -> Vec<RowAxis> {
    let mut found: Vec<RowAxis> = Vec::with_capacity(axes.len());
    for axis in axes.into_iter().filter(|axis| axis.len != 1) {
        match found.last().and_then(|outer| outer.merged(axis)) {
            Some(both) => {
                found.pop();
                found.push(both);
            }
            None => found.push(axis),
        }
    }
    found
}

/// How far place `number` is from the first, the last axis counting fastest.
#[inline]
fn offsets(axes: &[RowAxis], mut number: usize) -> [isize; 2] {
    if let [axis] = axes {
        return axis.strides().map(|stride| stride * number as isize);
    }
    let mut found = [0; 2];
    for axis in axes.iter().rev() {
        let place = (number % axis.len) as isize;
        number /= axis.len;
        found[0] += place * axis.input;
        found[1] += place * axis.output;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(len: usize, input: isize, output: isize) -> RowAxis {
        RowAxis { len, input, output }
    }

    #[test]
    fn axes_that_follow_one_another_are_one() {
        let input = Layout::packed(&[2, 3, 1, 5]).unwrap();
        let output = Layout::packed(&[2, 3, 1]).unwrap();
        let rows = Rows::reduced(&input, &[3], &output);
        assert_eq!(
            (rows.across.clone(), rows.along.clone()),
            (vec![axis(6, 5, 1)], vec![axis(5, 1, 0)])
        );
        assert_eq!((rows.count(), rows.items(), rows.row(4)), (6, 5, [20, 4]));
        // Columns, and the middle of three.
        let rows = Rows::reduced(&input, &[0], &Layout::packed(&[3, 1, 5]).unwrap());
        assert_eq!((rows.across, rows.along), (vec![axis(15, 1, 1)], vec![axis(2, 15, 0)]));
        let rows = Rows::reduced(&input, &[1], &Layout::packed(&[2, 1, 5]).unwrap());
        assert_eq!(rows.across, [axis(2, 15, 5), axis(5, 1, 1)]);
        assert_eq!(rows.row(7), [17, 7]);
        // Two axes, apart.
        let rows = Rows::reduced(&input, &[0, 3], &Layout::packed(&[3, 1]).unwrap());
        assert_eq!(rows.along, [axis(2, 15, 0), axis(5, 1, 0)]);
        assert_eq!(
            (0..10).map(|k| rows.item(k)[0]).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 15, 16, 17, 18, 19]
        );
    }

    #[test]
    fn all_axes_of_a_packed_array_are_one_row() {
        let input = Layout::packed(&[4, 5, 6]).unwrap();
        let rows = Rows::reduced(&input, &[0, 1, 2], &Layout::packed(&[]).unwrap());
        assert_eq!((rows.count(), rows.along), (1, vec![axis(120, 1, 0)]));
        // In Fortran order they are one only for those who do not see the order.
        let input = Layout::strided(&[4, 5], &[1, 4], 0).unwrap();
        let rows = Rows::reduced(&input, &[0, 1], &Layout::packed(&[]).unwrap());
        assert_eq!(rows.along.len(), 2);
        assert_eq!(rows.in_any_order().along, [axis(20, 1, 0)]);
    }

    #[test]
    fn from_the_end_is_the_same_as_from_the_start_in_any_order() {
        let input = Layout::strided(&[4, 5], &[-5, -1], 19).unwrap();
        let rows = Rows::reduced(&input, &[0, 1], &Layout::packed(&[]).unwrap());
        assert_eq!((rows.start, &rows.along[..]), ([19, 0], &[axis(20, -1, 0)][..]));
        assert_eq!(
            rows.in_any_order(),
            Rows { across: vec![], along: vec![axis(20, 1, 0)], start: [0, 0] }
        );
    }

    #[test]
    fn arrays_without_items_stay_so() {
        let input = Layout::packed(&[3, 0, 2]).unwrap();
        let rows = Rows::reduced(&input, &[1], &Layout::packed(&[3, 2]).unwrap());
        assert_eq!((rows.count(), rows.items()), (6, 0));
        let rows = Rows::reduced(&input, &[0], &Layout::packed(&[0, 2]).unwrap());
        assert_eq!((rows.count(), rows.items()), (0, 3));
        assert!(input.check(0).is_ok() && input.is_packed());
    }

    #[test]
    fn layouts_are_within_their_memory_and_overlap_nowhere() {
        let ok = |shape: &[usize], strides: &[isize], start, items| {
            Layout::strided(shape, strides, start).unwrap().check(items).is_ok()
        };
        assert!(
            ok(&[2, 3], &[3, 1], 0, 6)
                && !ok(&[2, 3], &[3, 1], 0, 5)
                && !ok(&[2, 3], &[3, 1], 1, 6)
        );
        assert!(ok(&[2, 3], &[-3, -1], 5, 6) && !ok(&[2, 3], &[-3, -1], 4, 6));
        assert!(ok(&[1 << 40, 3], &[0, 1], 0, 3));
        assert!(Layout::packed(&[1 << 40, 1 << 40]).is_err());
        let apart = |shape: &[usize], strides: &[isize]| {
            Layout::strided(shape, strides, 0).unwrap().check_apart().is_ok()
        };
        assert!(apart(&[2, 3], &[3, 1]) && apart(&[3, 2], &[1, 3]) && apart(&[2, 3], &[-100, 2]));
        assert!(
            !apart(&[2, 3], &[0, 1])
                && !apart(&[2, 3], &[2, 1])
                && apart(&[1, 3], &[0, 1])
                && apart(&[2, 0], &[0, 0])
        );
    }

    #[test]
    fn axes_are_named_once_and_exist() {
        assert_eq!(axes_in_order(&[2, -3], 3).unwrap(), [0, 2]);
        for wrong in [&[3][..], &[-4], &[1, -2]] {
            assert!(axes_in_order(wrong, 3).is_err(), "{wrong:?}");
        }
    }
}
