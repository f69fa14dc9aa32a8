//! `--compare RECORD.csv`: what became of each cell since a record of the same machine.
//!
//! Times of two runs are not compared: the machine may have had another clock, or less to itself. What is compared is the
//! part of the limit that ours reached, which both runs measured in turns. Quartiles say how noisy each part is: it lies
//! between the limit's fast quarter by our slow one, and the other way round. Where these ranges of two runs overlap,
//! the order of the medians says nothing.

use std::fmt::{self, Display, Write};
use std::path::Path;

use serde::Deserialize;

use super::Run;
use super::definition::{Cell, Threads};
use super::measure::{Engine, Measured};
use crate::shell::Result;

/// A line of a record, as far as it is compared.
#[derive(Clone, Deserialize)]
struct Line {
    device: String,
    op: String,
    dtype: String,
    acc: String,
    n: u64,
    cell_threads: String,
    engine: String,
    median_us: Option<f64>,
    q1_us: Option<f64>,
    q3_us: Option<f64>,
}

/// A record of this machine.
pub(super) struct Before(Vec<Line>);

/// Which part of the limit was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    median: f64,
    lower: f64,
    upper: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Faster,
    Slower,
    WithinNoise,
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Faster => "faster",
            Self::Slower => "**slower**",
            Self::WithinNoise => "within the noise",
        })
    }
}

impl Part {
    /// From quartiles of seconds a call, of ours and of the limit.
    fn new(ours: [f64; 3], limit: [f64; 3]) -> Self {
        Self { median: limit[1] / ours[1], lower: limit[0] / ours[2], upper: limit[2] / ours[0] }
    }

    fn of(measured: &Measured) -> Option<Self> {
        let quartiles = |engine: &Engine| [0.25, 0.5, 0.75].map(|part| engine.quantile(part));
        Some(Self::new(quartiles(measured.ours()?), quartiles(measured.limit()?)))
    }

    fn since(&self, before: &Self) -> Verdict {
        if self.lower > before.upper {
            Verdict::Faster
        } else if self.upper < before.lower {
            Verdict::Slower
        } else {
            Verdict::WithinNoise
        }
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, lower, upper] = [self.median, self.lower, self.upper].map(|part| 100.0 * part);
        write!(f, "{median:.0} % ({lower:.0} to {upper:.0})")
    }
}

impl Before {
    /// Reads a record, and refuses those of other machines.
    pub(super) fn read(path: &Path, device: &str) -> Result<Self> {
        let say = |error: &dyn Display| format!("{}: {error}", path.display());
        let text = std::fs::read(path).map_err(|error| say(&error))?;
        Self::parse(&text, device).map_err(|error| say(&error))
    }

    fn parse(text: &[u8], device: &str) -> Result<Self> {
        let lines = csv::Reader::from_reader(text).into_deserialize();
        let lines: Vec<Line> = lines
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| format!("this is no record of `cargo xtask bench`: {error}"))?;
        if lines.is_empty() {
            return Err("the record is empty".to_owned());
        }
        match lines.iter().find(|line| line.device != device) {
            Some(other) => Err(format!(
                "the record is of {}, and this is {device}: records of different machines are not compared",
                other.device
            )),
            None => Ok(Self(lines)),
        }
    }

    /// What was reached in a cell.
    fn part(&self, cell: &Cell) -> Option<Part> {
        let (threads, ours) = match cell.threads {
            Threads::One => ("one", "upsweep.simd"),
            Threads::All => ("all", "upsweep"),
        };
        let of_cell = |line: &&Line| {
            line.op == cell.op
                && line.dtype == cell.dtype
                && line.acc == cell.acc
                && line.n == cell.items
                && line.cell_threads == threads
        };
        let quartiles = |line: &Line| Some([line.q1_us?, line.median_us?, line.q3_us?]);
        let lines = || self.0.iter().filter(of_cell);
        let ours = lines().find(|line| line.engine == ours).and_then(quartiles)?;
        let limits = lines().filter(|line| line.engine.starts_with("limit."));
        let limit = limits.filter_map(quartiles).min_by(|a, b| a[1].total_cmp(&b[1]))?;
        Some(Part::new(ours, limit))
    }

    /// A table of what became of each cell, and the cells that are slower.
    pub(super) fn table(&self, run: &Run) -> (String, Vec<String>) {
        let mut text = String::from(
            "| job | cell | of the limit before | of the limit now | now it is |\n|---|---|---|---|---|\n",
        );
        let mut slower = Vec::new();
        for (figure, cells) in &run.figures {
            for measured in cells {
                let (before, now) = (self.part(&measured.cell), Part::of(measured));
                let verdict = now.zip(before).map(|(now, before)| now.since(&before));
                if verdict == Some(Verdict::Slower) {
                    slower.push(measured.cell.to_string());
                }
                let shown =
                    |part: Option<Part>| part.map_or("–".to_owned(), |part| part.to_string());
                let verdict = verdict.map_or("not measured in both".to_owned(), |v| v.to_string());
                let (job, cell) = (&figure.job, &measured.cell);
                let (before, now) = (shown(before), shown(now));
                let _ = writeln!(text, "| {job} | {cell} | {before} | {now} | {verdict} |");
            }
        }
        (text, slower)
    }
}

