//! Strided copies and transposition.

use upsweep::{NdViewMut, ViewMut, f16, transpose};
use upsweep_testing::{Input, Recurrence, Sample, assert_same};

use super::{LONG, Lies, ONE_IN, SHORT, on, on_devices, placed, spread};

/// Copies, and transposition of all axes.
fn check_copies<T: Sample>(gap: T, input: Input) {
    for (turn, lie) in SHORT.iter().chain(&LONG[..2]).enumerate() {
        let memory: Vec<T> = input.array(turn as u64, lie.memory);
        let (_, all) = lie.rows(&[]);
        let wanted: Vec<T> = all.iter().map(|&at| memory[at]).collect();
        let turned = Lies {
            shape: lie.shape.iter().rev().copied().collect::<Vec<_>>().leak(),
            strides: lie.strides.iter().rev().copied().collect::<Vec<_>>().leak(),
            ..*lie
        };
        let transposed: Vec<T> = turned.rows(&[]).1.iter().map(|&at| memory[at]).collect();
        on_devices(&[T::KIND], |device| {
            if !device.takes(turn, ONE_IN / 8) {
                return;
            }
            let of = &device.device;
            let context = || format!("{device}: a copy of {lie:?}");
            let resident = on(of, &memory);
            let packed = lie.view(&resident).to_packed(of).expect("a copy");
            assert_eq!(packed.shape(), lie.shape);
            assert_same(&packed.to_vec().expect("items"), &wanted, context());
            let found = transpose(of, lie.view(&resident)).expect("a transposition");
            assert_eq!(found.shape(), turned.shape);
            assert_same(&found.to_vec().expect("items"), &transposed, context());
            // Back again, into its place.
            let mut output = vec![gap; wanted.len()];
            let view = ViewMut::from(&mut output).shape(lie.shape).expect("a shape");
            found.view().copy_into(of, view.transposed()).expect("a copy");
            assert_same(&output, &wanted, context());
            let (strides, start, room, to) = spread(lie.shape);
            let mut output = on(of, &vec![gap; room]);
            let view = NdViewMut::strided(&mut output, lie.shape, &strides, start);
            lie.view(&memory).copy_into(of, view.expect("it fits")).expect("a copy");
            let spread = placed(room, gap, &to, &wanted);
            assert_same(&output.to_vec().expect("items"), &spread, context());
        });
    }
}

#[test]
fn copies_of_all_sizes() {
    check_copies::<u8>(7, Input::Full);
    check_copies::<f16>(f16::ONE, Input::Uniform);
    check_copies::<f32>(7.0, Input::Mixed);
    check_copies::<i64>(7, Input::Full);
    check_copies::<Recurrence>(Recurrence::sample(Input::Uniform, 7), Input::Uniform);
}
