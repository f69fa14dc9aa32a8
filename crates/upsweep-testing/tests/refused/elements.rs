//! Structures that are no elements.

use upsweep::Element;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Anyhow {
    value: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Generic<T> {
    value: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Places(f32, f32);

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
enum Choice {
    One,
}

fn main() {}
