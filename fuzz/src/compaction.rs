//! Compaction by flags and by comparisons, positions and runs.

use upsweep::any::{self, Comparison, Keep, Scalar, Where};
use upsweep::reference::compaction;
use upsweep::{Dtype, Number};
use upsweep_testing::{Guarded, POISONS, Sample, assert_same};

use crate::input_bytes::{InputBytes, choose_arm};

/// What is kept of items of any size, from any start of the array, with memory before and behind watched.
pub fn compact(data: &[u8]) {
    let bytes = &mut InputBytes(data);
    choose_arm!(bytes; check::<u8>, check::<i16>, check::<f32>, check::<i32>, check::<f64>, check::<u64>);
}

fn check<T: Sample + Number + PartialOrd>(bytes: &mut InputBytes<'_>) {
    let (device, start) = (bytes.device(), bytes.byte() as usize);
    let comparison = bytes.choose([
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
        Comparison::Equal,
        Comparison::NotEqual,
    ]);
    let (by_flags, partitions, number) = (bytes.bool(), bytes.bool(), T::from_bits(bytes.word()));
    let items = bytes.array::<T>();
    let holds = |item: &T| match comparison {
        Comparison::Less => *item < number,
        Comparison::LessOrEqual => *item <= number,
        Comparison::Greater => *item > number,
        Comparison::GreaterOrEqual => *item >= number,
        Comparison::Equal => *item == number,
        Comparison::NotEqual => *item != number,
    };
    let flags: Vec<u8> = items.iter().map(|item| holds(item).into()).collect();
    let condition = Where::new(comparison, Scalar::new(number));
    let keep = if by_flags { Keep::from(&flags) } else { condition.into() };
    let context = format!("{} of {}, {condition}, flags: {by_flags}", items.len(), T::KIND);
    let input = Guarded::holding(&items, start / 16, POISONS[start % 2]);
    let mut output = Guarded::<T>::new(items.len(), start % 16, POISONS[start % 2]);
    let (into, mut count) = (output.items_mut(), [0]);
    if partitions {
        any::partition_into(&device, input.items(), keep, into, &mut count).expect("a partition");
        let (expected, border) = compaction::partition(&items, &flags);
        assert_eq!(count[0], border as u64, "{context}");
        assert_same(output.items(), &expected, &context);
    } else {
        any::select_into(&device, input.items(), keep, into, &mut count).expect("a selection");
        let kept = &output.items()[..count[0] as usize];
        assert_same(kept, &compaction::select(&items, &flags), &context);
    }
    output.check_bands(&context);
    let (seconds, mut output) =
        (bytes.array::<u8>(), Guarded::<T>::new(items.len(), start % 16, POISONS[start % 2]));
    let seconds: Vec<u8> = seconds.into_iter().chain([0, 1]).cycle().take(items.len()).collect();
    let (into, mut borders) = (output.items_mut(), [0; 2]);
    any::partition3_into(&device, input.items(), (&flags, &seconds), into, &mut borders)
        .expect("three parts");
    let (expected, between) = compaction::partition3(&items, &flags, &seconds);
    assert_eq!(borders, between.map(|border| border as u64), "{context}");
    assert_same(output.items(), &expected, &context);
    output.check_bands(&context);
    let found = any::positions(&device, input.items(), Dtype::U64).expect("positions");
    let found = found.into_array().and_then(any::AnyArray::into_typed::<u64>).expect("numbers");
    assert_same(&found.into_vec().expect("numbers"), &compaction::positions(&items), &context);
    let (values, counts) =
        any::run_length_encode(&device, input.items(), Dtype::U64).expect("runs");
    let values = values.into_typed::<T>().and_then(upsweep::Array::into_vec).expect("items");
    let counts = counts.into_typed::<u64>().and_then(upsweep::Array::into_vec).expect("counts");
    let (expected, lengths) = compaction::run_length_encode(&items);
    assert_same(&values, &expected, &context);
    assert_same(&counts, &lengths, &context);
}
