//! The pieces of work of a tuning run: primitives with their types, and lengths.

use std::ops::RangeInclusive;

use upsweep::profile::Work;
use upsweep::{Device, Dtype};

use crate::args::TuneArguments;
use crate::bench::{Primitive, input};
use crate::dispatch::{self, Op, PositionKernel, ReduceKernel, ScanKernel, combined_in, same_bits};
use crate::error::Result;
use crate::reduce::check_accumulator;

/// Types and lengths that are measured unless others are asked for. Every power of two: of those between two that had been measured, what was
/// the best for the next lost 2 to 19 % in 26 of 144 rows on an H200.
const DTYPES: [Dtype; 5] = [Dtype::U8, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64];
const QUICK_DTYPES: [Dtype; 3] = [Dtype::U8, Dtype::U32, Dtype::F32];
const POWERS: RangeInclusive<u32> = 10..=28;

/// The longest of a quick run, whose row serves 2^28 too: arrays of that length take a second to bring for each scan.
const QUICK_POWER: u32 = 27;

/// A piece of work that is wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) primitive: Primitive,
    pub(super) op: Op,
    pub(super) dtype: Dtype,
    pub(super) stored: Dtype,
}

impl Wanted {
    /// The part of the time that it gets, where arrays in the host's memory get 1, the longest of which are not for short runs: scans write
    /// and compare their outputs, and their kernels take longer to compile. So little time as a quick run has goes to scans: by what
    /// profiles have for each length sums lose 5 % at most, and scans were left with nothing else.
    pub(super) fn parts(&self, quick: bool) -> usize {
        match (self.primitive.scans(), quick) {
            (true, _) => 3,
            (false, false) => 2,
            (false, true) => 1,
        }
    }

    /// What profiles call it.
    pub(super) fn work(&self) -> Work {
        let output = if self.primitive.is_position() { Dtype::U64 } else { self.stored };
        Work { operator: self.op.name(), item: self.dtype, output }
    }

    /// What records call the operation and its types.
    pub(super) fn names(self) -> (String, String) {
        let (dtype, stored) = (self.dtype, self.stored);
        let operation = match self.op {
            Op::Sum | Op::ArgMin | Op::ArgMax => self.primitive.name().to_owned(),
            op => format!("{}/{op}", self.primitive.name()),
        };
        let types = if stored == dtype { dtype.to_string() } else { format!("{dtype}->{stored}") };
        (operation, types)
    }
}

/// Does a piece of work with its types, if there is such a kernel.
pub(super) fn dispatched<R, K>(wanted: Wanted, kernel: K) -> Option<R>
where
    K: ReduceKernel<Output = R> + ScanKernel<Output = R> + PositionKernel<Output = R>,
{
    let Wanted { primitive, op, dtype, stored } = wanted;
    match primitive {
        Primitive::ArgMin | Primitive::ArgMax => Some(dispatch::position(dtype, kernel)),
        Primitive::Reduce => {
            let (from, to) = same_bits(op, dtype, combined_in(stored));
            dispatch::reduce(op, from, to, kernel)
        }
        Primitive::InclusiveScan | Primitive::ExclusiveScan => {
            let (from, to) = same_bits(op, dtype, stored);
            dispatch::scan(op, from, to, kernel)
        }
    }
}

/// The types that a CPU's numbers are found for: sums of signed integers are those of unsigned ones, bit for bit.
pub(super) fn cpu_dtypes(arguments: &TuneArguments) -> Vec<Dtype> {
    let asked = arguments.dtype.as_ref().map_or(DTYPES.to_vec(), |names| names.0.clone());
    let mut dtypes: Vec<Dtype> = Vec::new();
    for dtype in asked.into_iter().map(|dtype| same_bits(Op::Sum, dtype, dtype).0) {
        if !dtypes.contains(&dtype) {
            dtypes.push(dtype);
        }
    }
    dtypes
}

/// Every piece of work that is wanted and exists; scans with and without their own item are one.
pub(super) fn pieces(arguments: &TuneArguments) -> Result<Vec<Wanted>> {
    let dtypes = match &arguments.dtype {
        Some(names) => names.0.clone(),
        None if arguments.quick => QUICK_DTYPES.to_vec(),
        None => DTYPES.to_vec(),
    };
    let mut scans = false;
    let mut wanted = Vec::new();
    for &primitive in &arguments.op.0 {
        if primitive.scans() && std::mem::replace(&mut scans, true) {
            continue;
        }
        let op = primitive.op(arguments.operator);
        for &dtype in &dtypes {
            let stored = arguments.acc.filter(|_| !primitive.is_position()).unwrap_or(dtype);
            if !primitive.is_position() {
                check_accumulator(dtype, stored)?;
                op.check(dtype)?;
            }
            wanted.push(Wanted { primitive, op, dtype, stored });
        }
    }
    Ok(wanted)
}

/// The lengths to measure at: those of which the device and the host hold all arrays, half of each memory being left.
pub(super) fn lengths(arguments: &TuneArguments, device: &Device, bytes: usize) -> Vec<usize> {
    let mut lengths = match &arguments.n {
        Some(lengths) => lengths.0.clone(),
        None => {
            let wanted = |power: &u32| !arguments.quick || *power <= QUICK_POWER;
            POWERS.filter(wanted).map(|power| 1 << power).collect()
        }
    };
    lengths.sort_unstable();
    lengths.dedup();
    let limits = device.limits();
    let memories = [limits.memory_bytes, input::available_memory()];
    let least = memories.into_iter().flatten().min().unwrap_or(u64::MAX);
    // Shorter lengths together are as long as the longest.
    lengths.retain(|&n| n > 0 && (2 * n as u64).saturating_mul(bytes as u64) <= least / 2);
    lengths
}
