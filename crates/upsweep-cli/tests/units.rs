//! Runs the tests inside the program's modules. The modules that hold kernels are not part of
//! this, so that it compiles in seconds.

#![allow(dead_code, unused_imports, reason = "only the tests of the modules are wanted")]

#[path = "../src/error.rs"]
mod error;
#[path = "../src/npy.rs"]
mod npy;

/// The modules that write tables.
#[path = "../src/tables"]
mod tables {
    mod ladder;
}
