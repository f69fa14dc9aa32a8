//! `cargo xtask test` and `check`: what must hold before a change is kept.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::programs::{self, Program, Wanted};
use crate::shell::{Result, Steps, cargo, in_ci, program, root, run, run_and_keep, target_dir};
use crate::{bench, nvrtc, python as python_package, tools, vulkan};

/// Cargo projects outside the workspace, and the features they are looked at with.
const OUTSIDE: [(&str, &str); 3] = [
    ("benches/build/Cargo.toml", "operators"),
    ("benches/peers/rust/Cargo.toml", "libraries"),
    ("benches/peers/wgpu/Cargo.toml", ""),
];

/// Seconds that the fuzz targets get.
const FUZZ_SECONDS: &str = "20";

/// Which cells of large spaces, such as the strategies of GPUs, are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cells {
    /// Another part every day, in which every level of every factor is met.
    OfTheDay,
    /// All.
    All,
}

/// The number that says which part is tested: the user's, or the day since 1970.
fn seed() -> String {
    let days =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    std::env::var("UPSWEEP_TEST_SEED").unwrap_or_else(|_| days().to_string())
}

/// Everything.
pub(crate) fn full(cells: Cells) -> Result<()> {
    let mut steps = Steps::default();
    format_and_lints(&mut steps)?;
    let mut python = PathBuf::new();
    steps.step("Python with numpy", || {
        python = tools::python()?;
        Ok(python.display().to_string())
    })?;
    let mut drivers = None;
    steps.step("software Vulkan devices", || {
        let (made, remark) = software_vulkan()?;
        drivers = made;
        Ok(remark)
    })?;
    let drivers = drivers.as_deref();
    let mut validator = false;
    steps.step("spirv-val, which kernels are checked with", || match tools::spirv_val() {
        Ok(()) => {
            validator = true;
            Ok(String::new())
        }
        Err(why) => not_done(&why),
    })?;
    let mut compiler = None;
    steps.step("NVRTC, which CUDA kernels are compiled with", || {
        match nvrtc::installed(&python) {
            Ok(folder) => {
                let remark = folder.display().to_string();
                compiler = Some(folder);
                Ok(remark)
            }
            Err(why) => not_done(&why),
        }
    })?;
    let compiler = compiler.as_deref();
    let mut cpp = false;
    steps.step("C++, in which the host runs functions for CUDA", || match tools::cpp() {
        Ok(()) => {
            cpp = true;
            Ok(String::new())
        }
        Err(why) => not_done(&why),
    })?;
    let mut chromium = false;
    steps.step("Chromium, in which reports are looked at", || match tools::chromium() {
        Ok(()) => {
            chromium = true;
            Ok(String::new())
        }
        Err(why) => not_done(&why),
    })?;
    let needed = Needed { validator, cpp, chromium };
    let made = test_programs(&mut steps, Wanted::All)?;
    let python_found = Some(python.as_path());
    steps.step("tests", || tests(&made, cells, python_found, drivers, needed, compiler))?;
    steps.step("the Python package", || {
        python_package::of_tests(&python, &programs::python_module(), drivers)
    })?;
    steps.step("the Python package beside torch", || match tools::python_with_torch() {
        Ok(python) => python_package::beside_torch(&python),
        Err(why) => not_done(&why),
    })?;
    steps.step("three steps in one submission", || example("one_submission", &made, drivers))?;
    steps.step("ten steps without a wait", || example("chain", &made, drivers))?;
    steps.step("GPU tests under the Khronos validation layer", || validation(&made, drivers))?;
    steps.step("summation vectors, checked by another program", || vectors(&python))?;
    steps.step("vector code under valgrind", || memcheck(&made))?;
    steps.step("fuzz targets", || fuzz(&made))?;
    steps.step("every benchmark of the program, tiny", || benchmarks(drivers))?;
    steps.step("every benchmark definition, tiny", || {
        bench::run(&bench::Options::tiny()).map(|()| String::new())
    })?;
    documentation(&mut steps)?;
    steps.summary();
    Ok(())
}

/// What a change of a CPU kernel can break. Projects outside the workspace are left out, and so are GPUs, with the crates of their
/// backends.
pub(crate) fn quick() -> Result<()> {
    let mut steps = Steps::default();
    steps.step("format", || run(&mut cargo("fmt --all --check")).map(|()| String::new()))?;
    steps.step("lints", || lints_of_workspace().map(|()| String::new()))?;
    let made = test_programs(&mut steps, Wanted::OfCpu)?;
    steps.step("tests", || {
        let lines = programs::run_tests(&made, Wanted::OfCpu, |test| {
            test.env("UPSWEEP_CACHE_DIR", cache_dir());
            // No GPU takes part, whatever the machine has.
            vulkan::select(test, "none");
            test.env("CUDA_VISIBLE_DEVICES", "-1");
        })?;
        Ok(summed(&lines))
    })?;
    steps.summary();
    Ok(())
}

