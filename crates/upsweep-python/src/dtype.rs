//! Types of items under Python's names, and numbers as Python's objects.

use half::{bf16, f16};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyType};
use upsweep::Dtype;
use upsweep::any::Scalar;

/// Calls `$body` with `$type` standing for the Rust type of a [`Dtype`].
macro_rules! with_number {
    ($dtype:expr, $type:ident => $body:expr) => {
        $crate::dtype::with_number!(@arms $dtype, $type => $body,
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64,
            F16 ::half::f16, Bf16 ::half::bf16, F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $type:ident => $body:expr, $($variant:ident $rust:ty),*) => {
        match $dtype {
            $(::upsweep::Dtype::$variant => {
                type $type = $rust;
                $body
            })*
            other => unreachable!("{other} has no Rust type"),
        }
    };
}
pub(crate) use with_number;

/// The type of an array's items. Booleans are bytes that are 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemType {
    pub(crate) dtype: Dtype,
    pub(crate) is_bool: bool,
}

/// How many types there are.
pub(crate) const TYPES: usize = 13;

/// Every type with the name that numpy, torch and the array API have for it.
const NAMES: [(&str, ItemType); TYPES] = [
    ("bool", ItemType::BOOL),
    ("uint8", ItemType::of(Dtype::U8)),
    ("int8", ItemType::of(Dtype::I8)),
    ("uint16", ItemType::of(Dtype::U16)),
    ("int16", ItemType::of(Dtype::I16)),
    ("uint32", ItemType::of(Dtype::U32)),
    ("int32", ItemType::of(Dtype::I32)),
    ("uint64", ItemType::of(Dtype::U64)),
    ("int64", ItemType::INT64),
    ("float16", ItemType::of(Dtype::F16)),
    ("bfloat16", ItemType::BFLOAT16),
    ("float32", ItemType::of(Dtype::F32)),
    ("float64", ItemType::of(Dtype::F64)),
];

impl ItemType {
    /// Every type.
    pub(crate) const ALL: [Self; TYPES] = {
        let mut all = [Self::BOOL; TYPES];
        let mut number = 0;
        while number < TYPES {
            all[number] = NAMES[number].1;
            number += 1;
        }
        all
    };
    pub(crate) const BOOL: Self = Self { dtype: Dtype::U8, is_bool: true };
    pub(crate) const INT64: Self = Self::of(Dtype::I64);
    pub(crate) const BFLOAT16: Self = Self::of(Dtype::Bf16);

    /// Numbers of this type.
    pub(crate) const fn of(dtype: Dtype) -> Self {
        Self { dtype, is_bool: false }
    }

    /// The number of the type among all.
    pub(crate) fn index(self) -> usize {
        NAMES.iter().position(|(_, known)| *known == self).unwrap_or(0)
    }

