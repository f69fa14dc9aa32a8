//! Where a profile is kept, and the profile that a tuning run begins with.

use std::fs;
use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use upsweep::{Device, Limits, Profile, profile};

use crate::error::{Failure, Result};

/// Where calls on a device look for its profile.
pub fn path_of(limits: &Limits) -> Result<PathBuf> {
    let nowhere = "UPSWEEP_CACHE_DIR is empty, so that no profile is kept; -o names a file";
    profile::path(limits).ok_or_else(|| Failure::usage(nowhere))
}

/// Finds out now, and not when everything is measured, whether a file can be written.
pub fn check_writable(place: &Path) -> Result<()> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder).map(drop));
    written.map_err(|error| Failure::file("write", place, error))
}

/// The profile of a device before anything is measured. What is not measured now stays as it was measured before, here or by
/// whoever made the profile in use.
pub fn profile_to_extend(device: &Device, place: &Path) -> Profile {
    let limits = device.limits();
    let before = profile::read_for(limits, place).ok();
    let in_use = || profile::find(limits).profile.map(|profile| Profile::clone(&profile));
    let today = OffsetDateTime::now_utc().date();
    Profile {
        device: limits.name.clone(),
        interface: limits.interface.clone(),
        driver: profile::driver(limits),
        measured: format!("{today} by upsweep {}", env!("CARGO_PKG_VERSION")),
        ..before.or_else(in_use).unwrap_or_default()
    }
}
