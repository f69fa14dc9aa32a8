//! `cargo xtask checks PROFILE CHECK…`: what several checks of one device say together of a profile.
//!
//! `upsweep tune --check` compares what a profile chose with the fastest of dozens of other cells. The lowest of so many medians
//! is lower than the same cell will be again, so that each check finds rows to be a few per cent behind, other rows each time. What is
//! faster indeed is so again: here a cell counts that came to the end of two checks or more together with the choice, and how far
//! the choice is behind it is the geometric mean of the ratios of their times, which each check measured in turns. That still
//! flatters the other cell, which comes to the end of a check only where it did well.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::Path;

use serde::Deserialize;

use crate::shell::Result;

/// How many checks must have measured two cells before these are compared.
const CHECKS: usize = 2;

/// How many rows are shown, those furthest behind.
const SHOWN: usize = 10;

/// A strategy and its numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    strategy: String,
    threads_per_workgroup: u32,
    items_per_thread: u32,
}

impl Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strategy, threads_per_workgroup, items_per_thread } = self;
        write!(f, "`{strategy}` {threads_per_workgroup} × {items_per_thread}")
    }
}

/// What is chosen for: a primitive, the type of its items, how many there are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    op: &'static str,
    item: String,
    items: u64,
}

impl Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} `{}`", self.op, self.items, self.item)
    }
}

/// The primitives that checks measure, and where a profile has their rows.
const OPS: [&str; 2] = ["reduce", "inclusive_scan"];

/// A row of a profile, as far as it is read here. The library reads all of it, and takes minutes to build.
#[derive(Deserialize)]
struct Row {
    operator: String,
    item: String,
    items: u64,
    strategy: String,
    threads_per_workgroup: u32,
    items_per_thread: u32,
}

/// The rows of a profile for GPUs.
#[derive(Deserialize)]
struct Profile {
    reduce: Vec<Row>,
    scan: Vec<Row>,
}

/// A line of a check.
#[derive(Deserialize)]
struct Line {
    op: String,
    dtype: String,
    n: u64,
    strategy: String,
    threads_per_workgroup: u32,
    items_per_thread: u32,
    median_us: Option<f64>,
    checked: String,
}

/// Microseconds of each cell that came to the end, by job, in one check.
type Check = BTreeMap<Job, BTreeMap<Cell, f64>>;

/// What checks say of one choice of a profile.
#[derive(Debug, PartialEq)]
struct Verdict {
    job: Job,
    chosen: Cell,
    /// The cell that the choice is furthest behind, if it is behind any, and by what factor in the mean and in each check.
    behind: Option<(Cell, f64, Vec<f64>)>,
}

/// The chore.
pub(crate) fn run(profile: &str, checks: &[&str]) -> Result<()> {
    let chosen = open(Path::new(profile), choices)?;
    let checks = checks.iter().map(|path| open(Path::new(path), read));
    let checks = checks.collect::<Result<Vec<_>>>()?;
    let (verdicts, unknown) = judge(&chosen, &checks);
    println!("{}", table(&verdicts, unknown));
    Ok(())
}

/// What a file says, or which one says what is wrong.
fn open<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T>) -> Result<T> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    text.and_then(|text| parse(&text)).map_err(|error| format!("{}: {error}", path.display()))
}

/// What a profile chooses for sums, which is what checks measure.
fn choices(text: &str) -> Result<BTreeMap<Job, Cell>> {
    let profile: Profile =
        toml::from_str(text).map_err(|error| format!("this is no profile of a GPU: {error}"))?;
    let rows = [profile.reduce, profile.scan];
    let sums = OPS.into_iter().zip(rows).flat_map(|(op, rows)| {
        rows.into_iter().filter(|row| row.operator == "sum").map(move |row| {
            let Row { item, items, strategy, threads_per_workgroup, items_per_thread, .. } = row;
            (Job { op, item, items }, Cell { strategy, threads_per_workgroup, items_per_thread })
        })
    });
    Ok(sums.collect())
}

/// What came to the end of a check.
fn read(text: &str) -> Result<Check> {
    let mut check = Check::new();
    for line in csv::Reader::from_reader(text.as_bytes()).into_deserialize() {
        let line: Line =
            line.map_err(|error| format!("this is nothing that `tune --csv` wrote: {error}"))?;
        let (Some(op), Some(median)) = (OPS.into_iter().find(|op| *op == line.op), line.median_us)
        else {
            continue;
        };
        if line.checked == "ok in the end" {
            let Line { dtype, n, strategy, threads_per_workgroup, items_per_thread, .. } = line;
            let job = Job { op, item: dtype, items: n };
            let cell = Cell { strategy, threads_per_workgroup, items_per_thread };
            check.entry(job).or_default().insert(cell, median);
        }
    }
    Ok(check)
}

