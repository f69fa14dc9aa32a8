//! GPUs that wgpu reaches, behind the facade: the only module that knows what a buffer of wgpu's is.

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use upsweep_gpu::Part;
use upsweep_gpu::bits::kind;
pub(crate) use upsweep_wgpu::Wgpu;
pub use upsweep_wgpu::{DispatchProfile, RecordingProfile};
use upsweep_wgpu::{Gpu, Slice};

use crate::backend::{Kind, wrong_device};
use crate::explain::Launch;
pub(crate) use crate::on_gpu::{reduce_made, scan_made};
use crate::strategy::{GpuOptions, Strategy};
use crate::view::{Items, ItemsMut};
use crate::{
    Array, Device, Dtype, Element, Error, Recording, Result, View, ViewMut, memory, on_gpu,
    profile, recording,
};

/// An adapter, and the device that was opened on it.
struct Found {
    adapter: wgpu::Adapter,
    opened: OnceLock<Result<Arc<Gpu>>>,
}

/// Every adapter, looked for once.
static FOUND: LazyLock<Vec<Found>> = LazyLock::new(|| {
    let adapters = Gpu::adapters().into_iter();
    adapters.map(|adapter| Found { adapter, opened: OnceLock::new() }).collect()
});

const NONE: &str = "no Vulkan, Metal or DirectX 12 adapter was found";

impl Found {
    fn open(&self, number: usize) -> Result<Arc<Gpu>> {
        let open = || Gpu::open(&format!("wgpu:{number}"), &self.adapter).map(Arc::new);
        self.opened.get_or_init(open).clone()
    }
}

/// Bytes of memory that a workgroup must have at least: what `wgpu::Limits::downlevel_defaults` asks for.
const LEAST_SHARED_BYTES: u32 = 16_352;

/// The GPU `wgpu:number`.
pub(crate) fn open(id: &str, number: &str, options: GpuOptions) -> Result<Wgpu> {
    let absent = |reason: String| Err(Error::NoDevice { id: id.to_owned(), reason });
    let Ok(number) = number.parse::<usize>() else {
        return absent("ids of GPUs are wgpu:0, wgpu:1 and so on".to_owned());
    };
    match (FOUND.get(number), FOUND.len()) {
        (Some(found), _) => Ok(with_profile(found.open(number)?, options)),
        (None, 0) => absent(NONE.to_owned()),
        (None, 1) => absent("there is one adapter, wgpu:0".to_owned()),
        (None, count) => {
            absent(format!("there are {count} adapters, wgpu:0 to wgpu:{}", count - 1))
        }
    }
}

/// A GPU with what was measured on it.
fn with_profile(gpu: Arc<Gpu>, options: GpuOptions) -> Wgpu {
    let profile = profile::found(gpu.limits());
    Wgpu::new(gpu, options, profile)
}

/// Every GPU that can be used, or why there is none.
pub(crate) fn list() -> core::result::Result<Vec<Wgpu>, String> {
    let mut reason = NONE.to_owned();
    let mut usable = Vec::new();
    for (number, found) in FOUND.iter().enumerate() {
        match found.open(number) {
            Ok(gpu) => usable.push(with_profile(gpu, GpuOptions::default())),
            Err(error) => reason = error.to_string(),
        }
    }
    if usable.is_empty() { Err(reason) } else { Ok(usable) }
}

/// Items in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range<'a> {
    slice: Slice<'a>,
    /// The device, if the buffer is ours. Of a buffer of the caller's, wgpu knows it.
    gpu: Option<&'a Arc<Gpu>>,
}

impl<'a> Range<'a> {
    pub(crate) fn len(&self) -> usize {
        self.slice.len()
    }

    pub(crate) fn first(self, items: usize) -> Self {
        Self { slice: Part::part(&self.slice, Dtype::U8.into(), 0..items), ..self }
    }

