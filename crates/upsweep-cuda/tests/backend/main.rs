//! The tests of the backend's public functions, in one program: it opens the GPU once, and each kernel is made once.

mod absence;
mod common;
mod primitives;
mod strategies;
mod vectors;
