//! Every GPU there is, and arrays on it, for tests.

use core::fmt::Debug;
use std::sync::Arc;
use std::sync::OnceLock;

use upsweep_core::{Dtype, Element, Kind};
use upsweep_testing::skipped;
use upsweep_wgpu::{Gpu, Slice};
use wgpu::BufferUsages;

/// If it is `required`, a run without any GPU fails.
const GPU_VARIABLE: &str = "UPSWEEP_TEST_GPU";

/// Every GPU. Without any, tests are reported as skipped, or fail where one is required.
pub(crate) fn gpus() -> &'static [Arc<Gpu>] {
    static GPUS: OnceLock<Vec<Arc<Gpu>>> = OnceLock::new();
    GPUS.get_or_init(|| {
        let open = |(number, adapter): (usize, &wgpu::Adapter)| {
            let gpu = Gpu::open(&format!("wgpu:{number}"), adapter);
            Arc::new(gpu.unwrap_or_else(|error| panic!("{error}")))
        };
        let gpus: Vec<Arc<Gpu>> = Gpu::adapters().iter().enumerate().map(open).collect();
        if gpus.is_empty() {
            let required = std::env::var(GPU_VARIABLE).is_ok_and(|gpu| gpu == "required");
            assert!(!required, "there is no GPU to test");
            skipped("wgpu", "there is no adapter");
        }
        gpus
    })
}

/// Bytes around arrays, and of outputs before they are written.
pub(crate) const POISON: u8 = 0xa5;

/// What buffers of arrays are used for.
const USAGE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_DST).union(BufferUsages::COPY_SRC);

/// An array between poisoned ones of some items.
pub(crate) struct Placed {
    buffer: wgpu::Buffer,
    pub(crate) kind: Kind,
    before: usize,
    pub(crate) items: usize,
}

impl Placed {
    pub(crate) fn new(gpu: &Gpu, kind: Kind, bytes: &[u8], before: usize) -> Self {
        let around = before * kind.size();
        let mut all = vec![POISON; around];
        all.extend_from_slice(bytes);
        all.resize((all.len() + around).next_multiple_of(16).max(16), POISON);
        let (device, queue) = gpu.wgpu();
        let size = all.len() as u64;
        let descriptor =
            wgpu::BufferDescriptor { label: None, size, usage: USAGE, mapped_at_creation: false };
        let buffer = device.create_buffer(&descriptor);
        queue.write_buffer(&buffer, 0, &all);
        Self { buffer, kind, before, items: bytes.len() / kind.size() }
    }

    pub(crate) fn of<T: Element>(gpu: &Gpu, items: &[T], before: usize) -> Self {
        Self::new(gpu, T::KIND, &T::bytes(items).expect("items of numbers"), before)
    }

    /// Room for what is written.
    pub(crate) fn poisoned(gpu: &Gpu, kind: Kind, items: usize, before: usize) -> Self {
        Self::new(gpu, kind, &vec![POISON; items * kind.size()], before)
    }

    pub(crate) fn slice(&self) -> Slice<'_> {
        let offset = (self.before * self.kind.size()) as u64;
        Slice::new(&self.buffer, self.kind, offset, self.items as u64).expect("a slice")
    }

    /// That the array begins with these items, and nothing around it has changed.
    pub(crate) fn check<T: Element + Debug>(&self, gpu: &Arc<Gpu>, expected: &[T], context: &str) {
        let mut bytes = vec![0u8; self.buffer.size() as usize];
        let all = Slice::new(&self.buffer, Dtype::U8, 0, bytes.len() as u64).expect("a slice");
        gpu.read_back(all, &mut bytes).unwrap_or_else(|error| panic!("{context}: {error}"));
        let size = self.kind.size();
        let (front, rest) = bytes.split_at(self.before * size);
        let (own, behind) = rest.split_at(self.items * size);
        assert!(front.iter().all(|&byte| byte == POISON), "{context}: in front of the output");
        assert!(behind.iter().all(|&byte| byte == POISON), "{context}: behind the output");
        let wanted = T::bytes(expected).expect("items of numbers");
        let mut pairs = own.chunks_exact(size).zip(wanted.chunks_exact(size));
        if let Some(wrong) = pairs.position(|(found, expected)| found != expected) {
            let found = T::from_bytes(&own[wrong * size..][..size]);
            panic!("{context}: item {wrong} is {found:?}, not {:?}", expected[wrong]);
        }
    }
}
