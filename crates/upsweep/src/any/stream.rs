//! Arrays that come in chunks.

mod select;

use core::fmt;
use std::sync::Arc;

use upsweep_core::Language;
use upsweep_cpu::Cpu;
use upsweep_gpu::{ErasedReduce, ErasedScan};

pub use select::{PositionStream, RunLengthStream, SelectStream, UniqueStream};

use super::kernel::{ReduceKernel, ScanKernel, widened, widened_to};
use super::pairs::{ReduceChunks, ScanChunks};
use super::position::{PositionChunks, Positions};
use super::reduce::mean_of;
use super::view::{AnyView, AnyViewMut};
use super::{Op, Reduce, Scalar, Scan, with_dtype};
use crate::backend::Kind;
use crate::erased::{ErasedChunks, ErasedGpu};
use crate::{Device, Direction, Dtype, Error, Result};

/// Where chunks are worked on, on a GPU with the problem `P`.
enum Place<P> {
    Cpu(Arc<Cpu>),
    Gpu(Box<dyn ErasedChunks>, P),
}

impl<P> Place<P> {
    fn new(device: &Device, problem: impl FnOnce(Language) -> P) -> Self {
        let of = |gpu: &dyn ErasedGpu| Self::Gpu(gpu.chunks(), problem(gpu.language()));
        match device.kind() {
            Kind::Cpu(cpu) => Self::Cpu(Arc::clone(cpu)),
            Kind::Wgpu(gpu) => of(gpu),
            Kind::Cuda(gpu) => of(gpu),
        }
    }
}

/// A reduction of an array that comes in chunks, first chunk first, with the bits that the whole would give.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{self, AnyView, Op, Reduce, ReduceStream}};
/// let device = Device::cpu();
/// let items = vec![0.1f32; 3_000_000];
/// let problem = Reduce::new(Op::Sum);
/// let mut stream = ReduceStream::new(&device, Dtype::F32, &problem)?;
/// for chunk in items.chunks(ReduceStream::CHUNK) {
///     stream.push(chunk)?;
/// }
/// assert_eq!(stream.finish()?, any::reduce(&device, &items, &problem)?);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub struct ReduceStream {
    device: Device,
    problem: Reduce,
    item: Dtype,
    state: State,
    /// Items that were taken.
    items: u64,
    /// Room for items that are widened first.
    buffer: Vec<u64>,
}

enum State {
    Values(Box<Values>),
    Positions(Box<dyn PositionChunks>),
}

/// A reduction to a value as far as it has come.
struct Values {
    kernel: ReduceKernel,
    place: Place<ErasedReduce>,
    chunks: Box<dyn ReduceChunks>,
}

impl Values {
    fn push(&mut self, chunk: AnyView<'_>) -> Result<()> {
        let chunk = chunk.bits_as(self.kernel.from);
        match &mut self.place {
            Place::Cpu(cpu) => self.chunks.push(cpu, chunk),
            Place::Gpu(gpu, problem) => {
                gpu.reduce_next(chunk.erased(), problem, self.chunks.erased())
            }
        }
    }
}

impl ReduceStream {
    /// Every chunk but the last must have a multiple of this many items.
    pub const CHUNK: usize = upsweep_core::REDUCE_CHUNK;

    /// A stream of items of type `item` that has seen nothing.
    ///
    /// # Errors
    /// Those of [`reduce`](super::reduce()).
    pub fn new(device: &Device, item: Dtype, problem: &Reduce) -> Result<Self> {
        problem.check(item)?;
        let state = if problem.op.is_position() {
            let largest = problem.op == Op::ArgMax;
            let best =
                with_dtype!(item, T => Box::new(Positions::<T> { largest, best: None }) as _);
            State::Positions(best)
        } else {
            let kernel = problem.kernel(item, device.limits().int64)?;
            let init = kernel.init(problem.init);
            let place = Place::new(device, |language| kernel.code.problem(init, language));
            State::Values(Box::new(Values { kernel, place, chunks: kernel.code.chunks(init) }))
        };
        let (device, buffer) = (device.clone(), Vec::new());
        Ok(Self { device, problem: *problem, item, state, items: 0, buffer })
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if the items are of another type; [`Error::ChunkLength`] if an earlier chunk was the last;
    /// [`Error::WrongDevice`] if items in the memory of a GPU would have to be widened first.
    pub fn push<'a>(&mut self, chunk: impl Into<AnyView<'a>>) -> Result<()> {
        self.push_view(chunk.into())
    }

