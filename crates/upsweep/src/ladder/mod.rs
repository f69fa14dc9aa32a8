//! The ladder behind the facade: seven classic steps of a sum on a GPU, to run and to time.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "wgpu")]
mod wgpu;

use std::time::Duration;

use upsweep_core::Rungs;
pub use upsweep_core::{LadderStep, Rung};

use crate::backend::Kind;
#[cfg(not(feature = "cuda"))]
use crate::nothing as cuda;
#[cfg(not(feature = "wgpu"))]
use crate::nothing as wgpu;
use crate::{Device, Error, Result};

/// The ladder of a GPU over one array of `u32`: seven steps from a naive sum to a good one, the library's own reduction, and
/// the limit of reading the array. What each step changes, and which bottleneck that removes, its [`LadderStep`] says.
///
/// The array stays in the device's memory. All steps are real kernels: 256 threads to a workgroup, or as many as the device
/// has, fold to one value, and further launches fold those until one is left.
///
/// # Examples
/// ```
/// use upsweep::{Device, ladder::Rung};
///
/// # fn main() -> upsweep::Result<()> {
/// let Ok(device) = Device::open("wgpu:0") else { return Ok(()) };
/// let mut ladder = device.ladder(&[7; 10_000])?;
/// for rung in Rung::all() {
///     assert_eq!(ladder.sum(rung)?, 70_000);
///     if let Some(times) = ladder.time(rung, 3)? {
///         println!("{rung} removes {:?}: {:?}", rung.bottleneck(), times.iter().min());
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Source
/// Mark Harris, *Optimizing Parallel Reduction in CUDA* (NVIDIA, 2007).
#[derive(Debug)]
pub struct Ladder {
    rungs: Box<dyn Rungs>,
}

impl Device {
    /// The [`Ladder`] of this GPU over a copy of these items.
    ///
    /// # Errors
    /// [`Error::StrategyRefused`] on a CPU, [`Error::Buffer`] for more items than one binding holds, and those of the
    /// device: memory, its compiler.
    pub fn ladder(&self, items: &[u32]) -> Result<Ladder> {
        let rungs = match self.kind() {
            Kind::Cpu(_) => {
                return Err(Error::StrategyRefused {
                    device: self.id().to_owned(),
                    strategy: "ladder".to_owned(),
                    reason: "its steps are kernels of a GPU".to_owned(),
                });
            }
            Kind::Cuda(gpu) => cuda::rungs(gpu, items)?,
            Kind::Wgpu(gpu) => wgpu::rungs(gpu, items)?,
        };
        Ok(Ladder { rungs })
    }
}

impl Ladder {
    /// The sum of all items, wrapping, by a step or by the library's reduction. Waits for it.
    ///
    /// # Errors
    /// Those of the device.
    pub fn sum(&mut self, rung: Rung) -> Result<u32> {
        self.rungs.sum(rung)
    }

    /// Runs a rung `runs` times, one after another, and returns how long all launches of each run took together, by the
    /// device's own clock; `None` if it has none.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time(&mut self, rung: Rung, runs: u32) -> Result<Option<Vec<Duration>>> {
        self.rungs.time(rung, runs)
    }

    /// As [`time`](Ladder::time), of the limit: the array is read once, and nothing is added.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time_limit(&mut self, runs: u32) -> Result<Option<Vec<Duration>>> {
        self.rungs.time_limit(runs)
    }
}
