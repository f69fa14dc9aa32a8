//! Reductions, scans and copies along axes of arrays of up to four dimensions.

use upsweep::any::{
    self, AnyArray, AnyNdArray, AnyNdView, AnyNdViewMut, AnyView, AnyViewMut, Op, Reduce, Scalar,
    Scan,
};
use upsweep::{Dtype, Error};

use crate::input_bytes::InputBytes;
use crate::runtime_typed::{
    array_of_bytes, assert_same_array, choose_operator, poisoned_array, reduce_problem,
    scan_problem, seeded_array,
};

/// Lengths of dimensions: none, one, those of vectors and blocks and their neighbours, more than a tile of the summation order.
const LENGTHS: [usize; 16] = [0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 33, 65, 300, 20_000];

/// Most items of an array that has no dimension longer than the longest but one.
const MOST_ITEMS: usize = 4000;

/// Rows above which the longest axis is along them: the oracle combines a whole tile for each.
const MOST_ROWS: usize = 200;

/// What is done with the rows.
#[derive(Debug)]
enum Work {
    Reduce(Reduce),
    Scan(Scan),
    Copy,
}

/// How an array lies in memory.
#[derive(Debug)]
struct Strided {
    shape: Vec<usize>,
    strides: Vec<isize>,
    start: usize,
    /// Items of memory.
    memory: usize,
}

impl Strided {
    /// Axes in any order and from either end, with gaps between them; what is only read may be the same along an axis.
    fn new(bytes: &mut InputBytes<'_>, shape: &[usize], is_read: bool) -> Self {
        let mut left: Vec<usize> = (0..shape.len()).collect();
        let mut strides = vec![0; shape.len()];
        // Bytes of zeros give C order.
        let (mut step, mut before, mut behind) =
            (1 + usize::from(bytes.byte() / 100), usize::from(bytes.byte() % 3), 1);
        while !left.is_empty() {
            let last = left.len() - 1;
            let axis = left.remove(last - usize::from(bytes.byte()) % left.len());
            let (kind, reach) = (bytes.byte(), step * shape[axis].saturating_sub(1));
            if is_read && kind % 8 == 7 {
                continue;
            }
            if kind % 4 == 3 {
                (strides[axis], before) = (-(step as isize), before + reach);
            } else {
                (strides[axis], behind) = (step as isize, behind + reach);
            }
            step = step * shape[axis].max(1) + usize::from(kind / 64);
        }
        Self { shape: shape.to_vec(), strides, start: before, memory: before + behind }
    }

    /// Of items in C order.
    fn packed(shape: &[usize]) -> Self {
        let mut step = 1;
        let mut strides = vec![0; shape.len()];
        for (stride, &len) in strides.iter_mut().zip(shape).rev() {
            *stride = step;
            step *= len as isize;
        }
        Self { shape: shape.to_vec(), strides, start: 0, memory: step as usize }
    }

    fn view<'a>(&self, memory: AnyView<'a>) -> AnyNdView<'a> {
        AnyNdView::strided(memory, &self.shape, &self.strides, self.start).expect("it fits")
    }

    fn view_mut<'a>(&self, memory: AnyViewMut<'a>) -> AnyNdViewMut<'a> {
        AnyNdViewMut::strided(memory, &self.shape, &self.strides, self.start).expect("it fits")
    }

    /// Where the items of each row are in memory, row by row in C order.
    fn rows(&self, axes: &[usize]) -> Vec<Vec<usize>> {
        let across = (0..self.shape.len()).filter(|axis| !axes.contains(axis));
        let count = across.map(|axis| self.shape[axis]).product();
        let mut rows = vec![Vec::new(); count];
        for number in 0..self.shape.iter().product() {
            let (mut rest, mut at, mut row, mut step) = (number, self.start as isize, 0, 1);
            for (axis, (len, stride)) in self.shape.iter().zip(&self.strides).enumerate().rev() {
                let place = rest % len;
                rest /= len;
                at += place as isize * stride;
                if !axes.contains(&axis) {
                    row += place * step;
                    step *= len;
                }
            }
            rows[row].push(at as usize);
        }
        rows
    }
}

