//! Devices by their ids, and what can be said of them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::CudaStream;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use upsweep::{CpuOptions, Device, Limits};

use crate::error::raise;
use crate::memory;

/// How many processes that fork from one another have threads of their own. Those behind them share the last place.
const GENERATIONS: usize = 16;

/// How often this process was forked after its first call: the threads of a CPU, and what a GPU's driver has, do not come along.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// Whether there was a call.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// The device of calls on arrays in host memory that name none.
pub(crate) fn auto() -> &'static Device {
    static DEVICES: [OnceLock<Device>; GENERATIONS] = [const { OnceLock::new() }; GENERATIONS];
    IS_USED.store(true, Ordering::Relaxed);
    let generation = GENERATION.load(Ordering::Relaxed);
    let make = || match generation {
        0 => Device::auto(),
        _ => {
            // Asked for by number, the threads are new ones.
            let threads = Some(Device::cpu().limits().compute_units);
            let options = CpuOptions { threads, ..CpuOptions::default() };
            Device::cpu_with(options).unwrap_or_else(|_| Device::cpu())
        }
    };
    DEVICES[generation.min(GENERATIONS - 1)].get_or_init(make)
}

/// The device with this id. Each is opened once: what was measured on it is looked for in files then.
pub(crate) fn open(id: &str) -> PyResult<Device> {
    static OPENED: Mutex<Vec<Device>> = Mutex::new(Vec::new());
    if GENERATION.load(Ordering::Relaxed) == 0 {
        IS_USED.store(true, Ordering::Relaxed);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = opened.iter().find(|device| device.id() == id) {
            return Ok(device.clone());
        }
        let device = Device::open(id).map_err(raise)?;
        // Where calls go that leave it to the library is no device with that name.
        if device.id() == id && id != "auto" {
            opened.push(device.clone());
        }
        return Ok(device);
    }
    if matches!(id, "cpu" | "auto") {
        return Ok(auto().clone());
    }
    let text = format!(
        "device '{id}' is not for a process that was forked after its parent's first call; multiprocessing's 'spawn' starts one that has it"
    );
    Err(PyRuntimeError::new_err(text))
}

/// Called in a process that was forked.
#[pyfunction]
pub(crate) fn _after_fork() {
    if IS_USED.swap(false, Ordering::Relaxed) {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
}

/// The GPU of CUDA's with this number.
pub(crate) fn cuda(number: usize) -> PyResult<Device> {
    open(&format!("cuda:{number}"))
}

/// A stream of a GPU of CUDA's by its handle, of which 0 is the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) number: usize,
    pub(crate) handle: usize,
}

/// Streams of others that devices work in at most. Programs have few.
const MOST_STREAMS: usize = 32;

impl Stream {
    /// The one that calls run in if no library of arrays has one.
    pub(crate) fn own(number: usize) -> PyResult<Self> {
        let device = cuda(number)?;
        let handle = device.cuda_stream().map_or(0, |stream| stream.cu_stream().addr());
        Ok(Self { number, handle })
    }

    /// The stream of an object with `__cuda_stream__`, which gives a version and the handle.
    pub(crate) fn of_object(object: &Bound<'_, PyAny>, number: usize) -> PyResult<Self> {
        let (version, handle): (u32, usize) =
            object.call_method0(intern!(object.py(), "__cuda_stream__"))?.extract()?;
        if version != 0 {
            let text = format!(
                "__cuda_stream__ of version {version} is none that is known here, which is 0"
            );
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { number, handle })
    }

    /// As DLPack numbers it: 1 is the default stream.
    pub(crate) fn in_dlpack(self) -> usize {
        self.handle.max(1)
    }

