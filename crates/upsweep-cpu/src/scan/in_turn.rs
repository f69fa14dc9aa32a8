//! Several threads on one array, block by block, with something handed on in order.
//!
//! A thread takes the next block, works on it, waits for its turn, hands on the carry, and goes
//! on with the block. Blocks are taken in order, so whoever waits, waits for a thread that has
//! already begun and needs nobody behind it: there is no deadlock, also not with one thread.
//!
//! Each block has a place of its own where its turn is written, and which a later block has after it: an array-based queue lock (T. E. Anderson,
//! "The performance of spin lock alternatives for shared-memory multiprocessors", 1990). Where all looked at one place, whoever wrote there had
//! to take the cache line back from all of them.

use core::array;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::team::{Guard, Team, wait_unless};

/// Places for turns: with more threads, some of them share one. They are not allocated, as nothing is in a call that is planned.
const PLACES: usize = 32;

/// Where a thread waits for its turn. Two cache lines, which processors fetch in pairs: a neighbour looks at others.
#[repr(align(128))]
struct Place<S> {
    /// The number of the block whose turn it is, plus one.
    turn: AtomicUsize,
    /// What comes into that block.
    state: Mutex<S>,
}

/// A value that is handed from block to block, in order.
pub(crate) struct InTurn<'a, S> {
    team: Team<'a>,
    first: Place<S>,
    /// None if a thread is alone, for whom making them takes longer than some calls.
    others: Option<[Place<S>; PLACES - 1]>,
    /// Set when a thread panics: nobody must wait for it.
    broken: AtomicBool,
}

impl<'a, S: Copy + Send> InTurn<'a, S> {
    /// What comes into the first block, on the threads of `team`.
    pub(crate) fn new(team: Team<'a>, state: S) -> Self {
        let place = |turn| Place { turn: AtomicUsize::new(turn), state: Mutex::new(state) };
        let others = (team.threads() > 1).then(|| array::from_fn(|_| place(0)));
        Self { team, first: place(1), others, broken: AtomicBool::new(false) }
    }

    fn place(&self, block: usize) -> &Place<S> {
        match (&self.others, block % PLACES) {
            (None, _) | (_, 0) => &self.first,
            (Some(others), number) => &others[number - 1],
        }
    }

    /// Hands the value to a block. `None` if a thread has panicked.
    fn hand_to(&self, index: usize, state: S) -> Option<()> {
        let place = self.place(index);
        // The block that waited here before has read its value: its own turn came earlier.
        *place.state.lock().ok()? = state;
        place.turn.store(index + 1, Ordering::Release);
        Some(())
    }

    /// Waits for block `index` to come next, replaces the value by `advance` of it, and returns
    /// the value before. `None` if another thread has panicked.
    pub(crate) fn pass(&self, index: usize, advance: impl FnOnce(S) -> S) -> Option<S> {
        let place = self.place(index);
        let is_next = || (place.turn.load(Ordering::Acquire) == index + 1).then_some(());
        wait_unless(&self.broken, is_next)?;
        // Whose turn it is, is alone here.
        let before = *place.state.lock().ok()?;
        self.hand_to(index + 1, advance(before))?;
        Some(before)
    }

    /// Calls `work` on every thread. `work` takes blocks until there are none. If it
    /// panics on one thread, the others give up waiting, and the panic goes on.
    pub(crate) fn on_threads(&self, work: &(impl Fn() + Sync)) {
        self.team.run_in_turn(&|| {
            let guard = Guard(&self.broken);
            work();
            core::mem::forget(guard);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rayon::ThreadPoolBuilder;

    use super::super::testing::{FIRST, check, teams, with_next};
    use super::*;

    /// More threads than there are places, and blocks that have each of these several times.
    const THREADS: usize = PLACES + 8;
    const BLOCKS: usize = 5 * PLACES + 3;

    #[test]
    fn each_block_gets_what_the_one_before_handed_on() {
        let pool = ThreadPoolBuilder::new().num_threads(THREADS).build().expect("threads");
        for team in teams(&pool) {
            let (carries, next) = (InTurn::new(team, FIRST), AtomicUsize::new(0));
            let seen = Mutex::new(vec![None; BLOCKS]);
            carries.on_threads(&|| {
                loop {
                    let block = next.fetch_add(1, Ordering::Relaxed);
                    if block >= BLOCKS {
                        break;
                    }
                    let before = carries.pass(block, |before| with_next(before, block));
                    seen.lock().expect("nobody panics")[block] = before;
                }
            });
            check(&seen.into_inner().expect("nobody panics"));
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        let pool = ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
        for team in teams(&pool) {
            let (carries, next) = (InTurn::new(team, 0), AtomicUsize::new(0));
            let result = catch_unwind(AssertUnwindSafe(|| {
                carries.on_threads(&|| {
                    loop {
                        let block = next.fetch_add(1, Ordering::Relaxed);
                        assert!(block != BLOCKS / 2, "one block fails");
                        if carries.pass(block, |before: u64| before + 1).is_none() {
                            break;
                        }
                    }
                });
            }));
            assert!(result.is_err());
        }
    }
}
