//! The limits of memory: as many bytes, moved with no arithmetic worth the name.

use std::sync::Mutex;

use fearless_simd::Simd;
use upsweep_core::{BitOr, Direction};

use crate::device::Means;
use crate::isa::{self, Kernel};
use crate::reduce;
use crate::simd::stream::{self, Ahead, Lines};
use crate::team::lock;

/// Reads all bytes once: a bitwise "or", on every thread that a reduction would use.
pub(crate) fn read(means: &Means<'_>, bytes: &[u8]) -> u8 {
    if bytes.is_empty() { 0 } else { reduce::total(means, bytes, BitOr) }
}

/// Copies all bytes, past the caches where a scan would write past them. Both slices have the
/// same length.
pub(crate) fn copy(means: &Means<'_>, input: &[u8], output: &mut [u8]) {
    let past_caches = output.len() >= means.policy.streaming_bytes;
    let piece = means.block_bytes(input.len()).max(1);
    let pieces = Mutex::new(input.chunks(piece).zip(output.chunks_mut(piece)));
    means.team.run(&|| {
        while let Some((input, output)) = lock(&pieces).and_then(|mut pieces| pieces.next()) {
            if past_caches {
                let lines = Lines::new(output, Direction::Forward, means.level);
                isa::run(means.level, CopyPast(input, lines));
            } else {
                output.copy_from_slice(input);
            }
        }
    });
}

struct CopyPast<'a>(&'a [u8], Lines<'a>);

impl Kernel for CopyPast<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self(input, mut lines) = self;
        lines.push(simd, input, Ahead::new::<u8>(&[]));
        lines.finish();
        stream::fence();
    }
}
