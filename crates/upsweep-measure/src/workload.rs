//! What is measured: a primitive with an operator and types.

use upsweep::Dtype;
use upsweep::any::{self, Kernel, Op};
use upsweep::profile::Work;

use crate::buffer::available_memory;
use crate::error::{Failure, Result};
use crate::selection::Primitive;

/// A primitive with its operator and types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// What is done.
    pub primitive: Primitive,
    /// With which operator: that of a position is the primitive's own.
    pub op: Op,
    /// The type of the items.
    pub dtype: Dtype,
    /// The type in which a reduction combines, and of a scan's output; of a position that of the items.
    pub stored: Dtype,
}

impl Workload {
    /// A primitive that combines items of one type with `operator`, in the type `acc` if there is one.
    pub fn new(primitive: Primitive, operator: Op, dtype: Dtype, acc: Option<Dtype>) -> Self {
        let combines = !primitive.is_position() && !primitive.compacts();
        let stored = acc.filter(|_| combines).unwrap_or(dtype);
        Self { primitive, op: primitive.op(operator), dtype, stored }
    }

    /// The primitive as records name it, with its operator unless that is a sum.
    pub fn operation(&self) -> String {
        match self.op {
            Op::Sum | Op::ArgMin | Op::ArgMax => self.primitive.name().to_owned(),
            op => format!("{}/{op}", self.primitive.name()),
        }
    }

    /// The types as records name them.
    pub fn types(&self) -> String {
        let Self { dtype, stored, .. } = self;
        if stored == dtype { dtype.to_string() } else { format!("{dtype}->{stored}") }
    }

    /// What profiles call it.
    pub(crate) fn work(&self) -> Work {
        let output = if self.primitive.is_position() { Dtype::U64 } else { self.stored };
        Work { operator: self.op.name(), item: self.dtype, output }
    }

    /// The reduction, into the type that items are combined in.
    pub fn reduction(&self) -> any::Reduce {
        let problem = any::Reduce::new(self.op);
        if self.op.is_position() { problem } else { problem.acc(any::combined_in(self.stored)) }
    }

    /// The scan, into items of the stored type.
    pub fn scan(&self) -> any::Scan {
        if self.primitive == Primitive::ExclusiveScan {
            any::Scan::exclusive(self.op)
        } else {
            any::Scan::inclusive(self.op)
        }
    }

    /// The kernel of exactly these types, if there is one.
    pub(crate) fn kernel(&self) -> Option<Kernel> {
        let Self { op, dtype, stored, .. } = *self;
        let (kernel, out) = if self.primitive.scans() {
            (any::scan_kernel(op, dtype, stored), stored)
        } else {
            let problem = self.reduction();
            (any::reduce_kernel(op, dtype, problem.acc), problem.result(dtype))
        };
        kernel.filter(|kernel| !kernel.converts && kernel.out.size() == out.size())
    }

    /// The type whose code reads the items: the unsigned one where signs make no difference.
    pub(crate) fn read(&self) -> Dtype {
        self.kernel().map_or(self.dtype, |kernel| kernel.item)
    }

    /// The type whose code writes a scan.
    pub(crate) fn written(&self) -> Dtype {
        self.kernel().map_or(self.stored, |kernel| kernel.out)
    }

    /// Bytes of `n` items.
    pub(crate) fn bytes_read(&self, n: usize) -> u64 {
        (n * self.dtype.size()) as u64
    }

    /// Bytes of what becomes of them in a scan.
    pub(crate) fn bytes_written(&self, n: usize) -> u64 {
        (n * self.stored.size()) as u64
    }

    /// Refuses operators that the types do not have, and an accumulator that does not hold every item.
    pub(crate) fn check(&self) -> Result<()> {
        if self.primitive.is_position() || self.primitive.compacts() {
            return Ok(());
        }
        check_accumulator(self.dtype, self.stored)?;
        Ok(self.op.check(self.dtype)?)
    }

    /// Why no device can do it without converting items first, if none can.
    pub fn refusal(&self) -> Option<String> {
        let Self { primitive, op, dtype, stored } = *self;
        if primitive.is_position() || primitive.compacts() {
            return None;
        }
        let check = op.check(dtype).and_then(|()| op.check(stored)).map_err(Failure::from);
        if let Err(error) = check.and_then(|()| check_accumulator(dtype, stored)) {
            return Some(error.to_string());
        }
        self.kernel().is_none().then(|| {
            format!(
                "{op} of {dtype} in {stored} has no kernel of its own: items are converted first"
            )
        })
    }

    /// Why there is not enough memory for `n` items with their reference, if there is not.
    pub(crate) fn memory_refusal(&self, n: usize) -> Option<String> {
        let Self { primitive, op, dtype, stored } = *self;
        let exact = !stored.is_float() || !op.accumulates();
        let (item, out) = (dtype.size() as u64, stored.size() as u64);
        // The reference of rounding operators keeps all items as they are combined, and of a scan
        // also what comes into each group of four.
        let acc = any::combined_in(stored).size() as u64;
        let each = match primitive {
            Primitive::Reduce if exact => item,
            Primitive::Reduce => item + acc,
            Primitive::ArgMin | Primitive::ArgMax => item,
            // The items twice, flags, random words that they are made of, numbers or items twice.
            _ if primitive.compacts() => 2 * item + 9 + 2 * out.max(8),
            _ if exact => item + 2 * out,
            _ => item + 2 * out + acc + acc.div_ceil(2),
        };
        let needed = (n as u64).saturating_mul(each);
        let available = available_memory()?;
        let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        (needed > available / 10 * 9).then(|| {
            format!("needs {:.1} GiB of memory, {:.1} are available", gib(needed), gib(available))
        })
    }
}

/// Refuses an accumulator that does not hold every value of the items' type.
///
/// # Errors
/// [`Failure::Usage`], which names those that do.
pub fn check_accumulator(item: Dtype, acc: Dtype) -> Result<()> {
    any::check_accumulator(item, acc).map_err(|error| Failure::usage(format!("--acc {error}")))
}
