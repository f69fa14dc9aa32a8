//! What the machine can do at most: bytes read, and bytes copied, with no arithmetic that matters.
//!
//! The engine `limit.read.*` adds up words in eight independent vectors; `limit.copy.*` loads and
//! stores; `limit.stream.*` copies with stores that go past the caches, which spares reading the
//! lines that are about to be overwritten. Each runs on one thread and on all of them.

use std::cell::RefCell;
use std::hint::{black_box, spin_loop};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::buffer::{Buffer, bytes, bytes_mut};
use crate::cell::Cell;
use crate::input::Item;

/// With less than this for each thread, threads measure their barrier instead of the memory.
const BYTES_PER_THREAD: usize = 1 << 20;

/// Shares of threads begin on pages of their own.
const SHARE_ALIGN: usize = 4096;

type Read = fn(&[u8]) -> u64;
type Copy = fn(&[u8], &mut [u8]);

/// Adds every way to read the input.
pub fn reads<T: Item>(cell: &mut Cell, input: &Rc<Buffer<T>>) {
    for (name, read) in read_kernels() {
        for threads in thread_counts(size_of_val::<[T]>(input)) {
            let input = Rc::clone(input);
            let run = move |calls| {
                let shares = split(bytes(&input), threads);
                in_step(calls, shares, |share| {
                    black_box(read(black_box(share)));
                })
            };
            cell.add(format!("limit.read.{name}.{threads}T"), threads, run, || Ok(0));
        }
    }
}

/// Adds every way to copy the input to the output.
pub fn copies<T: Item>(cell: &mut Cell, input: &Rc<Buffer<T>>, output: &Rc<RefCell<Buffer<T>>>) {
    for (name, copy) in copy_kernels() {
        for threads in thread_counts(size_of_val::<[T]>(input)) {
            let (input, output) = (Rc::clone(input), Rc::clone(output));
            let run = move |calls| {
                let mut output = output.borrow_mut();
                let sources = split(bytes(&input), threads);
                let size = sources[0].len();
                let shares = sources.into_iter().zip(bytes_mut(&mut output).chunks_mut(size));
                in_step(calls, shares.collect(), |(source, target)| {
                    copy(black_box(source), black_box(target));
                })
            };
            cell.add(format!("limit.{name}.{threads}T"), threads, run, || Ok(0));
        }
    }
}

fn thread_counts(bytes: usize) -> Vec<usize> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    if all > 1 && bytes / all >= BYTES_PER_THREAD { vec![1, all] } else { vec![1] }
}

fn split(bytes: &[u8], threads: usize) -> Vec<&[u8]> {
    let size = bytes.len().div_ceil(threads).next_multiple_of(SHARE_ALIGN);
    bytes.chunks(size).collect()
}

/// Seconds for `calls` rounds in which every thread does its share once and waits for the others.
fn in_step<S: Send>(calls: usize, shares: Vec<S>, work: impl Fn(&mut S) + Sync) -> f64 {
    let threads = shares.len();
    let arrived = AtomicUsize::new(0);
    let meet = |round: usize| {
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < threads * (round + 1) {
            spin_loop();
        }
    };
    let rounds = |mut share: S| {
        meet(0);
        let start = Instant::now();
        for round in 1..=calls {
            work(&mut share);
            meet(round);
        }
        start.elapsed().as_secs_f64()
    };
    let mut shares = shares.into_iter();
    let first = shares.next().expect("at least one share");
    std::thread::scope(|scope| {
        for share in shares {
            let rounds = &rounds;
            scope.spawn(move || rounds(share));
        }
        rounds(first)
    })
}

fn read_words(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0, |sum: u64, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)))
}

/// The library's own copy: `memcpy`.
fn copy_library(source: &[u8], target: &mut [u8]) {
    target.copy_from_slice(source);
}

#[cfg(not(target_arch = "x86_64"))]
fn read_kernels() -> Vec<(&'static str, Read)> {
    vec![("words", read_words)]
}

#[cfg(not(target_arch = "x86_64"))]
fn copy_kernels() -> Vec<(&'static str, Copy)> {
    vec![("copy.library", copy_library)]
}

