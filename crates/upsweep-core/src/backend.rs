//! The one seam between the facade and a device.

use crate::{
    Element, Extreme, Limits, Number, Operator, Policy, Reduce, ReduceState, Result, Scan,
    ScanState, Strategy, Widen,
};

/// A device that runs the primitives.
///
/// The facade checks lengths and hands over views of the device's own memory; a backend chooses
/// strategy and policy, and launches. Nothing above this trait knows a vendor, nothing below it
/// knows another backend.
///
/// A workspace is the scratch memory of one plan. It is made once for the most items that the
/// plan will see; the calls that use it neither allocate nor wait for the host, where the device
/// allows that.
pub trait Backend: Send + Sync {
    /// Items that are read.
    type Input<'a, T: Element>: Copy;

    /// Items that are written, or read and overwritten.
    type Output<'a, T: Element>;

    /// Scratch memory of one plan.
    type Workspace: Send;

    /// The facts that strategies and policies are chosen from.
    fn limits(&self) -> &Limits;

    /// The strategy and policy that a reduction of `items` items of `item_bytes` bytes gets.
    fn reduce_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy);

    /// The strategy and policy that a scan of `items` items gets, `item_bytes` being the bytes of
    /// the wider of input and output item. Sums of integers of one type may be found in words of several.
    fn scan_choice(
        &self,
        items: usize,
        item_bytes: usize,
        sums_integers: bool,
    ) -> (Strategy, Policy);

    /// Scratch memory for calls with at most `items` items of `item_bytes` bytes.
    fn workspace(&self, items: usize, item_bytes: usize) -> Result<Self::Workspace>;

    /// Combines all items of `input` into one value.
    fn reduce<T, A, O>(
        &self,
        workspace: &mut Self::Workspace,
        input: Self::Input<'_, T>,
        problem: &Reduce<A, O>,
    ) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>;

    /// Combines all items of `input` into the one item of `result`. Does not wait for a result in
    /// the device's memory.
    fn reduce_into<T, A, O>(
        &self,
        workspace: &mut Self::Workspace,
        input: Self::Input<'_, T>,
        result: Self::Output<'_, A>,
        problem: &Reduce<A, O>,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>;

    /// The first position of an extreme; `None` if there are no items. −0 and +0 are equal, and
    /// NaN beats every number.
    fn position<T: Number>(
        &self,
        workspace: &mut Self::Workspace,
        input: Self::Input<'_, T>,
        extreme: Extreme,
    ) -> Result<Option<u64>>;

    /// Takes the next chunk of a reduction.
    fn reduce_next<T, A, O>(
        &self,
        workspace: &mut Self::Workspace,
        state: &mut ReduceState<A, O>,
        chunk: Self::Input<'_, T>,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>;

    /// Writes every prefix of `input` to `output`, which has the same length. Does not wait for an
    /// output in the device's memory.
    fn scan<T, U, O>(
        &self,
        workspace: &mut Self::Workspace,
        input: Self::Input<'_, T>,
        output: Self::Output<'_, U>,
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>;

    /// Replaces every item by its prefix; as [`scan`](Backend::scan).
    fn scan_in_place<T, O>(
        &self,
        workspace: &mut Self::Workspace,
        data: Self::Output<'_, T>,
        problem: &Scan<T::Acc, O>,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>;

    /// Scans the next chunk of an array.
    fn scan_next<T, U, O>(
        &self,
        workspace: &mut Self::Workspace,
        state: &mut ScanState<U::Acc, O>,
        chunk: Self::Input<'_, T>,
        output: Self::Output<'_, U>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>;

    /// Waits for everything that was begun, and says whether it went well.
    fn wait(&self) -> Result<()>;
}
