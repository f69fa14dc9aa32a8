//! Threads that compile kernels; none is waited for too long.
//!
//! A driver's compiler has no end that can be counted on: one scan of bytes, in several hundred of which it took a second at most, kept it
//! for 100 s, and there is no asking it to stop.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long those that took too long are waited for in the end.
const LAST_PATIENCE: Duration = Duration::from_millis(500);

/// Threads that were left at work.
static RUNNING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Whether any thread is still at work in a driver, which the end of the program would take away under it.
pub fn are_running() -> bool {
    let mut left = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    left.retain(|thread| !thread.is_finished());
    !left.is_empty()
}

/// Waits so long at most until none is, and returns whether none is.
pub(crate) fn wait_until_idle(patience: Duration) -> bool {
    let begun = Instant::now();
    while are_running() {
        if begun.elapsed() >= patience {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Threads that do what lines say, each once.
pub(crate) struct CompilerThreads {
    shared: Arc<Shared>,
    most: usize,
    patience: Duration,
    /// What was begun last, and when.
    batch: Vec<String>,
    begun: Instant,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    work: Box<dyn Fn(&str) + Send + Sync>,
    lines: Mutex<Lines>,
    /// Something was asked for, or done.
    changed: Condvar,
    /// How many threads do what is not yet waited for, so that others are free for what is.
    most_ahead: usize,
}

/// What is to be done, is being done, and is done.
#[derive(Default)]
struct Lines {
    batch: VecDeque<String>,
    ahead: VecDeque<String>,
    /// Since when, and whether ahead.
    doing: HashMap<String, (Instant, bool)>,
    done: HashSet<String>,
    over: bool,
}

impl Lines {
    /// The next line, and whether it is done ahead.
    fn next(&mut self, most_ahead: usize) -> Option<(String, bool)> {
        if let Some(line) = self.batch.pop_front() {
            return Some((line, false));
        }
        let ahead = self.doing.values().filter(|(_, ahead)| *ahead).count();
        let line = if ahead < most_ahead { self.ahead.pop_front() } else { None };
        line.map(|line| (line, true))
    }

    fn is_new(&self, line: &String) -> bool {
        !self.done.contains(line) && !self.doing.contains_key(line)
    }
}

impl Shared {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each thread does.
    fn serve(&self) {
        let mut lines = self.lines();
        while !lines.over {
            let Some((line, ahead)) = lines.next(self.most_ahead) else {
                lines = self.changed.wait(lines).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            lines.doing.insert(line.clone(), (Instant::now(), ahead));
            drop(lines);
            (self.work)(&line);
            lines = self.lines();
            lines.doing.remove(&line);
            lines.done.insert(line);
            self.changed.notify_all();
        }
    }
}

impl CompilerThreads {
    /// At most so many at once, which get so much time from when they begin.
    pub(crate) fn new(
        most: usize,
        patience: Duration,
        work: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let (work, lines, most_ahead) = (Box::new(work), Mutex::default(), most.div_ceil(2));
        let shared = Arc::new(Shared { work, lines, changed: Condvar::new(), most_ahead });
        let (batch, threads) = (Vec::new(), Vec::new());
        Self { shared, most, patience, batch, begun: Instant::now(), threads }
    }

    fn stuck(&self) -> usize {
        let lines = self.shared.lines();
        lines.doing.values().filter(|(since, _)| since.elapsed() >= self.patience).count()
    }

    /// Those that are at nothing that took too long, but one at least.
    pub(crate) fn free(&self) -> usize {
        self.most.saturating_sub(self.stuck()).max(1)
    }

    /// Begins with these lines. What has not been begun of those before is left.
    pub(crate) fn begin(&mut self, batch: Vec<String>) {
        let mut lines = self.shared.lines();
        lines.batch.clear();
        for line in &batch {
            if lines.is_new(line) && !lines.batch.contains(line) {
                lines.batch.push_back(line.clone());
            }
        }
        let Lines { batch: asked, ahead, .. } = &mut *lines;
        ahead.retain(|line| !asked.contains(line));
        drop(lines);
        (self.batch, self.begun) = (batch, Instant::now());
        while self.threads.len() < self.stuck() + self.free() {
            let shared = Arc::clone(&self.shared);
            self.threads.push(thread::spawn(move || shared.serve()));
        }
        self.shared.changed.notify_all();
    }

    /// Lines for threads that have nothing else to do, from what is begun next on.
    pub(crate) fn ahead(&mut self, all: Vec<String>) {
        let mut lines = self.shared.lines();
        for line in all {
            if lines.is_new(&line) && !lines.batch.contains(&line) && !lines.ahead.contains(&line) {
                lines.ahead.push_back(line);
            }
        }
    }

    /// Waits for what was begun, and returns the lines that took too long.
    pub(crate) fn wait(&mut self) -> Vec<String> {
        let mut lines = self.shared.lines();
        loop {
            self.batch.retain(|line| !lines.done.contains(line));
            let left = self.patience.saturating_sub(self.begun.elapsed());
            if self.batch.is_empty() || left.is_zero() {
                break;
            }
            let waited = self.shared.changed.wait_timeout(lines, left);
            lines = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        lines.batch.clear();
        drop(lines);
        std::mem::take(&mut self.batch)
    }
}

impl Drop for CompilerThreads {
    fn drop(&mut self) {
        self.shared.lines().over = true;
        self.shared.changed.notify_all();
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.threads);
        wait_until_idle(LAST_PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn lines<const N: usize>(lines: [&str; N]) -> Vec<String> {
        lines.map(str::to_owned).into()
    }

    #[test]
    fn what_takes_too_long_is_named_and_left() {
        let (begin, wait) = mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let mut threads = CompilerThreads::new(2, Duration::from_secs(1), move |line| {
            if line == "endless" {
                let _ = wait.lock().map(|wait| wait.recv());
            }
        });
        assert!(threads.wait().is_empty(), "nothing was asked for");
        threads.begin(lines(["a", "b", "c"]));
        assert!(threads.wait().is_empty());
        threads.begin(lines(["a", "endless", "c"]));
        assert_eq!(threads.wait(), ["endless"]);
        assert_eq!(threads.free(), 1, "one is still at it");
        threads.begin(lines(["d", "e"]));
        assert!(threads.wait().is_empty(), "the other does the rest");
        drop(begin);
        threads.begin(lines(["endless", "f", "g", "h"]));
        assert!(threads.wait().is_empty());
        assert_eq!(threads.free(), 2);
        drop(threads);
        assert!(wait_until_idle(Duration::from_secs(100)), "it ended");
    }

    #[test]
    fn what_is_left_at_work_is_known_until_it_ends() {
        let (begin, wait) = mpsc::channel::<()>();
        let (tell, begun) = mpsc::channel();
        let wait = Mutex::new(wait);
        let mut threads = CompilerThreads::new(1, Duration::ZERO, move |_| {
            let _ = tell.send(());
            let _ = wait.lock().map(|wait| wait.recv());
        });
        threads.begin(lines(["endless"]));
        begun.recv().expect("a thread");
        assert_eq!(threads.wait(), ["endless"]);
        drop(threads);
        assert!(!wait_until_idle(Duration::ZERO));
        drop(begin);
        assert!(wait_until_idle(Duration::from_secs(100)));
    }

    #[test]
    fn what_is_done_ahead_is_done_once_and_behind_what_is_waited_for() {
        let (tell, done) = mpsc::channel();
        let mut threads = CompilerThreads::new(1, Duration::from_secs(100), move |line| {
            let _ = tell.send(line.to_owned());
        });
        threads.ahead(lines(["x", "b", "y", "x"]));
        threads.begin(lines(["a", "b", "a"]));
        assert!(threads.wait().is_empty());
        let told: Vec<String> = (0..4).filter_map(|_| done.recv().ok()).collect();
        assert_eq!(told, ["a", "b", "x", "y"]);
        threads.ahead(lines(["a", "y"]));
        threads.begin(lines(["x", "y", "z"]));
        assert!(threads.wait().is_empty());
        assert_eq!(done.recv().as_deref(), Ok("z"));
        drop(threads);
        assert!(done.recv().is_err(), "nothing is done twice");
    }
}
