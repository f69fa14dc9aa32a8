//! Calls without Rust's types: what a GPU's host code needs of them, as values.
//!
//! A typed call makes one of these. All behind it is compiled once, and not for each operator on each pair of types.

use upsweep_core::kernel::Function;
use upsweep_core::{
    Bounds, Builtin, Determinism, Direction, Element, Error, Kind, Language, Operator, Reduce,
    Result, Scan, Work,
};

use crate::bits::{self, Words, from_memory, words};
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

    /// The error for an operator without a text.
    pub fn untranslated(&self, language: Language) -> Error {
        let language = match language {
            Language::Wgsl => "WGSL",
            _ => "CUDA C++",
        };
        Error::OperatorUntranslated { operator: self.name, language }
    }
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
