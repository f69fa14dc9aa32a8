//! The compiler of CUDA kernels, which needs neither a GPU nor a driver: so every kernel of the CUDA backend is
//! compiled on every machine that tests run on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Result, program, root, run, target_dir};

/// The package of Python that brings it. The series is held, so that a new compiler changes no test by itself.
const PACKAGE: &str = "nvidia-cuda-nvrtc==13.0.*";

/// Where the package has the library.
const LIBRARY: &str = "nvidia/cu13/lib/libnvrtc.so.13";

/// The folder of the compiler, brought here if need be. `python` has a pip.
pub(crate) fn installed(python: &Path) -> Result<PathBuf> {
    if let Some(folder) = if_made() {
        return Ok(folder);
    }
    // The folder gets its name last, so that an interrupted run leaves nothing that looks complete.
    let unfinished = folder().with_extension("unfinished");
    for path in [&unfinished, &folder()] {
        if path.exists() {
            fs::remove_dir_all(path).map_err(|why| format!("{}: {why}", path.display()))?;
        }
    }
    println!("bringing {PACKAGE} into {}", folder().display());
    let mut pip = program(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--target",
    ]);
    run(pip.arg(&unfinished).arg(PACKAGE))?;
    fs::rename(&unfinished, folder()).map_err(|why| format!("{}: {why}", unfinished.display()))?;
    if_made().ok_or_else(|| format!("{PACKAGE} has no {LIBRARY}"))
}

/// The folder of the compiler if an earlier run brought it.
pub(crate) fn if_made() -> Option<PathBuf> {
    Some(folder()).filter(|folder| folder.join(LIBRARY).exists())
}

/// Lets a command use this compiler, and fail where it cannot.
pub(crate) fn select(command: &mut Command, folder: &Path) {
    command.env("UPSWEEP_NVRTC", folder).env("UPSWEEP_TEST_NVRTC", "required");
}

/// An absolute path: tests run in folders of their own.
fn folder() -> PathBuf {
    root().join(target_dir()).join("nvrtc")
}
