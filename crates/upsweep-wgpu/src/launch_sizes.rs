//! Launches whose sizes follow from a length that only the device knows.
//!
//! The kernels are those of any call. One launch in front of them, `launch_sizes.wgsl`, brings their parameters to the length, and
//! says how many workgroups there are.

use std::sync::PoisonError;

use upsweep_core::{Dtype, Kind, Result};
use wgpu::BufferUsages;

use crate::device::Gpu;
use crate::faults::LENGTH_ABOVE_BOUND;
use crate::record::{Dispatch, Traffic};
use crate::reduce::PARAMETERS;
use crate::slice::{Slice, Window};

const TEXT: &str = include_str!("launch_sizes.wgsl");

/// Words of `LaunchSizes` in front of its rows, and of a row.
const HEADER: usize = 16;
const ROW: usize = 4;

/// What a length is.
const LENGTH: Kind = Kind::Number(Dtype::U64);

/// What the sizes of launches follow from, besides the length.
pub(crate) struct SizedBy<'a> {
    /// Where the length is.
    pub(crate) length: Slice<'a>,
    /// Most items.
    pub(crate) bound: u64,
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
    /// Of launches with these parameters, for windows of the arrays.
    pub(crate) fn new(
        gpu: &Gpu,
        by: &SizedBy<'_>,
        windows: &[Window],
        parameters: &wgpu::Buffer,
    ) -> Result<Self> {
        let usage = BufferUsages::STORAGE
            | BufferUsages::INDIRECT
            | BufferUsages::COPY_SRC
            | BufferUsages::COPY_DST;
        let length = by.length.window(LENGTH, gpu.facts.alignment, 0, 1);
        let mut words = vec![0u32; HEADER + ROW * (2 * windows.len() + 1)];
        words[6..HEADER].copy_from_slice(&[
            by.bound as u32,
            (by.bound >> 32) as u32,
            2 * length.start,
            by.packed,
            by.chunk as u32,
            by.most_workgroups.min(u64::from(u32::MAX)) as u32,
            gpu.facts.grid,
            windows.len() as u32,
            by.reduces.into(),
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
                (0, length.binding(by.length.buffer)),
                (1, buffer.as_entire_binding()),
                (2, parameters.as_entire_binding()),
            ],
        )?;
        let traffic = Traffic { read: LENGTH.size() as u64, written: 0 };
        let (name, size, indirect) = ("size_launches", [1, 1], None);
        let first = Dispatch { name, pipeline, group, size, indirect, threads: 1, traffic };
        Ok(Self { first, buffer, windows: windows.len() })
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
        "const PARAMETER_WORDS = {words}u;\nconst LENGTH_ABOVE_BOUND = {LENGTH_ABOVE_BOUND}u;\n{TEXT}"
    )
}
