//! Which cells of a test a GPU takes. Those of software make their kernels slowly; CPUs have none to make, and take all.

use std::collections::HashSet;

use upsweep_testing::{TestDevice, for_each_gpu, rotation};

/// A level of each factor.
type Cell = Vec<usize>;

/// The cells of this run: every level of every factor, and every GPU.
pub(crate) struct Share(HashSet<(String, Cell)>);

impl Share {
    /// One of so many cells, of factors with so many levels each, that a GPU can do.
    pub(crate) fn of(
        factors: &[usize],
        one_in: usize,
        can: impl Fn(&TestDevice, &[usize]) -> bool,
    ) -> Self {
        let mut all: Vec<Cell> = vec![Vec::new()];
        for &levels in factors {
            let with = |cell: &Cell, level| cell.iter().copied().chain([level]).collect();
            all = all
                .iter()
                .flat_map(|cell| (0..levels).map(move |level| with(cell, level)))
                .collect();
        }
        let mut cells = Vec::new();
        for_each_gpu(|gpu| {
            let own = all.iter().filter(|cell| can(gpu, cell));
            cells.extend(own.map(|cell| (gpu.to_string(), cell.clone())));
        });
        let levels = cells.iter().map(|(gpu, cell)| {
            let named = cell.iter().enumerate();
            let named = named.map(|(factor, level)| format!("level {level} of factor {factor}"));
            named.chain([gpu.clone()]).collect::<Vec<_>>()
        });
        let chosen = rotation::chosen(&levels.collect::<Vec<_>>(), one_in);
        Self(chosen.into_iter().map(|cell| cells[cell].clone()).collect())
    }

    /// Whether a device takes a cell.
    pub(crate) fn has(&self, device: &TestDevice, cell: &[usize]) -> bool {
        !device.is_gpu() || self.0.contains(&(device.to_string(), cell.to_vec()))
    }
}
