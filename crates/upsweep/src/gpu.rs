//! GPUs that wgpu reaches, behind the facade: the only module that knows what a buffer is.

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

pub(crate) use upsweep_wgpu::Wgpu;
pub use upsweep_wgpu::{DispatchProfile, Profile, Quartiles};
use upsweep_wgpu::{Gpu, Slice, Source, Target};

use crate::backend::{Kind, Prepared, Reach, wrong_device};
use crate::plan::check_length;
use crate::view::{Items, ItemsMut};
use crate::{
    Array, Device, Element, Error, GpuOptions, Kind as ElementKind, Number, Operator, PositionPlan,
    ReducePlan, Result, ScanPlan, Strategy, View, ViewMut, Widen,
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

/// The GPU `wgpu:number`.
pub(crate) fn open(id: &str, number: &str, options: GpuOptions) -> Result<Wgpu> {
    let absent = |reason: String| Err(Error::NoDevice { id: id.to_owned(), reason });
    let Ok(number) = number.parse::<usize>() else {
        return absent("ids of GPUs are wgpu:0, wgpu:1 and so on".to_owned());
    };
    match (FOUND.get(number), FOUND.len()) {
        (Some(found), _) => Ok(Wgpu::new(found.open(number)?, options)),
        (None, 0) => absent(NONE.to_owned()),
        (None, 1) => absent("there is one adapter, wgpu:0".to_owned()),
        (None, count) => {
            absent(format!("there are {count} adapters, wgpu:0 to wgpu:{}", count - 1))
        }
    }
}

/// Every GPU that can be used, or why there is none.
pub(crate) fn list() -> core::result::Result<Vec<Wgpu>, String> {
    let mut reason = NONE.to_owned();
    let mut usable = Vec::new();
    for (number, found) in FOUND.iter().enumerate() {
        match found.open(number) {
            Ok(gpu) => usable.push(Wgpu::new(gpu, GpuOptions::default())),
            Err(error) => reason = error.to_string(),
        }
    }
    if usable.is_empty() { Err(reason) } else { Ok(usable) }
}

/// The id of a GPU.
pub(crate) fn id(gpu: &Wgpu) -> &str {
    gpu.gpu().id()
}

/// The same GPU, used differently.
pub(crate) fn with_options(gpu: &Wgpu, options: GpuOptions) -> Wgpu {
    Wgpu::new(Arc::clone(gpu.gpu()), options)
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

    pub(crate) fn device(&self) -> &str {
        self.gpu.map_or("wgpu", |gpu| gpu.id())
    }

    fn on(self, wanted: &Arc<Gpu>) -> Result<Slice<'a>> {
        match self.gpu {
            Some(gpu) if !Arc::ptr_eq(gpu, wanted) => Err(wrong_device(gpu.id(), wanted.id())),
            _ => Ok(self.slice),
        }
    }
}

impl Reach for Wgpu {
    fn input<'a, T: Element>(&self, view: View<'a, T>) -> Result<Source<'a, T>> {
        Ok(match view.items {
            Items::Host(items) => Source::Host(items),
            Items::Device(range) => Source::Device(range.on(self.gpu())?),
        })
    }

    fn output<'a, T: Element>(&self, view: ViewMut<'a, T>) -> Result<Target<'a, T>> {
        Ok(match view.items {
            ItemsMut::Host(items) => Target::Host(items),
            ItemsMut::Device(range) => Target::Device(range.on(self.gpu())?),
        })
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
fn range_of<T: Element>(buffer: &wgpu::Buffer, offset: u64, len: usize) -> Result<Range<'_>> {
    let ElementKind::Number(dtype) = T::KIND else {
        return Err(Error::ElementUnsupported {
            device: "wgpu".to_owned(),
            element: core::any::type_name::<T>().to_owned(),
            reason: "it is not a number".to_owned(),
        });
    };
    Ok(Range { slice: Slice::new(buffer, dtype, offset, len as u64)?, gpu: None })
}

