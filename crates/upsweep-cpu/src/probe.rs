//! The limits of memory: as many bytes, moved with no arithmetic worth the name.

use fearless_simd::Simd;
use upsweep_core::{BitOr, CpuPolicy, Direction};

use crate::device::Means;
use crate::isa::{self, Kernel};
use crate::reduce;
use crate::simd::stream::{self, Ahead, Lines};

/// Reads all bytes once: a bitwise "or", on every thread that a reduction would use.
pub(crate) fn read(means: &Means<'_>, bytes: &[u8]) -> u8 {
    if bytes.is_empty() { 0 } else { reduce::total(means, bytes, BitOr) }
}

/// Copies all bytes, past the caches where a scan would write past them. Both slices have the
/// same length.
pub(crate) fn copy(means: &Means<'_>, input: &[u8], output: &mut [u8]) {
    if means.threads > 1 && input.len() > 2 * means.policy.block_bytes {
        let middle = (input.len() / 2).next_multiple_of(64);
        let (input_left, input_right) = input.split_at(middle);
        let (output_left, output_right) = output.split_at_mut(middle);
        let half = Means { threads: means.threads / 2, ..*means };
        let rest = Means { threads: means.threads - half.threads, ..*means };
        rayon::join(
            || copy_whole(&half, input_left, output_left, means.policy, input.len()),
            || copy_whole(&rest, input_right, output_right, means.policy, input.len()),
        );
    } else {
        copy_whole(means, input, output, means.policy, input.len());
    }
}

fn copy_whole(means: &Means<'_>, input: &[u8], output: &mut [u8], policy: &CpuPolicy, all: usize) {
    if means.threads > 1 {
        let middle = (input.len() / 2).next_multiple_of(64).min(input.len());
        let (input_left, input_right) = input.split_at(middle);
        let (output_left, output_right) = output.split_at_mut(middle);
        let half = Means { threads: means.threads / 2, ..*means };
        let rest = Means { threads: means.threads - half.threads, ..*means };
        rayon::join(
            || copy_whole(&half, input_left, output_left, policy, all),
            || copy_whole(&rest, input_right, output_right, policy, all),
        );
    } else if all >= policy.streaming_bytes {
        let lines = Lines::new(output, Direction::Forward, means.level);
        isa::run(means.level, CopyPast(input, lines));
    } else {
        output.copy_from_slice(input);
    }
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
