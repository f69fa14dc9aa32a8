//! Which kernel a call runs, and what is done to items before it and to its values behind it.

use core::fmt::{self, Display};
use core::ops::Range;

use bytemuck::cast_slice_mut;

use super::convert::convert;
use super::converted::{WidenedItems, widened_there};
use super::pairs::{self, ReducePair, ScanPair};
use super::view::AnyView;
use super::{Op, Reduce, Scalar, Scan};
use crate::backend::wrong_device;
use crate::{Device, Dtype, Error, Result, bf16, f16};

/// The kernel that a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The operator.
    pub op: Op,
    /// The type that it reads.
    pub item: Dtype,
    /// The type that it combines in, of a reduction, or that it writes, of a scan.
    pub out: Dtype,
    /// Whether items are widened first, piece by piece.
    pub converts: bool,
}

impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, item, out, converts } = self;
        write!(f, "{op} {item} in {out}{}", if *converts { ", items converted first" } else { "" })
    }
}

/// The kernel of a reduction; `None` if there is no such reduction.
pub fn reduce_kernel(op: Op, item: Dtype, acc: Option<Dtype>) -> Option<Kernel> {
    let problem = Reduce { op, acc, init: None };
    problem.check(item).ok()?;
    if op.is_position() {
        return Some(Kernel { op, item, out: Dtype::U64, converts: false });
    }
    let op = if op == Op::Mean { Op::Sum } else { op };
    let ReduceKernel { widened_to, from, to, .. } =
        ReduceKernel::new(op, item, problem.result(item), true).ok()?;
    Some(Kernel { op, item: from, out: to, converts: widened_to != item })
}

/// The kernel of a scan; `None` if there is no such scan.
pub fn scan_kernel(op: Op, item: Dtype, out: Dtype) -> Option<Kernel> {
    Scan::inclusive(op).check(item, out).ok()?;
    let ScanKernel { widened_to, from, to, .. } = ScanKernel::new(op, item, out).ok()?;
    Some(Kernel { op, item: from, out: to, converts: widened_to != item })
}

/// The kernel of a reduction.
#[derive(Clone, Copy)]
pub(super) struct ReduceKernel {
    op: Op,
    /// The type that items are widened to first, or theirs.
    pub(super) widened_to: Dtype,
    /// The types of the kernel.
    pub(super) from: Dtype,
    pub(super) to: Dtype,
    /// The type of the result.
    pub(super) acc: Dtype,
    /// Whether the kernel's value has the items' type, and is widened in the end.
    pub(super) widens: bool,
    pub(super) code: &'static dyn ReducePair,
}

impl ReduceKernel {
    /// That of items of type `item` and a result of type `acc`, on a device that has or has not integers of 64 bits.
    ///
    /// # Errors
    /// [`Error::OperatorElement`] if there is none.
    pub(super) fn new(op: Op, item: Dtype, acc: Dtype, int64: bool) -> Result<Self> {
        let of = |widened_to: Dtype, to: Dtype, widens: bool| {
            let (from, to) = same_bits(op, widened_to, to);
            let code = pairs::reduction(op, from, to)?;
            Some(Self { op, widened_to, from, to, acc, widens, code })
        };
        let combined = combined_in(acc);
        // Integers wrap, so that 64 bits end in the bits of every narrower result. A device without such integers can do
        // with those.
        let in_64_bits = || {
            let wraps = op.accumulates() && !acc.is_float() && int64;
            wraps.then(|| of(item, accumulator(op, item), false)).flatten()
        };
        // The extreme of widened values is the widened extreme; so it is with bits.
        let narrow = || (!op.accumulates()).then(|| of(item, combined_in(item), true)).flatten();
        of(item, combined, false)
            .or_else(in_64_bits)
            .or_else(narrow)
            .or_else(|| of(combined, combined, false))
            .ok_or(Error::OperatorElement { operator: op.name(), dtype: item })
    }

    /// The start value that the kernel gets. A value that is widened gets it in the end.
    #[inline]
    pub(super) fn init(&self, init: Option<Scalar>) -> Option<Scalar> {
        init.filter(|_| !self.widens)
    }

