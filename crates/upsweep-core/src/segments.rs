//! Segments: neighbouring items that are combined apart from all others.

use crate::{Dtype, Element, Error, Kind, Operator, Result};

/// How an array says where segments begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentedBy {
    /// By the number of each segment's first item, and behind the last that of the first item that is in none: `u32` or `u64`, one
    /// more than there are segments, none less than the one before it. Items in front of the first and behind the last are
    /// segments of their own, which only a scan sees.
    Offsets,
    /// By a number for each item, which is not 0 where a segment begins.
    Flags,
    /// By a key for each item: neighbours whose keys have the same bytes are in one segment.
    Keys,
}

/// Segments that an array of the host's says.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    /// How it does.
    pub by: SegmentedBy,
    /// Of what it is.
    pub kind: Kind,
    /// Its bytes, as devices hold them.
    pub bytes: &'a [u8],
}

impl Segments<'_> {
    /// Numbers in the array.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.kind.size().max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Offset number `index`.
    #[inline(always)]
    pub fn offset(&self, index: usize) -> u64 {
        match self.bytes_of(index) {
            &[a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
            bytes => bytes.try_into().map_or(0, u64::from_le_bytes),
        }
    }

    /// Whether an item is the first of a segment, by flags or keys.
    #[inline(always)]
    pub fn begins(&self, item: usize) -> bool {
        item == 0
            || match self.by {
                SegmentedBy::Flags => self.bytes_of(item).iter().any(|byte| *byte != 0),
                _ => self.bytes_of(item) != self.bytes_of(item - 1),
            }
    }

    /// How many of so many items each segment has, of segments that were checked.
    pub fn lengths(&self, items: usize) -> Vec<usize> {
        if self.by == SegmentedBy::Offsets {
            let length = |segment| (self.offset(segment + 1) - self.offset(segment)) as usize;
            return (0..self.len().saturating_sub(1)).map(length).collect();
        }
        let mut lengths = Vec::new();
        for item in 0..items {
            match lengths.last_mut() {
                Some(length) if !self.begins(item) => *length += 1,
                _ => lengths.push(1),
            }
        }
        lengths
    }

    #[inline(always)]
    fn bytes_of(&self, index: usize) -> &[u8] {
        let size = self.kind.size();
        &self.bytes[index * size..(index + 1) * size]
    }

    /// That offsets do not decrease, and are at most `items`; that there is a key or a flag for each item.
    ///
    /// # Errors
    /// [`Error::Segments`] where one is wrong.
    pub fn check(&self, items: usize) -> Result<()> {
        check_array(self.by, self.kind, self.len(), items)?;
        let wrong = |reason| Err(Error::Segments { reason });
        if self.by == SegmentedBy::Offsets {
            let mut before = 0;
            for index in 0..self.len() {
                let offset = self.offset(index);
                if offset < before {
                    return wrong(format!(
                        "offset {index} is {offset}, less than {before} before it"
                    ));
                }
                before = offset;
            }
            if before > items as u64 {
                return wrong(format!("the last offset is {before}, and there are {items} items"));
            }
        }
        Ok(())
    }
}

impl Segments<'_> {
    /// As [`check`](Self::check), of offsets whose highest bit is a sign.
    ///
    /// # Errors
    /// [`Error::Segments`] where one is wrong.
    pub fn check_signed(&self, items: usize) -> Result<()> {
        check_array(self.by, self.kind, self.len(), items)?;
        // Offsets are 4 or 8 bytes, of which the last has the sign.
        let ends = self.bytes.chunks_exact(self.kind.size()).map(|bytes| bytes[bytes.len() - 1]);
        match ends.into_iter().position(|last| last >= 1 << 7) {
            Some(index) => Err(Error::Segments { reason: format!("offset {index} is negative") }),
            None => self.check(items),
        }
    }
}

/// That an array that says where segments begin has numbers that can, and as many as there must be for `items` items.
///
/// # Errors
/// [`Error::Segments`] if it has not.
pub fn check_array(by: SegmentedBy, kind: Kind, count: usize, items: usize) -> Result<()> {
    let is_offset = [Dtype::U32, Dtype::U64].map(Kind::Number).contains(&kind);
    let reason = match by {
        SegmentedBy::Offsets if !is_offset => format!("offsets are u32 or u64, not {kind}"),
        SegmentedBy::Offsets if count == 0 => {
            "there are no offsets; there must be one more than segments".to_owned()
        }
        SegmentedBy::Flags | SegmentedBy::Keys if kind.size() == 0 => {
            format!("{kind} has no bytes to compare")
        }
        SegmentedBy::Flags if count != items => {
            format!("there are {count} flags for {items} items")
        }
        SegmentedBy::Keys if count != items => format!("there are {count} keys for {items} items"),
        _ => return Ok(()),
    };
    Err(Error::Segments { reason })
}

