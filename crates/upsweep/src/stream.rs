//! Streams: an array that comes chunk by chunk, with the bits that the whole would give.

mod select;

use core::marker::PhantomData;

use upsweep_core::{Backend, ReduceState, ScanState};

use crate::backend::{ScratchMemory, ViewBackend, on_prepared};
pub use select::{PositionStream, RunLengthStream, SelectStream, UniqueStream};
#[cfg(feature = "any")]
pub(crate) use select::{Runs, Selector, number_behind};

use crate::{Device, Direction, Element, Operator, Reduce, Result, Scan, View, ViewMut, Widen};

/// A reduction of an array that comes in chunks, first chunk first.
///
/// # Examples
/// ```
/// use upsweep::{Device, Reduce, ReduceStream, Sum, reduce};
/// let device = Device::cpu();
/// let items = vec![0.1f32; 3_000_000];
/// let mut stream = ReduceStream::<f32, f32, _>::new(&device, Reduce::new(Sum))?;
/// for chunk in items.chunks(ReduceStream::<f32, f32, Sum>::CHUNK) {
///     stream.push(chunk)?;
/// }
/// assert_eq!(stream.finish(), reduce(&device, &items, Sum)?);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct ReduceStream<T, A, O> {
    prepared: ScratchMemory,
    state: ReduceState<A, O>,
    input: PhantomData<fn(T)>,
}

impl<T, A, O> ReduceStream<T, A, O>
where
    T: Widen<A>,
    A: Element,
    O: Operator<A>,
{
    /// Every chunk but the last must have a multiple of this many items.
    pub const CHUNK: usize = upsweep_core::REDUCE_CHUNK;

    /// A stream that has seen nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the scratch memory cannot be had.
    pub fn new(device: &Device, problem: Reduce<A, O>) -> Result<Self> {
        let prepared = ScratchMemory::new(device.kind(), 0, size_of::<T>())?;
        Ok(Self { prepared, state: ReduceState::new(problem), input: PhantomData })
    }

    /// Takes the next chunk. On a GPU it waits for its value, and first for its length if only the GPU knows it.
    ///
    /// # Errors
    /// [`Error::ChunkLength`](crate::Error::ChunkLength) if an earlier chunk was the last;
    /// [`Error::LengthAboveBound`](crate::Error::LengthAboveBound) for a chunk whose length is above its bound.
    pub fn push<'a>(&mut self, chunk: impl Into<View<'a, T>>) -> Result<()> {
        self.push_view(chunk.into())
    }

    #[inline(never)]
    fn push_view(&mut self, chunk: View<'_, T>) -> Result<()> {
        on_prepared!(&mut self.prepared, backend, workspace => {
            backend.reduce_next::<T, A, O>(workspace, &mut self.state, backend.input(chunk)?)
        })
    }

    /// The value of everything that was taken.
    pub fn finish(&self) -> A {
        self.state.finish()
    }
}

/// A scan of an array that comes in chunks: first chunk first, or, in reverse, last chunk first.
///
/// # Examples
/// ```
/// use upsweep::{Device, Scan, ScanStream, Sum, inclusive_scan};
/// let device = Device::cpu();
/// let items = vec![0.1f32; 200_000];
/// let mut stream = ScanStream::<f32, f32, _>::new(&device, Scan::inclusive(Sum))?;
/// let mut output = vec![0.0; items.len()];
/// for (chunk, output) in items.chunks(65_536).zip(output.chunks_mut(65_536)) {
///     stream.next(chunk, output)?;
/// }
/// assert_eq!(output, inclusive_scan(&device, &items, Sum)?.into_vec()?);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct ScanStream<T, U: Element, O> {
    prepared: ScratchMemory,
    state: ScanState<U::Acc, O>,
    input: PhantomData<fn(T)>,
}

impl<T, U, O> ScanStream<T, U, O>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    /// Every chunk but the last to come must have a multiple of this many items.
    pub const CHUNK: usize = crate::summation::WINDOW;

    /// A stream that has seen nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the scratch memory cannot be had.
    pub fn new(device: &Device, problem: Scan<U::Acc, O>) -> Result<Self> {
        let prepared = ScratchMemory::new(device.kind(), 0, size_of::<T>())?;
        Ok(Self { prepared, state: ScanState::new(problem), input: PhantomData })
    }

    /// From which end chunks are taken.
    pub fn direction(&self) -> Direction {
        self.state.direction()
    }

    /// Writes the prefixes of the next chunk to `output`. Of a chunk whose length only a GPU knows, it waits for that one number.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the lengths differ,
    /// [`Error::ChunkLength`](crate::Error::ChunkLength) if an earlier chunk was the last;
    /// [`Error::LengthAboveBound`](crate::Error::LengthAboveBound) for a chunk whose length is above its bound.
    pub fn next<'a, 'b>(
        &mut self,
        chunk: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'b, U>>,
    ) -> Result<()> {
        self.next_views(chunk.into(), output.into())
    }

    #[inline(never)]
    fn next_views(&mut self, chunk: View<'_, T>, output: ViewMut<'_, U>) -> Result<()> {
        let output = output.fitted(chunk.len(), chunk.bound());
        on_prepared!(&mut self.prepared, backend, workspace => {
            let (chunk, output) = (backend.input(chunk)?, backend.output(output)?);
            backend.scan_next::<T, U, O>(workspace, &mut self.state, chunk, output)
        })
    }
}
