//! Arrays in a GPU's memory whose items have no kernel of their own: they are widened there, and give what they give in the host's memory.

use upsweep::any::{self, AnyArray, AnyFused, AnyView, Definition, Op, Reduce, Scalar, Scan};
use upsweep::{Array, Device, Dtype, Result};
use upsweep_testing::{TestDevice, for_each_gpu};

use crate::any::Items;

/// More than one workgroup, and rows of two lengths.
const ROWS: usize = 43;
const COLUMNS: usize = 71;
const ITEMS: usize = ROWS * COLUMNS;

/// A software GPU makes kernels slowly: it gets one of so many types.
const ONE_IN: usize = 3;

/// A call gives the same on items in a GPU's memory as on those in the host's.
fn check(
    device: &TestDevice,
    items: &Items,
    name: &str,
    call: impl Fn(&Device, AnyView<'_>) -> Result<AnyArray>,
) {
    let wanted = call(&Device::cpu(), items.view()).and_then(|found| found.to_bytes());
    let resident = AnyArray::from_view(device, items.view()).expect("memory");
    let found = call(device, resident.view()).and_then(|found| found.to_bytes());
    let context = format!("{name} of {} on {}", items.view().dtype(), device.id());
    let wanted = wanted.unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(found.as_ref(), Ok(&wanted), "{context}");
}

/// A value as an array of one item.
fn of_one(value: Scalar) -> Result<AnyArray> {
    AnyArray::filled(&Device::cpu(), 1, value)
}

/// Calls of every kind whose items are widened, if those of this type are.
fn check_type(device: &TestDevice, item: Dtype) {
    let (is_short, limits) =
        (matches!(item, Dtype::F16 | Dtype::Bf16 | Dtype::F32), device.limits());
    let has_64_bits = limits.int64 && limits.float64;
    if !has_64_bits && !is_short {
        // Results of integers are of 64 bits.
        return;
    }
    let items = Items::new(item, ITEMS);
    let check = |name: &str, call: &dyn Fn(&Device, AnyView<'_>) -> Result<AnyArray>| {
        check(device, &items, name, call);
    };
    let product = Reduce::new(Op::Product);
    check("product", &|device, items| {
        of_one(any::reduce(device, items, &product)?.expect("a number"))
    });
    check("product where it is wanted", &|device, items| {
        let out = any::combined_in(product.result(item));
        let mut result = AnyArray::filled(device, 1, Scalar::new(0u8).widened(out).expect("0"))?;
        any::reduce_into(device, items, &mut result, &product)?;
        Ok(result)
    });
    check("products of columns", &|device, items| {
        let columns = items.shape([ROWS, COLUMNS])?.axis(0)?;
        let found = any::reduce_axes(device, &columns, &product)?;
        AnyArray::from_view(
            &Device::cpu(),
            AnyView::from_bytes(found.dtype(), &found.array().to_bytes()?)?,
        )
    });
    check("scan of products", &|device, items| {
        let out = any::scan_output(Op::Product, item);
        any::scan(device, items, out, &Scan::inclusive(Op::Product))
    });
    if has_64_bits {
        let sums = Scan::exclusive(Op::Sum).reverse();
        check("sums in f64", &|device, items| any::scan(device, items, Dtype::F64, &sums));
        check("sums in f64 in the host's memory", &|device, items| {
            let mut output = vec![0.0f64; items.len()];
            any::scan_into(device, items, &mut output, &sums)?;
            AnyArray::from_view(&Device::cpu(), AnyView::from(&output))
        });
    }
    let offsets = [0u32, 0, 1, 9, 9, 2000, ITEMS as u32];
    for op in [Op::Sum, Op::Max, Op::Mean] {
        check("segments", &|device, items| {
            let segments = any::segments_by_offsets(&offsets)?;
            any::segmented_reduce(device, items, &segments, &Reduce::new(op))
        });
    }
    check("segments where they are wanted", &|device, items| {
        let least = Reduce::new(Op::Min);
        let zero = Scalar::from_bytes(item, &[0; 8][..item.size()]).expect("0");
        let mut output = AnyArray::filled(device, offsets.len() - 1, zero)?;
        let segments = any::segments_by_offsets(&offsets)?;
        any::segmented_reduce_into(device, items, &segments, &mut output, &least)?;
        Ok(output)
    });
    let flags: Vec<u8> = (0..ITEMS).map(|place| u8::from(place % 97 == 5)).collect();
    for op in [Op::Min, Op::Sum] {
        check("scan of segments", &|device, items| {
            let segments = any::segments_by_flags(&flags)?;
            any::segmented_scan(device, items, &segments, item, &Scan::exclusive(op))
        });
    }
    let keys: Vec<u16> = (0..ITEMS as u16).map(|place| place / 101).collect();
    check("values by keys", &|device, items| {
        Ok(any::reduce_by_key(device, &keys, items, &Reduce::new(Op::Min))?.1)
    });
}

#[test]
fn items_of_every_type_are_widened_where_they_are() {
    for_each_gpu(|device| {
        for (turn, item) in Dtype::ALL.into_iter().enumerate() {
            if device.takes(turn, ONE_IN) {
                check_type(device, item);
            }
        }
    });
}

#[test]
fn as_many_are_read_as_the_device_knows() {
    for_each_gpu(|device| {
        let items = Items::new(Dtype::I16, ITEMS);
        let resident = AnyArray::from_view(device, items.view()).expect("memory");
        for known in [0, 1, 2000, ITEMS] {
            let length = Array::from_slice(device, &[known as u64]).expect("memory");
            let first = resident.view().with_length(&length).expect("a length");
            let product = Reduce::new(Op::Product).acc(Dtype::I32);
            let here = items.view().slice(0..known).expect("items");
            let wanted = any::reduce(&Device::cpu(), here, &product).expect("a product");
            assert_eq!(any::reduce(device, first, &product).expect("a product"), wanted);
            let mean = |device: &Device, others: AnyView<'_>, items: AnyView<'_>| {
                let mut floats = Definition::default();
                let _ = floats.argument(Dtype::I16).expect("an argument");
                let item = floats.argument(Dtype::I16).and_then(|x| floats.cast(x, Dtype::F32));
                let floats = AnyFused::new([others, items], floats, item.expect("a float"));
                let mean = floats.expect("floats").reduce(device, &Reduce::new(Op::Mean));
                mean.expect("a mean").map(|mean| mean.word())
            };
            let wanted = mean(&Device::cpu(), here, here);
            for others in [first, resident.view()] {
                assert_eq!(mean(device, others, first), wanted, "{known}");
            }
            if device.limits().int64 {
                check_scan_of_segments(device, (first, here), known);
            }
        }
    });
}

/// What is narrowed behind a scan leaves alone what lies behind the items in the caller's memory.
fn check_scan_of_segments(
    device: &TestDevice,
    (first, here): (AnyView<'_>, AnyView<'_>),
    known: usize,
) {
    let flags: Vec<u8> = (0..ITEMS).map(|place| u8::from(place % 97 == 5)).collect();
    let scan = Scan::exclusive(Op::Min);
    let mut wanted = vec![77i16; ITEMS];
    let segments = any::segments_by_flags(&flags[..known]).expect("flags");
    any::segmented_scan_into(&Device::cpu(), here, &segments, &mut wanted[..known], &scan)
        .expect("on the host");
    let segments = any::segments_by_flags(&flags).expect("flags");
    let mut output = Array::filled(device, ITEMS, 77i16).expect("memory");
    any::segmented_scan_into(device, first, &segments, &mut output, &scan).expect("a scan");
    assert!(output.into_vec().as_ref() == Ok(&wanted), "{known} on {}", device.id());
    let mut output = vec![77i16; ITEMS];
    any::segmented_scan_into(device, first, &segments, &mut output, &scan).expect("a scan");
    assert!(output == wanted, "{known} from {}", device.id());
}
