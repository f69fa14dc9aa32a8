//! Methods that kernels do not have.

#[upsweep::function]
fn checked(a: u32) -> u32 {
    a.checked_add(1).unwrap_or(0)
}

#[upsweep::function]
fn converted(a: u16) -> u32 {
    a.into()
}

#[upsweep::function]
fn hyperbolic(a: f32) -> f32 {
    a.sinh()
}

fn main() {}
