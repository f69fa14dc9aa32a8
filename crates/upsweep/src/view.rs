//! Views of items without copying.

use upsweep_gpu::ErasedType;

use crate::backend::wrong_device;
use crate::erased::{ErasedItems, ErasedItemsMut, ErasedViewMut};
use crate::memory::Range;
use crate::{Device, Element, Error, Result};

/// Items to read, wherever they are: a borrowed slice of the host or a range of a device's
/// memory. Made from slices, vectors, arrays and [`Array`](crate::Array)s by [`Into`], without
/// copying. A device that cannot reach the host's memory is sent a copy.
///
/// A view may have a length of its own that lies in memory: see [`with_length`](View::with_length).
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    pub(crate) items: Items<'a, T>,
    /// How many items there are with those behind its length, if that is known.
    bound: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Items<'a, T> {
    Host(&'a [T]),
    Device(Range<'a>),
}

impl<'a, T> View<'a, T> {
    #[inline]
    pub(crate) fn of(items: Items<'a, T>) -> Self {
        Self { items, bound: None }
    }

    /// The first of these items, as many as the one number of `length` says when a call is run.
    ///
    /// On a GPU the number may be written by work that is begun before the call, and no call waits for it. What lies behind the length is
    /// neither read nor counted. Outputs have room for as many items as the view is long without the length, and what is behind it there
    /// stays as it is. Arrays that calls return on a GPU have as much room, and hold anything behind the length. Arrays that are read
    /// together have as many items each, and one length, in one place, which is no output of the call.
    ///
    /// Every call on one array takes such views; arrays of several dimensions have lengths that the host knows. Offsets of segments have a
    /// length of their own: see [`Segments::by_offsets`](crate::Segments::by_offsets). On a GPU:
    ///
    /// | what is done with the view | how many items that makes |
    /// |---|---|
    /// | [`reversed`](crate::Fused::reversed) | as many |
    /// | [`strided`](crate::Fused::strided) | the length divided by the step, rounded up |
    /// | [`gather`](crate::Fused::gather) from it | as many as there are indices; an index at or above the length stands for the last item. With indices but length 0, the results hold anything, and whoever waits for the device next gets [`Error::NothingToGather`] |
    /// | a chunk of a stream | as many. The call waits for the number, but those of [`SelectStream`](crate::SelectStream) do not; one above the bound is the call's error |
    ///
    /// ```
    /// use upsweep::{Device, Sum, View, inclusive_scan_into, reduce};
    /// let (items, length) = ([1u32, 2, 3, 4], [3u64]);
    /// let first = View::from(&items).with_length(&length)?;
    /// assert_eq!(reduce(&Device::cpu(), first, Sum)?, 6);
    /// let mut sums = [0u32, 0, 0, 7];
    /// inclusive_scan_into(&Device::cpu(), first, &mut sums, Sum)?;
    /// assert_eq!(sums, [1, 3, 6, 7]);
    /// # Ok::<(), upsweep::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ResultLength`] unless there is one number, [`Error::WrongDevice`] if it is on a GPU and the items are elsewhere.
    /// [`Error::LengthAboveBound`] if it is in the host's memory, and larger than the number of items. Of a larger one on a GPU a call takes
    /// the items that there are, and whoever waits for the device next gets the error.
    pub fn with_length(self, length: impl Into<View<'a, u64>>) -> Result<Self> {
        let length = length.into();
        if length.len() != 1 {
            return Err(Error::ResultLength { items: length.len() });
        }
        let (len, bound) = (self.len(), self.bound);
        match (length.items, self.items) {
            (Items::Host(length), items) => {
                let len = within(length[0], len)?;
                Ok(Self { items, bound }.first(len))
            }
            (Items::Device(length), Items::Device(range)) => {
                Ok(Self { items: Items::Device(range.with_length(length)?), bound })
            }
            (Items::Device(length), Items::Host(_)) => Err(wrong_device("cpu", length.device())),
        }
    }

    /// The first items, of which there are no fewer.
    pub(crate) fn first(self, len: usize) -> Self {
        let bound = Some(self.bound());
        let items = match self.items {
            Items::Host(items) => Items::Host(&items[..len]),
            Items::Device(range) => Items::Device(range.first(len)),
        };
        Self { items, bound }
    }

    /// The same items, as many of them as there are of those that are overwritten.
    pub(crate) fn bounded_like<U>(self, other: &ViewMut<'a, U>) -> Self {
        let Self { items, bound } = self;
        let items = match (items, &other.items) {
            (Items::Device(range), ItemsMut::Device(other)) => {
                Items::Device(range.bounded_like(*other))
            }
            (items, _) => items,
        };
        Self { items, bound }
    }

    /// Items for which an output has room: all, whatever the length.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        self.bound.unwrap_or(self.len())
    }

    /// Number of items. If only the device knows it, the most that there may be.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.items {
            Items::Host(items) => items.len(),
            Items::Device(range) => range.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The GPU that they are on, if they are on one that is known.
    pub(crate) fn home(&self) -> Option<Device> {
        match &self.items {
            Items::Host(_) => None,
            Items::Device(range) => range.home(),
        }
    }

    /// The id of the device that they are on, or its backend's name.
    pub(crate) fn device(&self) -> &str {
        match &self.items {
            Items::Host(_) => "cpu",
            Items::Device(range) => range.device(),
        }
    }
}

