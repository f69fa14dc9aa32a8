//! Calls along axes whose types are values: each gives what the typed call gives, and refuses what makes no sense before it writes.

use upsweep::any::{
    self, AnyArray, AnyNdArray, AnyNdView, AnyNdViewMut, AnyView, AnyViewMut, Op, Reduce, Scalar,
    Scan,
};
use upsweep::{
    Array, Device, Dtype, Element, Error, Max, Mean, Min, NdView, NdViewMut, Number, Operator, Sum,
    View, ViewMut, Widen, bf16, f16, transpose,
};
use upsweep_testing::{Input, Sample, Selection, assert_same, for_each_device_of};

/// How an array lies in memory, and axes of it.
#[derive(Debug)]
struct Lies {
    shape: &'static [usize],
    strides: &'static [isize],
    start: usize,
    axes: &'static [isize],
}

const fn lies(
    shape: &'static [usize],
    strides: &'static [isize],
    start: usize,
    axes: &'static [isize],
) -> Lies {
    Lies { shape, strides, start, axes }
}

/// Items of memory that hold any of them.
const MEMORY: usize = 6000;

/// Without items and of one, along memory and across it, from the end, with gaps, broadcast, along several axes and along none.
const ALL: [Lies; 15] = [
    lies(&[], &[], 5, &[]),
    lies(&[1], &[1], 3, &[0]),
    lies(&[0], &[1], 0, &[-1]),
    lies(&[4, 0], &[1, 1], 0, &[1]),
    lies(&[0, 4], &[4, 1], 0, &[1]),
    lies(&[3000], &[-2], 5999, &[0]),
    lies(&[33, 65], &[65, 1], 0, &[1]),
    lies(&[33, 65], &[65, 1], 0, &[0]),
    lies(&[40, 30], &[-30, -1], 1199, &[-2]),
    lies(&[7, 9], &[1, 13], 2, &[-1]),
    lies(&[6, 20], &[0, 3], 1, &[1]),
    lies(&[6, 20], &[0, 3], 1, &[0]),
    lies(&[5, 4, 9], &[-36, 9, -1], 152, &[2, -3]),
    lies(&[2, 3, 2, 5], &[1, 4, -2, 60], 2, &[1, 2]),
    lies(&[2, 3, 4], &[12, 4, 1], 0, &[]),
];

/// Of so many layouts a software GPU takes one, others every day.
const ONE_IN: usize = 16;

impl Lies {
    fn typed<'a, T: Element>(&self, memory: impl Into<View<'a, T>>) -> NdView<'a, T> {
        NdView::strided(memory, self.shape, self.strides, self.start).expect("it fits")
    }

    fn any<'a>(&self, memory: impl Into<AnyView<'a>>) -> AnyNdView<'a> {
        AnyNdView::strided(memory, self.shape, self.strides, self.start).expect("it fits")
    }
}

/// Strides that go through the shape from the last item to the first, with a gap behind each, and where the first item is.
fn from_the_end(shape: &[usize]) -> (Vec<isize>, usize) {
    let (mut step, mut start) = (2isize, 1);
    let mut strides = vec![0; shape.len()];
    for (stride, &len) in strides.iter_mut().zip(shape).rev() {
        *stride = -step;
        start += step.unsigned_abs() * len.saturating_sub(1);
        step *= len.max(1) as isize;
    }
    (strides, start)
}

/// The items of an array in C order.
fn items<T: Number>(array: AnyNdArray) -> Vec<T> {
    array.into_typed::<T>().and_then(|array| array.to_vec()).expect("the type that is wanted")
}

