//! Masks: items that `where=` leaves out, and which items are not 0.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use upsweep::Dtype;
use upsweep::any::{AnyNdView, Op, Scalar};

use crate::array::Array;
use crate::call::Call;
use crate::dtype::{ItemType, Kind, with_number};
use crate::error::raise;
use crate::memory::HostMemory;
use crate::operand::Operand;

/// The value that changes nothing when it is combined.
pub(crate) fn identity(op: Op, dtype: Dtype) -> Scalar {
    if op == Op::And
        && let Some(ones) = Scalar::from_bytes(dtype, &[u8::MAX; 8][..dtype.size()])
    {
        return ones;
    }
    with_number!(dtype, T => Scalar::new(match op {
        Op::Product => one::<T>(),
        Op::Min => extreme::<T>(true),
        Op::Max => extreme::<T>(false),
        _ => T::default(),
    }))
}

/// Numbers with the constants that identities are.
trait Constants: upsweep::Number + Default {
    const ONE: Self;
    const LEAST: Self;
    const MOST: Self;
}

macro_rules! constants {
    ($($t:ty: $one:expr, $least:expr, $most:expr;)*) => {$(
        impl Constants for $t {
            const ONE: Self = $one;
            const LEAST: Self = $least;
            const MOST: Self = $most;
        }
    )*};
}

constants! {
    u8: 1, u8::MIN, u8::MAX;
    i8: 1, i8::MIN, i8::MAX;
    u16: 1, u16::MIN, u16::MAX;
    i16: 1, i16::MIN, i16::MAX;
    u32: 1, u32::MIN, u32::MAX;
    i32: 1, i32::MIN, i32::MAX;
    u64: 1, u64::MIN, u64::MAX;
    i64: 1, i64::MIN, i64::MAX;
    half::f16: half::f16::ONE, half::f16::NEG_INFINITY, half::f16::INFINITY;
    half::bf16: half::bf16::ONE, half::bf16::NEG_INFINITY, half::bf16::INFINITY;
    f32: 1.0, f32::NEG_INFINITY, f32::INFINITY;
    f64: 1.0, f64::NEG_INFINITY, f64::INFINITY;
}

fn one<T: Constants>() -> T {
    T::ONE
}

fn extreme<T: Constants>(largest: bool) -> T {
    if largest { T::MOST } else { T::LEAST }
}

/// The items in C order in memory of their own.
fn packed(call: &Call, array: &Operand<'_>, shape: &[usize]) -> PyResult<HostMemory> {
    let strides = broadcast(array, shape)?;
    let mut memory = HostMemory::zeroed(shape.iter().product::<usize>() * array.item.size())?;
    let output = memory.view_mut(array.item.dtype)?.shape(shape).map_err(raise)?;
    let input = array.view_at(shape, &strides)?;
    call.copy(array.object.py(), input, output)?;
    Ok(memory)
}

/// The strides of an array that is repeated along axes where its length is 1 or that it has not.
fn broadcast(array: &Operand<'_>, shape: &[usize]) -> PyResult<Vec<isize>> {
    let wrong = || {
        let (name, found) = (array.name, &array.shape);
        PyValueError::new_err(format!("{name} of shape {found:?} does not fit the shape {shape:?}"))
    };
    let missing = shape.len().checked_sub(array.shape.len()).ok_or_else(wrong)?;
    let mut strides = vec![0; missing];
    for (axis, (&len, &stride)) in array.shape.iter().zip(&array.strides).enumerate() {
        strides.push(match len {
            len if len == shape[missing + axis] => stride,
            1 => 0,
            _ => return Err(wrong()),
        });
    }
    Ok(strides)
}

/// A mask that a caller gives: booleans in host memory.
pub(crate) fn mask<'py>(
    object: &Bound<'py, PyAny>,
    items: &Operand<'_>,
    name: &'static str,
) -> PyResult<Operand<'py>> {
    let mask = Operand::take(object, name)?;
    if mask.item.kind() != Kind::Bool {
        let text = format!("{name} has items of {}, not of bool", mask.item.name());
        return Err(PyTypeError::new_err(text));
    }
    if !mask.is_on_host() || !items.is_on_host() {
        let text = format!(
            "{name}= is for arrays in host memory; on a GPU fill the array first, as by torch.where"
        );
        return Err(PyValueError::new_err(text));
    }
    Ok(mask)
}

/// A copy of an array in which the items that a mask leaves out are `value`.
pub(crate) fn filled(
    call: &Call,
    items: &Operand<'_>,
    mask: &Operand<'_>,
    value: Scalar,
) -> PyResult<Array> {
    let mut memory = packed(call, items, &items.shape)?;
    let kept = packed(call, mask, &items.shape)?;
    let size = items.item.size();
    for (item, kept) in memory.bytes_mut().chunks_exact_mut(size).zip(kept.bytes()) {
        if *kept == 0 {
            item.copy_from_slice(value.bytes());
        }
    }
    Ok(Array::on_host(memory, &items.shape, items.item))
}

/// How many items of each row a mask keeps: an array of booleans of the items' shape.
pub(crate) fn broadcast_flags(
    call: &Call,
    items: &Operand<'_>,
    mask: &Operand<'_>,
) -> PyResult<Array> {
    let memory = packed(call, mask, &items.shape)?;
    Ok(Array::on_host(memory, &items.shape, ItemType::BOOL))
}

/// Which items are not 0, as booleans.
pub(crate) fn nonzero_flags(call: &Call, items: &Operand<'_>) -> PyResult<Array> {
    if !items.is_on_host() {
        let (name, item) = (items.name, items.item.name());
        let text =
            format!("{name} has items of {item} on a GPU; compare them first, as by {name} != 0");
        return Err(PyTypeError::new_err(text));
    }
    let own = if items.is_packed() { None } else { Some(packed(call, items, &items.shape)?) };
    let mut flags = HostMemory::zeroed(items.len())?;
    if items.len() == 0 {
        return Ok(Array::on_host(flags, &items.shape, ItemType::BOOL));
    }
    let bytes = match &own {
        Some(memory) => memory.bytes(),
        None => items.flat()?.bytes().unwrap_or_default(),
    };
    with_number!(items.item.dtype, T => {
        let numbers: &[T] = bytemuck::cast_slice(bytes);
        for (flag, number) in flags.bytes_mut().iter_mut().zip(numbers) {
            *flag = u8::from(*number != T::default());
        }
    });
    Ok(Array::on_host(flags, &items.shape, ItemType::BOOL))
}

impl Operand<'_> {
    /// The array at other strides and of another shape, which are within it.
    fn view_at(&self, shape: &[usize], strides: &[isize]) -> PyResult<AnyNdView<'_>> {
        let (items, start) = self.items(self.item.dtype)?;
        AnyNdView::strided(items, shape, strides, start).map_err(raise)
    }
}
