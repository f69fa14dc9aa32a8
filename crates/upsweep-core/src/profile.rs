//! What a tuning run measured on one device, for policies to read first.
//!
//! A profile says of some pieces of work, at some lengths, which strategy was the fastest and with which numbers. A call of a
//! length in between takes those of the nearest one. Of what a profile says nothing about, everything is chosen as it is without
//! one: so are arrays of more than twice the longest length, and so is what a device refuses. It changes speed, never a result.

use core::any::TypeId;

use crate::{
    BitAnd, BitOr, BitXor, CpuPolicy, Dtype, Element, Extreme, GpuReduceStrategy, GpuScanStrategy,
    Kind, Max, Min, Number, Operator, Product, Sum, WorkgroupPolicy,
};

/// As much of a problem as its speed depends on, besides its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operator's name: of a search for a position `argmin` or `argmax`.
    pub operator: &'static str,
    /// The items' type.
    pub item: Dtype,
    /// The type of a reduction's result, or of a scan's output.
    pub output: Dtype,
}

/// The names of operators that a profile knows.
pub const PROFILED: [&str; 9] =
    ["sum", "product", "min", "max", "and", "or", "xor", "argmin", "argmax"];

impl Work {
    /// That of a reduction or a scan; `None` unless these are numbers and a built-in operator.
    pub fn of<T: Element, U: Element, O: Operator<A>, A: Element>() -> Option<Self> {
        let (Kind::Number(item), Kind::Number(output)) = (T::KIND, U::KIND) else { return None };
        is_built_in::<O>().then_some(Self { operator: O::NAME, item, output })
    }

    /// That of a search.
    pub fn of_position<T: Number>(extreme: Extreme) -> Self {
        let operator = match extreme {
            Extreme::Smallest => "argmin",
            Extreme::Largest => "argmax",
        };
        Self { operator, item: T::DTYPE, output: Dtype::U64 }
    }
}

/// Whether this is one of ours: known when a call is compiled.
fn is_built_in<O: 'static>() -> bool {
    let ours = [
        TypeId::of::<Sum>(),
        TypeId::of::<Product>(),
        TypeId::of::<Min>(),
        TypeId::of::<Max>(),
        TypeId::of::<BitAnd>(),
        TypeId::of::<BitOr>(),
        TypeId::of::<BitXor>(),
    ];
    ours.contains(&TypeId::of::<O>())
}

/// The fastest that was found of one piece of work, at one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best<S> {
    /// Items.
    pub items: u64,
    /// Which algorithm, at each level.
    pub strategy: S,
    /// The numbers.
    pub policy: WorkgroupPolicy,
    /// What was measured.
    pub measured: Measured,
}

/// Times of one row of a profile, and what they are held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Median, in microseconds.
    pub median_us: f64,
    /// The same bytes, moved without arithmetic, in the same run.
    pub limit_us: f64,
    /// What would have been chosen without a profile, in the same run.
    pub default_us: f64,
}

/// The rows of one piece of work, shorter arrays before longer ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<S> {
    work: Work,
    best: Vec<Best<S>>,
}

impl<S: Copy> Rows<S> {
    /// Rows in any order; of two of one length the first is kept.
    pub fn new(work: Work, mut best: Vec<Best<S>>) -> Self {
        best.sort_by_key(|best| best.items);
        best.dedup_by_key(|best| best.items);
        Self { work, best }
    }

    /// What they are of.
    pub fn work(&self) -> Work {
        self.work
    }

    /// The rows.
    pub fn best(&self) -> &[Best<S>] {
        &self.best
    }

    /// The microseconds that so many items should take: between two lengths that were measured on the line through them, both
    /// axes being logarithmic; of more than the longest in proportion to them, of fewer than the shortest as much as those.
    pub fn expected_us(&self, items: u64) -> Option<f64> {
        expected(self.best.iter().map(|best| (best.items, best.measured.median_us)), items)
    }

    /// That of the nearest length, as a ratio. What is more than twice as long as the longest is not near: on an H200 the numbers that
    /// were the best for 2^26 `f32` are 8 % slower than the rules' for 2^28.
    fn nearest(&self, items: u64) -> Option<&Best<S>> {
        let next = self.best.partition_point(|best| best.items < items);
        let (before, after) = (self.best[..next].last(), self.best.get(next));
        match (before, after) {
            (Some(before), Some(after)) => {
                let square = u128::from(items) * u128::from(items);
                let between = u128::from(before.items) * u128::from(after.items);
                Some(if square < between { before } else { after })
            }
            (Some(longest), None) => (items / 2 <= longest.items).then_some(longest),
            (None, after) => after,
        }
    }
}

