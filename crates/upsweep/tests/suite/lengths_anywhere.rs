//! Views whose length only the device knows, read from the end, at steps and by indices: as items of as many on the host.

use upsweep::reference::compaction;
use upsweep::{
    Device, Element, Error, Fused, Max, Operator, Reduce, Scan, Segments, Sum, View, constant,
    counting,
};
use upsweep_testing::{
    AddedPowers, Input, Powers, Sample, Selection, assert_same, for_each_device_of, for_each_gpu,
    wrapping_sum,
};

use crate::lengths::{check_first, first, offsets_of, on, on_devices, poison};

#[upsweep::function]
fn is_odd(number: u32) -> bool {
    number % 2 == 1
}

/// Reduces and scans what is made of a view, with all of it on the host and with its length on the device.
macro_rules! check_made {
    ($case:expr, $operator:expr, |$view:ident| $made:expr) => {{
        let (device, all, len, items, length) = $case;
        let (of, cpu) = (&device.device, &Device::cpu());
        let context = format!("{device}: {len} of {}, {}", all.len(), stringify!($made));
        let scans = [Scan::inclusive($operator), Scan::exclusive($operator).reverse()];
        let (total, prefixes) = {
            let $view = View::from(&all[..len]);
            let made = $made;
            let prefixes = scans.each_ref().map(|problem| {
                made.scan(cpu, problem).and_then(|items| items.into_vec()).expect("prefixes")
            });
            (made.reduce(cpu, $operator).expect("a value"), prefixes)
        };
        let $view = first(items, length);
        let made = $made;
        let found = made.reduce(of, $operator).expect("a value");
        assert_same(&[found], &[total], &context);
        for (problem, expected) in scans.iter().zip(&prefixes) {
            let mut found = on(of, &poison(made.len()));
            made.scan_into(of, &mut found, problem).expect("begun");
            check_first(&found, expected, &context);
        }
        assert_eq!(of.wait(), Ok(()), "{context}");
    }};
}

fn check_places<T, O>(operator: O)
where
    T: Sample + Element<Acc = T> + upsweep::Widen<T>,
    O: Operator<T>,
{
    on_devices(&[T::KIND], |device, number, room, len| {
        if !device.takes(number, 3) {
            return;
        }
        let all: Vec<T> = Input::Uniform.array(number as u64, room);
        let (items, length) = (on(&device.device, &all), on(&device.device, &[len as u64]));
        let case = || (device, &all, len, &items, &length);
        check_made!(case(), operator, |view| view.reversed());
        check_made!(case(), operator, |view| view.strided(3));
        check_made!(case(), operator, |view| view.strided(room + 1));
        check_made!(case(), operator, |view| view.strided(2).reversed());
        check_made!(case(), operator, |view| view.reversed().strided(3).reversed());
    });
}

#[test]
fn places() {
    check_places::<u32, _>(Sum);
    check_places::<u8, _>(Max);
    check_places::<Powers, _>(AddedPowers);
}

#[test]
fn several_arrays() {
    on_devices(&[u32::KIND], |device, number, room, len| {
        if !device.takes(number, 3) {
            return;
        }
        let all: Vec<u32> = Input::Full.array(number as u64, room);
        let other: Vec<u32> = Input::Full.array(number as u64 + 50, room + 1);
        let (items, length) = (on(&device.device, &all), on(&device.device, &[len as u64]));
        let case = || (device, &all, len, &items, &length);
        check_made!(case(), Sum, |view| view
            .zip(counting(5u32..5 + room as u32))
            .map(wrapping_sum {})
            .reversed());
        if device.supports(&[u64::KIND]) {
            check_made!(case(), Sum, |view| view
                .zip(counting(5u64..5 + room as u64).map(low {}))
                .map(wrapping_sum {})
                .strided(2)
                .reversed());
        }
        check_made!(case(), Sum, |view| view.reversed().zip(view).map(wrapping_sum {}).strided(2));
        // Of one length, the fewer items.
        check_made!(case(), Sum, |view| view.strided(2).zip(view).map(wrapping_sum {}));
        check_made!(case(), Sum, |view| view
            .reversed()
            .zip(View::from(&other))
            .map(wrapping_sum {}));
        check_made!(case(), Sum, |view| constant(3u32, room)
            .zip(view)
            .map(wrapping_sum {})
            .reversed());
    });
}

/// The low word of a number, on devices with integers of 64 bits.
#[upsweep::function]
fn low(number: u64) -> u32 {
    number as u32
}

#[test]
fn gathering() {
    on_devices(&[u32::KIND], |device, number, room, len| {
        if !device.takes(number, 3) || len == 0 {
            return;
        }
        let of = &device.device;
        let all: Vec<u32> = Input::Full.array(number as u64, room);
        let (items, length) = (on(of, &all), on(of, &[len as u64]));
        // Numbers of items, of others behind them, and of none.
        let numbers = (0..5000u32).map(|k| match k % 5 {
            0 => u32::MAX - k,
            1 => len as u32,
            _ => k.wrapping_mul(2_654_435_761) % (2 * len as u32),
        });
        let numbers: Vec<u32> = numbers.collect();
        let case = || (device, &all, len, &items, &length);
        check_made!(case(), Sum, |view| view.gather(View::from(&numbers)));
        check_made!(case(), Sum, |view| view.reversed().gather(View::from(&numbers)));
        check_made!(case(), Sum, |view| view.strided(3).gather(View::from(&numbers)).reversed());
        check_made!(case(), Sum, |view| view.gather(counting(0..len as u32 + 3)));
        // Indices of the same length, and with one of their own.
        check_made!(case(), Sum, |view| view.gather(view));
        check_made!(case(), Sum, |view| View::from(&numbers).gather(view.reversed()));
        let own = on(of, &[4321u64]);
        let there = on(of, &numbers);
        let indices = first(&there, &own);
        let expected = View::from(&all[..len]).gather(View::from(&numbers[..4321]));
        let expected = expected.inclusive_scan(&Device::cpu(), Sum).expect("sums");
        let mut found = on(of, &poison::<u32>(numbers.len()));
        let made = first(&items, &length).gather(indices);
        made.scan_into(of, &mut found, &Scan::inclusive(Sum)).expect("begun");
        let context = format!("{device}: {len} of {room}, indices");
        check_first(&found, &expected.into_vec().expect("sums"), &context);
        assert_eq!(of.wait(), Ok(()), "{context}");
    });
}

