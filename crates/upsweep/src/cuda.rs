//! GPUs that CUDA reaches, behind the facade: the only module that knows what a stream of CUDA's is.

mod awaited;

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
pub(crate) use upsweep_cuda::Cuda;
use upsweep_cuda::{Gpu, Probe, Slice};
use upsweep_gpu::Part;
use upsweep_gpu::bits::kind;

pub use awaited::Awaited;

use crate::backend::{Kind, wrong_device};
use crate::explain::Launch;
pub(crate) use crate::on_gpu::{reduce_made, scan_made};
use crate::strategy::{GpuOptions, Strategy};
use crate::view::{Items, ItemsMut};
use crate::{
    Array, Device, Dtype, Element, Error, Number, Recording, Result, View, ViewMut, memory, on_gpu,
    profile, recording,
};

/// The devices that were opened, by their numbers; or why there are none.
type Found = core::result::Result<Vec<OnceLock<Result<Arc<Gpu>>>>, String>;

/// Every device, looked for once.
static FOUND: LazyLock<Found> = LazyLock::new(|| match Gpu::devices() {
    Ok(count) => Ok((0..count).map(|_| OnceLock::new()).collect()),
    Err(Error::NoDevice { reason, .. }) => Err(reason),
    Err(error) => Err(error.to_string()),
});

/// The GPU `cuda:number`.
pub(crate) fn open(id: &str, number: &str, options: GpuOptions) -> Result<Cuda> {
    let absent = |reason: &str| Error::NoDevice { id: id.to_owned(), reason: reason.to_owned() };
    let Ok(number) = number.parse::<usize>() else {
        return Err(absent("ids of CUDA's GPUs are cuda:0, cuda:1 and so on"));
    };
    let found = FOUND.as_ref().map_err(|reason| absent(reason))?;
    let open = || Gpu::open(number).map(Arc::new);
    match found.get(number) {
        Some(device) => Ok(with_profile(device.get_or_init(open).clone()?, options)),
        None => Err(open().err().unwrap_or_else(|| absent("it was not there at first"))),
    }
}

/// From now on kernels are made, and not run.
pub(crate) fn only_make_kernels(gpu: &Cuda) {
    gpu.gpu().only_make_kernels();
}

/// A GPU with what was measured on it.
fn with_profile(gpu: Arc<Gpu>, options: GpuOptions) -> Cuda {
    let profile = profile::found(gpu.limits());
    Cuda::new(gpu, options, profile)
}

/// Every GPU that can be used, or why there is none.
pub(crate) fn list() -> core::result::Result<Vec<Cuda>, String> {
    let mut reason = String::new();
    let mut usable = Vec::new();
    for number in 0..FOUND.as_ref()?.len() {
        let number = number.to_string();
        match open(&format!("cuda:{number}"), &number, GpuOptions::default()) {
            Ok(gpu) => usable.push(gpu),
            Err(error) => reason = error.to_string(),
        }
    }
    if usable.is_empty() { Err(reason) } else { Ok(usable) }
}

/// Items in the device's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range<'a> {
    slice: Slice<'a>,
    /// The array, if it is ours.
    memory: Option<&'a upsweep_cuda::Memory>,
    /// That of the length, if there is one.
    length: Option<&'a upsweep_cuda::Memory>,
}

impl<'a> Range<'a> {
    pub(crate) fn len(&self) -> usize {
        self.slice.len()
    }

    pub(crate) fn first(self, items: usize) -> Self {
        Self { slice: Part::part(&self.slice, Dtype::U8.into(), 0..items), ..self }
    }

    pub(crate) fn with_length(self, length: Self) -> Result<Self> {
        match [self, length].map(|range| range.memory.map(upsweep_cuda::Memory::gpu)) {
            [Some(own), Some(other)] if !Arc::ptr_eq(own, other) => {
                Err(wrong_device(own.id(), other.id()))
            }
            _ => {
                let slice = self.slice.with_length(length.slice);
                Ok(Self { slice, length: length.memory, ..self })
            }
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
            Some(length) => {
                Self { slice: self.slice.with_length(length), length: other.length, ..self }
            }
            None => self,
        }
    }

    pub(crate) fn whole(self) -> Self {
        Self { slice: self.slice.whole(), length: None, ..self }
    }

