//! What is said of a call: why it was done as it was, what its launches need of a GPU, and how times scatter.

use core::time::Duration;

use crate::{CpuStrategy, Measured, ScanGlobal, Strategy};

/// Why a call has its strategy and its policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// The caller asked for it.
    Asked,
    /// The device's profile says that nothing was faster, at the nearest number of items that was measured.
    Profile {
        /// That number of items; 0 on a CPU, whose profile holds bounds for all lengths.
        items: u64,
        /// What was measured there; nothing on a CPU.
        measured: Option<Measured>,
    },
    /// The rules of `policy.rs`, which take what limits a device states, and the type and the number of items.
    Rule,
}

/// One launch of a call on a GPU. What an interface does not say is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's entry point, which says what it does: `reduce`, `scan`, `upsweep`, `spine`, `downsweep` …
    pub name: &'static str,
    /// Workgroups that are launched.
    pub workgroups: u64,
    /// Threads of each.
    pub threads_per_workgroup: u32,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of memory that a thread has because registers do not suffice.
    pub spilled_bytes: Option<u32>,
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: Option<u32>,
    /// Workgroups that run at once on the whole device, as far as registers, threads and shared memory let them.
    pub at_once: Option<u64>,
}

impl Launch {
    /// How often the device is filled: workgroups by those that run at once.
    pub fn waves(&self) -> Option<f64> {
        let at_once = self.at_once.filter(|&at_once| at_once > 0)?;
        Some(self.workgroups as f64 / at_once as f64)
    }
}

impl Strategy {
    /// Bytes of arrays that this strategy moves through memory for a call that must read and write so many.
    ///
    /// What workgroups tell one another is not counted: it is a thousandth or less.
    pub fn bytes_moved(self, read: u64, written: u64) -> u64 {
        match self {
            // One thread scans as it reads; several read a block again out of their own caches.
            Self::Cpu(CpuStrategy::Scalar | CpuStrategy::Simd | CpuStrategy::SimdThreads)
            | Self::GpuReduce(_) => read + written,
            Self::GpuScan(strategy) => match strategy.global {
                ScanGlobal::LookBack | ScanGlobal::LookBackFallback | ScanGlobal::Aggregates => {
                    read + written
                }
                // Once for the totals, and once for the scan.
                ScanGlobal::ReduceThenScan => 2 * read + written,
                // What was scanned is read and written again when it is added to.
                ScanGlobal::ScanThenPropagate => read + 3 * written,
            },
        }
    }
}

/// Three of the times that something took, of which they say how much they scatter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quartiles {
    /// A quarter of the times is not above.
    pub lower: Duration,
    /// The middle.
    pub median: Duration,
    /// A quarter of the times is not below.
    pub upper: Duration,
}

impl Quartiles {
    /// Those of these times; zero of none.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        // Between two times where a quarter of their number is no whole one.
        let quarter = |quarter: usize| {
            let place = times.len().saturating_sub(1) * quarter;
            let [low, high] = [place / 4, place.div_ceil(4)]
                .map(|place| times.get(place).copied().unwrap_or_default());
            low + (high - low) * (place % 4) as u32 / 4
        };
        Self { lower: quarter(1), median: quarter(2), upper: quarter(3) }
    }

    /// 10^9 of so many bytes a second, by the median; `None` without bytes, or where the clock is too coarse.
    pub fn gbps(&self, bytes: u64) -> Option<f64> {
        let seconds = self.median.as_secs_f64();
        (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_strategy_moves() {
        let scan = |global: &str| -> Strategy {
            let name = format!("striped-16-exact/cooperative/{global}");
            Strategy::GpuScan(name.parse().expect("a cell"))
        };
        for (global, moved) in [
            ("look-back", 30),
            ("look-back-fallback", 30),
            ("aggregates", 30),
            ("reduce-then-scan", 40),
            ("scan-then-propagate", 70),
        ] {
            assert_eq!(scan(global).bytes_moved(10, 20), moved, "{global}");
        }
        assert_eq!(Strategy::Cpu(CpuStrategy::SimdThreads).bytes_moved(10, 20), 30);
    }

    #[test]
    fn waves_are_counted_where_the_device_says_what_fits() {
        let mut launch = Launch {
            name: "scan",
            workgroups: 396,
            threads_per_workgroup: 256,
            registers: None,
            spilled_bytes: None,
            shared_bytes: None,
            at_once: Some(264),
        };
        assert_eq!(launch.waves(), Some(1.5));
        launch.at_once = None;
        assert_eq!(launch.waves(), None);
    }

    #[test]
    fn quartiles_lie_between_times() {
        let of = |times: &[u64]| {
            let times = times.iter().map(|&time| Duration::from_micros(time)).collect();
            let Quartiles { lower, median, upper } = Quartiles::of(times);
            [lower, median, upper].map(|time| time.as_nanos())
        };
        assert_eq!(of(&[5, 1, 3, 2, 4]), [2000, 3000, 4000]);
        assert_eq!(of(&[1, 2]), [1250, 1500, 1750]);
        assert_eq!(of(&[]), [0; 3]);
        let all = Quartiles::of(vec![Duration::from_micros(2)]);
        assert_eq!((all.gbps(4000), all.gbps(0)), (Some(2.0), None));
    }
}