/// What a call does to its arrays, which decides what it costs to bring them to a GPU and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// It reads an array, and leaves a value.
    Reads,
    /// It reads an array, and writes one.
    Copies,
}

/// How long calls took from the host's call to the host's result, arrays being in the host's memory: on this GPU, and in turns
/// with it on the machine's CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FromHost {
    /// The CPU: its name, threads and instruction set.
    pub cpu: String,
    /// Of calls that read, fewer bytes before more.
    pub reads: Vec<Crossing>,
    /// Of calls that copy, fewer bytes before more.
    pub copies: Vec<Crossing>,
}

/// The times of one number of bytes, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Bytes that a call must read and write.
    pub bytes: u64,
    /// Median on the GPU.
    pub gpu_us: f64,
    /// Median on the CPU.
    pub cpu_us: f64,
}

impl FromHost {
    /// What is known of one kind of traffic.
    pub fn of(&self, traffic: Traffic) -> &[Crossing] {
        match traffic {
            Traffic::Reads => &self.reads,
            Traffic::Copies => &self.copies,
        }
    }

    /// What both take for so many bytes: between two that were measured on the line through them, both axes being logarithmic; of
    /// more than the most in proportion to them, of fewer than the fewest as much as those.
    pub fn expected(&self, traffic: Traffic, bytes: u64) -> Option<Crossing> {
        let rows = self.of(traffic);
        let column = |time: fn(&Crossing) -> f64| {
            expected(rows.iter().map(|row| (row.bytes, time(row))), bytes)
        };
        let (gpu_us, cpu_us) = (column(|row| row.gpu_us)?, column(|row| row.cpu_us)?);
        Some(Crossing { bytes, gpu_us, cpu_us })
    }
}

/// The time at `size`, of times at sizes that grow.
fn expected(rows: impl Iterator<Item = (u64, f64)>, size: u64) -> Option<f64> {
    let mut before: Option<(u64, f64)> = None;
    for (at, time) in rows {
        let Some((last, lower)) = before.filter(|_| at > size) else {
            if at > size {
                return Some(time);
            }
            before = Some((at, time));
            continue;
        };
        let way = |size: u64| (size.max(1) as f64 / last.max(1) as f64).ln();
        let part = way(size) / way(at);
        return Some(lower * (time / lower).powf(part));
    }
    before.map(|(last, time)| time * (size.max(1) as f64 / last.max(1) as f64).max(1.0))
}

/// What was measured on one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Name of the device, as [`Limits::name`](crate::Limits::name).
    pub device: String,
    /// The interface that it is reached through, as [`Limits::interface`](crate::Limits::interface).
    pub interface: String,
    /// Version of the driver, as [`Limits::driver`](crate::Limits::driver).
    pub driver: String,
    /// Where the measurements came from: a date, and the record if there is one.
    pub measured: String,
    /// Reductions and searches on a GPU.
    pub reductions: Vec<Rows<GpuReduceStrategy>>,
    /// Scans on a GPU.
    pub scans: Vec<Rows<GpuScanStrategy>>,
    /// The numbers of a CPU.
    pub cpu: Option<CpuPolicy>,
    /// Those for items of one type, where they were found by themselves: of a reduction the type that is read, of a scan the one that is
    /// written. What is known of a type holds for all of as many bytes that are floats, or are none.
    pub cpu_types: Vec<(Dtype, CpuPolicy)>,
    /// What calls on a GPU take whose arrays are in the host's memory.
    pub from_host: Option<FromHost>,
}

/// The rows of this work, of which there are few.
fn rows<S>(all: &[Rows<S>], work: Work) -> Option<&Rows<S>> {
    all.iter().find(|rows| rows.work == work)
}

impl Profile {
    /// What was the fastest for a reduction or a search of so many items, if this is known.
    pub fn reduction(&self, work: Work, items: u64) -> Option<&Best<GpuReduceStrategy>> {
        rows(&self.reductions, work)?.nearest(items)
    }

    /// The microseconds that a reduction or a search of so many items should take, if this is known.
    pub fn expected_reduction_us(&self, work: Work, items: u64) -> Option<f64> {
        rows(&self.reductions, work)?.expected_us(items)
    }

