//! Positions of extremes and means of rows.

use core::panic::Location;

use upsweep::{
    Device, Element, Mean, NdArray, NdViewMut, Number, Operator, Sum, Widen, argmax, argmin, f16,
    mean,
};
use upsweep_testing::{Input, Sample, assert_same};

use super::{LONG, Lies, ONE_IN, SHORT, on, on_devices, placed, spread};

/// Positions and means of rows, each as of the row alone on the same device.
#[track_caller]
fn check_positions<T>(input: Input, layouts: &[Lies])
where
    T: Sample + Mean + Widen<<T as Mean>::Output>,
    T::Output: Sample,
    Sum: Operator<T::Output>,
{
    let line = Location::caller().line() as usize;
    for (turn, lie) in layouts.iter().enumerate() {
        let memory: Vec<T> = input.array(turn as u64, lie.memory);
        for (number, axes) in lie.axes().into_iter().enumerate() {
            let (places, _) = lie.rows(&axes);
            let of_row = |row: &Vec<usize>| row.iter().map(|&at| memory[at]).collect::<Vec<T>>();
            let all: Vec<Vec<T>> = places.iter().map(of_row).collect();
            let shape = lie.reduced(&axes, true);
            on_devices(&[T::KIND, <T::Output as Element>::KIND, u64::KIND], |device| {
                if !device.takes(line + turn + number, ONE_IN / 2) {
                    return;
                }
                let of = &device.device;
                let context = || format!("{device}: {lie:?} along {axes:?}");
                let resident = on(of, &memory);
                let rows = lie.view(&resident).axes(&axes).expect("axes").keepdims();
                let cpu = Device::cpu();
                let alone = |find: fn(&Device, &[T]) -> Option<u64>| -> Vec<u64> {
                    all.iter().map(|row| find(&cpu, row).unwrap_or(u64::MAX)).collect()
                };
                let smallest = alone(|device, row| argmin(device, row).expect("a search"));
                let largest = alone(|device, row| argmax(device, row).expect("a search"));
                let found = rows.argmin(of).expect("a search");
                assert_eq!(found.shape(), shape);
                assert_same(&found.to_vec().expect("positions"), &smallest, context());
                let found = rows.argmax(of).and_then(|found| found.to_vec());
                assert_same(&found.expect("positions"), &largest, context());
                let (strides, start, room, to) = spread(&shape);
                let mut output = on(of, &vec![5u64; room]);
                let view = NdViewMut::strided(&mut output, &shape, &strides, start);
                rows.argmin_into(of, view.expect("it fits")).expect("a search");
                let spread = placed(room, 5, &to, &smallest);
                assert_same(&output.to_vec().expect("positions"), &spread, context());
                if !device.keeps::<T>(input) {
                    return;
                }
                let means: Vec<T::Output> =
                    all.iter().map(|row| mean(&cpu, row).expect("a mean")).collect();
                let found = rows.mean(of).expect("means");
                assert_eq!(found.shape(), shape);
                assert_same(&found.to_vec().expect("means"), &means, context());
            });
        }
    }
}

#[test]
fn positions_and_means_of_rows() {
    check_positions::<u8>(Input::Full, &SHORT);
    check_positions::<f32>(Input::Special, &SHORT);
    check_positions::<f16>(Input::Uniform, &SHORT[5..9]);
    check_positions::<i32>(Input::Small, &LONG[..2]);
    check_positions::<f64>(Input::Zeros, &SHORT[13..16]);
}

/// Numbers along an axis whose other axis has no place: nothing to write.
#[test]
fn arrays_without_rows_give_arrays_without_items() {
    fn check<T: Number>(device: &Device) {
        let empty = NdArray::new(on::<T>(device, &[]), [0, 5]).expect("no items");
        let found = empty.view().axis(1).and_then(|rows| rows.argmax(device)).expect("none");
        assert_eq!((found.shape(), found.len()), (&[0][..], 0));
    }
    on_devices(&[u64::KIND], |device| check::<u32>(&device.device));
}