/// What the checks say of each choice, those furthest behind first; and of how many, which came to the end of fewer than two, they
/// say nothing.
fn judge(chosen: &BTreeMap<Job, Cell>, checks: &[Check]) -> (Vec<Verdict>, usize) {
    let (mut verdicts, mut unknown) = (Vec::new(), 0);
    for (job, cell) in chosen {
        let ends: Vec<_> = checks.iter().filter_map(|check| check.get(job)).collect();
        if ends.is_empty() {
            continue;
        }
        let own: Vec<_> = ends.iter().filter_map(|end| Some((*end, *end.get(cell)?))).collect();
        if own.len() < CHECKS {
            unknown += 1;
            continue;
        }
        let mut others: BTreeMap<&Cell, Vec<f64>> = BTreeMap::new();
        for (end, own) in own {
            for (other, median) in end {
                others.entry(other).or_default().push(own / median);
            }
        }
        let behind = others
            .into_iter()
            .filter(|(_, ratios)| ratios.len() >= CHECKS)
            .map(|(other, ratios)| (other.clone(), mean(&ratios), ratios))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, mean, _)| *mean > 1.0);
        verdicts.push(Verdict { job: job.clone(), chosen: cell.clone(), behind });
    }
    verdicts.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
    (verdicts, unknown)
}

/// The geometric mean.
fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

impl Verdict {
    /// How many times as long as the fastest the choice takes.
    fn factor(&self) -> f64 {
        self.behind.as_ref().map_or(1.0, |(_, mean, _)| *mean)
    }
}

