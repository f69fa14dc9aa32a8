//! CUDA's driver: whether it is there, and what its errors mean.

use core::ffi::c_void;
use std::sync::OnceLock;

use cudarc::driver::{DriverError, result, sys};

/// Whether the driver is there and works. Asked once, before anything else of it is called: its functions are looked
/// for when they are called first, and without the library that would be a panic.
pub(crate) fn ready() -> Result<(), String> {
    static READY: OnceLock<Result<(), String>> = OnceLock::new();
    let start = || {
        // SAFETY: this loads the driver's library, whose initialisers do nothing to us.
        if !unsafe { sys::is_culib_present() } {
            return Err("NVIDIA's driver is not here: no libcuda.so.1 (nvcuda.dll)".to_owned());
        }
        result::init().map_err(describe)
    };
    READY.get_or_init(start).clone()
}

/// The newest CUDA that the driver runs, as 13000 for 13.0; 0 if it does not say.
pub(crate) fn version() -> i32 {
    let mut version = 0;
    // SAFETY: a place for one number.
    match unsafe { sys::cuDriverGetVersion(&mut version) } {
        sys::CUresult::CUDA_SUCCESS => version,
        _ => 0,
    }
}

/// Whether a launch can begin while the one before it runs: from compute capability 9.0 on, with a driver that captures such launches
/// into graphs too.
pub(crate) fn can_overlap(arch: u32, driver: i32) -> bool {
    arch >= 90 && driver >= 12_030
}

/// Launches a kernel, as many blocks in two dimensions, threads of each, and bytes of shared memory, which may begin while the launch
/// before it in its stream runs.
///
/// # Safety
/// Those of [`result::launch_kernel`]. The kernel waits for the one before by itself, and [`can_overlap`] says yes.
pub(crate) unsafe fn launch_overlapping(
    function: sys::CUfunction,
    [x, y, threads, shared_bytes]: [u32; 4],
    stream: sys::CUstream,
    arguments: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let mut attribute = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { pad: [0; 64] },
    };
    attribute.value.programmaticStreamSerializationAllowed = 1;
    let config = sys::CUlaunchConfig {
        gridDimX: x,
        gridDimY: y,
        gridDimZ: 1,
        blockDimX: threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: shared_bytes,
        hStream: stream,
        attrs: &raw mut attribute,
        numAttrs: 1,
    };
    // SAFETY: the caller's promises; one attribute, which outlives the call.
    unsafe {
        sys::cuLaunchKernelEx(
            &raw const config,
            function,
            arguments.as_mut_ptr(),
            core::ptr::null_mut(),
        )
    }
    .result()
}

/// A version as it is written: 13000 as `13.0`.
pub(crate) fn written(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// What an error means, with the driver's own name for it.
pub(crate) fn describe(error: DriverError) -> String {
    use sys::CUresult as E;
    let text = match error.0 {
        E::CUDA_ERROR_NO_DEVICE => {
            "the driver sees no CUDA device; CUDA_VISIBLE_DEVICES may hide them"
        }
        E::CUDA_ERROR_INVALID_DEVICE => "there is no device of this number",
        E::CUDA_ERROR_STUB_LIBRARY => {
            "this is the stub of the driver that programs are linked with, not the driver"
        }
        E::CUDA_ERROR_DEVICE_UNAVAILABLE => {
            "the device is in use by another program that wants it for itself"
        }
        E::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            "the driver's library and its kernel module are of different versions; a restart helps after an update"
        }
        E::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "the compatibility driver does not know this device"
        }
        E::CUDA_ERROR_SYSTEM_NOT_READY => {
            "the system's fabric manager or power management is not ready"
        }
        E::CUDA_ERROR_OUT_OF_MEMORY => "the device's memory is used up",
        E::CUDA_ERROR_ILLEGAL_ADDRESS => "a kernel read or wrote where nothing is",
        E::CUDA_ERROR_MISALIGNED_ADDRESS => {
            "a kernel read or wrote at an address that is not a multiple of the width"
        }
        E::CUDA_ERROR_LAUNCH_TIMEOUT => "a kernel took longer than the system allows",
        E::CUDA_ERROR_ECC_UNCORRECTABLE => "the device's memory is faulty",
        E::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => {
            "a kernel needs more registers or memory than a block may have"
        }
        E::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => "more blocks than the device holds at once",
        E::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED => {
            "a stream that is being captured cannot do this"
        }
        _ if refuses_image(error) => "the driver does not take the kernel",
        _ => "",
    };
    let name = error
        .error_name()
        .map_or(format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    match text {
        "" => match error.error_string() {
            Ok(said) => format!("{} ({name})", said.to_string_lossy()),
            Err(_) => name,
        },
        text => format!("{text} ({name})"),
    }
}

/// Whether the driver cannot read what the compiler made: mostly it is older than the compiler.
pub(crate) fn refuses_image(error: DriverError) -> bool {
    use sys::CUresult as E;
    matches!(
        error.0,
        E::CUDA_ERROR_INVALID_IMAGE
            | E::CUDA_ERROR_NO_BINARY_FOR_GPU
            | E::CUDA_ERROR_INVALID_SOURCE
            | E::CUDA_ERROR_INVALID_PTX
            | E::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | E::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
    )
}

/// Whether nothing can be done in the context any more.
pub(crate) fn is_final(error: DriverError) -> bool {
    use sys::CUresult as E;
    matches!(
        error.0,
        E::CUDA_ERROR_ECC_UNCORRECTABLE
            | E::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | E::CUDA_ERROR_ILLEGAL_ADDRESS
            | E::CUDA_ERROR_LAUNCH_TIMEOUT
            | E::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | E::CUDA_ERROR_ASSERT
            | E::CUDA_ERROR_HARDWARE_STACK_ERROR
            | E::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | E::CUDA_ERROR_MISALIGNED_ADDRESS
            | E::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | E::CUDA_ERROR_INVALID_PC
            | E::CUDA_ERROR_LAUNCH_FAILED
            | E::CUDA_ERROR_EXTERNAL_DEVICE
    )
}
