//! The examples in the documentation of the annotations, which run here: their own crate has no `upsweep` to run them with.

#[doc = include_str!("../../upsweep-macros/docs/operator.md")]
struct Operators;

#[doc = include_str!("../../upsweep-macros/docs/function.md")]
struct Functions;

#[doc = include_str!("../../upsweep-macros/docs/element.md")]
struct Elements;
