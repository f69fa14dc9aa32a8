//! Several threads on one array, block by block, each of which knows what comes into its block without waiting for its turn.
//!
//! A thread finds the total of a block, shows it to all, and combines the totals of the blocks before, in their order, with what it has
//! from its last block: each total once. So the result is that of one thread, and no carry goes from one thread to the next. It is the
//! look-back of D. Merrill and M. Garland ("Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016) forwards: a thread here lives for
//! many blocks and need not look back for a prefix, since it has one.
//!
//! Blocks are taken in order, so whoever waits for a total, waits for a thread that has already begun and needs nobody behind it: there is
//! no deadlock, also not with one thread.
//!
//! Totals have a place for each block of a *round*, and the places of two rounds are used in turns. Who has no totals of a round yet begins
//! with the *base* of it, what comes into its first block. A place is written again when all blocks of its round are *done*, which
//! have read what they want of it; that was a round ago, so that nobody waits for it unless a thread is held up.

use core::array;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use upsweep_core::summation::{TILES, WINDOW};
use upsweep_core::{Carry, Element, Operator};

use crate::team::{Guard, Team, lock, wait_unless};

/// Blocks of a round: more than most machines have threads, each of which has one, so that nobody waits for the round before. They are not allocated, as nothing is in a call that is planned.
const ROUND: usize = 128;

/// In a cache line of its own, and its neighbour, which processors fetch with it.
#[repr(align(128))]
struct Aligned<T>(T);

/// The total of a block.
struct Place<T> {
    /// The number of the round whose total is there, plus one.
    round: AtomicUsize,
    total: UnsafeCell<MaybeUninit<T>>,
}

/// The blocks of every second round.
struct Round<T, S> {
    /// Blocks that have read all totals they want, of all these rounds.
    done: Aligned<AtomicUsize>,
    /// The number of the round whose base is there, plus one.
    begun: Aligned<AtomicUsize>,
    base: UnsafeCell<S>,
    places: Aligned<[Place<T>; ROUND]>,
}

impl<T, S> Round<T, S> {
    fn new(base: S) -> Self {
        let place =
            || Place { round: AtomicUsize::new(0), total: UnsafeCell::new(MaybeUninit::uninit()) };
        Self {
            done: Aligned(AtomicUsize::new(0)),
            begun: Aligned(AtomicUsize::new(0)),
            base: UnsafeCell::new(base),
            places: Aligned(array::from_fn(|_| place())),
        }
    }

    /// Whether all blocks of these rounds that come before round `round` are done.
    fn is_done_before(&self, round: usize) -> bool {
        self.done.0.load(Ordering::Acquire) >= round / 2 * ROUND
    }
}

/// The state after some first blocks of an array.
#[derive(Clone, Copy)]
struct StateAfterBlocks<S> {
    blocks: usize,
    state: S,
}

/// What comes into each block, found from the totals of all before it.
pub(crate) struct Totals<'a, T, S, F> {
    team: Team<'a>,
    /// `None` if a thread is alone, for whom making them takes longer than some calls.
    rounds: Option<[Round<T, S>; 2]>,
    /// The state after one more block, from its total.
    advance: F,
    start: S,
    last: Mutex<StateAfterBlocks<S>>,
    /// Set when a thread panics: nobody must wait for it.
    broken: AtomicBool,
}

// SAFETY: threads share cells of totals and states, which are copied from one to another. `show`, `see_all_before` and `show_base` say why
// nobody reads one while it is written. What else is shared is what all threads may call.
unsafe impl<T: Copy + Send, S: Copy + Send + Sync, F: Sync> Sync for Totals<'_, T, S, F> {}

