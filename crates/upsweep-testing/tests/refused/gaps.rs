//! Structures with bytes that belong to no field.

use upsweep::Element;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Between {
    flag: u8,
    value: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Behind {
    value: u64,
    flag: u32,
}

fn main() {}
