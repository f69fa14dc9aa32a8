//! Kernels that are loaded, and how they are launched.

use core::ffi::c_void;
use core::iter;
use core::mem::MaybeUninit;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::NoUninit;
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaStream, result, sys};
use upsweep_core::{Launch as Described, Result};

use crate::device::Gpu;
use crate::driver;
use crate::memory::Buffer;

/// Bytes of shared memory, its own included, that a kernel may have without asking.
const UNASKED_SHARED_BYTES: u32 = 48 << 10;

/// The cubin of a shader in the device's memory.
pub(crate) struct Module {
    loaded: Arc<Loaded>,
    kernels: Vec<Arc<Kernel>>,
}

/// What is unloaded in the end.
#[derive(Debug)]
struct Loaded {
    module: sys::CUmodule,
    context: Arc<CudaContext>,
}

// SAFETY: the driver's handles may be used by any thread, and by several at once.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: nobody has a function of it any more. Nothing is left to do if this fails.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// A function that can be launched.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    function: sys::CUfunction,
    /// Bytes of shared memory that a block needs.
    shared_bytes: u32,
    /// Registers of a thread, and bytes of memory that it has besides.
    registers: u32,
    spilled_bytes: u32,
    /// Bytes of shared memory, besides its own, that were asked for.
    asked: AtomicU32,
    _module: Arc<Loaded>,
}

// SAFETY: the driver's handles may be used by any thread, and by several at once.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Module {
    /// Loads a cubin with these entry points.
    pub(crate) fn load(gpu: &Gpu, cubin: &[u8], entries: &[&'static str]) -> Result<Self> {
        gpu.enter()?;
        // SAFETY: the cubin is whole: the compiler made it, or its check was right.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast::<c_void>()) };
        let module = match module {
            Err(error) if driver::refuses_image(error) => {
                return Err(gpu.failed(format!(
                    "{}: the driver runs CUDA {}, kernels are made for sm_{} by NVRTC {}; use a newer driver, or name \
                     an older NVRTC in UPSWEEP_NVRTC",
                    driver::describe(error),
                    driver::written(gpu.facts.driver),
                    gpu.facts.arch,
                    gpu.compiler_version(),
                )));
            }
            module => gpu.did("loading kernels", module)?,
        };
        let loaded = Arc::new(Loaded { module, context: Arc::clone(gpu.context()) });
        let kernels = entries.iter().map(|entry| Kernel::new(gpu, &loaded, entry).map(Arc::new));
        Ok(Self { kernels: kernels.collect::<Result<_>>()?, loaded })
    }

    /// One of its kernels.
    pub(crate) fn kernel(&self, entry: &str) -> Option<Arc<Kernel>> {
        self.kernels.iter().find(|kernel| kernel.name == entry).map(Arc::clone)
    }
}

impl core::fmt::Debug for Module {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Module").field("loaded", &self.loaded).finish_non_exhaustive()
    }
}

