//! Masks: items that `where=` leaves out, and which items are not 0.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use upsweep::Dtype;
use upsweep::any::{
    AnyArray, AnyFunction, AnyFused, AnyNdView, AnyView, Binary, Definition, Op, Scalar, Term,
};

use crate::array::Array;
use crate::call::Call;
use crate::dtype::{ItemType, Kind, with_number};
use crate::error::raise;
use crate::memory::HostMemory;
use crate::operand::Operand;

/// The value that changes nothing when it is combined.
pub(crate) fn identity(op: Op, item: ItemType) -> Scalar {
    let dtype = item.dtype;
    if item.is_bool {
        return Scalar::new(u8::from(matches!(op, Op::And | Op::Min | Op::Product)));
    }
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

/// A mask that a caller gives: booleans where the items are.
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
    if mask.is_on_host() != items.is_on_host() {
        let (on_host, other) =
            if mask.is_on_host() { (name, items.name) } else { (items.name, name) };
        let text = format!("{on_host} is in host memory, and {other} on a GPU");
        return Err(PyValueError::new_err(text));
    }
    Ok(mask)
}

/// Items in C order.
enum Packed<'a> {
    InPlace(AnyView<'a>),
    Copied(AnyArray),
}

impl<'a> Packed<'a> {
    /// The items of an array as numbers of a type of their size. The array is repeated to have this shape.
    fn new(call: &Call, array: &'a Operand<'_>, shape: &[usize], dtype: Dtype) -> PyResult<Self> {
        if array.is_packed() && array.shape == shape {
            return Ok(Self::InPlace(array.flat()?.into_bits_of(dtype).map_err(raise)?));
        }
        let strides = broadcast(array, shape)?;
        let copied = call.packed(array.object.py(), array.view_at(shape, &strides)?)?;
        Ok(Self::Copied(copied.into_array().into_bits_of(dtype).map_err(raise)?))
    }

    fn view(&self) -> AnyView<'_> {
        match self {
            Self::InPlace(view) => *view,
            Self::Copied(array) => array.view(),
        }
    }
}

/// The type as which items are moved and looked at: floats as the integers of their bits.
fn bits_type(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::U16,
        Dtype::F32 => Dtype::U32,
        Dtype::F64 => Dtype::U64,
        other => other,
    }
}

/// An array of our own, where the items are, of what a function makes of others.
fn made(
    py: Python<'_>,
    call: &Call,
    like: &Operand<'_>,
    fused: &AnyFused<'_>,
    item: ItemType,
) -> PyResult<Array> {
    if like.is_on_host() {
        let mut memory = HostMemory::zeroed(like.len() * item.size())?;
        let output = memory.view_mut(fused.dtype())?;
        call.run_at_home(py, |device| fused.evaluate_into(device, output))?;
        return Ok(Array::on_host(memory, &like.shape, item));
    }
    let array = call.run_at_home(py, |device| fused.to_array(device))?;
    let array = array.into_bits_of(item.dtype).map_err(raise)?;
    Array::on_device(array, like.shape.clone(), item, call.home())
}

/// Does `work` with the items of an array as numbers of a type of their size, of which those that a mask leaves out are `value`.
pub(crate) fn with_filled<R>(
    call: &Call,
    (items, dtype): (&Operand<'_>, Dtype),
    mask: &Operand<'_>,
    value: Scalar,
    work: impl FnOnce(&AnyFused<'_>) -> PyResult<R>,
) -> PyResult<R> {
    // Values are identities, of which there are few.
    static KNOWN: Functions<(Dtype, u64)> = Mutex::new(Vec::new());
    let chosen = made_once(&KNOWN, (dtype, value.word()), |definition| {
        let (item, flag) = (definition.argument(dtype)?, definition.argument(Dtype::U8)?);
        let zero = definition.constant(Dtype::U8.into(), 0);
        let is_kept = definition.binary(Binary::Unequal, flag, zero)?;
        let value = definition.constant(dtype.into(), value.word());
        definition.select(is_kept, item, value)
    })?;
    let packed = Packed::new(call, items, &items.shape, dtype)?;
    let flags = Packed::new(call, mask, &items.shape, Dtype::U8)?;
    work(&chosen.of([packed.view(), flags.view()]).map_err(raise)?)
}

/// Functions that are made for each key once: what devices make of them is kept with them.
type Functions<K> = Mutex<Vec<(K, AnyFunction)>>;

fn made_once<K: PartialEq>(
    known: &Functions<K>,
    key: K,
    make: impl FnOnce(&mut Definition) -> upsweep::Result<Term>,
) -> PyResult<AnyFunction> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, function)) = known.iter().find(|(of, _)| *of == key) {
        return Ok(function.clone());
    }
    let mut definition = Definition::default();
    let made = make(&mut definition).and_then(|item| AnyFunction::new(definition, item));
    let function = made.map_err(raise)?;
    known.push((key, function.clone()));
    Ok(function)
}

