//! Literals whose type only Rust's inference could find.

#[upsweep::function]
fn variable(a: u32) -> u32 {
    let mut count = 0;
    if a > 3 {
        count = a;
    }
    count
}

#[upsweep::function]
fn range(a: u32) -> u32 {
    let mut sum = a;
    for i in 0..4 {
        sum += i;
    }
    sum
}

#[upsweep::function]
fn cast(a: u32) -> u32 {
    a + 3 as u32
}

#[upsweep::function]
fn branches(a: bool) -> f32 {
    let b = if a { 0.5 } else { 1.5 };
    b * 2.0
}

fn main() {}
