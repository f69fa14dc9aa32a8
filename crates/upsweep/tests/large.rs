//! More items than 32 bits can count.

use std::fs;

use upsweep::{
    Array, Device, Fused, Max, ReduceStream, Scan, Sum, argmax, argmin, counting,
    inclusive_scan_in_place, reduce, reduce_as, scan_in_place_with,
};
use upsweep_testing::skipped;

/// One more than a 32-bit number can count.
const ITEMS: usize = (1 << 32) + 1;

/// Names more devices, between commas, than the CPU and those of CUDA: a GPU made of software takes hours.
const DEVICES_VARIABLE: &str = "UPSWEEP_TEST_LARGE";

/// What must be free beside the array, so that the test disturbs nobody.
const FREE_BYTES: u64 = 12 << 30;

fn free_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// An item that has another sequence every 251 items, so that no power of two fits.
fn item(index: usize) -> u8 {
    (index % 251) as u8
}

/// The sum of the first `items` items.
fn sum_of(items: usize) -> u64 {
    let (rounds, rest) = ((items / 251) as u64, (items % 251) as u64);
    rounds * (250 * 251 / 2) + rest * rest.saturating_sub(1) / 2
}

#[test]
fn more_items_than_32_bits_can_count() {
    match free_bytes() {
        Some(free) if free >= FREE_BYTES => {}
        free => {
            let free = free.map_or("unknown".into(), |bytes| format!("{} GiB", bytes >> 30));
            skipped("2^32 + 1 items", format!("needs 12 GiB of free memory, which is {free}"));
            return;
        }
    }
    let more = std::env::var(DEVICES_VARIABLE).unwrap_or_default();
    let more: Vec<&str> = more.split(',').filter(|id| !id.is_empty()).collect();
    let listed: Vec<String> = Device::list().usable.into_iter().map(|device| device.id).collect();
    for id in &more {
        assert!(
            listed.iter().any(|listed| listed == id),
            "{DEVICES_VARIABLE} names {id}: {listed:?}"
        );
    }
    for id in listed
        .into_iter()
        .filter(|id| id == "cpu" || id.starts_with("cuda") || more.contains(&&**id))
    {
        counts(&Device::open(&id).expect("it is listed"));
        println!("2^32 + 1 items: {id}");
    }
}

fn counts(device: &Device) {
    // Without an array.
    let (all, items) = (counting(0..ITEMS as u64), ITEMS as u64);
    // There is an odd number of them.
    assert_eq!(all.reduce(device, Sum), Ok(items.wrapping_mul((items - 1) / 2)));
    assert_eq!(all.strided(3).reduce(device, Max), Ok((items - 1) / 3 * 3));
    assert_eq!(all.reversed().reduce(device, Max), Ok(items - 1));
    let mut items = vec![0u8; ITEMS];
    let pattern: Vec<u8> = (0..251 * 4096).map(item).collect();
    for chunk in items.chunks_mut(pattern.len()) {
        chunk.copy_from_slice(&pattern[..chunk.len()]);
    }

    assert_eq!(reduce_as::<u64, _, _>(device, &items, Sum), Ok(sum_of(ITEMS)));
    assert_eq!(reduce(device, &items, Max), Ok(250));
    let mut stream =
        ReduceStream::<u8, u64, _>::new(device, upsweep::Reduce::new(Sum)).expect("a stream");
    for chunk in items.chunks(1 << 30) {
        stream.push(chunk).expect("a chunk of a good length");
    }
    assert_eq!(stream.finish(), sum_of(ITEMS));

    // The position of the last item does not fit in 32 bits.
    let last = std::mem::replace(&mut items[ITEMS - 1], 255);
    assert_eq!(argmax(device, &items), Ok(Some(1 << 32)));
    assert_eq!(argmin(device, &items), Ok(Some(0)));
    items[ITEMS - 1] = last;

    // In one array of the device, where the host's come in pieces; a buffer of wgpu's holds fewer items.
    let array = device.id().starts_with("cuda").then(|| {
        let mut array = Array::from_slice(device, &items).expect("memory");
        assert_eq!(reduce_as::<u64, _, _>(device, &array, Sum), Ok(sum_of(ITEMS)));
        assert_eq!(argmax(device, &array), Ok(Some(250)));
        inclusive_scan_in_place(device, &mut array, Sum).expect("a scan");
        array.into_vec().expect("it can be read")
    });
    inclusive_scan_in_place(device, &mut items, Sum).expect("a scan");
    assert!(array.is_none_or(|array| array == items), "one array and pieces differ");
    let mut sum = 0u8;
    let mut wrong = 0;
    for round in items.chunks(251) {
        for (&found, item) in round.iter().zip(0u8..) {
            sum = sum.wrapping_add(item);
            wrong += usize::from(found != sum);
        }
    }
    assert_eq!(wrong, 0, "inclusive");

    // Exclusive sums of ones, from the end, are how many items follow.
    items.fill(1);
    scan_in_place_with(device, &mut items, &Scan::exclusive(Sum).reverse()).expect("a scan");
    let mut wrong = 0;
    // The last item has none behind it, the one 256 items before has as many in eight bits.
    for round in items.rchunks(256) {
        for (&found, following) in round.iter().rev().zip(0u8..=255) {
            wrong += usize::from(found != following);
        }
    }
    assert_eq!(wrong, 0, "exclusive, from the end");
}

#[test]
fn sums_of_the_pattern_are_right() {
    for items in [0, 1, 2, 250, 251, 252, 1000] {
        let expected: u64 = (0..items).map(|index| u64::from(item(index))).sum();
        assert_eq!(sum_of(items), expected, "{items}");
    }
}
