//! Several threads on one call.
//!
//! Of a reduction the caller itself takes blocks at once, and helpers from the thread pool join when they
//! are awake. A call that was handed over to the pool as a whole would wait for threads to wake up at its
//! beginning, and for the caller to wake up at its end. On two cores of a Zen 4 8 MiB are read at
//! 157 GB/s this way, at 67 that way, and at 84 by one core (2026-11-21).
//!
//! The threads of a scan wait for each other. If it is long the caller sleeps while the pool works.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;

use rayon::ThreadPool;

use crate::parts::{ClaimCounters, Parts};

/// Looks this often before the thread lets others run. A hand-over between two cores takes some 40
/// nanoseconds, of two looks; but where both threads are on one core, or another program has the
/// other, the one that is waited for runs only when this one stops looking.
const SPINS: u32 = 1 << 6;

/// Looks this often for helpers that finish their last block, some 20 microseconds, before the caller
/// sleeps: being woken takes as long.
const LAST_LOOKS: u32 = 1 << 10;

/// Most blocks that [`Team::fold`] and scans in parts cut a call into: enough to keep threads equally busy.
pub(crate) const MOST_BLOCKS: usize = 256;

/// Bytes that a call moves for each of its threads, up to which the caller is one of those that wait for each other. Handing a call over to
/// the pool and being woken takes 12 to 16 us on two cores of a Zen 3 and on sixteen of a Xeon: of a scan of 256 KiB there and back, 33 us and
/// 41. With the caller among them long ones take the same on the Xeon, but 5 to 10 % longer on the Zen 3, from 16 MiB on, and on a Zen 4
/// (2026-11-21 and -26, `2026-11-26-scan-turns-cpu.csv` of both, `docs/decisions/2026-11-21-scan-threads.md`).
const JOINED_BYTES: usize = 2 << 20;

/// Bytes that a call moves for each of its threads, from which on each begins with its own part of them. Sixteen threads of a Xeon sum 4 MiB in
/// 0.92 to 1.00 of the time then, and longer arrays in 0.60 to 1.03; 2 MiB took 1.12 (2026-11-26, `2026-11-26-parts-cpu.csv`, `-parts-compare-cpu.csv`; the
/// last not in the record).
const OWN_BYTES: usize = 1 << 18;

/// The threads of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Team<'a> {
    /// Where helpers come from; `None` if the caller is alone.
    pool: Option<&'a ThreadPool>,
    threads: usize,
    /// Bytes that each of them would move if all took part; without a limit where nobody said.
    each: usize,
}

impl<'a> Team<'a> {
    /// The caller alone.
    pub(crate) const ALONE: Team<'static> = Team { pool: None, threads: 1, each: 0 };

