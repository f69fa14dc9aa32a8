//! What a page is made of: rows of the records that `bench`, `tune` and `ladder` write.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, Result};

/// A row of `bench --csv`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct BenchRow {
    pub(crate) device: String,
    pub(crate) op: String,
    pub(crate) dtype: String,
    pub(crate) n: u64,
    pub(crate) strategy: String,
    pub(crate) median_us: Option<f64>,
    pub(crate) min_us: Option<f64>,
    pub(crate) max_us: Option<f64>,
    pub(crate) gbps: Option<f64>,
    pub(crate) limit_gbps: Option<f64>,
    pub(crate) pct_of_limit: Option<f64>,
    pub(crate) first_call_us: Option<f64>,
    pub(crate) checked: String,
    /// Records with profiles have a row for each launch too, which belongs to the row before.
    #[serde(default, skip_serializing)]
    dispatch: Option<String>,
    /// Of rows along an axis, how they lie and how long they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) axis: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) length: Option<u64>,
}

/// A row of `tune --csv`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct TuneRow {
    pub(crate) device: String,
    pub(crate) op: String,
    pub(crate) dtype: String,
    pub(crate) n: u64,
    pub(crate) strategy: String,
    pub(crate) threads_per_workgroup: u32,
    pub(crate) items_per_thread: u32,
    pub(crate) median_us: Option<f64>,
    pub(crate) default_us: Option<f64>,
    pub(crate) limit_us: Option<f64>,
    pub(crate) checked: String,
}

/// A row of `ladder --csv`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct LadderRow {
    pub(crate) device: String,
    pub(crate) n: u64,
    pub(crate) step: String,
    pub(crate) change: String,
    pub(crate) bottleneck: String,
    pub(crate) median_us: Option<f64>,
    pub(crate) min_us: Option<f64>,
    pub(crate) max_us: Option<f64>,
    pub(crate) gbps: Option<f64>,
    pub(crate) limit_gbps: Option<f64>,
    pub(crate) pct_of_limit: Option<f64>,
    pub(crate) step_speedup: Option<f64>,
    pub(crate) speedup: Option<f64>,
    pub(crate) checked: String,
}

/// Everything that a page shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Data {
    pub(crate) bench: Vec<BenchRow>,
    /// Those of `bench --rows`.
    pub(crate) rows: Vec<BenchRow>,
    pub(crate) tune: Vec<TuneRow>,
    pub(crate) ladder: Vec<LadderRow>,
}

impl Data {
    /// Adds the rows of a file.
    pub(crate) fn read(&mut self, path: &Path) -> Result<()> {
        let text = fs::read(path).map_err(|error| Failure::file("read", path, error))?;
        let problem = |why: String| Failure::usage(format!("'{}': {why}", path.display()));
        self.add(&text).map_err(problem)
    }

    /// Adds the rows of a record, of whichever kind it is.
    pub(crate) fn add(&mut self, text: &[u8]) -> std::result::Result<(), String> {
        let mut reader = csv::Reader::from_reader(text);
        let columns = reader.headers().map_err(|error| error.to_string())?;
        // A column that only this kind has.
        let has = |name: &str| columns.iter().any(|column| column == name);
        let (bench, tune, ladder) =
            (has("first_call_us"), has("threads_per_workgroup"), has("step_speedup"));
        if bench {
            let rows = rows::<BenchRow>(&mut reader)?.into_iter();
            let (along, whole): (Vec<_>, Vec<_>) =
                rows.filter(|row| row.dispatch.is_none()).partition(|row| row.axis.is_some());
            self.bench.extend(whole);
            self.rows.extend(along);
        } else if tune {
            self.tune.extend(rows::<TuneRow>(&mut reader)?);
        } else if ladder {
            self.ladder.extend(rows::<LadderRow>(&mut reader)?);
        } else {
            return Err("no record as bench, tune or ladder write it with --csv".to_owned());
        }
        Ok(())
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.bench.is_empty()
            && self.rows.is_empty()
            && self.tune.is_empty()
            && self.ladder.is_empty()
    }
}

fn rows<T: DeserializeOwned>(
    reader: &mut csv::Reader<&[u8]>,
) -> std::result::Result<Vec<T>, String> {
    reader.deserialize().collect::<csv::Result<_>>().map_err(|error| error.to_string())
}

