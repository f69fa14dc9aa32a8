//! What can be said to `upsweep reduce`.

use std::path::PathBuf;

use clap::Args;
use upsweep::Dtype;
use upsweep::any::Op;

use super::axes::AxisArguments;
use super::device::DeviceArguments;
use super::input::InputArguments;
use super::scan::OutputFormat;
use super::segments::SegmentArguments;

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

Segments:
  With --offsets, --flags or --keys there is one value for each segment of the items in C order, one a
  line, or with -o an array. Offsets are u32, u64, i32 or i64, one more than there are segments, none
  less than the one before it; flags and keys are numbers or bools, one for each item. A segment without
  items has the operator's identity, a mean of nan, and no position: 'none', in an array 2^64 - 1.
  Positions are counted from the first item of the file.

Axes:
  With --axis there is one value for each row along these axes, in an array of the other dimensions;
  positions are counted within the row. A row has the result that it has alone, to the last bit. The file is in
  memory as a whole. Raw numbers and text need --shape.

Examples:
  upsweep reduce heights.npy --op mean
  upsweep reduce samples.raw --dtype f32 --acc f64
  printf '3 1 4\\n1 5\\n' | upsweep reduce - --dtype i32 --op max
  upsweep reduce values.npy --offsets rows.npy --op argmax
  upsweep reduce prices.npy --keys days.npy --op mean -o means.npy
  upsweep reduce image.npy --axis 0,1 --op mean -o colour.npy
  upsweep reduce samples.raw --dtype f32 --shape 1000,16 --axis 0 --op max -o highest.npy";

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
    pub(crate) segments: SegmentArguments,

    #[command(flatten)]
    pub(crate) axes: AxisArguments,

    /// Keep the axes that are combined, with a length of 1
    #[arg(long, requires = "axis")]
    pub(crate) keepdims: bool,

    /// Where to write the values of segments or rows: a file, a pipe, or - [default of segments: standard output, as text]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// How to write the values of segments or rows; chosen from the names unless said
    #[arg(long, value_name = "FORMAT", requires = "output")]
    pub(crate) format: Option<OutputFormat>,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,
}
