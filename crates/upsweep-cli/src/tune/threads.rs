//! Kernels that are made in threads of this program, of which none is waited for too long.
//!
//! A driver's compiler has no end that can be counted on: one scan of bytes, in several hundred of which it took a second at most, kept it
//! for 100 s, and there is no asking it to stop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long those that took too long are waited for in the end.
const LAST_PATIENCE: Duration = Duration::from_millis(500);

/// Whether threads were left at work.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Whether any thread may still be at work in a driver, which the end of the program would take away under it.
pub(crate) fn were_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// Threads that do what lines say.
pub(crate) struct Threads {
    work: Arc<dyn Fn(&str) + Send + Sync>,
    most: usize,
    patience: Duration,
    batch: Option<Batch>,
    /// Those that took too long.
    stuck: Vec<JoinHandle<()>>,
}

struct Batch {
    lines: Arc<Vec<String>>,
    next: Arc<AtomicUsize>,
    done: mpsc::Receiver<usize>,
    threads: Vec<JoinHandle<()>>,
    begun: Instant,
}

impl Threads {
    /// At most so many at once, which get so much time from when they begin.
    pub(crate) fn new(
        most: usize,
        patience: Duration,
        work: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self { work: Arc::new(work), most, patience, batch: None, stuck: Vec::new() }
    }

    /// Those that have nothing to do, but one at least.
    pub(crate) fn free(&self) -> usize {
        let stuck = self.stuck.iter().filter(|thread| !thread.is_finished()).count();
        self.most.saturating_sub(stuck).max(1)
    }

    /// Begins with these lines. What was begun before is left.
    pub(crate) fn begin(&mut self, lines: Vec<String>) {
        self.leave();
        let (lines, next) = (Arc::new(lines), Arc::new(AtomicUsize::new(0)));
        let (tell, done) = mpsc::channel();
        let threads = (0..self.free().min(lines.len())).map(|_| {
            let (work, lines, next) =
                (Arc::clone(&self.work), Arc::clone(&lines), Arc::clone(&next));
            let tell = tell.clone();
            thread::spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(line) = lines.get(number) else { break };
                    work(line);
                    // Nobody listens any more to who took too long.
                    let _ = tell.send(number);
                }
            })
        });
        let threads = threads.collect();
        self.batch = Some(Batch { lines, next, done, threads, begun: Instant::now() });
    }

    /// Waits for what was begun, and returns the lines that took too long.
    pub(crate) fn wait(&mut self) -> Vec<String> {
        let Some(batch) = &self.batch else { return Vec::new() };
        let mut late: Vec<Option<&String>> = batch.lines.iter().map(Some).collect();
        // All senders are gone when all is done.
        let left = || self.patience.saturating_sub(batch.begun.elapsed());
        while let Ok(number) = batch.done.recv_timeout(left()) {
            late[number] = None;
        }
        let late = late.into_iter().flatten().cloned().collect();
        self.leave();
        late
    }

    /// Ends what has not been begun of the last lines, and waits for nothing.
    fn leave(&mut self) {
        if let Some(batch) = self.batch.take() {
            batch.next.store(batch.lines.len(), Ordering::Relaxed);
            self.stuck.extend(batch.threads);
        }
        self.stuck.retain(|thread| !thread.is_finished());
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.leave();
        let begun = Instant::now();
        while begun.elapsed() < LAST_PATIENCE && !self.stuck.iter().all(JoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(1));
        }
        if !self.stuck.iter().all(JoinHandle::is_finished) {
            LEFT.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_named_and_left() {
        let (begin, wait) = mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let mut threads = Threads::new(2, Duration::from_secs(1), move |line| {
            if line == "endless" {
                let _ = wait.lock().map(|wait| wait.recv());
            }
        });
        assert!(threads.wait().is_empty(), "nothing was asked for");
        threads.begin(["a", "b", "c"].map(str::to_owned).into());
        assert!(threads.wait().is_empty());
        threads.begin(["a", "endless", "c"].map(str::to_owned).into());
        assert_eq!(threads.wait(), ["endless"]);
        assert_eq!(threads.free(), 1, "one is still at it");
        threads.begin(["a", "b"].map(str::to_owned).into());
        assert!(threads.wait().is_empty(), "the other does the rest");
        drop(begin);
        threads.begin(["a", "b", "c", "d"].map(str::to_owned).into());
        assert!(threads.wait().is_empty());
        drop(threads);
        assert!(!were_left(), "it ended");
    }
}