/// All calls on items of a type that are combined in the type `C`, whose sums are made in `A` unless something else is asked for, and
/// means in `M`.
fn check<T, C, A, M>()
where
    T: Sample + Element<Acc = C> + Number + Mean<Output = M> + Widen<A> + Widen<C> + Widen<M>,
    C: Sample + Number + Element<Acc = C> + Widen<C>,
    A: Sample + Number + Element<Acc = A>,
    M: Sample + Number + Element<Acc = M>,
    Sum: Operator<A> + Operator<C> + Operator<M>,
    Max: Operator<C>,
    Min: Operator<C>,
{
    let memory: Vec<T> = Input::Small.array(11, MEMORY);
    let init = T::sample(Input::Small, 3).to_acc();
    for (turn, lie) in ALL.iter().enumerate() {
        for_each_device_of(Selection::Representative, |device| {
            let kinds = [T::KIND, A::KIND, C::KIND, M::KIND];
            // Items of other types would have to be widened first, which is done in host memory only.
            let has_kernels = [Dtype::U32, Dtype::I32, Dtype::F32].contains(&T::DTYPE);
            if !device.supports(&kinds) || device.is_gpu() && !has_kernels {
                return;
            }
            if !device.takes(turn + T::DTYPE as usize, ONE_IN) {
                return;
            }
            let context = || format!("{device}: {} of {lie:?}", T::DTYPE);
            let of = &device.device;
            let resident = Array::from_slice(of, &memory).expect("memory");
            let (typed, any) = (lie.typed(&resident), lie.any(&resident));
            let (typed_rows, any_rows) =
                (typed.axes(lie.axes).expect("axes"), any.axes(lie.axes).expect("axes"));
            assert_eq!((any.dtype(), any.len()), (T::DTYPE, typed.len()));
            assert_eq!((any.shape(), any.strides()), (typed.shape(), typed.strides()));

            let reduced = |op| any::reduce_axes(of, &any_rows, &Reduce::new(op)).expect("values");
            let sums = typed_rows.reduce_as::<A, _>(of, Sum).expect("sums");
            let found = reduced(Op::Sum);
            assert_eq!(found.shape(), sums.shape(), "{}", context());
            assert_same(&items::<A>(found), &sums.to_vec().expect("sums"), context());
            let means = typed_rows.mean(of).and_then(|means| means.to_vec()).expect("means");
            assert_same(&items::<M>(reduced(Op::Mean)), &means, context());
            for (op, found) in
                [(Op::ArgMin, typed_rows.argmin(of)), (Op::ArgMax, typed_rows.argmax(of))]
            {
                let wanted = found.and_then(|found| found.to_vec()).expect("positions");
                assert_same(&items::<u64>(reduced(op)), &wanted, context());
            }

            // Sums with a start value, to an array of the device's whose shape has all axes.
            let (kept, any_kept) = (typed_rows.clone().keepdims(), any_rows.clone().keepdims());
            let shape = any_kept.reduced_shape();
            let one = A::from_bits(1);
            let mut wanted = vec![A::from_bits(7); sums.len()];
            let output = ViewMut::from(&mut wanted).shape(&shape).expect("a shape");
            let typed_problem = upsweep::Reduce::new(Sum).init(one);
            kept.reduce_into(of, output, &typed_problem).expect("sums");
            let room = Array::filled(of, sums.len(), A::from_bits(9)).expect("memory");
            let mut output = AnyNdArray::new(room.into(), &shape).expect("a shape");
            let problem = Reduce::new(Op::Sum).acc(A::DTYPE).init(Scalar::new(one));
            any::reduce_axes_into(of, &any_kept, &mut output, &problem).expect("sums");
            assert_same(&items::<A>(output), &wanted, context());

            // Minima of items as they are combined, to places from the end, with gaps.
            let (strides, start) = from_the_end(sums.shape());
            let [mut wanted, mut found] = [(); 2].map(|()| vec![init; start + 2]);
            let output = NdViewMut::strided(&mut wanted, sums.shape(), &strides, start);
            let typed_problem = upsweep::Reduce::new(Min).init(init);
            typed_rows.reduce_into(of, output.expect("it fits"), &typed_problem).expect("minima");
            let problem = Reduce::new(Op::Min).acc(C::DTYPE).init(Scalar::new(init));
            let output = AnyNdViewMut::strided(&mut found, sums.shape(), &strides, start);
            any::reduce_axes_into(of, &any_rows, output.expect("it fits"), &problem)
                .expect("minima");
            assert_same(&found, &wanted, context());

            let prefixes = typed_rows.inclusive_scan(of, Max).and_then(|found| found.to_vec());
            let found = any::scan_axes(of, &any_rows, T::DTYPE, &Scan::inclusive(Op::Max));
            let found = found.expect("prefixes");
            assert_eq!(found.shape(), lie.shape);
            assert_same(&items::<T>(found), &prefixes.expect("prefixes"), context());
            let (strides, start) = from_the_end(lie.shape);
            let [mut wanted, mut found] = [(); 2].map(|()| vec![T::from_bits(5); start + 2]);
            let output = NdViewMut::strided(&mut wanted, lie.shape, &strides, start);
            let typed_problem = upsweep::Scan::exclusive(Sum).reverse().init(init);
            typed_rows.scan_into(of, output.expect("it fits"), &typed_problem).expect("prefixes");
            let problem = Scan::exclusive(Op::Sum).reverse().init(Scalar::new(init));
            let output = AnyNdViewMut::strided(&mut found, lie.shape, &strides, start);
            any::scan_axes_into(of, &any_rows, output.expect("it fits"), &problem)
                .expect("prefixes");
            assert_same(&found, &wanted, context());

            let wanted = transpose(of, typed.clone()).expect("a transposition");
            let found = any::transpose(of, &any).expect("a transposition");
            assert_eq!(found.shape(), wanted.shape());
            assert_same(&items::<T>(found), &wanted.to_vec().expect("items"), context());
            let wanted = typed.to_packed(of).and_then(|copy| copy.to_vec()).expect("a copy");
            let mut copied = vec![T::from_bits(5); start + 2];
            let output = AnyNdViewMut::strided(&mut copied, lie.shape, &strides, start);
            any::copy_into(of, &any, output.expect("it fits")).expect("a copy");
            let copied = lie_back(&copied, lie.shape, &strides, start);
            assert_same(&copied, &wanted, context());
            let copy = any::copy(of, &any).expect("a copy");
            assert_same(&items::<T>(copy), &wanted, context());
        });
    }
}

