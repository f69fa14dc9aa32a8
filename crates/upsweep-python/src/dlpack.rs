//! DLPack: the structures of its ABI, tensors that others lend, and tensors that we lend.
//!
//! A producer puts a pointer to a managed tensor into a capsule. Whoever takes it renames the capsule, and calls the tensor's deleter when
//! he is done; a capsule that nobody took calls it itself. Versioned tensors (DLPack 1) say whether they may be written.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{ffi, intern};

use crate::array::{Array, Memory};
use crate::devices::Stream;
use crate::dtype::{ItemType, Kind};
use crate::library::Library;
use crate::memory::{Range, Space};

const PLAIN: &CStr = c"dltensor";
const PLAIN_USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

/// The version of the ABI that is written here; a later minor one changes no structure.
const VERSION: (u32, u32) = (1, 0);

const READ_ONLY: u64 = 1;

/// Devices, as DLPack numbers them.
const CPU: i32 = 1;
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
const CUDA_MANAGED: i32 = 13;

#[repr(C)]
#[derive(Clone, Copy)]
struct DlDevice {
    kind: i32,
    number: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DlType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    dimensions: i32,
    dtype: DlType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Plain {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// A tensor that was taken out of its capsule, and is given back when this is dropped.
pub(crate) enum ManagedTensor {
    Plain(NonNull<c_void>),
    Versioned(NonNull<c_void>),
}

impl Drop for ManagedTensor {
    fn drop(&mut self) {
        // SAFETY: the pointer was taken out of a capsule of this kind, once, and its deleter is called once, attached to Python as deleters
        // of Python's libraries expect.
        unsafe {
            match self {
                Self::Plain(pointer) => {
                    let pointer: *mut Plain = pointer.as_ptr().cast();
                    if let Some(delete) = (*pointer).deleter {
                        delete(pointer);
                    }
                }
                Self::Versioned(pointer) => {
                    let pointer: *mut Versioned = pointer.as_ptr().cast();
                    if let Some(delete) = (*pointer).deleter {
                        delete(pointer);
                    }
                }
            }
        }
    }
}

/// What a tensor says of itself.
pub(crate) struct Tensor {
    pub(crate) managed: ManagedTensor,
    pub(crate) item: ItemType,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    pub(crate) space: Space,
    pub(crate) is_writable: bool,
    /// The address of the item whose indices are 0.
    pub(crate) pointer: *mut u8,
}

/// Asks an object for its tensor. One of a GPU is ready for the stream that calls on its library's arrays run in.
pub(crate) fn tensor(object: &Bound<'_, PyAny>, name: &str, library: Library) -> PyResult<Tensor> {
    let py = object.py();
    let (kind, number): (i32, i32) =
        object.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
    let space = match kind {
        CPU | CUDA_HOST => Space::Host,
        CUDA | CUDA_MANAGED => Space::Cuda(usize::try_from(number).unwrap_or(0)),
        _ => {
            let text = format!(
                "{name} is on device ({kind}, {number}) of DLPack, not on a CPU or a GPU of CUDA's"
            );
            return Err(PyValueError::new_err(text));
        }
    };
    let options = PyDict::new(py);
    if let Space::Cuda(number) = space {
        let stream = library.stream(py, number)?;
        let stream = stream.map_or_else(|| Stream::own(number), Ok)?;
        options.set_item(intern!(py, "stream"), stream.in_dlpack())?;
    }
    let versioned = options.copy()?;
    versioned.set_item(intern!(py, "max_version"), VERSION)?;
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let capsule = match method.call((), Some(&versioned)) {
        // Producers from before DLPack 1 know no version.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => method.call((), Some(&options))?,
        other => other?,
    };
    let capsule = capsule.cast::<PyCapsule>()?;
    // Without a GIL another thread that was given the same capsule could take the tensor a second time between the look and the renaming.
    let managed = with_critical_section(capsule, || take_from_capsule(capsule, name))?;
    // SAFETY: the producer wrote the tensor, which is there until its deleter is called.
    let (tensor, is_writable) = unsafe {
        match &managed {
            ManagedTensor::Plain(pointer) => (&pointer.cast::<Plain>().as_ref().tensor, true),
            ManagedTensor::Versioned(pointer) => {
                let found = pointer.cast::<Versioned>().as_ref();
                if found.major != VERSION.0 {
                    let text = format!(
                        "{name} is a tensor of DLPack {}.{}, not {}",
                        found.major, found.minor, VERSION.0
                    );
                    return Err(PyBufferError::new_err(text));
                }
                (&found.tensor, found.flags & READ_ONLY == 0)
            }
        }
    };
    let DlType { code, bits, lanes } = tensor.dtype;
    let kind = match code {
        0 => Some(Kind::Signed),
        1 => Some(Kind::Unsigned),
        2 => Some(Kind::Float),
        4 => Some(Kind::Brain),
        6 => Some(Kind::Bool),
        _ => None,
    };
    let item = kind.filter(|_| lanes == 1 && bits % 8 == 0);
    let item = item.and_then(|kind| ItemType::of_kind(kind, usize::from(bits / 8)));
    let item = item.ok_or_else(|| {
        let text = format!(
            "{name} has items of type ({code}, {bits}, {lanes}) of DLPack, which is no number here"
        );
        PyTypeError::new_err(text)
    })?;
    let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
    let (shape, strides) = if dimensions == 0 {
        (Vec::new(), Vec::new())
    } else {
        // SAFETY: a tensor has as many lengths, and strides unless the pointer is null.
        let (shape, strides) = unsafe {
            let shape = core::slice::from_raw_parts(tensor.shape, dimensions);
            let strides = (!tensor.strides.is_null())
                .then(|| core::slice::from_raw_parts(tensor.strides, dimensions));
            (shape, strides)
        };
        let shape: Vec<usize> =
            shape.iter().map(|&len| usize::try_from(len).unwrap_or(0)).collect();
        let strides = match strides {
            Some(strides) => strides.iter().map(|&stride| in_items(stride, item.size())).collect(),
            None => packed_strides(&shape),
        };
        (shape, strides)
    };
    let offset = usize::try_from(tensor.byte_offset).unwrap_or(0);
    let pointer = tensor.data.cast::<u8>().wrapping_add(offset);
    Ok(Tensor { item, shape, strides, space, is_writable, pointer, managed })
}

/// A stride in items of so many bytes. CuPy 14 divides its strides in bytes as if they had no sign: what is left of a negative one is more than an
/// address space has, and is that stride again when it is multiplied.
fn in_items(stride: i64, size: usize) -> isize {
    let size = size as i64;
    match stride.checked_mul(size) {
        Some(_) => stride as isize,
        None => (stride.wrapping_mul(size) / size) as isize,
    }
}

/// The strides of items in C order.
pub(crate) fn packed_strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1) as isize;
    }
    strides
}

