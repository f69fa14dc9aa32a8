//! What headers compute, on a GPU, against the host: the kernel of `tests.cuh`, step by step in the same order.

use std::sync::Arc;

use upsweep_core::{Element, Extreme, Number, Operator, Widen};

use super::{Op, Types};
use crate::launch::{Arguments, Kernel, Launch};
use crate::{Gpu, Memory};
use upsweep_gpu::bits::{MOST_WORDS, Words, from_memory, memory_words, words};

/// Lanes of the one warp that the kernel runs in, and accesses of each.
const WARP: usize = 32;
const ACCESSES: usize = 8;

/// Numbers of all sizes, but no NaN and no infinity; zeros of both signs among them.
fn items<T: Number>(count: usize) -> Vec<T> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ count as u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    // The sign of a short float is in its own highest bit, that of a long one in the upper word.
    let minus = 1u32 << (8 * size_of::<T>().min(4) - 1);
    let words = |k: usize| match k % 37 {
        5 => [0; 2],
        11 if T::DTYPE.is_float() && size_of::<T>() == 8 => [0, minus],
        11 if T::DTYPE.is_float() => [minus, 0],
        _ => [next(), next()],
    };
    let numbers = (0..count).map(words).map(|words| number(words));
    numbers.map(|item: T| if item.to_f64().is_finite() { item } else { T::default() }).collect()
}

/// The number with these words.
fn number<A: Element>([low, high]: [u32; 2]) -> A {
    let mut words = [0; MOST_WORDS];
    [words[0], words[1]] = [low, high];
    from_memory(&memory_words(A::KIND, &words)).expect("a number")
}

/// What a launch left.
struct Ran {
    results: Vec<u64>,
    output: Memory,
    output_one: Memory,
    total: Vec<u32>,
}

fn launch<T: Number, U: Element>(
    gpu: &Arc<Gpu>,
    types: &Types,
    kernel: &Kernel,
    items: &[T],
    out_width: u32,
    init: Words,
) -> Ran {
    let room = |words: usize| Memory::new::<u32>(gpu, words).expect("memory");
    let memory = Memory::holding(gpu, items).expect("memory");
    let all = memory.slice();
    let count = items.len() as u64;
    let one = all.part(count - WARP as u64..count).expect("they are among them");
    let results = Memory::new::<u64>(gpu, WARP).expect("memory");
    let all_words = room(WARP * types.held().words() as usize);
    // Without an atomic nothing is added to a total.
    let has_atomic = types.op.atomic(types.held()).is_some();
    let empty = if has_atomic { types.empty_total() } else { [0; 2] };
    let total = Memory::holding(gpu, &empty).expect("memory");
    let outputs = (WARP * out_width as usize / size_of::<U>()).max(WARP);
    let output = Memory::new::<U>(gpu, outputs).expect("memory");
    let output_one = Memory::new::<U>(gpu, WARP).expect("memory");
    let arguments = Arguments::new()
        .with(all.pointer())
        .with(one.pointer())
        .with(results.slice().pointer())
        .with(all_words.slice().pointer())
        .with([init[0], init[1]])
        .with(total.slice().pointer())
        .with(output.slice().pointer())
        .with(output_one.slice().pointer());
    let launch = Launch { grid: [1, 1], threads: WARP as u32, shared_bytes: 0, cooperative: false };
    // SAFETY: the arguments are those of `tests.cuh`, and the memory is freed behind the kernel.
    unsafe { gpu.launch(gpu.stream(), kernel, &launch, &arguments) }.expect("it is launched");
    let results = results.to_vec().expect("it can be read");
    let total = total.to_vec().expect("it can be read");
    Ran { results, output, output_one, total }
}

/// The bits of a number; those above its own are 0.
fn bits<A: Element>(value: A) -> u64 {
    let [low, high, ..] = words(value);
    (u64::from(low) | u64::from(high) << 32) & (u64::MAX >> (64 - 8 * size_of::<A>()))
}

/// Whether these are the same numbers.
fn same<A: Element>(left: A, right: A) -> bool {
    #[allow(clippy::eq_op, reason = "only a NaN is not itself")]
    let is_nan = |value: A| value != value;
    words(left) == words(right) || is_nan(left) && is_nan(right)
}

/// What the kernel makes of a reduction of `T` as `A` that is written as `U`.
pub(super) fn run<T, A, U, O>(
    gpu: &Arc<Gpu>,
    types: &Types,
    kernel: &Kernel,
    (width, out_width): (u32, u32),
) where
    T: Number + Widen<A>,
    A: Element,
    U: Element<Acc = A>,
    O: Operator<A> + Default,
{
    let operator = O::default();
    let each = ACCESSES * width as usize / size_of::<T>();
    let items = items::<T>(WARP * each + WARP);
    let init = items[1].widen();
    let combine = |left, right| operator.combine(left, right);
    let begin = combine(operator.identity(), init);
    let of_lane = |lane: usize| {
        let mine = items[lane * each..(lane + 1) * each].iter().chain([&items[WARP * each + lane]]);
        let all = mine.fold(begin, |acc, item| combine(acc, item.widen()));
        combine(operator.padding(), combine(all, operator.padding()))
    };
    let mut lanes: Vec<A> = (0..WARP).map(of_lane).collect();
    for step in [16, 8, 4, 2, 1] {
        let below = |lane: usize| *lanes.get(lane + step).unwrap_or(&lanes[lane]);
        lanes = (0..WARP).map(|lane| combine(lanes[lane], below(lane))).collect();
    }
    let expected = combine(lanes[0], combine(operator.padding(), operator.padding()));
    let init = words(init);
    let ran = launch::<T, U>(gpu, types, kernel, &items, out_width, init);
    let context = format!("{types:?} in accesses of {width} and {out_width} bytes");
    for found in ran.results {
        let value: A = number([found as u32, (found >> 32) as u32]);
        assert!(
            found == bits(value) && same(value, expected),
            "{context}: {value:?} ({found:#x}), not {expected:?}"
        );
    }
    let stored = U::from_acc(expected);
    for memory in [ran.output, ran.output_one] {
        for found in memory.to_vec::<U>().expect("it can be read") {
            assert!(same(found, stored), "{context}: {found:?}, not {stored:?}");
        }
    }
    if types.op.atomic(types.held()).is_some() {
        let mut total = [0; MOST_WORDS];
        total[..2].copy_from_slice(&ran.total);
        total[types.held().words() as usize - 1] ^= types.sign_of_total();
        let total = memory_words(A::KIND, &types.held().value_of(total));
        let total: A = from_memory(&total).expect("a number");
        assert!(same(total, expected), "{context}: a total of {total:?}, not {expected:?}");
    }
}

/// What the kernel makes of the search for a position.
pub(super) fn run_position<T: Number>(
    gpu: &Arc<Gpu>,
    types: &Types,
    kernel: &Kernel,
    (width, out_width): (u32, u32),
) {
    let Op::First(extreme) = types.op else { unreachable!("it is the search for a position") };
    let items = items::<T>(WARP * ACCESSES * width as usize / size_of::<T>() + WARP);
    let better = |left: T, right: T| match extreme {
        Extreme::Smallest => left < right,
        Extreme::Largest => left > right,
    };
    let first =
        (0..items.len()).fold(0, |best, k| if better(items[k], items[best]) { k } else { best });
    let ran = launch::<T, u64>(gpu, types, kernel, &items, out_width, [0; MOST_WORDS]);
    assert_eq!(ran.results, vec![first as u64; WARP], "{types:?} in accesses of {width} bytes");
}