/// Items of up to four dimensions at any strides, and rows along any of the axes, against the oracle row by row.
pub fn axes(data: &[u8]) {
    let bytes = &mut InputBytes(data);
    let (device, kind, seed) = (bytes.device(), bytes.byte() % 8, bytes.word());
    let shape = shape(bytes);
    let axes = axes_of(bytes, &shape);
    let allowed: fn(Op) -> bool = if kind < 4 { |_| true } else { Op::scans };
    let (op, item) = choose_operator(bytes, allowed);
    let (work, out) = match kind {
        0..4 => {
            let problem = reduce_problem(bytes, op, item);
            (Work::Reduce(problem), problem.result(item))
        }
        4..7 => {
            let (problem, out) = scan_problem(bytes, op, item, false);
            (Work::Scan(problem), out)
        }
        _ => (Work::Copy, item),
    };
    let keeps = bytes.bool();
    let reduced = |(axis, &len): (usize, &usize)| match axes.contains(&axis) {
        false => Some(len),
        true => keeps.then_some(1),
    };
    let results: Vec<usize> = match work {
        Work::Reduce(_) => shape.iter().enumerate().filter_map(reduced).collect(),
        _ => shape.clone(),
    };
    let is_owned = bytes.bool();
    let from = Strided::new(bytes, &shape, true);
    let to = match is_owned {
        true => Strided::packed(&results),
        false => Strided::new(bytes, &results, false),
    };
    let offset = usize::from(bytes.byte());
    let items = seeded_array(item, seed, from.memory);
    let mut output = poisoned_array(out, to.memory, offset);
    let context = format!("{work:?} of {item} {from:?} along {axes:?} into {out} {to:?}");
    let memory = output.view().bytes().expect("in host memory").to_vec();
    let places = match work {
        Work::Reduce(_) if keeps => to.rows(&axes),
        Work::Reduce(_) => to.rows(&[]),
        _ => to.rows(&axes),
    };
    let expected = expected(items.view(), &from.rows(&axes), &work, (out, memory, &places));
    let along: Vec<isize> = axes.iter().map(|&axis| named(axis, shape.len(), seed)).collect();
    let view = from.view(items.view());
    let rows = view.axes(&along).expect("axes");
    let rows = if keeps { rows.keepdims() } else { rows };
    if is_owned {
        let found = match &work {
            Work::Reduce(problem) => any::reduce_axes(&device, &rows, problem),
            Work::Scan(problem) => any::scan_axes(&device, &rows, out, problem),
            Work::Copy => any::copy(&device, view),
        };
        return match (found, expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found.shape(), results, "{context}");
                assert_same_array(AnyNdArray::into_array(found), expected, &context);
            }
            (found, expected) => assert_eq!(found.err(), expected.err(), "{context}"),
        };
    }
    let into = to.view_mut(output.slice_mut(0, to.memory));
    let done = match &work {
        Work::Reduce(problem) => any::reduce_axes_into(&device, &rows, into, problem),
        Work::Scan(problem) => any::scan_axes_into(&device, &rows, into, problem),
        Work::Copy => any::copy_into(&device, view, into),
    };
    match expected {
        Ok(expected) => {
            assert_eq!(done, Ok(()), "{context}");
            output.assert_holds(expected, &context);
        }
        Err(refused) => assert_eq!(done, Err(refused), "{context}"),
    }
}

/// Up to four lengths, not of many items.
fn shape(bytes: &mut InputBytes<'_>) -> Vec<usize> {
    let rank = usize::from(bytes.byte()) % 5;
    let (mut shape, mut items) = (Vec::new(), 1);
    for _ in 0..rank {
        let len = bytes.choose(LENGTHS);
        // One dimension may be long, if the others are not.
        let most = if len == 20_000 { 3 * len } else { MOST_ITEMS };
        let len = if items * len > most { 2 } else { len };
        items *= len.max(1);
        shape.push(len);
    }
    shape
}

/// Some of the axes, in order.
fn axes_of(bytes: &mut InputBytes<'_>, shape: &[usize]) -> Vec<usize> {
    let mask = bytes.byte();
    let chosen = |axis: usize| mask >> axis & 1 == 1;
    let across = (0..shape.len()).filter(|&axis| !chosen(axis));
    // Of too many rows those along the longest axis become one.
    let has_too_many = across.clone().map(|axis| shape[axis]).product::<usize>() > MOST_ROWS;
    let longest = across.max_by_key(|&axis| shape[axis]).filter(|_| has_too_many);
    (0..shape.len()).filter(|&axis| chosen(axis) || Some(axis) == longest).collect()
}

/// The number of an axis from the front, or from the end.
fn named(axis: usize, rank: usize, seed: u64) -> isize {
    if seed >> axis & 1 == 1 { axis as isize - rank as isize } else { axis as isize }
}

/// The memory of the output with the results of the oracle at these places, or its error for the first row that has one.
fn expected(
    items: AnyView<'_>,
    rows: &[Vec<usize>],
    work: &Work,
    (out, mut memory, places): (Dtype, Vec<u8>, &[Vec<usize>]),
) -> Result<AnyArray, Error> {
    let (item, all) = (items.dtype(), items.bytes().expect("in host memory"));
    if rows.is_empty() {
        // What is refused is refused without rows too.
        let nothing = array_of_bytes(item, &[]);
        match work {
            Work::Reduce(problem) => any::reference_reduce(nothing.view(), problem).map(drop)?,
            Work::Scan(problem) => any::reference_scan(nothing.view(), out, problem).map(drop)?,
            Work::Copy => {}
        }
    }
    for (row, places) in rows.iter().zip(places) {
        let size = item.size();
        let row: Vec<u8> = row.iter().flat_map(|at| &all[at * size..][..size]).copied().collect();
        let row = array_of_bytes(item, &row);
        let results = match work {
            Work::Reduce(problem) => {
                let value = any::reference_reduce(row.view(), problem)?;
                value.unwrap_or(Scalar::new(u64::MAX)).bytes().to_vec()
            }
            Work::Scan(problem) => any::reference_scan(row.view(), out, problem)?.to_bytes()?,
            Work::Copy => row.to_bytes()?,
        };
        let size = out.size();
        assert_eq!(results.len(), places.len() * size);
        for (at, result) in places.iter().zip(results.chunks(size)) {
            memory[at * size..][..size].copy_from_slice(result);
        }
    }
    Ok(array_of_bytes(out, &memory))
}
