//! Calls without Rust's types: what a GPU's host code needs of them, as values.
//!
//! A typed call makes one of these. All behind it is compiled once, and not for each operator on each pair of types.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use upsweep_core::kernel::{Function, Texts};
use upsweep_core::summation::WINDOW;
use upsweep_core::{
    Bounds, Builtin, Determinism, Direction, Dtype, Element, Error, Kind, Language, Operator,
    Reduce, ReduceState, Result, Scan, ScanState, Work,
};

use crate::bits::{self, Words, from_memory, memory_words, words, words_of_number};
use crate::{Custom, OperatorValues};

/// The type of an array's items.
#[derive(Clone, Copy, Debug)]
pub struct ErasedType {
    /// What kernels know of it.
    pub kind: Kind,
    /// What Rust calls it.
    pub name: &'static str,
    /// Bytes of an item in the host's memory.
    pub size: usize,
    /// Whether it says how items lie in memory.
    pub is_described: bool,
}

impl ErasedType {
    /// That of items of type `T`.
    pub fn of<T: Element>() -> Self {
        let (kind, size) = (T::KIND, size_of::<T>());
        let is_described =
            kind.number().is_some() || (kind.size() == size && T::bytes(&[]).is_some());
        Self { kind, name: core::any::type_name::<T>(), size, is_described }
    }

    /// That of items of a kind which kernels know.
    pub(crate) fn of_kind(kind: Kind) -> Self {
        let name = match kind {
            Kind::Number(dtype) => dtype.name(),
            Kind::Struct { name, .. } => name,
            _ => "a type without fields",
        };
        Self { kind, name, size: kind.size(), is_described: kind != Kind::Opaque }
    }

    /// The kind, if kernels of a device of this id have such items.
    ///
    /// # Errors
    /// [`Error::ElementUnsupported`] if they have not.
    pub fn check(&self, device: &str) -> Result<Kind> {
        if self.is_described {
            return bits::check(self.kind, device, self.name);
        }
        Err(Error::ElementUnsupported {
            device: device.to_owned(),
            element: self.name.to_owned(),
            reason: "it does not say how it lies in memory; derive `Element`".to_owned(),
        })
    }
}

/// How kernels know an operator.
#[derive(Clone, Debug)]
pub enum OperatorText {
    /// By its name.
    Builtin(Builtin),
    /// By a text of the caller's.
    Custom(Custom),
    /// Not at all.
    None,
}

/// An operator.
#[derive(Clone, Debug)]
pub struct ErasedOperator {
    /// [`Operator::NAME`].
    pub name: &'static str,
    /// What it is in the language of kernels.
    pub text: OperatorText,
    /// [`Operator::function`].
    pub function: Option<&'static Function>,
    /// What kernels know of its values.
    pub values: OperatorValues,
}

impl ErasedOperator {
    /// An operator on values of type `A`, for kernels in this language.
    pub fn of<A: Element, O: Operator<A>>(operator: &O, language: Language) -> Self {
        let (text, function) = if const { O::BUILTIN.is_some() } {
            (O::BUILTIN.map_or(OperatorText::None, OperatorText::Builtin), None)
        } else {
            let own = Custom::of(operator, language);
            (own.map_or(OperatorText::None, OperatorText::Custom), operator.function())
        };
        Self { name: O::NAME, text, function, values: OperatorValues::of(operator) }
    }
}

/// An operator on numbers of one type that combines by a function which is known when a program runs.
#[derive(Clone, Copy, Debug)]
pub struct DefinedOperator {
    /// The function, of the earlier value and the later one.
    pub function: &'static Function,
    /// The type of its arguments and of what it gives.
    pub dtype: Dtype,
    /// The bits of a value that leaves every other one as it is.
    pub identity: u64,
    /// Whether items may be combined in any order.
    pub commutative: bool,
}

impl DefinedOperator {
    /// What messages call it.
    const NAME: &'static str = "defined";

