//! The energy counters of NVIDIA's GPUs, by NVML, which comes with the driver and is looked for when it is asked for.

use upsweep::Device;

use super::nvml_library::Library;

/// A GPU's counter.
pub(crate) struct Nvml {
    library: Library,
    /// The GPU's number in the library.
    index: u32,
}

impl Nvml {
    /// The counter of this GPU: of CUDA's by its identity, of others by their name, if no two have it.
    pub(super) fn open(device: &Device) -> Result<Self, String> {
        let library = Library::open().map_err(|error| format!("there is no NVML: {error}"))?;
        let failed = |error: String| format!("NVML says: {error}");
        let count = library.device_count().map_err(failed)?;
        let identity = identity(device);
        let name = &device.limits().name;
        let mut found = Vec::new();
        for index in 0..count {
            let gpu = library.device_by_index(index).map_err(failed)?;
            let is_it = match &identity {
                Some(identity) => gpu.uuid().is_ok_and(|found| found == *identity),
                None => gpu.name().is_ok_and(|found| found == *name),
            };
            if is_it {
                found.push(index);
            }
        }
        let index = match found[..] {
            [index] => index,
            [] => return Err(format!("NVML has no '{name}'")),
            _ => return Err(format!("NVML has {} GPUs called '{name}'", found.len())),
        };
        let mut nvml = Self { library, index };
        nvml.joules()?;
        Ok(nvml)
    }

    /// Joules since the driver was loaded.
    pub(super) fn joules(&mut self) -> Result<f64, String> {
        let gpu = self.library.device_by_index(self.index);
        let millijoules = gpu.and_then(|gpu| gpu.total_energy_consumption());
        millijoules.map(|energy| energy as f64 / 1e3).map_err(|error| format!("NVML says: {error}"))
    }
}

/// What NVML calls a GPU of CUDA's.
fn identity(device: &Device) -> Option<String> {
    let uuid = device.cuda_stream()?.context().uuid().ok()?;
    let hex: String = uuid.bytes.iter().map(|&byte| format!("{:02x}", byte as u8)).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(format!("GPU-{}", parts.join("-")))
}
