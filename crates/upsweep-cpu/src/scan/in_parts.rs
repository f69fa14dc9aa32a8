//! Several threads on an array that their own caches hold together.
//!
//! Each thread finds the totals of all blocks of its own [part](crate::parts); combines the totals of all blocks before, in their order; and scans its
//! part, which is still in its caches, and will be in the next call. That is *reduce-then-scan*, which reads everything twice: of memory that would
//! be half as much again as must be moved, of a thread's own cache it costs less than what blocks cost that move from core to core.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use upsweep_core::{Carry, Element};

use super::Work;
use crate::parts::{ClaimCounters, Parts};
use crate::team::{Guard, MOST_BLOCKS, Team, wait_unless};

/// Scans `blocks` blocks, at most [`MOST_BLOCKS`], and gives what comes out of the last. `carry` comes into the first.
///
/// Each block is scanned at most once, after its total has been found, which is found at most once.
pub(super) fn scan_in_parts<A: Element>(
    team: Team<'_>,
    blocks: usize,
    carry: Carry<A>,
    work: &Work<'_, A>,
) -> Carry<A> {
    let parts = Parts::new(team.threads(), blocks);
    let (counted, scanned) = (ClaimCounters::nothing(), ClaimCounters::nothing());
    let totals = [const { OnceLock::new() }; MOST_BLOCKS];
    let last = OnceLock::new();
    let broken = AtomicBool::new(false);
    team.run_in_turn(&|| {
        let guard = Guard(&broken);
        let own = team.own(&parts);
        for block in parts.take(&counted, own) {
            totals[block].get_or_init(|| (work.total)(block));
        }
        // Whoever finds a total waits for nobody, so all are found, unless a thread panics.
        let wait_for_total = |block: usize| wait_unless(&broken, || totals[block].get().copied());
        let mut after = 0;
        let mut state = carry;
        'scans: for block in parts.take(&scanned, own) {
            // Helping with another part begins anew.
            if block < after {
                (after, state) = (0, carry);
            }
            for before in after..block {
                let Some(total) = wait_for_total(before) else { break 'scans };
                state = (work.advance)(state, total);
            }
            let Some(total) = wait_for_total(block) else { break };
            (work.scan)(block, state, None);
            (after, state) = (block + 1, (work.advance)(state, total));
            if after == blocks {
                last.get_or_init(|| state);
            }
        }
        core::mem::forget(guard);
    });
    last.into_inner().unwrap_or(carry)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;
    use std::thread;
    use std::time::Duration;

    use rayon::ThreadPoolBuilder;
    use upsweep_core::Sum;

    use super::super::testing::{FIRST, check, teams, with_next};
    use super::*;

    fn value(carry: &Carry<u64>) -> u64 {
        carry.before_next(&Sum)
    }

    /// Scans the numbers of blocks, with something to do before a total is known and before a block is scanned.
    fn scan(
        team: Team<'_>,
        blocks: usize,
        before_total: &(dyn Fn(usize) + Sync),
        before_scan: &(dyn Fn(usize) + Sync),
    ) {
        let found = Mutex::new(vec![None; blocks]);
        let counted = Mutex::new(vec![0; blocks]);
        let work = Work {
            total: &|block| {
                before_total(block);
                counted.lock().expect("nobody panics here")[block] += 1;
                block as u64
            },
            advance: &|mut carry, block| {
                carry.set(with_next(value(&carry), block as usize), &Sum);
                carry
            },
            scan: &|block, carry, _| {
                before_scan(block);
                let before =
                    found.lock().expect("nobody panics here")[block].replace(value(&carry));
                assert_eq!(before, None, "block {block} is scanned once");
            },
        };
        let last = scan_in_parts(team, blocks, Carry::new(Some(FIRST), &Sum), &work);
        assert_eq!(counted.into_inner().expect("nobody panics here"), vec![1; blocks]);
        assert_eq!(value(&last), check(&found.into_inner().expect("nobody panics here")));
    }

    #[test]
    fn each_block_gets_what_all_before_it_make() {
        let pool = ThreadPoolBuilder::new().num_threads(9).build().expect("threads");
        for team in teams(&pool) {
            for blocks in [0, 1, 2, 9, 100, MOST_BLOCKS] {
                scan(team, blocks, &|_| {}, &|_| {});
            }
        }
    }

    /// Who comes late to a part finds others at it; helping goes on behind the last part with the first.
    #[test]
    fn whoever_is_late_leaves_a_part_to_others() {
        let pool = ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
        let slow = |slow: [usize; 3]| {
            move |block: usize| {
                if slow.contains(&block) {
                    thread::sleep(Duration::from_millis(3));
                }
            }
        };
        for blocks in [[0, 5, 10], [12, 16, 20], [35, 36, 39]] {
            scan(Team::new(&pool), 40, &slow(blocks), &|_| {});
            scan(Team::new(&pool), 40, &|_| {}, &slow(blocks));
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        let pool = ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
        let fails = |block: usize| assert!(block != 20, "one block fails");
        for team in teams(&pool) {
            for result in [
                catch_unwind(AssertUnwindSafe(|| scan(team, 40, &fails, &|_| {}))),
                catch_unwind(AssertUnwindSafe(|| scan(team, 40, &|_| {}, &fails))),
            ] {
                assert!(result.is_err());
            }
        }
    }
}
