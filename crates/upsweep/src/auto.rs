//! Which device a call goes to that was left to the library: see [`Device::auto`].
//!
//! Arrays in the memory of a GPU are worked on there. Those of the host are nearest to the CPU: a GPU must be sent them, and what
//! it makes of them must come back. Whether that pays is not guessed: `upsweep tune` measures calls on arrays of the host's, on a
//! GPU and in turns with it on the CPU, and its profile says from how many bytes on, if ever, the GPU was faster.

use core::fmt;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use upsweep_core::{Backend, Crossing};
use upsweep_cpu::Cpu;

use crate::backend::{Kind, wrong_device};
use crate::erased::{Erased, ErasedItems};
use crate::profile::{self, Profile, Traffic};
use crate::{Device, Dtype, Element, Limits, Operator, View};

/// The GPUs that may be the better place for arrays of the host's.
#[derive(Debug, Default)]
pub(crate) struct Auto {
    gpus: Vec<Candidate>,
}

/// A GPU with times of calls on arrays of the host's, beside those of this CPU.
#[derive(Debug)]
struct Candidate {
    profile: Arc<Profile>,
    /// Opened when a call would go there; `None` if it is not here.
    device: OnceLock<Option<Device>>,
}

/// Where a call goes, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Placement {
    /// The device.
    pub device: Device,
    /// Why.
    pub reason: Reason,
}

/// Why a call goes to a device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// It was asked for by its id.
    Asked,
    /// No GPU is known to be faster: of none the profile has times of such calls beside those of this CPU.
    Unknown,
    /// The GPU that is named should be faster, but knows not all types or not the operator.
    Unfit {
        /// The GPU's name.
        gpu: String,
    },
    /// What a profile lets expect of this number of bytes, of the GPU that is named.
    Expected {
        /// The GPU's name.
        gpu: String,
        /// Its times and the CPU's.
        times: Crossing,
    },
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.device.id();
        match &self.reason {
            Reason::Asked => write!(f, "{id}: it was asked for"),
            Reason::Unknown => write!(
                f,
                "{id}: of no GPU it was measured what arrays in the host's memory take, which `upsweep tune --device ID` does"
            ),
            Reason::Unfit { gpu } => write!(f, "{id}: {gpu} should be faster, but cannot do this"),
            Reason::Expected { gpu, times: Crossing { bytes, gpu_us, cpu_us } } => write!(
                f,
                "{id}: {bytes} bytes in the host's memory should take {cpu_us:.1} µs on the CPU and {gpu_us:.1} µs on {gpu}"
            ),
        }
    }
}

impl Auto {
    /// Those of the profiles that are kept here.
    pub(crate) fn found() -> Self {
        Self::of(profile::kept().into_iter().map(Arc::new).map(Candidate::of).collect())
    }

    /// Those of these devices, with the profiles that they have.
    pub(crate) fn among(devices: &[Device]) -> Self {
        let candidate = |device: &Device| {
            let candidate = Candidate::of(device.profile()?);
            Some(Candidate { device: Some(device.clone()).into(), ..candidate })
        };
        Self::of(devices.iter().filter_map(candidate).collect())
    }

    fn of(mut gpus: Vec<Candidate>) -> Self {
        let cpu = cpu_name(Cpu::shared().limits());
        gpus.retain(|gpu| gpu.profile.from_host.as_ref().is_some_and(|times| times.cpu == cpu));
        Self { gpus }
    }

    /// The place of a call that moves so many bytes of the host's, which a GPU perhaps cannot do.
    fn place(&self, traffic: Traffic, bytes: u64, can: &dyn Fn(&Device) -> bool) -> Placement {
        let expected = |gpu: &Candidate| gpu.profile.from_host.as_ref()?.expected(traffic, bytes);
        let mut known: Vec<(&Candidate, Crossing)> =
            self.gpus.iter().filter_map(|gpu| Some((gpu, expected(gpu)?))).collect();
        known.sort_by(|(_, one), (_, other)| one.gpu_us.total_cmp(&other.gpu_us));
        let mut unfit = None;
        for (gpu, times) in known.iter().filter(|(_, times)| times.gpu_us < times.cpu_us) {
            let Some(device) = gpu.device() else { continue };
            if can(device) {
                return Placement { device: device.clone(), reason: gpu.reason(*times) };
            }
            unfit = Some(Reason::Unfit { gpu: gpu.profile.device.clone() });
        }
        // Those that are faster are not here, or cannot do it.
        let slower = known.iter().find(|(_, times)| times.gpu_us >= times.cpu_us);
        let reason = unfit.or_else(|| slower.map(|(gpu, times)| gpu.reason(*times)));
        Placement { device: Device::cpu(), reason: reason.unwrap_or(Reason::Unknown) }
    }
}