/// With feature `wgpu`.
impl<'a, T: Element> View<'a, T> {
    /// `len` items from byte `offset` of a buffer of the caller's on.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the buffer is too short, its usage lacks `STORAGE`, or `offset` is not a
    /// multiple of an item's size. That it belongs to the device of the call is seen by the call.
    pub fn of_buffer(buffer: &'a wgpu::Buffer, offset: u64, len: usize) -> Result<Self> {
        Ok(Self { items: Items::Device(range_of::<T>(buffer, offset, len)?) })
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
    /// The buffer that holds the items, if they are on a GPU.
    pub fn buffer(&self) -> Option<&wgpu::Buffer> {
        self.memory().map(|memory| memory.0.buffer())
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
            && limits.max_compute_workgroup_storage_size >= 16 << 10
            && limits.max_storage_buffers_per_shader_stage >= 4;
        if !enough {
            return Err(Error::NoDevice {
                id: "wgpu".to_owned(),
                reason:
                    "kernels need workgroups of 64 threads with 16 KiB of memory, and 4 storage \
                         buffers"
                        .to_owned(),
            });
        }
        let gpu = Arc::new(Gpu::from_wgpu("wgpu", adapter, device, queue));
        Ok(Self::of(Kind::Wgpu(Wgpu::new(gpu, GpuOptions::default()))))
    }

    /// The wgpu device and queue behind this device, if it is a GPU.
    pub fn wgpu(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        match self.kind() {
            Kind::Cpu(_) => None,
            Kind::Wgpu(gpu) => Some(gpu.gpu().wgpu()),
        }
    }
}

/// A call that is bound to its arrays, to be recorded into a command stream as often as wanted.
///
/// It uses the scratch memory of the plan that made it: runs must follow one another, as they do in
/// one queue. That a run went well is said by the next call that waits for the device, such as
/// [`Device::wait`] or [`Array::to_vec`].
#[derive(Clone, Debug)]
pub struct Recording {
    gpu: Arc<Gpu>,
    recording: upsweep_wgpu::Recording,
}

impl Recording {
    /// Records the launches into a compute pass of the caller's. With feature `wgpu`.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.recording.record(pass);
    }

    /// The strategy that was chosen; `None` for a probe.
    pub fn strategy(&self) -> Option<Strategy> {
        self.recording.strategy()
    }

    /// Number of launches.
    pub fn launches(&self) -> usize {
        self.recording.launches()
    }

    /// Submits a run of its own, and does not wait for it.
    ///
    /// # Errors
    /// Those of the device.
    pub fn submit(&self) -> Result<()> {
        self.gpu.submit(&self.recording)
    }

    /// Runs it `runs` times, one after another, and returns how long each took on the device, by its
    /// own clock; `None` if it has none.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time(&self, runs: u32) -> Result<Option<Vec<Duration>>> {
        self.gpu.time(&self.recording, runs)
    }

    /// Runs it `runs` times, but at least once, and says where its time goes: for each launch how long it took in a
    /// pass of its own, the bytes that it must move, and how long the same device took to move as many without
    /// arithmetic; and how long the whole took as one pass. All of them are measured in turns, by the device's clock;
    /// `None` if it has none.
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
    pub fn profile(&self, runs: u32) -> Result<Option<Profile>> {
        self.gpu.profile(&self.recording, runs)
    }
}

fn bound(gpu: &Wgpu, recording: upsweep_wgpu::Recording) -> Recording {
    Recording { gpu: Arc::clone(gpu.gpu()), recording }
}

/// The slice behind a view; a recording has no host to copy from.
fn slice<'a, T: Element>(gpu: &Wgpu, view: View<'a, T>) -> Result<Slice<'a>> {
    match view.items {
        Items::Device(range) => range.on(gpu.gpu()),
        Items::Host(_) => Err(wrong_device("cpu", gpu.gpu().id())),
    }
}

fn slice_mut<'a, T: Element>(gpu: &Wgpu, view: ViewMut<'a, T>) -> Result<Slice<'a>> {
    match view.items {
        ItemsMut::Device(range) => range.on(gpu.gpu()),
        ItemsMut::Host(_) => Err(wrong_device("cpu", gpu.gpu().id())),
    }
}

/// What a plan for `items` items binds: its GPU and scratch memory, and the arrays, which must be on that GPU.
fn on_gpu<'p, 'a, 'b, T: Element, U: Element>(
    prepared: &'p mut Prepared,
    items: usize,
    input: View<'a, T>,
    output: ViewMut<'b, U>,
) -> Result<(&'p Wgpu, &'p mut upsweep_wgpu::Workspace, Slice<'a>, Slice<'b>)> {
    check_length(input.len(), items)?;
    match prepared {
        Prepared::Wgpu(gpu, workspace) => {
            let (input, output) = (slice(gpu, input)?, slice_mut(gpu, output)?);
            Ok((gpu, workspace, input, output))
        }
        Prepared::Cpu(..) => Err(Error::NoCommands { device: "cpu".to_owned() }),
    }
}

