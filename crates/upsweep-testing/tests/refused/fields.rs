//! Structures whose fields kernels cannot be handed.

#[derive(Clone, Copy)]
struct Plain {
    threshold: f32,
}

#[upsweep::function]
impl Plain {
    fn apply(self, value: f32) -> u32 {
        (value > self.threshold) as u32
    }
}

fn main() {}
