//! The workloads and lengths of a tuning run.

use std::ops::RangeInclusive;

use upsweep::any::{self, Op};
use upsweep::{Device, Dtype};

use super::options::Options;
use crate::buffer::available_memory;
use crate::error::{Failure, Result};
use crate::workload::Workload;

/// Types and lengths that are measured unless others are asked for. Every power of two: of those between two that had been measured, what was
/// the best for the next lost 2 to 19 % in 26 of 144 rows on an H200.
const DTYPES: [Dtype; 5] = [Dtype::U8, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64];
const QUICK_DTYPES: [Dtype; 3] = [Dtype::U8, Dtype::U32, Dtype::F32];
const POWERS: RangeInclusive<u32> = 10..=28;

/// The longest of a quick run, whose row serves 2^28 too: arrays of that length take a second to bring for each scan.
const QUICK_POWER: u32 = 27;

/// The part of the time that a piece of work gets, where arrays in the host's memory get 1, the longest of which are not for short runs: scans
/// write and compare their outputs, and their kernels take longer to compile. So little time as a quick run has goes to scans: by what
/// profiles have for each length sums lose 5 % at most, and scans were left with nothing else.
pub(super) fn share_of_time(workload: &Workload, quick: bool) -> usize {
    match (workload.primitive.scans(), quick) {
        (true, _) => 3,
        (false, false) => 2,
        (false, true) => 1,
    }
}

/// The types that a CPU's numbers are found for: sums of signed integers are those of unsigned ones, bit for bit.
pub(super) fn cpu_dtypes(options: &Options) -> Vec<Dtype> {
    let asked = options.dtypes.clone().unwrap_or(DTYPES.to_vec());
    let mut dtypes: Vec<Dtype> = Vec::new();
    let read = |dtype| any::scan_kernel(Op::Sum, dtype, dtype).map_or(dtype, |kernel| kernel.item);
    for dtype in asked.into_iter().map(read) {
        if !dtypes.contains(&dtype) {
            dtypes.push(dtype);
        }
    }
    dtypes
}

/// Every piece of work that is wanted and exists; scans with and without their own item are one.
pub(super) fn workloads(options: &Options) -> Result<Vec<Workload>> {
    let dtypes = match &options.dtypes {
        Some(dtypes) => dtypes.clone(),
        None if options.quick => QUICK_DTYPES.to_vec(),
        None => DTYPES.to_vec(),
    };
    let mut scans = false;
    let mut wanted = Vec::new();
    let tuned = options.primitives.iter().filter(|primitive| !primitive.compacts());
    for &primitive in tuned {
        if primitive.scans() && std::mem::replace(&mut scans, true) {
            continue;
        }
        for &dtype in &dtypes {
            let workload = Workload::new(primitive, options.operator, dtype, options.acc);
            workload.check()?;
            wanted.push(workload);
        }
    }
    if wanted.is_empty() {
        return Err(Failure::usage(
            "reductions, positions of extremes and scans are tuned, and no others",
        ));
    }
    Ok(wanted)
}

/// The lengths to measure at: those of which the device and the host hold all arrays, half of each memory being left.
pub(super) fn lengths(options: &Options, device: &Device, bytes: usize) -> Vec<usize> {
    let mut lengths = match &options.lengths {
        Some(lengths) => lengths.clone(),
        None => {
            let wanted = |power: &u32| !options.quick || *power <= QUICK_POWER;
            POWERS.filter(wanted).map(|power| 1 << power).collect()
        }
    };
    lengths.sort_unstable();
    lengths.dedup();
    let limits = device.limits();
    let memories = [limits.memory_bytes, available_memory()];
    let least = memories.into_iter().flatten().min().unwrap_or(u64::MAX);
    // Shorter lengths together are as long as the longest.
    lengths.retain(|&n| n > 0 && (2 * n as u64).saturating_mul(bytes as u64) <= least / 2);
    lengths
}
