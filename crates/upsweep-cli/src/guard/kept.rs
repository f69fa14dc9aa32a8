//! What is kept under a name: a folder with a record and a program, which is there whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use upsweep::{CpuOptions, profile};

use crate::args::BenchArguments;
use crate::bench::Setup;
use crate::bench::report::Row;
use crate::device;
use crate::error::{Failure, Result};

use super::Name;

/// The form of the record; another one cannot be read.
const FORM: u32 = 1;

/// The files of a folder.
const RECORD: &str = "record.json";
const PROGRAM: &str = "upsweep";

/// The record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    form: u32,
    pub(super) devices: Vec<Facts>,
    pub(super) rows: Vec<KeptRow>,
}

/// What times belong to.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    id: String,
    name: String,
    interface: String,
    driver: String,
    instruction_set: String,
    /// Threads of a CPU, multiprocessors of a GPU.
    compute_units: usize,
}

/// What was asked for in a row, as the command line has it, and what came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptRow {
    pub(super) device: String,
    pub(super) op: String,
    pub(super) operator: String,
    pub(super) dtype: String,
    pub(super) acc: Option<String>,
    pub(super) n: usize,
    pub(super) strategy: String,
    pub(super) isa: Option<String>,
    pub(super) threads: Option<usize>,
    /// What is measured and the types, as rows show them.
    pub(super) shown: [String; 2],
    /// For whoever reads the record; never compared.
    median_us: f64,
}

impl Facts {
    fn of(device: &upsweep::Device) -> Self {
        let limits = device.limits();
        Self {
            id: device.id().to_owned(),
            name: limits.name.clone(),
            interface: limits.interface.clone(),
            driver: limits.driver.clone(),
            instruction_set: limits.instruction_set.clone(),
            compute_units: limits.compute_units,
        }
    }

    /// In words.
    fn words(&self) -> String {
        let Self { name, interface, driver, instruction_set, compute_units, .. } = self;
        if interface == "cpu" {
            return format!("{name} with {compute_units} threads and {instruction_set}");
        }
        format!("{name} by {interface}, driver {driver}")
    }
}

impl KeptRow {
    /// Its name in `--only`.
    pub(super) fn name(&self) -> String {
        let [op, types] = &self.shown;
        format!("{}/{op}/{types}/{}/{}", self.device, self.n, self.strategy)
    }

    /// The options that ask for this row alone.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        let mut option =
            |name: &str, value: &str| options.extend([name.to_owned(), value.to_owned()]);
        option("--device", &self.device);
        option("--op", &self.op);
        option("--operator", &self.operator);
        option("--dtype", &self.dtype);
        option("--n", &self.n.to_string());
        option("--strategy", &self.strategy);
        if let Some(acc) = &self.acc {
            option("--acc", acc);
        }
        if let Some(isa) = &self.isa {
            option("--isa", isa);
        }
        if let Some(threads) = self.threads {
            option("--threads", &threads.to_string());
        }
        options
    }
}

/// The folder of everything that is kept.
fn folder() -> Result<PathBuf> {
    profile::cache_folder().map(|folder| folder.join("bench")).ok_or_else(|| {
        Failure::usage("nothing is kept without a cache: UPSWEEP_CACHE_DIR is empty, or nobody's home is known")
    })
}

/// The program that runs, even if its file was replaced meanwhile.
pub(super) fn this_program() -> Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe().map_err(|error| Failure::file("find", Path::new("upsweep"), error))
}

/// Collects rows, and keeps them.
pub(crate) struct Keeper {
    /// Where it will be.
    place: PathBuf,
    kept: Kept,
}

impl Keeper {
    /// Looks whether something can be kept, before anything is measured.
    pub(crate) fn new(name: &Name) -> Result<Self> {
        let folder = folder()?;
        fs::create_dir_all(&folder).map_err(|error| Failure::file("write", &folder, error))?;
        drop(unfinished(&folder)?);
        let kept = Kept { form: FORM, devices: Vec::new(), rows: Vec::new() };
        Ok(Self { place: folder.join(name.as_str()), kept })
    }