/// A length in the host's memory, which is within the number of items.
fn within(length: u64, items: usize) -> Result<usize> {
    let known = usize::try_from(length).ok().filter(|length| *length <= items);
    known.ok_or(Error::LengthAboveBound { length, bound: items as u64 })
}

/// Items to write, wherever they are; see [`View`].
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(crate) items: ItemsMut<'a, T>,
}

#[derive(Debug)]
pub(crate) enum ItemsMut<'a, T> {
    Host(&'a mut [T]),
    Device(Range<'a>),
}

impl<T: Element> View<'_, T> {
    /// The same items, as many as the host knows of then. Waits for the GPU that they are on, if only that knows how many.
    pub(crate) fn known(self, device: &Device) -> Result<Self> {
        match self.items {
            Items::Device(range) if range.is_bounded() => {
                let (len, bound) = (device.known_len(self.erased())?, self.bound());
                let items = Items::Device(range.whole());
                Ok(Self { items, bound: Some(bound) }.first(len))
            }
            _ => Ok(self),
        }
    }

    /// The same without Rust's type.
    pub(crate) fn erased(&self) -> ErasedItems<'_> {
        match &self.items {
            Items::Host(items) => ErasedItems::Host(items),
            Items::Device(range) => ErasedItems::Device(*range),
        }
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// The same without Rust's type.
    pub(crate) fn erased(&mut self) -> ErasedViewMut<'_> {
        let items = match &mut self.items {
            ItemsMut::Host(items) => ErasedItemsMut::Host(items),
            ItemsMut::Device(range) => ErasedItemsMut::Device(*range),
        };
        ErasedViewMut { of: ErasedType::of::<T>(), items }
    }
}

impl<'a, T> ViewMut<'a, T> {
    /// The first of these items, as many as the one number of `length` says: for calls that work in place. See [`View::with_length`].
    ///
    /// # Errors
    /// Those of [`View::with_length`].
    pub fn with_length(self, length: impl Into<View<'a, u64>>) -> Result<Self> {
        let length = length.into();
        if length.len() != 1 {
            return Err(Error::ResultLength { items: length.len() });
        }
        let len = self.len();
        match (length.items, self.items) {
            (Items::Host(length), items) => {
                let len = within(length[0], len)?;
                Ok(Self { items }.first(len))
            }
            (Items::Device(length), ItemsMut::Device(range)) => {
                Ok(Self { items: ItemsMut::Device(range.with_length(length)?) })
            }
            (Items::Device(length), ItemsMut::Host(_)) => Err(wrong_device("cpu", length.device())),
        }
    }

    /// The first items, of which there are no fewer.
    fn first(self, len: usize) -> Self {
        let items = match self.items {
            ItemsMut::Host(items) => ItemsMut::Host(&mut items[..len]),
            ItemsMut::Device(range) => ItemsMut::Device(range.first(len)),
        };
        Self { items }
    }

    /// Where so many items go, of the `bound` for which there is room.
    pub(crate) fn fitted(mut self, len: usize, bound: usize) -> Self {
        self.fit(len, bound);
        self
    }

    /// The same in its place: a short scan on a CPU takes less time than to move a view.
    #[inline]
    pub(crate) fn fit(&mut self, len: usize, bound: usize) {
        if len < bound && self.len() == bound {
            let items = core::mem::replace(&mut self.items, ItemsMut::Host(&mut []));
            self.items = Self { items }.first(len).items;
        }
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.items {
            ItemsMut::Host(items) => items.len(),
            ItemsMut::Device(range) => range.len(),
        }
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As [`View::home`].
    pub(crate) fn home(&self) -> Option<Device> {
        match &self.items {
            ItemsMut::Host(_) => None,
            ItemsMut::Device(range) => range.home(),
        }
    }
}

impl<'a, T> From<&'a [T]> for View<'a, T> {
    #[inline]
    fn from(host: &'a [T]) -> Self {
        Self::of(Items::Host(host))
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for View<'a, T> {
    #[inline]
    fn from(host: &'a [T; N]) -> Self {
        Self::of(Items::Host(host))
    }
}

impl<'a, T> From<&'a Vec<T>> for View<'a, T> {
    #[inline]
    fn from(host: &'a Vec<T>) -> Self {
        Self::of(Items::Host(host))
    }
}

impl<'a, T> From<&'a mut [T]> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut [T]) -> Self {
        Self { items: ItemsMut::Host(host) }
    }
}

impl<'a, T, const N: usize> From<&'a mut [T; N]> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut [T; N]) -> Self {
        Self { items: ItemsMut::Host(host) }
    }
}

impl<'a, T> From<&'a mut Vec<T>> for ViewMut<'a, T> {
    #[inline]
    fn from(host: &'a mut Vec<T>) -> Self {
        Self { items: ItemsMut::Host(host) }
    }
}
