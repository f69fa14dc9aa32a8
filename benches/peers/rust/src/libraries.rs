//! Libraries for arrays: ndarray, arrow's compute kernels, argminmax.

use std::hint::black_box;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use argminmax::ArgMinMax;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt32Type};
use arrow_array::{ArrowNumericType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer as ArrowBuffer, ScalarBuffer};
use ndarray::ArrayView1;
use upsweep_worker::{Arrays, Cell, Item, bytes, digest, timed};

/// Item types that arrow knows.
pub trait Known: Item + ArrowNativeType {
    type Arrow: ArrowNumericType<Native = Self>;
}

impl Known for u32 {
    type Arrow = UInt32Type;
}

impl Known for i64 {
    type Arrow = Int64Type;
}

impl Known for f32 {
    type Arrow = Float32Type;
}

impl Known for f64 {
    type Arrow = Float64Type;
}

pub fn sum<T: Known + num_traits::Zero>(cell: &mut Cell, arrays: &Arrays<T>) {
    cell.reduction("ndarray", 1, &arrays.input, |items| ArrayView1::from(items).sum());

    let view = |items: &[T]| {
        let items = bytes(items);
        let start = NonNull::from(items).cast();
        // SAFETY: both closures below own the input beside the array that views it.
        let view = unsafe { ArrowBuffer::from_custom_allocation(start, items.len(), Arc::new(())) };
        let items = items.len() / size_of::<T>();
        PrimitiveArray::<T::Arrow>::new(ScalarBuffer::new(view, 0, items), None)
    };
    let sum = |array: &PrimitiveArray<T::Arrow>| arrow_arith::aggregate::sum(array).expect("items");
    let (input, array) = (Rc::clone(&arrays.input), view(&arrays.input));
    let check = move || {
        let _kept = &input;
        Ok(digest(&[sum(&array)]))
    };
    let (input, array) = (Rc::clone(&arrays.input), view(&arrays.input));
    let run = move |calls| {
        let _kept = &input;
        timed(calls, || {
            black_box(sum(black_box(&array)));
        })
    };
    cell.add("arrow", 1, run, check);
}

pub fn position<T: Item>(cell: &mut Cell, arrays: &Arrays<T>, largest: bool)
where
    for<'a> &'a [T]: ArgMinMax,
{
    if largest {
        cell.reduction("argminmax", 1, &arrays.input, |items| items.argmax() as u64);
    } else {
        cell.reduction("argminmax", 1, &arrays.input, |items| items.argmin() as u64);
    }
}