    pub(crate) fn with_length(self, length: Self) -> Result<Self> {
        match (self.gpu, length.gpu) {
            (Some(own), Some(other)) if !Arc::ptr_eq(own, other) => {
                Err(wrong_device(own.id(), other.id()))
            }
            _ => Ok(Self { slice: self.slice.with_length(length.slice), ..self }),
        }
    }

    pub(crate) fn is_bounded(&self) -> bool {
        Part::length(&self.slice).is_some()
    }

    pub(crate) fn has_length_of(&self, other: &Self) -> bool {
        let lengths = Part::length(&self.slice).zip(Part::length(&other.slice));
        lengths.is_some_and(|(own, other)| own.is(&other))
    }

    pub(crate) fn bounded_like(self, other: Self) -> Self {
        match Part::length(&other.slice) {
            Some(length) => Self { slice: self.slice.with_length(length), ..self },
            None => self,
        }
    }

    pub(crate) fn whole(self) -> Self {
        Self { slice: self.slice.whole(), ..self }
    }

    /// What items are, wgpu's buffers do not say.
    pub(crate) fn bits_as(self, _: Dtype) -> Self {
        self
    }

    pub(crate) fn device(&self) -> &str {
        self.gpu.map_or("wgpu", |gpu| gpu.id())
    }

    pub(crate) fn home(&self) -> Option<Wgpu> {
        self.gpu.map(|gpu| with_profile(Arc::clone(gpu), GpuOptions::default()))
    }

    fn on(self, wanted: &Arc<Gpu>) -> Result<Slice<'a>> {
        match self.gpu {
            Some(gpu) if !Arc::ptr_eq(gpu, wanted) => Err(wrong_device(gpu.id(), wanted.id())),
            _ => Ok(self.slice),
        }
    }
}

/// A buffer of ours.
#[derive(Debug)]
pub(crate) struct Memory(upsweep_wgpu::Memory);

impl Memory {
    pub(crate) fn filled<T: Element>(gpu: &Wgpu, len: usize, value: T) -> Result<Self> {
        upsweep_wgpu::Memory::filled(gpu.gpu(), len, value).map(Self)
    }

    pub(crate) fn holding<T: Element>(gpu: &Wgpu, items: &[T]) -> Result<Self> {
        upsweep_wgpu::Memory::holding(gpu.gpu(), items).map(Self)
    }

    pub(crate) fn room_for<T: Element>(gpu: &Wgpu, len: usize) -> Result<Self> {
        upsweep_wgpu::Memory::new::<T>(gpu.gpu(), len).map(Self)
    }

    #[cfg(feature = "any")]
    pub(crate) fn bits_as(self, _: Dtype) -> Self {
        self
    }

    pub(crate) fn truncated(self, len: usize) -> Self {
        Self(self.0.truncated(len))
    }

    pub(crate) fn range(&self) -> Range<'_> {
        Range { slice: self.0.slice(), gpu: Some(self.0.gpu()) }
    }

    pub(crate) fn replace<T: Element>(&self, items: &[T]) -> Result<()> {
        self.0.replace(items)
    }

    pub(crate) fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.0.to_vec()
    }
}

/// The range of a buffer of the caller's.
fn range_of<T: Element>(
    buffer: &wgpu::Buffer,
    offset: u64,
    len: usize,
) -> Result<memory::Range<'_>> {
    let kind = kind::<T>("wgpu")?;
    let slice = Slice::new(buffer, kind, offset, len as u64)?;
    Ok(memory::Range::Wgpu(Range { slice, gpu: None }))
}

/// With feature `wgpu`.
impl<'a, T: Element> View<'a, T> {
    /// `len` items from byte `offset` of a buffer of the caller's on.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the buffer is too short, its usage lacks `STORAGE`, or `offset` is not a
    /// multiple of an item's size. That it belongs to the device of the call is seen by the call.
    pub fn of_buffer(buffer: &'a wgpu::Buffer, offset: u64, len: usize) -> Result<Self> {
        Ok(Self::of(Items::Device(range_of::<T>(buffer, offset, len)?)))
    }
}

