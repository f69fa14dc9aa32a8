//! The only intrinsics of the crate, each beside the plain code that it must equal.
//!
//! Loops over arrays of lanes are left to the compiler, which turns them into vectors of every
//! instruction set, for every element and every operator, the caller's own included. What it
//! cannot do well stands here: shifts across lanes ([`lanes`]) on the vectors of
//! `fearless_simd`, conversion of short floats ([`half`]) and stores past the caches
//! ([`stream`]) on intrinsics.

pub(crate) mod half;
pub(crate) mod lanes;
pub(crate) mod stream;
