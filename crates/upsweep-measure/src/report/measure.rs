//! What a page shows, measured now: the work of `bench`, `tune` and `ladder` within one budget, and calls from the host.
//!
//! Each piece is what a command of the program does, whose rows go to memory; the page names the commands. Short arrays come first, so that whatever the budget, every line has a beginning.

use std::time::{Duration, Instant};

use time::OffsetDateTime;
use upsweep::any::Op;
use upsweep::{Device, Dtype, Profile};

use super::figures::Names;
use super::host_calls;
use super::page::{About, Page};
use super::records::Data;
use crate::bench::{self, Bench, Columns};
use crate::device;
use crate::error::{Failure, Result};
use crate::ladder;
use crate::log;
use crate::selection::{Choice, Devices, Primitive, Strategies};
use crate::signals::check_signals;
use crate::tune;
use crate::tune::budget::{Budget, Span};

/// Times that a job is measured at each length.
const SAMPLES: usize = 7;

/// The type of every figure, and the others of the roofline: one, two, four and eight bytes.
const MAIN: Dtype = Dtype::F32;
const OTHERS: [Dtype; 4] = [Dtype::U8, Dtype::F16, Dtype::U32, Dtype::F64];

/// What is done with the items.
const PRIMITIVES: [Primitive; 2] = [Primitive::Reduce, Primitive::InclusiveScan];

/// Times that a step of the ladder is measured.
const LADDER_SAMPLES: usize = 11;

/// Lengths of rows, at the same number of items; none is longer than all of them.
const ROWS: [usize; 6] = [1 << 3, 1 << 5, 100, 1000, 1 << 14, 1 << 20];

/// What rows take beside a length in all ways of the CPU: both axes of each length, in one way.
const ROWS_BESIDE_LENGTH: f64 = 4.0;

/// Parts of the longest array whose rows are measured, for want of time: the figure shows one number of items.
const PARTS: [usize; 4] = [1, 4, 16, 64];

/// Items of an array that caches hold, for the roofline.
const CACHED: usize = 1 << 14;

/// Until when pieces of work are begun, in parts of the time.
struct Until {
    lengths: f64,
    types: f64,
    rows: f64,
    ladders: f64,
}

/// Without a GPU nothing follows the lengths but a few other types, and rows. With one, nearly a third is for its strategies, of which
/// each needs a kernel.
const WITHOUT_GPU: Until = Until { lengths: 0.7, types: 0.8, rows: 1.0, ladders: 1.0 };
const WITH_GPU: Until = Until { lengths: 0.4, types: 0.55, rows: 0.65, ladders: 0.7 };

/// The time, and as much again for each GPU: in three of these an H200, by CUDA and
/// Vulkan, was through with 2^26 items after 70 s.
const BUDGET: Duration = Duration::from_secs(60);

/// What is measured for a page.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where, if not on the CPU and every GPU that is not made of software.
    pub devices: Option<Devices>,
    /// Numbers of items, as far as there is time.
    pub lengths: Vec<usize>,
    /// About how long, if not a minute and one more for each GPU.
    pub budget: Option<Span>,
}

/// Rows and what they are of.
#[derive(Default)]
pub struct Measurements {
    bench: Vec<u8>,
    rows: Vec<u8>,
    tune: Vec<u8>,
    ladder: Vec<u8>,
    commands: Vec<String>,
    names: Names,
    /// Results that differ from the reference.
    wrong: usize,
}

