//! A GPU as a device: what it can do, its kernels, and the calls.

use core::fmt;
use core::num::NonZeroU64;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use upsweep_core::{Dtype, Error, Limits, Result};
use wgpu::{BindingResource, BufferUsages, Features};

use upsweep_gpu::bits::MOST_BYTES;
use upsweep_gpu::{Folder, show_refused};

use crate::cache::Pipelines;
use crate::faults::Unchecked;
use crate::litmus::Outcome;
use crate::reduce::PARAMETERS;
use crate::shader::{Shader, Types};
use crate::slice::Slice;

/// Features that are used where the adapter has them.
const WANTED: Features = Features::SUBGROUP
    .union(Features::SHADER_INT64)
    .union(Features::SHADER_INT64_ATOMIC_ALL_OPS)
    .union(Features::SHADER_F64)
    .union(Features::MAPPABLE_PRIMARY_BUFFERS)
    .union(Features::PIPELINE_CACHE)
    .union(Features::TIMESTAMP_QUERY)
    .union(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

/// What kernels must know of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Neighbouring threads that surely are in one subgroup; 1 if subgroups are not used.
    pub(crate) subgroup: u32,
    /// Most threads of a workgroup.
    pub(crate) threads: u32,
    /// Bytes of memory that a workgroup shares.
    pub(crate) shared_bytes: u32,
    /// Most workgroups in one dimension.
    pub(crate) grid: u32,
    /// Most bytes of one binding, and what its offset must be a multiple of.
    pub(crate) binding_bytes: u64,
    pub(crate) alignment: u64,
    /// Whether values of 64 bits have all atomics.
    pub(crate) int64_atomics: bool,
    /// Whether words that carry their own proof go from workgroup to workgroup within a launch.
    pub(crate) messages: bool,
    /// Whether workgroups that have started are sure to go on.
    pub(crate) forward_progress: bool,
    /// `pack2x16float` rounds to the nearest f16, ties to even.
    pub(crate) packs_halves: bool,
}

/// The interfaces that devices are reached through.
const BACKENDS: wgpu::Backends = wgpu::Backends::PRIMARY;

fn instance(flags: wgpu::InstanceFlags) -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: BACKENDS,
        flags,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    })
}

fn of_instance(instance: &wgpu::Instance) -> Vec<wgpu::Adapter> {
    let mut adapters = pollster::block_on(instance.enumerate_adapters(BACKENDS));
    let rank = |adapter: &wgpu::Adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    adapters.sort_by_key(|adapter| (rank(adapter), adapter.get_info().name));
    adapters
}

/// Where a pipeline is once it is compiled. Whoever compiles it holds this meanwhile.
pub(crate) type Place = Arc<Mutex<Option<wgpu::ComputePipeline>>>;

/// A GPU.
pub struct Gpu {
    id: String,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) facts: Facts,
    limits: Limits,
    pub(crate) pipelines: Mutex<HashMap<(Shader, &'static str), Place>>,
    /// What the driver made of kernels before, if we keep that.
    pub(crate) cache: Option<Pipelines>,
    /// Why the device was lost, if it is one of ours and was.
    lost: Arc<OnceLock<String>>,
    pub(crate) unchecked: Unchecked,
    /// What sizes launches by lengths that only the device knows: `launch_sizes.wgsl`.
    pub(crate) sizing: Mutex<Option<wgpu::ComputePipeline>>,
    /// What sets parameters by them: `derived_parameters.wgsl`.
    pub(crate) deriving: Mutex<Option<wgpu::ComputePipeline>>,
}

impl Gpu {
    /// Every adapter there is, in a fixed order: discrete GPUs first, software last.
    pub fn adapters() -> Vec<wgpu::Adapter> {
        // One instance for all of them: wgpu names buffers by numbers that begin anew with every instance, so that
        // it would take a buffer of one for a buffer of the other.
        static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
        of_instance(INSTANCE.get_or_init(|| instance(wgpu::InstanceFlags::empty())))
    }

    /// As [`adapters`](Gpu::adapters), with layers that watch what is done.
    pub fn adapters_with(flags: wgpu::InstanceFlags) -> Vec<wgpu::Adapter> {
        of_instance(&instance(flags))
    }

    /// A device of its own on this adapter, with everything the adapter can do.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the adapter gives no device.
    pub fn open(id: &str, adapter: &wgpu::Adapter) -> Result<Self> {
        Self::open_with(id, adapter, &Folder::of_user())
    }

