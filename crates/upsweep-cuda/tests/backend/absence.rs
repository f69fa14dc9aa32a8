//! Without a driver, a device or the compiler, everything says so, and nothing panics.
//!
//! What is there is found out once in a program, so each case runs in a program of its own: this one again.

use std::process::Command;

use upsweep_cuda::Gpu;

/// Set where this program is to say what it finds.
const VARIABLE: &str = "UPSWEEP_TEST_ABSENCE";

/// Not a test by itself: what the others run.
#[test]
fn says_what_is_there() {
    if std::env::var_os(VARIABLE).is_some() {
        let (count, opened) = (Gpu::devices(), Gpu::open(0).map(|gpu| gpu.limits().name.clone()));
        println!("devices: {count:?}\nopened: {opened:?}");
        for error in [count.err(), opened.err()].into_iter().flatten() {
            println!("error: {error}");
        }
    }
}

/// What a program finds in this environment.
fn found(environment: &[(&str, &str)]) -> String {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args(["--exact", "absence::says_what_is_there", "--nocapture"]).env(VARIABLE, "1");
    let output = program.envs(environment.iter().copied()).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn without_a_device_there_is_a_reason() {
    // Where there is a driver, it is told to show no device.
    let text = found(&[("CUDA_VISIBLE_DEVICES", "-1")]);
    let reasons = ["NVIDIA's driver is not here: no libcuda", "the driver sees no CUDA device"];
    let errors: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("error: ").map(|(_, error)| error))
        .collect();
    assert_eq!(errors.len(), 2, "{text}");
    for error in errors {
        let reason =
            error.strip_prefix("no device 'cuda:0': ").unwrap_or_else(|| panic!("{error}"));
        assert!(reasons.iter().any(|known| reason.starts_with(known)), "{error}");
    }
}

#[test]
fn a_compiler_is_not_needed_to_open_a_device() {
    let text = found(&[("UPSWEEP_NVRTC", "/nowhere")]);
    assert!(!text.contains("NVRTC"), "{text}");
}