#[test]
fn selections_and_segments() {
    on_devices(&[u32::KIND], |device, number, room, len| {
        if !device.takes(number, 3) {
            return;
        }
        let (of, cpu) = (&device.device, &Device::cpu());
        let all: Vec<u32> = Input::Full.array(number as u64, room);
        let (items, length) = (on(of, &all), on(of, &[len as u64]));
        let context = format!("{device}: {len} of {room}");
        let turned: Vec<u32> = all[..len].iter().rev().copied().collect();
        let kept: Vec<u32> = turned.iter().copied().filter(|item| item % 2 == 1).collect();
        let odd = first(&items, &length).reversed().filter(is_odd {});
        assert_eq!(odd.select(of).and_then(|kept| kept.into_vec()), Ok(kept), "{context}");
        let (third, _) = all.split_at(len);
        let third: Vec<u32> = third.iter().copied().step_by(3).collect();
        let odd = first(&items, &length).strided(3).filter(is_odd {});
        let flags: Vec<u8> = third.iter().map(|item| (item % 2) as u8).collect();
        assert_eq!(odd.count(of), Ok(compaction::select(&third, &flags).len() as u64), "{context}");
        let (expected, _) = compaction::partition(&third, &flags);
        // On the host behind it, as many as there are.
        let (mut parts, mut count) = (poison::<u32>(room.div_ceil(3)), [7]);
        odd.partition_into(of, &mut parts, &mut count).expect("parts");
        assert_same(&parts[..third.len()], &expected, &context);
        assert_same(&parts[third.len()..], &poison(parts.len() - third.len()), &context);
        let mut prefixes = poison::<u32>(room.div_ceil(3));
        let made = first(&items, &length).strided(3);
        made.scan_into(of, &mut prefixes, &Scan::inclusive(Sum)).expect("prefixes");
        let expected = View::from(&third).inclusive_scan(cpu, Sum).expect("prefixes");
        assert_same(&prefixes[..third.len()], &expected.into_vec().expect("prefixes"), &context);
        assert_same(&prefixes[third.len()..], &poison(prefixes.len() - third.len()), &context);
        // Segments by offsets, which have a length of their own.
        let (_, starts) = offsets_of(len, 40, 30);
        let (starts_there, offsets) = (on(of, &starts), on(of, &[30u64]));
        let problem = Reduce::<u32, _>::new(Sum);
        let expected = View::from(&turned)
            .segmented_reduce_with(cpu, &Segments::by_offsets(&starts[..30]), &problem)
            .and_then(|sums: upsweep::Array<u32>| sums.into_vec());
        let by = Segments::by_offsets(first(&starts_there, &offsets));
        let mut sums = on(of, &poison::<u32>(39));
        let made = first(&items, &length).reversed();
        made.segmented_reduce_into(of, &by, &mut sums, &problem).expect("begun");
        check_first(&sums, &expected.expect("sums"), &context);
        assert_eq!(of.wait(), Ok(()), "{context}");
    });
}

/// A recording reads the length that is there when it runs.
#[test]
fn recordings() {
    for_each_gpu(|device| {
        let (of, room) = (&device.device, 70_003);
        let all: Vec<u32> = Input::Full.array(3, room);
        let (items, mut length) = (on(of, &all), on(of, &[0u64]));
        let (mut output, mut count) = (on(of, &poison::<u32>(room.div_ceil(2))), on(of, &[7u64]));
        let made = first(&items, &length).strided(2).reversed().filter(is_odd {});
        let recording = made.bind_select(of, &mut output, &mut count).expect("a recording");
        for len in [1, 70_003, 0, 65_537, 2048] {
            length.copy_from_slice(&[len as u64]).expect("memory");
            output.copy_from_slice(&poison::<u32>(room.div_ceil(2))).expect("memory");
            recording.submit().expect("a run");
            let mut kept: Vec<u32> = all[..len].iter().copied().step_by(2).collect();
            kept.retain(|item| item % 2 == 1);
            kept.reverse();
            assert_eq!(count.to_vec(), Ok(vec![kept.len() as u64]), "{device}: {len}");
            check_first(&output, &kept, &format!("{device}: {len}"));
        }
    });
}

#[test]
fn nothing_to_gather_without_indices_is_no_error() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, indices, none) = (on(of, &[1u32, 2]), on(of, &[0u32, 1]), on(of, &[0u64]));
        let made = first(&items, &none).gather(first(&indices, &none));
        assert_eq!(made.reduce(of, Sum), Ok(0), "{device}");
        let own = on(of, &[0u64]);
        let made = first(&items, &none).gather(first(&indices, &own));
        assert_eq!(made.reduce(of, Sum), Ok(0), "{device}");
        if !device.is_gpu() {
            let made = first(&items, &none).gather(View::from(&[0u32, 0]));
            assert_eq!(made.reduce(of, Sum), Err(Error::NothingToGather { indices: 2 }));
        }
    });
}
