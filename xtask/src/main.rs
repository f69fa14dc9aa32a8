//! Every chore of the repository, behind one door: `cargo xtask help` lists them.

mod bench;
mod nvrtc;
mod programs;
mod python;
mod shell;
mod test;
mod tools;
mod vulkan;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test [--quick | --exhaustive]
                              everything that must hold; --quick: what a change of a CPU kernel
                              can break; --exhaustive: every cell, not a part that changes from
                              day to day; UPSWEEP_TEST_SEED=N repeats the part of another day
cargo xtask check             format, lints and documentation
cargo xtask bench [OPTIONS]   measure, and write a record under benches/record/
    --peers           beside numpy, C++, rayon, arrow and others; without it: ours and the limits
    --quick           fewer lengths and rounds, nothing written
    --tiny            a single round on short arrays, nothing written: does everything still run?
    --cells PATTERN   only cells whose name, like sum:u8:u64:2^26, contains one of these
                      comma-separated words
    --compare RECORD  say what became of each cell's part of the limit since a record (.csv) of
                      this machine; fails if one is slower
cargo xtask python [--quick]  build the Python package as pip does, install it under target/python
                              and run its tests; --quick: compiled as tests are
cargo xtask help              this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["test"] => test::full(test::Cells::OfTheDay),
        ["test", "--exhaustive"] => test::full(test::Cells::All),
        ["test", "--quick"] => test::quick(),
        ["check"] => test::check(),
        ["python"] => python::all(python::Build::Release),
        ["python", "--quick"] => python::all(python::Build::Test),
        ["bench", ref options @ ..] => bench::Options::parse(options).and_then(|o| bench::run(&o)),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("there is no such chore: {}\n\n{HELP}", arguments.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
