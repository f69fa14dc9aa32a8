//! The limits of memory: as many bytes, moved with no arithmetic worth the name.

use fearless_simd::Simd;
use upsweep_core::{BitOr, Direction};

use crate::device::ExecutionContext;
use crate::isa::{self, Kernel};
use crate::parts::ClaimCounters;
use crate::reduce;
use crate::scan::Source;
use crate::scan::blocks::{Block, Blocks};
use crate::simd::stream::{self, Prefetch, StreamingOutput};

/// Reads all bytes once: a bitwise "or", on every thread that a reduction would use.
pub(crate) fn read(context: &ExecutionContext<'_>, bytes: &[u8]) -> u8 {
    if bytes.is_empty() { 0 } else { reduce::total(context, bytes, BitOr) }
}

/// Copies all bytes, past the caches where a scan would write past them. Both slices have the
/// same length.
pub(crate) fn copy(context: &ExecutionContext<'_>, input: &[u8], output: &mut [u8]) {
    let past_caches = output.len() >= context.policy.streaming_bytes;
    let piece = context.block_bytes(input.len()).max(1);
    let pieces = Blocks::new(Source::<u8>::InPlace, output, piece, Direction::Forward);
    let (parts, taken) = (context.team.parts(pieces.count()), ClaimCounters::nothing());
    context.team.run(&|| {
        for index in parts.take(&taken, context.team.own(&parts)) {
            // SAFETY: a number is taken once.
            let Block { output, .. } = unsafe { pieces.block(index) };
            let input = &input[index * piece..][..output.len()];
            if past_caches {
                let lines = StreamingOutput::new(output, Direction::Forward, context.level);
                isa::run(context.level, CopyPast(input, lines));
            } else {
                output.copy_from_slice(input);
            }
        }
    });
}

struct CopyPast<'a>(&'a [u8], StreamingOutput<'a>);

impl Kernel for CopyPast<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self(input, mut lines) = self;
        lines.push(simd, input, Prefetch::new::<u8>(&[]));
        lines.finish();
        stream::fence();
    }
}
