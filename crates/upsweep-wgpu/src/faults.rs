//! What may have gone wrong in work that nobody has waited for.
//!
//! A workgroup that waits in vain for another says so in a word of the scratch memory (`shader/state.wgsl`), and so does whoever finds
//! a length in the device's memory above its bound (`launch_sizes.wgsl`). The word stays until somebody looks. Calls that leave their results on the device do not look; the next call that waits for
//! the device, whatever it waits for, looks for all of them.

use std::sync::{Mutex, PoisonError, Weak};

use upsweep_core::{Error, Result};
use wgpu::BufferUsages;

use crate::device::Gpu;

/// Byte of the word in a state.
pub(crate) const FAULT: u64 = 12;

/// Bytes from there on that say what it was: the word; and behind it the length and its bound, if that is what they are about.
pub(crate) const FAULT_BYTES: u64 = 20;

/// What the word says of a length above its bound.
pub(crate) const LENGTH_ABOVE_BOUND: u32 = 2;

/// What it says of indices where nothing is that they could stand for; the first number behind it is how many they are.
pub(crate) const NOTHING_TO_GATHER: u32 = 3;

/// States of one-time runs that are kept at most until somebody looks: then the next run does.
const MOST: usize = 64;

/// Scratch memory of work that nobody has waited for.
#[derive(Debug, Default)]
pub(crate) struct Unchecked(Mutex<Vec<Watched>>);

#[derive(Debug)]
struct Watched {
    state: wgpu::Buffer,
    /// Alive as long as a recording may run again.
    recorded: Weak<()>,
}

impl Gpu {
    /// Remembers to look at a state once work that uses it has been submitted; or as long as a recording lives.
    pub(crate) fn watch(&self, state: &wgpu::Buffer, recorded: Weak<()>) -> Result<()> {
        let mut watched = self.unchecked.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !watched.iter().any(|known| known.state == *state && known.recorded.ptr_eq(&recorded)) {
            watched.push(Watched { state: state.clone(), recorded });
        }
        let once = watched.iter().filter(|known| known.recorded.strong_count() == 0).count();
        drop(watched);
        if once > MOST { self.wait() } else { Ok(()) }
    }

    /// Waits if work was submitted that nobody has waited for, and says whether it went well.
    pub(crate) fn settle(&self) -> Result<()> {
        let watched = self.unchecked.0.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing = watched.is_empty();
        drop(watched);
        if nothing { Ok(()) } else { self.wait() }
    }

    /// Waits for everything that was submitted, recordings included, and says whether it went well.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if the device was lost, or a workgroup has waited in vain for another since this was last asked;
    /// [`Error::LengthAboveBound`] if a length was, meanwhile; [`Error::NothingToGather`] if indices stood for nothing.
    pub fn wait(&self) -> Result<()> {
        let mut watched = self.unchecked.0.lock().unwrap_or_else(PoisonError::into_inner);
        let states: Vec<_> = watched.iter().map(|known| known.state.clone()).collect();
        watched.retain(|known| known.recorded.strong_count() > 0);
        drop(watched);
        if states.is_empty() {
            let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
            return waited.map(drop).map_err(|error| self.failed(error));
        }
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let staging = self.buffer("faults", FAULT_BYTES * states.len() as u64, usage)?;
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        for (at, state) in (0u64..).zip(&states) {
            encoder.copy_buffer_to_buffer(state, FAULT, &staging, FAULT_BYTES * at, FAULT_BYTES);
        }
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut faults = vec![0u8; FAULT_BYTES as usize * states.len()];
        self.read(&staging, 0, &mut faults)?;
        let faults = faults.chunks_exact(FAULT_BYTES as usize);
        let found = faults.zip(&states).map(|(fault, state)| self.judge(fault, state));
        // All of them are looked at.
        found.fold(Ok(()), Result::and)
    }

    /// What the bytes of a fault say, which is forgotten then.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`], [`Error::LengthAboveBound`] and [`Error::NothingToGather`], if they say so.
    pub(crate) fn judge(&self, fault: &[u8], state: &wgpu::Buffer) -> Result<()> {
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(fault);
        let number = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
        let error = match words[0] {
            0 => return Ok(()),
            LENGTH_ABOVE_BOUND => Error::LengthAboveBound { length: number(1), bound: number(3) },
            NOTHING_TO_GATHER => {
                let indices = usize::try_from(number(1)).unwrap_or(usize::MAX);
                Error::NothingToGather { indices }
            }
            _ => self.failed("a workgroup waited too long for another; use another strategy"),
        };
        self.write(state, FAULT, &[0; 4])?;
        Err(error)
    }
}
