//! Calls along axes that are bound to arrays: each run gives what a call gives for what is there then.

use upsweep::{Array, Device, Element, Error, Max, NdView, Reduce, Scan, Sum, View, ViewMut};
use upsweep_testing::Input;

use super::on_devices;

/// Shapes and an axis: rows and columns, short and long ones, none, and rows without items.
const SHAPES: [([usize; 2], isize); 6] =
    [([70, 100], 1), ([2, 5000], 1), ([300, 37], 0), ([0, 5], 1), ([5, 0], 1), ([4, 3], 0)];

#[test]
fn each_run_is_a_call() {
    on_devices(&[f32::KIND], |device| {
        let of = &device.device;
        for (turn, (shape, axis)) in SHAPES.into_iter().enumerate() {
            if !device.is_gpu() || !device.takes(turn, 2) {
                continue;
            }
            let len = shape.iter().product();
            let mut resident = Array::filled(of, len, 0.5f32).expect("memory");
            let [sums, prefixes] = [
                shape
                    .iter()
                    .product::<usize>()
                    .checked_div(shape[axis as usize])
                    .unwrap_or(shape[0]),
                len,
            ];
            let mut sums = Array::filled(of, sums, 7.0f32).expect("memory");
            let mut prefixes = Array::filled(of, prefixes, 7.0f32).expect("memory");
            let mut positions = Array::filled(of, sums.len(), 7u64).expect("memory");
            let (reduce, scan) = (Reduce::new(Sum).init(0.25), Scan::exclusive(Max).reverse());
            let recordings = {
                let rows = NdView::from(resident.view().shape(shape).expect("a shape"));
                let rows = rows.axis(axis).expect("an axis");
                let kept = rows.reduced_shape();
                let to = sums.view_mut().shape(&kept).expect("a shape");
                let sums = rows.bind_reduce(of, to, &reduce).expect("a reduction");
                let to = prefixes.view_mut().shape(shape).expect("a shape");
                let prefixes = rows.bind_scan(of, to, &scan).expect("a scan");
                let to = positions.view_mut().shape(&kept).expect("a shape");
                [sums, prefixes, rows.bind_argmax(of, to).expect("a search")]
            };
            for run in 0..2 {
                let items: Vec<f32> = Input::Mixed.array(run, len);
                resident.copy_from_slice(&items).expect("items");
                recordings.iter().for_each(|own| own.submit().expect("a run"));
                let rows =
                    View::from(&items).shape(shape).and_then(|all| all.axis(axis)).expect("rows");
                let cpu = Device::cpu();
                let mut wanted = [vec![0.0f32; sums.len()], vec![0.0f32; len]];
                let [of_rows, upto] = &mut wanted;
                let to = ViewMut::from(of_rows).shape(rows.reduced_shape()).expect("a shape");
                rows.reduce_into(&cpu, to, &reduce).expect("sums");
                rows.scan_into(&cpu, ViewMut::from(upto).shape(shape).expect("a shape"), &scan)
                    .expect("prefixes");
                let context = format!("{device}: {shape:?} along {axis}, run {run}");
                let found = [sums.to_vec().expect("sums"), prefixes.to_vec().expect("prefixes")];
                let bits = |all: &[Vec<f32>; 2]| {
                    all.clone().map(|own| own.iter().map(|item| item.to_bits()).collect::<Vec<_>>())
                };
                assert_eq!(bits(&found), bits(&wanted), "{context}");
                let at = rows.argmax(&cpu).and_then(|found| found.to_vec()).expect("positions");
                assert_eq!(positions.to_vec().expect("positions"), at, "{context}");
            }
        }
    });
}

#[test]
fn what_cannot_be_bound_is_said() {
    let (items, mut sums) = ([1.0f32; 12], [0.0f32; 3]);
    let rows = View::from(&items).shape([3, 4]).and_then(|all| all.axis(1)).expect("rows");
    let cpu = Device::cpu();
    let to = ViewMut::from(&mut sums).shape([3]).expect("a shape");
    let bound = rows.bind_reduce(&cpu, to, &Reduce::new(Sum));
    assert!(matches!(bound, Err(Error::NoCommands { .. })), "{bound:?}");
}