/// What is printed: the choices furthest behind, and how many are within 2 and 5 %.
fn table(verdicts: &[Verdict], unknown: usize) -> String {
    let percent = |factor: f64| 100.0 * (factor - 1.0);
    let mut text = String::from(
        "| choice for | is | behind | by, in the mean | in each check |\n|---|---|---|---|---|\n",
    );
    for verdict in verdicts.iter().take(SHOWN) {
        let Verdict { job, chosen, behind: Some((other, mean, each)) } = verdict else { break };
        let each: Vec<String> =
            each.iter().map(|ratio| format!("{:.1}", percent(*ratio))).collect();
        let (mean, each) = (percent(*mean), each.join(", "));
        text += &format!("| {job} | {chosen} | {other} | {mean:.1} % | {each} |\n");
    }
    let within = |part: f64| verdicts.iter().filter(|v| percent(v.factor()) <= part).count();
    let worst = percent(verdicts.first().map_or(1.0, Verdict::factor));
    text += &format!(
        "\nOf {} rows {} are behind by 2 % at most, {} by 5 %, and the worst by {worst:.1} %, \
         in the mean of {CHECKS} checks or more.\n",
        verdicts.len(),
        within(2.0),
        within(5.0),
    );
    if unknown > 0 {
        text += &format!("Of {unknown} more, no two checks had the choice in the end.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;

    use super::*;
    use crate::shell::root;

    const HEAD: &str = "device,op,dtype,n,strategy,threads_per_workgroup,items_per_thread,median_us,default_us,limit_us,checked\n";

    fn cell(strategy: &str) -> Cell {
        Cell { strategy: strategy.to_owned(), threads_per_workgroup: 64, items_per_thread: 4 }
    }

    fn check(lines: &[(&str, f64)]) -> Check {
        let lines = lines.iter().map(|(strategy, median)| {
            format!("cuda:0,reduce,u8,1024,{strategy},64,4,{median},9,1,ok in the end\n")
        });
        read(&(HEAD.to_owned() + &lines.collect::<String>())).expect("a check")
    }

    #[test]
    fn once_is_chance_and_twice_is_not() {
        let job = Job { op: "reduce", item: "u8".to_owned(), items: 1024 };
        let chosen = BTreeMap::from([(job, cell("own"))]);
        let first = check(&[("own", 4.4), ("lucky", 4.0), ("slower", 8.0)]);
        let second = check(&[("own", 4.4), ("faster", 4.0), ("slower", 4.3)]);
        let third = check(&[("own", 3.6), ("faster", 4.0)]);

        let (verdicts, unknown) = judge(&chosen, &[first.clone(), second.clone()]);
        assert_eq!((verdicts.len(), unknown), (1, 0));
        assert_eq!(verdicts[0].behind, None, "only cells of one check are faster");

        let (verdicts, _) = judge(&chosen, &[first.clone(), second.clone(), second.clone()]);
        let (other, factor, each) = verdicts[0].behind.clone().expect("behind");
        assert_eq!((other, each.len()), (cell("faster"), 2));
        assert!((factor - 1.1).abs() < 1e-9, "{factor}");
        let said = table(&verdicts, 3);
        assert!(said.contains("| `faster` 64 × 4 | 10.0 % | 10.0, 10.0 |"), "{said}");
        assert!(said.contains("Of 1 rows 0 are behind by 2 % at most, 0 by 5 %"), "{said}");
        assert!(said.contains("Of 3 more"), "{said}");

        let (verdicts, _) = judge(&chosen, &[second.clone(), third]);
        assert_eq!(verdicts[0].behind, None, "won once and lost once by as much");
        assert_eq!(judge(&chosen, &[first, check(&[("faster", 4.0)])]), (Vec::new(), 1));
        assert_eq!(judge(&chosen, &[]), (Vec::new(), 0));
    }

    #[test]
    fn what_is_not_of_the_end_does_not_count() {
        let end = "cuda:0,reduce,u8,1024,a,64,4,4.0,9,1,ok in the end\n";
        let others = "cuda:0,reduce,u8,1024,b,64,4,3.0,9,1,ok\ncuda:0,reduce,u8,1024,c,64,4,,9,1,wrong\n\
                      cuda:0,compact,u8,1024,d,64,4,3.0,9,1,ok in the end\n";
        assert_eq!(read(&format!("{HEAD}{end}{others}")), read(&format!("{HEAD}{end}")));
        assert!(read("job,items\nsum,1\n").unwrap_err().contains("tune --csv"));
        assert!(choices("version = 1\n").unwrap_err().contains("no profile of a GPU"));
    }

    /// Each shipped profile, what it measures through, and what the record has of its device.
    fn shipped() -> impl Iterator<Item = (PathBuf, &'static str, Vec<PathBuf>)> {
        let interfaces = [("cuda", "cuda"), ("vulkan", "wgpu")];
        ["nvidia-h200", "nvidia-h100-80gb-hbm3"].into_iter().flat_map(move |device| {
            let record = std::fs::read_dir(root().join("benches/record").join(device));
            let files = record.expect("a record").map(|file| file.expect("a file").path());
            let files: Vec<PathBuf> =
                files.filter(|file| file.extension().is_some_and(|end| end == "csv")).collect();
            interfaces.map(|(name, interface)| {
                let profile = root().join(format!("crates/upsweep/profiles/{name}-{device}.toml"));
                (profile, interface, files.clone())
            })
        })
    }

    /// By the checks of the record with the kernels of today.
    #[test]
    fn no_cell_beats_a_shipped_choice_by_2_percent() {
        for (profile, interface, record) in shipped() {
            let starts = ["25", "26"].map(|day| format!("2026-11-{day}-check-{interface}"));
            let is_check = |file: &&PathBuf| {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                starts.iter().any(|start| name.starts_with(start))
            };
            let checks = record.iter().filter(is_check).map(|file| open(file, read));
            let checks: Vec<Check> = checks.collect::<Result<_>>().expect("checks");
            let chosen = open(&profile, choices).expect("a profile");
            let (verdicts, unknown) = judge(&chosen, &checks);
            let said = format!("{}:\n{}", profile.display(), table(&verdicts, unknown));
            assert_eq!((verdicts.len(), unknown), (152, 0), "{said}");
            assert!(verdicts[0].factor() <= 1.02, "{said}");
        }
    }

    #[test]
    fn every_time_of_a_shipped_profile_is_in_the_record() {
        #[derive(Deserialize)]
        struct Timed {
            #[serde(flatten)]
            row: Row,
            median_us: f64,
        }
        for (profile, _, record) in shipped() {
            // What is no record of cells has other columns, and no line here.
            let lines = record.iter().flat_map(|file| {
                let lines = csv::Reader::from_path(file).expect("readable").into_deserialize();
                lines.filter_map(|line| line.ok()).collect::<Vec<Line>>()
            });
            let recorded: HashSet<String> = lines
                .filter_map(|line| {
                    let Line { op, dtype, n, strategy, median_us, .. } = &line;
                    let numbers = (line.threads_per_workgroup, line.items_per_thread);
                    Some(format!("{op} {dtype} {n} {strategy} {numbers:?} {}", (*median_us)?))
                })
                .collect();
            let text = std::fs::read_to_string(&profile).expect("a profile");
            let rows: toml::Table = toml::from_str(&text).expect("a profile");
            for (name, op) in ["reduce", "scan"].into_iter().zip(OPS) {
                let rows: Vec<Timed> = rows[name].clone().try_into().expect("rows");
                assert!(rows.len() >= 76, "{} rows of {name}", rows.len());
                for Timed { row, median_us } in rows {
                    let numbers = (row.threads_per_workgroup, row.items_per_thread);
                    let Row { operator, item, items, strategy, .. } = &row;
                    assert_eq!(operator, "sum", "records do not say the operator");
                    let row = format!("{op} {item} {items} {strategy} {numbers:?} {median_us}");
                    assert!(recorded.contains(&row), "{}: {row}", profile.display());
                }
            }
        }
    }
}