impl<'a, T, S, F> Totals<'a, T, S, F>
where
    T: Copy + Send,
    S: Copy + Send + Sync,
    F: Fn(S, T) -> S + Sync,
{
    /// `start` comes into the first block, on the threads of `team`.
    pub(crate) fn new(team: Team<'a>, start: S, advance: F) -> Self {
        let rounds = (team.threads() > 1).then(|| array::from_fn(|_| Round::new(start)));
        let last = Mutex::new(StateAfterBlocks { blocks: 0, state: start });
        Self { team, rounds, advance, start, last, broken: AtomicBool::new(false) }
    }

    /// Calls `work` on every thread. `work` takes blocks in order until there are none, and [enters](TotalsReader::enter) each. If it
    /// panics on one thread, the others give up waiting, and the panic goes on. Gives the state after the last block.
    pub(crate) fn on_threads(
        self,
        work: &(impl Fn(&mut TotalsReader<'_, '_, T, S, F>) + Sync),
    ) -> S {
        self.team.run_in_turn(&|| {
            let guard = Guard(&self.broken);
            let after = StateAfterBlocks { blocks: 0, state: self.start };
            let mut seen = TotalsReader { totals: &self, after };
            work(&mut seen);
            if let Some(mut last) = lock(&self.last)
                && last.blocks < seen.after.blocks
            {
                *last = seen.after;
            }
            core::mem::forget(guard);
        });
        lock(&self.last).map_or(self.start, |last| last.state)
    }

    /// Waits until it is so. `None` if a thread has panicked.
    fn wait(&self, is_so: impl Fn() -> bool) -> Option<()> {
        wait_unless(&self.broken, || is_so().then_some(()))
    }
}

/// What a thread has seen of all totals: those of some first blocks.
pub(crate) struct TotalsReader<'t, 'a, T, S, F> {
    totals: &'t Totals<'a, T, S, F>,
    after: StateAfterBlocks<S>,
}

impl<T, S, F> TotalsReader<'_, '_, T, S, F>
where
    T: Copy + Send,
    S: Copy + Send + Sync,
    F: Fn(S, T) -> S + Sync,
{
    /// Shows the total of block `index`, and gives what comes into it. `None` if another thread has panicked.
    ///
    /// A thread enters one block after another in their order, all threads together every one.
    ///
    /// # Safety
    /// No block is entered twice.
    pub(crate) unsafe fn enter(&mut self, index: usize, total: T) -> Option<S> {
        let advance = &self.totals.advance;
        if let Some(rounds) = &self.totals.rounds {
            self.show(rounds, index, total)?;
            self.see_all_before(rounds, index)?;
        }
        let before = self.after.state;
        self.after = StateAfterBlocks { blocks: index + 1, state: advance(before, total) };
        if let Some(rounds) = &self.totals.rounds {
            if (index + 1).is_multiple_of(ROUND) {
                self.show_base(rounds)?;
            }
            rounds[index / ROUND % 2].done.0.fetch_add(1, Ordering::Release);
        }
        Some(before)
    }

    fn show(&self, rounds: &[Round<T, S>; 2], index: usize, total: T) -> Option<()> {
        let (round, place) = (index / ROUND, index % ROUND);
        let here = &rounds[round % 2];
        self.totals.wait(|| here.is_done_before(round))?;
        let place = &here.places.0[place];
        // SAFETY: nobody else enters this block. Those that read the total of an earlier one from this place were in blocks of
        // that round, all of which are done, as has just been acquired; those that want this one wait for the number.
        unsafe { *place.total.get() = MaybeUninit::new(total) };
        place.round.store(round + 1, Ordering::Release);
        Some(())
    }

    fn see_all_before(&mut self, rounds: &[Round<T, S>; 2], index: usize) -> Option<()> {
        let (round, place) = (index / ROUND, index % ROUND);
        let here = &rounds[round % 2];
        let first = round * ROUND;
        if self.after.blocks < first {
            self.totals.wait(|| here.begun.0.load(Ordering::Acquire) == round + 1)?;
            // SAFETY: it was written before the number, which has been acquired, and is not written again before this block is done.
            self.after = StateAfterBlocks { blocks: first, state: unsafe { *here.base.get() } };
        }
        for place in &here.places.0[self.after.blocks - first..place] {
            self.totals.wait(|| place.round.load(Ordering::Acquire) == round + 1)?;
            // SAFETY: likewise, and with the number the total is there.
            let total = unsafe { (*place.total.get()).assume_init() };
            self.after.state = (self.totals.advance)(self.after.state, total);
        }
        Some(())
    }

    /// Says what comes into the next round, of whose block before this thread has seen all.
    fn show_base(&self, rounds: &[Round<T, S>; 2]) -> Option<()> {
        let round = self.after.blocks / ROUND;
        let next = &rounds[round % 2];
        self.totals.wait(|| next.is_done_before(round))?;
        // SAFETY: only the last block of a round comes here. Those that read the base of an earlier round from this place are done, as
        // has just been acquired; those that want this one wait for the number.
        unsafe { *next.base.get() = self.after.state };
        next.begun.0.store(round + 1, Ordering::Release);
        Some(())
    }
}

