//! Keeps a GPU awake while the host compiles and compares: one that has nothing to do for a while runs at a third of its speed, and
//! takes longer to wake than a cell takes to be measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use upsweep::Device;

use crate::error::Result;
use crate::gpu_timing::Busy;

/// Bytes of an array that is read again and again: more than caches hold.
const BYTES: usize = 1 << 28;

/// How long the device works, and then rests, so that whoever compiles and compares gets at it; and how long it has worked when it is
/// awake.
const BURST: Duration = Duration::from_millis(2);
const WAKING: Duration = Duration::from_millis(400);

/// A device that is kept awake as long as this lives.
pub(crate) struct KeepAwake {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Held while the device works to stay awake, or is measured.
    turn: Mutex<()>,
    /// Whether someone wants to measure, or this is over.
    wanted: AtomicBool,
    over: AtomicBool,
}

impl KeepAwake {
    /// Wakes it, and begins to keep it so. A GPU made of software does not sleep.
    pub(crate) fn new(device: &Device) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        if !device.limits().forward_progress {
            return Ok(Self { shared, thread: None });
        }
        let busy = Busy::new(device, BYTES)?;
        busy.work(WAKING, 8)?;
        let own = Arc::clone(&shared);
        let run = move || {
            while !own.over.load(Ordering::Relaxed) {
                if own.wanted.load(Ordering::Relaxed) {
                    thread::sleep(BURST);
                    continue;
                }
                let turn = own.turn.lock().unwrap_or_else(PoisonError::into_inner);
                // Whoever measures learns why.
                if busy.work(BURST, 4).is_err() {
                    return;
                }
                drop(turn);
                thread::sleep(BURST);
            }
        };
        Ok(Self { shared, thread: Some(thread::spawn(run)) })
    }

    /// Does `work` with the device to itself.
    pub(crate) fn exclusively<R>(&self, work: impl FnOnce() -> R) -> R {
        self.shared.wanted.store(true, Ordering::Relaxed);
        let turn = self.shared.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work();
        drop(turn);
        self.shared.wanted.store(false, Ordering::Relaxed);
        result
    }
}

impl Drop for KeepAwake {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends by itself, or has.
            let _ = thread.join();
        }
    }
}
