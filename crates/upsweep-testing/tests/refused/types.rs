//! Types that kernels do not have.

#[upsweep::function]
fn pointers(a: usize) -> usize {
    a
}

#[upsweep::function]
fn letter(a: u32) -> u32 {
    let b: char = 'a';
    a + b as u32
}

fn main() {}
