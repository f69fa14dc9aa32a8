//! CUB, in a library made of `benches/peers/cuda/cub.cu`.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use libloading::{Library, Symbol};
use upsweep_core::Result;
use upsweep_cuda::{Gpu, Memory, Slice};

type Run = unsafe extern "C" fn(
    *const c_char,
    *mut c_void,
    *mut usize,
    *const c_void,
    *mut c_void,
    u64,
    *mut c_void,
    *const c_void,
    u64,
) -> c_int;

/// CUDA's number for what a library does not have.
const NOT_SUPPORTED: c_int = 801;

pub(crate) struct Cub {
    library: Library,
    /// As `cub 3.0.1`.
    pub(crate) name: String,
}

/// A job with its scratch memory.
pub(crate) struct Job<'a> {
    run: Symbol<'a, Run>,
    name: CString,
    temp: Memory,
}

impl Cub {
    pub(crate) fn load(path: &str) -> Self {
        // SAFETY: the library is the one that was named; its initialisers are those of CUDA's runtime.
        let library = unsafe { Library::new(path) }.expect("CUB names libraries of cub.cu");
        // SAFETY: `cub.cu` has this function.
        let version = unsafe {
            library
                .get::<unsafe extern "C" fn() -> c_int>(b"upsweep_peer_version")
                .expect("it is of cub.cu")()
        };
        let (major, minor, patch) = (version / 100_000, version / 100 % 1000, version % 100);
        Self { library, name: format!("cub {major}.{minor}.{patch}") }
    }

    /// A job for so many items; `None` if this CUB does not have it.
    pub(crate) fn job(
        &self,
        gpu: &std::sync::Arc<Gpu>,
        name: &str,
        items: usize,
    ) -> Result<Option<Job<'_>>> {
        self.segmented_job(gpu, name, items, 0)
    }

    /// One of as many segments.
    pub(crate) fn segmented_job(
        &self,
        gpu: &std::sync::Arc<Gpu>,
        name: &str,
        items: usize,
        segments: usize,
    ) -> Result<Option<Job<'_>>> {
        // SAFETY: `cub.cu` has this function.
        let run: Symbol<'_, Run> =
            unsafe { self.library.get(b"upsweep_peer_run_segments") }.expect("it is of cub.cu");
        let name = CString::new(name).expect("it is written by us");
        let mut bytes = 0;
        let (none, items) = (ptr::null_mut(), items as u64);
        // SAFETY: without scratch memory only its size is asked for.
        let error = unsafe {
            let (stream, segments) = (stream_of(gpu), segments as u64);
            run(name.as_ptr(), none, &mut bytes, none, none, items, stream, none, segments)
        };
        if error == NOT_SUPPORTED {
            return Ok(None);
        }
        assert_eq!(error, 0, "{}", self.name);
        let temp = Memory::new::<u8>(gpu, bytes.max(1))?;
        Ok(Some(Job { run, name, temp }))
    }
}

impl Job<'_> {
    /// Begins it in the device's own stream.
    pub(crate) fn begin(&self, gpu: &Gpu, input: Slice<'_>, output: Slice<'_>) -> Result<()> {
        self.begin_segments(gpu, input, output, (0, 0))
    }

    /// The same by offsets or keys at an address, of so many segments.
    pub(crate) fn begin_segments(
        &self,
        gpu: &Gpu,
        input: Slice<'_>,
        output: Slice<'_>,
        (marks, segments): (u64, u64),
    ) -> Result<()> {
        let mut bytes = self.temp.len();
        let pointer = |slice: Slice<'_>| slice.pointer() as *mut c_void;
        // SAFETY: the arrays hold as many items as are named, or the one result; the scratch memory is as large as asked for.
        let error = unsafe {
            (self.run)(
                self.name.as_ptr(),
                pointer(self.temp.slice()),
                &mut bytes,
                pointer(input),
                pointer(output),
                input.len() as u64,
                stream_of(gpu),
                marks as *const c_void,
                segments,
            )
        };
        assert_eq!(error, 0, "CUDA's number of an error, {:?}", self.name);
        Ok(())
    }
}

fn stream_of(gpu: &Gpu) -> *mut c_void {
    gpu.stream().cu_stream().cast()
}
