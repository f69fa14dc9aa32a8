//! Compares the program with numpy, on files that numpy wrote.
//!
//! `UPSWEEP_TEST_PYTHON` names a Python that has numpy; `cargo xtask test` sets it. Without it
//! there is nothing to compare with, and the test says so.

use std::path::Path;
use std::process::Command;

#[test]
fn every_type_and_operator_agrees_with_numpy() {
    agrees("compare_with_numpy.py");
}

#[test]
fn rows_along_every_axis_agree_with_numpy() {
    agrees("compare_axes_with_numpy.py");
}

/// Runs a script, which fails if it finds a difference.
fn agrees(script: &str) {
    let Some(python) = std::env::var_os("UPSWEEP_TEST_PYTHON") else {
        println!("skipped: UPSWEEP_TEST_PYTHON names no Python with numpy");
        return;
    };
    let place = tempfile::tempdir().expect("a temporary directory");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let run = Command::new(python)
        .args([script.as_os_str(), env!("CARGO_BIN_EXE_upsweep").as_ref()])
        .current_dir(place.path())
        .env_remove("UPSWEEP_DEVICE")
        .env_remove("UPSWEEP_LOG")
        .output()
        .expect("UPSWEEP_TEST_PYTHON can be started");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    print!("{out}");
    assert!(run.status.success(), "{out}{err}");
}
