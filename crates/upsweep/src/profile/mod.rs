//! Profiles: what a tuning run measured on a device, kept in a file, and read by the policies of every call.
//!
//! `upsweep tune` writes one. It lies in the folder `profiles` of the cache (`$UPSWEEP_CACHE_DIR`, or the platform's), one file for
//! each device and interface, and is found when a device is opened; where there is none, the library brings what was measured by
//! its authors on a device of that name, if they had one. `UPSWEEP_PROFILE` names another file, or `off`.
//!
//! A profile changes speed, never a result. One that is damaged, of another device or driver, or of a later version of the library is
//! not used; [`find`] says why, and so does standard error if `UPSWEEP_LOG` is set.
//!
//! ```
//! use upsweep::{Device, profile};
//! let device = Device::cpu();
//! let found = profile::find(device.limits());
//! assert_eq!(found.profile.is_some(), found.origin.is_some());
//! # Ok::<(), upsweep::Error>(())
//! ```

mod text;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use upsweep_cpu::Cpu;
use upsweep_gpu::Folder;

pub use text::{parse, text};
pub use upsweep_core::{
    Best, Crossing, FromHost, Measured, Profile, ProfileRows as Rows, Traffic, Work,
};

use upsweep_core::Backend as _;

use crate::{Error, Limits, Result};

/// Names a file to use instead, or `off`.
const VARIABLE: &str = "UPSWEEP_PROFILE";

/// What the library brings, measured by its authors: runs of 100 s to eight minutes each, `docs/decisions/2026-11-23-tuning.md`. They
/// are of any driver.
const SHIPPED: [&str; 4] = [
    include_str!("../../profiles/cuda-nvidia-h100-80gb-hbm3.toml"),
    include_str!("../../profiles/cuda-nvidia-h200.toml"),
    include_str!("../../profiles/vulkan-nvidia-h100-80gb-hbm3.toml"),
    include_str!("../../profiles/vulkan-nvidia-h200.toml"),
];

/// What was found for a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// What its policies read.
    pub profile: Option<Arc<Profile>>,
    /// Where it was found: a path, or `shipped`.
    pub origin: Option<String>,
    /// Why a file was not used, if there is one that was not.
    pub ignored: Option<Error>,
}

/// Reads a file.
///
/// # Errors
/// [`Error::Profile`] if there is none, it is damaged, or of a later version of the library.
pub fn read(path: &Path) -> Result<Profile> {
    let failed = |reason: String| Error::Profile { file: path.display().to_string(), reason };
    let content = fs::read_to_string(path).map_err(|why| failed(why.to_string()))?;
    parse(&content).map_err(failed)
}

/// Writes a file, and the folder that it is in. Whoever reads it at the same time finds the old one or the new one.
///
/// # Errors
/// [`Error::Profile`] if it cannot be written.
pub fn write(profile: &Profile, path: &Path) -> Result<()> {
    let failed = |why: std::io::Error| Error::Profile {
        file: path.display().to_string(),
        reason: why.to_string(),
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    let written =
        fs::write(&unfinished, text(profile)).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // Nothing is left to do if this fails too.
        let _ = fs::remove_file(&unfinished);
    }
    written.map_err(failed)
}

/// The file that belongs to a device, whether it is there or not; `None` if nothing is kept.
pub fn path(limits: &Limits) -> Option<PathBuf> {
    let simple = |name: &str| -> String {
        let kept = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
        let kept: String = kept.collect();
        kept.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    };
    let name = format!("{}-{}.toml", simple(&limits.interface), simple(&limits.name));
    Some(Folder::of_user().path("profiles")?.join(name))
}

/// The folder in which profiles, kernels and what programs keep beside them lie; `None` if nothing is kept.
pub fn cache() -> Option<PathBuf> {
    Folder::of_user().path("")
}

/// Looks for the profile of a device.
pub fn find(limits: &Limits) -> Found {
    let chosen = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    match chosen {
        Some(value) if value == "off" => Found::default(),
        Some(file) => of_file(limits, Path::new(&file)),
        None => {
            let of_user = path(limits).filter(|path| path.exists());
            let found = of_user.map(|path| of_file(limits, &path)).unwrap_or_default();
            if found.profile.is_some() {
                found
            } else {
                Found { ignored: found.ignored, ..shipped(limits) }
            }
        }
    }
}

/// Reads a file that belongs to this device.
///
/// # Errors
/// [`Error::Profile`] as [`read`], or if it was measured on another device, or with another driver.
pub fn read_for(limits: &Limits, path: &Path) -> Result<Profile> {
    let profile = read(path)?;
    match why_not(&profile, limits) {
        Some(reason) => Err(Error::Profile { file: path.display().to_string(), reason }),
        None => Ok(profile),
    }
}

/// What comes of a file.
fn of_file(limits: &Limits, path: &Path) -> Found {
    match read_for(limits, path) {
        Ok(profile) => Found {
            profile: Some(Arc::new(profile)),
            origin: Some(path.display().to_string()),
            ignored: None,
        },
        Err(error) => Found { ignored: Some(error), ..Found::default() },
    }
}

/// Every profile that the library brings, whatever device is here: what was the best on one is where a search on another may begin.
pub fn all_shipped() -> Vec<Profile> {
    SHIPPED.iter().filter_map(|content| parse(content).ok()).collect()
}

/// The profile that the library brings for a device, if it does.
fn shipped(limits: &Limits) -> Found {
    let own =
        |profile: &Profile| profile.device == limits.name && profile.interface == limits.interface;
    match all_shipped().into_iter().find(own) {
        Some(profile) => Found {
            profile: Some(Arc::new(profile)),
            origin: Some("shipped".to_owned()),
            ignored: None,
        },
        None => Found::default(),
    }
}

