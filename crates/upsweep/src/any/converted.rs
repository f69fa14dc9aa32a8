//! Items of one type made items of another where they are: in the host's memory, or by a GPU in its own.

use upsweep_core::kernel::{Binary, Definition};

use super::array::AnyArray;
use super::kernel::widened_to;
use super::view::AnyView;
use super::{AnyFused, Op, Reduce, reduce_axes_into};
use crate::{Device, Dtype, Result};

/// Room for items that are widened, in the one memory or the other.
#[derive(Debug, Default)]
pub(super) struct WidenedItems {
    on_host: Vec<u64>,
    on_device: Option<AnyArray>,
}

/// Items as the type that they are widened to, if it is not theirs. What is in a GPU's memory stays there, and is not waited for.
pub(super) fn widened_there<'b>(
    device: &Device,
    items: AnyView<'b>,
    to: Dtype,
    room: &'b mut WidenedItems,
) -> Result<AnyView<'b>> {
    if items.dtype() == to || items.bytes().is_some() {
        return widened_to(items, to, &mut room.on_host);
    }
    let wide = room.on_device.insert(widened(device, items.whole(), to)?);
    Ok(wide.view().bounded_like(&items))
}

/// Items in a GPU's memory for kernels that cast them as they are read; none of short floats, which functions do not compute with.
pub(super) fn read_there(items: AnyView<'_>) -> Result<Option<AnyFused<'_>>> {
    if items.bytes().is_some() || matches!(items.dtype(), Dtype::F16 | Dtype::Bf16) {
        return Ok(None);
    }
    AnyFused::of(items).map(Some)
}

/// Items in a GPU's memory, widened.
fn widened(device: &Device, items: AnyView<'_>, to: Dtype) -> Result<AnyArray> {
    if let Some(read) = read_there(items)? {
        return read.cast_by(to, to)?.to_array(device);
    }
    // Functions have no short floats. The sum of one is that one, as an f32.
    let mut floats = AnyArray::with_any(device, Dtype::F32, items.len())?;
    let each = items.shape([items.len(), 1])?.axis(1)?;
    let room = floats.view_mut().shape([items.len()])?;
    reduce_axes_into(device, &each, room, &Reduce::new(Op::Sum))?;
    if to == Dtype::F32 { Ok(floats) } else { widened(device, floats.view(), to) }
}

/// Integers in a narrower type, for a GPU that has them in its memory. The identity of an extreme becomes that of the narrower type, which is the
/// extreme value that it has.
pub(super) fn narrowed_there(values: AnyView<'_>, op: Op, to: Dtype) -> Result<AnyFused<'_>> {
    let from = values.dtype();
    let mut definition = Definition::default();
    let mut value = definition.argument(from)?;
    if matches!(op, Op::Min | Op::Max) && from.is_signed_integer() {
        let most = i64::MAX >> (64 - 8 * to.size() as u32);
        for (bound, is_beyond) in [(most, Binary::Greater), (-most - 1, Binary::Less)] {
            let bound = definition.constant(from.into(), bound as u64);
            let beyond = definition.binary(is_beyond, value, bound)?;
            value = definition.select(beyond, bound, value)?;
        }
    }
    let narrowed = definition.cast(value, to)?;
    AnyFused::new([values], definition, narrowed)
}
