//! The targets, and the driver as it is called: it repeats an input, counts what it tried, and says what it does not know.

use std::process::{Command, Output};

use upsweep_fuzz::TARGETS;

fn driver(arguments: &str) -> Output {
    let mut driver = Command::new(env!("CARGO_BIN_EXE_upsweep-fuzz"));
    driver.args(arguments.split(' ')).output().expect("it was built")
}

/// The shortest inputs, and one that is longer than what any target reads.
#[test]
fn any_bytes_are_a_problem() {
    for (_, target) in TARGETS {
        target(&[]);
        for byte in 0..=u8::MAX {
            target(&[byte]);
            target(&[byte; 9]);
            target(&[byte; 64]);
        }
    }
}

#[test]
fn a_target_is_tried_for_some_time() {
    let done = driver("--seconds 1 --target scan --seed 7");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(
        said.starts_with("scan: ") && said.ends_with("as the oracle says (seed 7)\n"),
        "{said}"
    );
}

#[test]
fn an_input_is_run_again() {
    for target in ["reduce", "scan", "streams", "compact", "axes"] {
        for input in ["00", "0700ff17", "0102030405060708090a0b0c0d0e0f"] {
            let done = driver(&format!("--target {target} --input {input}"));
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
    }
}

#[test]
fn what_is_not_known_is_said() {
    let done = driver("--target sort");
    assert!(!done.status.success());
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(said, "there is no such target; known are reduce scan streams compact axes\n");
}
