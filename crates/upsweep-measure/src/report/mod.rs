//! One page with the figures of a machine.
//!
//! Four things are kept apart: rows (`records.rs`), which are those of the records of `bench`, `tune` and `ladder`; what measures
//! them (`measure.rs`, and `host_calls.rs` for calls with items of the host); figures made of them (`figures/`, drawn by `plot/`); and
//! the page (`page.rs`). A page that was measured goes through the same text as one that is made from files, so both are alike.

mod crossover;
mod fastest;
mod figures;
mod host_calls;
mod measure;
mod page;
mod plot;
mod records;

pub use measure::{Measurements, Options, measure};
pub use page::Page;
