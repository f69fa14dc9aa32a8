//! What the annotation of an operator says.

#[upsweep::operator(commutative)]
fn without_identity(left: u32, right: u32) -> u32 {
    left | right
}

#[upsweep::operator(identity = 0, comutative)]
fn misspelt(left: u32, right: u32) -> u32 {
    left | right
}

#[upsweep::operator(identity = 0)]
fn three(left: u32, middle: u32, right: u32) -> u32 {
    left | middle | right
}

#[upsweep::operator(identity = 0)]
fn mixed(left: u32, right: u16) -> u32 {
    left | right as u32
}

fn main() {}
