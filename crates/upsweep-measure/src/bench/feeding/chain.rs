//! Ten steps, each of what the one before has left: selections whose lengths only the device knows, scans, and a sum.

use bytemuck::cast_slice;
use upsweep::any::{self, AnyArray, AnyView, Comparison, Op, Scalar, Where};
use upsweep::{Array, Device, Dtype, Error, Result};

use super::ways::{Recordings, Work};
use crate::buffer::{Buffer, POISON, available_memory};
use crate::inputs;

/// Selections, all but the last with a scan behind it. The sum is the tenth step.
const SELECTIONS: usize = 5;

/// The least number that is kept: of numbers of any bits, 15 of 16 are above it, and so are of their sums.
const LEAST: u32 = 1 << 28;

/// What a selection leaves: the items, and how many they are.
struct Kept {
    items: AnyArray,
    count: Array<u64>,
}

impl Kept {
    fn new(device: &Device, room: usize) -> Result<Self> {
        let items = AnyArray::filled(device, room, Scalar::new(0u32))?;
        Ok(Self { items, count: Array::filled(device, 1, 0)? })
    }

    fn view(&self) -> Result<AnyView<'_>> {
        self.items.view().with_length(&self.count)
    }
}

/// The chain of so many numbers.
pub(super) struct Chain<'a> {
    device: &'a Device,
    items: Buffer,
    kept: Vec<Kept>,
    scanned: Vec<AnyArray>,
    result: AnyArray,
    expected: Option<Scalar>,
    bytes: u64,
    recordings: Recordings<'a>,
}

/// What is kept.
fn large() -> Where {
    Where::new(Comparison::GreaterOrEqual, Scalar::new(LEAST))
}

fn scan() -> any::Scan {
    any::Scan::inclusive(Op::Sum)
}

fn sum() -> any::Reduce {
    any::Reduce::new(Op::Sum).acc(Dtype::U32)
}

impl<'a> Chain<'a> {
    /// The chain on a device, on a GPU with its arrays and all that it needs.
    pub(super) fn new(device: &'a Device, n: usize) -> Result<Self> {
        // Each step has arrays of its own.
        let bytes = n.saturating_mul(2 * SELECTIONS * size_of::<u32>());
        let fits = available_memory().is_none_or(|most| bytes as u64 <= most / 2);
        let items = fits.then(|| inputs::items(Dtype::U32, n, false).ok()).flatten();
        let items = items.ok_or(Error::OutOfMemory { bytes })?;
        let kept = (0..SELECTIONS).map(|_| Kept::new(device, n)).collect::<Result<Vec<_>>>()?;
        let room = |_| AnyArray::filled(device, n, Scalar::new(0u32));
        let scanned = (1..SELECTIONS).map(room).collect::<Result<Vec<_>>>()?;
        let result = AnyArray::filled(device, 1, Scalar::new(0u32))?;
        let (expected, bytes) = on_host(cast_slice(items.bytes()));
        let recordings = Recordings::new(device, true);
        let expected = Some(Scalar::new(expected));
        let mut chain = Self { device, items, kept, scanned, result, expected, bytes, recordings };
        if device.id() != "cpu" {
            chain.bind()?;
        }
        device.wait()?;
        Ok(chain)
    }

    /// Binds every step to its arrays.
    fn bind(&mut self) -> Result<()> {
        let Self { device, kept, scanned, result, recordings, items, .. } = self;
        let first = AnyArray::from_view(device, cast_slice::<u8, u32>(items.bytes()))?;
        for number in 0..SELECTIONS {
            let (before, own) = kept.split_at_mut(number);
            let Kept { items, count } = &mut own[0];
            let input = match before.last() {
                None => first.view(),
                Some(kept) => scanned[number - 1].view().with_length(&kept.count)?,
            };
            recordings.push(any::bind_select(device, input, large(), items, count)?);
            match scanned.get_mut(number) {
                Some(scanned) => {
                    recordings.push(any::bind_scan(device, own[0].view()?, scanned, &scan())?);
                }
                None => {
                    recordings.push(any::bind_reduce(device, own[0].view()?, &mut *result, &sum())?)
                }
            }
        }
        Ok(())
    }
}

/// The sum that the chain comes to, and the fewest bytes that its steps move.
fn on_host(items: &[u32]) -> (u32, u64) {
    let (mut items, mut moved) = (items.to_vec(), 0);
    for number in 0..SELECTIONS {
        moved += items.len();
        items.retain(|item| *item >= LEAST);
        moved += items.len();
        if number + 1 < SELECTIONS {
            let mut sum = 0u32;
            items.iter_mut().for_each(|item| {
                sum = sum.wrapping_add(*item);
                *item = sum;
            });
            moved += 2 * items.len();
        }
    }
    let sum = items.iter().fold(0u32, |sum, item| sum.wrapping_add(*item));
    (sum, 4 * (moved + items.len()) as u64)
}

impl<'a> Work<'a> for Chain<'a> {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn recordings(&mut self) -> &mut Recordings<'a> {
        &mut self.recordings
    }

    fn run_on_host(&mut self) -> Result<()> {
        let Self { device, kept, scanned, result, items, .. } = self;
        let items: &[u32] = std::hint::black_box(cast_slice(items.bytes()));
        let mut input = AnyView::from(items);
        let mut scans = scanned.iter_mut();
        for Kept { items, count } in kept {
            let room = [input.len() as u64];
            let output = items.view_mut().with_length(&room)?;
            any::select_into(device, input, large(), output, &mut *count)?;
            let own = items.view().with_length(&*count)?;
            match scans.next() {
                Some(scanned) => {
                    any::scan_into(device, own, scanned.view_mut().with_length(&*count)?, &scan())?;
                    input = scanned.view().with_length(&*count)?;
                }
                None => any::reduce_into(device, own, &mut *result, &sum())?,
            }
        }
        Ok(())
    }

    /// Selections are every other step, and what they have kept is what a host waits for.
    fn wait_for(&mut self, recording: usize) -> Result<()> {
        match self.kept.get(recording / 2).filter(|_| recording.is_multiple_of(2)) {
            Some(kept) => kept.count.to_vec().map(drop),
            None => Ok(()),
        }
    }

    fn poison(&mut self) -> Result<()> {
        let poison = u32::from_ne_bytes([POISON; 4]);
        self.result.copy_from(&[poison])?;
        for Kept { count, .. } in &mut self.kept {
            count.copy_from_slice(&[0])?;
        }
        self.device.wait()
    }

    fn are_right(&mut self) -> Result<bool> {
        Ok(Scalar::from_bytes(Dtype::U32, &self.result.to_bytes()?) == self.expected)
    }
}
