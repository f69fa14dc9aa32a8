//! What profiles know before a search begins.

use std::cmp::Reverse;

use upsweep::Profile;
use upsweep::profile::{Best, Rows, Work};

use super::cells::{Cell, Space};

/// Bytes of what is read and of what comes of it.
fn sizes(work: Work) -> (usize, usize) {
    (work.item.size(), work.output.size())
}

/// Cells that were the best before: of this work first, then of items that are as large, then of all others, those of the longest arrays
/// first. Long ones have most to lose, and where few cells are tried those of short ones took all the time: scans of 2^24 to 2^28 `u32` were
/// then left with what takes 8 to 14 % longer than another row of the same profile.
pub(super) fn known_cells<'a, S: Space>(
    known: impl Iterator<Item = &'a Profile>,
    work: Work,
) -> Vec<Cell<S>> {
    let apart = |other: Work| (other != work, sizes(other) != sizes(work));
    let rows = known.flat_map(S::rows);
    let mut best: Vec<(Work, &Best<S>)> =
        rows.flat_map(|rows| rows.best().iter().map(|best| (rows.work(), best))).collect();
    best.sort_by_key(|&(work, best)| (apart(work), Reverse(best.items)));
    best.into_iter().map(|(_, best)| Cell::of(best)).collect()
}

/// What profiles have for so many items: for this work, or else for items that are as large.
pub(super) fn known_at<'a, S: Space>(
    known: impl Iterator<Item = &'a Profile>,
    work: Work,
    items: usize,
) -> Vec<Cell<S>> {
    let mut cells = Vec::new();
    for profile in known {
        let rows = S::rows(profile).iter().map(Rows::work);
        let nearest =
            rows.filter(|&other| sizes(other) == sizes(work)).min_by_key(|&other| other != work);
        let cell = nearest.and_then(|nearest| S::in_use(profile, nearest, items as u64));
        if let Some(cell) = cell.filter(|cell| !cells.contains(cell)) {
            cells.push(cell);
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use upsweep::profile::Measured;
    use upsweep::{Dtype, GpuReduceStrategy, WorkgroupPolicy};

    use super::*;

    const MEASURED: Measured = Measured { median_us: 1.0, limit_us: 1.0, default_us: 1.0 };

    fn sum(item: Dtype) -> Work {
        Work { operator: "sum", item, output: item }
    }

    fn best(items: u64, threads_per_workgroup: u32) -> Best<GpuReduceStrategy> {
        let strategy = "striped-16-exact/cooperative/last-block".parse().expect("a strategy");
        let policy = WorkgroupPolicy { threads_per_workgroup, items_per_thread: 16 };
        Best { items, strategy, policy, measured: MEASURED }
    }

    fn threads(cells: &[Cell<GpuReduceStrategy>]) -> Vec<u32> {
        cells.iter().map(|cell| cell.policy.threads_per_workgroup).collect()
    }

    #[test]
    fn the_same_work_is_nearest_and_then_items_as_large() {
        let of = |rows| Profile { reductions: rows, ..Profile::default() };
        let words = of(vec![
            Rows::new(sum(Dtype::U32), vec![best(1 << 10, 32), best(1 << 20, 64)]),
            Rows::new(sum(Dtype::F32), vec![best(1 << 10, 128)]),
        ]);
        let bytes =
            of(vec![Rows::new(sum(Dtype::U8), vec![best(1 << 10, 256), best(1 << 12, 32)])]);
        let all = [words, bytes];
        let at = |work, items| threads(&known_at(all.iter(), work, items));
        assert_eq!(at(sum(Dtype::U32), 1 << 20), [64]);
        assert_eq!(at(sum(Dtype::F32), 1 << 10), [128]);
        assert_eq!(at(sum(Dtype::F32), 1 << 20), [0; 0], "no row is near");
        assert_eq!(at(sum(Dtype::I32), 1 << 10), [32], "of items as large");
        assert_eq!(at(sum(Dtype::I8), 1 << 12), [32]);
        assert_eq!(at(sum(Dtype::U64), 1 << 10), [0; 0]);
        let twice = known_at(all.iter().chain(&all), sum(Dtype::U32), 1 << 10);
        assert_eq!(threads(&twice), [32], "one that two profiles have is one");
        let cells = known_cells(all.iter(), sum(Dtype::F32));
        assert_eq!(threads(&cells), [128, 64, 32, 32, 256]);
    }
}
