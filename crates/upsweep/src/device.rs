//! Where the work is done.

use core::fmt;
use std::sync::{Arc, LazyLock};

use crate::strategy::CpuShape;
use upsweep_core::{Backend, CpuPolicy, CpuStrategy, Traffic};
use upsweep_cpu::Cpu;
pub use upsweep_cpu::{CpuOptions, InstructionSet};
use upsweep_gpu::packed_type;

use crate::auto::Auto;
use crate::backend::{Kind, on_backend, wrong_device};
use crate::profile::{self, Profile};
use crate::strategy::{GpuOptions, Policy, Strategy};
use crate::{Element, Error, Limits, Operator, Result, cuda, gpu};

/// A device that runs the primitives. Cheap to clone; clones share the device.
///
/// ```
/// let device = upsweep::Device::cpu();
/// assert_eq!(device.id(), "cpu");
/// assert!(device.limits().compute_units >= 1);
/// ```
#[derive(Clone)]
pub struct Device {
    kind: Kind,
    /// What knows where calls are better off, if that was left to the library. The kind is the CPU's then.
    auto: Option<Arc<Auto>>,
}

/// A device that is here.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// What [`Device::open`] takes.
    pub id: String,
    /// What the device can do.
    pub limits: Limits,
}

/// A backend without a device, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Name of the backend: the id without its number.
    pub backend: String,
    /// Why it has no device here.
    pub reason: String,
}

/// What there is, and what there is not.
#[derive(Clone, Debug)]
pub struct DeviceList {
    /// Every usable device.
    pub usable: Vec<DeviceInfo>,
    /// Every backend without a device.
    pub absent: Vec<Absent>,
}

impl Device {
    pub(crate) fn of(kind: Kind) -> Self {
        Self { kind, auto: None }
    }

    /// The CPU, with every hardware thread and the widest instruction set found.
    ///
    /// The first call starts the threads; all such devices share them.
    pub fn cpu() -> Self {
        static SHARED: LazyLock<Arc<Cpu>> = LazyLock::new(|| {
            let cpu = Cpu::shared();
            profile::of_cpu(&cpu).map_or(cpu, Arc::new)
        });
        Self::of(Kind::Cpu(Arc::clone(&SHARED)))
    }

    /// Whatever device is the best for each call: the GPU on which its arrays are, or for arrays in the host's memory the CPU,
    /// unless `upsweep tune` has measured that a GPU of this machine is faster for so many bytes, with the way there and back.
    ///
    /// Arrays that are made on it are the host's. Plans are for arrays of the host's; streams, and calls on items that are made or cut
    /// into segments, go to the CPU unless their arrays are on a GPU. [`placement`](Device::placement) says where, and why.
    ///
    /// # Cost
    /// Reads the profiles that are kept, once. No GPU is opened before a call is better off there.
    ///
    /// ```
    /// use upsweep::{Array, Device, Sum, reduce};
    /// let auto = Device::auto();
    /// assert_eq!(reduce(&auto, &[1u32, 2, 3], Sum)?, 6);
    /// if let Ok(gpu) = Device::open("wgpu:0") {
    ///     let there = Array::from_slice(&gpu, &[1u32, 2, 3])?;
    ///     assert_eq!(reduce(&auto, &there, Sum)?, 6); // on the GPU
    /// }
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    pub fn auto() -> Self {
        static FOUND: LazyLock<Arc<Auto>> = LazyLock::new(|| Arc::new(Auto::found()));
        Self { auto: Some(Arc::clone(&FOUND)), ..Self::cpu() }
    }

    /// As [`auto`](Device::auto), among the CPU and these GPUs, with the profiles that they have.
    pub fn auto_among(gpus: &[Device]) -> Self {
        Self { auto: Some(Arc::new(Auto::among(gpus))), ..Self::cpu() }
    }

    pub(crate) fn auto_state(&self) -> Option<&Auto> {
        self.auto.as_deref()
    }

    /// What was measured of a GPU, and is read by its calls.
    pub fn profile(&self) -> Option<Arc<Profile>> {
        match &self.kind {
            Kind::Cpu(_) => None,
            Kind::Wgpu(gpu) => gpu.profile().cloned(),
            Kind::Cuda(gpu) => gpu.profile().cloned(),
        }
    }

    /// The CPU, with chosen threads, instruction set or strategy.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if this CPU lacks the instruction set or the threads cannot start.
    pub fn cpu_with(options: CpuOptions) -> Result<Self> {
        let cpu = Cpu::new(options)?;
        let profiled = options.policy.is_none().then(|| profile::of_cpu(&cpu)).flatten();
        Ok(Self::of(Kind::Cpu(Arc::new(profiled.unwrap_or(cpu)))))
    }