/// What can be said without running anything.
pub(crate) fn check() -> Result<()> {
    let mut steps = Steps::default();
    format_and_lints(&mut steps)?;
    documentation(&mut steps)?;
    steps.summary();
    Ok(())
}

fn test_programs(steps: &mut Steps, wanted: Wanted) -> Result<Vec<Program>> {
    let mut made = Vec::new();
    steps.step("programs of tests", || {
        made = programs::made(wanted)?;
        Ok(String::new())
    })?;
    Ok(made)
}

fn format_and_lints(steps: &mut Steps) -> Result<()> {
    steps.step("format", || {
        run(&mut cargo("fmt --all --check"))?;
        for (manifest, _) in OUTSIDE {
            run(&mut cargo(&format!("fmt --manifest-path {manifest} --check")))?;
        }
        Ok(String::new())
    })?;
    steps.step("lints", || {
        lints_of_workspace()?;
        for (manifest, features) in OUTSIDE {
            // In the same folder and with the same profiles, what they depend on is not checked again.
            let mut clippy = cargo("clippy --config Cargo.toml --all-targets --quiet");
            clippy.arg("--target-dir").arg(target_dir());
            clippy.args(["--manifest-path", manifest, "--features", features]);
            run(clippy.args(["--", "-D", "warnings"]))?;
        }
        Ok(String::new())
    })
}

fn lints_of_workspace() -> Result<()> {
    run(&mut cargo("clippy --workspace --all-targets --quiet -- -D warnings"))
}

/// Where tests find what earlier ones kept, absolute because each runs in a folder of its own.
fn cache_dir() -> PathBuf {
    root().join(target_dir()).join("cache")
}

fn documentation(steps: &mut Steps) -> Result<()> {
    steps.step("documentation", || {
        let mut doc = cargo("doc --workspace --no-deps --quiet");
        run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
        // The program has the library's name, and its page would stand in the same place.
        let page = target_dir().join("doc/upsweep/index.html");
        let text =
            std::fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
        match text.contains("fn.reduce.html") {
            true => Ok(String::new()),
            false => Err(format!("{} is not the library's page", page.display())),
        }
    })
}

/// Programs that tests may not go without.
#[derive(Clone, Copy, Default)]
struct Needed {
    validator: bool,
    cpp: bool,
    chromium: bool,
}

/// Unit tests, integration tests and the examples of the documentation. With a Python, the
/// program's results are compared with numpy's. With Vulkan drivers, GPUs take part in all tests of
/// devices, and a device that is missing is a failure. With a validator, a compiler of C++, Chromium, or the
/// compiler of CUDA kernels, so is its absence.
fn tests(
    made: &[Program],
    cells: Cells,
    python: Option<&Path>,
    drivers: Option<&str>,
    needed: Needed,
    compiler: Option<&Path>,
) -> Result<String> {
    let seed = seed();
    let lines = programs::run_tests(made, Wanted::All, |test| {
        test.env("UPSWEEP_CACHE_DIR", cache_dir()).env("UPSWEEP_TEST_SEED", &seed);
        if cells == Cells::All {
            test.env("UPSWEEP_TEST_EXHAUSTIVE", "1");
        }
        if let Some(python) = python {
            test.env("UPSWEEP_TEST_PYTHON", python);
        }
        if let Some(drivers) = drivers {
            vulkan::select(test, drivers);
            test.env("UPSWEEP_TEST_GPU", "required").env("UPSWEEP_TEST_REQUIRE", "wgpu");
        }
        if needed.validator {
            test.env("UPSWEEP_TEST_SPIRV_VAL", "required");
        }
        if needed.cpp {
            test.env("UPSWEEP_TEST_CPP", "required");
        }
        if needed.chromium {
            test.env("UPSWEEP_TEST_CHROMIUM", "required");
        }
        if let Some(folder) = compiler {
            nvrtc::select(test, folder);
        }
    })?;
    let of = match cells {
        Cells::OfTheDay => format!("the cells of UPSWEEP_TEST_SEED={seed}"),
        Cells::All => "all cells".to_owned(),
    };
    Ok(format!("{}; {of}", summed(&lines)))
}

