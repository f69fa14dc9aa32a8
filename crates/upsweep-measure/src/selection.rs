//! What is measured, and where: primitives, types, strategies, devices and lengths by their names, and lists of them.

use std::fmt::{self, Display};
use std::str::FromStr;

use upsweep::any::Op;
use upsweep::strategy::{CpuStrategy, GpuReduceStrategy, GpuScanStrategy, Strategy};
use upsweep::{Device, Dtype, Error, InstructionSet};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// All items combined.
    Reduce,
    /// The position of the smallest item.
    ArgMin,
    /// The position of the largest item.
    ArgMax,
    /// Every prefix with its last item.
    InclusiveScan,
    /// Every prefix without it.
    ExclusiveScan,
    /// The items that flags keep.
    Select,
    /// All items, those that flags keep in front.
    Partition,
    /// The numbers of the items that are not 0.
    Positions,
    /// The first item of each run of equal ones.
    Unique,
    /// The same, and the length of each run.
    RunLengthEncode,
}

impl Primitive {
    const ALL: [(Primitive, &'static str); 10] = [
        (Primitive::Reduce, "reduce"),
        (Primitive::ArgMin, "argmin"),
        (Primitive::ArgMax, "argmax"),
        (Primitive::InclusiveScan, "inclusive_scan"),
        (Primitive::ExclusiveScan, "exclusive_scan"),
        (Primitive::Select, "select"),
        (Primitive::Partition, "partition"),
        (Primitive::Positions, "positions"),
        (Primitive::Unique, "unique"),
        (Primitive::RunLengthEncode, "run_length_encode"),
    ];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }

    /// Whether the result is a position.
    pub fn is_position(self) -> bool {
        matches!(self, Self::ArgMin | Self::ArgMax)
    }

    /// Whether the result is an array.
    pub fn scans(self) -> bool {
        matches!(self, Self::InclusiveScan | Self::ExclusiveScan)
    }

    /// Whether items are kept or not, and none are combined.
    pub fn compacts(self) -> bool {
        matches!(self, Self::Select | Self::Partition | Self::Positions) || self.has_runs()
    }

    /// Whether it is about runs of equal items.
    pub fn has_runs(self) -> bool {
        matches!(self, Self::Unique | Self::RunLengthEncode)
    }

    /// The operator: the primitive's own, or else `operator`.
    pub fn op(self, operator: Op) -> Op {
        match self {
            Self::ArgMin => Op::ArgMin,
            Self::ArgMax => Op::ArgMax,
            // What is counted is added up.
            _ if self.compacts() => Op::Sum,
            _ => operator,
        }
    }
}

impl FromStr for Primitive {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(primitive, _)| primitive).ok_or_else(|| Error::UnknownName {
            what: "primitive",
            name: name.to_owned(),
            known: Self::ALL.map(|(_, name)| name).join(" "),
        })
    }
}

/// Something that has a name, and of which there are so many.
pub trait Named: FromStr<Err = Error> + Copy {
    /// Every one.
    fn every() -> Vec<Self>;
}

impl Named for Primitive {
    fn every() -> Vec<Self> {
        Self::ALL.map(|(primitive, _)| primitive).to_vec()
    }
}

impl Named for Dtype {
    fn every() -> Vec<Self> {
        Dtype::ALL.to_vec()
    }
}

impl Named for InstructionSet {
    fn every() -> Vec<Self> {
        InstructionSet::available()
    }
}

/// Names between commas, or `all`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names<T>(pub Vec<T>);

impl<T: Named> FromStr for Names<T> {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self, Error> {
        if list == "all" {
            return Ok(Self(T::every()));
        }
        list.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// A strategy of some device for some primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// What the device chooses.
    Auto,
    /// One of a CPU.
    Cpu(CpuStrategy),
    /// One of a GPU's reductions.
    GpuReduce(GpuReduceStrategy),
    /// One of a GPU's scans.
    GpuScan(GpuScanStrategy),
}

impl Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Choice::Auto => f.write_str("auto"),
            Choice::Cpu(strategy) => strategy.fmt(f),
            Choice::GpuReduce(strategy) => Strategy::GpuReduce(strategy).fmt(f),
            Choice::GpuScan(strategy) => Strategy::GpuScan(strategy).fmt(f),
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        if name == "auto" {
            return Ok(Choice::Auto);
        }
        if !name.contains('/') {
            return name.parse().map(Choice::Cpu);
        }
        match name.parse() {
            Ok(strategy) => Ok(Choice::GpuReduce(strategy)),
            Err(_) => name.parse().map(Choice::GpuScan),
        }
    }
}

