//! Blocks of functions with fields that kernels cannot have.

#[derive(Clone, Copy, Debug, PartialEq, upsweep::Element)]
#[repr(C)]
struct Line {
    first: f32,
    step: f32,
}

#[upsweep::function]
impl Line {
    fn at(self, x: f32) -> f32 {
        self.first + self.step * x
    }
}

#[upsweep::function]
impl Line {
    fn apply(&self, x: f32) -> f32 {
        self.first + self.step * x
    }
}

#[upsweep::function]
impl Line {
    fn apply(x: f32) -> f32 {
        x
    }
}

#[upsweep::function]
impl Line {
    fn apply(mut self, x: f32) -> f32 {
        self.first += x;
        self.first
    }
}

#[upsweep::function]
impl Line {
    fn apply(self, x: f32) -> f32 {
        self.at(x)
    }

    fn at(self, x: f32) -> f32 {
        self.first + self.step * x
    }
}

#[upsweep::function]
impl Line {
    const STEPS: u32 = 3;

    fn apply(self, x: f32) -> f32 {
        x
    }
}

#[upsweep::function]
impl Line {
    fn apply(self) -> f32 {
        self.first
    }
}

#[upsweep::function]
impl From<f32> for Line {
    fn from(first: f32) -> Self {
        Self { first, step: 0.0 }
    }
}

#[upsweep::function]
impl<T> Generic<T> {
    fn apply(self, x: f32) -> f32 {
        x
    }
}

#[upsweep::function]
impl Line {
    fn apply(self, x: f32) -> f32 {
        self.at_most(x)
    }
}

#[upsweep::function]
struct Other;

fn main() {}