/// How many tests passed, failed and were ignored, by the lines that say so for each program.
fn summed(lines: &[String]) -> String {
    let count = |what: &str| -> u64 {
        lines
            .iter()
            .flat_map(|line| line.split(['.', ';']))
            .filter_map(|part| part.trim().strip_suffix(what)?.trim().parse::<u64>().ok())
            .sum()
    };
    let [passed, failed, ignored] = ["passed", "failed", "ignored"].map(count);
    format!("{passed} passed, {failed} failed, {ignored} ignored")
}

/// A program in another language computes the committed results from the text of the
/// specification.
fn vectors(python: &Path) -> Result<String> {
    run(program(python).arg(root().join("crates/upsweep-testing/vectors/check.py")))?;
    Ok(String::new())
}

/// The Vulkan drivers that GPU tests run on, and the remark of the step that makes them.
fn software_vulkan() -> Result<(Option<String>, String)> {
    match vulkan::software() {
        Ok(drivers) => Ok((Some(drivers.clone()), drivers)),
        Err(why) => {
            not_done(&format!("GPU tests may find no device: {why}")).map(|said| (None, said))
        }
    }
}

/// An example of recording into a command stream, on every software device.
fn example(name: &str, made: &[Program], drivers: Option<&str>) -> Result<String> {
    let Some(drivers) = drivers else {
        return not_done("there are no software Vulkan devices");
    };
    let binary = programs::named(made, name)?;
    for device in ["wgpu:0", "wgpu:1"] {
        let mut example = program(binary);
        vulkan::select(&mut example, drivers);
        let lines = run_and_keep(example.arg(device), |line| line.ends_with("as on the host"))?;
        if lines.is_empty() {
            return Err(format!("the example did not run on {device}"));
        }
    }
    Ok("on both".to_owned())
}

/// GPU tests that fail when the validation layer has anything to say.
fn validation(made: &[Program], drivers: Option<&str>) -> Result<String> {
    let Some(drivers) = drivers else {
        return not_done("there are no software Vulkan devices");
    };
    let mut test = program(programs::named(made, "validation-")?);
    // Nothing is known from before, so that the trial of the device is watched too.
    test.env("UPSWEEP_CACHE_DIR", "");
    test.env("VK_LAYER_PATH", vulkan::validation_layer_folder());
    vulkan::select(&mut test, drivers);
    test.env("UPSWEEP_TEST_VALIDATION", "1");
    let results = run_and_keep(&mut test, |line| line.starts_with("test result:"))?;
    match results.first() {
        Some(line) if !line.contains(" 0 passed") => Ok("no message".to_owned()),
        _ => Err("no test of `validation` ran".to_owned()),
    }
}

/// The remark of a step that this machine cannot do, which a build machine must be able to do.
fn not_done(why: &str) -> Result<String> {
    if in_ci() {
        Err(why.to_owned())
    } else {
        Ok(format!("NOT DONE, on a build machine this is an error: {why}"))
    }
}

/// The tests of the small vector operations, every memory access watched. valgrind knows no
/// AVX-512, so the tests are told to stay below it.
fn memcheck(made: &[Program]) -> Result<String> {
    if let Err(why) = tools::valgrind() {
        return not_done(&why);
    }
    let binary = programs::named(made, "upsweep_cpu-")?;
    let mut valgrind = program("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=no"]).arg(binary).arg("simd::");
    valgrind.env("UPSWEEP_TEST_ISA", "avx2");
    let results = run_and_keep(&mut valgrind, |line| line.starts_with("test result:"))?;
    match results.first() {
        Some(line) if !line.contains(" 0 passed") => Ok("no wrong access".to_owned()),
        _ => Err("no test of the module `simd` ran".to_owned()),
    }
}

/// The program's benchmarks, by the program as the tests were built: optimised, and there already.
fn benchmarks(drivers: Option<&str>) -> Result<String> {
    let binary = root().join(target_dir()).join("debug/upsweep");
    let bench = |options: &str| {
        let mut bench = program(&binary);
        bench.arg("bench").args(options.split(' ')).args(["--samples", "1"]);
        bench
    };
    run(&mut bench("--n 2^10,1000"))?;
    let Some(drivers) = drivers else { return Ok(String::new()) };
    let mut gpus = bench("--device wgpu:0,wgpu:1 --op all --n 1000");
    vulkan::select(&mut gpus, drivers);
    run(&mut gpus).map(|()| "on software GPUs too".to_owned())
}

/// Random inputs for some time, by the driver as it was built with the tests.
fn fuzz(made: &[Program]) -> Result<String> {
    let mut fuzz = program(programs::named(made, "upsweep-fuzz")?);
    // Its devices are those of the CPU.
    vulkan::select(&mut fuzz, "none");
    run(fuzz.args(["--seconds", FUZZ_SECONDS])).map(|()| String::new())
}
