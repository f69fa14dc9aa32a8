//! `cargo xtask bench`: ours, what others have, and what the machine can do at most, measured in
//! turns in one run.
//!
//! What is measured is data (`benches/definitions/`). Engines live in workers, programs of their
//! own that speak one line protocol (`benches/worker/`, `benches/peers/`). Here the turns are taken, results are
//! compared before any time counts, and the record is written.

mod build;
mod compare;
mod definition;
mod figures;
mod machine;
mod measure;
mod memory;
mod record;
mod worker;

use std::path::PathBuf;
use std::time::Instant;

use crate::shell::Result;
use build::Build;
use compare::Before;
use definition::{Cell, Figure};
use measure::Measured;
use worker::Worker;

/// What was asked for.
pub(crate) struct Options {
    peers: bool,
    size: Size,
    cells: Vec<String>,
    /// The record with which the run is compared.
    compare: Option<PathBuf>,
}

/// How much is measured.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    Full,
    Quick,
    Tiny,
}

impl Size {
    /// Longest arrays.
    fn longest(self) -> u64 {
        match self {
            Size::Full => u64::MAX,
            Size::Quick => 1 << 26,
            Size::Tiny => 1 << 16,
        }
    }

    /// Rounds of turns.
    fn rounds(self) -> usize {
        match self {
            Size::Full => 11,
            Size::Quick => 5,
            Size::Tiny => 1,
        }
    }

    /// Bytes of the file on which the program's memory is measured.
    fn file_bytes(self) -> u64 {
        match self {
            Size::Full => 4 << 30,
            Size::Quick => 256 << 20,
            Size::Tiny => 4 << 20,
        }
    }
}

impl Size {
    /// How what is measured is built: as fast as it can be; or, where one only wants to know whether it runs, as the tests are,
    /// which have built most of it.
    fn build(self) -> Build {
        match self {
            Size::Tiny => {
                Build { ours: "test --workspace --no-run", peers: "build", folder: "debug" }
            }
            Size::Quick | Size::Full => Build {
                ours: "build --release -p upsweep-cli -p upsweep-worker",
                peers: "build --release",
                folder: "release",
            },
        }
    }
}

impl Options {
    /// Reads the options of the command line.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options =
            Options { peers: false, size: Size::Full, cells: Vec::new(), compare: None };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--peers" => options.peers = true,
                "--quick" => options.size = Size::Quick,
                "--tiny" => options.size = Size::Tiny,
                "--cells" => {
                    let pattern = words.next().ok_or("--cells wants words to look for")?;
                    options.cells.extend(pattern.split(',').map(str::to_owned));
                }
                "--compare" => {
                    let record = words.next().ok_or("--compare wants a record, a .csv file")?;
                    options.compare = Some(record.into());
                }
                _ => return Err(format!("`bench` has no option {word}")),
            }
        }
        Ok(options)
    }

    /// One round of everything, short.
    pub(crate) fn tiny() -> Self {
        Options { peers: false, size: Size::Tiny, cells: Vec::new(), compare: None }
    }

    fn wants(&self, cell: &Cell) -> bool {
        cell.items <= self.size.longest() && self.wants_named(&cell.to_string())
    }

    fn wants_named(&self, name: &str) -> bool {
        self.cells.is_empty() || self.cells.iter().any(|word| name.contains(word))
    }
}

/// Everything that was measured, figure by figure.
struct Run {
    figures: Vec<(Figure, Vec<Measured>)>,
    memory: Vec<memory::Peak>,
}

/// Builds, measures and records.
pub(crate) fn run(options: &Options) -> Result<()> {
    let figures = definition::read()?;
    let before = match &options.compare {
        Some(path) => Some(Before::read(path, &machine::describe(false)?.device)?),
        None => None,
    };
    let build = options.size.build();
    let programs = build::workers(options.peers, &build)?;
    let with_memory = options.wants_named("memory");
    let machine = machine::describe(options.peers)?;
    let start = Instant::now();
    let mut workers: Vec<Worker> = programs.iter().map(Worker::start).collect::<Result<_>>()?;
    let mut run = Run { figures: Vec::new(), memory: Vec::new() };
    for figure in figures {
        let mut measured = Vec::new();
        for cell in figure.cells.iter().filter(|cell| options.wants(cell)) {
            let result = measure::cell(&mut workers, cell, options.size.rounds())?;
            println!("{}", figures::line(&result));
            measured.push(result);
        }
        run.figures.push((figure, measured));
    }
    drop(workers);
    if with_memory {
        run.memory = memory::peaks(&build, options.size.file_bytes())?;
    }

    println!("\n{}", figures::table(&run));
    println!("measured in {:.0} s", start.elapsed().as_secs_f64());
    if options.size == Size::Full && options.cells.is_empty() {
        record::write(&run, &machine)?;
    }
    let wrong = run.wrong();
    if !wrong.is_empty() {
        return Err(format!("wrong results:\n{}", wrong.join("\n")));
    }
    let Some(before) = before else { return Ok(()) };
    let (table, slower) = before.table(&run);
    println!("\n{table}");
    if slower.is_empty() {
        Ok(())
    } else {
        Err(format!("slower than before:\n{}", slower.join("\n")))
    }
}

impl Run {
    /// Our own engines that returned something wrong. A peer's wrong result is its own affair: it
    /// is in the record, and its time does not count.
    fn wrong(&self) -> Vec<String> {
        let cells = self.figures.iter().flat_map(|(_, measured)| measured);
        let mut wrong = Vec::new();
        for measured in cells {
            for (name, why) in &measured.wrong {
                if name.starts_with("upsweep") {
                    wrong.push(format!("{} {name}: {why}", measured.cell));
                }
            }
        }
        wrong.extend(self.memory.iter().filter_map(memory::Peak::failure));
        wrong
    }
}
