//! The committed results of the summation specification, on every device.

use upsweep::{Element, Operator, Reduce, Scan, Widen, reduce_with, scan_into_with};
use upsweep_testing::vectors::{Engine, path, read};
use upsweep_testing::{Sample, Selection, TestDevice, assert_same, for_each_device_of};

/// All CPUs of a selection, which must agree.
struct Devices(Selection);

impl Devices {
    /// GPUs have this test in their backend, with scratch memory that is kept from line to line.
    fn each(&self, mut body: impl FnMut(&TestDevice)) {
        for_each_device_of(self.0, |device| {
            if !device.is_gpu() {
                body(device);
            }
        });
    }
}

impl Engine for Devices {
    fn reduce<T, A, O>(&self, items: &[T], problem: &Reduce<A, O>) -> A
    where
        T: Sample + Widen<A>,
        A: Sample,
        O: Operator<A>,
    {
        let mut first = None;
        self.each(|device| {
            let found = reduce_with(&device.device, items, problem);
            let found = found.unwrap_or_else(|error| panic!("{device}: {error}"));
            let agreed = *first.get_or_insert(found);
            assert_same(&[found], &[agreed], format!("{device}: not as the first device"));
        });
        first.expect("there is a device")
    }

    fn scan<T, U, O>(&self, items: &[T], problem: &Scan<<U as Element>::Acc, O>) -> Vec<U>
    where
        T: Sample + Widen<U::Acc>,
        U: Sample,
        O: Operator<U::Acc>,
    {
        let mut first: Option<Vec<U>> = None;
        self.each(|device| {
            let mut output = vec![U::from_bits(0x5555_5555_5555_5555); items.len()];
            scan_into_with(&device.device, items, &mut output, problem)
                .unwrap_or_else(|error| panic!("{device}: {error}"));
            match &first {
                Some(agreed) => {
                    assert_same(&output, agreed, format!("{device}: not as the first device"));
                }
                None => first = Some(output),
            }
        });
        first.expect("there is a device")
    }
}

/// Every line on every device; the longest ones on those that stand for the others.
#[test]
fn every_device_gives_the_committed_bits() {
    let text = std::fs::read_to_string(path()).expect("the vectors are there");
    let rows = read(&text).expect("the vectors have their form");
    assert!(rows.len() > 1000, "{} lines", rows.len());
    for (question, expected) in rows {
        let selection = match question.length {
            0..300_000 => Selection::All,
            _ => Selection::Representative,
        };
        let found = question.answer(&Devices(selection));
        assert!(found == expected, "{question:?}: {found:x?}, committed are {expected:x?}");
    }
}
