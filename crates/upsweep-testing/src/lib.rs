//! What upsweep's tests share: devices, boundary lengths, seeded inputs, guarded memory, and
//! operators that notice every exchange of operands.
//!
//! - [`for_each_device`] runs one body on every device; an absent one is reported as skipped.
//! - [`Input`] makes arrays from a seed: item `i` depends on the seed and `i` alone.
//! - [`lengths`] derives boundary lengths from the summation specification and from the policy
//!   that a device chose.
//! - [`Guarded`] is memory with a chosen start, poisoned, between two bands that must stay.
//! - [`Affine`], [`Compose`], [`Last`], [`LastSet`], [`SaturatingSum`], [`Explosive`] are operators of a user's.
//! - [`Pair`] to [`Extent`] are structures of numbers of all sizes, with operators.
//! - [`check_reduce`], [`check_scan`], [`check_scan_in_place`] hold every device to the oracle.
//! - [`kernels`]: annotated functions, and what every device must make of them.
//! - [`ladder`] gives arrays for the steps of the ladder.
//! - [`rotation`] chooses the cells of a large space that a run tests.
//! - [`vectors`] reads, makes and checks the committed results of the summation specification.

#![forbid(unsafe_code)]

#[cfg(doctest)]
mod annotations;
mod check;
mod devices;
mod guarded;
mod input;
pub mod kernels;
pub mod ladder;
pub mod lengths;
mod operators;
mod recipes;
pub mod rotation;
mod sample;
mod structures;
mod valued;
pub mod vectors;

pub use check::{
    Effort, check_reduce, check_scan, check_scan_in_place, expected_reduce, expected_scan,
    scan_problems,
};
pub use devices::{
    Selection, TestDevice, for_each_device, for_each_device_of, for_each_gpu, skipped,
};
pub use guarded::{Guarded, POISONS};
pub use input::{Input, Random, random_word};
pub use operators::{
    Affine, Compose, Explosive, Last, LastSet, SaturatingSum, explosive, saturating_sum,
};
pub use recipes::{recipes, selections};
pub use sample::{Sample, assert_same, first_difference};
pub use structures::{
    Above, AddedPowers, Around, BothTagged, Extent, FloatSum, InSteps, Joined, LargestStretch,
    Pair, Powers, Recurrence, Recurs, Step, Stretch, Tagged, Wide, WideSum, WrappingSum,
    added_powers, around, both_tagged, float_sum, in_steps, is_behind, is_near, is_odd, joined,
    largest_stretch, powers_of, product, recurs, stretch_of, wide_sum, wrapping_sum,
};
pub use valued::{Capped, LastOther, Modulo, Products, Quadratic, SumOfBits, SumUpTo};