impl Auto {
    /// The device for a call: see [`Device::for_call`].
    #[cold]
    fn device_for(
        &self,
        home: &dyn Fn() -> Option<Device>,
        traffic: Traffic,
        bytes: &dyn Fn() -> usize,
        can: &dyn Fn(&Device) -> bool,
    ) -> Device {
        home().unwrap_or_else(|| self.place(traffic, bytes() as u64, can).device)
    }
}

impl Candidate {
    fn of(profile: Arc<Profile>) -> Self {
        Self { profile, device: OnceLock::new() }
    }

    fn reason(&self, times: Crossing) -> Reason {
        Reason::Expected { gpu: self.profile.device.clone(), times }
    }

    /// The device, if it is here.
    fn device(&self) -> Option<&Device> {
        let look = || {
            let is_it = |limits: &Limits| profile::why_not(&self.profile, limits).is_none();
            let usable = Device::list().usable;
            let found = usable.into_iter().find(|device| is_it(&device.limits))?;
            let device = Device::open(&found.id).ok()?;
            Some(device.with_profile(Some(Arc::clone(&self.profile))))
        };
        self.device.get_or_init(look).as_ref()
    }
}

/// Whether a device computes with numbers of a type.
pub(crate) fn knows(limits: &Limits, dtype: Dtype) -> bool {
    match dtype {
        Dtype::U64 | Dtype::I64 => limits.int64,
        Dtype::F64 => limits.float64,
        _ => true,
    }
}

/// How profiles of GPUs name the CPU that they were held against.
pub fn cpu_name(limits: &Limits) -> String {
    format!("{}, {}", limits.name, profile::driver(limits))
}

impl Device {
    /// Where a call goes that moves so many bytes of the host's memory, to be read or to be read and written, and computes with
    /// numbers of these types. Of any device but [`auto`](Device::auto) this is the device itself.
    ///
    /// ```
    /// use upsweep::{Device, Dtype, profile::Traffic};
    /// let placement = Device::auto().placement(Traffic::Reads, 1 << 20, &[Dtype::F32]);
    /// println!("{placement}");
    /// ```
    pub fn placement(&self, traffic: Traffic, bytes: u64, dtypes: &[Dtype]) -> Placement {
        let knows = |device: &Device| dtypes.iter().all(|&dtype| knows(device.limits(), dtype));
        match self.auto_state() {
            Some(auto) => auto.place(traffic, bytes, &knows),
            None => Placement { device: self.clone(), reason: Reason::Asked },
        }
    }

    /// The device for a call: that on which its arrays are, if they are on one, or that for so many bytes of the host's, of those that
    /// can do it.
    #[inline]
    pub(crate) fn for_call(
        &self,
        home: impl Fn() -> Option<Device>,
        traffic: Traffic,
        bytes: impl Fn() -> usize,
        can: impl Fn(&Device) -> bool,
    ) -> Cow<'_, Device> {
        match self.auto_state() {
            None => Cow::Borrowed(self),
            Some(auto) => Cow::Owned(auto.device_for(&home, traffic, &bytes, &can)),
        }
    }

    /// Whether it knows these types and this operator.
    pub(crate) fn can<T, A, U, O>(&self, operator: &O) -> bool
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        match self.kind() {
            Kind::Cpu(_) => true,
            Kind::Wgpu(gpu) => gpu.can::<T, A, U, O>(operator),
            Kind::Cuda(gpu) => gpu.can::<T, A, U, O>(operator),
        }
    }

    /// How many items there are. Waits for the GPU that they are on, if only that knows.
    pub(crate) fn known_len(&self, items: ErasedItems<'_>) -> crate::Result<usize> {
        let ErasedItems::Device(range) = items else { return Ok(items.len()) };
        if !range.is_bounded() {
            return Ok(items.len());
        }
        match self.at_home(|| range.home()).kind().erased() {
            Erased::Cpu(_) => Err(wrong_device(range.device(), "cpu")),
            Erased::Gpu(gpu) => gpu.known_len(items),
        }
    }

    /// The device for a call of which is known only where its arrays are.
    pub(crate) fn at_home(&self, home: impl FnOnce() -> Option<Device>) -> Cow<'_, Device> {
        match self.auto_state().and_then(|_| home()) {
            None => Cow::Borrowed(self),
            Some(device) => Cow::Owned(device),
        }
    }
}

impl<T> View<'_, T> {
    /// Bytes of all items.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }
}
