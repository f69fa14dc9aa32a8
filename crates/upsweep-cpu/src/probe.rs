//! The limits of memory: as many bytes, moved with no arithmetic worth the name.

use fearless_simd::Simd;
use upsweep_core::{BitOr, Direction};

use crate::device::Means;
use crate::isa::{self, Kernel};
use crate::parts::Taken;
use crate::reduce;
use crate::scan::Source;
use crate::scan::blocks::{Block, Blocks};
use crate::simd::stream::{self, Ahead, Lines};

/// Reads all bytes once: a bitwise "or", on every thread that a reduction would use.
pub(crate) fn read(means: &Means<'_>, bytes: &[u8]) -> u8 {
    if bytes.is_empty() { 0 } else { reduce::total(means, bytes, BitOr) }
}

/// Copies all bytes, past the caches where a scan would write past them. Both slices have the
/// same length.
pub(crate) fn copy(means: &Means<'_>, input: &[u8], output: &mut [u8]) {
    let past_caches = output.len() >= means.policy.streaming_bytes;
    let piece = means.block_bytes(input.len()).max(1);
    let pieces = Blocks::new(Source::<u8>::InPlace, output, piece, Direction::Forward);
    let (parts, taken) = (means.team.parts(pieces.count()), Taken::nothing());
    means.team.run(&|| {
        for index in parts.take(&taken, means.team.own(&parts)) {
            // SAFETY: a number is taken once.
            let Block { output, .. } = unsafe { pieces.block(index) };
            let input = &input[index * piece..][..output.len()];
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
