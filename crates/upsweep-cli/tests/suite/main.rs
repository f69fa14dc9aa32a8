//! The tests that start the program `upsweep`, in one program of their own.

mod bench_rows;
mod common;
mod compaction;
mod edges;
mod energy;
mod explain;
mod feeding;
mod gpu;
mod guard;
mod numpy;
mod reduce;
mod refused;
mod report;
mod reports;
mod scan;
mod segments;
mod tune;