    /// The name of the type.
    pub(crate) fn name(self) -> &'static str {
        NAMES[self.index()].0
    }

    /// The type with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = match name {
            "bool_" => "bool",
            "half" => "float16",
            name => name,
        };
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, item)| *item)
    }

    /// Bytes of an item.
    pub(crate) fn size(self) -> usize {
        self.dtype.size()
    }

    /// The type with items of this kind and size.
    pub(crate) fn of_kind(kind: Kind, size: usize) -> Option<Self> {
        let dtype = match (kind, size) {
            (Kind::Bool, 1) => return Some(Self::BOOL),
            (Kind::Unsigned, 1) => Dtype::U8,
            (Kind::Unsigned, 2) => Dtype::U16,
            (Kind::Unsigned, 4) => Dtype::U32,
            (Kind::Unsigned, 8) => Dtype::U64,
            (Kind::Signed, 1) => Dtype::I8,
            (Kind::Signed, 2) => Dtype::I16,
            (Kind::Signed, 4) => Dtype::I32,
            (Kind::Signed, 8) => Dtype::I64,
            (Kind::Float, 2) => Dtype::F16,
            (Kind::Float, 4) => Dtype::F32,
            (Kind::Float, 8) => Dtype::F64,
            (Kind::Brain, 2) => Dtype::Bf16,
            _ => return None,
        };
        Some(Self::of(dtype))
    }

    /// The type that a format of the buffer protocol says, of items of so many bytes.
    pub(crate) fn of_format(format: &[u8], size: usize) -> Option<Self> {
        let native: &[u8] = if cfg!(target_endian = "little") { b"@=<|^" } else { b"@=>!|^" };
        let code = match format {
            [code] => code,
            [order, code] if native.contains(order) || size == 1 => code,
            _ => return None,
        };
        let kind = match code {
            b'?' => Kind::Bool,
            b'B' | b'H' | b'I' | b'L' | b'Q' | b'N' => Kind::Unsigned,
            b'b' | b'h' | b'i' | b'l' | b'q' | b'n' => Kind::Signed,
            b'e' | b'f' | b'd' => Kind::Float,
            _ => return None,
        };
        Self::of_kind(kind, size)
    }

    /// The format of the buffer protocol; none for `bfloat16`, which it does not know.
    pub(crate) fn format(self) -> Option<&'static core::ffi::CStr> {
        Some(match self.dtype {
            Dtype::U8 if self.is_bool => c"?",
            Dtype::U8 => c"B",
            Dtype::I8 => c"b",
            Dtype::U16 => c"H",
            Dtype::I16 => c"h",
            Dtype::U32 => c"I",
            Dtype::I32 => c"i",
            Dtype::U64 => c"Q",
            Dtype::I64 => c"q",
            Dtype::F16 => c"e",
            Dtype::F32 => c"f",
            Dtype::F64 => c"d",
            _ => return None,
        })
    }

    /// The type as `__array_interface__` spells it; `bfloat16` as the bytes that it is to numpy.
    pub(crate) fn typestr(self) -> String {
        let kind = match self.kind() {
            Kind::Bool => 'b',
            Kind::Unsigned => 'u',
            Kind::Signed => 'i',
            Kind::Float => 'f',
            Kind::Brain => 'V',
        };
        let order = match (self.size(), cfg!(target_endian = "little")) {
            (1, _) => '|',
            (_, true) => '<',
            (_, false) => '>',
        };
        format!("{order}{kind}{}", self.size())
    }

    /// What kind of numbers they are.
    pub(crate) fn kind(self) -> Kind {
        match self.dtype {
            _ if self.is_bool => Kind::Bool,
            Dtype::Bf16 => Kind::Brain,
            dtype if dtype.is_float() => Kind::Float,
            dtype if dtype.is_signed_integer() => Kind::Signed,
            _ => Kind::Unsigned,
        }
    }

    /// The type that `dtype=` names: a name, a Python type, or a type of numpy, `ml_dtypes`, torch or JAX.
    pub(crate) fn parse(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let found = if let Ok(name) = object.cast::<PyString>() {
            Self::named(&name.to_cow()?)
        } else if object.is(py.get_type::<PyBool>()) {
            Some(Self::BOOL)
        } else if object.is(py.get_type::<PyInt>()) {
            Some(Self::INT64)
        } else if object.is(py.get_type::<PyFloat>()) {
            Some(Self::of(Dtype::F64))
        } else if let Ok(class) = object.cast::<PyType>() {
            Self::named(&class.name()?.to_cow()?)
        } else if let Ok(name) = object.getattr("name") {
            // `numpy.dtype`, which may be of the other order of bytes.
            let is_native =
                object.getattr("isnative").is_ok_and(|native| native.is_truthy().unwrap_or(false));
            name.extract::<String>().ok().filter(|_| is_native).and_then(|name| Self::named(&name))
        } else {
            let text = object.str()?.to_cow()?.into_owned();
            Self::named(text.rsplit('.').next().unwrap_or_default())
        };
        found.ok_or_else(|| {
            let known = NAMES.map(|(name, _)| name).join(" ");
            let given = object.str().map_or_else(|_| String::new(), |text| text.to_string());
            PyTypeError::new_err(format!("dtype {given} is not known; known are {known}"))
        })
    }
}

/// What numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Unsigned,
    Signed,
    Float,
    /// `bfloat16`.
    Brain,
}

/// A Python number as one of a type.
///
/// # Errors
/// `OverflowError` for an integer that the type does not have, `TypeError` for what is no number of its kind.
pub(crate) fn scalar(object: &Bound<'_, PyAny>, dtype: Dtype) -> PyResult<Scalar> {
    Ok(match dtype {
        Dtype::U8 => Scalar::new(object.extract::<u8>()?),
        Dtype::I8 => Scalar::new(object.extract::<i8>()?),
        Dtype::U16 => Scalar::new(object.extract::<u16>()?),
        Dtype::I16 => Scalar::new(object.extract::<i16>()?),
        Dtype::U32 => Scalar::new(object.extract::<u32>()?),
        Dtype::I32 => Scalar::new(object.extract::<i32>()?),
        Dtype::U64 => Scalar::new(object.extract::<u64>()?),
        Dtype::I64 => Scalar::new(object.extract::<i64>()?),
        Dtype::F16 => Scalar::new(f16::from_f64(object.extract()?)),
        Dtype::Bf16 => Scalar::new(bf16::from_f64(object.extract()?)),
        Dtype::F32 => Scalar::new(object.extract::<f64>()? as f32),
        _ => Scalar::new(object.extract::<f64>()?),
    })
}

/// A number as Python's `bool`, `int` or `float`.
pub(crate) fn number<'py>(
    py: Python<'py>,
    value: Scalar,
    is_bool: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if is_bool {
        let is_true = value.bytes().iter().any(|byte| *byte != 0);
        return Ok(PyBool::new(py, is_true).to_owned().into_any());
    }
    let unsigned = value.get::<u8>().map(u64::from);
    let unsigned = unsigned.or_else(|| value.get::<u16>().map(u64::from));
    let unsigned = unsigned.or_else(|| value.get::<u32>().map(u64::from));
    if let Some(number) = unsigned.or_else(|| value.get::<u64>()) {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    let signed = value.get::<i8>().map(i64::from);
    let signed = signed.or_else(|| value.get::<i16>().map(i64::from));
    let signed = signed.or_else(|| value.get::<i32>().map(i64::from));
    if let Some(number) = signed.or_else(|| value.get::<i64>()) {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    Ok(value.to_f64().into_pyobject(py)?.into_any())
}

/// A short float as which a number is stored, or the number if it has another type.
pub(crate) fn shortened(value: Scalar, dtype: Dtype) -> Scalar {
    match (value.get::<f32>(), dtype) {
        (Some(value), Dtype::F16) => Scalar::new(f16::from_f32(value)),
        (Some(value), Dtype::Bf16) => Scalar::new(bf16::from_f32(value)),
        _ => value,
    }
}
