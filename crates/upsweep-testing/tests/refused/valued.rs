//! Operators with fields that cannot be.

#[derive(Clone, Copy, Debug, PartialEq, upsweep::Element)]
#[repr(C)]
struct Capped {
    most: u32,
}

#[upsweep::operator(identity = 0)]
impl Capped {
    fn combine(self, left: u32, right: u32) -> u32 {
        (left + right).min(self.most)
    }
}

#[upsweep::operator(name = Other)]
impl Capped {
    fn combine(self, left: u32, right: u32) -> u32 {
        (left + right).min(self.most)
    }
}

#[upsweep::operator]
impl Capped {
    fn combine(self, left: u32, right: u32) -> u32 {
        (left + right).min(self.most)
    }
}

#[upsweep::operator]
impl Capped {
    fn identity(self) -> u32 {
        0
    }
}

#[upsweep::operator]
impl Capped {
    fn identity(self) -> i32 {
        0
    }

    fn combine(self, left: u32, right: u32) -> u32 {
        (left + right).min(self.most)
    }
}

#[upsweep::operator]
impl Capped {
    fn identity(self, of: u32) -> u32 {
        of
    }

    fn combine(self, left: u32, right: u32) -> u32 {
        (left + right).min(self.most)
    }
}

#[upsweep::operator]
impl Capped {
    fn identity(self) -> u32 {
        0
    }

    fn combine(self, left: u32) -> u32 {
        left
    }
}

#[upsweep::operator]
impl Capped {
    fn identity(self) -> u32 {
        0
    }

    fn combine(self, left: u32, right: u16) -> u32 {
        left
    }
}

#[upsweep::operator]
impl Capped {
    fn identity(self) -> u32 {
        0
    }

    fn combine(&self, left: u32, right: u32) -> u32 {
        (left + right).min(self.most)
    }
}

#[upsweep::operator]
impl Capped {
    fn identity(self) -> u32 {
        0
    }

    fn apply(self, left: u32) -> u32 {
        left
    }
}

#[upsweep::operator]
static OTHER: u32 = 0;

fn main() {}
