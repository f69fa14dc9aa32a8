//! The six functions of NVML that are called, made safe.
//!
//! They are declared here: bindings of all of NVML look up hundreds of functions, and compiling those takes longer than the rest of
//! this crate's dependencies.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;

use libloading::{Library as File, Symbol};

/// Under which name the driver brings it.
const FILE: &str = if cfg!(target_os = "linux") { "libnvidia-ml.so.1" } else { "nvml.dll" };

/// `nvmlReturn_t`, of which 0 is success.
type Code = c_int;
/// `nvmlDevice_t`, which points to something of the library's.
type Handle = *mut c_void;

type Call = unsafe extern "C" fn() -> Code;
type ErrorString = unsafe extern "C" fn(Code) -> *const c_char;
type DeviceGetCount = unsafe extern "C" fn(*mut c_uint) -> Code;
type DeviceGetHandle = unsafe extern "C" fn(c_uint, *mut Handle) -> Code;
type DeviceGetText = unsafe extern "C" fn(Handle, *mut c_char, c_uint) -> Code;
type DeviceGetEnergy = unsafe extern "C" fn(Handle, *mut c_ulonglong) -> Code;

/// Bytes of a name or an identity with its zero, at most (`NVML_DEVICE_NAME_V2_BUFFER_SIZE`, `NVML_DEVICE_UUID_V2_BUFFER_SIZE`).
const TEXT: usize = 96;

/// NVML, opened and initialised. It is shut down when this is dropped.
pub(super) struct Library {
    file: File,
}

/// A GPU of NVML's.
pub(super) struct Gpu<'a> {
    library: &'a Library,
    handle: Handle,
}

impl Library {
    /// Opens it, or says why that is not possible.
    pub(super) fn open() -> Result<Self, String> {
        // SAFETY: it is the driver's library, and loading it runs nothing that needs this program's care.
        let file = unsafe { File::new(FILE) }
            .map_err(|error| format!("a libloading error occurred: {error}"))?;
        // SAFETY: the function has this signature, and may be called at any time.
        let code = unsafe { symbol::<Call>(&file, c"nvmlInit_v2")?() };
        check(&file, code)?;
        Ok(Self { file })
    }

    /// How many GPUs it knows.
    pub(super) fn device_count(&self) -> Result<u32, String> {
        let mut count: c_uint = 0;
        // SAFETY: the function has this signature, and what it writes to outlives the call.
        let code =
            unsafe { symbol::<DeviceGetCount>(&self.file, c"nvmlDeviceGetCount_v2")?(&mut count) };
        check(&self.file, code)?;
        Ok(count)
    }

    /// The GPU of this number, which is below [`device_count`](Self::device_count).
    pub(super) fn device_by_index(&self, index: u32) -> Result<Gpu<'_>, String> {
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: the function has this signature and checks the number, and what it writes to outlives the call.
        let code = unsafe {
            let get = symbol::<DeviceGetHandle>(&self.file, c"nvmlDeviceGetHandleByIndex_v2")?;
            get(index, &mut handle)
        };
        check(&self.file, code)?;
        Ok(Gpu { library: self, handle })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the function has this signature; NVML is initialised, and not called afterwards. An error would change nothing.
        unsafe {
            if let Ok(shutdown) = symbol::<Call>(&self.file, c"nvmlShutdown") {
                shutdown();
            }
        }
    }
}

impl Gpu<'_> {
    /// What the product is called.
    pub(super) fn name(&self) -> Result<String, String> {
        self.text(c"nvmlDeviceGetName")
    }

    /// The identity of this one GPU.
    pub(super) fn uuid(&self) -> Result<String, String> {
        self.text(c"nvmlDeviceGetUUID")
    }

    /// Millijoules since the driver was loaded.
    pub(super) fn total_energy_consumption(&self) -> Result<u64, String> {
        let file = &self.library.file;
        let mut total: c_ulonglong = 0;
        // SAFETY: the function has this signature, the handle is the library's, and what is written to outlives the call.
        let code = unsafe {
            let get = symbol::<DeviceGetEnergy>(file, c"nvmlDeviceGetTotalEnergyConsumption")?;
            get(self.handle, &mut total)
        };
        check(file, code)?;
        Ok(total)
    }

    /// What a function of this name writes of the GPU.
    fn text(&self, function: &CStr) -> Result<String, String> {
        let file = &self.library.file;
        let mut buffer = [0u8; TEXT];
        // SAFETY: both functions have this signature, the handle is the library's, and the buffer is as long as is said.
        let code = unsafe {
            let get = symbol::<DeviceGetText>(file, function)?;
            get(self.handle, buffer.as_mut_ptr().cast(), TEXT as c_uint)
        };
        check(file, code)?;
        let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
        text.to_str()
            .map(str::to_owned)
            .map_err(|_| "could not interpret string as utf-8".to_owned())
    }
}

/// A function of the library, which an old driver may lack.
///
/// # Safety
/// `F` must be its signature.
unsafe fn symbol<'a, F>(file: &'a File, name: &CStr) -> Result<Symbol<'a, F>, String> {
    // SAFETY: the caller's promise.
    unsafe { file.get(name.to_bytes_with_nul()) }
        .map_err(|error| format!("function symbol failed to load: {error}"))
}

/// What NVML answered, in its own words.
fn check(file: &File, code: Code) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the function has this signature, and may be called at any time with any number; what it returns is null or a string that
    // stays as long as the library.
    let words = unsafe {
        symbol::<ErrorString>(file, c"nvmlErrorString").ok().and_then(|words| {
            let words = words(code);
            (!words.is_null()).then(|| CStr::from_ptr(words).to_string_lossy().into_owned())
        })
    };
    Err(words.unwrap_or_else(|| format!("error {code}")))
}
