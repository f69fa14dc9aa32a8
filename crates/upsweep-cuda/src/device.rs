//! A GPU as a device: what it can do, its stream, its kernels.

use core::fmt;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};
use upsweep_core::{Error, Limits, Result};

use crate::compile::{Compiler, Target};
use crate::driver;
use crate::launch::{Kernel, Module};
use crate::mapped::Mapped;
use crate::shader::{LENGTH_ABOVE_BOUND, NOTHING_TO_GATHER, Shader};
use upsweep_gpu::Folder;

/// What kernels must know of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The architecture: 90 is compute capability 9.0, `sm_90`.
    pub(crate) arch: u32,
    /// Threads of a warp.
    pub(crate) subgroup: u32,
    /// Most threads of a block.
    pub(crate) threads: u32,
    /// Bytes of memory that a block shares: without asking for more, and the most.
    pub(crate) shared_bytes: u32,
    pub(crate) shared_bytes_most: u32,
    /// Most blocks in one dimension.
    pub(crate) grid: u32,
    /// Multiprocessors, and what each has for the blocks that run on it at once.
    pub(crate) multiprocessors: u32,
    pub(crate) threads_of_each: u32,
    pub(crate) blocks_of_each: u32,
    pub(crate) shared_bytes_of_each: u32,
    pub(crate) registers_of_each: u32,
    /// Bytes of the cache that all share.
    pub(crate) l2_bytes: u64,
    /// Bytes of the device's memory.
    pub(crate) memory_bytes: u64,
    /// Thousand cycles in a second of the memory, and bits that come with each edge; 0 where the driver does not say.
    pub(crate) memory_kilohertz: u32,
    pub(crate) memory_bits: u32,
    /// Whether the device's memory is the host's.
    pub(crate) integrated: bool,
    /// Whether all blocks of a launch can be made to run at once.
    pub(crate) cooperative: bool,
    /// Whether memory is allocated and freed in the order of a stream.
    pub(crate) pools: bool,
    /// The newest CUDA that the driver runs: 13000 is 13.0.
    pub(crate) driver: i32,
}

