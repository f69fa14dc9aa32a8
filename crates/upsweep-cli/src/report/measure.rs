//! What a page shows, measured now: the work of `bench`, `tune` and `ladder` within one budget, and calls from the host.
//!
//! Each piece is a command of the program, which is run here and not in a program of its own; its rows go to memory. The page
//! names the commands. Short arrays come first, so that whatever the budget, every line has a beginning.

use std::time::{Duration, Instant};

use clap::Parser;
use upsweep::{Device, Dtype};

use crate::args::{Arguments, Command, ReportArguments};
use crate::bench;
use crate::bench::report::Record;
use crate::error::{Failure, Result};
use crate::progress::check_signals;
use crate::tune::{self, Budget, Span};
use crate::{device, ladder};

use super::data::Data;
use super::figures::Names;
use super::host;

/// Times that a job is measured at each length.
const SAMPLES: usize = 7;

/// The type of every figure, and the others of the roofline: one, two, four and eight bytes.
const MAIN: Dtype = Dtype::F32;
const OTHERS: [Dtype; 4] = [Dtype::U8, Dtype::F16, Dtype::U32, Dtype::F64];

/// Items of an array that caches hold, for the roofline.
const CACHED: usize = 1 << 14;

/// Until when pieces of work are begun, in parts of the time.
struct Until {
    lengths: f64,
    types: f64,
    ladders: f64,
}

/// Without a GPU nothing follows the lengths but a few other types. With one, nearly a third is for its strategies, of which
/// each needs a kernel.
const WITHOUT_GPU: Until = Until { lengths: 0.8, types: 0.9, ladders: 0.9 };
const WITH_GPU: Until = Until { lengths: 0.45, types: 0.65, ladders: 0.7 };

/// The time, and as much again for each GPU: in three of these an H200, by CUDA and
/// Vulkan, was through with 2^26 items after 70 s.
const BUDGET: Duration = Duration::from_secs(60);

/// Rows and what they are of.
#[derive(Default)]
pub(super) struct Measured {
    bench: Vec<u8>,
    tune: Vec<u8>,
    ladder: Vec<u8>,
    pub(super) commands: Vec<String>,
    pub(super) names: Names,
    /// Results that differ from the reference.
    pub(super) wrong: usize,
}

/// Measures as much as fits into the budget.
pub(super) fn all(arguments: &ReportArguments) -> Result<Measured> {
    let devices = device::several(arguments.device.as_ref())?;
    let mut measured = Measured::default();
    for device in &devices {
        measured.names.insert(device.id().to_owned(), device.limits().name.clone());
    }
    let mut lengths = arguments.n.0.clone();
    lengths.sort_unstable();
    lengths.dedup();
    let gpus: Vec<Device> = devices.into_iter().filter(|device| device.id() != "cpu").collect();
    let until = if gpus.is_empty() { WITHOUT_GPU } else { WITH_GPU };
    let span = Span(Some(BUDGET * (1 + gpus.len() as u32)));
    let span = arguments.budget.unwrap_or(span);
    let on_cpu = measured.names.contains_key("cpu");
    let mut run = Run { gpus, on_cpu, budget: Budget::new(span, 1), span, until, measured };
    let (longest, seconds) = run.lengths(&lengths)?;
    run.types(longest, seconds)?;
    run.ladders(longest)?;
    run.sweeps(longest)?;
    Ok(run.measured)
}

struct Run {
    gpus: Vec<Device>,
    on_cpu: bool,
    budget: Budget,
    span: Span,
    until: Until,
    measured: Measured,
}

impl Run {
    /// Whether work of so many seconds is over before this part of the time is.
    fn fits(&self, seconds: f64, part: f64) -> Result<bool> {
        check_signals()?;
        let spent = self.budget.elapsed().as_secs_f64();
        Ok(self.span.0.is_none_or(|span| spent + seconds <= part * span.as_secs_f64()))
    }

    /// Every strategy of the CPU and what GPUs choose, at every length that there is time for; the longest of those, and the
    /// seconds that it took.
    fn lengths(&mut self, lengths: &[usize]) -> Result<(usize, f64)> {
        let jobs = format!("--op reduce,inclusive_scan --dtype {MAIN} --samples {SAMPLES}");
        let (mut longest, mut spent) = (0, [0.0f64; 2]);
        for &n in lengths {
            // What two lengths differ by grows in proportion; kernels and warming up take what they took.
            let ratio = n as f64 / longest.max(1) as f64;
            let expected = spent[1] + ratio * (spent[1] - spent[0]).max(0.0);
            if longest > 0 && !self.fits(expected, self.until.lengths)? {
                break;
            }
            let begun = Instant::now();
            if self.on_cpu {
                self.command(&format!("bench --device cpu {jobs} --strategy all --n {n}"))?;
            }
            // The GPUs in one command, which share what is expected.
            if !self.gpus.is_empty() {
                self.command(&format!("bench --device {} {jobs} --n {n}", self.ids().join(",")))?;
            }
            if self.on_cpu && !self.gpus.is_empty() {
                self.budget.say("calls from the host");
                match host::rows(&self.gpus, n, SAMPLES) {
                    Ok((rows, wrong)) => {
                        add(&mut self.measured.bench, rows.as_bytes());
                        self.measured.wrong += wrong;
                    }
                    Err(failure) => left_out("calls from the host", failure)?,
                }
            }
            let took = begun.elapsed().as_secs_f64();
            (longest, spent) = (n, if longest == 0 { [took; 2] } else { [spent[1], took] });
        }
        Ok((longest, spent[1]))
    }