    pub(crate) fn bits_as(self, dtype: Dtype) -> Self {
        Self { slice: self.slice.bits_as(dtype), ..self }
    }

    pub(crate) fn device(&self) -> &str {
        self.memory.map_or("cuda", |memory| memory.gpu().id())
    }

    pub(crate) fn home(&self) -> Option<Cuda> {
        self.memory.map(|memory| with_profile(Arc::clone(memory.gpu()), GpuOptions::default()))
    }

    fn on(self, wanted: &Arc<Gpu>) -> Result<Slice<'a>> {
        let elsewhere = |memory: &&upsweep_cuda::Memory| !Arc::ptr_eq(memory.gpu(), wanted);
        match self.memory.into_iter().chain(self.length).find(elsewhere) {
            Some(memory) => Err(wrong_device(memory.gpu().id(), wanted.id())),
            None => Ok(self.slice),
        }
    }
}

/// The range of CUDA's memory behind one of any device's.
fn range_on<'a>(gpu: &Cuda, range: memory::Range<'a>) -> Result<Range<'a>> {
    match range {
        memory::Range::Cuda(range) => Ok(range),
        range => Err(wrong_device(range.device(), gpu.gpu().id())),
    }
}

/// An array of ours.
#[derive(Debug)]
pub(crate) struct Memory(upsweep_cuda::Memory);

impl Memory {
    pub(crate) fn filled<T: Element>(gpu: &Cuda, len: usize, value: T) -> Result<Self> {
        upsweep_cuda::Memory::filled(gpu.gpu(), len, value).map(Self)
    }

    pub(crate) fn holding<T: Element>(gpu: &Cuda, items: &[T]) -> Result<Self> {
        upsweep_cuda::Memory::holding(gpu.gpu(), items).map(Self)
    }

    pub(crate) fn room_for<T: Element>(gpu: &Cuda, len: usize) -> Result<Self> {
        upsweep_cuda::Memory::room::<T>(gpu.gpu(), len).map(Self)
    }

    #[cfg(feature = "any")]
    pub(crate) fn bits_as(self, dtype: Dtype) -> Self {
        Self(self.0.bits_as(dtype))
    }

    pub(crate) fn truncated(self, len: usize) -> Self {
        Self(self.0.truncated(len))
    }

    pub(crate) fn range(&self) -> Range<'_> {
        Range { slice: self.0.slice(), memory: Some(&self.0), length: None }
    }

    pub(crate) fn replace<T: Element>(&self, items: &[T]) -> Result<()> {
        self.0.replace(items)
    }

    pub(crate) fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.0.to_vec()
    }
}