    /// As many threads as `pool` has.
    pub(crate) fn new(pool: &'a ThreadPool) -> Self {
        Self { pool: Some(pool), threads: pool.current_num_threads(), each: usize::MAX }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn threads(self) -> usize {
        self.threads
    }

    /// The team with at most `threads` threads.
    pub(crate) fn at_most(self, threads: usize) -> Self {
        Self { threads: self.threads.min(threads).max(1), ..self }
    }

    /// The team for a call that moves so many bytes.
    pub(crate) fn to_move(self, bytes: usize) -> Self {
        Self { each: bytes / self.threads, ..self }
    }

    /// Calls `work` on the caller and its helpers, and returns when all have returned. A panic on one
    /// of them goes on in the caller.
    pub(crate) fn run(self, work: &(dyn Fn() + Sync)) {
        let Some(pool) = self.pool.filter(|_| self.threads > 1) else { return work() };
        let helping = AtomicUsize::new(self.threads - 1);
        pool.in_place_scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(|_| {
                    work();
                    helping.fetch_sub(1, Ordering::Release);
                });
            }
            work();
            let mut looks = 0;
            wait_for(|| {
                looks += 1;
                let finished = helping.load(Ordering::Acquire) == 0;
                (finished || looks > LAST_LOOKS).then_some(())
            });
        });
    }

    /// Like [`run`](Team::run), for threads that wait for each other: of long calls all of them are from the pool.
    pub(crate) fn run_in_turn(self, work: &(dyn Fn() + Sync)) {
        fn share(threads: usize, work: &(dyn Fn() + Sync)) {
            if threads > 1 {
                rayon::join(|| share(threads / 2, work), || share(threads - threads / 2, work));
            } else {
                work();
            }
        }
        match self.pool.filter(|_| self.threads > 1 && self.each > JOINED_BYTES) {
            Some(pool) => pool.install(|| share(self.threads, work)),
            None => self.run(work),
        }
    }

    /// The part of the thread that asks.
    pub(crate) fn own(self, parts: &Parts) -> usize {
        parts.own(self.pool.and_then(ThreadPool::current_thread_index))
    }

    /// So many blocks, in a part for each thread, or all in one where they are short.
    pub(crate) fn parts(self, blocks: usize) -> Parts {
        Parts::new(if self.each < OWN_BYTES { 1 } else { self.threads }, blocks)
    }

    /// Calls `work` with every number below `blocks`, of which there are at most [`MOST_BLOCKS`], on
    /// all threads, and then `take` with each result, in order.
    pub(crate) fn fold<R: Copy + Send>(
        self,
        blocks: usize,
        work: impl Fn(usize) -> R + Sync,
        mut take: impl FnMut(R),
    ) {
        let results = [const { Mutex::new(None::<R>) }; MOST_BLOCKS];
        let (parts, taken) = (self.parts(blocks), ClaimCounters::nothing());
        self.at_most(blocks).run(&|| {
            for block in parts.take(&taken, self.own(&parts)) {
                let result = work(block);
                if let Some(mut place) = lock(&results[block]) {
                    *place = Some(result);
                }
            }
        });
        for result in results.into_iter().take(blocks) {
            // A block without a result has panicked, and the panic has not come here.
            if let Ok(Some(result)) = result.into_inner() {
                take(result);
            }
        }
    }
}

/// Calls `look` until it gives something.
pub(crate) fn wait_for<R>(mut look: impl FnMut() -> Option<R>) -> R {
    let mut looks = 0u32;
    loop {
        if let Some(found) = look() {
            return found;
        }
        looks += 1;
        if looks.is_multiple_of(SPINS) {
            thread::yield_now();
        } else {
            core::hint::spin_loop();
        }
    }
}

/// Calls `look` until it gives something, or a thread has panicked and said so: then nothing.
pub(crate) fn wait_unless<R>(
    broken: &AtomicBool,
    mut look: impl FnMut() -> Option<R>,
) -> Option<R> {
    wait_for(|| match look() {
        Some(found) => Some(Some(found)),
        None => broken.load(Ordering::Relaxed).then_some(None),
    })
}

/// Locks without sleeping: what is locked here is held for some ten instructions, and waking a
/// thread that sleeps takes longer than the work of a whole block.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    wait_for(|| match mutex.try_lock() {
        Ok(guard) => Some(Some(guard)),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Poisoned(_)) => Some(None),
    })
}

/// Says that its thread has panicked, unless it is forgotten.
pub(crate) struct Guard<'a>(pub(crate) &'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rayon::ThreadPoolBuilder;

    use super::*;

    #[test]
    fn every_block_is_done_once_and_taken_in_order() {
        let pool = ThreadPoolBuilder::new().num_threads(16).build().expect("sixteen threads");
        let all = Team::new(&pool);
        let short = all.to_move(0);
        for team in [Team::ALONE, all.at_most(0), all.at_most(2), all.at_most(3), all, short] {
            for blocks in [0, 1, 2, 7, MOST_BLOCKS] {
                let calls = AtomicUsize::new(0);
                let mut taken = Vec::new();
                let work = |block| {
                    calls.fetch_add(1, Ordering::Relaxed);
                    block * block
                };
                team.fold(blocks, work, |result| taken.push(result));
                assert_eq!(taken, (0..blocks).map(|block| block * block).collect::<Vec<_>>());
                assert_eq!(calls.into_inner(), blocks);
            }
        }
    }

    #[test]
    fn a_panic_of_a_helper_reaches_the_caller() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        let caller = thread::current().id();
        let begun = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            Team::new(&pool).run(&|| {
                begun.fetch_add(1, Ordering::Relaxed);
                assert!(thread::current().id() == caller, "a helper fails");
                wait_for(|| (begun.load(Ordering::Relaxed) == 2).then_some(()));
            });
        }));
        assert!(result.is_err());
    }
}