/// All files in the folder of profiles that can be read, and the one that is named instead of them.
pub(crate) fn kept() -> Vec<Profile> {
    let readable = |file: PathBuf| read(&file).ok();
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) if value == "off" => Vec::new(),
        Some(file) => readable(file.into()).into_iter().collect(),
        None => {
            let files = Folder::of_user().path("profiles").and_then(|path| fs::read_dir(path).ok());
            let paths = files.into_iter().flatten().filter_map(|file| Some(file.ok()?.path()));
            let mut paths: Vec<PathBuf> =
                paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
            paths.sort();
            paths.into_iter().filter_map(readable).collect()
        }
    }
}

/// The version of a device's driver; of a CPU its threads and instruction set, without which its numbers mean nothing.
pub fn driver(limits: &Limits) -> String {
    match limits.interface.as_str() {
        "cpu" => format!("{} threads, {}", limits.compute_units, limits.instruction_set),
        _ => limits.driver.clone(),
    }
}

/// A CPU with the numbers of its profile, if it has one.
pub(crate) fn of_cpu(cpu: &Cpu) -> Option<Cpu> {
    numbers_of(&*found(cpu.limits())?, cpu)
}

/// The same with those of this profile.
pub(crate) fn numbers_of(profile: &Profile, cpu: &Cpu) -> Option<Cpu> {
    Some(cpu.with_policies(profile.cpu?, &profile.cpu_types))
}

/// Why a profile is not one of this device, if it is not.
pub(crate) fn why_not(profile: &Profile, limits: &Limits) -> Option<String> {
    let own = [&limits.name, &limits.interface, &driver(limits)];
    let its = [&profile.device, &profile.interface, &profile.driver];
    let of = |[name, interface, driver]: [&String; 3]| match driver.as_str() {
        "" => format!("{name} by {interface}"),
        driver => format!("{name} by {interface}, driver {driver}"),
    };
    (own != its).then(|| format!("it was measured on {}, this is {}", of(its), of(own)))
}

/// Name, interface and driver of a device.
type Key = [String; 3];

/// The profile of a device, looked for once, or told of on standard error if it is not used and `UPSWEEP_LOG` is set.
pub(crate) fn found(limits: &Limits) -> Option<Arc<Profile>> {
    static KNOWN: LazyLock<Mutex<HashMap<Key, Option<Arc<Profile>>>>> =
        LazyLock::new(Mutex::default);
    let key = [limits.name.clone(), limits.interface.clone(), driver(limits)];
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let look = || {
        let found = find(limits);
        let wanted = std::env::var_os("UPSWEEP_LOG")
            .is_some_and(|v| !v.is_empty() && v != "0" && v != "off");
        if let Some(error) = found.ignored.filter(|_| wanted) {
            eprintln!("upsweep: not used: {error}");
        }
        found.profile
    };
    known.entry(key).or_insert_with(look).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let [device, interface, driver] = ["Some GPU", "vulkan", "1.2"].map(str::to_owned);
        Profile { device, interface, driver, ..Profile::default() }
    }

    fn limits() -> Limits {
        let mut limits = Limits::least("Some GPU", "vulkan");
        limits.driver = "1.2".to_owned();
        limits
    }

    #[test]
    fn a_file_is_used_by_its_device_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/one.toml");
        write(&profile(), &path).expect("a place to write");
        let found = of_file(&limits(), &path);
        assert_eq!(found.profile.as_deref(), Some(&profile()));
        assert_eq!(found.origin, Some(path.display().to_string()));
        assert_eq!(fs::read_dir(path.parent().expect("a folder")).expect("it is there").count(), 1);
        let mut other = limits();
        other.driver = "1.3".to_owned();
        let said = of_file(&other, &path).ignored.expect("another driver").to_string();
        assert!(said.contains("driver 1.2") && said.contains("driver 1.3"), "{said}");
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("one.toml");
        let why = |content: &[u8]| {
            fs::write(&path, content).expect("a place to write");
            let found = of_file(&limits(), &path);
            assert_eq!(found.profile, None);
            found.ignored.expect("a reason").to_string()
        };
        assert!(why(b"version = 2\nsomething = 'new'").contains("version 2"));
        assert!(why(b"\xff\xfe").contains("UTF-8"));
        assert!(why(b"").contains("version"));
        let whole = text(&profile());
        assert!(why(&whole.as_bytes()[..whole.len() / 2]).contains("one.toml"));
        let absent = of_file(&limits(), &folder.path().join("absent")).ignored;
        assert!(absent.is_some_and(|error| error.to_string().contains("absent")));
    }

    #[test]
    fn what_the_library_brings_is_found_by_its_device() {
        for content in SHIPPED {
            let profile = parse(content).expect("a profile");
            assert!(!profile.reductions.is_empty() && !profile.scans.is_empty());
            let found = shipped(&Limits::least(profile.device.clone(), profile.interface.clone()));
            assert_eq!(found.profile.as_deref(), Some(&profile));
        }
        assert_eq!(shipped(&Limits::least("Some GPU", "vulkan")), Found::default());
    }

    #[test]
    fn every_device_has_a_file_of_its_own() {
        let names = ["NVIDIA H200", "NVIDIA H100", "AMD Radeon(TM) 780M (RADV)"];
        let names = names.map(|name| path(&Limits::least(name, "vulkan")));
        let [Some(first), Some(second), Some(third)] = names else { return };
        assert!(first != second && second != third);
        assert!(third.ends_with("profiles/vulkan-amd-radeon-tm-780m-radv.toml"), "{third:?}");
    }
}
