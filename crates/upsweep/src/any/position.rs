//! Positions of extremes among items that come in chunks.

use super::view::{AnyView, on_host};
use crate::{Device, Number, Result, argmax, argmin};

/// A search that takes chunk by chunk.
pub(super) trait PositionChunks: Send {
    /// Searches a chunk that begins at item `start` of all.
    fn push(&mut self, device: &Device, chunk: AnyView<'_>, start: u64) -> Result<()>;
    fn position(&self) -> Option<u64>;
}

pub(super) struct Positions<T: Number> {
    pub(super) largest: bool,
    pub(super) best: Option<(T, u64)>,
}

impl<T: Number> PositionChunks for Positions<T> {
    fn push(&mut self, device: &Device, chunk: AnyView<'_>, start: u64) -> Result<()> {
        let items = on_host(chunk.typed::<T>()?)?;
        let found = if self.largest { argmax(device, items) } else { argmin(device, items) }?;
        let Some(index) = found else { return Ok(()) };
        let found = (items[usize::try_from(index).unwrap_or(usize::MAX)], start + index);
        self.best = Some(match self.best {
            Some(best) => {
                let both = [best.0, found.0];
                let device = Device::cpu();
                let better =
                    if self.largest { argmax(&device, &both) } else { argmin(&device, &both) }?;
                if better == Some(1) { found } else { best }
            }
            None => found,
        });
        Ok(())
    }

    fn position(&self) -> Option<u64> {
        self.best.map(|(_, index)| index)
    }
}
