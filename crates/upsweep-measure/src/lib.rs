//! How fast reductions and scans are, and what makes them so.
//!
//! - [`mod@bench`] times primitives in turns with the limit of the device; [`bench::feeding`] many small sums,
//!   [`bench::Bench::run_rows`] rows along the axes of an array.
//! - [`baseline`] keeps a program, and compares a later one with it.
//! - [`tune`] finds what a device does best, for its profile.
//! - [`ladder`] times the seven classic steps of a sum on a GPU.
//! - [`energy`] reads the counters of GPUs and CPUs.
//! - [`report`] makes one page of figures of all of it.
//! - [`Workload`] is a primitive with operator and types; [`selection`]: workloads, devices and strategies by their names.
//! - [`device`] opens devices; [`inputs`] and [`buffer`] are what is measured with.
//!
//! Every result is compared with the reference before its time counts. Nothing here knows of arguments of a command line, or prints rows.

pub mod baseline;
pub mod bench;
pub mod buffer;
pub mod csv_fields;
pub mod device;
pub mod energy;
mod error;
mod gpu_timing;
mod host_timing;
pub mod inputs;
pub mod ladder;
pub mod log;
pub mod report;
pub mod selection;
pub mod signals;
pub mod statistics;
pub mod tune;
mod workload;

pub use energy::Energy;
pub use error::{Failure, Result, one_line};
pub use host_timing::Times;
pub use workload::{Workload, check_accumulator};