    /// The operator for kernels in this language, and its types.
    fn signature(&self, language: Language) -> Signature {
        let of = ErasedType::of_kind(self.dtype.into());
        let (commutative, exact) = (self.commutative, !self.dtype.is_float());
        let own = self.texts().source(self.function, language).ok();
        let own = own.map(|source| Custom { name: Self::NAME, exact, commutative, source });
        let operator = ErasedOperator {
            name: Self::NAME,
            text: own.map_or(OperatorText::None, OperatorText::Custom),
            function: Some(self.function),
            values: OperatorValues::of_number(self.dtype, self.identity),
        };
        Signature { item: of, acc: of, output: of, operator, work: None }
    }

    /// The texts of the function, which are kept as long as that is.
    fn texts(&self) -> &'static Texts {
        static TEXTS: Mutex<Option<HashMap<usize, &'static Texts>>> = Mutex::new(None);
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let address = core::ptr::from_ref(self.function).addr();
        let made = texts.get_or_insert_default().entry(address);
        made.or_insert_with(|| Box::leak(Box::default()))
    }

    /// A reduction by it, from the bits of a start value.
    pub fn reduction(&self, init: Option<u64>, language: Language) -> ErasedReduce {
        let init = init.map(|init| words_of_number(self.dtype, init));
        let determinism = Determinism::default();
        ErasedReduce { signature: self.signature(language), init, determinism }
    }

    /// A scan by it, from the bits of a start value.
    pub fn scan(
        &self,
        bounds: Bounds,
        direction: Direction,
        init: Option<u64>,
        language: Language,
    ) -> ErasedScan {
        let ErasedReduce { signature, init, determinism } = self.reduction(init, language);
        ErasedScan { signature, bounds, direction, init, determinism }
    }
}

/// The error for an operator of this name without a text.
pub(crate) fn untranslated(operator: &'static str, language: Language) -> Error {
    let language = match language {
        Language::Wgsl => "WGSL",
        _ => "CUDA C++",
    };
    Error::OperatorUntranslated { operator, language }
}

/// The types of a call, and its operator.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Of the items that are read.
    pub item: ErasedType,
    /// In which they are combined.
    pub acc: ErasedType,
    /// Of what is written.
    pub output: ErasedType,
    /// With what they are combined.
    pub operator: ErasedOperator,
    /// What a profile calls it, if one may know of it.
    pub work: Option<Work>,
}

impl Signature {
    /// Of items `T` that are combined as `A` and written as `U`, for kernels in this language.
    #[inline(never)]
    pub fn of<T, A, U, O>(operator: &O, language: Language) -> Self
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        Self {
            item: ErasedType::of::<T>(),
            acc: ErasedType::of::<A>(),
            output: ErasedType::of::<U>(),
            operator: ErasedOperator::of(operator, language),
            work: Work::of::<T, U, O, A>(),
        }
    }
}

/// A reduction: [`Reduce`].
#[derive(Clone, Debug)]
pub struct ErasedReduce {
    /// Its types and operator.
    pub signature: Signature,
    /// The words of the start value.
    pub init: Option<Words>,
    /// How far a float result must be repeatable.
    pub determinism: Determinism,
}

impl ErasedReduce {
    /// A reduction of items `T`, for kernels in this language.
    pub fn of<T, A, O>(problem: &Reduce<A, O>, language: Language) -> Self
    where
        T: Element,
        A: Element,
        O: Operator<A>,
    {
        let signature = Signature::of::<T, A, A, O>(&problem.operator, language);
        Self { signature, init: problem.init.map(words), determinism: problem.determinism }
    }

    /// A reduction of items `T` in segments, to values that are written as `U`.
    pub fn in_segments<T, U, O>(problem: &Reduce<U::Acc, O>, language: Language) -> Self
    where
        T: Element,
        U: Element,
        O: Operator<U::Acc>,
    {
        let signature = Signature::of::<T, U::Acc, U, O>(&problem.operator, language);
        Self { signature, init: problem.init.map(words), determinism: problem.determinism }
    }
}

/// A scan: [`Scan`].
#[derive(Clone, Debug)]
pub struct ErasedScan {
    /// Its types and operator.
    pub signature: Signature,
    /// Whether output `i` includes item `i`.
    pub bounds: Bounds,
    /// From which end.
    pub direction: Direction,
    /// The words of the start value.
    pub init: Option<Words>,
    /// How far a float result must be repeatable.
    pub determinism: Determinism,
}