/// With feature `wgpu`.
impl<'a, T: Element> ViewMut<'a, T> {
    /// `len` items from byte `offset` of a buffer of the caller's on; see [`View::of_buffer`].
    ///
    /// # Errors
    /// Those of [`View::of_buffer`].
    pub fn of_buffer(buffer: &'a wgpu::Buffer, offset: u64, len: usize) -> Result<Self> {
        Ok(Self { items: ItemsMut::Device(range_of::<T>(buffer, offset, len)?) })
    }
}

/// With feature `wgpu`.
impl<T> Array<T> {
    /// The buffer that holds the items, if they are in one of wgpu's.
    pub fn buffer(&self) -> Option<&wgpu::Buffer> {
        match self.memory()? {
            memory::Memory::Wgpu(memory) => Some(memory.0.buffer()),
            memory::Memory::Cuda(_) => None,
        }
    }
}

/// With feature `wgpu`.
impl Device {
    /// A device that works in the caller's own wgpu device and queue.
    ///
    /// Subgroups, 64-bit integers with their atomics, 64-bit floats, and timestamps are used where the device was
    /// opened with these features, and bindings as large as its limits allow.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the device was opened with less than kernels need.
    pub fn from_wgpu(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
    ) -> Result<Self> {
        let limits = device.limits();
        let enough = limits.max_compute_invocations_per_workgroup >= 64
            && limits.max_compute_workgroup_size_x >= 64
            && limits.max_compute_workgroup_storage_size >= LEAST_SHARED_BYTES
            && limits.max_storage_buffers_per_shader_stage >= 4;
        if !enough {
            return Err(Error::NoDevice {
                id: "wgpu".to_owned(),
                reason: format!(
                    "kernels need workgroups of 64 threads with {LEAST_SHARED_BYTES} bytes of \
                     memory, and 4 storage buffers"
                ),
            });
        }
        let gpu = Arc::new(Gpu::from_wgpu("wgpu", adapter, device, queue));
        Ok(Self::of(Kind::Wgpu(with_profile(gpu, GpuOptions::default()))))
    }

    /// The wgpu device and queue behind this device, if it is one of wgpu's.
    pub fn wgpu(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        match self.kind() {
            Kind::Wgpu(gpu) => Some(gpu.gpu().wgpu()),
            Kind::Cpu(_) | Kind::Cuda(_) => None,
        }
    }
}

/// A recording, and the GPU that runs it.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    gpu: Arc<Gpu>,
    recording: upsweep_wgpu::Recording,
}

impl Bound {
    #[cfg(feature = "cuda")]
    pub(crate) fn device(&self) -> &str {
        self.gpu.id()
    }

    pub(crate) fn strategy(&self) -> Option<Strategy> {
        self.recording.strategy()
    }

    pub(crate) fn launches(&self) -> usize {
        self.recording.launches()
    }

    pub(crate) fn described(&self) -> Result<Vec<Launch>> {
        Ok(self.recording.described())
    }

    pub(crate) fn scratch_bytes(&self) -> u64 {
        self.recording.scratch_bytes()
    }

    pub(crate) fn submit(&self) -> Result<()> {
        self.gpu.submit(&self.recording)
    }

    pub(crate) fn time(&self, runs: u32) -> Result<Option<Vec<Duration>>> {
        self.gpu.time(&self.recording, runs)
    }
}