    /// The device whose calls run in it; each is made once, with the kernels that calls have loaded. None if many streams have one already: a
    /// device is never given up, since its stream may be gone by then.
    pub(crate) fn device(self) -> PyResult<Option<Device>> {
        static MADE: Mutex<Vec<(Stream, Device)>> = Mutex::new(Vec::new());
        if self == Self::own(self.number)? {
            return cuda(self.number).map(Some);
        }
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, device)) = made.iter().find(|(stream, _)| *stream == self) {
            return Ok(Some(device.clone()));
        }
        let Some(stream) = self.of_driver()?.filter(|_| made.len() < MOST_STREAMS) else {
            return Ok(None);
        };
        let device = Device::from_cuda_stream(stream).map_err(raise)?;
        made.push((self, device.clone()));
        Ok(Some(device))
    }

    /// The stream as the driver's library has it.
    fn of_driver(self) -> PyResult<Option<Arc<CudaStream>>> {
        let whole = cuda(self.number)?;
        Ok(whole.cuda_stream().map(|own| memory::stream(own, self.handle)))
    }

    /// Makes what is begun in it from now on follow what was begun in another. Waits for nothing.
    pub(crate) fn follow(self, other: Self) -> PyResult<()> {
        if self == other {
            return Ok(());
        }
        match (self.of_driver()?, other.of_driver()?) {
            (Some(stream), Some(before)) => {
                stream.join(&before).map_err(|error| PyRuntimeError::new_err(error.to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// The number of the GPU of CUDA's in whose memory an address is.
pub(crate) fn cuda_of_pointer(address: usize) -> PyResult<usize> {
    // That there is a driver.
    cuda(0)?;
    // Arrays without items have no address.
    if address == 0 {
        return Ok(0);
    }
    memory::cuda_of_pointer(address).ok_or_else(|| {
        PyValueError::new_err(format!("{address:#x} is no address of a GPU of CUDA's"))
    })
}

/// Waits for everything that was begun on a GPU of CUDA's, in whatever stream.
pub(crate) fn wait_for_all(py: Python<'_>, number: usize) -> PyResult<()> {
    let device = cuda(number)?;
    let waited = py.detach(|| match device.cuda_stream() {
        Some(stream) => stream.context().synchronize().map_err(|error| error.to_string()),
        None => Ok(()),
    });
    waited.map_err(PyRuntimeError::new_err)
}

/// A device that is here.
///
/// Attributes
/// ----------
/// id : str
///     What ``device=`` takes: ``"cpu"``, ``"cuda:0"``, ``"wgpu:0"``.
/// name : str
///     The name that its maker gave it.
/// interface, driver : str
///     How it is reached.
/// compute_units : int
///     Hardware threads of a CPU, multiprocessors of a GPU.
/// memory_bytes : int or None
///     Its memory, where that is known.
/// int64, float64 : bool
///     Whether it has integers and floats of 64 bits.
#[pyclass(frozen, module = "upsweep", name = "DeviceInfo")]
pub(crate) struct DeviceInfo {
    id: String,
    limits: Limits,
}

#[pymethods]
impl DeviceInfo {
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    #[getter]
    fn name(&self) -> &str {
        &self.limits.name
    }

    #[getter]
    fn interface(&self) -> &str {
        &self.limits.interface
    }

    #[getter]
    fn driver(&self) -> &str {
        &self.limits.driver
    }

    #[getter]
    fn compute_units(&self) -> usize {
        self.limits.compute_units
    }

    #[getter]
    fn memory_bytes(&self) -> Option<u64> {
        self.limits.memory_bytes
    }

    #[getter]
    fn int64(&self) -> bool {
        self.limits.int64
    }

    #[getter]
    fn float64(&self) -> bool {
        self.limits.float64
    }

    fn __repr__(&self) -> String {
        format!("DeviceInfo(id='{}', name='{}')", self.id, self.limits.name)
    }
}

/// Every device that is here.
///
/// Returns
/// -------
/// list of DeviceInfo
///     The CPU first.
///
/// Examples
/// --------
/// >>> import upsweep
/// >>> upsweep.devices()[0].id
/// 'cpu'
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<DeviceInfo> {
    let list = py.detach(Device::list);
    let info = |found: upsweep::DeviceInfo| DeviceInfo { id: found.id, limits: found.limits };
    list.usable.into_iter().map(info).collect()
}

/// Why there is no device of a kind.
///
/// Returns
/// -------
/// dict of str to str
///     For each kind without a device, ``"cuda"`` or ``"wgpu"``, the reason.
///
/// Examples
/// --------
/// >>> import upsweep
/// >>> set(upsweep.absent()) <= {"cuda", "wgpu"}
/// True
#[pyfunction]
pub(crate) fn absent(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let list = py.detach(Device::list);
    let reasons = PyDict::new(py);
    for missing in list.absent {
        reasons.set_item(missing.backend, missing.reason)?;
    }
    Ok(reasons)
}
