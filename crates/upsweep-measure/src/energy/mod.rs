//! Energy of a call, by the counters of GPUs and CPUs.
//!
//! Counters are of whole devices: of a GPU with its memory (NVML), or of all packages of the machine's CPUs (RAPL). Other
//! programs' work is in them, and what the device draws when nobody works, which is said beside.

mod nvml;
mod nvml_library;
mod per_call;
mod powercap;

use std::path::Path;
use std::time::Duration;

use upsweep::Device;

use crate::log;

use nvml::Nvml;
pub use per_call::Energy;
use powercap::Powercap;

/// How long a GPU works for one number: its counter moves every 20 to 100 ms, so that an end that is off by one such step
/// is a tenth at most.
const GPU: Duration = Duration::from_secs(1);

/// A CPU's counter moves each millisecond.
const CPU: Duration = Duration::from_millis(200);

/// Work between two looks at the counter, at least: looking takes microseconds of its own.
const BATCH: f64 = 1e-3;

/// A device's counter.
pub(crate) enum Meter {
    // The library is a table of all its functions, of 12 KB.
    Nvml(Box<Nvml>),
    Powercap(Powercap),
}

impl Meter {
    /// The counter of a device, or why there is none.
    pub(crate) fn of(device: &Device) -> Result<Self, String> {
        if device.id() == "cpu" {
            return Powercap::open(Path::new(powercap::FOLDER)).map(Self::Powercap);
        }
        Nvml::open(device).map(|nvml| Self::Nvml(Box::new(nvml)))
    }

    fn joules(&mut self) -> Result<f64, String> {
        match self {
            Self::Nvml(nvml) => nvml.joules(),
            Self::Powercap(powercap) => powercap.joules(),
        }
    }
}

/// What one call on a device takes, each being about so many seconds. `work` does so many calls, and waits for them.
/// Nothing where no counter can be read; that was said by [`announce`].
pub(crate) fn of_call(
    device: &Device,
    seconds: f64,
    work: &mut dyn FnMut(u32) -> upsweep::Result<()>,
) -> Option<Energy> {
    let mut meter = Meter::of(device).ok()?;
    let least = if device.id() == "cpu" { CPU } else { GPU };
    let calls = (BATCH / seconds.max(1e-9)).ceil().clamp(1.0, 1e6) as u32;
    let mut work = || work(calls).map(|()| calls).map_err(|error| error.to_string());
    match per_call::energy(least, &mut || meter.joules(), &mut work) {
        Ok(energy) => Some(energy),
        Err(why) => {
            tell(device, &why);
            None
        }
    }
}

/// Says on standard error if the energy of a device will not be known.
pub(crate) fn announce(device: &Device) {
    if let Err(why) = Meter::of(device) {
        tell(device, &why);
    }
}

fn tell(device: &Device, why: &str) {
    log::complain(&format!("the energy of {} is not known: {why}", device.id()));
}