/// Strategies between commas, or `all` that a device has for a primitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategies {
    /// Every one that a device has.
    All,
    /// These.
    Named(Vec<Choice>),
}

impl FromStr for Strategies {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self, Error> {
        if list == "all" {
            return Ok(Self::All);
        }
        let names = list.split(',').map(|name| name.trim().parse());
        names.collect::<Result<_, _>>().map(Self::Named)
    }
}

impl Strategies {
    /// Those to measure on a CPU.
    pub fn on_cpu(&self) -> Vec<Choice> {
        match self {
            Self::All => CpuStrategy::ALL.iter().copied().map(Choice::Cpu).collect(),
            Self::Named(named) => named.clone(),
        }
    }

    /// Those to measure on a GPU: of reductions or of scans.
    pub fn on_gpu(&self, scans: bool) -> Vec<Choice> {
        match self {
            Self::All if scans => GpuScanStrategy::all().map(Choice::GpuScan).collect(),
            Self::All => GpuReduceStrategy::all().map(Choice::GpuReduce).collect(),
            Self::Named(named) => named.clone(),
        }
    }
}

/// Devices between commas, or `all` that are usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// Every one that is usable.
    All,
    /// These.
    Named(Vec<String>),
}

impl Devices {
    /// The ids of the devices.
    pub fn ids(&self) -> Vec<String> {
        match self {
            Self::All => Device::list().usable.into_iter().map(|device| device.id).collect(),
            Self::Named(ids) => ids.clone(),
        }
    }
}

impl FromStr for Devices {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self, Error> {
        Ok(match list {
            "all" => Self::All,
            list => Self::Named(list.split(',').map(|id| id.trim().to_owned()).collect()),
        })
    }
}

/// Numbers of items between commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lengths(pub Vec<usize>);

impl FromStr for Lengths {
    type Err = String;

    fn from_str(list: &str) -> Result<Self, String> {
        list.split(',')
            .map(|length| self::length(length.trim()))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// An integer, or an integer raised to one.
fn length(text: &str) -> Result<usize, String> {
    let wrong = || format!("'{text}' is not a number of items; 1000 and 2^20 are");
    let Some((base, exponent)) = text.split_once('^') else {
        return text.parse().map_err(|_| wrong());
    };
    let (base, exponent): (usize, u32) =
        (base.parse().map_err(|_| wrong())?, exponent.parse().map_err(|_| wrong())?);
    base.checked_pow(exponent).ok_or_else(|| format!("'{text}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        assert_eq!("1000, 2^10,10^3".parse(), Ok(Lengths(vec![1000, 1024, 1000])));
        for wrong in ["", "x", "2^", "^2", "2^64", "1.5", "-1"] {
            assert!(wrong.parse::<Lengths>().is_err(), "{wrong}");
        }
        assert_eq!("f32,u8".parse(), Ok(Names(vec![Dtype::F32, Dtype::U8])));
        assert_eq!("all".parse::<Names<Primitive>>().map(|names| names.0.len()), Ok(10));
        let simd = Choice::Cpu(CpuStrategy::Simd);
        assert_eq!("auto,simd".parse(), Ok(Strategies::Named(vec![Choice::Auto, simd])));
        for name in ["striped-16-exact/cooperative/look-back", "blocked-4-checked/raking/atomic"] {
            assert_eq!(name.parse::<Choice>().map(|choice| choice.to_string()), Ok(name.into()));
        }
        assert_eq!(Strategies::All.on_gpu(true).len(), 180);
        assert_eq!(Strategies::All.on_gpu(false).len(), 108);
        let error = "sort".parse::<Names<Primitive>>().expect_err("no such primitive").to_string();
        assert!(error.contains("'sort'") && error.contains("exclusive_scan"), "{error}");
    }
}