/// The items at these strides in C order.
fn lie_back<T: Number>(memory: &[T], shape: &[usize], strides: &[isize], start: usize) -> Vec<T> {
    let view = NdView::strided(memory, shape, strides, start).expect("it fits");
    view.to_packed(&Device::cpu()).and_then(|copy| copy.to_vec()).expect("a copy")
}

#[test]
fn unsigned_integers_along_axes() {
    check::<u8, u8, u64, f64>();
    check::<u16, u16, u64, f64>();
    check::<u32, u32, u64, f64>();
    check::<u64, u64, u64, f64>();
}

#[test]
fn signed_integers_along_axes() {
    check::<i8, i8, i64, f64>();
    check::<i16, i16, i64, f64>();
    check::<i32, i32, i64, f64>();
    check::<i64, i64, i64, f64>();
}

#[test]
fn floats_along_axes() {
    check::<f16, f32, f32, f32>();
    check::<bf16, f32, f32, f32>();
    check::<f32, f32, f32, f32>();
    check::<f64, f64, f64, f64>();
}

/// The words of an error about a shape.
#[track_caller]
fn words<R: core::fmt::Debug>(result: Result<R, Error>) -> String {
    match result {
        Err(Error::Shape { reason }) => reason,
        other => panic!("{other:?} is no mistake about a shape"),
    }
}

#[test]
fn axes_and_shapes_that_are_none_are_refused() {
    let items = [1u16, 2, 3, 4, 5, 6];
    let view = AnyView::from(&items);
    assert!(words(view.shape([2, 2])).contains("shape [2, 2] has 4 items, the view has 6"));
    let table = view.shape([2, 3]).expect("six items");
    assert_eq!(words(table.axis(2)), "axis 2 is none of 2 dimensions");
    assert_eq!(words(table.axes(&[1, -1])), "axis 1 is named twice");
    assert!(words(table.permuted(&[1])).contains("each of 2 dimensions once"));
    assert!(words(AnyNdView::strided(view, [2, 3], &[3, 1], 1)).contains("there are 6"));
    let mut output = [7u16; 6];
    let overlapping = AnyNdViewMut::strided(&mut output, [2, 3], &[1, 1], 0);
    assert!(words(overlapping).contains("overlap"));
    assert!(
        words(AnyNdArray::new(
            AnyArray::from(Array::from_slice(&Device::cpu(), &items).expect("memory")),
            [5]
        ))
        .contains("5 items")
    );
}

#[test]
fn outputs_that_do_not_fit_are_left_as_they_were() {
    let (items, cpu) = ([1u16, 2, 3, 4, 5, 6], Device::cpu());
    let table = AnyView::from(&items).shape([2, 3]).expect("six items");
    let rows = table.axis(1).expect("an axis");
    let sum = Reduce::new(Op::Sum);
    let into = |output: AnyViewMut<'_>, shape: &[usize], problem: &Reduce| {
        let output = output.shape(shape).expect("so many items");
        any::reduce_axes_into(&cpu, &rows, output, problem)
    };
    let mut output = [7u64; 3];
    assert!(
        words(into((&mut output).into(), &[3], &sum)).contains("shape [2], the output has [3]")
    );
    assert_eq!(output, [7; 3]);
    let mut narrow = [7u16; 2];
    let wrong = Err(Error::WrongDtype { found: Dtype::U16, wanted: Dtype::U64 });
    assert_eq!(into((&mut narrow).into(), &[2], &sum), wrong);
    assert_eq!(narrow, [7; 2]);
    let wrong = Err(Error::WrongDtype { found: Dtype::U16, wanted: Dtype::U64 });
    assert_eq!(into((&mut narrow).into(), &[2], &Reduce::new(Op::ArgMin)), wrong);
    let mut prefixes = [7u32; 6];
    let output = AnyViewMut::from(&mut prefixes).shape([3, 2]).expect("six items");
    let found = any::scan_axes_into(&cpu, &rows, output, &Scan::inclusive(Op::Sum));
    assert!(words(found).contains("the output has [3, 2]"));
    let output = AnyViewMut::from(&mut prefixes).shape([2, 3]).expect("six items");
    let found = any::copy_into(&cpu, &table, output);
    assert_eq!(found, Err(Error::WrongDtype { found: Dtype::U32, wanted: Dtype::U16 }));
    let mut copy = [7u16; 6];
    let output = AnyViewMut::from(&mut copy).shape([3, 2]).expect("six items");
    assert!(words(any::copy_into(&cpu, &table, output)).contains("[3, 2]"));
    assert_eq!((prefixes, copy), ([7; 6], [7; 6]));
}

