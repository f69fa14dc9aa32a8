//! Launches whose sizes follow from lengths that only the device knows.
//!
//! The kernels are those of any call. One launch in front of them, `launch_sizes.wgsl`, brings their parameters to the number of items, or of
//! offsets of segments, or both, and says how many workgroups there are. Behind it, launches of `derived_parameters.wgsl` set what else
//! follows from lengths: one for each length.

use std::sync::{Mutex, PoisonError};

use upsweep_core::{Derivation, Dtype, Kind, Recipe, Result};
use wgpu::BufferUsages;

use crate::backend::Inputs;
use crate::device::Gpu;
use crate::faults::{LENGTH_ABOVE_BOUND, NOTHING_TO_GATHER};
use crate::record::{Dispatch, Traffic};
use crate::reduce::{OWN_WORDS, PARAMETERS};
use crate::shader::cut::NO_OFFSETS;
use crate::shader::{Types, first_parameter};
use crate::slice::{Slice, Window};

const TEXT: &str = include_str!("launch_sizes.wgsl");

/// What sets parameters that follow from lengths.
const DERIVED: &str = include_str!("derived_parameters.wgsl");

/// Numbers of two words.
const WIDE: &str = include_str!("wide.wgsl");

/// Words of `Derivations` in front of its rows, and of a row.
const DERIVED_HEADER: usize = 8;

/// How a parameter is derived: `Derivation::way`.
const SETS: u32 = 0;
const ADDS: u32 = 1;
const LAST: u32 = 2;

/// Words of `LaunchSizes` in front of its rows, and of a row.
const HEADER: usize = 24;
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
    /// What parameters follow from.
    pub(crate) derived: DerivedFrom<'a>,
}

/// Lengths from which parameters follow.
#[derive(Default)]
pub(crate) struct DerivedFrom<'a> {
    recipe: Option<&'a Recipe>,
    /// The words of the recipe's parameters, and where those of a window have the first one.
    words: &'a [u32],
    first_word: usize,
    lengths: &'a [Slice<'a>],
}

impl<'a> DerivedFrom<'a> {
    pub(crate) fn new(types: &'a Types, inputs: &Inputs<'a>) -> Self {
        let recipe = types.made.as_ref().map(|made| &made.recipe);
        let first_word = OWN_WORDS + first_parameter(types);
        Self { recipe, words: inputs.words, first_word, lengths: inputs.lengths }
    }

    /// The bound of the length that the number of items follows from, and the step from one to the next; of `bound` items without one.
    fn of_items(&self, bound: u64) -> [u64; 2] {
        let found = self.recipe.and_then(|recipe| {
            let of = recipe.lengths.items.as_ref()?;
            let [bound, divisor] = [recipe.lengths.all[of.length].bound, of.divisor];
            Some([bound, divisor].map(|parameter| recipe.number_in(self.words, parameter)))
        });
        found.unwrap_or([bound, 1])
    }

    /// `Derivations` of one of the lengths, which lies at this word.
    fn table(&self, number: usize, length_at: u32, windows: usize) -> Vec<u32> {
        let Some(recipe) = self.recipe else { return Vec::new() };
        let value = |parameter| halves(recipe.number_in(self.words, parameter));
        let length = &recipe.lengths.all[number];
        let mut rows: Vec<[u32; 8]> = Vec::new();
        let all = recipe.lengths.derived.iter().filter(|derived| derived.quotient.length == number);
        for derived in all {
            let word = (self.first_word + recipe.word_of(derived.parameter)) as u32;
            let is_known = rows.iter().any(|row| row[0] == word);
            let (way, coefficient) = match derived.derivation {
                Derivation::Last => (LAST, [0; 2]),
                Derivation::Term { coefficient } => {
                    (if is_known { ADDS } else { SETS }, value(coefficient))
                }
            };
            let (own, divisor) = (value(derived.parameter), value(derived.quotient.divisor));
            let [own, by, divisor] = [own, coefficient, divisor];
            rows.push([word, way, own[0], own[1], by[0], by[1], divisor[0], divisor[1]]);
        }
        let [low, high] = value(length.bound);
        let (gathers, count) = (length.is_gathered.into(), rows.len() as u32);
        let header: [u32; DERIVED_HEADER] =
            [low, high, length_at, windows as u32, gathers, count, 0, 0];
        // There is one row at least, whether it counts or not.
        rows.resize(rows.len().max(1), [0; 8]);
        [&header[..], rows.as_flattened()].concat()
    }
}

/// The two words of a number.
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
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

