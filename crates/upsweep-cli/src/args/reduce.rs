//! What can be said to `upsweep reduce`.

use clap::Args;
use upsweep::Dtype;
use upsweep::any::Op;

use super::device::DeviceArguments;
use super::input::InputArguments;

const HELP: &str = "\
Result:
  sum, product       in 64 bits for integers (u64 or i64, wrapping), in f32 for f16 and bf16, in
                     the type itself for f32 and f64
  min, max           in the items' type; NaN if any item is NaN; 'none' if there are no items
  and, or, xor       in the items' type; integers only
  argmin, argmax     the first position, counted from 0 in C order; the first NaN if there is one;
                     'none' if there are no items
  mean               f64, of f16, bf16 and f32 f32
Floats are printed with the fewest digits that read back as the same number. No items give the
operator's identity, 0, 1 or all bits set, unless it says none above; their mean is nan.

Examples:
  upsweep reduce heights.npy --op mean
  upsweep reduce samples.raw --dtype f32 --acc f64
  printf '3 1 4\\n1 5\\n' | upsweep reduce - --dtype i32 --op max";

/// `upsweep reduce`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ReduceArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// sum, product, min, max, and, or, xor, argmin, argmax or mean
    #[arg(long, value_name = "OP", default_value = "sum", hide_default_value = false)]
    pub(crate) op: Op,

    /// Type to combine in; must hold every value of the items' type
    #[arg(long, value_name = "TYPE")]
    pub(crate) acc: Option<Dtype>,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}
