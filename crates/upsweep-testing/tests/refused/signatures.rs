//! Functions that kernels cannot have.

#[upsweep::function]
fn generic<T>(a: T) -> T {
    a
}

#[upsweep::function]
fn nothing(_: u32) {}

#[upsweep::function]
fn slice(a: &[u32]) -> u32 {
    a[0]
}

#[upsweep::function]
async fn later(a: u32) -> u32 {
    a
}

#[upsweep::function]
fn recursive(a: u32) -> u32 {
    if a == 0 { 0 } else { recursive(a - 1) }
}

fn main() {}
