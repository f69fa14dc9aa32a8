//! What workgroups do that wait for others, or stay and take one chunk after another: also on devices that no such strategy is
//! chosen for, whose workgroups may stop.

use upsweep_core::reference::segmented;
use upsweep_core::{
    Error, GpuScanStrategy, Kind, Reduce, Scan, ScanGlobal, ScanLocal, SegmentedBy, Sum,
    WorkgroupPolicy,
};
use upsweep_gpu::Folder;

use super::{Packed, Segments};
use crate::scan::policy::strategy;
use crate::{Gpu, ScanOptions, Source, Stored, Target, Workspace, testing};

/// More chunks than workgroups stay.
const ITEMS: usize = 2048 * 1100 + 5;

/// Calls that wait in vain are repeated so often.
const TRIES: usize = 20;

fn tried(mut call: impl FnMut() -> Result<(), Error>) -> bool {
    for _ in 0..TRIES {
        match call() {
            Ok(()) => return true,
            Err(Error::DeviceFailed { reason, .. }) if reason.contains("waited too long") => {}
            Err(error) => panic!("{error}"),
        }
    }
    false
}

#[test]
fn strategies_that_wait() {
    let items: Vec<u32> = (0..ITEMS as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    // Runs of every length up to some hundred, and some without items.
    let offsets: Vec<usize> = (0..).map(|k| k * k / 50).take_while(|&k| k <= ITEMS).collect();
    let begins = segmented::begins(ITEMS, &offsets);
    let numbers: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
    let flags: Vec<u8> = begins.iter().map(|&begins| u8::from(begins)).collect();
    for mut gpu in testing::gpus(&Folder::of_user()) {
        (gpu.facts.messages, gpu.facts.forward_progress) = (true, true);
        for global in [ScanGlobal::LookBack, ScanGlobal::Aggregates] {
            waits(&gpu, global, &items, (&offsets, &numbers), (&begins, &flags));
        }
    }
}

fn waits(
    gpu: &Gpu,
    global: ScanGlobal,
    items: &[u32],
    (offsets, numbers): (&[usize], &[u32]),
    (begins, flags): (&[bool], &[u8]),
) {
    let mut strategy = strategy(&gpu.facts);
    (strategy.local, strategy.global) = (ScanLocal::Raking, global);
    let strategy: Option<GpuScanStrategy> = Some(strategy);
    let policy = Some(WorkgroupPolicy { threads_per_workgroup: 256, items_per_thread: 8 });
    let options = ScanOptions { strategy, policy, stalled: None };
    let of =
        |by, kind: Kind, count, bytes| Segments { by, kind, count, stored: Stored::Host(bytes) };
    let offsets_of = || {
        let bytes = bytemuck::cast_slice(numbers);
        of(SegmentedBy::Offsets, upsweep_core::Dtype::U32.into(), numbers.len(), bytes)
    };
    let flags_of = || of(SegmentedBy::Flags, upsweep_core::Dtype::U8.into(), flags.len(), flags);
    let (mut workspace, problem) = (Workspace::default(), Reduce::<u32, _>::new(Sum).init(3));
    let mut found = vec![0u32; numbers.len() - 1];
    let waited = tried(|| {
        let (from, to) = (Source::Host(items), Target::Host(&mut found[..]));
        gpu.segmented_reduce::<u32, u32, _, u8>(
            &mut workspace,
            from,
            offsets_of(),
            to,
            None,
            &problem,
            &options,
        )
    });
    let expected: Vec<u32> = segmented::reduce_by_offsets(items, offsets, &problem);
    assert!(!waited || found == expected, "{gpu:?}: {global:?} by offsets");
    let (mut found, mut count) = (vec![0u32; items.len()], [0u64]);
    let packs = tried(|| {
        let (from, to) = (Source::Host(items), Target::Host(&mut found[..]));
        let packed = Packed::<u8> { unique: None, count: Target::Host(&mut count) };
        gpu.segmented_reduce(&mut workspace, from, flags_of(), to, Some(packed), &problem, &options)
    });
    let expected: Vec<u32> = segmented::reduce(items, begins, &problem);
    found.truncate(expected.len());
    assert!(!packs || found == expected, "{gpu:?}: {global:?} by flags");
    let mut found = vec![0u32; items.len()];
    let problem = Scan::exclusive(Sum).reverse();
    let scans = tried(|| {
        let (from, to) = (Source::Host(items), Target::Host(&mut found[..]));
        gpu.segmented_scan::<u32, u32, _>(
            &mut workspace,
            from,
            offsets_of(),
            to,
            &problem,
            &options,
        )
    });
    let expected: Vec<u32> = segmented::scan(items, begins, &problem);
    assert!(!scans || found == expected, "{gpu:?}: {global:?} of a scan");
    if !(waited && packs && scans) {
        upsweep_testing::skipped(gpu.id(), "its workgroups have stopped while others waited");
    }
}
