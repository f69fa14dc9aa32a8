//! Operators on types of one's own.

use upsweep::Element;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Complex {
    real: f32,
    imaginary: f32,
}

impl std::ops::Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex { real: self.real + other.real, imaginary: self.imaginary + other.imaginary }
    }
}

#[upsweep::operator(identity = Complex { real: 0.0, imaginary: 0.0 }, commutative)]
fn sum(left: Complex, right: Complex) -> Complex {
    left + right
}

fn main() {}
