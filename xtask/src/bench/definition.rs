//! What is measured, read from `benches/definitions/*.toml`.

use std::fmt;
use std::fs;

use serde::Deserialize;

use crate::shell::{Result, root};

/// A file: figures of one primitive.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    op: Vec<String>,
    input: String,
    moves: Moves,
    figure: Vec<Row>,
}

/// A figure as the file states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    job: String,
    types: Vec<String>,
    lengths: Vec<String>,
    threads: Threads,
    wanted: Vec<String>,
}

/// The fewest bytes a job must move, and so the limit it is measured against.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Moves {
    /// Reads its input.
    Read,
    /// Reads its input and writes as much.
    Copy,
}

/// With how many threads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Threads {
    /// Engines and limits of one thread.
    One,
    /// As many as an engine likes.
    All,
}

/// A job, its cells and what is wanted of them.
pub(super) struct Figure {
    pub(super) job: String,
    /// All must be met.
    pub(super) wanted: Vec<Wanted>,
    pub(super) cells: Vec<Cell>,
}

/// One array and what is done to it.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) op: String,
    pub(super) input: String,
    pub(super) dtype: String,
    pub(super) acc: String,
    pub(super) items: u64,
    pub(super) moves: Moves,
    pub(super) threads: Threads,
}

/// Alternatives, one of which must be met.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) text: String,
    pub(super) terms: Vec<Term>,
}

/// What can be wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Term {
    /// At least this part of the machine's limit.
    Limit(f64),
    /// At least this many times the best peer.
    Peer(f64),
    /// Not slower than the best peer, beyond the noise of the two.
    Level,
    /// At least this many GB/s.
    Speed(f64),
    /// At most this many nanoseconds a call.
    Nanoseconds(f64),
}

impl Cell {
    /// The fewest bytes that the job must move.
    pub(super) fn bytes(&self) -> u64 {
        let passes = if self.moves == Moves::Copy { 2 } else { 1 };
        self.items * self.item_bytes() * passes
    }

    fn item_bytes(&self) -> u64 {
        let bits = self.dtype.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        bits.parse::<u64>().expect("checked when the file was read") / 8
    }

    /// The length as people say it.
    pub(super) fn length(&self) -> String {
        if self.items.is_power_of_two() && self.items >= 1024 {
            format!("2^{}", self.items.ilog2())
        } else {
            self.items.to_string()
        }
    }

    /// Item type, and the accumulator's where it is another.
    pub(super) fn types(&self) -> String {
        if self.dtype == self.acc {
            self.dtype.clone()
        } else {
            format!("{}→{}", self.dtype, self.acc)
        }
    }
}

/// The name that `--cells` looks into.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.op, self.dtype, self.acc, self.length())?;
        if self.threads == Threads::One { write!(f, ":one-thread") } else { Ok(()) }
    }
}

/// Every figure, file by file in the order of their names.
pub(super) fn read() -> Result<Vec<Figure>> {
    let folder = root().join("benches/definitions");
    let say = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .map_err(say)?
        .map(|entry| entry.map(|entry| entry.path()).map_err(say))
        .collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    let mut figures = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(say)?;
        let file: File =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        for row in &file.figure {
            let figure = figure(&file, row);
            figures.push(figure.map_err(|why| format!("{}: {}: {why}", path.display(), row.job))?);
        }
    }
    Ok(figures)
}

fn figure(file: &File, row: &Row) -> Result<Figure> {
    let wanted = row.wanted.iter().map(|text| wanted(text)).collect::<Result<_>>()?;
    let mut cells = Vec::new();
    for length in &row.lengths {
        for op in &file.op {
            for types in &row.types {
                cells.push(cell(file, row, op, types, length)?);
            }
        }
    }
    Ok(Figure { job: row.job.clone(), wanted, cells })
}

fn cell(file: &File, row: &Row, op: &str, types: &str, length: &str) -> Result<Cell> {
    let (dtype, acc) = types.split_once(' ').unwrap_or((types, types));
    let bits = dtype.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    bits.parse::<u64>().map_err(|_| format!("'{dtype}' is not a type"))?;
    let items = match length.split_once('^') {
        Some((base, exponent)) => base
            .parse()
            .ok()
            .zip(exponent.parse().ok())
            .and_then(|(base, exponent): (u64, u32)| base.checked_pow(exponent)),
        None => length.parse().ok(),
    };
    Ok(Cell {
        op: op.to_owned(),
        input: file.input.clone(),
        dtype: dtype.to_owned(),
        acc: acc.to_owned(),
        items: items.ok_or_else(|| format!("'{length}' is not a length"))?,
        moves: file.moves,
        threads: row.threads,
    })
}

/// Reads `limit 0.9`, `peer 1.3`, `level`, `gbps 80`, `ns 40`, and alternatives with `or`.
fn wanted(text: &str) -> Result<Wanted> {
    let term = |text: &str| {
        let (word, number) = text.split_once(' ').unwrap_or((text, ""));
        let number = number.parse::<f64>().map_err(|_| format!("'{text}' has no number"));
        match word {
            "limit" => Ok(Term::Limit(number?)),
            "peer" => Ok(Term::Peer(number?)),
            "level" => Ok(Term::Level),
            "gbps" => Ok(Term::Speed(number?)),
            "ns" => Ok(Term::Nanoseconds(number?)),
            _ => Err(format!("nothing that can be wanted is called '{word}'")),
        }
    };
    let terms = text.split(" or ").map(term).collect::<Result<_>>()?;
    Ok(Wanted { text: text.to_owned(), terms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_is_read() {
        let figures = read().expect("valid definitions");
        let cells: Vec<_> = figures.iter().flat_map(|figure| &figure.cells).collect();
        assert!(cells.iter().any(|cell| cell.to_string() == "sum:u8:u64:2^26"));
        let scan = cells.iter().find(|cell| cell.to_string() == "inclusive_scan:f64:f64:2^26");
        assert_eq!(scan.expect("in the definitions").bytes(), 1 << 30);
    }

    #[test]
    fn alternatives_and_mistakes() {
        let both = wanted("gbps 80 or limit 0.85").expect("two terms");
        assert_eq!(both.terms, [Term::Speed(80.0), Term::Limit(0.85)]);
        assert!(wanted("peer").is_err());
        assert!(wanted("luck 2").is_err());
    }
}