/// A range of memory of the caller's.
fn foreign(slice: Slice<'_>) -> memory::Range<'_> {
    memory::Range::Cuda(Range { slice, memory: None, length: None })
}

/// With feature `cuda`.
impl<'a, T: Element> View<'a, T> {
    /// All items of an array of cudarc's, or of a part of one: a `CudaSlice` or a `CudaView`.
    ///
    /// A call waits, on the device, for what was done to the array before, and cudarc is told of the call, in whatever
    /// streams that is.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a part does not begin at a multiple of an item's size. That the array is in the context of the
    /// call's device is seen by the call.
    pub fn of_cuda(array: &'a impl DevicePtr<T>) -> Result<Self>
    where
        T: Number,
    {
        Ok(Self::of(Items::Device(foreign(Slice::of(array)?))))
    }

    /// `len` items from an address in the device's memory on.
    ///
    /// # Errors
    /// [`Error::Buffer`] if the address is not a multiple of an item's size, or there is no room for so many items.
    ///
    /// # Safety
    /// The device of every call with this view can reach the memory, until all work on it is done and every
    /// [`Recording`] that is bound to it is gone; while something is written to it, nothing else reads or writes it.
    /// What was done to it before is done, or is in the stream of the call.
    pub unsafe fn of_cuda_pointer(pointer: u64, len: usize) -> Result<Self> {
        let kind = kind::<T>("cuda")?;
        // SAFETY: as promised to this function.
        let slice = unsafe { Slice::from_raw(pointer, kind, len as u64) }?;
        Ok(Self::of(Items::Device(foreign(slice))))
    }
}

/// With feature `cuda`.
impl<'a, T: Element> ViewMut<'a, T> {
    /// All items of an array of cudarc's, or of a part of one: a `CudaSlice` or a `CudaViewMut`; see [`View::of_cuda`].
    ///
    /// # Errors
    /// Those of [`View::of_cuda`].
    pub fn of_cuda(array: &'a mut impl DevicePtrMut<T>) -> Result<Self>
    where
        T: Number,
    {
        Ok(Self { items: ItemsMut::Device(foreign(Slice::of_mut(array)?)) })
    }

    /// `len` items from an address in the device's memory on.
    ///
    /// # Errors
    /// Those of [`View::of_cuda_pointer`].
    ///
    /// # Safety
    /// As of [`View::of_cuda_pointer`].
    pub unsafe fn of_cuda_pointer(pointer: u64, len: usize) -> Result<Self> {
        // SAFETY: as promised to this function.
        let View { items, .. } = unsafe { View::<T>::of_cuda_pointer(pointer, len) }?;
        match items {
            Items::Device(range) => Ok(Self { items: ItemsMut::Device(range) }),
            Items::Host(_) => Err(wrong_device("cpu", "cuda")),
        }
    }
}

/// With feature `cuda`.
impl<T> Array<T> {
    /// The address of the first item, if the items are in the memory of a device of CUDA's.
    ///
    /// What is done there must be in order with calls of the library, which run in
    /// [the device's stream](Device::cuda_stream).
    pub fn cuda_pointer(&self) -> Option<u64> {
        match self.memory()? {
            memory::Memory::Cuda(memory) => Some(memory.0.slice().pointer()),
            memory::Memory::Wgpu(_) => None,
        }
    }
}

/// With feature `cuda`.
impl Device {
    /// A device that works in the default stream of the caller's own context, in order with what the caller does there.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the driver does not say what the device is.
    pub fn from_cuda(context: &Arc<CudaContext>) -> Result<Self> {
        Self::from_cuda_stream(context.default_stream())
    }

    /// A device that works in a stream of the caller's own, in order with what the caller does there.
    ///
    /// # Errors
    /// As [`from_cuda`](Device::from_cuda).
    pub fn from_cuda_stream(stream: Arc<CudaStream>) -> Result<Self> {
        let gpu = Arc::new(Gpu::from_stream("cuda", stream)?);
        Ok(Self::of(Kind::Cuda(with_profile(gpu, GpuOptions::default()))))
    }

    /// The stream that calls on this device run in, if it is one of CUDA's. Its context is `stream.context()`.
    pub fn cuda_stream(&self) -> Option<&Arc<CudaStream>> {
        match self.kind() {
            Kind::Cuda(gpu) => Some(gpu.gpu().stream()),
            Kind::Cpu(_) | Kind::Wgpu(_) => None,
        }
    }
}

/// A recording of CUDA's.
#[derive(Clone, Debug)]
pub(crate) struct Bound(upsweep_cuda::Recording);

impl Bound {
    #[cfg(feature = "wgpu")]
    pub(crate) fn device(&self) -> &str {
        self.0.gpu().id()
    }

    pub(crate) fn strategy(&self) -> Option<Strategy> {
        self.0.strategy()
    }

    pub(crate) fn launches(&self) -> usize {
        self.0.launches()
    }

    pub(crate) fn described(&self) -> Result<Vec<Launch>> {
        self.0.described()
    }

    pub(crate) fn scratch_bytes(&self) -> u64 {
        self.0.scratch_bytes()
    }

    pub(crate) fn submit(&self) -> Result<()> {
        self.0.submit()
    }

    pub(crate) fn time(&self, runs: u32) -> Result<Option<Vec<Duration>>> {
        self.0.time(runs).map(Some)
    }
}

/// With feature `cuda`.
impl Recording {
    /// Launches it into a stream of the caller's, and waits for nothing. The stream is of the context that the device is in.
    ///
    /// # Cost
    /// Allocates nothing: everything was made when the recording was.
    ///
    /// # Errors
    /// [`Error::NoCommands`] if it is bound to arrays of another interface's, [`Error::WrongDevice`] for a stream of
    /// another context, [`Error::DeviceFailed`] for one that is being captured, and those of the device.
    pub fn launch(&self, stream: &CudaStream) -> Result<()> {
        self.of_cuda()?.launch(stream)
    }

    /// As [`launch`](Recording::launch), into a stream that is being captured: the run becomes a part of the graph.
    ///
    /// That a run of the graph went well is said by [`Device::wait`] when the caller has waited for the graph.
    ///
    /// # Errors
    /// As [`launch`](Recording::launch), but for the capture.
    ///
    /// # Safety
    /// The graph is not launched any more when the last copy of this recording is gone.
    pub unsafe fn capture(&self, stream: &CudaStream) -> Result<()> {
        // SAFETY: as promised to this function.
        unsafe { self.of_cuda()?.capture(stream) }
    }

    fn of_cuda(&self) -> Result<&upsweep_cuda::Recording> {
        match &self.bound {
            recording::Bound::Cuda(Bound(recording)) => Ok(recording),
            recording::Bound::Wgpu(bound) => {
                Err(Error::NoCommands { device: bound.device().to_owned() })
            }
        }
    }
}

/// An array that a recording is bound to.
struct BoundArray<'a> {
    slice: Slice<'a>,
    memory: Option<upsweep_cuda::Memory>,
    length: Option<upsweep_cuda::Memory>,
}

impl<'a> BoundArray<'a> {
    /// The array in a range, if the recording may outlive what it is borrowed from.
    fn new(gpu: &Cuda, range: memory::Range<'a>) -> Result<Self> {
        let range = range_on(gpu, range)?;
        let slice = range.on(gpu.gpu())?;
        if slice.is_borrowed() || Part::length(&slice).is_some_and(|length| length.is_borrowed()) {
            let reason = "a recording may outlive an array of cudarc's: bind it by its address, as of_cuda_pointer";
            return Err(Error::Buffer { reason: reason.to_owned() });
        }
        Ok(Self { slice, memory: range.memory.cloned(), length: range.length.cloned() })
    }

    /// The array of a view, which is the device's.
    fn of<T>(gpu: &Cuda, view: View<'a, T>) -> Result<Self> {
        match view.items {
            Items::Device(range) => Self::new(gpu, range),
            Items::Host(_) => Err(wrong_device("cpu", gpu.id())),
        }
    }
}

/// A recording that keeps these arrays.
fn keeping<'a>(
    recording: upsweep_cuda::Recording,
    arrays: impl IntoIterator<Item = BoundArray<'a>>,
) -> Recording {
    let kept = arrays.into_iter().flat_map(|array| array.memory.into_iter().chain(array.length));
    let recording = recording.keeping(kept);
    Recording { bound: recording::Bound::Cuda(Bound(recording)) }
}

impl on_gpu::Gpu for Gpu {
    fn slice_of<'a>(gpu: &Cuda, range: memory::Range<'a>) -> Result<Slice<'a>> {
        range_on(gpu, range)?.on(gpu.gpu())
    }

    fn record<'a>(
        gpu: &Cuda,
        ranges: &[memory::Range<'a>],
        bind: &mut dyn FnMut(&[Slice<'a>]) -> Result<upsweep_cuda::Bound<'a>>,
    ) -> Result<Recording> {
        let arrays = ranges.iter().map(|range| BoundArray::new(gpu, *range));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let slices: Vec<_> = arrays.iter().map(|array| array.slice).collect();
        let bound = bind(&slices)?;
        // SAFETY: arrays of ours are kept, those of the caller's were promised to be there.
        Ok(keeping(unsafe { gpu.gpu().recording(bound) }?, arrays))
    }

    fn record_read(gpu: &Cuda, input: memory::Range<'_>, _: u64) -> Result<Recording> {
        let array = BoundArray::new(gpu, input)?;
        // SAFETY: as above.
        let recording = unsafe { Probe::new(gpu.gpu())?.bind_read(gpu.gpu(), array.slice) }?;
        Ok(keeping(recording, [array]))
    }

    fn record_copy(
        gpu: &Cuda,
        [input, output]: [memory::Range<'_>; 2],
        _: u64,
    ) -> Result<Recording> {
        let arrays = [BoundArray::new(gpu, input)?, BoundArray::new(gpu, output)?];
        let probe = Probe::new(gpu.gpu())?;
        let [input, output] = [arrays[0].slice, arrays[1].slice];
        // SAFETY: as above.
        Ok(keeping(unsafe { probe.bind_copy(gpu.gpu(), input, output) }?, arrays))
    }
}
