//! The Python package of upsweep: reductions, scans and selections on the arrays of numpy, torch, CuPy and JAX, in place.
//!
//! Everything here is over [`upsweep::any`], whose kernels are compiled in the library. `operand.rs` takes a Python array, `library.rs`
//! makes arrays for results, `array.rs` is the array of our own, and the other files are the functions. Only `memory.rs`, `dlpack.rs` and
//! `buffer.rs` have unsafe code of their own: addresses, and the two protocols that lend them.

mod arguments;
mod array;
mod buffer;
mod call;
mod compacted;
mod devices;
mod dlpack;
mod dtype;
mod end;
mod error;
mod explain;
mod library;
mod mask;
mod memory;
mod operand;
mod operator;
mod plan;
mod reduce;
mod scan;
mod segmented;
mod select;
mod torch;
mod traced;
mod tune;
mod view;

use pyo3::prelude::*;

/// The native module of the package, whose names the package has. It needs no GIL: what calls share is behind locks or never changes, its classes
/// are frozen, and what others lend has an owner in each call.
#[pymodule(gil_used = false)]
mod _upsweep {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::array::{Array, asarray};
    #[pymodule_export]
    use crate::compacted::{Compacted, compact};
    #[pymodule_export]
    use crate::devices::{_after_fork, DeviceInfo, absent, devices};
    #[pymodule_export]
    use crate::explain::{Report, explain};
    #[pymodule_export]
    use crate::operator::{Operator, operator};
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::reduce::{
        all, any, argmax, argmin, count_nonzero, max, mean, min, prod, reduce, sum,
    };
    #[pymodule_export]
    use crate::scan::{cumprod, cumsum, cumulative_prod, cumulative_sum, scan};
    #[pymodule_export]
    use crate::segmented::{reduce_by_key, segmented_reduce, segmented_scan};
    #[pymodule_export]
    use crate::select::{nonzero, partition, run_length_encode, select, unique_consecutive};
    #[pymodule_export]
    use crate::traced::{Traced, r#where};
    #[pymodule_export]
    use crate::tune::tune_device;
    #[pymodule_export]
    use crate::view::{View, view};
}
