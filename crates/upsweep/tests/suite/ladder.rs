//! Every rung of the ladder gives the sum on every GPU, and a CPU says that it has none.

use upsweep::ladder::Rung;
use upsweep::{Device, Error, Sum, reduce};
use upsweep_testing::{for_each_gpu, random_word};

#[test]
fn every_rung_gives_the_sum() {
    let items: Vec<u32> = (0..100_003).map(|at| random_word(3, at) as u32).collect();
    let sum = reduce(&Device::cpu(), &items, Sum);
    for_each_gpu(|test| {
        for items in [&items[..], &items[..1], &[]] {
            let mut ladder = test.device.ladder(items).expect("a ladder");
            let sum = if items.len() < 2 { Ok(items.iter().sum()) } else { sum.clone() };
            for rung in Rung::all() {
                assert_eq!(ladder.sum(rung), sum, "{rung} on {test}");
            }
        }
    });
}

#[test]
fn a_cpu_has_no_ladder() {
    let refused = Device::cpu().ladder(&[1, 2, 3]).map(drop).expect_err("it is no GPU");
    assert!(matches!(refused, Error::StrategyRefused { .. }));
    assert_eq!(
        refused.to_string(),
        "device cpu cannot run strategy ladder: its steps are kernels of a GPU"
    );
}