#[cfg(target_arch = "x86_64")]
fn read_kernels() -> Vec<(&'static str, Read)> {
    let mut kernels: Vec<(&'static str, Read)> = vec![("words", read_words)];
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was just found.
        kernels.push(("avx2", |bytes| unsafe { avx2::read(bytes) }));
    }
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: AVX-512 was just found.
        kernels.push(("avx512", |bytes| unsafe { avx512::read(bytes) }));
    }
    kernels
}

#[cfg(target_arch = "x86_64")]
fn copy_kernels() -> Vec<(&'static str, Copy)> {
    let mut kernels: Vec<(&'static str, Copy)> = vec![("copy.library", copy_library)];
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was just found; shares begin on a page.
        kernels.push(("copy.avx2", |from, to| unsafe { avx2::copy::<false>(from, to) }));
        // SAFETY: as above.
        kernels.push(("stream.avx2", |from, to| unsafe { avx2::copy::<true>(from, to) }));
    }
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: AVX-512 was just found; shares begin on a page.
        kernels.push(("copy.avx512", |from, to| unsafe { avx512::copy::<false>(from, to) }));
        // SAFETY: as above.
        kernels.push(("stream.avx512", |from, to| unsafe { avx512::copy::<true>(from, to) }));
    }
    kernels
}

#[cfg(target_arch = "x86_64")]
macro_rules! kernels {
    ($isa:ident $feature:literal $vector:ident $zero:ident $add:ident $load:ident $store:ident $stream:ident) => {
        mod $isa {
            use std::arch::x86_64::*;

            const SIZE: usize = size_of::<$vector>();

            /// Adds up `bytes` in eight vectors.
            #[target_feature(enable = $feature)]
            pub(super) fn read(bytes: &[u8]) -> u64 {
                let (blocks, rest) = bytes.as_chunks::<{ 8 * SIZE }>();
                let mut sums = [$zero(); 8];
                for block in blocks {
                    for (sum, vector) in sums.iter_mut().zip(block.as_chunks::<SIZE>().0) {
                        // SAFETY: a vector's worth of bytes, at any address.
                        *sum = $add(*sum, unsafe { $load(vector.as_ptr().cast()) });
                    }
                }
                let [first, others @ ..] = sums;
                let total = others.into_iter().fold(first, |sum, other| $add(sum, other));
                let mut lanes = [0u64; SIZE / 8];
                // SAFETY: `lanes` is as large as a vector.
                unsafe { $store(lanes.as_mut_ptr().cast(), total) };
                lanes.into_iter().fold(super::read_words(rest), u64::wrapping_add)
            }

            /// Copies `source` to `target`, which begins on a boundary of a vector.
            #[target_feature(enable = $feature)]
            pub(super) fn copy<const STREAM: bool>(source: &[u8], target: &mut [u8]) {
                assert_eq!(source.len(), target.len());
                assert!(target.as_ptr().cast::<$vector>().is_aligned());
                let (blocks, rest) = source.as_chunks::<{ 4 * SIZE }>();
                let (to_blocks, to_rest) = target.as_chunks_mut::<{ 4 * SIZE }>();
                for (block, to_block) in blocks.iter().zip(to_blocks) {
                    let from: *const $vector = block.as_ptr().cast();
                    let to: *mut $vector = to_block.as_mut_ptr().cast();
                    for vector in 0..4 {
                        // SAFETY: four vectors each, those of the target aligned.
                        unsafe {
                            let value = $load(from.add(vector));
                            if STREAM {
                                $stream(to.add(vector), value);
                            } else {
                                $store(to.add(vector), value);
                            }
                        }
                    }
                }
                if STREAM {
                    _mm_sfence();
                }
                to_rest.copy_from_slice(rest);
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
kernels!(avx2 "avx2" __m256i _mm256_setzero_si256 _mm256_add_epi64 _mm256_loadu_si256 _mm256_storeu_si256 _mm256_stream_si256);
#[cfg(target_arch = "x86_64")]
kernels!(avx512 "avx512f" __m512i _mm512_setzero_si512 _mm512_add_epi64 _mm512_loadu_si512 _mm512_storeu_si512 _mm512_stream_si512);
