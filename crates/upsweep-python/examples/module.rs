//! The native module of the Python package: what `cargo test` makes of the crate, for `cargo xtask test` to put into a wheel.

pub use _upsweep as module;
