//! What a fuzzer gives, as numbers, arrays and devices.

use std::sync::OnceLock;

use upsweep::any::Scalar;
use upsweep::{Device, Dtype};
use upsweep_testing::{Input, Sample, for_each_device};

/// The longest array that is made from a seed: more than four windows of a scan.
const MAX_ITEMS: u64 = 300_000;

/// Bytes that are taken from the front; after the last there are zeros.
pub(crate) struct InputBytes<'a>(pub(crate) &'a [u8]);

impl InputBytes<'_> {
    /// The next byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// Whether the next byte is odd.
    pub(crate) fn bool(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// The next eight bytes.
    pub(crate) fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// A number of `[0, end)`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    /// One of some choices.
    pub(crate) fn choose<T: Copy>(&mut self, choices: impl IntoIterator<Item = T>) -> T {
        let choices: Vec<T> = choices.into_iter().collect();
        choices[usize::from(self.byte()) % choices.len()]
    }

    /// Nothing, or any bits.
    pub(crate) fn optional<T: Sample>(&mut self) -> Option<T> {
        self.bool().then(|| T::from_bits(self.word()))
    }

    /// Nothing, or a number of this type with any bits.
    pub(crate) fn optional_scalar(&mut self, dtype: Dtype) -> Option<Scalar> {
        if !self.bool() {
            return None;
        }
        Scalar::from_bytes(dtype, &self.word().to_le_bytes()[..dtype.size()])
    }

    /// An array: of what bytes are left, or a longer one from a seed.
    pub(crate) fn array<T: Sample>(&mut self) -> Vec<T> {
        let choice = self.byte();
        if choice < 128 {
            let size = size_of::<T>().min(8);
            return self
                .0
                .chunks(size)
                .map(|bytes| bytes.iter().fold(0, |bits, &b| bits << 8 | u64::from(b)))
                .map(T::from_bits)
                .collect();
        }
        let (input, _) = Input::NAMES[choice as usize % Input::NAMES.len()];
        // Short arrays are as interesting as long ones.
        let most = 1 + (MAX_ITEMS >> (self.byte() % 16));
        let items = self.below(most as usize);
        input.array(self.word(), items)
    }

    /// Whether the problem has an operator of the caller's: one in eight.
    pub(crate) fn wants_custom_operator(&mut self) -> bool {
        self.byte() % 8 == 7
    }

    /// One of all devices of the CPU. Those of GPUs would make a kernel for nearly every input.
    pub(crate) fn device(&mut self) -> Device {
        static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
        let devices = DEVICES.get_or_init(|| {
            let mut devices = Vec::new();
            for_each_device(|device| {
                if !device.is_gpu() {
                    devices.push(device.device.clone());
                }
            });
            devices
        });
        devices[self.byte() as usize % devices.len()].clone()
    }
}

/// Calls one of the arms, chosen by a byte: `choose_arm!(bytes; first, second, …)`.
macro_rules! choose_arm {
    ($bytes:expr; $($arm:expr),* $(,)?) => {{
        let arms: &[&dyn Fn(&mut InputBytes<'_>)] = &[$(&$arm),*];
        let index = usize::from($bytes.byte()) % arms.len();
        arms[index]($bytes)
    }};
}

pub(crate) use choose_arm;