#[test]
fn operators_and_types_that_do_not_fit_are_refused() {
    let (items, cpu) = ([1.0f32, 2.0, 3.0, 4.0], Device::cpu());
    let table = AnyView::from(&items).shape([2, 2]).expect("four items");
    let rows = table.axis(0).expect("an axis");
    let reduce = |problem: &Reduce| any::reduce_axes(&cpu, &rows, problem).map(drop);
    let no_bits = Err(Error::OperatorElement { operator: Op::And.name(), dtype: Dtype::F32 });
    assert_eq!(reduce(&Reduce::new(Op::And)), no_bits);
    let narrow = reduce(&Reduce::new(Op::Sum).acc(Dtype::U8));
    assert!(matches!(narrow, Err(Error::Accumulator { item: Dtype::F32, acc: Dtype::U8, .. })));
    let no_start = reduce(&Reduce::new(Op::ArgMax).init(Scalar::new(1u64)));
    assert_eq!(no_start, Err(Error::NoInit { operator: Op::ArgMax.name() }));
    let wrong = reduce(&Reduce::new(Op::Sum).init(Scalar::new(1u8)));
    assert_eq!(wrong, Err(Error::WrongDtype { found: Dtype::U8, wanted: Dtype::F32 }));
    let scan = |op, out| any::scan_axes(&cpu, &rows, out, &Scan::inclusive(op)).map(drop);
    assert!(scan(Op::Mean, Dtype::F32).is_err());
    assert!(scan(Op::ArgMin, Dtype::U64).is_err());
    assert!(matches!(
        scan(Op::Sum, Dtype::U8),
        Err(Error::Accumulator { item: Dtype::F32, acc: Dtype::U8, .. })
    ));
}

#[test]
fn recordings_and_what_cannot_be_bound() {
    let (ones, mut sums) = ([1.0f32; 12], [0.0f32; 3]);
    let rows = AnyView::from(&ones).shape([3, 4]).and_then(|all| all.axis(1)).expect("rows");
    for_each_device_of(Selection::Representative, |device| {
        let of = &device.device;
        let to = AnyViewMut::from(&mut sums).shape([3]).expect("a shape");
        let bound = any::bind_reduce_axes(of, &rows, to, &Reduce::new(Op::Sum));
        let is_refused = matches!(bound, Err(Error::NoCommands { .. } | Error::WrongDevice { .. }));
        assert!(is_refused, "{device}: {bound:?}");
        if !device.is_gpu() {
            return;
        }
        let mut found = Vec::new();
        let resident = Array::from_slice(of, &ones).expect("memory");
        let of_array = AnyView::from(&resident).shape([3, 4]).expect("a shape");
        let rows = of_array.axis(1).expect("an axis");
        for op in [Op::Sum, Op::ArgMin] {
            let problem = Reduce::new(op);
            let mut room = if op == Op::Sum {
                AnyArray::from(Array::filled(of, 3, 7.0f32).expect("memory"))
            } else {
                AnyArray::from(Array::filled(of, 3, 7u64).expect("memory"))
            };
            let to = room.view_mut().shape([3]).expect("a shape");
            let bound = any::bind_reduce_axes(of, &rows, to, &problem).expect("a reduction");
            bound.submit().expect("a run");
            let wanted = any::reduce_axes(of, &rows, &problem).expect("values");
            found.push(
                room.to_bytes().expect("values") == wanted.into_array().to_bytes().expect("values"),
            );
        }
        let mut room = Array::filled(of, 12, 7.0f32).expect("memory");
        let to = AnyViewMut::from(&mut room).shape([3, 4]).expect("a shape");
        let scan = Scan::inclusive(Op::Max);
        any::bind_scan_axes(of, &rows, to, &scan).and_then(|own| own.submit()).expect("a scan");
        let wanted = any::scan_axes(of, &rows, Dtype::F32, &scan).expect("prefixes");
        found.push(room.to_vec().expect("prefixes") == items::<f32>(wanted));
        assert_eq!(found, [true; 3], "{device}");
        // The host makes means.
        let mut room = Array::filled(of, 3, 0.0f32).expect("memory");
        let to = AnyViewMut::from(&mut room).shape([3]).expect("a shape");
        let bound = any::bind_reduce_axes(of, &rows, to, &Reduce::new(Op::Mean));
        assert!(matches!(bound, Err(Error::OperatorElement { .. })), "{device}: {bound:?}");
    });
}