    /// A row, if it was measured.
    pub(crate) fn add(
        &mut self,
        arguments: &BenchArguments,
        setup: &Setup,
        row: &Row<'_>,
        [op, dtype]: [String; 2],
    ) {
        let Some(times) = row.times else {
            return;
        };
        let facts = Facts::of(&setup.limit);
        let is_cpu = facts.id == "cpu";
        if !self.kept.devices.contains(&facts) {
            self.kept.devices.push(facts);
        }
        self.kept.rows.push(KeptRow {
            device: row.device.to_owned(),
            op,
            operator: arguments.operator.to_string(),
            dtype,
            acc: arguments.acc.map(|acc| acc.to_string()),
            n: row.n,
            strategy: setup.choice.to_string(),
            isa: setup.instruction_set.map(|set| set.to_string()),
            threads: arguments.threads.map(usize::from).filter(|_| is_cpu),
            shown: [row.op.to_owned(), row.dtype.to_owned()],
            median_us: times.median * 1e6,
        });
    }

    /// Keeps everything, in place of what had the name before.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { place, kept } = self;
        if kept.rows.is_empty() {
            return Err(Failure::usage("no row was measured: there is nothing to keep"));
        }
        let failed = |error| Failure::file("write", &place, error);
        let made = unfinished(place.parent().unwrap_or(Path::new(".")))?;
        let text = serde_json::to_vec_pretty(&kept).map_err(|error| failed(error.into()))?;
        fs::write(made.path().join(RECORD), text).map_err(failed)?;
        fs::copy(this_program()?, made.path().join(PROGRAM)).map_err(failed)?;
        // A folder cannot take the place of another: what was there moves away first, and back if anything goes wrong.
        let before = unfinished(place.parent().unwrap_or(Path::new(".")))?;
        if place.exists() {
            fs::rename(&place, before.path().join("before")).map_err(failed)?;
        }
        if let Err(error) = fs::rename(made.path(), &place) {
            // Nothing is left to do if this fails too.
            let _ = fs::rename(before.path().join("before"), &place);
            return Err(failed(error));
        }
        // It has another name now, under which it stays.
        let _ = made.keep();
        Ok(())
    }
}

/// A folder that vanishes unless it is renamed. No name that is kept begins with a dot.
fn unfinished(folder: &Path) -> Result<TempDir> {
    tempfile::Builder::new().prefix(".unfinished-").tempdir_in(folder).map_err(|error| {
        let error = error.raw_os_error().map_or(error, std::io::Error::from_raw_os_error);
        Failure::file("write", folder, error)
    })
}

/// What is kept under this name, and the program.
pub(super) fn read(name: &Name) -> Result<(Kept, PathBuf)> {
    let place = folder()?.join(name.as_str());
    if !place.exists() {
        let name = name.as_str();
        return Err(Failure::usage(format!("nothing is kept as '{name}': --save {name} does")));
    }
    let path = place.join(RECORD);
    let text = fs::read(&path).map_err(|error| Failure::file("read", &path, error))?;
    let damaged = |why: String| Failure::usage(format!("'{}' is damaged: {why}", path.display()));
    let kept: Kept = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    if kept.form != FORM {
        return Err(damaged(format!("its form is {}, not {FORM}", kept.form)));
    }
    let program = place.join(PROGRAM);
    if !program.is_file() {
        let program = program.display();
        return Err(Failure::usage(format!("the program that was kept is gone: '{program}'")));
    }
    Ok((kept, program))
}

/// Fails unless the devices of these rows are those that they were measured on.
pub(super) fn check_devices(name: &Name, kept: &Kept, rows: &[&KeptRow]) -> Result<()> {
    for then in &kept.devices {
        let Some(row) = rows.iter().find(|row| row.device == then.id) else {
            continue;
        };
        let options = CpuOptions { threads: row.threads, ..CpuOptions::default() };
        let now = Facts::of(&device::open(&then.id, options)?);
        if now != *then {
            return Err(Failure::usage(format!(
                "'{}' was kept on {}, and {} is now {}: times of different devices are not compared",
                name.as_str(),
                then.words(),
                then.id,
                now.words(),
            )));
        }
    }
    Ok(())
}