/// Appends the totals of all windows of `items` items to `carry`. Each thread finds them with a function of its own.
pub(crate) fn append_windows<A, O, F>(
    team: Team<'_>,
    items: usize,
    carry: &mut Carry<A>,
    operator: O,
    total_of: impl Fn() -> F + Sync,
) where
    A: Element,
    O: Operator<A>,
    F: FnMut(Range<usize>) -> A,
{
    let windows = items.div_ceil(WINDOW);
    let next = AtomicUsize::new(0);
    // A window that is not full is filled up with padding, which changes nothing.
    let advance = |mut carry: Carry<A>, total| {
        carry.push(total, TILES.ilog2(), &operator);
        carry
    };
    *carry = Totals::new(team.at_most(windows), *carry, advance).on_threads(&|seen| {
        let mut total_of = total_of();
        loop {
            let window = next.fetch_add(1, Ordering::Relaxed);
            if window >= windows {
                break;
            }
            let start = window * WINDOW;
            let total = total_of(start..items.min(start + WINDOW));
            // SAFETY: a number is taken once.
            if unsafe { seen.enter(window, total) }.is_none() {
                break;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use rayon::ThreadPoolBuilder;

    use super::super::testing::{FIRST, check, teams, with_next};
    use super::*;

    /// Blocks that have each place several times, and end within a round or with one.
    const BLOCKS: [usize; 6] = [0, 1, ROUND - 1, 2 * ROUND, 2 * ROUND + 1, 7 * ROUND + 3];

    #[test]
    fn each_block_gets_what_all_before_it_make() {
        let pool = ThreadPoolBuilder::new().num_threads(9).build().expect("threads");
        for (team, blocks) in teams(&pool).into_iter().flat_map(|team| BLOCKS.map(|n| (team, n))) {
            let next = AtomicUsize::new(0);
            let found = Mutex::new(vec![None; blocks]);
            let totals = Totals::new(team, FIRST, with_next);
            let last = totals.on_threads(&|seen| {
                // Threads that come late, and go on when others have gone far.
                let turns = next.load(Ordering::Relaxed) % 5;
                (0..turns).for_each(|_| thread::yield_now());
                loop {
                    let block = next.fetch_add(1, Ordering::Relaxed);
                    if block >= blocks {
                        break;
                    }
                    // SAFETY: a number is taken once.
                    let before = unsafe { seen.enter(block, block) };
                    found.lock().expect("nobody panics")[block] = before;
                }
            });
            assert_eq!(last, check(&found.into_inner().expect("nobody panics")));
        }
    }

    /// A thread that shows its total and then sleeps needs totals that others must not have written over when it goes on.
    #[test]
    fn whoever_is_held_up_finds_the_totals_it_wants() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        let blocks = 5 * ROUND;
        let held_up = [ROUND / 2, ROUND, 2 * ROUND - 1, 3 * ROUND + 1];
        let next = AtomicUsize::new(0);
        let found = Mutex::new(vec![None; blocks]);
        // Of one total all that see it sleep: first whoever comes to it, then the others, each a little later.
        let advance = |before, block| {
            if held_up.contains(&block) {
                thread::sleep(std::time::Duration::from_millis(2));
            }
            with_next(before, block)
        };
        let last = Totals::new(Team::new(&pool), FIRST, advance).on_threads(&|seen| {
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks {
                    break;
                }
                // SAFETY: a number is taken once.
                let before = unsafe { seen.enter(block, block) };
                found.lock().expect("nobody panics")[block] = before;
            }
        });
        assert_eq!(last, check(&found.into_inner().expect("nobody panics")));
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        let pool = ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
        for team in teams(&pool) {
            let next = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                Totals::new(team, 0, with_next).on_threads(&|seen| {
                    loop {
                        let block = next.fetch_add(1, Ordering::Relaxed);
                        assert!(block != ROUND / 2, "one block fails");
                        // SAFETY: a number is taken once.
                        if unsafe { seen.enter(block, block) }.is_none() {
                            break;
                        }
                    }
                })
            }));
            assert!(result.is_err());
        }
    }
}