    fn push_view(&mut self, chunk: AnyView<'_>) -> Result<()> {
        if chunk.dtype() != self.item {
            return Err(Error::WrongDtype { found: chunk.dtype(), wanted: self.item });
        }
        let chunk = chunk.known(&self.device)?;
        match &mut self.state {
            State::Positions(best) => best.push(&self.device, chunk, self.items)?,
            State::Values(values) if values.kernel.widened_to == self.item => values.push(chunk)?,
            State::Values(values) => {
                for start in (0..chunk.len()).step_by(Self::CHUNK) {
                    let piece = start..chunk.len().min(start + Self::CHUNK);
                    let to = values.kernel.widened_to;
                    values.push(widened(chunk, piece, to, &mut self.buffer)?)?;
                }
            }
        }
        self.items += chunk.len() as u64;
        Ok(())
    }

    /// The value of everything that was taken; `None` only for the position of an extreme of nothing.
    ///
    /// # Errors
    /// None at present.
    pub fn finish(&self) -> Result<Option<Scalar>> {
        let Values { kernel, chunks, .. } = match &self.state {
            State::Positions(best) => return Ok(best.position().map(Scalar::new)),
            State::Values(values) => &**values,
        };
        if self.items == 0 && kernel.widens {
            // Only the identity, which no item gives, is that of the wider type.
            let problem = Reduce { acc: Some(kernel.acc), ..self.problem };
            return Self::new(&self.device, kernel.acc, &problem)?.finish();
        }
        let value = kernel.result(chunks.finish(), self.item, self.problem.init)?;
        let items = usize::try_from(self.items).unwrap_or(usize::MAX);
        Ok(Some(mean_of(self.problem.op, value, items)))
    }
}

impl fmt::Debug for ReduceStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReduceStream")
            .field("problem", &self.problem)
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}

/// A scan of an array that comes in chunks: first chunk first, or, in reverse, last chunk first.
///
/// # Examples
/// ```
/// use upsweep::{Device, Dtype, any::{Op, Scan, ScanStream}};
/// let (items, mut output) = (vec![1u8; 70_000], vec![0u32; 70_000]);
/// let problem = Scan::inclusive(Op::Sum);
/// let mut stream = ScanStream::new(&Device::cpu(), Dtype::U8, Dtype::U32, &problem)?;
/// for (chunk, output) in items.chunks(ScanStream::CHUNK).zip(output.chunks_mut(ScanStream::CHUNK)) {
///     stream.next(chunk, output)?;
/// }
/// assert_eq!(output[69_999], 70_000);
/// # Ok::<(), upsweep::Error>(())
/// ```
pub struct ScanStream {
    item: Dtype,
    out: Dtype,
    kernel: ScanKernel,
    place: Place<ErasedScan>,
    chunks: Box<dyn ScanChunks>,
    direction: Direction,
    /// Room for items that are widened first.
    buffer: Vec<u64>,
}

impl ScanStream {
    /// Every chunk but the last to come must have a multiple of this many items.
    pub const CHUNK: usize = crate::summation::WINDOW;

    /// A stream of items of type `item` into items of type `out` that has seen nothing.
    ///
    /// # Errors
    /// Those of [`scan`](super::scan()).
    pub fn new(device: &Device, item: Dtype, out: Dtype, problem: &Scan) -> Result<Self> {
        problem.check(item, out)?;
        let kernel = ScanKernel::new(problem.op, item, out)?;
        let place = Place::new(device, |language| kernel.code.problem(problem, language));
        let chunks = kernel.code.chunks(problem);
        let (direction, buffer) = (problem.direction, Vec::new());
        Ok(Self { item, out, kernel, place, chunks, direction, buffer })
    }

    /// From which end chunks are taken.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Writes the prefixes of the next chunk to `output`.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] if items or outputs are of other types; [`Error::LengthMismatch`] if the lengths differ;
    /// [`Error::ChunkLength`] if an earlier chunk was the last; [`Error::WrongDevice`] if items in the memory of a GPU would have
    /// to be widened first.
    pub fn next<'a, 'b>(
        &mut self,
        chunk: impl Into<AnyView<'a>>,
        output: impl Into<AnyViewMut<'b>>,
    ) -> Result<()> {
        self.next_views(chunk.into(), output.into())
    }

    fn next_views(&mut self, chunk: AnyView<'_>, output: AnyViewMut<'_>) -> Result<()> {
        for (found, wanted) in [(chunk.dtype(), self.item), (output.dtype(), self.out)] {
            if found != wanted {
                return Err(Error::WrongDtype { found, wanted });
            }
        }
        let mut output = output.bits_as(self.kernel.to);
        let chunk = widened_to(chunk, self.kernel.widened_to, &mut self.buffer)?;
        let chunk = chunk.bits_as(self.kernel.from);
        match &mut self.place {
            Place::Cpu(cpu) => self.chunks.next(cpu, chunk, output),
            Place::Gpu(gpu, problem) => {
                gpu.scan_next(chunk.erased(), output.erased(), problem, self.chunks.erased())
            }
        }
    }
}

impl fmt::Debug for ScanStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanStream")
            .field("item", &self.item)
            .field("out", &self.out)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}