    /// As [`open`](Gpu::open), with another folder for what is kept.
    pub(crate) fn open_with(id: &str, adapter: &wgpu::Adapter, folder: &Folder) -> Result<Self> {
        let descriptor = wgpu::DeviceDescriptor {
            label: Some(id),
            required_features: adapter.features() & WANTED,
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|error| Error::NoDevice { id: id.to_owned(), reason: error.to_string() })?;
        let cache = Pipelines::open(&device, &adapter.get_info(), folder.clone());
        // A caller's device has a callback of the caller's, and there is only one.
        let lost = Arc::new(OnceLock::new());
        let why = Arc::clone(&lost);
        device.set_device_lost_callback(move |_, message| {
            // Only the first reason counts.
            let _ = why.set(message);
        });
        Ok(Self { lost, ..Self::with(id, adapter, (device, queue), folder, cache) })
    }

    /// The caller's own device and queue. Features that it was not opened with are not used, and what its driver
    /// makes of kernels is not kept. Unless the same is known from before, a small launch tries out what the device
    /// does; this waits for it.
    pub fn from_wgpu(
        id: &str,
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
    ) -> Self {
        Self::with(id, adapter, (device, queue), &Folder::of_user(), None)
    }

    fn with(
        id: &str,
        adapter: &wgpu::Adapter,
        (device, queue): (wgpu::Device, wgpu::Queue),
        folder: &Folder,
        cache: Option<Pipelines>,
    ) -> Self {
        let info = adapter.get_info();
        let (features, granted) = (device.features(), device.limits());
        let subgroup =
            if features.contains(Features::SUBGROUP) { info.subgroup_min_size.max(1) } else { 1 };
        let facts = Facts {
            subgroup,
            threads: granted
                .max_compute_invocations_per_workgroup
                .min(granted.max_compute_workgroup_size_x),
            shared_bytes: granted.max_compute_workgroup_storage_size,
            grid: granted.max_compute_workgroups_per_dimension,
            binding_bytes: granted.max_storage_buffer_binding_size.min(granted.max_buffer_size),
            alignment: u64::from(granted.min_storage_buffer_offset_alignment).max(16),
            int64_atomics: features
                .contains(Features::SHADER_INT64 | Features::SHADER_INT64_ATOMIC_ALL_OPS),
            messages: false,
            forward_progress: false,
            packs_halves: false,
        };
        let mut limits =
            Limits::least(info.name.clone(), format!("{:?}", info.backend).to_lowercase());
        limits.driver = format!("{} {}", info.driver, info.driver_info).trim().to_owned();
        limits.l1_bytes = facts.shared_bytes as usize;
        // Nobody says.
        limits.l2_bytes = 0;
        limits.subgroup_sizes =
            if subgroup > 1 { (info.subgroup_min_size, info.subgroup_max_size) } else { (1, 1) };
        limits.threads_per_workgroup = facts.threads;
        limits.buffer_bytes = Some(granted.max_buffer_size);
        limits.binding_bytes = Some(facts.binding_bytes);
        limits.workgroups_per_dimension = Some(facts.grid);
        limits.int64 = features.contains(Features::SHADER_INT64);
        limits.int64_atomics = facts.int64_atomics;
        limits.float64 = features.contains(Features::SHADER_F64);
        limits.timestamps = features.contains(Features::TIMESTAMP_QUERY);
        let (pipelines, unchecked, sizing, deriving) = Default::default();
        let (id, lost) = (id.to_owned(), Arc::default());
        let mut gpu = Self {
            id,
            device,
            queue,
            facts,
            limits,
            pipelines,
            cache,
            lost,
            unchecked,
            sizing,
            deriving,
        };
        let outcome = gpu.litmus(&info, folder);
        gpu.trust(outcome);
        gpu
    }

    /// Uses of the device what was found to hold.
    pub(crate) fn trust(&mut self, outcome: Outcome) {
        if !outcome.subgroups {
            (self.facts.subgroup, self.limits.subgroup_sizes) = (1, (1, 1));
        }
        self.facts.messages = outcome.messages;
        self.facts.forward_progress = outcome.progress;
        self.facts.packs_halves = outcome.packs_halves;
        self.limits.messages = outcome.messages;
        self.limits.forward_progress = outcome.progress;
        self.limits.subnormals = outcome.subnormals;
    }

    /// The id it was opened with.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the device can do.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The device and queue that work is submitted to.
    pub fn wgpu(&self) -> (&wgpu::Device, &wgpu::Queue) {
        (&self.device, &self.queue)
    }

