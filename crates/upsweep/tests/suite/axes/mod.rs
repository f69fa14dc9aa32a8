//! Calls along axes: each row has the bits that the same call gives for it alone, wherever it lies, on every device.
//!
//! The layouts that all of them are tried on are here.

mod calls;
mod copies;
mod fused;
mod mistakes;
mod positions;
mod recordings;

use upsweep::{Array, Device, Element, Error, Kind, NdView, View};
use upsweep_testing::{Selection, TestDevice, for_each_device_of};

/// How an array lies in memory.
#[derive(Debug)]
struct Lies {
    shape: &'static [usize],
    strides: &'static [isize],
    start: usize,
    /// Items of memory.
    memory: usize,
}

const fn lies(
    shape: &'static [usize],
    strides: &'static [isize],
    start: usize,
    memory: usize,
) -> Lies {
    Lies { shape, strides, start, memory }
}

/// Of every rank, in C order and in Fortran order, from the end, with gaps, broadcast, and without items.
const SHORT: [Lies; 22] = [
    lies(&[], &[], 2, 3),
    lies(&[0], &[1], 0, 0),
    lies(&[7], &[1], 0, 7),
    lies(&[1000], &[-3], 2999, 3000),
    lies(&[5], &[0], 1, 2),
    lies(&[3, 5], &[5, 1], 0, 15),
    lies(&[3, 5], &[1, 3], 0, 15),
    lies(&[3, 5], &[-5, -1], 14, 15),
    lies(&[3, 5], &[13, 2], 4, 64),
    lies(&[4, 6], &[0, 1], 0, 6),
    lies(&[4, 6], &[1, 0], 0, 4),
    lies(&[0, 4], &[4, 1], 0, 0),
    lies(&[4, 0], &[1, 1], 0, 0),
    lies(&[33, 65], &[65, 1], 0, 2145),
    lies(&[2, 3, 4], &[12, 4, 1], 0, 24),
    lies(&[4, 2, 3], &[1, 12, 4], 0, 24),
    lies(&[2, 1, 5], &[5, 77, 1], 0, 10),
    lies(&[3, 0, 2], &[2, 2, 1], 0, 0),
    lies(&[5, 4, 9], &[-36, 9, -1], 4 * 36 + 8, 180),
    lies(&[2, 3, 2, 3], &[18, 6, 3, 1], 0, 36),
    lies(&[2, 3, 2, 3], &[1, 4, -2, 12], 2, 36),
    lies(&[3, 2, 2, 5], &[40, 20, 0, 3], 1, 120),
];

/// Longer than a tile of the summation order, along each axis.
const LONG: [Lies; 5] = [
    lies(&[3, 20_000], &[20_000, 1], 0, 60_000),
    lies(&[20_000, 3], &[3, 1], 0, 60_000),
    lies(&[2, 17_000], &[-1, 2], 1, 34_000),
    lies(&[700, 50], &[50, 1], 0, 35_000),
    lies(&[3, 90, 130], &[90 * 130, 130, 1], 0, 3 * 90 * 130),
];

/// Of so many calls a GPU takes one, others every day: nearly each has a kernel of its own.
const ONE_IN: usize = 64;

impl Lies {
    fn view<'a, T: Element>(&self, memory: impl Into<View<'a, T>>) -> NdView<'a, T> {
        NdView::strided(memory, self.shape, self.strides, self.start).expect("it fits")
    }

    /// Every choice of axes, with one of them named from the end.
    fn axes(&self) -> Vec<Vec<isize>> {
        let rank = self.shape.len();
        let chosen = |mask: usize| {
            let axes = (0..rank).filter(|axis| mask >> axis & 1 == 1).map(|axis| axis as isize);
            let mut axes: Vec<isize> = axes.rev().collect();
            if let Some(first) = axes.first_mut() {
                *first -= rank as isize;
            }
            axes
        };
        (0..1 << rank).map(chosen).collect()
    }

    /// The numbers of the items of each row in memory, found place by place; and those of all items in C order.
    fn rows(&self, axes: &[isize]) -> (Vec<Vec<usize>>, Vec<usize>) {
        let rank = self.shape.len();
        let is_along = |axis: usize| {
            axes.contains(&(axis as isize)) || axes.contains(&(axis as isize - rank as isize))
        };
        let across = (0..rank).filter(|&axis| !is_along(axis));
        let count: usize = across.map(|axis| self.shape[axis]).product();
        let (mut rows, mut all) = (vec![Vec::new(); count], Vec::new());
        for number in 0..self.shape.iter().product() {
            let (mut rest, mut at, mut row, mut step) = (number, self.start as isize, 0, 1);
            for axis in (0..rank).rev() {
                let place = rest % self.shape[axis];
                rest /= self.shape[axis];
                at += place as isize * self.strides[axis];
                if !is_along(axis) {
                    row += place * step;
                    step *= self.shape[axis];
                }
            }
            rows[row].push(at as usize);
            all.push(at as usize);
        }
        (rows, all)
    }

    /// The shape of what is found of rows.
    fn reduced(&self, axes: &[isize], keepdims: bool) -> Vec<usize> {
        let rank = self.shape.len() as isize;
        let mut shape = Vec::new();
        for (axis, &len) in (0..).zip(self.shape) {
            match axes.contains(&axis) || axes.contains(&(axis - rank)) {
                true if keepdims => shape.push(1),
                true => {}
                false => shape.push(len),
            }
        }
        shape
    }
}

/// A layout with a gap behind each item and an axis from the end, how much memory it takes, and the numbers of its items in C order.
fn spread(shape: &[usize]) -> (Vec<isize>, usize, usize, Vec<usize>) {
    let mut strides: Vec<isize> = shape.iter().map(|_| 0).collect();
    let mut step = 2;
    for (stride, &len) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step *= len.max(1) as isize;
    }
    let mut start = 1;
    if let (Some(stride), Some(&len)) = (strides.first_mut(), shape.first()) {
        start += stride.unsigned_abs() * len.saturating_sub(1);
        *stride = -*stride;
    }
    let mut places = Vec::new();
    for number in 0..shape.iter().product() {
        let (mut rest, mut at) = (number, start as isize);
        for (stride, &len) in strides.iter().zip(shape).rev() {
            at += (rest % len) as isize * stride;
            rest /= len;
        }
        places.push(at as usize);
    }
    (strides, start, step as usize + 1, places)
}

/// Calls `body` on the devices that compute with these kinds.
fn on_devices(kinds: &[Kind], mut body: impl FnMut(&TestDevice)) {
    for_each_device_of(Selection::Representative, |device| {
        if device.supports(kinds) {
            body(device);
        }
    });
}

/// The same in the device's memory.
fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

/// Items of memory with these in their places, and `gap` everywhere else.
fn placed<T: Copy>(memory: usize, gap: T, places: &[usize], items: &[T]) -> Vec<T> {
    let mut found = vec![gap; memory];
    for (&place, &item) in places.iter().zip(items) {
        found[place] = item;
    }
    found
}

/// The words of an error.
#[track_caller]
fn words<R: core::fmt::Debug>(result: Result<R, Error>) -> String {
    match result {
        Err(Error::Shape { reason }) => reason,
        other => panic!("{other:?} is no mistake about a shape"),
    }
}
