//! The cells that a tuning run may try, and which comes next: the nearest to one of the best so far.

use upsweep::profile::{Best, Rows, Work};
use upsweep::strategy::{
    GpuOptions, GpuReduceStrategy, GpuScanStrategy, Load, Strategy, WorkgroupPolicy,
};
use upsweep::{Limits, Profile};

/// Items of a thread that are tried.
const ITEMS_PER_THREAD: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];

/// Threads of a workgroup that are tried, as far as a device has them.
const THREADS_PER_WORKGROUP: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// How far two cells are from one another for each thing in which their strategies differ: a step of a number is 1. What seldom
/// wins is far away, so that a short run finds what matters; a long one tries everything. Of 1,470 sums on an H200 what a known cell
/// lost most to, 4 %, had another width and another tail.
const ARRANGEMENT_APART: u32 = 3;
const WIDTH_APART: u32 = 1;
const TAIL_APART: u32 = 1;
const LOCAL_APART: u32 = 3;
const GLOBAL_APART: u32 = 2;

/// The strategies of one primitive.
pub(crate) trait Space: Copy + PartialEq + 'static {
    /// How many times as long or as short arrays may be of which a profile's cell is tried at a length.
    const AROUND: u64;

    /// Every one.
    fn every() -> Vec<Self>;

    /// How far it is from another.
    fn apart(self, other: Self) -> u32;

    /// What a device is told.
    fn options(self, policy: WorkgroupPolicy) -> GpuOptions;

    /// What a device has chosen, if that is one of these.
    fn of(strategy: Strategy) -> Option<Self>;

    /// As reports name it.
    fn name(self) -> String;

    /// What a profile says of it.
    fn rows(profile: &Profile) -> &Vec<Rows<Self>>;

    /// The same, to be changed.
    fn rows_mut(profile: &mut Profile) -> &mut Vec<Rows<Self>>;

    /// What calls of so many items have by a profile.
    fn in_use(profile: &Profile, work: Work, items: u64) -> Option<Cell<Self>>;
}

fn loads_apart(one: Load, other: Load) -> u32 {
    ARRANGEMENT_APART * u32::from(one.arrangement != other.arrangement)
        + WIDTH_APART * u32::from(one.width != other.width)
        + TAIL_APART * u32::from(one.tail != other.tail)
}

macro_rules! space {
    ($strategy:ident, $field:ident, $variant:ident, $one:ident, $rows:ident, $around:expr) => {
        impl Space for $strategy {
            const AROUND: u64 = $around;

            fn every() -> Vec<Self> {
                Self::all().collect()
            }

            fn apart(self, other: Self) -> u32 {
                loads_apart(self.load, other.load)
                    + LOCAL_APART * u32::from(self.local != other.local)
                    + GLOBAL_APART * u32::from(self.global != other.global)
            }

            fn options(self, policy: WorkgroupPolicy) -> GpuOptions {
                GpuOptions { $field: Some(self), policy: Some(policy), ..GpuOptions::default() }
            }

            fn of(strategy: Strategy) -> Option<Self> {
                match strategy {
                    Strategy::$variant(strategy) => Some(strategy),
                    _ => None,
                }
            }

            fn name(self) -> String {
                Strategy::$variant(self).to_string()
            }

            fn rows(profile: &Profile) -> &Vec<Rows<Self>> {
                &profile.$rows
            }

            fn rows_mut(profile: &mut Profile) -> &mut Vec<Rows<Self>> {
                &mut profile.$rows
            }

            fn in_use(profile: &Profile, work: Work, items: u64) -> Option<Cell<Self>> {
                profile.$one(work, items).map(Cell::of)
            }
        }
    };
}

space!(GpuReduceStrategy, reduce, GpuReduce, reduction, reductions, 1);
// Scans of 2^24 to 2^26 `u32` by an H100's rows for these lost an H200 6 to 11 % to its row for 2^23.
space!(GpuScanStrategy, scan, GpuScan, scan, scans, 8);

/// A strategy and its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell<S> {
    pub(crate) strategy: S,
    pub(crate) policy: WorkgroupPolicy,
}

impl<S: Space> Cell<S> {
    /// That of a row of a profile.
    pub(crate) fn of(&Best { strategy, policy, .. }: &Best<S>) -> Self {
        Self { strategy, policy }
    }

    fn apart(self, other: Self) -> u32 {
        let steps = |one: u32, other: u32| one.max(1).ilog2().abs_diff(other.max(1).ilog2());
        let (own, its) = (self.policy, other.policy);
        self.strategy.apart(other.strategy)
            + steps(own.threads_per_workgroup, its.threads_per_workgroup)
            + steps(own.items_per_thread, its.items_per_thread)
    }
}

/// Most cells that are tried first because they were the best of something before.
const MOST_KNOWN: usize = 24;

/// The cells that have not been tried.
pub(crate) struct Untried<S> {
    /// Those that were the best of something, the last first.
    known: Vec<Cell<S>>,
    others: Vec<Cell<S>>,
}