/// A copy of an array in which the items that a mask leaves out are `value`.
pub(crate) fn filled(
    call: &Call,
    items: &Operand<'_>,
    mask: &Operand<'_>,
    value: Scalar,
) -> PyResult<Array> {
    let py = items.object.py();
    let read = (items, bits_type(items.item.dtype));
    with_filled(call, read, mask, value, |fused| made(py, call, items, fused, items.item))
}

/// Which items a mask keeps, to be counted in a type: an array of the items' shape, of bytes or of that type.
pub(crate) fn broadcast_flags(
    call: &Call,
    items: &Operand<'_>,
    mask: &Operand<'_>,
    counted: Dtype,
) -> PyResult<Array> {
    // Bytes have a sum in 64 bits, and no shorter one.
    let dtype = if counted == Dtype::U64 { Dtype::U8 } else { counted };
    static KNOWN: Functions<Dtype> = Mutex::new(Vec::new());
    let flag = made_once(&KNOWN, dtype, |definition| {
        let flag = definition.argument(Dtype::U8)?;
        definition.cast(flag, dtype)
    })?;
    let flags = Packed::new(call, mask, &items.shape, Dtype::U8)?;
    let fused = flag.of([flags.view()]).map_err(raise)?;
    made(items.object.py(), call, items, &fused, ItemType::of(dtype))
}

/// Sums of items divided by how many there were: bytes of numbers of these types.
pub(crate) fn means((dtype, sums): (Dtype, &[u8]), (counted, counts): (Dtype, &[u8])) -> Vec<u8> {
    let numbers = |dtype: Dtype, bytes: &'_ [u8]| -> Vec<f64> {
        let items = bytes.chunks_exact(dtype.size());
        items.map(|bytes| Scalar::from_bytes(dtype, bytes).map_or(0.0, |n| n.to_f64())).collect()
    };
    let mean = |(sum, count): (f64, f64)| match dtype {
        // Both are `f32`, and so is the quotient.
        Dtype::F32 => (sum as f32 / count as f32).to_ne_bytes().to_vec(),
        _ => (sum / count).to_ne_bytes().to_vec(),
    };
    numbers(dtype, sums).into_iter().zip(numbers(counted, counts)).flat_map(mean).collect()
}

/// An array of our own with these bytes, where another array is.
pub(crate) fn placed(
    call: &Call,
    like: &Operand<'_>,
    bytes: &[u8],
    shape: &[usize],
    item: ItemType,
) -> PyResult<Array> {
    if like.is_on_host() {
        let mut memory = HostMemory::zeroed(bytes.len())?;
        memory.bytes_mut().copy_from_slice(bytes);
        return Ok(Array::on_host(memory, shape, item));
    }
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    let aligned = &mut bytemuck::cast_slice_mut(&mut words)[..bytes.len()];
    aligned.copy_from_slice(bytes);
    let items = AnyView::from_bytes(item.dtype, aligned).map_err(raise)?;
    let array = AnyArray::from_view(call.home(), items).map_err(raise)?;
    Array::on_device(array, shape.to_vec(), item, call.home())
}

/// Does `work` with bytes for the items of an array, which are 1 where these are not 0.
pub(crate) fn with_flags<R>(
    call: &Call,
    items: &Operand<'_>,
    work: impl FnOnce(&AnyFused<'_>) -> PyResult<R>,
) -> PyResult<R> {
    static KNOWN: Functions<(Dtype, bool)> = Mutex::new(Vec::new());
    let (dtype, is_float) = (bits_type(items.item.dtype), items.item.dtype.is_float());
    let flag = made_once(&KNOWN, (dtype, is_float), |definition| {
        let item = definition.argument(dtype)?;
        // By bits, as some GPUs take the smallest floats for 0. −0 is 0 too: the sign does not count.
        let bits = definition.constant(dtype.into(), u64::MAX >> (65 - 8 * dtype.size()));
        let number = if is_float { definition.binary(Binary::BitAnd, item, bits)? } else { item };
        let zero = definition.constant(dtype.into(), 0);
        let is_set = definition.binary(Binary::Unequal, number, zero)?;
        definition.cast(is_set, Dtype::U8)
    })?;
    let packed = Packed::new(call, items, &items.shape, dtype)?;
    work(&flag.of([packed.view()]).map_err(raise)?)
}

/// Which items are not 0, as booleans.
pub(crate) fn nonzero_flags(call: &Call, items: &Operand<'_>) -> PyResult<Array> {
    let py = items.object.py();
    with_flags(call, items, |fused| made(py, call, items, fused, ItemType::BOOL))
}

impl Operand<'_> {
    /// The array at other strides and of another shape, which are within it.
    fn view_at(&self, shape: &[usize], strides: &[isize]) -> PyResult<AnyNdView<'_>> {
        let (items, start) = self.items(self.item.dtype)?;
        AnyNdView::strided(items, shape, strides, start).map_err(raise)
    }
}
