//! Launches whose sizes follow from lengths that only the device knows.
//!
//! The kernels are those of any call. One launch in front of them, `launch_sizes.wgsl`, brings their parameters to the number of items, or of
//! offsets of segments, or both, and says how many workgroups there are.

use std::sync::PoisonError;

use upsweep_core::{Dtype, Kind, Result};
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::faults::LENGTH_ABOVE_BOUND;
use crate::record::{Dispatch, Traffic};
use crate::reduce::PARAMETERS;
use crate::shader::cut::NO_OFFSETS;
use crate::slice::{Slice, Window};

const TEXT: &str = include_str!("launch_sizes.wgsl");

/// Words of `LaunchSizes` in front of its rows, and of a row.
const HEADER: usize = 20;
const ROW: usize = 4;

/// What a length is.
const LENGTH: Kind = Kind::Number(Dtype::U64);

/// In the place of a length that the host knows.
const KNOWN: u32 = u32::MAX;

/// What the sizes of launches follow from.
pub(crate) struct SizedBy<'a> {
    /// Where the number of items is, unless the host knows it.
    pub(crate) length: Option<Slice<'a>>,
    /// Most items, or how many there are.
    pub(crate) bound: u64,
    /// Where the number of offsets is, and its bound, unless the host knows it or there are none.
    pub(crate) offsets: Option<(Slice<'a>, u32)>,
    /// Items of a word, and words of a chunk.
    pub(crate) packed: u32,
    pub(crate) chunk: u64,
    /// Most workgroups of a launch.
    pub(crate) most_workgroups: u64,
    /// Whether it is a reduction, and not a scan.
    pub(crate) reduces: bool,
}

/// How many workgroups a launch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workgroups {
    /// One, in any case.
    One,
    /// As the items of the window of this number take.
    OfWindow(usize),
    /// One, if several have left something to be folded.
    ToFold,
}

/// What sets the sizes of launches: to be dispatched in front of them.
pub(crate) struct LaunchSizes {
    pub(crate) first: Dispatch,
    pub(crate) buffer: wgpu::Buffer,
    windows: usize,
}

impl LaunchSizes {
    /// Of launches with these parameters, for windows of the arrays; of lengths that the host knows there is nothing to set.
    pub(crate) fn new(
        gpu: &Gpu,
        by: &SizedBy<'_>,
        windows: &[Window],
        parameters: &wgpu::Buffer,
    ) -> Result<Option<Self>> {
        let of_offsets = by.offsets.map(|(offsets, _)| offsets);
        let Some(any) = by.length.or(of_offsets) else { return Ok(None) };
        let usage = BufferUsages::STORAGE
            | BufferUsages::INDIRECT
            | BufferUsages::COPY_SRC
            | BufferUsages::COPY_DST;
        // Where nothing is read of one, the other is bound.
        let window = |slice: Slice<'_>| slice.window(LENGTH, gpu.facts.alignment, 0, 1);
        let [length, offsets] = [by.length, of_offsets].map(|slice| slice.unwrap_or(any));
        let at = |slice: Option<Slice<'_>>| slice.map_or(KNOWN, |slice| 2 * window(slice).start);
        let mut words = vec![0u32; HEADER + ROW * (2 * windows.len() + 1)];
        words[8..HEADER].copy_from_slice(&[
            by.bound as u32,
            (by.bound >> 32) as u32,
            at(by.length),
            by.packed,
            by.chunk as u32,
            by.most_workgroups.min(u64::from(u32::MAX)) as u32,
            gpu.facts.grid,
            windows.len() as u32,
            by.reduces.into(),
            at(of_offsets),
            by.offsets.map_or(0, |(_, bound)| bound),
            0,
        ]);
        for (row, window) in words[HEADER..].chunks_exact_mut(ROW).zip(windows) {
            row[..3].copy_from_slice(&[
                window.first as u32,
                (window.first >> 32) as u32,
                window.items,
            ]);
        }
        let buffer = gpu.buffer("sizes of launches", 4 * words.len() as u64, usage)?;
        gpu.write(&buffer, 0, bytemuck::cast_slice(&words))?;
        let pipeline = gpu.sizing_pipeline()?;
        let group = gpu.group(
            &pipeline,
            &[
                (0, window(length).binding(length.buffer)),
                (1, buffer.as_entire_binding()),
                (2, parameters.as_entire_binding()),
                (3, window(offsets).binding(offsets.buffer)),
            ],
        )?;
        let lengths = [by.length, of_offsets].into_iter().flatten().count();
        let traffic = Traffic { read: (lengths * LENGTH.size()) as u64, written: 0 };
        let (name, size, indirect) = ("size_launches", [1, 1], None);
        let first = Dispatch { name, pipeline, group, size, indirect, threads: 1, traffic };
        Ok(Some(Self { first, buffer, windows: windows.len() }))
    }

    /// Where the device finds the grid of a launch.
    pub(crate) fn grid(&self, workgroups: Workgroups) -> Option<(wgpu::Buffer, u64)> {
        let row = match workgroups {
            Workgroups::One => return None,
            Workgroups::OfWindow(window) => self.windows + window,
            Workgroups::ToFold => 2 * self.windows,
        };
        Some((self.buffer.clone(), 4 * (HEADER + ROW * row) as u64))
    }
}

impl Gpu {
    /// Compiled at its first use.
    fn sizing_pipeline(&self) -> Result<wgpu::ComputePipeline> {
        let mut place = self.sizing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = &*place {
            return Ok(pipeline.clone());
        }
        let pipeline = self.compile(&text(), "size_launches")?;
        Ok(place.insert(pipeline).clone())
    }
}

/// The kernel as WGSL.
pub(crate) fn text() -> String {
    let words = PARAMETERS / 4;
    format!(
        "const PARAMETER_WORDS = {words}u;\nconst LENGTH_ABOVE_BOUND = {LENGTH_ABOVE_BOUND}u;\n\
         const KNOWN = {KNOWN}u;\nconst NO_OFFSETS = {NO_OFFSETS}u;\n{TEXT}"
    )
}