#[cfg(test)]
mod tests {
    use super::super::definition;
    use super::*;

    const HEAD: &str = "device,op,dtype,acc,n,cell_threads,engine,threads,median_us,min_us,q1_us,q3_us,max_us,\
                        samples,disturbed,gbps,limit_gbps,pct_of_limit,checked\n";

    #[test]
    fn only_ranges_that_do_not_overlap_differ() {
        let before = Part::new([1.9, 2.0, 2.1], [0.95, 1.0, 1.05]);
        assert_eq!(before.median, 0.5);
        // All twice as slow: another clock, and nothing else.
        assert_eq!(Part::new([3.8, 4.0, 4.2], [1.9, 2.0, 2.1]), before);
        assert_eq!(
            Part::new([2.0, 2.2, 2.3], [0.95, 1.0, 1.05]).since(&before),
            Verdict::WithinNoise
        );
        assert_eq!(Part::new([2.9, 3.0, 3.1], [0.95, 1.0, 1.05]).since(&before), Verdict::Slower);
        assert_eq!(Part::new([1.4, 1.5, 1.6], [0.95, 1.0, 1.05]).since(&before), Verdict::Faster);
        assert_eq!(
            Part::new([1.0, 3.0, 9.0], [0.5, 1.0, 2.0]).since(&before),
            Verdict::WithinNoise
        );
    }

    #[test]
    fn what_a_record_says_of_a_cell() {
        let figures = definition::read().expect("valid definitions");
        let cell = &figures[0].cells[0];
        let (name, threads) = match cell.threads {
            Threads::One => ("upsweep.simd", "one"),
            Threads::All => ("upsweep", "all"),
        };
        let start =
            format!("here,{},{},{},{},{threads}", cell.op, cell.dtype, cell.acc, cell.items);
        let text = format!(
            "{HEAD}{start},{name},1,4,3,3.5,5,6,11,0,1,2,50,ok\n{start},limit.read,1,2,1,2,2.5,3,11,0,2,2,100,limit\n\
             {start},limit.slow,1,9,9,9,9,9,11,0,2,2,100,limit\n{start},numpy,,,,,,,0,,,,,it is wrong\n"
        );
        let before = Before::parse(text.as_bytes(), "here").expect("a record");
        let expected = Part::new([3.5, 4.0, 5.0], [2.0, 2.0, 2.5]);
        assert_eq!(before.part(cell), Some(expected));
        assert_eq!(expected.to_string(), "50 % (40 to 71)");

        let engine = |name: &str, samples: [f64; 3]| Engine {
            name: name.into(),
            threads: 1,
            samples: samples.into(),
        };
        let measured = Measured {
            cell: cell.clone(),
            engines: vec![engine(name, [8.0; 3]), engine("limit.read", [2.0; 3])],
            wrong: Vec::new(),
            disturbed: 0,
            left_out: None,
        };
        let figure = definition::read().expect("valid definitions").remove(0);
        let run = Run { figures: vec![(figure, vec![measured])], memory: Vec::new() };
        let (table, slower) = before.table(&run);
        assert_eq!(slower, [cell.to_string()]);
        assert!(table.contains("| 50 % (40 to 71) | 25 % (25 to 25) | **slower** |"), "{table}");
    }

    #[test]
    fn other_machines_and_other_files_are_refused() {
        let line = "there,reduce,u8,u64,1,one,upsweep,1,4,3,3.5,5,6,11,0,1,2,50,ok\n";
        let refused = |text: &str| Before::parse(text.as_bytes(), "here").err().expect("refused");
        let said = refused(&format!("{HEAD}{line}"));
        assert!(said.contains("is of there, and this is here"), "{said}");
        assert!(refused(HEAD).contains("empty"));
        assert!(refused("job,items,ms\nsum,1,2\n").contains("no record"));
        assert!(refused(&format!("{HEAD}{}", line.replace("4,3,", "x,3,"))).contains("no record"));
    }
}
