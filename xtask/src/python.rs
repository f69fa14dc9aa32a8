//! `cargo xtask python`: the Python package, built, installed and tested.

use std::path::{Path, PathBuf};

use crate::shell::{Result, Steps, cargo, output, program, root, run, run_and_keep, target_dir};
use crate::tools;

/// The folder of the package.
const PACKAGE: &str = "crates/upsweep-python";

/// What builds and tests the package, by the names of its modules.
const NEEDED: [&str; 5] = ["hypothesis", "maturin", "ml_dtypes", "numpy", "pytest"];

/// Builds, installs and tests the package.
pub(crate) fn all() -> Result<()> {
    let mut steps = Steps::default();
    let mut python = PathBuf::new();
    steps.step("Python with what the package needs", || {
        python = tools::python()?;
        Ok(python.display().to_string())
    })?;
    steps.step("the Python package", || tested(&python, None))?;
    steps.summary();
    Ok(())
}

/// Builds the package with the profile of tests, whose dependencies are there already, installs it and runs its tests, which see these
/// Vulkan drivers.
pub(crate) fn tested(python: &Path, drivers: Option<&str>) -> Result<String> {
    check_version(python)?;
    tools::packages(python, &NEEDED)?;
    let wheels = target_dir().join("python-wheels");
    // Not of an earlier version.
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels).map_err(|why| format!("{}: {why}", wheels.display()))?;
    }
    let mut build = program(python);
    build.args(["-m", "maturin", "build", "--quiet", "--profile", "dev", "--manifest-path"]);
    build.arg(root().join(PACKAGE).join("Cargo.toml")).arg("--interpreter").arg(python);
    build.arg("--out").arg(&wheels).arg("--target-dir").arg(target_dir());
    build.env("CARGO", cargo("").get_program());
    run(&mut build)?;
    let mut found = wheels.read_dir().map_err(|why| format!("{}: {why}", wheels.display()))?;
    let wheel = found.find_map(|file| Some(file.ok()?.path()));
    let wheel = wheel.ok_or_else(|| format!("maturin left no wheel in {}", wheels.display()))?;
    let mut install = program(python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(install.args(["--no-deps", "--force-reinstall"]).arg(wheel))?;
    let mut tests = program(python);
    tests.args(["-m", "pytest", "-q"]).current_dir(root().join(PACKAGE));
    tests.env("UPSWEEP_CACHE_DIR", root().join(target_dir()).join("cache"));
    if let Some(drivers) = drivers {
        crate::vulkan::select(&mut tests, drivers);
        tests.env("UPSWEEP_TEST_REQUIRE", "wgpu");
    }
    let said = run_and_keep(&mut tests, |line| line.contains(" passed"))?;
    said.into_iter().next().ok_or_else(|| "no test ran".to_owned())
}

/// Refuses a Python that is too old for the package.
fn check_version(python: &Path) -> Result<()> {
    let text = "import sys; print(*sys.version_info[:2])";
    let version = output(program(python).args(["-c", text]))?;
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
    let mut parts = version.split(' ');
    match (number(parts.next()), number(parts.next())) {
        (Some(3), Some(minor)) if minor >= 11 => Ok(()),
        (Some(major), _) if major > 3 => Ok(()),
        _ => Err(format!(
            "the Python package needs Python 3.11 or newer; {} is {}",
            python.display(),
            version.replace(' ', ".")
        )),
    }
}
