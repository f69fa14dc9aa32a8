//! `cargo xtask python`: the Python package, built, installed and tested.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell::{Result, Steps, cargo, output, program, root, run, run_and_keep, target_dir};
use crate::{programs, tools, vulkan};

/// The folder of the package.
const PACKAGE: &str = "crates/upsweep-python";

/// Where its wheel is made, under the target folder.
const WHEEL_FOLDER: &str = "python-wheel";

/// What builds and tests the package, by the names of its modules.
const NEEDED: [&str; 7] =
    ["array_api_strict", "hypothesis", "maturin", "ml_dtypes", "numpy", "pytest", "wheel"];

/// How the module of the package is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// As `pip install` does.
    Release,
    /// As tests are, in half the time.
    Test,
}

/// Builds, installs and tests the package.
pub(crate) fn all(build: Build) -> Result<()> {
    let mut steps = Steps::default();
    let mut python = PathBuf::new();
    steps.step("Python with what the package needs", || {
        python = prepared(&tools::python()?)?;
        Ok(python.display().to_string())
    })?;
    let mut wheel = PathBuf::new();
    steps.step("wheel", || {
        wheel = match build {
            Build::Release => built(&python)?,
            Build::Test => {
                run(&mut module_of(&python)?)?;
                packed(&python, &programs::python_module())?
            }
        };
        Ok(wheel.display().to_string())
    })?;
    steps.step("tests", || tested(&python, &wheel, None))?;
    steps.summary();
    Ok(())
}

/// Makes a wheel of the module that cargo has made with the tests of the workspace, installs it and runs its tests, which see these Vulkan
/// drivers.
pub(crate) fn of_tests(python: &Path, module: &Path, drivers: Option<&str>) -> Result<String> {
    let python = prepared(python)?;
    if !has_stable_interface(&python)? {
        run(&mut module_of(&python)?)?;
    }
    let wheel = packed(&python, module)?;
    tested(&python, &wheel, drivers)
}

/// Installs the wheel that is made beside torch, and runs the tests of its tensors.
pub(crate) fn beside_torch(python: &Path) -> Result<String> {
    check_version(python)?;
    tools::packages(python, &["ml_dtypes", "numpy", "pytest"])?;
    install(python, &wheel_in(&root().join(target_dir()).join(WHEEL_FOLDER))?)?;
    let mut tests = tests_of(python);
    tests.args(["tests/test_libraries.py", "-k", "torch"]);
    passed(&mut tests)
}

/// A Python with what builds and tests the package.
fn prepared(python: &Path) -> Result<PathBuf> {
    check_version(python)?;
    tools::packages(python, &NEEDED)?;
    Ok(python.to_path_buf())
}

/// Whether a Python loads modules of the stable interface, as those with a GIL do.
fn has_stable_interface(python: &Path) -> Result<bool> {
    Ok(suffix(python)?.starts_with(".abi3"))
}

/// How the file name of a module for a Python ends: as one of the stable interface, or as one of its own. A Python without a GIL looks for both.
fn suffix(python: &Path) -> Result<String> {
    let text = "import sysconfig; of = sysconfig.get_config_var; \
                print(of('EXT_SUFFIX') if of('Py_GIL_DISABLED') else '.abi3.so')";
    output(program(python).args(["-c", text]))
}

/// What makes the module as tests are made. For a Python without the stable interface it is another module, in the same place.
fn module_of(python: &Path) -> Result<Command> {
    let mut make = cargo("test --package upsweep-python --no-run");
    if !has_stable_interface(python)? {
        make.env("PYO3_PYTHON", python);
    }
    Ok(make)
}

/// An empty folder under the target folder.
fn emptied(name: &str) -> Result<PathBuf> {
    let folder = root().join(target_dir()).join(name);
    let failed = |why: std::io::Error| format!("{}: {why}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

/// The one wheel in a folder.
fn wheel_in(folder: &Path) -> Result<PathBuf> {
    let files = folder.read_dir().map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    let wheel = paths.find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheel.ok_or_else(|| format!("there is no wheel in {}", folder.display()))
}

/// The wheel that `pip install` makes.
fn built(python: &Path) -> Result<PathBuf> {
    let folder = emptied(WHEEL_FOLDER)?;
    let mut build = program(python);
    build.args(["-m", "maturin", "build", "--manifest-path"]);
    build.arg(root().join(PACKAGE).join("Cargo.toml")).arg("--interpreter").arg(python);
    build.arg("--out").arg(&folder).arg("--target-dir").arg(target_dir());
    run(build.env("CARGO", cargo("").get_program()))?;
    wheel_in(&folder)
}

/// A wheel of a module that is there already: maturin says what is said of it, and `wheel` packs it.
fn packed(python: &Path, module: &Path) -> Result<PathBuf> {
    let folder = emptied(WHEEL_FOLDER)?;
    let content = folder.join("content");
    let mut describe = program(python);
    describe.args(["-m", "maturin", "pep517", "write-dist-info", "--metadata-directory"]);
    describe.arg(&content).arg("--interpreter").arg(python);
    run(describe.current_dir(root().join(PACKAGE)).stdout(Stdio::null()))?;
    let package = content.join("upsweep");
    let failed = |why: std::io::Error| format!("{}: {why}", package.display());
    fs::create_dir_all(&package).map_err(failed)?;
    for file in root().join(PACKAGE).join("python/upsweep").read_dir().map_err(failed)? {
        let path = file.map_err(failed)?.path();
        let is_source = ["py", "pyi", "typed"]
            .iter()
            .any(|known| path.extension().is_some_and(|extension| extension == *known));
        if let (true, Some(name)) = (is_source, path.file_name()) {
            fs::copy(&path, package.join(name)).map_err(failed)?;
        }
    }
    fs::copy(module, package.join(format!("_upsweep{}", suffix(python)?))).map_err(failed)?;
    let mut pack = program(python);
    pack.args(["-m", "wheel", "pack"]).arg(&content).arg("--dest-dir").arg(&folder);
    run(pack.stdout(Stdio::null()))?;
    wheel_in(&folder)
}

/// Installs a wheel and runs the package's tests, which see these Vulkan drivers.
fn tested(python: &Path, wheel: &Path, drivers: Option<&str>) -> Result<String> {
    install(python, wheel)?;
    let mut tests = tests_of(python);
    if let Some(drivers) = drivers {
        vulkan::select(&mut tests, drivers);
        tests.env("UPSWEEP_TEST_REQUIRE", "wgpu");
    }
    passed(&mut tests)
}

fn install(python: &Path, wheel: &Path) -> Result<()> {
    let mut install = program(python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(install.args(["--no-deps", "--force-reinstall"]).arg(wheel))
}

/// The package's tests.
fn tests_of(python: &Path) -> Command {
    let mut tests = program(python);
    tests.args(["-m", "pytest", "-q"]).current_dir(root().join(PACKAGE));
    tests.env("UPSWEEP_CACHE_DIR", root().join(target_dir()).join("cache"));
    tests
}

/// Runs tests, and says how many passed.
fn passed(tests: &mut Command) -> Result<String> {
    let said = run_and_keep(tests, |line| line.contains(" passed"))?;
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