    /// The result by the kernel's value of items of type `item`.
    #[inline]
    pub(super) fn result(
        &self,
        value: Scalar,
        item: Dtype,
        init: Option<Scalar>,
    ) -> Result<Scalar> {
        match !self.widens && value.dtype() == self.acc {
            true => Ok(value),
            false => self.converted(value, item, init),
        }
    }

    /// The same where that is of another type.
    fn converted(&self, value: Scalar, item: Dtype, init: Option<Scalar>) -> Result<Scalar> {
        if !self.widens {
            return Ok(narrowed(value, self.acc));
        }
        let own = narrowed(value, item);
        let wide = own.widened(combined_in(self.acc)).unwrap_or(own);
        let wide = match init {
            Some(init) => {
                let both = [init, wide].map(|scalar| scalar.word());
                let mut bytes = [0u64; 2];
                let pair = Self::new(self.op, wide.dtype(), wide.dtype(), true)?;
                let size = wide.dtype().size();
                let room: &mut [u8] = cast_slice_mut(&mut bytes);
                for (room, word) in room.chunks_exact_mut(size).zip(both) {
                    room.copy_from_slice(&word.to_le_bytes()[..size]);
                }
                let view = AnyView::from_bytes(wide.dtype(), &room[..2 * size])?;
                pair.code.reference(view.bits_as(pair.from), None)?.wrapped(wide.dtype())
            }
            None => wide,
        };
        Ok(narrowed(wide, self.acc))
    }
}

/// The kernel of a scan.
#[derive(Clone, Copy)]
pub(super) struct ScanKernel {
    /// The type that items are widened to first, or theirs.
    pub(super) widened_to: Dtype,
    /// The types of the kernel.
    pub(super) from: Dtype,
    pub(super) to: Dtype,
    pub(super) code: &'static dyn ScanPair,
}

impl ScanKernel {
    /// That of items of type `item` and outputs of type `out`.
    ///
    /// # Errors
    /// [`Error::OperatorElement`] if there is none.
    pub(super) fn new(op: Op, item: Dtype, out: Dtype) -> Result<Self> {
        let of = |widened_to: Dtype| {
            let (from, to) = same_bits(op, widened_to, out);
            pairs::scan(op, from, to).map(|code| Self { widened_to, from, to, code })
        };
        let missing = Error::OperatorElement { operator: op.name(), dtype: item };
        of(item).or_else(|| of(out)).ok_or(missing)
    }
}

/// The kernel of a reduction or a scan within segments, of which both types are one.
#[derive(Clone, Copy)]
pub(super) struct SegmentedKernel<C> {
    /// The type that items are widened to first, or theirs.
    pub(super) widened_to: Dtype,
    /// The type of the kernel.
    pub(super) dtype: Dtype,
    pub(super) code: C,
}

impl<C> SegmentedKernel<C> {
    /// That of outputs of type `out`, whose code `find` has. Integers are combined in their own type or in the next wider one that has a kernel, of whose
    /// bits those that were asked for are the lower ones.
    ///
    /// # Errors
    /// [`Error::OperatorElement`] if there is none.
    pub(super) fn new(op: Op, out: Dtype, find: fn(Op, Dtype) -> Option<C>) -> Result<Self> {
        let wider = match out {
            Dtype::U8 | Dtype::U16 | Dtype::U32 => [Dtype::U32, Dtype::U64],
            Dtype::I8 | Dtype::I16 | Dtype::I32 => [Dtype::I32, Dtype::I64],
            other => [combined_in(other); 2],
        };
        let found = wider.into_iter().find_map(|widened_to| {
            let (dtype, _) = same_bits(op, widened_to, widened_to);
            find(op, dtype).map(|code| Self { widened_to, dtype, code })
        });
        found.ok_or(Error::OperatorElement { operator: op.name(), dtype: out })
    }

