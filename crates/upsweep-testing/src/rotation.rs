//! Which cells of a large space a run tests: a part of them that changes from day to day, in which every level of every factor is met.

use core::fmt::Debug;
use std::collections::HashSet;
use std::hash::Hash;
use std::time::{SystemTime, UNIX_EPOCH};

use upsweep_core::Load;

use crate::{Random, random_word};

/// If it is `1`, all cells are tested.
const EXHAUSTIVE_VARIABLE: &str = "UPSWEEP_TEST_EXHAUSTIVE";

/// A number that says which part is tested. Without it, that is the day since 1970.
const SEED_VARIABLE: &str = "UPSWEEP_TEST_SEED";

const SECONDS_OF_A_DAY: u64 = 86_400;

/// Whether this run tests all cells.
#[must_use]
pub fn is_exhaustive() -> bool {
    std::env::var(EXHAUSTIVE_VARIABLE).is_ok_and(|value| value == "1")
}

/// The seed of this run.
///
/// # Panics
/// If the variable holds no number.
#[must_use]
pub fn seed() -> u64 {
    match std::env::var(SEED_VARIABLE) {
        Ok(seed) => seed.parse().unwrap_or_else(|_| panic!("{SEED_VARIABLE}={seed} is no number")),
        Err(_) => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs() / SECONDS_OF_A_DAY),
    }
}

/// The numbers of the cells that this run tests, in rising order. A cell is given by its levels: one of each factor, such as a strategy
/// or a type, which other factors have not.
///
/// Of `one_in` neighbours one is tested, with each seed the next, so that as many seeds in a row meet every cell. Of the others come
/// those that it takes to meet every level. The seed is printed, which a test shows if it fails.
#[must_use]
pub fn chosen<L: Eq + Hash>(cells: &[impl AsRef<[L]>], one_in: usize) -> Vec<usize> {
    if is_exhaustive() {
        return (0..cells.len()).collect();
    }
    let seed = seed();
    let chosen = chosen_by(seed, cells, one_in);
    println!("{} of {} cells, by {SEED_VARIABLE}={seed}", chosen.len(), cells.len());
    chosen
}

/// Whether it is the turn of a GPU, of which there may be several, to test a cell. Each takes one of `one_in` neighbours, and with each
/// seed the next.
pub(crate) fn is_turn_of(gpu: usize, cell: usize, one_in: usize) -> bool {
    is_exhaustive() || is_turn_by(seed(), gpu, cell, one_in)
}

fn is_turn_by(seed: u64, gpu: usize, cell: usize, one_in: usize) -> bool {
    let one_in = one_in as u64;
    (seed % one_in + (gpu + cell) as u64).is_multiple_of(one_in)
}

/// What a strategy of a GPU is an example of: how items are loaded, and what is done in a workgroup and beyond it.
#[must_use]
pub fn levels_of(load: Load, local: impl Debug, global: impl Debug) -> Vec<String> {
    let Load { arrangement, width, tail } = load;
    vec![
        format!("{arrangement:?}"),
        format!("accesses of {width:?}"),
        format!("{tail:?} tails"),
        format!("{local:?} in a workgroup"),
        format!("{global:?} beyond it"),
    ]
}

fn chosen_by<L: Eq + Hash>(seed: u64, cells: &[impl AsRef<[L]>], one_in: usize) -> Vec<usize> {
    let mut met = HashSet::new();
    // Whether a level is met that was not met before.
    let mut meets = |cell: usize| {
        let before = met.len();
        met.extend(cells[cell].as_ref());
        met.len() > before
    };
    let one_in = one_in.max(1);
    let mut taken = vec![false; cells.len()];
    for (block, start) in (0..cells.len()).step_by(one_in).enumerate() {
        // Blocks begin at different places, so that a factor that changes with each cell is not tested with one level alone.
        let turn = seed.wrapping_add(random_word(0, block as u64)) % one_in as u64;
        let cell = start + turn as usize;
        if cell < cells.len() {
            taken[cell] = true;
            meets(cell);
        }
    }
    // The rest in an order of the seed's.
    let mut random = Random::new(seed);
    let mut rest: Vec<usize> = (0..cells.len()).filter(|&cell| !taken[cell]).collect();
    while !rest.is_empty() {
        let cell = rest.swap_remove(random.below(rest.len()));
        taken[cell] = meets(cell);
    }
    (0..cells.len()).filter(|&cell| taken[cell]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 · 5 · 7 cells.
    fn cells() -> Vec<[(char, usize); 3]> {
        (0..105).map(|cell| [('a', cell % 3), ('b', cell / 3 % 5), ('c', cell / 15)]).collect()
    }

    #[test]
    fn every_level_is_met_with_every_seed() {
        let cells = cells();
        for one_in in [1, 4, 13, 105, 1000] {
            for seed in 0..50 {
                let chosen = chosen_by(seed, &cells, one_in);
                assert!(chosen.is_sorted() && chosen.len() <= 105usize.div_ceil(one_in) + 15);
                for level in cells.as_flattened() {
                    let met = chosen.iter().any(|&cell| cells[cell].contains(level));
                    assert!(met, "{level:?} by seed {seed}");
                }
            }
        }
    }

    #[test]
    fn seeds_in_a_row_meet_every_cell() {
        let cells = cells();
        for (first, one_in) in [(0, 13), (20_000, 4), (u64::MAX - 3, 8)] {
            let mut met = vec![false; cells.len()];
            for turn in 0..one_in {
                for cell in chosen_by(first.wrapping_add(turn), &cells, one_in as usize) {
                    met[cell] = true;
                }
            }
            assert!(met.iter().all(|&met| met), "from seed {first}");
        }
    }

    #[test]
    fn every_gpu_takes_every_cell_in_its_turn() {
        for (gpu, one_in) in [(0, 3), (1, 3), (7, 4), (2, 1)] {
            for seed in [0, 20_000, u64::MAX] {
                let taken = |cell: &usize| is_turn_by(seed, gpu, *cell, one_in);
                assert_eq!((50..50 + one_in).filter(taken).count(), 1, "one of neighbours");
            }
            let seeds = 20_000..20_000 + one_in as u64;
            assert_eq!(seeds.filter(|&seed| is_turn_by(seed, gpu, 5, one_in)).count(), 1);
        }
    }

    #[test]
    fn a_seed_gives_the_same_cells_again() {
        assert_eq!(chosen_by(7, &cells(), 9), chosen_by(7, &cells(), 9));
        assert_ne!(chosen_by(7, &cells(), 9), chosen_by(8, &cells(), 9));
        assert!(chosen_by::<u8>(7, &[[0; 0]; 0], 9).is_empty());
    }
}