    /// The device with this id: `cpu`, `cuda:0`, `wgpu:0` …
    ///
    /// All devices with one id share it and its kernels. `auto` is [`Device::auto`].
    ///
    /// # Errors
    /// [`Error::NoDevice`] with the reason.
    ///
    /// ```
    /// use upsweep::Device;
    /// assert!(Device::open("cpu").is_ok());
    /// let error = Device::open("toaster").unwrap_err();
    /// assert!(error.to_string().starts_with("no device 'toaster'"));
    /// ```
    pub fn open(id: &str) -> Result<Self> {
        let (backend, number) = id.split_once(':').unwrap_or((id, ""));
        let reason = match backend {
            "cpu" if backend == id => return Ok(Self::cpu()),
            "auto" if backend == id => return Ok(Self::auto()),
            "wgpu" => {
                return gpu::open(id, number, GpuOptions::default()).map(Kind::Wgpu).map(Self::of);
            }
            "cuda" => {
                return cuda::open(id, number, GpuOptions::default()).map(Kind::Cuda).map(Self::of);
            }
            _ => "ids are cpu, cuda:N, wgpu:N and auto",
        };
        Err(Error::NoDevice { id: id.to_owned(), reason: reason.to_owned() })
    }

    /// The same GPU with chosen strategies or numbers: arrays of the one are arrays of the other.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if this is no GPU.
    pub fn with_gpu_options(&self, options: GpuOptions) -> Result<Self> {
        match &self.kind {
            Kind::Wgpu(gpu) => Ok(Self::of(Kind::Wgpu(gpu.with(options)))),
            Kind::Cuda(gpu) => Ok(Self::of(Kind::Cuda(gpu.with(options)))),
            Kind::Cpu(_) => {
                let reason = "it takes strategies of a CPU, and none of a GPU".to_owned();
                Err(Error::NoDevice { id: self.id().to_owned(), reason })
            }
        }
    }

    /// From now on CUDA kernels that calls need are made and kept on disk, but not run: each such call fails. For programs that make
    /// kernels for others; nothing on other devices, whose compilers keep what they like.
    #[doc(hidden)]
    pub fn only_make_kernels(&self) {
        if let Kind::Cuda(gpu) = &self.kind {
            cuda::only_make_kernels(gpu);
        }
    }

    /// The same device with a profile, or without one: see [`profile`](crate::profile). Arrays of the one are arrays of the other.
    #[must_use]
    pub fn with_profile(&self, profile: Option<Arc<Profile>>) -> Self {
        Self::of(match &self.kind {
            Kind::Cpu(cpu) => {
                let tuned = profile.and_then(|profile| profile::numbers_of(&profile, cpu));
                Kind::Cpu(Arc::new(tuned.unwrap_or_else(|| cpu.by_default())))
            }
            Kind::Wgpu(gpu) => Kind::Wgpu(gpu.with_profile(profile)),
            Kind::Cuda(gpu) => Kind::Cuda(gpu.with_profile(profile)),
        })
    }

    /// Every device that is here, and for every other backend the reason why it is not.
    pub fn list() -> DeviceList {
        let mut devices = vec![Self::cpu()];
        let mut absent = Vec::new();
        let mut missing = |backend: &str, reason: String| {
            absent.push(Absent { backend: backend.to_owned(), reason });
        };
        match cuda::list() {
            Ok(gpus) => devices.extend(gpus.into_iter().map(Kind::Cuda).map(Self::of)),
            Err(reason) => missing("cuda", reason),
        }
        match gpu::list() {
            Ok(gpus) => devices.extend(gpus.into_iter().map(Kind::Wgpu).map(Self::of)),
            Err(reason) => missing("wgpu", reason),
        }
        let info = |device: Self| DeviceInfo {
            id: device.id().to_owned(),
            limits: device.limits().clone(),
        };
        DeviceList { usable: devices.into_iter().map(info).collect(), absent }
    }

    /// What [`Device::open`] takes; `wgpu` or `cuda` for one that was made from the caller's own.
    pub fn id(&self) -> &str {
        match &self.kind {
            Kind::Cpu(_) if self.auto.is_some() => "auto",
            Kind::Cpu(_) => "cpu",
            Kind::Wgpu(gpu) => gpu.id(),
            Kind::Cuda(gpu) => gpu.id(),
        }
    }

    /// What the device can do.
    pub fn limits(&self) -> &Limits {
        on_backend!(self, backend => backend.limits())
    }