impl<S: Space> Untried<S> {
    /// All that this device can have, some of those first that are `known` to be good, in their order.
    pub(crate) fn on(limits: &Limits, known: &[Cell<S>]) -> Self {
        let threads = THREADS_PER_WORKGROUP.into_iter();
        let threads: Vec<u32> = threads.filter(|&t| t <= limits.threads_per_workgroup).collect();
        let policies = threads.iter().flat_map(|&threads_per_workgroup| {
            ITEMS_PER_THREAD
                .map(|items_per_thread| WorkgroupPolicy { threads_per_workgroup, items_per_thread })
        });
        let policies: Vec<WorkgroupPolicy> = policies.collect();
        let with = |strategy| policies.iter().map(move |&policy| Cell { strategy, policy });
        let mut all =
            Self { known: Vec::new(), others: S::every().into_iter().flat_map(with).collect() };
        for cell in known {
            if all.known.len() < MOST_KNOWN
                && let Some(place) = all.others.iter().position(|other| other == cell)
            {
                all.known.push(all.others.swap_remove(place));
            }
        }
        all.known.reverse();
        all
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.known.len() + self.others.len()
    }

    /// Whether there are some that are known to be good.
    pub(crate) fn has_known(&self) -> bool {
        !self.known.is_empty()
    }

    /// From now on those that are known to be good are as all others.
    pub(crate) fn forget_known(&mut self) {
        self.others.append(&mut self.known);
    }

    /// Forgets what a device does not do, whatever the numbers.
    pub(crate) fn forget(&mut self, strategy: S) {
        for cells in [&mut self.known, &mut self.others] {
            cells.retain(|cell| cell.strategy != strategy);
        }
    }

    /// At most `count` of those that are known, in their order. They are no longer untried.
    pub(crate) fn take_known(&mut self, count: usize) -> Vec<Cell<S>> {
        if self.has_known() { self.take(count, &[]) } else { Vec::new() }
    }

    /// At most `count` of those that are known, or else of the nearest to one of `best`, the nearest first. They are no longer
    /// untried.
    pub(crate) fn take(&mut self, count: usize, best: &[Cell<S>]) -> Vec<Cell<S>> {
        let cells = if self.known.is_empty() {
            let apart = |cell: &Cell<S>| best.iter().map(|&b| cell.apart(b)).min().unwrap_or(0);
            self.others.sort_by_cached_key(|cell| std::cmp::Reverse(apart(cell)));
            &mut self.others
        } else {
            &mut self.known
        };
        let mut taken = cells.split_off(cells.len().saturating_sub(count));
        taken.reverse();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(
        name: &str,
        threads_per_workgroup: u32,
        items_per_thread: u32,
    ) -> Cell<GpuReduceStrategy> {
        let policy = WorkgroupPolicy { threads_per_workgroup, items_per_thread };
        Cell { strategy: name.parse().expect("a cell"), policy }
    }

    #[test]
    fn neighbours_of_the_best_come_first_and_everything_comes() {
        let mut limits = Limits::least("some", "vulkan");
        limits.threads_per_workgroup = 256;
        let mut untried = Untried::<GpuReduceStrategy>::on(&limits, &[]);
        assert_eq!(untried.len(), 108 * 4 * 7);
        let best = cell("striped-16-exact/cooperative/atomic", 128, 16);
        assert_eq!(untried.take(1, &[best]), [best]);
        // Twice the threads or items, half of them, another width, another tail.
        let next = untried.take(7, &[best]);
        assert!(next.iter().all(|cell| cell.apart(best) == 1), "{next:?}");
        let others = next.iter().filter(|cell| cell.strategy != best.strategy).count();
        assert_eq!(others, 3, "{next:?}");
        let other = untried.take(1, &[best, cell("blocked-4-checked/raking/last-block", 32, 4)]);
        assert_eq!(other, [cell("blocked-4-checked/raking/last-block", 32, 4)]);
        untried.forget(best.strategy);
        let rest = untried.take(usize::MAX, &[best]);
        assert_eq!(rest.len(), 107 * 4 * 7 - others - 1);
        assert!(rest.iter().all(|cell| cell.strategy != best.strategy));
        assert_eq!(untried.len(), 0);
    }

    #[test]
    fn what_was_the_best_before_comes_first() {
        let mut limits = Limits::least("some", "vulkan");
        limits.threads_per_workgroup = 256;
        let known = [
            cell("blocked-4-checked/raking/last-block", 32, 4),
            cell("striped-4-exact/cooperative/atomic", 256, 64),
            // More threads than the device has.
            cell("striped-4-exact/cooperative/atomic", 1024, 64),
        ];
        let twice: Vec<_> = known.into_iter().chain(known).collect();
        let mut untried = Untried::<GpuReduceStrategy>::on(&limits, &twice);
        let all = untried.len();
        assert_eq!(all, 108 * 4 * 7);
        let best = cell("striped-16-exact/cooperative/atomic", 128, 16);
        assert_eq!(untried.take_known(1), known[..1]);
        assert_eq!(untried.take(8, &[best]), known[1..2]);
        assert_eq!(untried.take_known(8), []);
        assert_eq!(untried.take(1, &[best]), [best]);
        assert_eq!(untried.len(), all - 3);
        let mut untried = Untried::<GpuReduceStrategy>::on(&limits, &twice);
        untried.forget_known();
        assert_eq!((untried.has_known(), untried.len()), (false, all));
        assert_eq!(untried.take(1, &[best]), [best]);
    }
}
