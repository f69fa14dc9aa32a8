//! The CUDA text of annotated functions, compiled by the host's C++ compiler, watched for what C++ leaves undefined, and run.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use upsweep::__kernel::Module;
use upsweep::Language;
use upsweep_testing::kernels::cuda::{argument, word};
use upsweep_testing::kernels::{Case, cases};
use upsweep_testing::skipped;

/// If it is `required`, a run without a C++ compiler fails.
const COMPILER_VARIABLE: &str = "UPSWEEP_TEST_CPP";

const OPTIONS: [&str; 7] = [
    "-std=c++17",
    "-O1",
    "-ffp-contract=off",
    "-w",
    "-fsanitize=undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-xc++",
];

/// By how much the functions of C's library may differ from those that Rust calls.
const UNITS: u32 = 2;

/// A program that calls all functions with the words that it reads.
fn program(cases: &[Case]) -> String {
    let mut module = Module::new(Language::Cuda);
    let mut calls = String::new();
    for case in cases {
        let name =
            module.function(case.function).unwrap_or_else(|why| panic!("{}: {why}", case.name));
        let arguments: Vec<String> = (case.function.parameters.iter().enumerate())
            .map(|(k, (_, of))| argument(*of, &format!("words[{k}]")))
            .collect();
        let call = word(case.function.result, &format!("{name}({})", arguments.join(", ")));
        let _ = writeln!(
            calls,
            "    for (int call = 0; call < {}; call++) {{\n\
             \x20       if (fread(words, 8, {}, stdin) != {}) return 1;\n\
             \x20       const u64 result = {call};\n\
             \x20       fwrite(&result, 8, 1, stdout);\n    }}",
            case.inputs.len(),
            arguments.len(),
            arguments.len(),
        );
    }
    let shim = include_str!("../src/kernels/shim.hpp");
    format!("{shim}\n{}\nint main() {{\n    u64 words[8];\n{calls}}}\n", module.text())
}

#[test]
fn functions_in_cuda_mean_what_they_mean_in_rust() {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut here = Command::new(&compiler);
    here.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    if !here.status().is_ok_and(|status| status.success()) {
        let required = std::env::var(COMPILER_VARIABLE).is_ok_and(|value| value == "required");
        assert!(!required, "there is no C++ compiler");
        return skipped("CUDA text on the host", "there is no C++ compiler");
    }
    let cases = cases();
    let folder = std::env::temp_dir().join(format!("upsweep-cpp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, binary) = (folder.join("functions.cpp"), folder.join("functions"));
    std::fs::write(&source, program(&cases)).expect("a file");
    let compiled =
        Command::new(&compiler).args(OPTIONS).arg(&source).arg("-o").arg(&binary).output();
    let compiled = compiled.expect("a compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut running = Command::new(&binary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was just made");
    let words = cases.iter().flat_map(|case| case.inputs.iter().flatten());
    let input: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
    let mut pipe = running.stdin.take().expect("it was asked for");
    let feeding = std::thread::spawn(move || pipe.write_all(&input));
    let output = running.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {said}", source.display());
    feeding.join().expect("a thread").expect("it reads everything");
    std::fs::remove_dir_all(&folder).expect("our own folder");
    let mut found = output
        .stdout
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    let mut wrong = Vec::new();
    for case in &cases {
        for (input, expected) in case.inputs.iter().zip(&case.expected) {
            let found = found.next().expect("a word for each call");
            let units = if case.is_of_library() { case.units.min(UNITS) } else { 0 };
            if expected.is_some_and(|expected| !case.accepts(found, expected, units)) {
                wrong.push(format!("{}{input:x?}: {found:x}, not {expected:x?}", case.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}