impl Facts {
    fn of(context: &CudaContext) -> core::result::Result<Self, DriverError> {
        let number =
            |attribute| context.attribute(attribute).map(|value| u32::try_from(value).unwrap_or(0));
        // What an old driver does not know is 0.
        let maybe = |attribute| number(attribute).unwrap_or(0);
        let (major, minor) = context.compute_capability()?;
        Ok(Self {
            arch: u32::try_from(10 * major + minor).unwrap_or(0),
            subgroup: number(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            threads: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            shared_bytes: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
            shared_bytes_most: number(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )?,
            grid: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            threads_of_each: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            blocks_of_each: maybe(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
            shared_bytes_of_each: number(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )?,
            registers_of_each: number(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
            )?,
            l2_bytes: u64::from(maybe(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)),
            memory_bytes: context.total_mem()? as u64,
            memory_kilohertz: maybe(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
            memory_bits: maybe(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
            integrated: maybe(Attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0,
            cooperative: maybe(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0,
            pools: context.has_async_alloc(),
            driver: driver::version(),
        })
    }

    /// The limits of a device with these facts.
    fn limits(&self, name: String) -> Limits {
        let mut limits = Limits::least(name, "cuda");
        limits.driver = format!("CUDA {}", driver::written(self.driver));
        limits.compute_units = self.multiprocessors as usize;
        limits.l1_bytes = self.shared_bytes_most as usize;
        limits.l2_bytes = usize::try_from(self.l2_bytes).unwrap_or(usize::MAX);
        limits.memory_bytes = Some(self.memory_bytes);
        limits.subgroup_sizes = (self.subgroup, self.subgroup);
        limits.threads_per_workgroup = self.threads;
        limits.buffer_bytes = Some(self.memory_bytes);
        limits.workgroups_per_dimension = Some(self.grid);
        limits.messages = true;
        // CUDA promises it of blocks that have started, and from 7.0 on of the threads of a warp too.
        limits.forward_progress = self.arch >= 70;
        limits.int64 = true;
        limits.int64_atomics = true;
        limits.float64 = true;
        limits.subnormals = true;
        limits.timestamps = true;
        limits
    }
}

/// A GPU.
pub struct Gpu {
    id: String,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) facts: Facts,
    limits: Limits,
    compiler: Compiler,
    pub(crate) modules: Mutex<HashMap<Shader, Arc<Module>>>,
    /// Whether kernels are made and kept on disk, but not loaded.
    only_makes: AtomicBool,
    /// What made the context useless, if something did.
    lost: OnceLock<String>,
    /// Whether anything was launched into a stream of the caller's, so that freeing memory must wait for it.
    pub(crate) elsewhere: AtomicBool,
    /// Whether anything is part of a graph of the caller's, of whose launches nobody tells us.
    pub(crate) captured: AtomicBool,
    /// Its first word is 1 if a workgroup has waited in vain for another, in any kernel, since this was last looked at.
    in_vain: Mapped,
}

impl Gpu {
    /// How many devices there are.
    ///
    /// # Errors
    /// [`Error::NoDevice`] with the reason if there are none.
    pub fn devices() -> Result<usize> {
        let absent = |reason| Error::NoDevice { id: "cuda:0".to_owned(), reason };
        driver::ready().map_err(absent)?;
        let count = result::device::get_count().map_err(|error| absent(driver::describe(error)))?;
        match usize::try_from(count) {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(absent("the driver sees no CUDA device".to_owned())),
        }
    }

    /// The device of this number, as `cuda:{number}`, with a stream of its own in the device's primary context.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no such device.
    pub fn open(number: usize) -> Result<Self> {
        Self::open_with(number, Compiler::of_machine(Folder::of_user()))
    }

    /// As [`open`](Gpu::open), with another compiler.
    pub(crate) fn open_with(number: usize, compiler: Compiler) -> Result<Self> {
        let id = format!("cuda:{number}");
        let absent = |reason| Error::NoDevice { id: id.clone(), reason };
        let count = match Self::devices() {
            Err(Error::NoDevice { reason, .. }) => return Err(absent(reason)),
            count => count?,
        };
        if number >= count {
            return Err(absent(format!("the driver sees {count} CUDA devices, numbered from 0")));
        }
        let refused = |error| absent(driver::describe(error));
        let context = CudaContext::new(number).map_err(refused)?;
        let stream = context.new_stream().map_err(refused)?;
        Self::with(&id, stream, compiler)
    }

    /// A device that works in the default stream of the caller's context, in order with what the caller does there.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the driver does not say what the device is.
    pub fn from_context(id: &str, context: &Arc<CudaContext>) -> Result<Self> {
        Self::from_stream(id, context.default_stream())
    }

    /// A device that works in a stream of the caller's, in order with what the caller does there.
    ///
    /// # Errors
    /// As [`from_context`](Gpu::from_context).
    pub fn from_stream(id: &str, stream: Arc<CudaStream>) -> Result<Self> {
        Self::with(id, stream, Compiler::of_machine(Folder::of_user()))
    }

    fn with(id: &str, stream: Arc<CudaStream>, compiler: Compiler) -> Result<Self> {
        let known = |error| Error::NoDevice { id: id.to_owned(), reason: driver::describe(error) };
        let context = stream.context();
        let facts = Facts::of(context).map_err(known)?;
        let limits = facts.limits(context.name().map_err(known)?);
        let in_vain = Mapped::new(context).map_err(known)?;
        let (id, (modules, only_makes, lost, elsewhere, captured)) =
            (id.to_owned(), <_>::default());
        Ok(Self {
            id,
            stream,
            facts,
            limits,
            compiler: compiler.for_target(Target { arch: facts.arch, driver: facts.driver }),
            modules,
            only_makes,
            lost,
            elsewhere,
            captured,
            in_vain,
        })
    }

    /// The id it was opened with.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the device can do.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The context that everything is in.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// The stream that calls without one of the caller's run in.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// A kernel by its entry point; its shader is compiled at its first use.
    pub(crate) fn kernel(&self, shader: &Shader, entry: &'static str) -> Result<Arc<Kernel>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match modules.get(shader) {
            Some(module) => Arc::clone(module),
            None => {
                let module = Arc::new(self.load(&shader.text(), &shader.entries)?);
                modules.insert(shader.clone(), Arc::clone(&module));
                module
            }
        };
        module
            .kernel(entry)
            .ok_or_else(|| self.failed(format!("a shader has no entry point '{entry}'")))
    }

    /// Compiles a text, or takes what was made of it before, and loads it.
    pub(crate) fn load(&self, text: &str, entries: &[&'static str]) -> Result<Module> {
        Module::load(self, &self.make(text)?, entries)
    }

    /// The cubin of a text, compiled unless that was done before.
    fn make(&self, text: &str) -> Result<Vec<u8>> {
        let compiled = self.compiler.cubin(text, self.facts.arch, &[]);
        compiled.map(|compiled| compiled.cubin).map_err(|reason| self.failed(reason))
    }

    /// From now on kernels that calls need are made and kept on disk, but neither loaded nor run: each such call ends with
    /// [`Error::DeviceFailed`]. For programs that make kernels for others.
    pub fn only_make_kernels(&self) {
        self.only_makes.store(true, Ordering::Relaxed);
    }

    /// Makes all kernels of a call and ends it, if that is [wanted](Gpu::only_make_kernels).
    pub(crate) fn make_only(&self, shaders: &[Shader]) -> Result<()> {
        if !self.only_makes.load(Ordering::Relaxed) {
            return Ok(());
        }
        shaders.iter().try_for_each(|shader| self.make(&shader.text()).map(drop))?;
        Err(self.failed("kernels are made only"))
    }

    /// The version of the compiler, as far as it is known.
    pub(crate) fn compiler_version(&self) -> String {
        self.compiler.version().unwrap_or_default()
    }

    /// Makes this device's context the one that the driver's functions work in.
    pub(crate) fn enter(&self) -> Result<()> {
        self.still_here()?;
        self.did("entering the context", self.context().bind_to_thread())
    }

    /// What the driver returned, as ours; `what` is what was being done.
    pub(crate) fn did<R>(
        &self,
        what: &str,
        result: core::result::Result<R, DriverError>,
    ) -> Result<R> {
        result.map_err(|error| {
            let reason = format!("{what}: {}", driver::describe(error));
            if driver::is_final(error) {
                // Only the first reason counts.
                let _ = self.lost.set(reason.clone());
            }
            self.failed(reason)
        })
    }

    /// An error if the context is of no use any more.
    fn still_here(&self) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(why) => Err(self.failed(format!("it was lost: {why}"))),
        }
    }

    /// The error for something that the driver or the compiler says.
    pub(crate) fn failed(&self, reason: impl fmt::Display) -> Error {
        Error::DeviceFailed { device: self.id.clone(), reason: reason.to_string() }
    }

    /// Waits for everything that calls have begun, in the device's own stream and in those of the caller's.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if a kernel or the device failed since this was last asked.
    pub fn wait(&self) -> Result<()> {
        self.quiet()?;
        self.wait_for(&self.stream)
    }

    /// Waits for everything that was begun in a stream, and says whether any kernel has failed.
    pub(crate) fn wait_for(&self, stream: &CudaStream) -> Result<()> {
        self.synchronize(stream)?;
        self.settle()
    }

    /// Waits for everything that was begun in a stream.
    pub(crate) fn synchronize(&self, stream: &CudaStream) -> Result<()> {
        self.still_here()?;
        self.did("waiting for the device", stream.synchronize())
    }

    /// Looks whether a workgroup has waited in vain for another in a kernel that is done, and was not asked about yet.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if so; what was written then is not to be trusted. [`Error::LengthAboveBound`] if a kernel found a length in the
    /// device's memory above its bound; [`Error::NothingToGather`] if indices stood for nothing.
    pub(crate) fn settle(&self) -> Result<()> {
        match self.in_vain.first().swap(0, Ordering::AcqRel) {
            0 => Ok(()),
            LENGTH_ABOVE_BOUND => {
                let [length, bound] =
                    [1, 2].map(|word| self.in_vain.word(word).load(Ordering::Acquire));
                Err(Error::LengthAboveBound { length, bound })
            }
            NOTHING_TO_GATHER => {
                let indices = self.in_vain.word(1).load(Ordering::Acquire);
                Err(Error::NothingToGather {
                    indices: usize::try_from(indices).unwrap_or(usize::MAX),
                })
            }
            _ => Err(self.failed("a workgroup waited too long for another")),
        }
    }

    /// The address of the word in which workgroups say that they have waited in vain.
    pub(crate) fn in_vain(&self) -> u64 {
        self.in_vain.device()
    }

    /// Waits for every stream in which something of ours may be under way, before memory is freed.
    pub(crate) fn quiet(&self) -> Result<()> {
        if self.elsewhere.swap(false, Ordering::AcqRel) || self.captured.load(Ordering::Acquire) {
            self.did("waiting for the device", self.context().synchronize())?;
        }
        Ok(())
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // A kernel that nobody waited for may still say that it has waited in vain.
        let _ = self.quiet().and_then(|()| self.synchronize(&self.stream));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn limits_follow_from_facts() {
        let facts = testing::facts(90);
        let limits = facts.limits("NVIDIA H200".to_owned());
        assert_eq!((limits.name.as_str(), limits.driver.as_str()), ("NVIDIA H200", "CUDA 13.0"));
        assert_eq!((limits.compute_units, limits.l1_bytes), (132, 227 << 10));
        assert_eq!((limits.subgroup_sizes, limits.threads_per_workgroup), ((32, 32), 1024));
        assert_eq!((limits.memory_bytes, limits.binding_bytes), (Some(140 << 30), None));
        assert!(limits.messages && limits.forward_progress && limits.int64_atomics);
        let old = Facts { arch: 61, ..testing::facts(61) }.limits(String::new());
        assert!(old.messages && !old.forward_progress, "threads of its warps may wait for ever");
    }
}
