//! A problem, stated without naming a device: what to combine, from which end, starting where.

use crate::Element;

/// How far a float result must be repeatable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Determinism {
    /// The same bits on every device, instruction set and thread count, for ever: items are
    /// combined in the order of the [summation specification](crate::summation).
    #[default]
    Everywhere,
    /// The same bits on every run with the same device and policy.
    RunToRun,
    /// Any order, also one that timing decides.
    Unordered,
}

/// Whether an output item includes the input item at its own position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// Output `i` combines the items `[0, i]`.
    #[default]
    Inclusive,
    /// Output `i` combines the items `[0, i)`; output 0 is the start value or the identity.
    Exclusive,
}

/// From which end a scan runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the first item to the last.
    #[default]
    Forward,
    /// From the last item to the first: output `i` combines the items `[i, n)`, in array order.
    Reverse,
}

/// A reduction: combine all items into one value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reduce<A, O> {
    /// What to combine with.
    pub operator: O,
    /// A value combined in front of the first item.
    pub init: Option<A>,
    /// How far a float result must be repeatable.
    pub determinism: Determinism,
}

impl<A: Element, O> Reduce<A, O> {
    /// A reduction with `operator` from the identity, with the same bits everywhere.
    pub fn new(operator: O) -> Self {
        Self { operator, init: None, determinism: Determinism::Everywhere }
    }

    /// Combines `init` in front of the first item.
    #[must_use]
    pub fn init(mut self, init: A) -> Self {
        self.init = Some(init);
        self
    }

    /// Asks for another level of repeatability.
    #[must_use]
    pub fn determinism(mut self, determinism: Determinism) -> Self {
        self.determinism = determinism;
        self
    }
}

/// A scan: every prefix of the items, combined.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scan<A, O> {
    /// What to combine with.
    pub operator: O,
    /// Whether output `i` includes item `i`.
    pub bounds: Bounds,
    /// From which end.
    pub direction: Direction,
    /// A value combined before all others: in front of the first item, or, in reverse, behind
    /// the last.
    pub init: Option<A>,
    /// How far a float result must be repeatable.
    pub determinism: Determinism,
}

impl<A: Element, O> Scan<A, O> {
    /// An inclusive forward scan with `operator`, with the same bits everywhere.
    pub fn inclusive(operator: O) -> Self {
        Self {
            operator,
            bounds: Bounds::Inclusive,
            direction: Direction::Forward,
            init: None,
            determinism: Determinism::Everywhere,
        }
    }

    /// An exclusive forward scan with `operator`, with the same bits everywhere.
    pub fn exclusive(operator: O) -> Self {
        Self { bounds: Bounds::Exclusive, ..Self::inclusive(operator) }
    }

    /// Runs from the last item to the first.
    #[must_use]
    pub fn reverse(mut self) -> Self {
        self.direction = Direction::Reverse;
        self
    }

    /// Starts from `init`.
    #[must_use]
    pub fn init(mut self, init: A) -> Self {
        self.init = Some(init);
        self
    }

    /// Asks for another level of repeatability.
    #[must_use]
    pub fn determinism(mut self, determinism: Determinism) -> Self {
        self.determinism = determinism;
        self
    }
}
