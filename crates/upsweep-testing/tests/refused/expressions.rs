//! What kernels have no words for, each at its place.

#[upsweep::function]
fn closure(a: u32) -> u32 {
    let twice = |b: u32| b * 2;
    twice(a)
}

#[upsweep::function]
fn reference(a: u32) -> u32 {
    let b = &a;
    *b
}

#[upsweep::function]
fn index(a: u32) -> u32 {
    [1u32, 2, 3][a as usize]
}

#[upsweep::function]
fn macros(a: u32) -> u32 {
    assert!(a > 3);
    a
}

#[upsweep::function]
fn endless(a: u32) -> u32 {
    loop {
        return a;
    }
}

#[upsweep::function]
fn text(a: u32) -> u32 {
    let _name = "a";
    a
}

#[upsweep::function]
fn labels(a: u32) -> u32 {
    'outer: for _ in 0..a {
        break 'outer;
    }
    a
}

#[upsweep::function]
fn some(a: u32) -> u32 {
    if let 3 = a { 1 } else { 2 }
}

fn main() {}