/// With feature `wgpu`.
impl Recording {
    /// Records the launches into a compute pass of the caller's.
    ///
    /// # Errors
    /// [`Error::NoCommands`] if it is bound to arrays of another interface's.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) -> Result<()> {
        match &self.bound {
            recording::Bound::Wgpu(bound) => bound.recording.record(pass),
            recording::Bound::Cuda(bound) => {
                return Err(Error::NoCommands { device: bound.device().to_owned() });
            }
        }
        Ok(())
    }

    /// Runs it `runs` times, but at least once, and says where its time goes: for each launch how long it took in a
    /// pass of its own, the bytes that it must move, and how long the same device took to move as many without
    /// arithmetic; and how long the whole took as one pass. All of them are measured in turns, by the device's clock;
    /// `None` if it has none, or is reached through CUDA.
    ///
    /// Each is measured behind a run of its own, so that caches hold what they hold in runs one after another. What
    /// it does in place, it does as often as it is run.
    ///
    /// # Cost
    /// At least 200 ms of work, which mostly raise the speed of an idle device, or two seconds of waiting for them; memory
    /// for as many bytes as the largest launch moves.
    ///
    /// # Errors
    /// Those of the device: memory, a lost device, a workgroup that waited in vain for another.
    ///
    /// # Examples
    /// ```
    /// use upsweep::{Array, Device, Scan, ScanPlan, Sum};
    ///
    /// # fn main() -> upsweep::Result<()> {
    /// let Ok(device) = Device::open("wgpu:0") else { return Ok(()) };
    /// let items = Array::filled(&device, 1 << 16, 1u32)?;
    /// let mut ends = Array::filled(&device, 1 << 16, 0u32)?;
    /// let mut plan = ScanPlan::<u32, u32, _>::new(&device, 1 << 16, Scan::inclusive(Sum))?;
    /// let recording = plan.bind(&items, &mut ends)?;
    /// if let Some(profile) = recording.profile(11)? {
    ///     println!("{profile}");
    ///     assert_eq!(profile.dispatches.len(), recording.launches());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn profile(&self, runs: u32) -> Result<Option<RecordingProfile>> {
        match &self.bound {
            recording::Bound::Wgpu(bound) => bound.gpu.profile(&bound.recording, runs),
            recording::Bound::Cuda(_) => Ok(None),
        }
    }
}

fn bound(gpu: &Wgpu, recording: upsweep_wgpu::Recording) -> Recording {
    let bound = Bound { gpu: Arc::clone(gpu.gpu()), recording };
    Recording { bound: recording::Bound::Wgpu(bound) }
}

impl on_gpu::Gpu for Gpu {
    fn slice_of<'a>(gpu: &Wgpu, range: memory::Range<'a>) -> Result<Slice<'a>> {
        match range {
            memory::Range::Wgpu(range) => range.on(gpu.gpu()),
            range => Err(wrong_device(range.device(), gpu.id())),
        }
    }

    fn record<'a>(
        gpu: &Wgpu,
        ranges: &[memory::Range<'a>],
        bind: &mut dyn FnMut(&[Slice<'a>]) -> Result<upsweep_wgpu::Bound>,
    ) -> Result<Recording> {
        let slices = ranges.iter().map(|range| Self::slice_of(gpu, *range));
        let slices = slices.collect::<Result<Vec<_>>>()?;
        Ok(bound(gpu, gpu.gpu().recording(bind(&slices)?)?))
    }

    /// Of a part of a buffer, all of it is read.
    fn record_read(gpu: &Wgpu, input: memory::Range<'_>, bytes: u64) -> Result<Recording> {
        let input = Self::slice_of(gpu, input)?.first_bytes(bytes)?;
        let result = upsweep_wgpu::Memory::new::<u32>(gpu.gpu(), 4)?;
        Ok(bound(gpu, gpu.gpu().probe_read(input, result.slice())?))
    }

    fn record_copy(
        gpu: &Wgpu,
        [input, output]: [memory::Range<'_>; 2],
        bytes: u64,
    ) -> Result<Recording> {
        let (input, output) = (Self::slice_of(gpu, input)?, Self::slice_of(gpu, output)?);
        let (input, output) = (input.first_bytes(bytes)?, output.first_bytes(bytes)?);
        Ok(bound(gpu, gpu.gpu().probe_copy(input, output)?))
    }
}