impl ErasedScan {
    /// A scan of items `T` into items `U`, combined as `A`, for kernels in this language.
    pub fn of<T, A, U, O>(problem: &Scan<A, O>, language: Language) -> Self
    where
        T: Element,
        A: Element,
        U: Element,
        O: Operator<A>,
    {
        Self {
            signature: Signature::of::<T, A, U, O>(&problem.operator, language),
            bounds: problem.bounds,
            direction: problem.direction,
            init: problem.init.map(words),
            determinism: problem.determinism,
        }
    }
}

/// The value that a device left as these words of memory.
///
/// # Errors
/// [`Error::DeviceFailed`] for a type that cannot be read back, of which there are no kernels.
pub fn value_of<A: Element>(found: &Words, device: &str) -> Result<A> {
    from_memory(found).ok_or_else(|| Error::DeviceFailed {
        device: device.to_owned(),
        reason: format!("{} cannot be read back", core::any::type_name::<A>()),
    })
}

/// A reduction of an array in chunks as far as it has come: [`ReduceState`].
pub trait ErasedReduceState: Send {
    /// As [`ReduceState::check`].
    ///
    /// # Errors
    /// [`Error::ChunkLength`].
    fn check(&mut self, items: usize) -> Result<()>;

    /// How many of the next items, of which there are `left`, make the next piece.
    fn piece(&self, left: usize) -> usize;

    /// Takes the value of a piece, as words of memory.
    ///
    /// # Errors
    /// Those of [`value_of`].
    fn push(&mut self, total: &Words, items: usize) -> Result<()>;

    /// The words of memory of the value of all pieces so far.
    fn finish(&self) -> Words;
}

/// A scan of an array in chunks as far as it has come: [`ScanState`].
pub trait ErasedScanState: Send {
    /// As [`ScanState::check`].
    ///
    /// # Errors
    /// [`Error::ChunkLength`].
    fn check(&mut self, items: usize) -> Result<()>;

    /// The words of what comes into the next piece, if anything does.
    fn carry(&mut self) -> Option<Words>;

    /// Sets it, from words of memory.
    ///
    /// # Errors
    /// Those of [`value_of`].
    fn set_carry(&mut self, carry: &Words) -> Result<()>;
}

/// What errors call the device whose values a state takes.
const DEVICE: &str = "gpu";

impl<A: Element, O: Operator<A>> ErasedReduceState for ReduceState<A, O> {
    fn check(&mut self, items: usize) -> Result<()> {
        ReduceState::check(self, items)
    }

    fn piece(&self, left: usize) -> usize {
        match O::COMMUTATIVE {
            true => ReduceState::piece(self, left),
            // In order, windows are folded one after another: a piece of several is a value only if nobody sees how.
            false if O::EXACT => left,
            false => left.min(WINDOW),
        }
    }

    fn push(&mut self, total: &Words, items: usize) -> Result<()> {
        let total = value_of(total, DEVICE)?;
        if O::COMMUTATIVE {
            ReduceState::push(self, total, items);
            return Ok(());
        }
        let operator = self.operator();
        let carry = self.carry();
        let before = carry.total(&operator);
        carry.set(before.map_or(total, |before| operator.combine(before, total)), &operator);
        Ok(())
    }

    fn finish(&self) -> Words {
        memory_words(A::KIND, &words(ReduceState::finish(self)))
    }
}

impl<A: Element, O: Operator<A>> ErasedScanState for ScanState<A, O> {
    fn check(&mut self, items: usize) -> Result<()> {
        ScanState::check(self, items).map(drop)
    }

    fn carry(&mut self) -> Option<Words> {
        let (problem, carry) = self.parts();
        carry.total(&problem.operator).map(words)
    }

    fn set_carry(&mut self, found: &Words) -> Result<()> {
        let (problem, carry) = self.parts();
        carry.set(value_of(found, DEVICE)?, &problem.operator);
        Ok(())
    }
}
