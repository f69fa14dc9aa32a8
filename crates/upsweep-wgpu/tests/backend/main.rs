//! The tests of the backend's public functions, in one program: it opens every GPU once, and each kernel is made once.

mod arrays;
mod common;
mod faults;
mod functions;
mod profile;
mod rows;
mod segmented;
mod strategies;
mod vectors;
