//! What a kernel finds wrong is told to whoever waits for the device next. So this is a program of its own, where nobody else waits.

use upsweep::{
    Array, Device, Element, Error, Fused, Reduce, Scan, Segments, Sum, inclusive_scan_into, reduce,
    reduce_into, segmented_reduce_into, segmented_scan_into,
};
use upsweep_testing::{Selection, TestDevice, for_each_device_of};

fn on<T: Element>(device: &Device, items: &[T]) -> Array<T> {
    Array::from_slice(device, items).expect("memory")
}

#[test]
fn lengths_above_their_bound_are_brought_down_and_told() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, length) = (on(of, &[1u32, 2, 3, 4]), on(of, &[5u64]));
        let told = Error::LengthAboveBound { length: 5, bound: 4 };
        let view = items.view().with_length(&length);
        check_offsets(device);
        if !device.is_gpu() {
            assert_eq!(view.map(drop), Err(told), "{device}");
            return;
        }
        let view = view.expect("a view");
        let mut sums = on(of, &[9u32; 4]);
        inclusive_scan_into(of, view, &mut sums, Sum).expect("begun");
        assert_eq!(of.wait(), Err(told.clone()), "{device}");
        assert_eq!(of.wait(), Ok(()), "{device}: it is told once");
        assert_eq!(sums.to_vec(), Ok(vec![1, 3, 6, 10]), "{device}");
        assert_eq!(reduce(of, view, Sum), Err(told.clone()), "{device}");
        let mut total = on(of, &[9u32]);
        reduce_into(of, view, &mut total, Sum).expect("begun");
        assert_eq!(of.wait(), Err(told.clone()), "{device}");
        assert_eq!(total.to_vec(), Ok(vec![10]), "{device}");
        let (longest, mut found) = (on(of, &[u64::MAX]), on(of, &[9u32; 4]));
        let view = items.view().with_length(&longest).expect("a view");
        inclusive_scan_into(of, view, &mut found, Sum).expect("begun");
        let told = Error::LengthAboveBound { length: u64::MAX, bound: 4 };
        assert_eq!(of.wait(), Err(told), "{device}");
        assert_eq!(found.to_vec(), Ok(vec![1, 3, 6, 10]), "{device}");
    });
}

#[test]
fn lengths_of_what_is_read_anywhere_are_brought_down_and_told() {
    for_each_device_of(Selection::Representative, |device| {
        if !device.is_gpu() {
            return;
        }
        let of = &device.device;
        let items = on(of, &[1u32, 2, 3, 4, 5]);
        for longest in [6u64, u64::MAX] {
            let length = on(of, &[longest]);
            let told = Error::LengthAboveBound { length: longest, bound: 5 };
            let view = items.view().with_length(&length).expect("a view");
            let mut sums = on(of, &[9u32; 5]);
            view.reversed().scan_into(of, &mut sums, &Scan::inclusive(Sum)).expect("begun");
            assert_eq!(of.wait(), Err(told.clone()), "{device}");
            assert_eq!(of.wait(), Ok(()), "{device}: it is told once");
            assert_eq!(sums.to_vec(), Ok(vec![5, 9, 12, 14, 15]), "{device}");
            let mut sums = on(of, &[9u32; 3]);
            view.strided(2).scan_into(of, &mut sums, &Scan::inclusive(Sum)).expect("begun");
            assert_eq!(of.wait(), Err(told.clone()), "{device}");
            assert_eq!(sums.to_vec(), Ok(vec![1, 4, 9]), "{device}");
            assert_eq!(view.strided(2).reduce(of, Sum), Err(told.clone()), "{device}");
            let found = on(of, &[1u32, 7, 4]);
            let mut sums = on(of, &[9u32; 3]);
            let made = view.gather(found.view());
            made.scan_into(of, &mut sums, &Scan::inclusive(Sum)).expect("begun");
            assert_eq!(of.wait(), Err(told), "{device}");
            assert_eq!(sums.to_vec(), Ok(vec![2, 7, 12]), "{device}");
        }
        let (none, found) = (on(of, &[0u64]), on(of, &[0u32, 1, 2]));
        let view = items.view().with_length(&none).expect("a view");
        let told = Err(Error::NothingToGather { indices: 3 });
        assert_eq!(view.gather(found.view()).reduce(of, Sum), told, "{device}");
        assert_eq!(of.wait(), Ok(()), "{device}: it is told once");
    });
}

/// The same of the number of offsets.
fn check_offsets(device: &TestDevice) {
    let of = &device.device;
    let (items, starts) = (on(of, &[1u32, 2, 3, 4]), on(of, &[0u32, 1, 4]));
    for longest in [4u64, u64::MAX] {
        let length = on(of, &[longest]);
        let told = Error::LengthAboveBound { length: longest, bound: 3 };
        let view = starts.view().with_length(&length);
        if !device.is_gpu() {
            assert_eq!(view.map(drop), Err(told), "{device}");
            continue;
        }
        let by = Segments::by_offsets(view.expect("a view"));
        let mut sums = on(of, &[9u32; 2]);
        segmented_reduce_into(of, &items, &by, &mut sums, &Reduce::new(Sum)).expect("begun");
        assert_eq!(of.wait(), Err(told.clone()), "{device}");
        assert_eq!(of.wait(), Ok(()), "{device}: it is told once");
        assert_eq!(sums.to_vec(), Ok(vec![1, 9]), "{device}");
        let mut prefixes = on(of, &[9u32; 4]);
        let problem = Scan::inclusive(Sum);
        segmented_scan_into(of, &items, &by, &mut prefixes, &problem).expect("begun");
        assert_eq!(of.wait(), Err(told), "{device}");
        assert_eq!(prefixes.to_vec(), Ok(vec![1, 2, 5, 9]), "{device}");
    }
}
