//! Whole reductions and scans.

use upsweep::{
    ArgMax, ArgMin, BitAnd, BitOr, BitXor, Bounds, Direction, Element, Max, Min, Operator, Product,
    Reduce, Scan, Sum, Widen, argmax, argmin, bf16, f16, reduce_with, scan_in_place_with,
    scan_into_with,
};
use upsweep::{Indexed, Number};
use upsweep_testing::{
    Affine, Compose, Guarded, Last, POISONS, Sample, SaturatingSum, assert_same, expected_reduce,
    expected_scan,
};

use crate::bytes::{Bytes, choose};

/// Reductions of any element and operator, from any start of the array.
pub fn reduce(data: &[u8]) {
    let bytes = &mut Bytes(data);
    choose!(bytes;
        reduction::<u8, u8, _>(Sum), reduction::<u8, u64, _>(Sum), reduction::<i8, i64, _>(Sum),
        reduction::<i8, i8, _>(Min), reduction::<u16, u16, _>(BitXor),
        reduction::<u16, u64, _>(Sum), reduction::<i16, i16, _>(Max),
        reduction::<i16, i64, _>(Sum), reduction::<u32, u32, _>(SaturatingSum),
        reduction::<u32, u64, _>(Sum), reduction::<u32, u32, _>(Last),
        reduction::<i32, i32, _>(Product), reduction::<u64, u64, _>(BitOr),
        reduction::<i64, i64, _>(Sum), reduction::<i64, i64, _>(Min),
        reduction::<f16, f32, _>(Sum), reduction::<f16, f32, _>(Max),
        reduction::<bf16, f32, _>(Product), reduction::<bf16, f64, _>(Sum),
        reduction::<f32, f32, _>(Sum), reduction::<f32, f32, _>(Min),
        reduction::<f32, f64, _>(Sum), reduction::<f64, f64, _>(Sum),
        reduction::<f64, f64, _>(Max), reduction::<Affine<u32>, Affine<u32>, _>(Compose),
        position::<u8>, position::<i32>, position::<f16>, position::<f32>, position::<f64>,
    );
}

fn reduction<T, A, O>(operator: O) -> impl Fn(&mut Bytes<'_>)
where
    T: Sample + Widen<A>,
    A: Sample,
    O: Operator<A>,
{
    move |bytes| {
        let device = bytes.device();
        let offset = bytes.byte() as usize;
        let mut problem = Reduce::new(operator);
        problem.init = bytes.option();
        let items = bytes.array::<T>();
        let guarded = Guarded::holding(&items, offset, POISONS[offset % 2]);
        let found = reduce_with(&device, guarded.items(), &problem).expect("a reduction");
        assert_same(&[found], &[expected_reduce(&items, &problem)], O::NAME);
    }
}

fn position<T>(bytes: &mut Bytes<'_>)
where
    T: Sample + Number,
    T::Acc: Number,
    Min: Operator<T::Acc>,
    Max: Operator<T::Acc>,
{
    let device = bytes.device();
    let items = bytes.array::<T>();
    let indexed: Vec<_> =
        (0u64..).zip(&items).map(|(index, item)| Indexed { value: item.to_acc(), index }).collect();
    let position = |best: Indexed<T::Acc>| (!items.is_empty()).then_some(best.index);
    let least = upsweep::reference::reduce(&indexed, &Reduce::new(ArgMin));
    let most = upsweep::reference::reduce(&indexed, &Reduce::new(ArgMax));
    assert_eq!(argmin(&device, &items), Ok(position(least)), "argmin of {} items", items.len());
    assert_eq!(argmax(&device, &items), Ok(position(most)), "argmax of {} items", items.len());
}

/// Scans in every variant, in place and out of place, with memory before and behind watched.
pub fn scan(data: &[u8]) {
    let bytes = &mut Bytes(data);
    choose!(bytes;
        scanned::<u8, u8, _>(Sum), scanned::<u8, u64, _>(Sum), scanned::<i8, i8, _>(Min),
        scanned::<u16, u16, _>(Product), scanned::<i16, i16, _>(Sum),
        scanned::<u32, u32, _>(Sum), scanned::<u32, u32, _>(Last),
        scanned::<i32, i32, _>(Max), scanned::<u64, u64, _>(BitAnd),
        scanned::<i64, i64, _>(Sum), scanned::<f16, f16, _>(Sum), scanned::<f16, f32, _>(Sum),
        scanned::<bf16, bf16, _>(Product), scanned::<f32, f32, _>(Sum),
        scanned::<f32, f32, _>(Max), scanned::<f64, f64, _>(Sum),
        scanned::<Affine<u32>, Affine<u32>, _>(Compose), in_place::<u8, _>(Sum),
        in_place::<i16, _>(Max), in_place::<u32, _>(BitXor), in_place::<u32, _>(SaturatingSum),
        in_place::<u64, _>(Sum), in_place::<f16, _>(Sum), in_place::<bf16, _>(Min),
        in_place::<f32, _>(Sum), in_place::<f64, _>(Product),
        in_place::<Affine<u32>, _>(Compose),
    );
}

/// A scan in any variant.
pub(crate) fn any_scan<A: Sample, O: Operator<A>>(
    bytes: &mut Bytes<'_>,
    operator: O,
) -> Scan<A, O> {
    let mut problem = Scan::inclusive(operator);
    if bytes.odd() {
        problem.bounds = Bounds::Exclusive;
    }
    if bytes.odd() {
        problem.direction = Direction::Reverse;
    }
    problem.init = bytes.option();
    problem
}

fn scanned<T, U, O>(operator: O) -> impl Fn(&mut Bytes<'_>)
where
    T: Sample + Widen<U::Acc>,
    U: Sample<Acc: Sample>,
    O: Operator<U::Acc>,
{
    move |bytes| {
        let device = bytes.device();
        let (start, poison) = (bytes.byte() as usize, POISONS[usize::from(bytes.odd())]);
        let problem = any_scan(bytes, operator);
        let items = bytes.array::<T>();
        let input = Guarded::holding(&items, start / 16, poison);
        let mut output = Guarded::<U>::new(items.len(), start % 16, poison);
        scan_into_with(&device, input.items(), output.items_mut(), &problem).expect("a scan");
        assert_same(output.items(), &expected_scan::<T, U, O>(&items, &problem), O::NAME);
        output.check_bands(O::NAME);
    }
}

fn in_place<T, O>(operator: O) -> impl Fn(&mut Bytes<'_>)
where
    T: Sample<Acc: Sample> + Widen<<T as Element>::Acc>,
    O: Operator<T::Acc>,
{
    move |bytes| {
        let device = bytes.device();
        let (start, poison) = (bytes.byte() as usize, POISONS[usize::from(bytes.odd())]);
        let problem = any_scan(bytes, operator);
        let items = bytes.array::<T>();
        let mut data = Guarded::holding(&items, start, poison);
        scan_in_place_with(&device, data.items_mut(), &problem).expect("a scan");
        assert_same(data.items(), &expected_scan::<T, T, O>(&items, &problem), O::NAME);
        data.check_bands(O::NAME);
    }
}