/// Fewest bytes that `n` items of such a job need: a reduction reads its input once, a scan also writes its output once.
/// Nothing if the names are not those of a job.
pub(crate) fn bytes(op: &str, dtype: &str, n: u64) -> Option<f64> {
    let (from, to) = dtype.split_once("->").unwrap_or((dtype, dtype));
    let size = |name: &str| -> Option<f64> {
        Some(match name {
            "u8" | "i8" => 1.0,
            "u16" | "i16" | "f16" | "bf16" => 2.0,
            "u32" | "i32" | "f32" => 4.0,
            "u64" | "i64" | "f64" => 8.0,
            _ => return None,
        })
    };
    let each = if op.contains("scan") { size(from)? + size(to)? } else { size(from)? };
    Some(each * n as f64)
}

impl TuneRow {
    /// 10^9 bytes a second of so many microseconds.
    pub(crate) fn rate(&self, us: Option<f64>) -> Option<f64> {
        Some(bytes(&self.op, &self.dtype, self.n)? / us.filter(|us| *us > 0.0)? / 1e3)
    }

    /// Load, local and global strategy of a GPU; rows of a CPU's numbers have none.
    pub(crate) fn levels(&self) -> Option<[&str; 3]> {
        levels(&self.strategy).filter(|_| self.threads_per_workgroup > 0)
    }

    /// Whether a time was measured, and of a right result.
    pub(crate) fn is_right(&self) -> bool {
        self.checked == "ok" && self.median_us.is_some()
    }
}

/// The three levels of a GPU's strategy.
pub(crate) fn levels(strategy: &str) -> Option<[&str; 3]> {
    let mut parts = strategy.split('/');
    let levels = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(levels)
}

impl BenchRow {
    /// Whether a time was measured, and of a right result.
    pub(crate) fn is_right(&self) -> bool {
        self.checked == "ok" && self.median_us.is_some()
    }

    /// The rates of the slowest and of the fastest sample: they are to the median as their times are.
    pub(crate) fn spread(&self) -> Option<(f64, f64)> {
        let rate =
            |us: Option<f64>| Some(self.gbps? * self.median_us? / us.filter(|us| *us > 0.0)?);
        rate(self.max_us).zip(rate(self.min_us))
    }

    /// The primitive, and from where to where it was timed if that is not the rule.
    pub(crate) fn place(&self) -> (&str, Option<&str>) {
        match self.op.split_once('@') {
            Some((op, place)) => (op, Some(place)),
            None => (&self.op, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BENCH: &str = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,\
        pct_of_limit,first_call_us,checked";

    #[test]
    fn rows_are_read_by_their_columns() {
        let mut data = Data::default();
        data.add(format!("{BENCH}\ncpu,reduce,f32,8,simd,1.5,1,2,3,6,50,9,ok\ncpu,reduce,f32,9,simd,,,,,,,,\"no, not\"\n").as_bytes())
            .expect("a record");
        assert_eq!((data.bench[0].median_us, data.bench[0].n), (Some(1.5), 8));
        assert!(data.bench[0].is_right() && !data.bench[1].is_right());
        assert_eq!(data.bench[1].checked, "no, not");
        let launches = format!(
            "{BENCH},dispatch,workgroups,bytes,lower_us,upper_us\n\
            g,reduce,f32,8,a/b/c,1,1,1,1,1,1,1,ok,,,,,\ng,reduce,f32,8,a/b/c,1,,,1,1,1,,ok,fold,4,32,1,1\n"
        );
        data.add(launches.as_bytes()).expect("a record with profiles");
        assert_eq!(data.bench.len(), 3);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for (text, why) in [
            ("", "no record"),
            ("a,b\n1,2\n", "no record"),
            (&format!("{BENCH}\ncpu,reduce,f32,many,simd,1,1,2,3,6,50,9,ok\n"), "n"),
            (&format!("{BENCH}\ncpu,reduce,f32\n"), "line: 2"),
            ("\u{0}\u{1}", "no record"),
        ] {
            let error = Data::default().add(text.as_bytes()).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
        assert!(Data::default().add(b"step_speedup\n\xff\xfe\n").is_err());
    }

    #[test]
    fn jobs_have_bytes() {
        assert_eq!(bytes("reduce", "f32", 10), Some(40.0));
        assert_eq!(bytes("inclusive_scan/max", "u8->u64", 10), Some(90.0));
        assert_eq!(bytes("reduce", "c64", 10), None);
        assert_eq!(
            levels("striped-16-exact/raking/atomic"),
            Some(["striped-16-exact", "raking", "atomic"])
        );
        assert_eq!(levels("simd+threads"), None);
    }
}