/// What sets the sizes of launches and their parameters: to be dispatched in front of them.
pub(crate) struct LaunchSizes {
    pub(crate) first: Vec<Dispatch>,
    pub(crate) buffer: wgpu::Buffer,
    windows: usize,
    /// Whether grids follow from a length, and not parameters alone.
    sizes_grids: bool,
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
        let any_size = by.length.or(of_offsets);
        let Some(any) = any_size.or(by.derived.lengths.first().copied()) else { return Ok(None) };
        let usage = BufferUsages::STORAGE
            | BufferUsages::INDIRECT
            | BufferUsages::COPY_SRC
            | BufferUsages::COPY_DST;
        // Where nothing is read of one, the other is bound.
        let window = |slice: Slice<'_>| slice.window(LENGTH, gpu.facts.alignment, 0, 1);
        let [length, offsets] = [by.length, of_offsets].map(|slice| slice.unwrap_or(any));
        let at = |slice: Option<Slice<'_>>| slice.map_or(KNOWN, |slice| 2 * window(slice).start);
        let mut words = vec![0u32; HEADER + ROW * (2 * windows.len() + 1)];
        let [length_bound, divisor] = by.derived.of_items(by.bound).map(halves);
        let bound = halves(by.bound);
        words[8..HEADER].copy_from_slice(&[
            bound[0],
            bound[1],
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
            length_bound[0],
            length_bound[1],
            divisor[0],
            divisor[1],
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
        let dispatch = |name, pipeline: wgpu::ComputePipeline, lengths: usize, group| {
            let traffic = Traffic { read: (lengths * LENGTH.size()) as u64, written: 0 };
            Dispatch { name, pipeline, group, size: [1, 1], indirect: None, threads: 1, traffic }
        };
        let mut first = Vec::with_capacity(1 + by.derived.lengths.len());
        if any_size.is_some() {
            let pipeline = gpu.kept_pipeline(&gpu.sizing, text, "size_launches")?;
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
            first.push(dispatch("size_launches", pipeline, lengths, group));
        }
        for (number, length) in by.derived.lengths.iter().enumerate() {
            let words = by.derived.table(number, 2 * window(*length).start, windows.len());
            let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
            let table = gpu.buffer("derived parameters", 4 * words.len() as u64, usage)?;
            gpu.write(&table, 0, bytemuck::cast_slice(&words))?;
            let pipeline = gpu.kept_pipeline(&gpu.deriving, derived_text, "derive_parameters")?;
            let group = gpu.group(
                &pipeline,
                &[
                    (0, window(*length).binding(length.buffer)),
                    (1, buffer.as_entire_binding()),
                    (2, parameters.as_entire_binding()),
                    (3, table.as_entire_binding()),
                ],
            )?;
            first.push(dispatch("derive_parameters", pipeline, 1, group));
        }
        let (windows, sizes_grids) = (windows.len(), any_size.is_some());
        Ok(Some(Self { first, buffer, windows, sizes_grids }))
    }

    /// Where the device finds the grid of a launch.
    pub(crate) fn grid(&self, workgroups: Workgroups) -> Option<(wgpu::Buffer, u64)> {
        let row = match workgroups {
            _ if !self.sizes_grids => return None,
            Workgroups::One => return None,
            Workgroups::OfWindow(window) => self.windows + window,
            Workgroups::ToFold => 2 * self.windows,
        };
        Some((self.buffer.clone(), 4 * (HEADER + ROW * row) as u64))
    }
}

impl Gpu {
    /// A kernel that is compiled at its first use, and kept in its place.
    fn kept_pipeline(
        &self,
        place: &Mutex<Option<wgpu::ComputePipeline>>,
        text: fn() -> String,
        entry: &str,
    ) -> Result<wgpu::ComputePipeline> {
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = &*place {
            return Ok(pipeline.clone());
        }
        let pipeline = self.compile(&text(), entry)?;
        Ok(place.insert(pipeline).clone())
    }
}

/// The kernel that sets sizes as WGSL.
pub(crate) fn text() -> String {
    let words = PARAMETERS / 4;
    format!(
        "const PARAMETER_WORDS = {words}u;\nconst LENGTH_ABOVE_BOUND = {LENGTH_ABOVE_BOUND}u;\n\
         const KNOWN = {KNOWN}u;\nconst NO_OFFSETS = {NO_OFFSETS}u;\n{WIDE}{TEXT}"
    )
}

/// The kernel that sets parameters.
pub(crate) fn derived_text() -> String {
    let words = PARAMETERS / 4;
    format!(
        "const PARAMETER_WORDS = {words}u;\nconst LENGTH_ABOVE_BOUND = {LENGTH_ABOVE_BOUND}u;\n\
         const NOTHING_TO_GATHER = {NOTHING_TO_GATHER}u;\n\
         const SETS = {SETS}u;\nconst ADDS = {ADDS}u;\nconst LAST = {LAST}u;\n{WIDE}{DERIVED}"
    )
}
