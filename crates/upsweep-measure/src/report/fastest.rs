//! The fastest that was found of each job.

use std::collections::BTreeMap;

use super::records::{BenchRow, Data};

/// The fastest that was found of a job at a length.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Best {
    pub(crate) device: String,
    pub(crate) op: String,
    pub(crate) dtype: String,
    pub(crate) n: u64,
    pub(crate) strategy: String,
    /// Threads of a workgroup and items of a thread, where they were chosen.
    pub(crate) sizes: Option<(u32, u32)>,
    pub(crate) median_us: f64,
    pub(crate) gbps: Option<f64>,
    pub(crate) limit_gbps: Option<f64>,
}

impl Best {
    /// How much of the limit that is.
    pub(crate) fn percent(&self) -> Option<f64> {
        Some(100.0 * self.gbps? / self.limit_gbps?)
    }

    fn of(row: &BenchRow) -> Option<Self> {
        Some(Self {
            device: row.device.clone(),
            op: row.op.clone(),
            dtype: row.dtype.clone(),
            n: row.n,
            strategy: row.strategy.clone(),
            sizes: None,
            median_us: row.median_us?,
            gbps: row.gbps,
            limit_gbps: row.limit_gbps,
        })
    }

    /// Of every job, in the order of devices, jobs and lengths.
    pub(crate) fn all(data: &Data) -> Vec<Self> {
        let bench = data.bench.iter().filter(|row| row.is_right() && row.place().1.is_none());
        let tune = data.tune.iter().filter(|row| row.is_right() && row.levels().is_some());
        let tune = tune.filter_map(|row| {
            Some(Self {
                device: row.device.clone(),
                op: row.op.clone(),
                dtype: row.dtype.clone(),
                n: row.n,
                strategy: row.strategy.clone(),
                sizes: Some((row.threads_per_workgroup, row.items_per_thread)),
                median_us: row.median_us?,
                gbps: row.rate(row.median_us),
                limit_gbps: row.rate(row.limit_us),
            })
        });
        let mut best: BTreeMap<(String, String, String, u64), Self> = BTreeMap::new();
        for found in bench.filter_map(Self::of).chain(tune) {
            let key = (found.device.clone(), found.op.clone(), found.dtype.clone(), found.n);
            match best.get(&key) {
                Some(before) if before.median_us <= found.median_us => {}
                _ => drop(best.insert(key, found)),
            }
        }
        best.into_values().collect()
    }

    /// Of every job that at its longest length.
    pub(crate) fn longest(all: &[Self]) -> Vec<&Self> {
        let same = |one: &Self, other: &Self| {
            (&one.device, &one.op, &one.dtype) == (&other.device, &other.op, &other.dtype)
        };
        let last = all
            .iter()
            .enumerate()
            .filter(|(at, best)| all.get(at + 1).is_none_or(|next| !same(best, next)));
        last.map(|(_, best)| best).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_of_any_record() {
        let mut data = Data::default();
        data.add(b"device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,pct_of_limit,first_call_us,checked\n\
            g,reduce,f32,1000,a/b/c,2,2,2,2,4,50,9,ok\n\
            g,reduce,f32,10,a/b/c,1,1,1,.04,4,1,9,ok\n\
            g,reduce,f32,1000,a/b/d,0.5,2,2,2,4,50,9,wrong\n\
            cpu,reduce@host,f32,1000,simd,4,2,2,,,,9,ok\n").expect("a record");
        data.add(b"device,op,dtype,n,strategy,threads_per_workgroup,items_per_thread,median_us,default_us,limit_us,checked\n\
            g,reduce,f32,1000,a/b/e,256,4,1,2,0.5,ok\n").expect("a record");
        let all = Best::all(&data);
        assert_eq!(all.len(), 2);
        let longest = Best::longest(&all);
        assert_eq!(longest.len(), 1);
        assert_eq!((longest[0].strategy.as_str(), longest[0].sizes), ("a/b/e", Some((256, 4))));
        assert_eq!((longest[0].gbps, longest[0].percent()), (Some(4.0), Some(50.0)));
    }
}