    /// Other types, in caches and at the longest length, which took so many seconds in all ways of the CPU.
    fn types(&mut self, longest: usize, seconds: f64) -> Result<()> {
        let mut lengths = vec![CACHED.min(longest), longest];
        lengths.dedup();
        let cpu = self.on_cpu.then(|| "cpu".to_owned());
        let ids = cpu.into_iter().chain(self.ids()).collect::<Vec<_>>().join(",");
        for n in lengths {
            for dtype in OTHERS {
                // The CPU does it in one way of three, and no calls come from the host: about half of the work.
                let ratio = dtype.size() as f64 / MAIN.size() as f64;
                let expected = if n == longest { seconds * ratio / 2.0 } else { 0.0 };
                if !self.fits(expected, self.until.types)? {
                    return Ok(());
                }
                let jobs = format!("--op reduce,inclusive_scan --dtype {dtype}");
                let samples = SAMPLES.min(5);
                self.command(&format!("bench --device {ids} {jobs} --samples {samples} --n {n}"))?;
            }
        }
        Ok(())
    }

    /// The ladder of every GPU that has a clock.
    fn ladders(&mut self, longest: usize) -> Result<()> {
        for gpu in self.gpus.clone() {
            if gpu.limits().timestamps && self.fits(0.0, self.until.ladders)? {
                self.command(&format!("ladder --device {} --n {longest}", gpu.id()))?;
            }
        }
        Ok(())
    }

    /// Strategies and sizes of workgroups, in all the time that is left.
    fn sweeps(&mut self, longest: usize) -> Result<()> {
        // Shortest, middle and longest; what is compared and what is limited by memory.
        let mut lengths =
            vec![longest.min(1 << 10), longest.min(1 << 16), longest.min(1 << 20), longest];
        lengths.dedup();
        let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
        let lengths = lengths.join(",");
        let ids = self.ids();
        for (number, id) in ids.iter().enumerate() {
            for (job, op) in ["reduce", "inclusive_scan"].into_iter().enumerate() {
                check_signals()?;
                let left = 2 * (ids.len() - number) - job;
                let time = match self.span.0 {
                    None => "all".to_owned(),
                    Some(span) => {
                        let seconds = span.saturating_sub(self.budget.elapsed()).as_secs_f64();
                        format!("{:.3}", (seconds / left as f64).max(1.0))
                    }
                };
                let job = format!("--op {op} --dtype {MAIN} --n {lengths} --budget {time}");
                self.command(&format!("tune --device {id} {job} --skip-host"))?;
            }
        }
        Ok(())
    }

    fn ids(&self) -> Vec<String> {
        self.gpus.iter().map(|gpu| gpu.id().to_owned()).collect()
    }

    /// Does what a command of the program does, and keeps its rows.
    fn command(&mut self, words: &str) -> Result<()> {
        self.budget.say(words);
        let parsed = Arguments::try_parse_from(std::iter::once("upsweep").chain(words.split(' ')))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let in_memory = || Ok(Record::in_memory());
        let begun = Instant::now();
        let measured = &mut self.measured;
        let (done, rows) = match &parsed.command {
            Command::Bench(bench) => (bench::measure(bench, in_memory), &mut measured.bench),
            Command::Tune(tune) => (tune::tried(tune, Record::in_memory()), &mut measured.tune),
            Command::Ladder(ladder) => (ladder::measure(ladder, in_memory), &mut measured.ladder),
            _ => return Err(Failure::usage(format!("'{words}' measures nothing"))),
        };
        let (record, wrong) = match done {
            Ok(done) => done,
            Err(failure) => return left_out(words, failure),
        };
        crate::log::log!("{words}: {:.1} s", begun.elapsed().as_secs_f64());
        add(rows, &record.into_text());
        measured.wrong += wrong;
        measured.commands.push(format!("upsweep {words}"));
        self.budget.moved();
        Ok(())
    }
}

/// What a device cannot do, or has no memory for, is left out of the page; everything else ends the program.
fn left_out(what: &str, failure: Failure) -> Result<()> {
    match failure {
        Failure::Library(error) => {
            crate::log::log!("{what}: left out: {error}");
            Ok(())
        }
        other => Err(other),
    }
}

/// Adds the rows of a record to others of its kind, under one heading.
fn add(rows: &mut Vec<u8>, record: &[u8]) {
    let heading = record.iter().position(|byte| *byte == b'\n').map_or(record.len(), |end| end + 1);
    rows.extend(if rows.is_empty() { record } else { &record[heading..] });
}

impl Measured {
    /// The records, by the names of their files.
    pub(super) fn records(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let records =
            [("bench.csv", &self.bench), ("tune.csv", &self.tune), ("ladder.csv", &self.ladder)];
        records
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, &text[..]))
    }

    /// The rows, read from the text that a record has.
    pub(super) fn data(&self) -> Result<Data> {
        let mut data = Data::default();
        for (_, text) in self.records() {
            data.add(text).map_err(Failure::usage)?;
        }
        Ok(data)
    }

    /// The names of all devices.
    pub(super) fn machine(&self) -> String {
        let names: Vec<&str> = self.names.values().map(String::as_str).collect();
        names.join(", ")
    }

    /// What was measured, in a paragraph.
    pub(super) fn how(&self) -> String {
        let gpu = if self.names.keys().any(|id| id != "cpu") {
            " Arrays of a GPU are in its memory, and its times those of its own clock where it has one, unless a figure says \
              otherwise."
        } else {
            ""
        };
        format!(
            "Every time is a median of calls in turns with the limit, which moves the same bytes without arithmetic; \
             arrays are used again and again, so that short ones lie in caches. Every result was compared with \
             the reference, bit for bit.{gpu}"
        )
    }
}
