//! From when on a GPU is the better place.

use std::collections::BTreeMap;

use super::plot::power_of_two;
use super::records::Data;

/// Where items are when a call begins, and what its time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In the host's memory, as is the result: the transfer counts.
    Host,
    /// On the device; the host waits for the result.
    Resident,
    /// On the device, by whose clock it is timed.
    Clock,
}

impl Place {
    /// As rows name it, behind the primitive.
    fn of(name: Option<&str>) -> Option<Self> {
        match name {
            None => Some(Self::Clock),
            Some("host") => Some(Self::Host),
            Some("resident") => Some(Self::Resident),
            Some(_) => None,
        }
    }

    /// In a few words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Host => "items on the host",
            Self::Resident => "items on the device",
            Self::Clock => "device's clock",
        }
    }

    fn clause(self) -> &'static str {
        match self {
            Self::Host => "With items and result in the host's memory, transfers included",
            Self::Resident => "With items that are on the device already",
            Self::Clock => "By the device's own clock, which leaves out the host's call",
        }
    }
}

/// Where one line comes below another for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Crossing {
    /// Not at any length that both have.
    Never,
    /// Not at the longest length, though at another.
    Lost,
    /// It was below at every length.
    Always,
    /// From so many items on.
    At(f64),
}

impl Crossing {
    /// From when on `other` takes less time than `cpu`, up to the longest that both have; between two lengths both are
    /// taken as straight in logarithms. Nothing if they share no length.
    pub(crate) fn of(cpu: &[(u64, f64)], other: &[(u64, f64)]) -> Option<Self> {
        let cpu: BTreeMap<u64, f64> = cpu.iter().copied().collect();
        let both = other.iter().filter_map(|&(n, us)| {
            // How many times as long the CPU takes, as a logarithm.
            cpu.get(&n).map(|cpu| ((n as f64).ln(), (cpu / us).ln()))
        });
        let mut both: Vec<(f64, f64)> = both.collect();
        both.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let (_, last) = *both.last()?;
        if last <= 0.0 {
            let is_never = both.iter().all(|(_, ratio)| *ratio <= 0.0);
            return Some(if is_never { Self::Never } else { Self::Lost });
        }
        let Some(before) = both.iter().rposition(|(_, ratio)| *ratio <= 0.0) else {
            return Some(Self::Always);
        };
        let ((n, ratio), (next_n, next_ratio)) = (both[before], both[before + 1]);
        let at = n + (next_n - n) * -ratio / (next_ratio - ratio);
        Some(Self::At(at.exp()))
    }

    /// What that means for the caller.
    pub(crate) fn sentence(self, device: &str, place: Place) -> String {
        let clause = place.clause();
        match self {
            Self::Never => {
                format!(
                    "{clause}, the CPU is the better place than {device} at every length measured."
                )
            }
            Self::Lost => {
                format!(
                    "{clause}, the CPU is the better place than {device} at the longest length measured."
                )
            }
            Self::Always => format!("{clause}, {device} is faster at every length measured."),
            Self::At(n) => format!("{clause}, {device} is faster from {} on.", near(n)),
        }
    }
}

/// A number of items that was found between two that were measured: no more exact than a power of two.
pub(crate) fn near(n: f64) -> String {
    format!("about {} items", power_of_two(n.log2().round().exp2()))
}

/// Lengths below which a line says nothing.
const FEWEST: usize = 3;

/// One job on a CPU and on others.
#[derive(Debug)]
pub(crate) struct Contest {
    pub(crate) op: String,
    pub(crate) dtype: String,
    /// Lengths and microseconds.
    pub(crate) cpu: Vec<(u64, f64)>,
    pub(crate) others: Vec<Contender>,
}

/// One of the others.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) device: String,
    pub(crate) place: Place,
    pub(crate) times: Vec<(u64, f64)>,
    pub(crate) crossing: Crossing,
}