impl Kernel {
    fn new(gpu: &Gpu, module: &Arc<Loaded>, name: &'static str) -> Result<Self> {
        let finding = format!("looking for kernel '{name}'");
        let text = CString::new(name).map_err(|error| gpu.failed(error))?;
        // SAFETY: the module is loaded as long as `module` lives, which the kernel keeps.
        let function =
            gpu.did(&finding, unsafe { result::module::get_function(module.module, text) })?;
        let number = |attribute| {
            // SAFETY: as above.
            let found = unsafe { result::function::get_function_attribute(function, attribute) };
            gpu.did(&finding, found).map(|value| u32::try_from(value).unwrap_or(0))
        };
        Ok(Self {
            name,
            function,
            shared_bytes: number(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            registers: number(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            spilled_bytes: number(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            asked: AtomicU32::new(0),
            _module: Arc::clone(module),
        })
    }

    /// Asks for shared memory that a block does not have unasked. It stays asked for.
    fn ask(&self, gpu: &Gpu, bytes: u32) -> Result<()> {
        if self.shared_bytes + bytes <= UNASKED_SHARED_BYTES
            || bytes <= self.asked.load(Ordering::Relaxed)
        {
            return Ok(());
        }
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the function is loaded as long as the kernel lives.
        let asked =
            unsafe { result::function::set_function_attribute(self.function, attribute, value) };
        let most = gpu.facts.shared_bytes_most;
        gpu.did(
            &format!("asking for {bytes} bytes of shared memory of {most} for '{}'", self.name),
            asked,
        )?;
        self.asked.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// Most arguments of a kernel, and most words of 8 bytes that they take.
const MOST_ARGUMENTS: usize = 16;
const MOST_WORDS: usize = 96;

/// The arguments of a launch, in order. Adding one costs no allocation.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    words: [u64; MOST_WORDS],
    /// The words at which arguments begin.
    starts: [u8; MOST_ARGUMENTS],
    count: usize,
    used: usize,
}

impl Arguments {
    /// No arguments yet.
    pub(crate) fn new() -> Self {
        Self { words: [0; MOST_WORDS], starts: [0; MOST_ARGUMENTS], count: 0, used: 0 }
    }

    /// Another argument, a structure of words of 8 bytes, which follow by [`and`](Arguments::and).
    #[must_use]
    pub(crate) fn begin(mut self) -> Self {
        self.starts[self.count] = self.used as u8;
        self.count += 1;
        self
    }

    /// The same with more words of the last argument.
    #[must_use]
    pub(crate) fn and(mut self, words: impl IntoIterator<Item = u64>) -> Self {
        for word in words {
            self.words[self.used] = word;
            self.used += 1;
        }
        self
    }

    /// Another argument: a number, an address, or a structure with the layout of C.
    ///
    /// # Panics
    /// If there are more than 16 arguments, or more than 768 bytes, which no kernel of ours has.
    #[must_use]
    pub(crate) fn with<T: NoUninit>(mut self, value: T) -> Self {
        let bytes = bytemuck::bytes_of(&value);
        let end = self.used + bytes.len().div_ceil(8);
        bytemuck::cast_slice_mut(&mut self.words[self.used..end])[..bytes.len()]
            .copy_from_slice(bytes);
        self.starts[self.count] = self.used as u8;
        (self.count, self.used) = (self.count + 1, end);
        self
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// Blocks, in two dimensions.
    pub(crate) grid: [u32; 2],
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Bytes of shared memory besides what the kernel declares.
    pub(crate) shared_bytes: u32,
    /// Whether all blocks must run at once, or none.
    pub(crate) cooperative: bool,
}

/// A launch with all that it needs, and perhaps others behind it.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    kernel: Arc<Kernel>,
    launch: Launch,
    /// What follows, with the same arguments.
    behind: Vec<(Arc<Kernel>, Launch)>,
    /// Whether that may begin while the launch before it runs.
    overlaps: bool,
    arguments: Arguments,
    /// What the kernels use besides arrays.
    kept: Vec<Arc<Buffer>>,
}

impl Ready {
    /// A launch that uses `state`.
    ///
    /// # Safety
    /// Those of [`Gpu::launch`], of arrays as long as it may be [begun](Ready::begin).
    pub(crate) unsafe fn new(
        kernel: &Arc<Kernel>,
        launch: Launch,
        arguments: Arguments,
        state: Option<&Arc<Buffer>>,
    ) -> Self {
        let (kernel, kept) = (Arc::clone(kernel), state.map(Arc::clone).into_iter().collect());
        Self { kernel, launch, behind: Vec::new(), overlaps: false, arguments, kept }
    }

    /// The same, which keeps this memory as long as it may be begun.
    #[must_use]
    pub(crate) fn keeping(mut self, memory: &Arc<Buffer>) -> Self {
        self.kept.push(Arc::clone(memory));
        self
    }

    /// The same, with a launch behind it of a kernel that takes the same arguments, and keeps the same promises.
    #[must_use]
    pub(crate) fn then(mut self, kernel: &Arc<Kernel>, launch: Launch) -> Self {
        self.behind.push((Arc::clone(kernel), launch));
        self
    }

    /// The same, in which each launch behind the first may begin while the one before it runs, where device and driver can do that.
    ///
    /// # Safety
    /// Each of these kernels waits until the one before it is over before it does anything that another could see, and before it reads
    /// what one of them has written.
    #[must_use]
    pub(crate) unsafe fn overlapping(mut self) -> Self {
        self.overlaps = true;
        self
    }

    /// Number of launches.
    pub(crate) fn launches(&self) -> usize {
        1 + self.behind.len()
    }

    /// What each launch is, and what it needs of a multiprocessor.
    pub(crate) fn described(&self, gpu: &Gpu) -> Result<Vec<Described>> {
        let first = (&self.kernel, &self.launch);
        let behind = self.behind.iter().map(|(kernel, launch)| (kernel, launch));
        let described = |(kernel, launch): (&Arc<Kernel>, &Launch)| {
            let each = gpu.blocks_at_once(kernel, launch.threads, launch.shared_bytes)?;
            Ok(Described {
                name: kernel.name,
                workgroups: launch.grid.into_iter().map(u64::from).product(),
                threads_per_workgroup: launch.threads,
                registers: Some(kernel.registers),
                spilled_bytes: Some(kernel.spilled_bytes),
                shared_bytes: Some(kernel.shared_bytes + launch.shared_bytes),
                at_once: Some(u64::from(each) * u64::from(gpu.facts.multiprocessors)),
            })
        };
        iter::once(first).chain(behind).map(described).collect()
    }

    /// Bytes of what the kernels use besides arrays.
    pub(crate) fn scratch_bytes(&self) -> u64 {
        self.kept.iter().map(|memory| memory.bytes()).sum()
    }

    /// Launches it into a stream of the device's context.
    pub(crate) fn begin(&self, gpu: &Gpu, stream: &CudaStream) -> Result<()> {
        // SAFETY: promised when this was made.
        unsafe { gpu.launch(stream, &self.kernel, &self.launch, &self.arguments) }?;
        for (kernel, launch) in &self.behind {
            // SAFETY: as above.
            unsafe { gpu.launch_behind(stream, kernel, launch, &self.arguments, self.overlaps) }?;
        }
        Ok(())
    }
}

impl Gpu {
    /// Launches a kernel into a stream of this device's context.
    ///
    /// # Safety
    /// The arguments are those that the kernel has, and what they point to is memory of the device that holds what the
    /// kernel reads and may be written where it writes, until the kernel is done.
    pub(crate) unsafe fn launch(
        &self,
        stream: &CudaStream,
        kernel: &Kernel,
        launch: &Launch,
        arguments: &Arguments,
    ) -> Result<()> {
        // SAFETY: the caller's promises; nothing overlaps.
        unsafe { self.launch_behind(stream, kernel, launch, arguments, false) }
    }

    /// The same behind another launch, while which it may begin if it `overlaps`.
    ///
    /// # Safety
    /// Those of [`launch`](Gpu::launch), and of [`overlapping`](Ready::overlapping).
    unsafe fn launch_behind(
        &self,
        stream: &CudaStream,
        kernel: &Kernel,
        launch: &Launch,
        arguments: &Arguments,
        overlaps: bool,
    ) -> Result<()> {
        self.enter()?;
        kernel.ask(self, launch.shared_bytes)?;
        if stream.cu_stream() != self.stream.cu_stream() {
            self.elsewhere.store(true, Ordering::Release);
        }
        let mut pointers = [core::ptr::null_mut::<c_void>(); MOST_ARGUMENTS];
        for (pointer, &start) in pointers.iter_mut().zip(&arguments.starts[..arguments.count]) {
            *pointer = (&raw const arguments.words[usize::from(start)]).cast_mut().cast();
        }
        let Launch { grid: [x, y], threads, shared_bytes, cooperative } = *launch;
        let function = kernel.function;
        let stream = stream.cu_stream();
        let (grid, block) = ((x, y, 1), (threads, 1, 1));
        let pointers = &mut pointers[..arguments.count];
        // SAFETY: the caller promises what the kernel needs; the driver copies the arguments before it returns.
        let launched = unsafe {
            if cooperative {
                result::launch_cooperative_kernel(
                    function,
                    grid,
                    block,
                    shared_bytes,
                    stream,
                    pointers,
                )
            } else if overlaps && driver::can_overlap(self.facts.arch, self.facts.driver) {
                driver::launch_overlapping(
                    function,
                    [x, y, threads, shared_bytes],
                    stream,
                    pointers,
                )
            } else {
                result::launch_kernel(function, grid, block, shared_bytes, stream, pointers)
            }
        };
        launched.or_else(|error| {
            self.did(&format!("launching '{}' as {launch:?}", kernel.name), Err(error))
        })
    }

    /// How many blocks of a kernel run on one multiprocessor at once.
    pub(crate) fn blocks_at_once(
        &self,
        kernel: &Kernel,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32> {
        self.enter()?;
        kernel.ask(self, shared_bytes)?;
        let mut blocks = MaybeUninit::new(0);
        // SAFETY: the function is loaded as long as the kernel lives; there is room for one number.
        let found = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                blocks.as_mut_ptr(),
                kernel.function,
                threads as i32,
                shared_bytes as usize,
            )
        };
        self.did(
            &format!("asking how many blocks of '{}' run at once", kernel.name),
            found.result(),
        )?;
        // SAFETY: it was a number from the start.
        Ok(u32::try_from(unsafe { blocks.assume_init() }).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_lie_one_behind_another_in_whole_words() {
        let arguments = Arguments::new().with(7u32).with(1u64 << 40).with([1u32, 2, 3]).with(9u8);
        let more = arguments.clone().begin().and([4, 5]);
        assert_eq!((more.count, more.starts[4], &more.words[5..8]), (5, 5, &[4, 5, 0][..]));
        assert_eq!(arguments.count, 4);
        assert_eq!(arguments.starts[..4], [0, 1, 2, 4]);
        assert_eq!(arguments.words[..5], [7, 1 << 40, 1 | 2 << 32, 3, 9]);
    }
}