    /// The pipeline of an entry point; compiled at its first use.
    pub(crate) fn pipeline(
        &self,
        shader: &Shader,
        entry: &'static str,
    ) -> Result<wgpu::ComputePipeline> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Arc::clone(pipelines.entry((shader.clone(), entry)).or_default());
        drop(pipelines);
        // Threads compile at once, but each pipeline once: whoever wants the same waits for it.
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = &*place {
            return Ok(pipeline.clone());
        }
        let pipeline = self.compile(&shader.text(), entry)?;
        Ok(place.insert(pipeline).clone())
    }

    /// Compiles an entry point of a shader.
    pub(crate) fn compile(&self, text: &str, entry: &str) -> Result<wgpu::ComputePipeline> {
        let compiled = self.scoped(|| {
            let descriptor = wgpu::ShaderModuleDescriptor {
                label: Some(entry),
                source: wgpu::ShaderSource::Wgsl(text.into()),
            };
            let checks = wgpu::ShaderRuntimeChecks {
                force_loop_bounding: false,
                ..wgpu::ShaderRuntimeChecks::checked()
            };
            // SAFETY: every loop of our kernels has an end that is known before it begins; all other
            // checks stay.
            let module = unsafe { self.device.create_shader_module_trusted(descriptor, checks) };
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: None,
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions {
                    // Every kernel writes what it reads of a workgroup's memory.
                    zero_initialize_workgroup_memory: false,
                    ..wgpu::PipelineCompilationOptions::default()
                },
                cache: self.cache.as_ref().map(|pipelines| &pipelines.cache),
            })
        });
        let compiled = compiled.inspect_err(|_| show_refused(text))?;
        if let Some(pipelines) = &self.cache {
            pipelines.keep();
        }
        Ok(compiled)
    }

    /// Calls `work`, and gives the device's complaints about it as an error.
    pub(crate) fn scoped<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        match self.watched(work) {
            (result, None) => self.still_here().map(|()| result),
            (_, Some(error)) => self.still_here().and(Err(self.failed(error))),
        }
    }

    /// Calls `work`, and returns the device's first complaint about it. Nothing that wgpu may complain of is called
    /// in any other way: what nobody watches for makes wgpu panic.
    fn watched<R>(&self, work: impl FnOnce() -> R) -> (R, Option<wgpu::Error>) {
        let scopes = [
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Validation,
        ]
        .map(|filter| self.device.push_error_scope(filter));
        let result = work();
        let mut found = None;
        for scope in scopes.into_iter().rev() {
            found = found.or(pollster::block_on(scope.pop()));
        }
        (result, found)
    }

    /// An error if the device was lost, of which wgpu says nothing when it is used.
    fn still_here(&self) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(why) => Err(self.failed(format!("it was lost: {why}"))),
        }
    }

    /// The error for something that wgpu says, in one line.
    pub(crate) fn failed(&self, reason: impl fmt::Display) -> Error {
        let reason = format!("{reason:#}");
        let lines = reason.lines().map(str::trim).filter(|line| !line.is_empty());
        let reason = lines.collect::<Vec<_>>().join(" ");
        Error::DeviceFailed { device: self.id.clone(), reason }
    }

    /// Writes to a buffer before whatever is submitted next.
    pub(crate) fn write(&self, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.scoped(|| self.queue.write_buffer(buffer, offset, bytes))
    }

    /// Whether kernels of these types can run here.
    pub(crate) fn check(&self, types: &Types) -> Result<()> {
        let missing = |dtype: Dtype, reason: &str| {
            Err(Error::ElementUnsupported {
                device: self.id.clone(),
                element: dtype.name().to_owned(),
                reason: reason.to_owned(),
            })
        };
        for dtype in types.computed_with() {
            match dtype {
                Dtype::U64 | Dtype::I64 | Dtype::F64 if !self.limits.int64 => {
                    return missing(dtype, "it has no 64-bit integers");
                }
                Dtype::F64 if !self.limits.float64 => {
                    return missing(dtype, "it has no 64-bit floats");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A buffer for the parameters of `dispatches` dispatches; a kernel may set them too.
    pub(crate) fn parameters(&self, dispatches: u64) -> Result<wgpu::Buffer> {
        let usage = BufferUsages::UNIFORM | BufferUsages::STORAGE | BufferUsages::COPY_DST;
        self.buffer("parameters", dispatches * PARAMETERS, usage)
    }

    /// The binding of one dispatch's parameters.
    pub(crate) fn parameter_binding<'a>(
        &self,
        buffer: &'a wgpu::Buffer,
        index: usize,
    ) -> BindingResource<'a> {
        BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset: index as u64 * PARAMETERS,
            size: NonZeroU64::new(PARAMETERS),
        })
    }

    /// The binding of a result, which begins where a binding may.
    pub(crate) fn result_binding<'a>(&self, result: &Slice<'a>) -> BindingResource<'a> {
        let offset = result.offset / self.facts.alignment * self.facts.alignment;
        BindingResource::Buffer(wgpu::BufferBinding { buffer: result.buffer, offset, size: None })
    }

    /// Bytes in the binding in front of the result.
    pub(crate) fn result_start(&self, result: &Slice<'_>) -> u32 {
        (result.offset % self.facts.alignment) as u32
    }

    /// A bind group of a pipeline.
    pub(crate) fn group(
        &self,
        pipeline: &wgpu::ComputePipeline,
        bindings: &[(u32, BindingResource<'_>)],
    ) -> Result<wgpu::BindGroup> {
        let entries: Vec<_> = bindings
            .iter()
            .map(|(binding, resource)| wgpu::BindGroupEntry {
                binding: *binding,
                resource: resource.clone(),
            })
            .collect();
        self.scoped(|| {
            self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            })
        })
    }

    /// A buffer for kernels, holding zeros.
    pub(crate) fn buffer(
        &self,
        label: &str,
        bytes: u64,
        usage: BufferUsages,
    ) -> Result<wgpu::Buffer> {
        let size = bytes.next_multiple_of(16).max(MOST_BYTES as u64);
        let out_of_memory =
            Error::OutOfMemory { bytes: usize::try_from(bytes).unwrap_or(usize::MAX) };
        if size > self.device.limits().max_buffer_size {
            return Err(out_of_memory);
        }
        let (buffer, complaint) = self.watched(|| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage,
                mapped_at_creation: false,
            })
        });
        self.still_here()?;
        match complaint {
            None => Ok(buffer),
            Some(wgpu::Error::OutOfMemory { .. }) => Err(out_of_memory),
            Some(error) => Err(self.failed(error)),
        }
    }

    /// A buffer with a copy of `bytes`.
    pub(crate) fn upload(&self, label: &str, bytes: &[u8]) -> Result<wgpu::Buffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let buffer = self.buffer(label, bytes.len() as u64, usage)?;
        let whole = bytes.len() / 4 * 4;
        self.write(&buffer, 0, &bytes[..whole])?;
        if whole < bytes.len() {
            let mut rest = [0; 4];
            rest[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
            self.write(&buffer, whole as u64, &rest)?;
        }
        Ok(buffer)
    }

    /// Copies a range of a buffer to the host, and waits for it.
    pub(crate) fn download(
        &self,
        buffer: &wgpu::Buffer,
        offset: u64,
        output: &mut [u8],
    ) -> Result<()> {
        /// Bytes that are on their way at once.
        const PIECE: u64 = 64 << 20;
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let most = PIECE.min(self.device.limits().max_buffer_size / 16 * 16);
        let staging = self.buffer("read back", most.min(output.len() as u64 + 8), usage)?;
        let mut done = 0u64;
        while (done as usize) < output.len() {
            // Copies begin and end at multiples of four bytes.
            let from = (offset + done) / 4 * 4;
            let skip = offset + done - from;
            let take = (output.len() as u64 - done).min(staging.size() - 4 - skip);
            let bytes = (skip + take).next_multiple_of(4);
            self.scoped(|| {
                let mut encoder = self.device.create_command_encoder(&<_>::default());
                encoder.copy_buffer_to_buffer(buffer, from, &staging, 0, bytes);
                self.queue.submit([encoder.finish()])
            })?;
            let target = &mut output[done as usize..(done + take) as usize];
            self.read(&staging, skip, target)?;
            done += take;
        }
        Ok(())
    }

    /// Waits for all that was submitted, and copies what a mappable buffer holds.
    pub(crate) fn read(&self, staging: &wgpu::Buffer, skip: u64, output: &mut [u8]) -> Result<()> {
        let bytes = (skip + output.len() as u64).next_multiple_of(8).min(staging.size());
        let (send, receive) = std::sync::mpsc::channel();
        self.scoped(|| {
            staging.map_async(wgpu::MapMode::Read, ..bytes, move |mapped| {
                // Nobody listens when the wait below has failed.
                let _ = send.send(mapped);
            });
        })?;
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| self.failed(error))?;
        self.still_here()?;
        receive.recv().map_err(|error| self.failed(error))?.map_err(|error| self.failed(error))?;
        let view = staging.get_mapped_range(..bytes).map_err(|error| self.failed(error))?;
        output.copy_from_slice(&view[skip as usize..skip as usize + output.len()]);
        drop(view);
        staging.unmap();
        Ok(())
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu")
            .field("id", &self.id)
            .field("name", &self.limits.name)
            .finish_non_exhaustive()
    }
}
