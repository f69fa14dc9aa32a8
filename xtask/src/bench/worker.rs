//! A running worker and its line protocol, which `benches/worker/src/lib.rs` describes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::build::{NATIVE, Program};
use super::definition::Cell;
use crate::shell::{Result, program};

/// A worker that waits for requests. It ends when it is dropped.
pub(super) struct Worker {
    name: &'static str,
    keep: fn(&str) -> bool,
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    pub(super) fn start(from: &Program) -> Result<Self> {
        let mut child = program(&from.command[0])
            .args(&from.command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("worker {}: {error}", from.name))?;
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Ok(Self { name: from.name, keep: from.keep, child, requests, answers })
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// What an engine is called in tables.
    pub(super) fn label(&self, engine: &str) -> String {
        if self.name == NATIVE { format!("{engine}({NATIVE})") } else { engine.to_owned() }
    }

    /// Makes the input of a cell; returns name and threads of every engine.
    pub(super) fn prepare(&mut self, cell: &Cell) -> Result<Vec<(String, usize)>> {
        let Cell { op, input, dtype, acc, items, .. } = cell;
        let answer = self.ask(&format!("prepare {op} {input} {dtype} {acc} {items}"), "engines")?;
        let engines = answer.split_whitespace().map(|word| {
            let (name, threads) = word.rsplit_once(':')?;
            Some((name.to_owned(), threads.parse().ok()?))
        });
        let mut engines: Vec<(String, usize)> =
            engines.collect::<Option<_>>().ok_or_else(|| self.unclear(&answer))?;
        engines.retain(|(name, _)| (self.keep)(name));
        Ok(engines)
    }

    /// The digest of the right answer.
    pub(super) fn expect(&mut self) -> Result<String> {
        self.ask("expect", "digest")
    }

    /// The digest of an engine's answer, or what is wrong with it.
    pub(super) fn check(&mut self, engine: &str) -> Result<std::result::Result<String, String>> {
        let answer = self.line(&format!("check {engine}"))?;
        match answer.split_once(' ') {
            Some(("digest", digest)) => Ok(Ok(digest.to_owned())),
            Some(("wrong", why)) => Ok(Err(why.to_owned())),
            _ => Err(self.unclear(&answer)),
        }
    }

    /// Seconds that so many calls of an engine take.
    pub(super) fn run(&mut self, engine: &str, calls: u64) -> Result<f64> {
        let answer = self.ask(&format!("run {engine} {calls}"), "seconds")?;
        answer.parse().map_err(|_| self.unclear(&answer))
    }

    /// Gives back the memory of the cell.
    pub(super) fn free(&mut self) -> Result<()> {
        self.ask("free", "ok").map(drop)
    }

    fn ask(&mut self, request: &str, first: &str) -> Result<String> {
        let answer = self.line(request)?;
        match answer.strip_prefix(first) {
            Some(rest) => Ok(rest.trim().to_owned()),
            None => Err(self.unclear(&answer)),
        }
    }

    fn line(&mut self, request: &str) -> Result<String> {
        let requests = self.requests.as_mut().expect("open until dropped");
        let mut answer = String::new();
        let read = writeln!(requests, "{request}")
            .and_then(|()| requests.flush())
            .and_then(|()| self.answers.read_line(&mut answer));
        match read {
            Ok(0) => Err(format!("worker {} ended at '{request}'", self.name)),
            Ok(_) => Ok(answer.trim_end().to_owned()),
            Err(error) => Err(format!("worker {} at '{request}': {error}", self.name)),
        }
    }

    fn unclear(&self, answer: &str) -> String {
        format!("worker {} answered '{answer}'", self.name)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.requests.take());
        // Without requests a worker ends; if it could not be waited for, nothing is lost.
        let _ = self.child.wait();
    }
}
