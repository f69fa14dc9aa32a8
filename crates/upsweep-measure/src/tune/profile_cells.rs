//! Cells that profiles name for a workload, which a search tries first.

use std::cmp::Reverse;

use upsweep::Profile;
use upsweep::profile::{Best, Work};

use super::search_space::{Cell, Space};

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

/// What profiles have for so many items and then for numbers of items around that: for this work, or else for items that are as large.
pub(super) fn known_at<'a, S: Space>(
    known: impl Iterator<Item = &'a Profile>,
    work: Work,
    items: usize,
) -> Vec<Cell<S>> {
    let items = items as u64;
    let (mut cells, mut around) = (Vec::new(), Vec::new());
    for profile in known {
        let all = S::rows(profile).iter();
        let all = all.filter(|rows| sizes(rows.work()) == sizes(work));
        let Some(nearest) = all.min_by_key(|rows| rows.work() != work) else { continue };
        cells.extend(S::in_use(profile, nearest.work(), items));
        let times = |best: &Best<S>| best.items.max(items) / best.items.min(items).max(1);
        let near = nearest.best().iter().filter(|best| times(best) <= S::AROUND);
        around.extend(near.map(Cell::of));
    }
    cells.extend(around);
    let mut each: Vec<Cell<S>> = Vec::new();
    for cell in cells {
        if !each.contains(&cell) {
            each.push(cell);
        }
    }
    each
}

#[cfg(test)]
mod tests {
    use upsweep::Dtype;
    use upsweep::profile::{Measured, Rows};
    use upsweep::strategy::{GpuReduceStrategy, GpuScanStrategy, WorkgroupPolicy};

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

    #[test]
    fn scans_have_what_is_known_of_lengths_around() {
        let best = |power: u32, threads_per_workgroup| {
            let strategy = "striped-16-exact/cooperative/look-back".parse().expect("a strategy");
            let policy = WorkgroupPolicy { threads_per_workgroup, items_per_thread: 16 };
            Best { items: 1u64 << power, strategy, policy, measured: MEASURED }
        };
        let rows = [(10, 32), (22, 64), (23, 128), (24, 256), (25, 256), (28, 512)];
        let rows =
            Rows::new(sum(Dtype::U32), rows.map(|(power, threads)| best(power, threads)).into());
        let profile = Profile { scans: vec![rows], ..Profile::default() };
        let known: Vec<Cell<GpuScanStrategy>> =
            known_at([&profile].into_iter(), sum(Dtype::U32), 1 << 25);
        let threads = known.iter().map(|cell| cell.policy.threads_per_workgroup);
        assert_eq!(threads.collect::<Vec<_>>(), [256, 64, 128, 512]);
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
