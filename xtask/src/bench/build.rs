//! Building the workers.

use std::path::Path;

use crate::shell::{Result, cargo, program, root, run, target_dir};
use crate::tools;

/// A worker as it is started.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) command: Vec<String>,
    /// Which of its engines are measured.
    pub(super) keep: fn(&str) -> bool,
}

/// The worker whose engines are built for this very CPU.
pub(super) const NATIVE: &str = "native";

/// How what is measured is built.
pub(super) struct Build {
    /// Cargo's words for the program and the worker with our engines, in one call, so that both are made of the same library.
    pub(super) ours: &'static str,
    /// Its words for a worker of peers.
    pub(super) peers: &'static str,
    /// Where cargo puts them.
    pub(super) folder: &'static str,
}

/// The program, the worker with our engines and the limits, and those of the peers if they are wanted.
pub(super) fn workers(peers: bool, how: &Build) -> Result<Vec<Program>> {
    println!("building the program and its worker");
    run(&mut cargo(&format!("{} --quiet", how.ours)))?;
    let ours = text(&target_dir().join(how.folder).join("upsweep-worker"));
    let mut programs = vec![Program { name: "upsweep", command: vec![ours], keep: |_| true }];
    if !peers {
        return Ok(programs);
    }

    let folder = target_dir().join("peers");
    println!("building the Rust peers");
    let build = format!("{} --quiet --manifest-path benches/peers/rust/Cargo.toml", how.peers);
    let rust = folder.join("rust");
    run(cargo(&build).args(["--features", "libraries", "--target-dir"]).arg(&rust))?;
    programs.push(Program { name: "rust", command: vec![binary(&rust, how)], keep: |_| true });

    println!("building the iterators once more, for this very CPU");
    let native = folder.join("native");
    let mut build = cargo(&build);
    run(build.arg("--target-dir").arg(&native).env("RUSTFLAGS", "-Ctarget-cpu=native"))?;
    let keep = |name: &str| name == "iterators";
    programs.push(Program { name: NATIVE, command: vec![binary(&native, how)], keep });

    println!("building the C++ worker");
    tools::cpp()?;
    let cpp = folder.join("cpp");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut compile = program("g++");
    compile.args(["-std=c++17", "-O3", "-march=native", "-fopenmp-simd", "-Wall", "-Wextra"]);
    run(compile.args(["benches/peers/cpp/worker.cpp", "-o"]).arg(&cpp).arg("-ltbb"))?;
    programs.push(Program { name: "cpp", command: vec![text(&cpp)], keep: |_| true });

    let python = text(&tools::python()?);
    let script = text(&root().join("benches/peers/python/worker.py"));
    programs.push(Program { name: "python", command: vec![python, script], keep: |_| true });
    Ok(programs)
}

fn binary(folder: &Path, how: &Build) -> String {
    text(&folder.join(how.folder).join("peers"))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
