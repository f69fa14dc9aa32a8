//! The energy counters of CPUs (RAPL), as Linux shows them: one file of microjoules for each package, which begins anew
//! at a number that stands beside it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where Linux keeps them.
pub(super) const FOLDER: &str = "/sys/class/powercap";

/// All packages together.
pub(crate) struct Powercap {
    packages: Vec<Package>,
    /// Microjoules since it was opened.
    total: u64,
}

struct Package {
    counter: PathBuf,
    /// What the counter holds at most.
    range: u64,
    last: u64,
}

impl Powercap {
    /// The packages in this folder, or why there is nothing to be read.
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let none = || format!("{} has no energy counter of a CPU", folder.display());
        let entries = fs::read_dir(folder).map_err(|_| none())?;
        let mut packages = Vec::new();
        for entry in entries.flatten() {
            // Parts of a package, as its cores, are beside it under names with a second colon, and within its own count.
            let domain = entry.file_name().to_string_lossy().into_owned();
            let number = domain.strip_prefix("intel-rapl:");
            if number.is_none_or(|number| number.parse::<u32>().is_err()) {
                continue;
            }
            let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
            // The whole board is one more domain on some machines; it is not the CPU.
            if !name.trim().starts_with("package") {
                continue;
            }
            let counter = entry.path().join("energy_uj");
            let (last, range) =
                (number_in(&counter)?, number_in(&entry.path().join("max_energy_range_uj"))?);
            packages.push(Package { counter, range, last });
        }
        if packages.is_empty() { Err(none()) } else { Ok(Self { packages, total: 0 }) }
    }

    /// Joules since it was opened. A counter must not go round twice between two calls, which takes it minutes.
    pub(super) fn joules(&mut self) -> Result<f64, String> {
        for package in &mut self.packages {
            let now = number_in(&package.counter)?;
            self.total += match now.checked_sub(package.last) {
                Some(spent) => spent,
                None => now.saturating_add(package.range).saturating_sub(package.last),
            };
            package.last = now;
        }
        Ok(self.total as f64 / 1e6)
    }
}

fn number_in(path: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("{} is readable by the administrator alone", path.display())
        }
        _ => format!("{} cannot be read: {error}", path.display()),
    })?;
    text.trim().parse().map_err(|_| format!("{} holds no number", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(folder: &Path, domain: &str, name: &str, energy: &str) {
        let domain = folder.join(domain);
        fs::create_dir_all(&domain).expect("a folder");
        for (file, content) in
            [("name", name), ("energy_uj", energy), ("max_energy_range_uj", "1000000\n")]
        {
            fs::write(domain.join(file), content).expect("a file");
        }
    }

    #[test]
    fn packages_are_added_up_and_go_round() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let set = |name: &str, energy: &str| {
            fs::write(folder.join(name).join("energy_uj"), energy).expect("a file");
        };
        domain(folder, "intel-rapl:0", "package-0\n", "900000\n");
        domain(folder, "intel-rapl:1", "package-1\n", "100\n");
        domain(folder, "intel-rapl:0:0", "core\n", "5\n");
        domain(folder, "intel-rapl:2", "psys\n", "5\n");
        fs::create_dir_all(folder.join("intel-rapl")).expect("a folder");
        let mut powercap = Powercap::open(folder).expect("two packages");
        assert_eq!(powercap.joules(), Ok(0.0));
        set("intel-rapl:0", "950000\n");
        set("intel-rapl:1", "50100\n");
        set("intel-rapl:2", "999\n");
        assert_eq!(powercap.joules(), Ok(0.1));
        // Round: 50000 to the end, and 30000 from the beginning.
        set("intel-rapl:0", "30000\n");
        assert_eq!(powercap.joules(), Ok(0.18));
        set("intel-rapl:1", "much\n");
        assert!(powercap.joules().is_err_and(|why| why.contains("holds no number")));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let why = |folder: &Path| Powercap::open(folder).err().expect("nothing to read");
        assert!(why(&folder.join("none")).contains("has no energy counter"));
        assert!(why(folder).contains("has no energy counter"));
        domain(folder, "intel-rapl:0", "package-0\n", "1\n");
        fs::remove_file(folder.join("intel-rapl:0/energy_uj")).expect("it is there");
        // A folder is no file that can be read, whoever asks.
        fs::create_dir(folder.join("intel-rapl:0/energy_uj")).expect("a folder");
        assert!(why(folder).contains("cannot be read"));
    }
}
