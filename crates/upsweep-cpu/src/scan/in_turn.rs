//! Several threads on one array, block by block, with something handed on in order.
//!
//! A thread takes the next block, works on it, waits for its turn, hands on the carry, and goes
//! on with the block. Blocks are taken in order, so whoever waits, waits for a thread that has
//! already begun and needs nobody behind it: there is no deadlock, also not with one thread.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::team::{Team, wait_for};

/// A value that is handed from block to block, in order.
pub(crate) struct InTurn<S> {
    turn: AtomicUsize,
    state: Mutex<S>,
    /// Set when a thread panics: nobody must wait for it.
    broken: AtomicBool,
}

impl<S: Copy + Send> InTurn<S> {
    pub(crate) fn new(state: S) -> Self {
        Self { turn: AtomicUsize::new(0), state: Mutex::new(state), broken: AtomicBool::new(false) }
    }

    /// Waits for block `index` to come next, replaces the value by `advance` of it, and returns
    /// the value before. `None` if another thread has panicked.
    pub(crate) fn pass(&self, index: usize, advance: impl FnOnce(S) -> S) -> Option<S> {
        wait_for(|| {
            if self.broken.load(Ordering::Relaxed) {
                return Some(None);
            }
            (self.turn.load(Ordering::Acquire) == index).then_some(Some(()))
        })?;
        // Whose turn it is, is alone here.
        let mut state = self.state.lock().ok()?;
        let before = *state;
        *state = advance(before);
        drop(state);
        self.turn.store(index + 1, Ordering::Release);
        Some(before)
    }

    /// Calls `work` on every thread of `team`. `work` takes blocks until there are none. If it
    /// panics on one thread, the others give up waiting, and the panic goes on.
    pub(crate) fn on_threads(&self, team: Team<'_>, work: &(impl Fn() + Sync)) {
        team.run_in_pool(&|| {
            let guard = Guard(&self.broken);
            work();
            core::mem::forget(guard);
        });
    }

    /// The value after the last block.
    pub(crate) fn into_state(self) -> S {
        self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Says that its thread has panicked, unless it is forgotten.
struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