/// Takes the tensor out of a capsule.
fn take_from_capsule(capsule: &Bound<'_, PyCapsule>, name: &str) -> PyResult<ManagedTensor> {
    // SAFETY: the calls look at the capsule's name, which decides what its pointer points to, and rename it, as DLPack says.
    unsafe {
        let raw = capsule.as_ptr();
        let (own, used) = if ffi::PyCapsule_IsValid(raw, VERSIONED.as_ptr()) == 1 {
            (VERSIONED, VERSIONED_USED)
        } else if ffi::PyCapsule_IsValid(raw, PLAIN.as_ptr()) == 1 {
            (PLAIN, PLAIN_USED)
        } else {
            let text = format!("{name} gave a capsule without a tensor of DLPack");
            return Err(PyBufferError::new_err(text));
        };
        let pointer = NonNull::new(ffi::PyCapsule_GetPointer(raw, own.as_ptr()));
        let pointer = pointer.ok_or_else(|| PyErr::fetch(capsule.py()))?;
        if ffi::PyCapsule_SetName(raw, used.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(if own == VERSIONED {
            ManagedTensor::Versioned(pointer)
        } else {
            ManagedTensor::Plain(pointer)
        })
    }
}

/// What a tensor of ours keeps until its deleter is called.
struct ExportContext {
    #[expect(dead_code, reason = "it is held, and not looked at")]
    memory: Arc<Memory>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl ExportContext {
    fn of(array: &Array) -> Box<Self> {
        let shape = array.shape();
        let shape64 = shape.iter().map(|&len| len as i64).collect();
        let strides = packed_strides(shape).into_iter().map(|stride| stride as i64).collect();
        Box::new(Self { memory: array.memory(), shape: shape64, strides })
    }

    fn tensor(&mut self, range: Range, item: ItemType) -> DlTensor {
        let (space, data) = range.place();
        let device = match space {
            Space::Host => DlDevice { kind: CPU, number: 0 },
            Space::Cuda(number) => DlDevice { kind: CUDA, number: number as i32 },
        };
        let code = match item.kind() {
            Kind::Signed => 0,
            Kind::Unsigned => 1,
            Kind::Float => 2,
            Kind::Brain => 4,
            Kind::Bool => 6,
        };
        DlTensor {
            data: data.cast(),
            device,
            dimensions: self.shape.len() as i32,
            dtype: DlType { code, bits: 8 * item.size() as u8, lanes: 1 },
            shape: self.shape.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            byte_offset: 0,
        }
    }
}

/// Drops what a tensor of ours has kept. Python is not needed for it: takers call deleters from any thread, without the GIL or with it, and
/// when Python has ended.
///
/// # Safety
/// `context` is that of a tensor made by [`export`], and was not given here before.
unsafe fn drop_context(context: *mut c_void) {
    // SAFETY: as promised.
    let exported: Box<ExportContext> = unsafe { Box::from_raw(context.cast()) };
    drop(exported);
}

unsafe extern "C" fn delete_plain(pointer: *mut Plain) {
    // SAFETY: a tensor of ours, which its taker deletes once.
    unsafe { drop_context(Box::from_raw(pointer).context) };
}

unsafe extern "C" fn delete_versioned(pointer: *mut Versioned) {
    // SAFETY: as above.
    unsafe { drop_context(Box::from_raw(pointer).context) };
}

/// Deletes the tensor of a capsule that nobody took.
unsafe extern "C" fn destroy_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: Python destroys a capsule of ours; its name says whether the tensor is there still, and of which kind it is.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) == 1 {
            delete_plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

/// A capsule with the tensor of an array of ours, for a taker that knows versions or not.
pub(crate) fn export<'py>(
    py: Python<'py>,
    array: &Array,
    range: Range,
    item: ItemType,
    is_versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let mut exported = ExportContext::of(array);
    let tensor = exported.tensor(range, item);
    let context = Box::into_raw(exported).cast();
    let (pointer, name): (*mut c_void, _) = if is_versioned {
        let (major, minor) = VERSION;
        let deleter = Some(delete_versioned as unsafe extern "C" fn(*mut Versioned));
        let managed = Versioned { major, minor, context, deleter, flags: 0, tensor };
        (Box::into_raw(Box::new(managed)).cast(), VERSIONED)
    } else {
        let deleter = Some(delete_plain as unsafe extern "C" fn(*mut Plain));
        let managed = Plain { tensor, context, deleter };
        (Box::into_raw(Box::new(managed)).cast(), PLAIN)
    };
    // SAFETY: the capsule has the pointer and the name that `destroy_capsule` and takers expect; without a capsule the tensor is deleted here.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(destroy_capsule));
        if capsule.is_null() {
            if is_versioned {
                delete_versioned(pointer.cast());
            } else {
                delete_plain(pointer.cast());
            }
        }
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// The device of an array of ours, as DLPack numbers it.
pub(crate) fn device(space: Space) -> (i32, i32) {
    match space {
        Space::Host => (CPU, 0),
        Space::Cuda(number) => (CUDA, number as i32),
    }
}
