//! The only intrinsics of the crate, each beside the plain code that it must equal.
//!
//! Loops over arrays of lanes are left to the compiler, which turns them into vectors of every
//! instruction set, for every element and every operator, the caller's own included. What it
//! cannot do well stands here: shifts across lanes ([`lanes`]) on the vectors of
//! `fearless_simd`; sums of bytes on AVX-512 (`bytes`), scans of floats on x86 (`rows`, by `quad` on AVX2 and by `wide` on AVX-512, both
//! on `vector`), compaction of items by a mask ([`compress`]), conversion of short floats ([`half`]) and stores past the caches ([`stream`])
//! on intrinsics.

#[cfg(target_arch = "x86_64")]
pub(crate) mod bytes;
pub(crate) mod compress;
pub(crate) mod half;
pub(crate) mod lanes;
#[cfg(target_arch = "x86_64")]
mod quad;
#[cfg(target_arch = "x86_64")]
pub(crate) mod rows;
pub(crate) mod stream;
pub(crate) mod strided;
#[cfg(target_arch = "x86_64")]
mod vector;
#[cfg(target_arch = "x86_64")]
mod wide;
