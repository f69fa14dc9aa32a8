//! Rows have the bits that each has alone, whichever way they lie.

use upsweep_core::reference::rows as expected;
use upsweep_core::{
    Backend, Element, Extreme, Layout, Max, Number, Operator, Reduce, Rows, Scan, Sum, Widen, f16,
};

use crate::{Cpu, CpuOptions, InstructionSet};

/// A structure whose operator does not commute, and rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    slope: f32,
    offset: f32,
}

impl Element for Line {
    type Acc = Self;
    const KIND: upsweep_core::Kind = upsweep_core::Kind::Opaque;

    const EXACT: bool = false;

    fn from_acc(acc: Self) -> Self {
        acc
    }

    fn to_acc(self) -> Self {
        self
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Compose;

impl Operator<Line> for Compose {
    const NAME: &'static str = "compose";
    const COMMUTATIVE: bool = false;
    const EXACT: bool = false;

    fn identity(&self) -> Line {
        Line { slope: 1.0, offset: 0.0 }
    }

    fn combine(&self, left: Line, right: Line) -> Line {
        let slope = left.slope * right.slope;
        Line { slope, offset: right.slope * left.offset + right.offset }
    }
}

/// Items that show every change of order: floats of both signs with exponents far apart.
fn word(number: usize) -> u32 {
    (number as u32 ^ 0x9e37).wrapping_mul(2_654_435_761).rotate_left(13)
}

fn float(number: usize) -> f32 {
    let word = word(number);
    let float = f32::from_bits(word & 0x80ff_ffff | 0x3c00_0000);
    if number.is_multiple_of(97) { -0.0 } else { float }
}

fn layouts() -> Vec<(Layout, Vec<usize>)> {
    let mut all = Vec::new();
    let mut packed = |shape: &[usize], along: &[usize]| {
        all.push((Layout::packed(shape).unwrap(), along.to_vec()))
    };
    for len in [1, 2, 3, 4, 5, 8, 31, 32, 127, 128, 129, 300, 511, 512, 513, 2047, 2048, 2049, 4100]
    {
        packed(&[5, len], &[1]);
        packed(&[len, 5], &[0]);
        packed(&[len, 40], &[0]);
        packed(&[len, 64], &[0]);
        packed(&[len, 65], &[0]);
        packed(&[2, len, 9], &[1]);
    }
    packed(&[2, 70_000], &[1]);
    packed(&[70_000, 2], &[0]);
    packed(&[131_300, 16], &[0]);
    packed(&[131_073], &[0]);
    packed(&[100, 8], &[1]);
    packed(&[8, 100], &[0]);
    packed(&[60, 3], &[1]);
    packed(&[7, 9, 11, 3], &[0, 2]);
    packed(&[7, 9, 11, 3], &[1, 2, 3]);
    packed(&[6, 70], &[0, 1]);
    packed(&[3, 0, 2], &[1]);
    packed(&[0, 4], &[1]);
    packed(&[], &[]);
    packed(&[1, 1], &[0]);
    let mut strided = |shape: &[usize], strides: &[isize], start: usize, along: &[usize]| {
        all.push((Layout::strided(shape, strides, start).unwrap(), along.to_vec()));
    };
    strided(&[20, 600], &[-600, -1], 11_999, &[1]);
    strided(&[20, 60], &[-60, -1], 1199, &[0]);
    strided(&[60, 20], &[0, 1], 0, &[0]);
    strided(&[9, 33], &[0, 0], 5, &[1]);
    strided(&[9, 8, 10], &[1, 9, 72], 0, &[2]);
    strided(&[9, 8, 10], &[1, 9, 72], 0, &[0, 2]);
    strided(&[40, 65], &[70, 1], 3, &[1]);
    all
}

/// The layout of an output of this shape, with gaps that must stay, and its items.
fn spread(shape: &[usize], gap: usize) -> (Layout, usize) {
    let mut layout = Layout::packed(shape).unwrap();
    layout.axes.iter_mut().for_each(|axis| axis.stride *= gap as isize);
    layout.start = gap - 1;
    let items = layout.len() * gap;
    (layout, items)
}

fn items_of<T>(layout: &Layout, item: impl Fn(usize) -> T) -> Vec<T> {
    let reach: isize =
        layout.axes.iter().map(|axis| (axis.len.max(1) as isize - 1) * axis.stride.max(0)).sum();
    (0..=layout.start + reach as usize).map(item).collect()
}

fn devices() -> Vec<Cpu> {
    let mut all: Vec<Cpu> = InstructionSet::available()
        .into_iter()
        .map(|set| {
            Cpu::new(CpuOptions {
                instruction_set: Some(set),
                threads: Some(1),
                ..Default::default()
            })
            .unwrap()
        })
        .collect();
    for threads in [2, 3] {
        let strategy = Some(upsweep_core::CpuStrategy::SimdThreads);
        all.push(
            Cpu::new(CpuOptions { threads: Some(threads), strategy, ..Default::default() })
                .unwrap(),
        );
    }
    all
}

fn kept(layout: &Layout, along: &[usize]) -> Vec<usize> {
    let shape = layout.shape();
    (0..shape.len()).filter(|axis| !along.contains(axis)).map(|axis| shape[axis]).collect()
}

fn same<U: PartialEq + core::fmt::Debug>(
    found: &[U],
    wanted: &[U],
    what: &str,
    layout: &Layout,
    along: &[usize],
) {
    let bits = |items: &[U]| items.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>();
    if found != wanted && bits(found) != bits(wanted) {
        let at = found.iter().zip(wanted).position(|(a, b)| format!("{a:?}") != format!("{b:?}"));
        panic!("{what} of {layout:?} along {along:?}: item {at:?}");
    }
}

fn check_reduce<T, U, O>(problem: &Reduce<U::Acc, O>, item: impl Fn(usize) -> T, poison: U)
where
    T: Widen<U::Acc>,
    U: Element + PartialEq + core::fmt::Debug,
    O: Operator<U::Acc>,
{
    let devices = devices();
    for (number, (layout, along)) in layouts().into_iter().enumerate() {
        let (output, room) = spread(&kept(&layout, &along), 1 + number % 2);
        let rows = Rows::reduced(&layout, &along, &output);
        let items = items_of(&layout, &item);
        let mut wanted = vec![poison; room];
        expected::reduce(&items, &rows, &mut wanted, problem);
        for cpu in &devices {
            let mut found = vec![poison; room];
            cpu.reduce_rows(&items, &rows, &mut found, problem).unwrap();
            same(&found, &wanted, O::NAME, &layout, &along);
        }
    }
}

fn check_scan<T, U, O>(problem: &Scan<U::Acc, O>, item: impl Fn(usize) -> T, poison: U)
where
    T: Widen<U::Acc>,
    U: Element + PartialEq + core::fmt::Debug,
    O: Operator<U::Acc>,
{
    let devices = devices();
    for (number, (layout, along)) in layouts().into_iter().enumerate() {
        let (output, room) = spread(&layout.shape(), 1 + number % 2);
        let rows = Rows::scanned(&layout, &along, &output);
        let items = items_of(&layout, &item);
        let mut wanted = vec![poison; room];
        expected::scan(&items, &rows, &mut wanted, problem);
        for cpu in &devices {
            let mut found = vec![poison; room];
            cpu.scan_rows(&items, &rows, &mut found, problem).unwrap();
            same(&found, &wanted, O::NAME, &layout, &along);
        }
    }
}

#[test]
fn rows_are_reduced_as_if_alone() {
    check_reduce::<f32, f32, _>(&Reduce::new(Sum), float, 5.0);
    check_reduce::<u32, u32, _>(&Reduce::new(Sum).init(7), word, 5);
    check_reduce::<u8, u64, _>(&Reduce::new(Sum), |k| word(k) as u8, 5);
    check_reduce::<f16, f16, _>(&Reduce::new(Sum), |k| f16::from_f32(float(k)), f16::ONE);
    check_reduce::<i16, i16, _>(&Reduce::new(Max), |k| word(k) as i16, 5);
    check_reduce::<Line, Line, _>(&Reduce::new(Compose), line, line(3));
}

fn line(k: usize) -> Line {
    Line { slope: 1.0 + float(k) / 64.0, offset: float(k + 1) }
}

#[test]
fn rows_are_scanned_as_if_alone() {
    check_scan::<f32, f32, _>(&Scan::inclusive(Sum), float, 5.0);
    check_scan::<f32, f32, _>(&Scan::exclusive(Sum).reverse().init(0.5), float, 5.0);
    check_scan::<u8, u64, _>(&Scan::exclusive(Sum), |k| word(k) as u8, 5);
    check_scan::<u32, u32, _>(&Scan::inclusive(Max).reverse(), word, 5);
    check_scan::<Line, Line, _>(&Scan::exclusive(Compose), line, line(3));
    check_scan::<Line, Line, _>(&Scan::inclusive(Compose).reverse(), line, line(3));
}

#[test]
fn extremes_are_found_in_each_row() {
    fn check<T: Number>(item: impl Fn(usize) -> T, extreme: Extreme) {
        for cpu in devices() {
            for (layout, along) in layouts() {
                let (output, room) = spread(&kept(&layout, &along), 1);
                let rows = Rows::reduced(&layout, &along, &output);
                let items = items_of(&layout, &item);
                let (mut found, mut wanted) = (vec![5; room], vec![5; room]);
                for number in 0..rows.count() {
                    let row = expected::row(&items, &rows, number);
                    let place =
                        cpu.position(&mut cpu.workspace(0, 0).unwrap(), &row, extreme).unwrap();
                    wanted[rows.row(number)[1]] = place.unwrap_or(u64::MAX);
                }
                cpu.position_rows(&items, &rows, &mut found, extreme).unwrap();
                same(&found, &wanted, "position", &layout, &along);
            }
        }
    }
    check(|k| if k % 50 == 33 { f32::NAN } else { float(k) }, Extreme::Smallest);
    check(|k| (word(k) % 7) as u8, Extreme::Largest);
}

#[test]
fn items_are_copied_from_layout_to_layout() {
    fn check<T: Element + PartialEq + core::fmt::Debug>(item: impl Fn(usize) -> T) {
        for cpu in devices() {
            for (number, (layout, along)) in layouts().into_iter().enumerate() {
                let (output, room) = spread(&layout.shape(), 1 + number % 2);
                let rows = Rows::scanned(&layout, &along, &output);
                let items = items_of(&layout, &item);
                let (mut found, mut wanted) = (vec![item(1); room], vec![item(1); room]);
                for row in 0..rows.count() {
                    let [from, to] = rows.row(row);
                    for [own, at] in (0..rows.items()).map(|k| rows.item(k)) {
                        wanted[to.wrapping_add_signed(at)] = items[from.wrapping_add_signed(own)];
                    }
                }
                cpu.copy_rows(&items, &rows, &mut found).unwrap();
                same(&found, &wanted, "copy", &layout, &along);
            }
        }
    }
    check(|k| word(k) as u8);
    check(|k| word(k) as u16);
    check(word);
    check(|k| u64::from(word(k)) << 9);
    check(line);
}
