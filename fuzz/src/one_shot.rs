//! Whole reductions and scans.

use upsweep::any::{self, Op};
use upsweep::{
    Bounds, Direction, Element, Operator, Reduce, Scan, Widen, reduce_with, scan_in_place_with,
    scan_into_with,
};
use upsweep_testing::{
    Affine, Compose, Guarded, Last, POISONS, Sample, SaturatingSum, assert_same, expected_reduce,
    expected_scan,
};

use crate::input_bytes::{InputBytes, choose_arm};
use crate::runtime_typed::{
    self, assert_same_value, choose_operator, reduce_problem, scan_problem,
};

/// Reductions of any element and operator, from any start of the array.
pub fn reduce(data: &[u8]) {
    let bytes = &mut InputBytes(data);
    if !bytes.wants_custom_operator() {
        return check_runtime_typed_reduce(bytes);
    }
    choose_arm!(bytes;
        check_reduce::<u32, u32, _>(SaturatingSum), check_reduce::<u32, u32, _>(Last),
        check_reduce::<Affine<u32>, Affine<u32>, _>(Compose),
    );
}

fn check_runtime_typed_reduce(bytes: &mut InputBytes<'_>) {
    let device = bytes.device();
    let offset = bytes.byte() as usize;
    let (op, item) = choose_operator(bytes, |_| true);
    let problem = reduce_problem(bytes, op, item);
    let items = runtime_typed::array(bytes, item, offset);
    let context = format!("{problem:?} of {} {item}", items.view().len());
    match any::reference_reduce(items.view(), &problem) {
        Ok(expected) => {
            let found = any::reduce(&device, items.view(), &problem).expect("a reduction");
            assert_same_value(found, expected, &context);
        }
        refused => assert_eq!(any::reduce(&device, items.view(), &problem), refused, "{context}"),
    }
}

fn check_reduce<T, A, O>(operator: O) -> impl Fn(&mut InputBytes<'_>)
where
    T: Sample + Widen<A>,
    A: Sample,
    O: Operator<A>,
{
    move |bytes| {
        let device = bytes.device();
        let offset = bytes.byte() as usize;
        let mut problem = Reduce::new(operator);
        problem.init = bytes.optional();
        let items = bytes.array::<T>();
        let guarded = Guarded::holding(&items, offset, POISONS[offset % 2]);
        let found = reduce_with(&device, guarded.items(), &problem).expect("a reduction");
        assert_same(&[found], &[expected_reduce(&items, &problem)], O::NAME);
    }
}

/// Scans in every variant, in place and out of place, with memory before and behind watched.
pub fn scan(data: &[u8]) {
    let bytes = &mut InputBytes(data);
    if !bytes.wants_custom_operator() {
        return check_runtime_typed_scan(bytes);
    }
    choose_arm!(bytes;
        check_scan::<u32, u32, _>(Last), check_scan::<Affine<u32>, Affine<u32>, _>(Compose),
        check_scan_in_place::<u32, _>(SaturatingSum), check_scan_in_place::<Affine<u32>, _>(Compose),
    );
}

fn check_runtime_typed_scan(bytes: &mut InputBytes<'_>) {
    let device = bytes.device();
    let (start, is_in_place) = (bytes.byte() as usize, bytes.bool());
    let (op, item) = choose_operator(bytes, Op::scans);
    let (problem, out) = scan_problem(bytes, op, item, is_in_place);
    let mut items = runtime_typed::array(bytes, item, start / 16);
    let len = items.view().len();
    let context = format!("{problem:?} of {len} {item} into {out}");
    let expected = any::reference_scan(items.view(), out, &problem);
    let mut output = runtime_typed::poisoned_array(out, len, start % 16);
    let done = if is_in_place {
        any::scan_in_place(&device, items.slice_mut(0, len), &problem)
    } else {
        any::scan_into(&device, items.view(), output.slice_mut(0, len), &problem)
    };
    match expected {
        Ok(expected) => {
            done.expect("a scan");
            let written = if is_in_place { items } else { output };
            written.assert_holds(expected, &context);
        }
        Err(refused) => assert_eq!(done, Err(refused), "{context}"),
    }
}

/// A scan in any variant.
pub(crate) fn typed_scan_problem<A: Sample, O: Operator<A>>(
    bytes: &mut InputBytes<'_>,
    operator: O,
) -> Scan<A, O> {
    let mut problem = Scan::inclusive(operator);
    if bytes.bool() {
        problem.bounds = Bounds::Exclusive;
    }
    if bytes.bool() {
        problem.direction = Direction::Reverse;
    }
    problem.init = bytes.optional();
    problem
}

fn check_scan<T, U, O>(operator: O) -> impl Fn(&mut InputBytes<'_>)
where
    T: Sample + Widen<U::Acc>,
    U: Sample<Acc: Sample>,
    O: Operator<U::Acc>,
{
    move |bytes| {
        let device = bytes.device();
        let (start, poison) = (bytes.byte() as usize, POISONS[usize::from(bytes.bool())]);
        let problem = typed_scan_problem(bytes, operator);
        let items = bytes.array::<T>();
        let input = Guarded::holding(&items, start / 16, poison);
        let mut output = Guarded::<U>::new(items.len(), start % 16, poison);
        scan_into_with(&device, input.items(), output.items_mut(), &problem).expect("a scan");
        assert_same(output.items(), &expected_scan::<T, U, O>(&items, &problem), O::NAME);
        output.check_bands(O::NAME);
    }
}

fn check_scan_in_place<T, O>(operator: O) -> impl Fn(&mut InputBytes<'_>)
where
    T: Sample<Acc: Sample> + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    move |bytes| {
        let device = bytes.device();
        let (start, poison) = (bytes.byte() as usize, POISONS[usize::from(bytes.bool())]);
        let problem = typed_scan_problem(bytes, operator);
        let items = bytes.array::<T>();
        let mut data = Guarded::holding(&items, start, poison);
        scan_in_place_with(&device, data.items_mut(), &problem).expect("a scan");
        assert_same(data.items(), &expected_scan::<T, T, O>(&items, &problem), O::NAME);
        data.check_bands(O::NAME);
    }
}
