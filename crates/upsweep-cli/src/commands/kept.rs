//! Which items `upsweep select` and `upsweep partition` keep, chunk by chunk.

use std::ops::Range;

use upsweep::Device;
use upsweep::Dtype;
use upsweep::any::{Keep, ThreeParts, Where};
use upsweep::profile::Traffic;
use upsweep_measure::{device, log};

use crate::args::{Condition, DeviceArguments};
use crate::error::{Failure, Result};
use crate::input::{Input, Items};

/// Items that a device is handed at once: chunks suit the bindings of every GPU, and take it longer than a launch.
const MOST_ITEMS: usize = 1 << 22;

/// How many items to take at once.
pub(super) fn step(items: &Items<'_>) -> usize {
    items.step(None, 1).min(MOST_ITEMS)
}

/// The device for a command that reads so many bytes of a file with items of this type and writes at most as many.
pub(super) fn place(
    name: &str,
    arguments: &DeviceArguments,
    dtype: Dtype,
    bytes: usize,
) -> Result<Device> {
    let (wanted, options) = (&arguments.device, arguments.options());
    // Items are only moved, whatever their bits stand for.
    let wide = if dtype.size() == 8 { &[Dtype::U64][..] } else { &[] };
    let device = device::place(wanted, options, Traffic::Copies, 2 * bytes, wide)?;
    log!("{name} on {}", device.id());
    Ok(device)
}

/// What says which items are kept.
pub(super) enum Kept {
    Flags(Input),
    Where(Where),
}

impl Kept {
    /// What was said for an input.
    pub(super) fn open(condition: Condition<'_>, input: &Input) -> Result<Self> {
        match condition {
            Condition::Where(option, text) => Where::parse(text, input.dtype)
                .map(Self::Where)
                .map_err(|problem| Failure::usage(format!("{option} {problem}"))),
            Condition::Flags(option, path) => {
                let flags = Input::open_npy(path, option)?;
                if flags.items != input.items {
                    let (flags, items) = (flags.items, input.items);
                    return Err(Failure::usage(format!(
                        "there are {flags} flags for {items} items"
                    )));
                }
                flags.will_read(false);
                Ok(Self::Flags(flags))
            }
        }
    }

    /// Bytes that are read.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Flags(flags) => flags.items * flags.dtype.size(),
            Self::Where(_) => 0,
        }
    }

    /// The same, to be read.
    pub(super) fn items(&mut self) -> Result<KeptItems<'_>> {
        Ok(match self {
            Self::Flags(flags) => KeptItems::Flags(flags.items()?),
            Self::Where(condition) => KeptItems::Where(*condition),
        })
    }
}

/// What says which items are kept, to be read.
pub(super) enum KeptItems<'a> {
    Flags(Items<'a>),
    Where(Where),
}

impl KeptItems<'_> {
    /// Which of some items are kept. `buffer` holds what cannot be read in place.
    pub(super) fn of<'b>(
        &'b self,
        range: Range<usize>,
        buffer: &'b mut Vec<u64>,
    ) -> Result<Keep<'b>> {
        Ok(match self {
            Self::Flags(flags) => Keep::Flags(flags.get(range, buffer)?),
            Self::Where(condition) => Keep::Where(*condition),
        })
    }
}

/// What becomes of some items of which some are kept and some of the others come `then`, which is said in the same way. `buffers` hold what cannot
/// be read in place.
pub(super) fn three_parts<'b>(
    kept: &'b KeptItems<'_>,
    then: &'b KeptItems<'_>,
    range: Range<usize>,
    [first, second]: &'b mut [Vec<u64>; 2],
) -> Result<ThreeParts<'b>> {
    match (kept.of(range.clone(), first)?, then.of(range, second)?) {
        (Keep::Flags(first), Keep::Flags(second)) => Ok(ThreeParts::Flags([first, second])),
        (Keep::Where(first), Keep::Where(second)) => Ok(ThreeParts::Where([first, second])),
        _ => Err(Failure::usage("--then-where goes with --where, and --then-flags with --flags")),
    }
}
