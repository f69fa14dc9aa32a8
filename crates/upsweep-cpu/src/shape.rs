//! What the numbers of a policy come to in one call.

use core::fmt::{self, Display, Formatter};

use upsweep_core::{Element, Operator};

use crate::device::ExecutionContext;
use crate::{Cpu, reduce, scan};

/// How a call is done. Two policies under which a call has the same shape do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CpuShape {
    /// Threads that take part, at most.
    pub threads: usize,
    /// Items that a thread takes at once: all of them if it is alone.
    pub block_items: usize,
    /// Whether a thread of a scan first finds the totals of all blocks of a part of its own, and then scans them out of its own cache.
    pub in_parts: bool,
    /// Whether the output is written past the caches.
    pub streaming: bool,
    /// Whether lines of memory are read, and of some scans written, in halves where the instruction set could do it whole.
    pub half_lines: bool,
}

impl Display for CpuShape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.threads {
            1 => f.write_str("one thread, in one piece")?,
            threads => write!(f, "{threads} threads, blocks of {} items", self.block_items)?,
        }
        if self.in_parts {
            f.write_str(", in parts")?;
        }
        if self.streaming {
            f.write_str(", output written past the caches")?;
        }
        if self.half_lines {
            f.write_str(", in half lines")?;
        }
        Ok(())
    }
}

impl CpuShape {
    /// One thread that knows no vectors.
    pub(crate) fn item_by_item(items: usize) -> Self {
        Self {
            threads: 1,
            block_items: items,
            in_parts: false,
            streaming: false,
            half_lines: false,
        }
    }
}

impl Cpu {
    /// How a reduction of so many items of type `T` by an operator that commutes is done, or a search: but of `f16` and `bf16` that always
    /// reads whole lines.
    pub fn reduce_shape<T: Element>(&self, items: usize) -> CpuShape {
        if self.is_scalar() {
            return CpuShape::item_by_item(items);
        }
        let bytes = items.saturating_mul(size_of::<T>());
        let shape = |context: &ExecutionContext<'_>| reduce::shape(context, items, size_of::<T>());
        self.with_context::<T, _>(bytes, shape).unwrap_or(CpuShape::item_by_item(items))
    }

    /// How a scan of so many items of type `T` into as many of type `U` is done.
    pub fn scan_shape<T, U, O>(&self, items: usize) -> CpuShape
    where
        T: Element,
        U: Element,
        O: Operator<U::Acc>,
    {
        if self.is_scalar() {
            return CpuShape::item_by_item(items);
        }
        let bytes = items.saturating_mul(size_of::<T>() + size_of::<U>());
        let shape = |context: &ExecutionContext<'_>| scan::shape::<T, U, O>(context, items);
        self.with_scan_context::<U, _>(bytes, shape).unwrap_or(CpuShape::item_by_item(items))
    }
}

#[cfg(test)]
mod tests {
    use upsweep_core::{CpuPolicy, Sum};

    use crate::{Cpu, CpuOptions, InstructionSet};

    #[test]
    fn a_shape_says_what_numbers_come_to() {
        let cpu = Cpu::new(CpuOptions { threads: Some(4), ..CpuOptions::default() });
        let cpu = cpu.expect("four threads");
        let policy = CpuPolicy {
            serial_bytes: 1 << 20,
            scan_serial_bytes: 1 << 20,
            block_bytes: 1 << 18,
            scan_block_bytes: 1 << 17,
            scan_parts_bytes: 0,
            streaming_bytes: 1 << 22,
            half_line_bytes: CpuPolicy::NEVER,
            scan_half_line_bytes: CpuPolicy::NEVER,
        };
        let cpu = cpu.with_policy(policy);
        let alone = cpu.reduce_shape::<u32>(1 << 10);
        assert_eq!((alone.threads, alone.block_items, alone.half_lines), (1, 1 << 10, false));
        assert_eq!(alone.to_string(), "one thread, in one piece");
        let shape = cpu.reduce_shape::<u32>(1 << 24);
        assert_eq!(shape.to_string(), "4 threads, blocks of 65536 items");
        assert_eq!((shape.threads, shape.block_items, shape.streaming), (4, 1 << 16, false));
        let alone = cpu.scan_shape::<u32, u32, Sum>(1 << 16);
        assert_eq!((alone.threads, alone.block_items, alone.streaming), (1, 1 << 16, false));
        // Four blocks for each thread.
        let shape = cpu.scan_shape::<u32, u32, Sum>(1 << 17);
        assert_eq!((shape.threads, shape.block_items, shape.streaming), (4, 1 << 13, false));
        let shape = cpu.scan_shape::<f32, f32, Sum>(1 << 20);
        assert_eq!((shape.threads, shape.block_items), (4, 1 << 15));
        assert_eq!(shape.streaming, cfg!(target_arch = "x86_64"));
        // Half lines are none where there are no whole ones.
        for &set in InstructionSet::available().iter() {
            let options =
                CpuOptions { threads: Some(2), instruction_set: Some(set), ..<_>::default() };
            let cpu = Cpu::new(options).expect("an instruction set");
            let always = CpuPolicy { half_line_bytes: 0, scan_half_line_bytes: 0, ..policy };
            let (whole, halves) = (cpu.with_policy(policy), cpu.with_policy(always));
            let differ = |one: &Cpu, other: &Cpu| {
                let scan = Cpu::scan_shape::<f32, f32, Sum>;
                let reduce = Cpu::reduce_shape::<f32>;
                [
                    reduce(one, 1 << 22) != reduce(other, 1 << 22),
                    scan(one, 1 << 22) != scan(other, 1 << 22),
                ]
            };
            assert_eq!(differ(&whole, &halves), [set.name() == "avx512"; 2], "{set}");
        }
        // In parts up to a bound; then blocks have the size that leaves others some.
        let parts = cpu.with_policy(CpuPolicy { scan_parts_bytes: 1 << 21, ..policy });
        let shape = parts.scan_shape::<u32, u32, Sum>(1 << 18);
        assert_eq!(shape.to_string(), "4 threads, blocks of 16384 items, in parts");
        assert!(!parts.scan_shape::<u32, u32, Sum>((1 << 18) + 1).in_parts);
        assert!(!parts.scan_shape::<u32, u64, Sum>(1 << 18).in_parts);
        assert!(!cpu.scan_shape::<u32, u32, Sum>(1 << 18).in_parts);
        // A larger bound for blocks changes nothing where calls are too short for it.
        let larger = cpu.with_policy(CpuPolicy { scan_block_bytes: 1 << 18, ..policy });
        let of = |cpu: &Cpu, items| cpu.scan_shape::<u32, u32, Sum>(items);
        assert_eq!(of(&larger, 1 << 17), of(&cpu, 1 << 17));
        assert_ne!(of(&larger, 1 << 22), of(&cpu, 1 << 22));
    }
}
