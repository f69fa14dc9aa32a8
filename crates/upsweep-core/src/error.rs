//! Everything that can go wrong, as values about the caller's mistake or the device's limits.

use crate::Dtype;

/// The result of every fallible call.
pub type Result<T> = core::result::Result<T, Error>;

/// What went wrong. The text carries the numbers; it is the same on every backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Output and input differ in length.
    #[error("output has {output} items, input has {input}; they must be equal")]
    LengthMismatch {
        /// Items of the input.
        input: usize,
        /// Items of the output.
        output: usize,
    },
    /// A length that lies in memory is above the number of items of its view. On a GPU the call took the items that there are, and
    /// whoever waits next is told.
    #[error("a length in memory is {length}, its view has {bound} items")]
    LengthAboveBound {
        /// What the memory says.
        length: u64,
        /// Items of the view.
        bound: u64,
    },
    /// A reduction has one result.
    #[error("a reduction has one result, the array for it has {items} items")]
    ResultLength {
        /// Items of the array that was given.
        items: usize,
    },
    /// More items than the plan was made for.
    #[error("input has {input} items, the plan was made for at most {planned}")]
    PlanTooSmall {
        /// Items of the input.
        input: usize,
        /// Items the plan was made for.
        planned: usize,
    },
    /// A chunk of a stream that is neither the last nor of a permitted length.
    #[error("a chunk has {items} items; all but the last must have a multiple of {multiple}")]
    ChunkLength {
        /// Items of the chunk.
        items: usize,
        /// What the length must be a multiple of.
        multiple: usize,
    },
    /// No number type has this name.
    #[error("unknown dtype '{name}'; known are u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64")]
    UnknownDtype {
        /// The name that was given.
        name: String,
    },
    /// An array or a value has another type than is wanted there.
    #[error("an array or a value is of {found}, {wanted} is wanted")]
    WrongDtype {
        /// Type that it has.
        found: Dtype,
        /// Type that is wanted.
        wanted: Dtype,
    },
    /// A start value for what has none: the position of an extreme, or a mean.
    #[error("{operator} has no start value")]
    NoInit {
        /// Name of the operator.
        operator: &'static str,
    },
    /// A type does not hold every value of the items that are combined in it.
    #[error("{acc} does not hold every value of {item}; for {item} there are {known}")]
    Accumulator {
        /// Type of the items.
        item: Dtype,
        /// Type that was asked for.
        acc: Dtype,
        /// Those that hold every value.
        known: String,
    },
    /// The operator is not defined for the element type.
    #[error("operator {operator} is not defined for {dtype}")]
    OperatorElement {
        /// Name of the operator.
        operator: &'static str,
        /// The element type.
        dtype: Dtype,
    },
    /// The strategy reorders items, and the operator does not declare that it commutes.
    #[error("strategy {strategy} reorders items, and operator {operator} is not commutative")]
    NotCommutative {
        /// Name of the strategy.
        strategy: String,
        /// Name of the operator.
        operator: &'static str,
    },
    /// The device cannot run the strategy.
    #[error("device {device} cannot run strategy {strategy}: {reason}")]
    StrategyRefused {
        /// Id of the device.
        device: String,
        /// Name of the strategy.
        strategy: String,
        /// Why not.
        reason: String,
    },
    /// A profile that cannot be used.
    #[error("profile {file}: {reason}")]
    Profile {
        /// Where it was read from.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such device here.
    #[error("no device '{id}': {reason}")]
    NoDevice {
        /// The id that was asked for.
        id: String,
        /// Why there is none.
        reason: String,
    },
    /// A name of a strategy, instruction set or the like that is not known.
    #[error("unknown {what} '{name}'; known are {known}")]
    UnknownName {
        /// What the name was meant to name.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Memory could not be had.
    #[error("cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// The device cannot compute with the element type.
    #[error("device {device} cannot compute with {element}: {reason}")]
    ElementUnsupported {
        /// Id of the device.
        device: String,
        /// Name of the element type.
        element: String,
        /// Why not.
        reason: String,
    },
    /// The operator has no text in the language of the device's kernels.
    #[error("operator {operator} has no text in {language}: it runs on the CPU only")]
    OperatorUntranslated {
        /// Name of the operator.
        operator: &'static str,
        /// Name of the language.
        language: &'static str,
    },
    /// A function that is known when a program runs has a step that is not defined.
    #[error("{reason}")]
    Undefined {
        /// Which step, of which types.
        reason: String,
    },
    /// A buffer of the caller's that cannot be used as an array.
    #[error("{reason}")]
    Buffer {
        /// What is wrong with it, with the numbers.
        reason: String,
    },
    /// Items are gathered from nothing.
    #[error("there are {indices} indices, and no items to gather at them")]
    NothingToGather {
        /// How many items were to be gathered.
        indices: usize,
    },
    /// The numbers of items are larger than the type holds that they are wanted in.
    #[error("{items} items have numbers that {dtype} does not hold; take u64")]
    PositionRange {
        /// How many items there are.
        items: usize,
        /// The type that was asked for.
        dtype: Dtype,
    },
    /// Items every 0 items.
    #[error("steps between items are 0; they must be at least 1")]
    NoStep,
    /// A shape, strides or axes that an array cannot have.
    #[error("{reason}")]
    Shape {
        /// What is wrong, with the numbers.
        reason: String,
    },
    /// What is said about segments cannot be.
    #[error("segments: {reason}")]
    Segments {
        /// What is wrong, with the numbers.
        reason: String,
    },
    /// An array is in the memory of another device.
    #[error("an array is on device {array}, the call is for device {device}")]
    WrongDevice {
        /// Id of the array's device.
        array: String,
        /// Id of the device that was called.
        device: String,
    },
    /// The device has no command stream of the caller's.
    #[error("device {device} runs calls at once: there is no command stream to record into")]
    NoCommands {
        /// Id of the device.
        device: String,
    },
    /// The device was lost, or did not do what it was asked for.
    #[error("device {device} failed: {reason}")]
    DeviceFailed {
        /// Id of the device.
        device: String,
        /// What it or its driver says.
        reason: String,
    },
}
