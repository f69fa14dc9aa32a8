//! What is kept of a program, to be compared with later ones: the program itself, what it was asked to measure, and where.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use upsweep::{Device, Dtype, profile};

use crate::bench::Options;
use crate::device;
use crate::error::{Failure, Result};
use crate::selection::{Primitive, Strategies};

/// The version of the form.
const VERSION: u32 = 1;

/// The files of a folder.
const PROGRAM: &str = "upsweep";
const FACTS: &str = "kept.json";

/// What is said of a kept program.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    version: u32,
    /// The day, and the version of the program.
    pub(crate) made: String,
    /// Every device, as it was.
    devices: Vec<DeviceFacts>,
    op: Vec<String>,
    operator: String,
    dtype: Vec<String>,
    acc: Option<String>,
    n: Vec<usize>,
    strategy: String,
    isa: Option<String>,
    threads: Option<usize>,
}

/// A device, and what its speed depends on besides the program.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct DeviceFacts {
    id: String,
    name: String,
    driver: String,
}

impl DeviceFacts {
    fn of(device: &Device) -> Self {
        let limits = device.limits();
        let (name, driver) = (limits.name.clone(), profile::driver(limits));
        Self { id: device.id().to_owned(), name, driver }
    }
}

/// The folder of a name.
fn folder(name: &str) -> Result<PathBuf> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(Failure::usage(format!(
            "'{name}' is no name: letters, digits, - and _ make one, and . within",
        )));
    }
    let nowhere = "UPSWEEP_CACHE_DIR is empty, so that nothing is kept to compare with";
    let cache = profile::cache().ok_or_else(|| Failure::usage(nowhere))?;
    Ok(cache.join("bench").join(name))
}

/// Finds out now, and not when everything is measured, whether something can be kept under a name.
pub fn check_name(name: &str) -> Result<()> {
    folder(name).map(drop)
}

impl Baseline {
    /// What these options ask to measure.
    pub(crate) fn of(options: &Options) -> Result<Self> {
        let open = |id: &String| Ok(DeviceFacts::of(&device::open(id, <_>::default())?));
        let today = time::OffsetDateTime::now_utc().date();
        Ok(Self {
            version: VERSION,
            made: format!("{today} by upsweep {}", env!("CARGO_PKG_VERSION")),
            devices: options.devices.ids().iter().map(open).collect::<Result<_>>()?,
            op: options.primitives.iter().map(|op| op.name().to_owned()).collect(),
            operator: options.operator.to_string(),
            dtype: options.dtypes.iter().map(Dtype::to_string).collect(),
            acc: options.acc.map(|acc| acc.to_string()),
            n: options.lengths.clone(),
            strategy: match &options.strategies {
                Strategies::All => "all".to_owned(),
                Strategies::Named(named) => {
                    named.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
                }
            },
            isa: options
                .instruction_sets
                .as_ref()
                .map(|sets| sets.iter().map(|set| set.name()).collect::<Vec<_>>().join(",")),
            threads: options.threads,
        })
    }

    /// Keeps it under a name, with this program, in the place of what was kept under it.
    pub(crate) fn keep(&self, name: &str) -> Result<PathBuf> {
        let folder = folder(name)?;
        let failed = |error| Failure::file("write", &folder, error);
        let above = folder.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(above).map_err(failed)?;
        // Whole, or not at all.
        let new =
            tempfile::Builder::new().prefix(".unfinished").tempdir_in(above).map_err(failed)?;
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        fs::write(new.path().join(FACTS), text).map_err(failed)?;
        let own = std::env::current_exe().map_err(failed)?;
        fs::copy(own, new.path().join(PROGRAM)).map_err(failed)?;
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => fs::rename(new.keep(), &folder).map_err(failed)?,
        }
        Ok(folder)
    }

    /// What was kept under a name, and the program.
    pub(crate) fn read(name: &str) -> Result<(Self, PathBuf)> {
        let folder = folder(name)?;
        if !folder.exists() {
            let known = names(&folder).join(" ");
            let known = if known.is_empty() { "nothing".to_owned() } else { known };
            return Err(Failure::usage(format!("nothing is kept as '{name}'; there is {known}")));
        }
        let path = folder.join(FACTS);
        let text = fs::read_to_string(&path).map_err(|why| Failure::file("read", &path, why))?;
        let damaged = |why: serde_json::Error| {
            Failure::usage(format!("'{}' is damaged: {why}", path.display()))
        };
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_str(&text).map_err(damaged)?;
        if version != VERSION {
            return Err(Failure::usage(format!(
                "'{}' is of version {version}, this program reads version {VERSION}",
                path.display(),
            )));
        }
        let program = folder.join(PROGRAM);
        fs::metadata(&program).map_err(|why| Failure::file("run", &program, why))?;
        Ok((serde_json::from_str(&text).map_err(damaged)?, program))
    }

    /// Refuses other devices than those that it was measured on.
    pub(crate) fn check_devices(&self, name: &str) -> Result<()> {
        for kept in &self.devices {
            let here = DeviceFacts::of(&device::open(&kept.id, <_>::default())?);
            if here != *kept {
                return Err(Failure::usage(format!(
                    "'{name}' was measured on {} {} ({}), this is {} ({}): times of different devices are not compared",
                    kept.id, kept.name, kept.driver, here.name, here.driver,
                )));
            }
        }
        Ok(())
    }

    /// The arguments of `bench` for every device, type, length and primitive, by itself.
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        let mut cells = Vec::new();
        for dtype in &self.dtype {
            for n in &self.n {
                for op in &self.op {
                    cells.extend(
                        self.devices
                            .iter()
                            .map(|device| self.cell([&device.id, op, dtype, &n.to_string()])),
                    );
                }
            }
        }
        cells
    }

    fn cell(&self, [device, op, dtype, n]: [&str; 4]) -> Vec<String> {
        let mut words = vec!["bench", "--device", device, "--op", op, "--dtype", dtype, "--n", n];
        words.extend(["--operator", &self.operator, "--strategy", &self.strategy]);
        let combines = |op: Primitive| !op.is_position() && !op.compacts();
        let combines = op.parse().is_ok_and(combines);
        let mut cell: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let mut add = |name: &str, value: Option<String>| {
            cell.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        };
        add("--acc", self.acc.clone().filter(|_| combines));
        add("--isa", self.isa.clone().filter(|_| device == "cpu"));
        add("--threads", self.threads.map(|n| n.to_string()).filter(|_| device == "cpu"));
        cell
    }
}

/// The names beside one.
fn names(folder: &Path) -> Vec<String> {
    let entries = folder.parent().and_then(|above| fs::read_dir(above).ok());
    let names = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}