    /// The items as the kernel reads them.
    pub(super) fn items<'b>(
        &self,
        device: &Device,
        items: AnyView<'b>,
        room: &'b mut WidenedItems,
    ) -> Result<AnyView<'b>> {
        Ok(widened_there(device, items, self.widened_to, room)?.bits_as(self.dtype))
    }

    /// A start value as the kernel takes it.
    pub(super) fn init(&self, init: Option<Scalar>) -> Result<Option<Scalar>> {
        let Some(init) = init else { return Ok(None) };
        let wrong = Error::WrongDtype { found: init.dtype(), wanted: self.widened_to };
        init.widened(self.widened_to).map(Some).ok_or(wrong)
    }
}

/// The types whose code gives the same bits as combining `from` in `to`: where the sign of an integer cannot be seen, the
/// unsigned ones.
pub(super) fn same_bits(op: Op, from: Dtype, to: Dtype) -> (Dtype, Dtype) {
    let unsigned = |dtype| match dtype {
        Dtype::I8 => Dtype::U8,
        Dtype::I16 => Dtype::U16,
        Dtype::I32 => Dtype::U32,
        Dtype::I64 => Dtype::U64,
        other => other,
    };
    let sign_shows = matches!(op, Op::Min | Op::Max);
    if sign_shows || (from != to && from.is_signed_integer()) {
        (from, to)
    } else {
        (unsigned(from), unsigned(to))
    }
}

/// The type of a result unless another is asked for: 64 bits for sums and products of integers, `f32` for those of short floats,
/// `u64` for positions, `f32` or `f64` for means, and the items' type for all else.
pub fn accumulator(op: Op, item: Dtype) -> Dtype {
    match (op, item) {
        (Op::ArgMin | Op::ArgMax, _) => Dtype::U64,
        (Op::Mean, Dtype::F16 | Dtype::Bf16 | Dtype::F32) => Dtype::F32,
        (Op::Mean, _) => Dtype::F64,
        (Op::Sum | Op::Product, Dtype::U8 | Dtype::U16 | Dtype::U32) => Dtype::U64,
        (Op::Sum | Op::Product, Dtype::I8 | Dtype::I16 | Dtype::I32) => Dtype::I64,
        (Op::Sum | Op::Product, other) => combined_in(other),
        (_, other) => other,
    }
}

/// The type of a scan's output unless another is asked for: 64 bits for sums and products of integers, as of `numpy.cumsum`, and the
/// items' type for all else.
pub fn scan_output(op: Op, item: Dtype) -> Dtype {
    if item.is_float() { item } else { accumulator(op, item) }
}

/// The type in which items of a type are combined if the result has their type: `f32` for short floats, or the type itself.
pub fn combined_in(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::F32,
        other => other,
    }
}

/// A value as one of a type that is no wider: rounded once if that is a short float, of integers the lower bits, and otherwise
/// the same bits.
pub(super) fn narrowed(value: Scalar, dtype: Dtype) -> Scalar {
    match dtype {
        Dtype::F16 => Scalar::new(f16::from_f32(value.bits())),
        Dtype::Bf16 => Scalar::new(bf16::from_f32(value.bits())),
        _ => value.wrapped(dtype),
    }
}

/// Items of a chunk in host memory, widened. `buffer` keeps them.
pub(super) fn widened<'b>(
    chunk: AnyView<'_>,
    range: Range<usize>,
    to: Dtype,
    buffer: &'b mut Vec<u64>,
) -> Result<AnyView<'b>> {
    let from = chunk.dtype();
    let Some(bytes) = chunk.bytes() else {
        return Err(wrong_device(chunk.device(), "cpu"));
    };
    let bytes = &bytes[range.start * from.size()..range.end * from.size()];
    let room = range.len() * to.size();
    buffer.resize(room.div_ceil(8), 0);
    let room = &mut cast_slice_mut(buffer)[..room];
    convert(from, bytes, false, to, room)?;
    AnyView::from_bytes(to, room)
}

/// Items in the host's memory as the type that they are widened to, if it is not theirs.
pub(super) fn widened_to<'b>(
    items: AnyView<'b>,
    to: Dtype,
    buffer: &'b mut Vec<u64>,
) -> Result<AnyView<'b>> {
    if items.dtype() == to { Ok(items) } else { widened(items, 0..items.len(), to, buffer) }
}
