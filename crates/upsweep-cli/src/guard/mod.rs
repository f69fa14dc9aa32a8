//! The guard against slower versions: `upsweep bench --save NAME` keeps a program with the rows that it measured, and
//! `--compare NAME` lets it run once more, in turns with the program of today.
//!
//! Times of different hours tell little: clocks change, and other programs come and go. What is kept is therefore the
//! program itself; the times beside it are never compared with anything.

mod compare;
pub(crate) mod interval;
mod kept;

use std::num::NonZeroUsize;
use std::str::FromStr;

use clap::Args;

pub(crate) use compare::run;
pub(crate) use kept::Keeper;

/// What is kept, and what is compared with it.
#[derive(Debug, Args)]
pub(crate) struct GuardArguments {
    /// Keep the rows and this program under a name, for --compare
    #[arg(long, value_name = "NAME", conflicts_with_all = ["compare", "profile"])]
    pub(crate) save: Option<Name>,

    /// Measure what was kept under a name again, in turns with this program
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "profile", "op", "operator", "dtype", "acc", "n", "strategy", "isa", "threads",
    ])]
    pub(crate) compare: Option<Name>,

    /// Compare only rows whose name, like cpu/reduce/u32/1024/auto, contains one of these words between commas
    #[arg(long, value_name = "LIST", requires = "compare", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Rounds of a comparison: from 15 on one of them may go astray
    #[arg(long, value_name = "K", requires = "compare", default_value = "15")]
    pub(crate) rounds: NonZeroUsize,

    /// Differences below this do not count in a comparison
    #[arg(long, value_name = "PERCENT", requires = "compare", default_value = "3%")]
    pub(crate) threshold: Percent,
}

/// A name that a folder may have.
#[derive(Clone, Debug)]
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(known) {
            return Err(
                "a name has up to 64 letters, digits, '-', '_' and '.', the last not in front",
            );
        }
        Ok(Self(name.to_owned()))
    }
}

/// A part of a hundred, as a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Percent(pub(crate) f64);

impl FromStr for Percent {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
        let number = number.filter(|number| (0.0..=100.0).contains(number));
        number.map(|number| Self(number / 100.0)).ok_or("a threshold is a number from 0% to 100%")
    }
}
