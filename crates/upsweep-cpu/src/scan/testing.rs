//! What the tests of several threads on one array have in common.

use rayon::ThreadPool;

use crate::team::Team;

/// What comes into the first block.
pub(super) const FIRST: u64 = 7;

/// The numbers of all blocks in order, of which no two orders have the same value.
pub(super) fn with_next(before: u64, block: usize) -> u64 {
    before.wrapping_mul(31).wrapping_add(block as u64)
}

/// One thread, some and all; with the caller among them, and without.
pub(super) fn teams(pool: &ThreadPool) -> [Team<'_>; 4] {
    let team = Team::new(pool);
    [Team::ALONE, team.at_most(3), team.to_move(0), team.to_move(usize::MAX)]
}

/// Checks that each block got what all before it make, and gives what comes out of the last.
pub(super) fn check(found: &[Option<u64>]) -> u64 {
    let mut expected = FIRST;
    for (block, before) in found.iter().enumerate() {
        assert_eq!(*before, Some(expected), "block {block} of {}", found.len());
        expected = with_next(expected, block);
    }
    expected
}