/// That what is asked for beside the values of segments, each one's key and how many they are, suits how items of `kind` say where
/// these begin.
///
/// # Errors
/// [`Error::Segments`] if it does not.
pub fn check_asked(by: SegmentedBy, kind: Kind, keys: Option<Kind>, counts: bool) -> Result<()> {
    let reason = match keys {
        _ if (by == SegmentedBy::Offsets) == counts => {
            "by keys and flags an array for the number of segments is given; by offsets none is"
                .to_owned()
        }
        Some(keys) if keys != kind => format!("keys of {kind} do not go to an array of {keys}"),
        _ => return Ok(()),
    };
    Err(Error::Segments { reason })
}

/// The bytes of `count` items of `kind`, of those that are there.
///
/// # Errors
/// [`Error::Segments`] if there are fewer.
pub fn bytes_of(bytes: &[u8], kind: Kind, count: usize) -> Result<&[u8]> {
    kind.size().checked_mul(count).and_then(|size| bytes.get(..size)).ok_or_else(|| {
        let reason = format!("{} bytes do not hold {count} items of {kind}", bytes.len());
        Error::Segments { reason }
    })
}

/// A value, and whether a segment begins with it or among what it was combined of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segmented<A> {
    /// Of the last segment that is in it.
    pub value: A,
    /// Whether nothing that comes before reaches the value.
    pub begins: bool,
}

impl<A: Element> Element for Segmented<A> {
    type Acc = Self;
    const KIND: Kind = Kind::Opaque;
    const EXACT: bool = A::EXACT;

    #[inline(always)]
    fn to_acc(self) -> Self {
        self
    }

    #[inline(always)]
    fn from_acc(acc: Self) -> Self {
        acc
    }
}

/// An operator in segments: a value before a segment's beginning does not reach one behind it. The operator may be called with both;
/// then its result is thrown away. Associative if the operator is; it does not commute.
///
/// Source: G. Blelloch, *Prefix Sums and Their Applications* (1990).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InSegments<O>(pub O);

impl<A: Element, O: Operator<A>> Operator<Segmented<A>> for InSegments<O> {
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = false;
    const EXACT: bool = O::EXACT;

    #[inline(always)]
    fn identity(&self) -> Segmented<A> {
        Segmented { value: self.0.identity(), begins: false }
    }

    #[inline(always)]
    fn padding(&self) -> Segmented<A> {
        Segmented { value: self.0.padding(), begins: false }
    }

    #[inline(always)]
    fn combine(&self, left: Segmented<A>, right: Segmented<A>) -> Segmented<A> {
        let combined = self.0.combine(left.value, right.value);
        Segmented {
            value: if right.begins { right.value } else { combined },
            begins: left.begins | right.begins,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sum, laws};

    #[test]
    fn what_is_said_about_segments_is_checked() {
        let of = |by, numbers: &[u32], items| {
            let bytes: &[u8] = bytemuck::cast_slice(numbers);
            Segments { by, kind: Dtype::U32.into(), bytes }.check(items).map_err(|e| e.to_string())
        };
        assert_eq!(of(SegmentedBy::Offsets, &[0, 3, 3, 7], 7), Ok(()));
        assert_eq!(of(SegmentedBy::Offsets, &[2, 2], 7), Ok(()));
        for (by, numbers, wanted) in [
            (
                SegmentedBy::Offsets,
                &[][..],
                "there are no offsets; there must be one more than segments",
            ),
            (SegmentedBy::Offsets, &[0, 4, 3], "offset 2 is 3, less than 4 before it"),
            (SegmentedBy::Offsets, &[0, 8], "the last offset is 8, and there are 7 items"),
            (SegmentedBy::Keys, &[1, 2], "there are 2 keys for 7 items"),
            (SegmentedBy::Flags, &[1], "there are 1 flags for 7 items"),
        ] {
            assert_eq!(of(by, numbers, 7), Err(format!("segments: {wanted}")));
        }
    }

    #[test]
    fn segments_have_lengths() {
        let of = |by, numbers: &[u32], items| {
            let bytes: &[u8] = bytemuck::cast_slice(numbers);
            Segments { by, kind: Dtype::U32.into(), bytes }.lengths(items)
        };
        assert_eq!(of(SegmentedBy::Offsets, &[1, 3, 3, 7], 9), [2, 0, 4]);
        assert_eq!(of(SegmentedBy::Offsets, &[5], 9), []);
        assert_eq!(of(SegmentedBy::Flags, &[0, 0, 9, 0, 1], 5), [2, 2, 1]);
        assert_eq!(of(SegmentedBy::Keys, &[7, 7, 9, 7], 4), [2, 1, 1]);
        assert_eq!(of(SegmentedBy::Keys, &[], 0), []);
    }

    #[test]
    fn an_operator_in_segments_keeps_the_laws() {
        let all = [(3u32, false), (5, true), (u32::MAX, false), (0, true)];
        let all = all.map(|(value, begins)| Segmented { value, begins });
        assert_eq!(
            laws::check_by(&InSegments(Sum), &all, |found, expected, _| found == expected),
            Ok(())
        );
    }
}