impl Contest {
    /// Every job that both did.
    pub(crate) fn all(data: &Data) -> Vec<Self> {
        type Times = BTreeMap<u64, f64>;
        type Lines<'a> = BTreeMap<(&'a str, Place), Times>;
        let mut jobs: BTreeMap<(&str, &str), Lines<'_>> = BTreeMap::new();
        for row in data.bench.iter().filter(|row| row.is_right()) {
            let (op, place) = row.place();
            let (Some(place), Some(us)) = (Place::of(place), row.median_us) else { continue };
            let lines = jobs.entry((op, &row.dtype)).or_default();
            let us_before =
                lines.entry((&row.device, place)).or_default().entry(row.n).or_insert(us);
            *us_before = us_before.min(us);
        }
        let list = |times: &Times| times.iter().map(|(&n, &us)| (n, us)).collect::<Vec<_>>();
        let contest = |((op, dtype), lines): ((&str, &str), Lines<'_>)| {
            // Measured in turns with the others if it was, or else by itself.
            let cpu = lines.get(&("cpu", Place::Host)).or(lines.get(&("cpu", Place::Clock)));
            let cpu = list(cpu?);
            if cpu.len() < FEWEST {
                return None;
            }
            let others = lines.iter().filter(|((device, _), _)| *device != "cpu");
            let others = others.filter_map(|((device, place), times)| {
                let times = list(times);
                let crossing = Crossing::of(&cpu, &times)?;
                Some(Contender { device: (*device).to_owned(), place: *place, times, crossing })
            });
            let others: Vec<Contender> = others.collect();
            let (op, dtype) = (op.to_owned(), dtype.to_owned());
            (!others.is_empty()).then_some(Self { op, dtype, cpu, others })
        };
        jobs.into_iter().filter_map(contest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cross_where_they_are_equal() {
        let cpu = [(16, 1.0), (64, 4.0), (256, 16.0)];
        let flat = |us: f64| [(16, us), (64, us), (256, us)];
        assert_eq!(Crossing::of(&cpu, &flat(20.0)), Some(Crossing::Never));
        assert_eq!(Crossing::of(&cpu, &flat(0.5)), Some(Crossing::Always));
        let steep = [(16, 2.0), (64, 3.0), (256, 20.0)];
        assert_eq!(Crossing::of(&cpu, &steep), Some(Crossing::Lost));
        let Some(Crossing::At(n)) = Crossing::of(&cpu, &flat(8.0)) else { panic!("they cross") };
        assert!((n - 128.0).abs() < 1e-6, "{n}");
        // Of several crossings it is the last that counts.
        let twice = [(16, 0.5), (64, 8.0), (256, 8.0)];
        let Some(Crossing::At(n)) = Crossing::of(&cpu, &twice) else { panic!("they cross") };
        assert!((n - 128.0).abs() < 1e-6, "{n}");
        // Lengths that only one has do not count.
        assert_eq!(Crossing::of(&cpu, &[(32, 0.1)]), None);
        assert_eq!(Crossing::of(&cpu, &[(32, 9.0), (256, 1.0)]), Some(Crossing::Always));
    }

    #[test]
    fn calls_from_the_host_meet_calls_on_the_device() {
        let mut data = Data::default();
        let rows = [8, 64, 512].map(|n| {
            let us = f64::from(n) / 8.0;
            format!("cpu,reduce@host,f32,{n},simd,{us},1,1,,,,9,ok\ng,reduce@resident,f32,{n},auto,4,1,1,,,,9,ok\n")
        });
        let columns = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,pct_of_limit,first_call_us,checked";
        data.add(format!("{columns}\n{}", rows.concat()).as_bytes()).expect("a record");
        let contests = Contest::all(&data);
        let other = &contests[0].others[0];
        assert_eq!((other.place, other.device.as_str()), (Place::Resident, "g"));
        let Crossing::At(n) = other.crossing else { panic!("they cross") };
        assert!((n - 32.0).abs() < 1e-6, "{n}");
        assert_eq!(near(n), "about 2⁵ items");
    }
}