    /// The microseconds that a scan of so many items should take, if this is known.
    pub fn expected_scan_us(&self, work: Work, items: u64) -> Option<f64> {
        rows(&self.scans, work)?.expected_us(items)
    }

    /// What was the fastest for a scan of so many items, if this is known.
    pub fn scan(&self, work: Work, items: u64) -> Option<&Best<GpuScanStrategy>> {
        rows(&self.scans, work)?.nearest(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Work = Work { operator: "sum", item: Dtype::U8, output: Dtype::U32 };

    fn best(items: u64, threads_per_workgroup: u32) -> Best<GpuReduceStrategy> {
        Best {
            items,
            strategy: "striped-16-exact/cooperative/atomic".parse().expect("a cell"),
            policy: WorkgroupPolicy { threads_per_workgroup, items_per_thread: 16 },
            measured: Measured { median_us: 2.0, limit_us: 1.0, default_us: 3.0 },
        }
    }

    fn threads_at(profile: &Profile, items: u64) -> Option<u32> {
        Some(profile.reduction(WORK, items)?.policy.threads_per_workgroup)
    }

    #[test]
    fn the_nearest_length_is_taken() {
        let rows = Rows::new(WORK, vec![best(1 << 20, 256), best(1 << 10, 32), best(1 << 10, 64)]);
        let profile = Profile { reductions: vec![rows], ..Profile::default() };
        for (items, threads) in [
            (0, 32),
            (1, 32),
            (1 << 10, 32),
            ((1 << 15) - 1, 32),
            (1 << 15, 256),
            (1 << 20, 256),
            (1 << 21, 256),
        ] {
            assert_eq!(threads_at(&profile, items), Some(threads), "{items}");
        }
        assert_eq!(threads_at(&profile, (1 << 21) + 2), None);
        assert_eq!(threads_at(&profile, u64::MAX), None);
        let other = Work { output: Dtype::U64, ..WORK };
        assert_eq!(profile.reduction(other, 1 << 10), None);
        assert_eq!(profile.scan(WORK, 1 << 10), None);
        assert_eq!(threads_at(&Profile::default(), 1), None);
    }

    #[test]
    fn times_in_between_are_expected() {
        let row = |bytes, gpu_us, cpu_us| Crossing { bytes, gpu_us, cpu_us };
        let reads =
            vec![row(1 << 10, 10.0, 1.0), row(1 << 14, 10.0, 16.0), row(1 << 16, 40.0, 64.0)];
        let from_host = FromHost { reads, ..FromHost::default() };
        let at = |bytes| from_host.expected(Traffic::Reads, bytes).expect("there are rows");
        let near = |found: Crossing, gpu_us: f64, cpu_us: f64| {
            let apart = (found.gpu_us / gpu_us - 1.0).abs() + (found.cpu_us / cpu_us - 1.0).abs();
            assert!(apart < 1e-9, "{found:?}, not {gpu_us} and {cpu_us}");
        };
        near(at(0), 10.0, 1.0);
        near(at(1 << 10), 10.0, 1.0);
        near(at(1 << 12), 10.0, 4.0);
        near(at(1 << 15), 20.0, 32.0);
        near(at(1 << 16), 40.0, 64.0);
        near(at(1 << 20), 640.0, 1024.0);
        assert_eq!(from_host.expected(Traffic::Copies, 1), None);
    }

    #[test]
    fn operators_of_ones_own_are_not_known_by_their_names() {
        #[derive(Clone, Copy)]
        struct Own;
        impl Operator<u32> for Own {
            const NAME: &'static str = "sum";
            const COMMUTATIVE: bool = false;
            fn identity(&self) -> u32 {
                0
            }
            fn combine(&self, left: u32, _: u32) -> u32 {
                left
            }
        }
        assert_eq!(Work::of::<u32, u32, Own, u32>(), None);
        assert_eq!(Own.combine(Own.identity(), 1), 0);
        let sum = Work { operator: "sum", item: Dtype::U8, output: Dtype::U32 };
        assert_eq!(Work::of::<u8, u32, Sum, u32>(), Some(sum));
        assert_eq!(Work::of_position::<f32>(Extreme::Largest).operator, "argmax");
        assert!(PROFILED.contains(&<Max as Operator<f32>>::NAME));
    }
}
