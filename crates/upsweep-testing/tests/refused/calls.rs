//! Functions without an annotation.

fn plain(a: u32) -> u32 {
    a
}

#[upsweep::function]
fn caller(a: u32) -> u32 {
    plain(a)
}

fn main() {}
