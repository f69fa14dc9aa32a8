//! What no device here is chosen for: workgroups that wait for others, or stay and take one chunk after another; and subgroups that
//! are wider than they promise.

use std::sync::Arc;

use upsweep_core::reference::segmented;
use upsweep_core::{
    Dtype, Error, Reduce, Scan, ScanGlobal, ScanLocal, SegmentedBy, Sum, WorkgroupPolicy,
};
use upsweep_gpu::Folder;

use crate::scan::policy::strategy;
use crate::{
    Calls, Gpu, Packed, ScanOptions, Segments, Source, Stored, Target, Workspace, testing,
};

/// More than a window of chunks, of which a workgroup that stays takes several.
const ITEMS: usize = 2048 * 40 + 5;

/// Calls that wait in vain are repeated so often.
const TRIES: usize = 3;

/// Whether a call succeeds in time.
fn is_in_time(mut call: impl FnMut() -> Result<(), Error>) -> bool {
    (0..TRIES).any(|_| match call() {
        Ok(()) => true,
        Err(Error::DeviceFailed { reason, .. }) if reason.contains("waited too long") => false,
        Err(error) => panic!("{error}"),
    })
}

/// Items, and offsets and flags of runs of every length up to some thousand.
struct Runs {
    items: Vec<u32>,
    offsets: Vec<usize>,
    numbers: Vec<u32>,
    begins: Vec<bool>,
    flags: Vec<u8>,
}

impl Runs {
    fn new() -> Self {
        let items = (0..ITEMS as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let offsets: Vec<usize> = (0..).map(|k| k * k / 50).take_while(|&k| k <= ITEMS).collect();
        let begins = segmented::begins(ITEMS, &offsets);
        let numbers = offsets.iter().map(|&offset| offset as u32).collect();
        let flags = begins.iter().map(|&begins| u8::from(begins)).collect();
        Self { items, offsets, numbers, begins, flags }
    }

    fn by_offsets(&self) -> Segments<'_> {
        let stored = Stored::Host(bytemuck::cast_slice(&self.numbers));
        let count = self.numbers.len();
        Segments { by: SegmentedBy::Offsets, kind: Dtype::U32.into(), count, stored }
    }

    fn by_flags(&self) -> Segments<'_> {
        let stored = Stored::Host(&self.flags);
        let count = self.flags.len();
        Segments { by: SegmentedBy::Flags, kind: Dtype::U8.into(), count, stored }
    }

    /// Whether all calls were in time; those that were give what is right.
    fn are_right(&self, gpu: &Arc<Gpu>, options: &ScanOptions) -> bool {
        let (mut workspace, problem) = (Workspace::default(), Reduce::<u32, _>::new(Sum).init(3));
        let from = Source::Host(&self.items[..]);
        let context = format!("{gpu:?}: {options:?}");
        let mut found = vec![0u32; self.numbers.len() - 1];
        let reduces = is_in_time(|| {
            let (segments, to) = (self.by_offsets(), Target::Host(&mut found[..]));
            gpu.segmented_reduce::<u32, u32, _, u8>(
                &mut workspace,
                from,
                &segments,
                (to, None),
                &problem,
                options,
            )
        });
        let expected: Vec<u32> = segmented::reduce_by_offsets(&self.items, &self.offsets, &problem);
        assert!(!reduces || found == expected, "{context}: by offsets");
        let (mut found, mut count) = (vec![0u32; ITEMS], [0u64]);
        let packs = is_in_time(|| {
            let packed = Packed::<u8> { unique: None, count: Target::Host(&mut count) };
            let (segments, to) = (self.by_flags(), Target::Host(&mut found[..]));
            gpu.segmented_reduce(
                &mut workspace,
                from,
                &segments,
                (to, Some(packed)),
                &problem,
                options,
            )
        });
        let expected: Vec<u32> = segmented::reduce(&self.items, &self.begins, &problem);
        found.truncate(expected.len());
        let counted = [expected.len() as u64];
        assert!(!packs || (found == expected && count == counted), "{context}: by flags");
        let mut found = vec![0u32; ITEMS];
        let problem = Scan::exclusive(Sum).reverse();
        let scans = is_in_time(|| {
            let (segments, to) = (self.by_offsets(), Target::Host(&mut found[..]));
            gpu.segmented_scan::<u32, u32, _>(
                &mut workspace,
                from,
                &segments,
                to,
                &problem,
                options,
            )
        });
        let expected: Vec<u32> = segmented::scan(&self.items, &self.begins, &problem);
        assert!(!scans || found == expected, "{context}: a scan");
        reduces && packs && scans
    }
}

fn options(gpu: &Gpu, local: ScanLocal, global: ScanGlobal) -> ScanOptions {
    let mut strategy = strategy(&gpu.facts);
    (strategy.local, strategy.global) = (local, global);
    let policy = Some(WorkgroupPolicy { threads_per_workgroup: 256, items_per_thread: 8 });
    ScanOptions { strategy: Some(strategy), policy, stalled: None }
}

/// Also of devices whose workgroups may stop, if those of a scan alone do not.
#[test]
fn workgroups_that_wait() {
    let runs = Runs::new();
    for mut gpu in testing::gpus(&Folder::of_user()) {
        let facts = &mut testing::own(&mut gpu).facts;
        (facts.messages, facts.forward_progress) = (true, true);
        for global in [ScanGlobal::LookBack, ScanGlobal::Aggregates] {
            let options = options(&gpu, ScanLocal::Raking, global);
            let mut found = vec![0u32; ITEMS];
            let scans = is_in_time(|| {
                let (from, to) = (Source::Host(&runs.items[..]), Target::Host(&mut found[..]));
                let problem = Scan::inclusive(Sum);
                gpu.scan::<u32, u32, _>(&mut Workspace::default(), from, to, &problem, &options)
            });
            if !scans || !runs.are_right(&gpu, &options) {
                upsweep_testing::skipped(
                    &gpu.limits().name,
                    "its workgroups stop while others wait for them",
                );
            }
        }
    }
}

#[test]
fn half_of_a_subgroup_is_counted_on() {
    let runs = Runs::new();
    for mut gpu in testing::gpus(&Folder::of_user()) {
        testing::own(&mut gpu).facts.subgroup /= 2;
        if gpu.facts.subgroup < 2 {
            continue;
        }
        let options = options(&gpu, ScanLocal::Cooperative, ScanGlobal::ReduceThenScan);
        assert!(runs.are_right(&gpu, &options), "{gpu:?}");
    }
}