/// Measures as much as fits into the budget.
///
/// # Errors
/// Devices that are not there, and a signal that ends it.
pub fn measure(options: &Options) -> Result<Measurements> {
    let devices = device::several(options.devices.as_ref())?;
    let mut measured = Measurements::default();
    for device in &devices {
        measured.names.insert(device.id().to_owned(), device.limits().name.clone());
    }
    let mut lengths = options.lengths.clone();
    lengths.sort_unstable();
    lengths.dedup();
    let gpus: Vec<Device> = devices.into_iter().filter(|device| device.id() != "cpu").collect();
    let until = if gpus.is_empty() { WITHOUT_GPU } else { WITH_GPU };
    let span = Span(Some(BUDGET * (1 + gpus.len() as u32)));
    let span = options.budget.unwrap_or(span);
    let on_cpu = measured.names.contains_key("cpu");
    let mut run = Run { gpus, on_cpu, budget: Budget::new(span, 1), span, until, measured };
    let (longest, seconds) = run.lengths(&lengths)?;
    run.types(longest, seconds)?;
    run.rows(longest, seconds)?;
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
    measured: Measurements,
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
                self.bench(&["cpu".to_owned()], MAIN, SAMPLES, true, n)?;
            }
            // The GPUs in one command, which share what is expected.
            if !self.gpus.is_empty() {
                self.bench(&self.ids(), MAIN, SAMPLES, false, n)?;
            }
            if self.on_cpu && !self.gpus.is_empty() {
                self.budget.say("calls from the host");
                match host_calls::rows(&self.gpus, n, SAMPLES) {
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
        let ids = self.all_ids();
        for n in lengths {
            for dtype in OTHERS {
                // The CPU does it in one way of three, and no calls come from the host: about half of the work.
                let ratio = dtype.size() as f64 / MAIN.size() as f64;
                let expected = if n == longest { seconds * ratio / 2.0 } else { 0.0 };
                if !self.fits(expected, self.until.types)? {
                    return Ok(());
                }
                self.bench(&ids, dtype, SAMPLES.min(5), false, n)?;
            }
        }
        Ok(())
    }

    /// Rows of several lengths, along memory and across it, of the longest array whose rows there is time for; that array took so many seconds
    /// in all ways of the CPU.
    fn rows(&mut self, longest: usize, seconds: f64) -> Result<()> {
        for part in PARTS {
            let (n, expected) = (longest / part, ROWS_BESIDE_LENGTH * seconds / part as f64);
            let rows: Vec<usize> = ROWS.into_iter().filter(|&length| length <= n).collect();
            if !rows.is_empty() && self.fits(expected, self.until.rows)? {
                return self.bench_rows(n, &rows);
            }
        }
        Ok(())
    }

    /// The ladder of every GPU that has a clock.
    fn ladders(&mut self, longest: usize) -> Result<()> {
        for gpu in self.gpus.clone() {
            if gpu.limits().timestamps && self.fits(0.0, self.until.ladders)? {
                self.ladder(gpu.id(), longest)?;
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
        let ids = self.ids();
        for (number, id) in ids.iter().enumerate() {
            for (job, primitive) in PRIMITIVES.into_iter().enumerate() {
                check_signals()?;
                let left = 2 * (ids.len() - number) - job;
                let time = match self.span.0 {
                    None => "all".to_owned(),
                    Some(span) => {
                        let seconds = span.saturating_sub(self.budget.elapsed()).as_secs_f64();
                        format!("{:.3}", (seconds / left as f64).max(1.0))
                    }
                };
                self.tune(id, primitive, &lengths, &time)?;
            }
        }
        Ok(())
    }

    fn ids(&self) -> Vec<String> {
        self.gpus.iter().map(|gpu| gpu.id().to_owned()).collect()
    }

    /// The CPU, if it is measured, and all GPUs.
    fn all_ids(&self) -> Vec<String> {
        let cpu = self.on_cpu.then(|| "cpu".to_owned());
        cpu.into_iter().chain(self.ids()).collect()
    }

    /// Sums and scans of `n` items in all strategies of a CPU, or as devices choose.
    fn bench(
        &mut self,
        ids: &[String],
        dtype: Dtype,
        samples: usize,
        all_strategies: bool,
        n: usize,
    ) -> Result<()> {
        let words = format!(
            "bench --device {} --op {} --dtype {dtype} --samples {samples}{} --n {n}",
            ids.join(","),
            PRIMITIVES.map(Primitive::name).join(","),
            if all_strategies { " --strategy all" } else { "" },
        );
        let strategies =
            if all_strategies { Strategies::All } else { Strategies::Named(vec![Choice::Auto]) };
        let options = bench_options(ids.to_vec(), dtype, samples, strategies, n);
        self.piece(
            &words,
            |measured| &mut measured.bench,
            || {
                let bench = Bench::new(&options)?;
                let mut lines = vec![bench.columns().heading()];
                let wrong = bench.run(&mut |row| {
                    lines.extend(row.csv(bench.columns()));
                    Ok(())
                })?;
                Ok((lines, wrong))
            },
        )
    }

    /// Sums and scans of rows of these lengths of `n` items, along memory and across it.
    fn bench_rows(&mut self, n: usize, lengths: &[usize]) -> Result<()> {
        let ids = self.all_ids();
        let words = format!(
            "bench --device {} --op {} --dtype {MAIN} --samples {SAMPLES} --n {n} --rows {}",
            ids.join(","),
            PRIMITIVES.map(Primitive::name).join(","),
            lengths.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        );
        let strategies = Strategies::Named(vec![Choice::Auto]);
        let options = bench_options(ids, MAIN, SAMPLES, strategies, n);
        self.piece(
            &words,
            |measured| &mut measured.rows,
            || {
                let bench = Bench::new(&options)?;
                let mut lines = vec![Columns::Rows.heading()];
                let wrong = bench.run_rows(lengths, &mut |row| {
                    lines.extend(row.csv(Columns::Rows));
                    Ok(())
                })?;
                Ok((lines, wrong))
            },
        )
    }

    /// The steps of a sum of `n` items.
    fn ladder(&mut self, id: &str, n: usize) -> Result<()> {
        self.piece(
            &format!("ladder --device {id} --n {n}"),
            |measured| &mut measured.ladder,
            || {
                let climb = ladder::climb(&ladder::open(id)?, n, LADDER_SAMPLES)?;
                let heading = [ladder::COLUMNS.to_owned()];
                Ok((heading.into_iter().chain(climb.records()).collect(), climb.wrong()))
            },
        )
    }

    /// Strategies and sizes of workgroups, for so much time as words say.
    fn tune(
        &mut self,
        id: &str,
        primitive: Primitive,
        lengths: &[usize],
        time: &str,
    ) -> Result<()> {
        let words = format!(
            "tune --device {id} --op {} --dtype {MAIN} --n {} --budget {time} --skip-host",
            primitive.name(),
            lengths.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        );
        let options = tune::Options {
            primitives: vec![primitive],
            operator: Op::Sum,
            dtypes: Some(vec![MAIN]),
            acc: None,
            lengths: Some(lengths.to_vec()),
            budget: Some(time.parse().map_err(Failure::usage)?),
            quick: false,
            skip_host: true,
            has_helpers: true,
        };
        self.piece(
            &words,
            |measured| &mut measured.tune,
            || {
                let mut lines = vec![tune::COLUMNS.to_owned()];
                let mut wrong = 0;
                for device in tune::devices(Some(&Devices::Named(vec![id.to_owned()])))? {
                    let device = device.with_profile(None);
                    wrong += tune::tune(&options, &device, &mut Profile::default(), &mut |row| {
                        lines.push(row.csv());
                        Ok(())
                    })?;
                }
                Ok((lines, wrong))
            },
        )
    }

    /// Does what a command of the program does, and keeps the lines of its record.
    fn piece(
        &mut self,
        words: &str,
        rows: impl FnOnce(&mut Measurements) -> &mut Vec<u8>,
        work: impl FnOnce() -> Result<(Vec<String>, usize)>,
    ) -> Result<()> {
        self.budget.say(words);
        let begun = Instant::now();
        let (lines, wrong) = match work() {
            Ok(done) => done,
            Err(failure) => return left_out(words, failure),
        };
        log!("{words}: {:.1} s", begun.elapsed().as_secs_f64());
        add(rows(&mut self.measured), format!("{}\n", lines.join("\n")).as_bytes());
        self.measured.wrong += wrong;
        self.measured.commands.push(format!("upsweep {words}"));
        self.budget.moved();
        Ok(())
    }
}

/// What `bench` is asked for: sums and scans of `n` items.
fn bench_options(
    ids: Vec<String>,
    dtype: Dtype,
    samples: usize,
    strategies: Strategies,
    n: usize,
) -> bench::Options {
    bench::Options {
        primitives: PRIMITIVES.to_vec(),
        operator: Op::Sum,
        dtypes: vec![dtype],
        acc: None,
        lengths: vec![n],
        devices: Devices::Named(ids),
        strategies,
        instruction_sets: None,
        threads: None,
        samples,
        profile: false,
        energy: false,
    }
}

/// What a device cannot do, or has no memory for, is left out of the page; everything else ends the program.
fn left_out(what: &str, failure: Failure) -> Result<()> {
    match failure {
        Failure::Library(error) => {
            log!("{what}: left out: {error}");
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

impl Measurements {
    /// The records, by the names of their files.
    pub fn records(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let records = [
            ("bench.csv", &self.bench),
            ("rows.csv", &self.rows),
            ("tune.csv", &self.tune),
            ("ladder.csv", &self.ladder),
        ];
        records
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, &text[..]))
    }

    /// How many results differ from the reference.
    pub fn wrong(&self) -> usize {
        self.wrong
    }

    /// A page of it. `names` are what figures call some devices, by their ids.
    ///
    /// # Errors
    /// Nothing was measured.
    pub fn page(&self, title: Option<String>, names: &[(String, String)]) -> Result<Page> {
        let date = OffsetDateTime::now_utc().date();
        let about = About {
            title: title.unwrap_or_else(|| self.machine()),
            origin: format!("measured on {date} by upsweep {}", env!("CARGO_PKG_VERSION")),
            how: self.how(),
            commands: self.commands.clone(),
            names: self.names.clone(),
        };
        Page::new(self.data()?, about, names)
    }

    /// The rows, read from the text that a record has.
    fn data(&self) -> Result<Data> {
        let mut data = Data::default();
        for (_, text) in self.records() {
            data.add(text).map_err(Failure::usage)?;
        }
        Ok(data)
    }

    /// The names of all devices.
    fn machine(&self) -> String {
        let names: Vec<&str> = self.names.values().map(String::as_str).collect();
        names.join(", ")
    }

    /// What was measured, in a paragraph.
    fn how(&self) -> String {
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
