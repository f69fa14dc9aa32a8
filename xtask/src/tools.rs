//! Programs that chores need beside the Rust toolchain, installed where that is possible.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell::{Result, exists, output, program, root, run, target_dir};

/// A Python with numpy, in a virtual environment under the target folder.
pub(crate) fn python() -> Result<PathBuf> {
    let folder = root().join(target_dir()).join("python");
    let python = folder.join("bin/python");
    if has_modules(&python, &["numpy"]) {
        return Ok(python);
    }
    println!("making a Python environment with numpy in {}", folder.display());
    environment(&folder, "python3", &[])?;
    packages(&python, &["numpy"])?;
    Ok(python)
}

/// A Python with torch for CPUs, which PyPI has not: Debian's, in a virtual environment under the target folder.
pub(crate) fn python_with_torch() -> Result<PathBuf> {
    const OF_DEBIAN: &str = "/usr/bin/python3";
    let folder = root().join(target_dir()).join("python-torch");
    let python = folder.join("bin/python");
    if has_modules(&python, &["torch"]) {
        return Ok(python);
    }
    if !has_modules(Path::new(OF_DEBIAN), &["torch"]) {
        apt("python3-torch")?;
    }
    environment(&folder, OF_DEBIAN, &["--system-site-packages"])?;
    Ok(python)
}

/// Makes a virtual environment of a Python.
fn environment(folder: &Path, python: &str, options: &[&str]) -> Result<()> {
    let mut venv = program(python);
    venv.args(["-m", "venv", "--clear"]).args(options).arg(folder);
    if venv.status().map_or(true, |status| !status.success()) {
        apt("python3-venv")?;
        run(&mut venv)?;
    }
    Ok(())
}

/// Installs packages for a Python that lacks one of them.
pub(crate) fn packages(python: &Path, names: &[&str]) -> Result<()> {
    if has_modules(python, names) {
        return Ok(());
    }
    let mut pip = program(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(names);
    run(&mut pip).map_err(|why| format!("packages for Python: {why}"))
}

/// Whether a Python is there and has these modules.
fn has_modules(python: &Path, names: &[&str]) -> bool {
    let mut import = program(python);
    import.args(["-c", &format!("import {}", names.join(", "))]);
    import.stdout(Stdio::null()).stderr(Stdio::null());
    import.status().is_ok_and(|status| status.success())
}

/// valgrind, installed if need be.
pub(crate) fn valgrind() -> Result<()> {
    if exists("valgrind") { Ok(()) } else { apt("valgrind") }
}

/// Chromium, in which pages are looked at, installed if need be.
pub(crate) fn chromium() -> Result<()> {
    if exists("chromium") { Ok(()) } else { apt("chromium") }
}

/// The validator of SPIR-V, installed if need be.
pub(crate) fn spirv_val() -> Result<()> {
    if exists("spirv-val") { Ok(()) } else { apt("spirv-tools") }
}

/// A C++17 compiler with the parallel algorithms of its library, installed if need be.
pub(crate) fn cpp() -> Result<()> {
    if !exists("g++") {
        apt("g++")?;
    }
    let mut compile = program("g++");
    compile.args([
        "-std=c++17",
        "-fsyntax-only",
        "-include",
        "tbb/version.h",
        "-xc++",
        "/dev/null",
    ]);
    compile.stderr(Stdio::null());
    if compile.status().is_ok_and(|status| status.success()) { Ok(()) } else { apt("libtbb-dev") }
}

/// Installs a Debian package, as root or with a `sudo` that asks nothing.
pub(crate) fn apt(package: &str) -> Result<()> {
    println!("installing the Debian package {package}");
    let install = ["install", "--yes", "--no-install-recommends", package];
    or_after_update(|| run(&mut privileged_apt_get(&install)?))
        .map_err(|why| format!("'{package}' is not here and cannot be installed: {why}"))
}

/// Downloads a Debian package into an empty folder, without installing it, and returns the file.
pub(crate) fn apt_download(package: &str, folder: &Path) -> Result<PathBuf> {
    // By default root downloads as another user, who may not write here, and warns about it.
    let mut download = program("apt-get");
    download.args(["-o", "APT::Sandbox::User=root", "download", package]);
    download.current_dir(folder).stdout(Stdio::null());
    or_after_update(|| run(&mut download))
        .map_err(|why| format!("'{package}' cannot be downloaded: {why}"))?;
    let mut files = folder.read_dir().map_err(|why| format!("{}: {why}", folder.display()))?;
    let file = files.find_map(|file| Some(file.ok()?.path()).filter(|path| is_deb(path)));
    file.ok_or_else(|| format!("downloading '{package}' left no package"))
}

fn is_deb(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "deb")
}

/// Does what needs the list of packages, once more with a new list if it fails.
fn or_after_update(mut work: impl FnMut() -> Result<()>) -> Result<()> {
    work().or_else(|_| {
        run(&mut privileged_apt_get(&["update"])?)?;
        work()
    })
}

/// `apt-get` as root, or through a `sudo` that asks nothing.
fn privileged_apt_get(arguments: &[&str]) -> Result<Command> {
    let root = output(program("id").arg("-u"))? == "0";
    let mut command = program(if root { "apt-get" } else { "sudo" });
    if !root {
        command.args(["-n", "apt-get"]);
    }
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
    Ok(command)
}