/// With feature `wgpu`.
impl<T, A, O> ReducePlan<T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    /// A run on certain arrays in the device's memory, to be recorded into a command stream. The
    /// result is one item.
    ///
    /// # Errors
    /// [`Error::NoCommands`] on a CPU, [`Error::PlanTooSmall`], [`Error::ResultLength`],
    /// [`Error::WrongDevice`], and those of the device.
    pub fn bind<'a, 'b>(
        &mut self,
        input: impl Into<View<'a, T>>,
        result: impl Into<ViewMut<'b, A>>,
    ) -> Result<Recording> {
        let (gpu, workspace, input, result) =
            on_gpu(&mut self.prepared, self.items, input.into(), result.into())?;
        let options = gpu.reduce_options();
        let problem = &self.problem;
        gpu.gpu()
            .bind_reduce::<T, A, O>(workspace, input, result, problem, &options)
            .map(|recording| bound(gpu, recording))
    }
}

/// With feature `wgpu`.
impl<T, U, O> ScanPlan<T, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    /// A run on certain arrays in the device's memory, to be recorded into a command stream. The two
    /// may be one range of one buffer.
    ///
    /// # Errors
    /// [`Error::NoCommands`] on a CPU, [`Error::PlanTooSmall`], [`Error::LengthMismatch`],
    /// [`Error::WrongDevice`], and those of the device.
    pub fn bind<'a, 'b>(
        &mut self,
        input: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'b, U>>,
    ) -> Result<Recording> {
        let (gpu, workspace, input, output) =
            on_gpu(&mut self.prepared, self.items, input.into(), output.into())?;
        let options = gpu.scan_options();
        let problem = &self.problem;
        gpu.gpu()
            .bind_scan::<T, U, O>(workspace, input, output, problem, &options)
            .map(|recording| bound(gpu, recording))
    }
}

/// With feature `wgpu`.
impl<T: Number> PositionPlan<T> {
    /// A run on certain arrays in the device's memory, to be recorded into a command stream. The
    /// result is one item: the position, or `u64::MAX` if there are no items.
    ///
    /// # Errors
    /// As [`ReducePlan::bind`].
    pub fn bind<'a, 'b>(
        &mut self,
        input: impl Into<View<'a, T>>,
        result: impl Into<ViewMut<'b, u64>>,
    ) -> Result<Recording> {
        let (gpu, workspace, input, result) =
            on_gpu(&mut self.prepared, self.items, input.into(), result.into())?;
        let options = gpu.reduce_options();
        gpu.gpu()
            .bind_position::<T>(workspace, input, result, self.extreme, &options)
            .map(|recording| bound(gpu, recording))
    }
}

/// With feature `wgpu`.
impl Device {
    /// Reads an array from beginning to end: the limit that a reduction is measured against. Of an
    /// array that one binding does not hold, as much as it does. Of a part of a buffer, all of it.
    ///
    /// # Errors
    /// [`Error::NoCommands`] on a CPU, [`Error::WrongDevice`], and those of the device.
    pub fn bind_probe_read<'a>(&self, input: impl Into<View<'a, u8>>) -> Result<Recording> {
        let gpu = self.gpu()?;
        let result = upsweep_wgpu::Memory::new::<u32>(gpu.gpu(), 4)?;
        let recording = gpu.gpu().probe_read(slice(gpu, input.into())?, result.slice())?;
        Ok(bound(gpu, recording))
    }

    /// Copies an array to another of its length: the limit that a scan is measured against. Of an
    /// array that one binding does not hold, as much as it does.
    ///
    /// # Errors
    /// As [`bind_probe_read`](Device::bind_probe_read), [`Error::LengthMismatch`].
    pub fn bind_probe_copy<'a, 'b>(
        &self,
        input: impl Into<View<'a, u8>>,
        output: impl Into<ViewMut<'b, u8>>,
    ) -> Result<Recording> {
        let (input, output) = (input.into(), output.into());
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let gpu = self.gpu()?;
        let (input, output) = (slice(gpu, input)?, slice_mut(gpu, output)?);
        Ok(bound(gpu, gpu.gpu().probe_copy(input, output)?))
    }

    fn gpu(&self) -> Result<&Wgpu> {
        match self.kind() {
            Kind::Wgpu(gpu) => Ok(gpu),
            Kind::Cpu(_) => Err(Error::NoCommands { device: "cpu".to_owned() }),
        }
    }
}
