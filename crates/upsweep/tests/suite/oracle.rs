//! What the oracle says, asked once: it is slow, and all devices are asked the same in turn.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use upsweep::{Bounds, Direction, Operator, Reduce, Scan, Widen};
use upsweep_testing::{Sample, expected_reduce, expected_scan};

/// Types and operator, items, and which problem.
type Question = (TypeId, u64, [u64; 4]);

/// A problem that is no variant of a scan.
const REDUCTION: u64 = 4;

thread_local! {
    /// Of this thread, and so of one test.
    static ANSWERS: RefCell<HashMap<Question, Rc<dyn Any>>> = RefCell::default();
}

fn answer<R: 'static>(question: Question, ask: impl FnOnce() -> R) -> Rc<R> {
    ANSWERS.with_borrow_mut(|answers| {
        let answer = answers.entry(question).or_insert_with(|| Rc::new(ask()));
        Rc::clone(answer).downcast().expect("the types are in the question")
    })
}

/// A number for the items, which no two arrays of a test have in common.
fn fingerprint(bits: impl Iterator<Item = u64>) -> u64 {
    bits.fold(1, |seen, bits| (seen.rotate_left(5) ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn start(bits: Option<u64>) -> [u64; 2] {
    [bits.is_some().into(), bits.unwrap_or(0)]
}

/// The reduction of these items.
pub(crate) fn reduced<A: Sample, O: Operator<A>>(
    items: &[impl Widen<A>],
    problem: &Reduce<A, O>,
) -> A {
    let bits = fingerprint(items.iter().map(|item| item.widen().bits()));
    let [from, init] = start(problem.init.map(Sample::bits));
    let question = (TypeId::of::<(A, O)>(), bits, [items.len() as u64, from, init, REDUCTION]);
    *answer(question, || expected_reduce(items, problem))
}

/// Their scan.
pub(crate) fn scanned<T, U, O>(items: &[T], problem: &Scan<U::Acc, O>) -> Rc<Vec<U>>
where
    T: Widen<U::Acc>,
    U: Sample,
    O: Operator<U::Acc>,
{
    let bits = fingerprint(items.iter().map(|item| U::from_acc(item.widen()).bits()));
    let variant = u64::from(problem.bounds == Bounds::Exclusive)
        | u64::from(problem.direction == Direction::Reverse) << 1;
    let [from, init] = start(problem.init.map(|init| U::from_acc(init).bits()));
    let question = (TypeId::of::<(U, O)>(), bits, [items.len() as u64, from, init, variant]);
    answer(question, || expected_scan(items, problem))
}