    /// The strategy and policy that a reduction of `items` items of `item_bytes` bytes gets: of integers, and on a
    /// GPU, where that depends on the problem too, of their sum.
    pub fn reduce_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        on_backend!(self, backend => backend.reduce_choice(items, item_bytes))
    }

    /// The strategy and policy that a scan of `items` items of `item_bytes` bytes gets: on a GPU, of a sum of integers into their own type.
    pub fn scan_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        on_backend!(self, backend => backend.scan_choice(items, item_bytes, true))
    }

    /// The strategy and policy that a reduction of so many items of type `T` gets: on a CPU, which has numbers for each kind of
    /// items, those of `T`.
    pub fn reduce_choice_of<T: Element>(&self, items: usize) -> (Strategy, Policy) {
        match self.as_cpu() {
            Ok(cpu) => {
                of_cpu(cpu.choice::<T>(Traffic::Reads, items.saturating_mul(size_of::<T>())))
            }
            Err(_) => self.reduce_choice(items, size_of::<T>()),
        }
    }

    /// The same for a scan of items of type `T` into as many of type `U`.
    pub fn scan_choice_of<T: Element, U: Element>(&self, items: usize) -> (Strategy, Policy) {
        self.scan_choice_from::<U>(items, T::KIND, size_of::<T>())
    }

    /// The same of items of this kind, of so many bytes.
    pub(crate) fn scan_choice_from<U: Element>(
        &self,
        items: usize,
        item: upsweep_core::Kind,
        item_bytes: usize,
    ) -> (Strategy, Policy) {
        match self.as_cpu() {
            Ok(cpu) => {
                let bytes = items.saturating_mul(item_bytes + size_of::<U>());
                of_cpu(cpu.choice::<U>(Traffic::Copies, bytes))
            }
            Err(_) => {
                let item_bytes = item_bytes.max(size_of::<U>());
                let sums_integers = packed_type(item, U::KIND).is_some();
                on_backend!(self, backend => backend.scan_choice(items, item_bytes, sums_integers))
            }
        }
    }

    /// The numbers of a CPU for items of this type, of a scan those that are written; nothing on a GPU.
    pub fn cpu_policy<T: Element>(&self) -> Option<CpuPolicy> {
        self.as_cpu().ok().map(|cpu| cpu.choice::<T>(Traffic::Reads, 0).1)
    }

    /// What the numbers of a CPU come to for a reduction of so many items of type `T` by an operator that commutes, or a search; nothing
    /// on a GPU, whose recordings say it by themselves.
    ///
    /// ```
    /// let shape = upsweep::Device::cpu().reduce_shape::<u32>(1000).expect("the shape of a CPU");
    /// assert_eq!((shape.threads, shape.block_items), (1, 1000));
    /// ```
    pub fn reduce_shape<T: Element>(&self, items: usize) -> Option<CpuShape> {
        self.as_cpu().ok().map(|cpu| cpu.reduce_shape::<T>(items))
    }

    /// The same for a scan of items of type `T` into as many of type `U`.
    pub fn scan_shape<T, U, O>(&self, items: usize) -> Option<CpuShape>
    where
        T: Element,
        U: Element,
        O: Operator<U::Acc>,
    {
        self.as_cpu().ok().map(|cpu| cpu.scan_shape::<T, U, O>(items))
    }

    /// Waits until everything that calls on this device have begun is done, recordings that were
    /// submitted included, and says whether it went well. Calls that leave their results on the
    /// device do not wait; whatever waits for the device next, this or
    /// [`Array::to_vec`](crate::Array::to_vec) or a result on the host, reports what failed.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`]; none on the CPU, which is never behind.
    pub fn wait(&self) -> Result<()> {
        on_backend!(self, backend => backend.wait())
    }

    /// Reads `bytes` of the host's memory once, as fast as a CPU can, and returns a value that
    /// depends on all of them: the limit that a reduction is measured against.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] on a GPU.
    pub fn probe_read(&self, bytes: &[u8]) -> Result<u8> {
        self.as_cpu()?.probe_read(bytes)
    }

    /// Copies `input` to `output`, as fast as a CPU can: the limit that a scan is measured against.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, [`Error::WrongDevice`] on a GPU.
    pub fn probe_copy(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        self.as_cpu()?.probe_copy(input, output)
    }

    fn as_cpu(&self) -> Result<&Cpu> {
        match &self.kind {
            Kind::Cpu(cpu) => Ok(cpu),
            _ => Err(wrong_device("cpu", self.id())),
        }
    }

    #[inline]
    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }
}

/// What a CPU has chosen.
fn of_cpu((strategy, policy): (CpuStrategy, CpuPolicy)) -> (Strategy, Policy) {
    (Strategy::Cpu(strategy), Policy::Cpu(policy))
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.id()).finish()
    }
}
