//! Problems of numbers whose types are values: every operator of the library on every pair of types, by kernels that are compiled in it.

use upsweep::any::{AnyArray, AnyView, AnyViewMut, Op, Reduce, Scalar, Scan, combined_in, holds};
use upsweep::{Array, Bounds, Device, Direction, Dtype, Number, bf16, f16};
use upsweep_testing::{Guarded, Input, POISONS, Sample, assert_same};

use crate::input_bytes::InputBytes;

/// Calls `$body` with `$type` standing for the Rust type of a `Dtype`.
macro_rules! with_dtype {
    ($dtype:expr, $type:ident => $body:expr) => {
        with_dtype!(@arms $dtype, $type => $body,
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64,
            F16 f16, Bf16 bf16, F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $type:ident => $body:expr, $($variant:ident $rust:ty),*) => {
        match $dtype {
            $(Dtype::$variant => {
                type $type = $rust;
                $body
            })*
            other => unreachable!("{other} has no Rust type"),
        }
    };
}

/// Guarded memory of any type.
pub(crate) trait GuardedArray {
    fn view(&self) -> AnyView<'_>;

    /// The items from `start` on, to be written.
    fn slice_mut(&mut self, start: usize, items: usize) -> AnyViewMut<'_>;

    /// Panics if the items are others, or if something was written before or behind them.
    fn assert_holds(&self, expected: AnyArray, context: &str);
}

impl<T: Sample + Number> GuardedArray for Guarded<T> {
    fn view(&self) -> AnyView<'_> {
        self.items().into()
    }

    fn slice_mut(&mut self, start: usize, items: usize) -> AnyViewMut<'_> {
        (&mut self.items_mut()[start..start + items]).into()
    }

    fn assert_holds(&self, expected: AnyArray, context: &str) {
        let expected = expected.into_typed::<T>().expect("the type that was asked for");
        assert_same(self.items(), &expected.into_vec().expect("in host memory"), context);
        self.check_bands(context);
    }
}

/// An array of the bytes', `offset` items behind an aligned place.
pub(crate) fn array(
    bytes: &mut InputBytes<'_>,
    dtype: Dtype,
    offset: usize,
) -> Box<dyn GuardedArray> {
    let poison = POISONS[usize::from(bytes.bool())];
    with_dtype!(dtype, T => Box::new(Guarded::holding(&bytes.array::<T>(), offset, poison)))
}

/// So many items from a seed.
pub(crate) fn seeded_array(dtype: Dtype, seed: u64, items: usize) -> Box<dyn GuardedArray> {
    with_dtype!(dtype, T => {
        Box::new(Guarded::holding(&Input::Mixed.array::<T>(seed, items), 0, POISONS[0]))
    })
}

/// Room for so many items.
pub(crate) fn poisoned_array(dtype: Dtype, items: usize, offset: usize) -> Box<dyn GuardedArray> {
    with_dtype!(dtype, T => Box::new(Guarded::<T>::new(items, offset, POISONS[items % 2])))
}

/// Panics if the values are not the same; all NaNs are.
pub(crate) fn assert_same_value(found: Option<Scalar>, expected: Option<Scalar>, context: &str) {
    let (Some(found), Some(expected)) = (found, expected) else {
        return assert_eq!(found, expected, "{context}");
    };
    assert_eq!(found.dtype(), expected.dtype(), "{context}");
    with_dtype!(found.dtype(), T => {
        assert_same(found.get::<T>().as_slice(), expected.get::<T>().as_slice(), context);
    });
}

/// Panics if the items are not the same; all NaNs are.
pub(crate) fn assert_same_array(found: AnyArray, expected: AnyArray, context: &str) {
    assert_eq!(found.dtype(), expected.dtype(), "{context}");
    with_dtype!(found.dtype(), T => {
        let items = |array: AnyArray| array.into_typed::<T>().and_then(Array::into_vec);
        let [found, expected] = [found, expected].map(|array| items(array).expect("in host memory"));
        assert_same(&found, &expected, context);
    });
}

/// An array of the items with these bytes.
pub(crate) fn array_of_bytes(dtype: Dtype, bytes: &[u8]) -> AnyArray {
    with_dtype!(dtype, T => {
        let item = |bytes| Scalar::from_bytes(dtype, bytes).and_then(|item| item.get::<T>());
        let items = bytes.chunks(dtype.size()).map(|bytes| item(bytes).expect("a number"));
        let items: Vec<T> = items.collect();
        Array::from_slice(&Device::cpu(), &items).expect("memory").into()
    })
}

/// One of the operators that `is_allowed`, and a type of items that it is for.
pub(crate) fn choose_operator(
    bytes: &mut InputBytes<'_>,
    is_allowed: fn(Op) -> bool,
) -> (Op, Dtype) {
    let item = bytes.choose(Dtype::ALL);
    let ops = Op::ALL.into_iter().map(|(op, _)| op);
    (bytes.choose(ops.filter(|&op| is_allowed(op) && op.check(item).is_ok())), item)
}

/// One of the types that hold the items and in which the operator works.
fn choose_accumulator(bytes: &mut InputBytes<'_>, op: Op, item: Dtype) -> Dtype {
    let all = Dtype::ALL.into_iter();
    bytes.choose(all.filter(|&acc| op.check(acc).is_ok() && holds(item, acc)))
}

/// A reduction of some items.
pub(crate) fn reduce_problem(bytes: &mut InputBytes<'_>, op: Op, item: Dtype) -> Reduce {
    let mut problem = Reduce::new(op);
    if bytes.bool() && !op.is_position() {
        problem.acc = Some(choose_accumulator(bytes, op, item));
    }
    if op.scans() {
        problem.init = bytes.optional_scalar(combined_in(problem.result(item)));
    }
    problem
}

/// A scan of some items in any variant, and the type of its output.
pub(crate) fn scan_problem(
    bytes: &mut InputBytes<'_>,
    op: Op,
    item: Dtype,
    is_in_place: bool,
) -> (Scan, Dtype) {
    let out = if is_in_place { item } else { choose_accumulator(bytes, op, item) };
    let bounds = bytes.choose([Bounds::Inclusive, Bounds::Exclusive]);
    let direction = bytes.choose([Direction::Forward, Direction::Reverse]);
    (Scan { op, bounds, direction, init: bytes.optional_scalar(combined_in(out)) }, out)
}
