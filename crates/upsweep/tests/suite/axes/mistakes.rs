//! Shapes and axes that cannot be.

use upsweep::{Device, Error, Fused, NdView, NdViewMut, Reduce, Scan, Sum, View, ViewMut};
use upsweep_testing::{Selection, for_each_device_of};

use super::{on, words};

#[test]
fn mistakes_are_errors_with_both_shapes() {
    let items = [1u32; 6];
    let view = View::from(&items);
    assert_eq!(words(view.shape([2, 2])), "shape [2, 2] has 4 items, the view has 6");
    assert!(words(view.shape([usize::MAX, 2])).contains("more items than are counted"));
    let table = view.shape([2, 3]).expect("six items");
    assert_eq!(words(table.axis(2)), "axis 2 is none of 2 dimensions");
    assert_eq!(words(table.axis(-3)), "axis -3 is none of 2 dimensions");
    assert_eq!(words(table.axes(&[0, -2])), "axis 0 is named twice");
    assert_eq!(words(table.permuted(&[0, 0])), "[0, 0] does not name each of 2 dimensions once");
    assert!(words(table.permuted(&[0])).contains("each of 2 dimensions"));
    assert!(words(NdView::strided(view, [2, 3], &[3, 1], 1)).contains("to 6; there are 6"));
    assert!(words(NdView::strided(view, [2, 3], &[-3, 1], 0)).contains("from item -3"));
    let mut output = [9u32; 6];
    let overlapping = NdViewMut::strided(&mut output, [2, 3], &[1, 1], 0);
    assert!(words(overlapping).contains("overlap"));
    let cpu = Device::cpu();
    let rows = table.axis(1).expect("an axis");
    let to = ViewMut::from(&mut output).shape([3, 2]).expect("six items");
    assert_eq!(
        words(rows.scan_into(&cpu, to, &Scan::inclusive(Sum))),
        "a scan of shape [2, 3] along axes [1] has shape [2, 3], the output has [3, 2]"
    );
    let to = ViewMut::from(&mut output).shape([6]).expect("six items");
    assert_eq!(
        words(rows.clone().keepdims().reduce_into(&cpu, to, &Reduce::new(Sum))),
        "a reduction of shape [2, 3] along axes [1] has shape [2, 1], the output has [6]"
    );
    let to = ViewMut::from(&mut output).shape([3, 2]).expect("six items");
    assert_eq!(
        words(table.copy_into(&cpu, to)),
        "items of shape [2, 3] do not fit an output of shape [3, 2]"
    );
    assert_eq!(output, [9; 6]);
}

#[test]
fn shapes_of_made_items_are_checked() {
    let items = [1u32, 2, 3, 4, 5, 6];
    let odd = View::from(&items).strided(2);
    assert!(words(odd.shape([2, 2])).contains("[2, 2] has 4 items, the view has 3"));
    assert!(words(odd.with_strides([2], &[2], 2)).contains("to 4; there are 3"));
    assert_eq!(View::from(&items).strided(0).shape([1]).map(drop), Err(Error::NoStep));
    let rows = odd.shape([1, 3]).expect("it fits");
    assert_eq!(words(rows.axis(2)), "axis 2 is none of 2 dimensions");
    assert_eq!(rows.transposed().shape(), [3, 1]);
    let cpu = &Device::cpu();
    assert_eq!(rows.axis(1).and_then(|rows| rows.reduce(cpu, Sum)?.to_vec()), Ok(vec![9]));
    let mut places = [7u64; 3];
    let to = ViewMut::from(&mut places).shape([3]).expect("three items");
    assert_eq!(
        words(rows.axis(1).and_then(|rows| rows.argmin_into(cpu, to))),
        "a reduction of shape [1, 3] along axes [1] has shape [1], the output has [3]"
    );
    assert_eq!(places, [7; 3]);
    let none = View::from(&items[..0]).reversed().shape([2, 0]).expect("it fits");
    assert_eq!(none.axis(1).and_then(|rows| rows.reduce(cpu, Sum)?.to_vec()), Ok(vec![0, 0]));
}

#[test]
fn lengths_that_only_a_gpu_knows_have_no_shape() {
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let (items, length) = (on(of, &[1u32; 6]), on(of, &[4u64]));
        let view = items.view().with_length(&length).expect("one number");
        let (plain, made) = (view.shape([4]), view.reversed().shape([2, 2]));
        match device.is_gpu() {
            true => {
                assert!(words(plain).contains("only the device knows"));
                assert!(words(made).contains("only the device knows"));
            }
            false => {
                assert_eq!(plain.expect("four items").len(), 4);
                assert_eq!(made.expect("four items").len(), 4);
            }
        }
    });
}
