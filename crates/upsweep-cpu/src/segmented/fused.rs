//! Windows whose items are made: each thread makes those of a window, which wait in its cache to be taken like any others.

use core::mem;
use core::ops::Range;

use upsweep_core::summation::WINDOW;
use upsweep_core::{Element, Operator, Segmented};

use super::marked::PairScan;
use super::window::Scratch;
use super::windows::{Part, WindowTaker};

/// Items that are made, widened to what they are combined in.
#[derive(Clone, Copy)]
pub(super) struct FusedItems<'a, A> {
    /// How many.
    pub(super) items: usize,
    /// Adds those of these numbers to others.
    pub(super) make: &'a (dyn Fn(Range<usize>, &mut Vec<A>) + Sync),
}

/// Takes windows as [`PairScan`] does, of items that are made for each.
pub(super) struct FusedPairScan<'a, A, U> {
    /// Of no items.
    pub(super) way: PairScan<'a, A, A, U>,
    pub(super) making: FusedItems<'a, A>,
}

impl<A: Element, U: Element> FusedPairScan<'_, A, U> {
    /// Does `work` with the window's items.
    fn with_items<R>(
        &self,
        window: &Range<usize>,
        scratch: &mut Scratch<A>,
        work: impl FnOnce(&PairScan<'_, A, A, U>, &mut Scratch<A>) -> R,
    ) -> R {
        let items = mem::take(&mut scratch.made);
        let done = work(&PairScan { items: &items, first: window.start, ..self.way }, scratch);
        scratch.made = items;
        done
    }
}

impl<A: Element, U: Element> WindowTaker<A, U> for FusedPairScan<'_, A, U> {
    fn is_sparse(&self) -> bool {
        self.way.is_sparse()
    }

    fn scratch(&self) -> Scratch<A> {
        let items = self.making.items.min(WINDOW);
        let mut scratch = Scratch::new(items, self.way.kernels.settings.operator.padding());
        scratch.made.reserve_exact(items);
        scratch
    }

    fn look(&self, window: &Range<usize>, scratch: &mut Scratch<A>) -> usize {
        scratch.made.clear();
        (self.making.make)(window.clone(), &mut scratch.made);
        self.way.look(window, scratch)
    }

    fn total(&self, window: &Range<usize>, scratch: &mut Scratch<A>) -> Segmented<A> {
        self.with_items(window, scratch, |way, scratch| way.total(window, scratch))
    }

    fn take(
        &self,
        window: &Range<usize>,
        carry: Segmented<A>,
        part: &mut Part<'_, U>,
        scratch: &mut Scratch<A>,
    ) -> Segmented<A> {
        self.with_items(window, scratch, |way, scratch| way.take(window, carry, part, scratch))
    }
}
