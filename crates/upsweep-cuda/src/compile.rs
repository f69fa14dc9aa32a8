//! From a kernel's text to what a GPU runs: a cubin for its architecture.
//!
//! Floats are computed as they are written: no multiplication is joined with an addition, nothing is reordered, and
//! subnormals stay. That is what makes a GPU's sums those of every other device.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::driver;
use crate::nvrtc::{self, Nvrtc, Place};
use upsweep_gpu::{Folder, hash, show_refused};

/// What every text is compiled with, besides its architecture.
const OPTIONS: [&str; 5] = [
    "--std=c++17",
    "-default-device",
    "-fmad=false",
    // So that the log says how many registers a kernel needs, and whether it spills.
    "--ptxas-options=-v",
    // A header has functions that not every kernel calls, of which the compiler would warn.
    "-diag-suppress=177",
];

/// Leaves out declarations of things that kernels do not use, which halves the time (35 ms for 70 ms, NVRTC 13.0); and keeps
/// nothing elsewhere than we do, where the user said.
const SINCE_13: [&str; 2] = ["-minimal", "--no-cache"];

/// The first major version that is known to understand [`SINCE_13`].
const UNDERSTANDS: i32 = 13;

/// Compiles kernels, and keeps what it made on disk. Loads the compiler only when something is not kept.
pub(crate) struct Compiler {
    places: Result<Vec<Place>, String>,
    folder: Folder,
    /// What its kernels must run on, if that is known.
    target: Option<Target>,
    nvrtc: OnceLock<Result<Nvrtc, String>>,
    /// NVRTC may be called by several threads, and is not faster by it.
    turn: Mutex<()>,
}

/// A device and its driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The architecture: 90 is `sm_90`.
    pub(crate) arch: u32,
    /// The version of CUDA that the driver runs, as it writes it: 12040 is 12.4.
    pub(crate) driver: i32,
}

impl Target {
    /// Whether kernels of this compiler run there, or why not. A driver runs those of every compiler of its own major version and older.
    fn accepts(self, nvrtc: &Nvrtc) -> Result<(), String> {
        let (major, minor) = nvrtc.version()?;
        if !nvrtc.archs()?.contains(&self.arch) {
            return Err(format!("NVRTC {major}.{minor} cannot compile for sm_{}", self.arch));
        }
        if major > self.driver / 1000 {
            let driver = driver::written(self.driver);
            return Err(format!("NVRTC {major}.{minor} is too new for a driver of CUDA {driver}"));
        }
        Ok(())
    }
}

/// What a kernel needs of a multiprocessor.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The entry point.
    pub(crate) entry: String,
    pub(crate) registers: u32,
    /// Bytes of memory of its own that each thread needs for what it indexes and has no register for.
    pub(crate) stack_bytes: u32,
    /// Bytes that are written and read because registers did not suffice.
    pub(crate) spill_bytes: u32,
}

/// What was made of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compiled {
    pub(crate) cubin: Vec<u8>,
    /// What the compiler said; empty if the cubin was kept from before.
    pub(crate) log: String,
}

impl Compiler {
    /// The compiler of this machine, wherever it is, and what it made before.
    pub(crate) fn of_machine(folder: Folder) -> Self {
        Self::new(nvrtc::places(|name| std::env::var_os(name)), folder)
    }

    pub(crate) fn new(places: Result<Vec<Place>, String>, folder: Folder) -> Self {
        Self { places, folder, target: None, nvrtc: OnceLock::new(), turn: Mutex::new(()) }
    }

    /// The compiler for this device: of those that there are, the first whose kernels it runs.
    pub(crate) fn for_target(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }

    fn nvrtc(&self) -> Result<&Nvrtc, String> {
        let suits = |nvrtc: &Nvrtc| self.target.map_or(Ok(()), |target| target.accepts(nvrtc));
        let load = || Nvrtc::load(self.places.as_ref().map_err(String::clone)?, suits);
        self.nvrtc.get_or_init(load).as_ref().map_err(String::clone)
    }

    /// The architectures that it compiles for, in rising order: 90 is `sm_90`.
    #[cfg(test)]
    pub(crate) fn archs(&self) -> Result<Vec<u32>, String> {
        self.nvrtc()?.archs()
    }

    /// The version, as `13.0`.
    pub(crate) fn version(&self) -> Result<String, String> {
        let (major, minor) = self.nvrtc()?.version()?;
        Ok(format!("{major}.{minor}"))
    }

    /// What tells this compiler from others. Files are told by their sizes and ages, so that a program whose kernels are
    /// all kept need not load one (10 ms or more).
    fn identity(&self) -> Result<String, String> {
        let places = self.places.as_ref().map_err(String::clone)?;
        // Which of them compiles follows from all of them and the device.
        let all: Option<Vec<String>> = places.iter().map(Place::identity).collect();
        match all.filter(|all| !all.is_empty()) {
            Some(all) => Ok(all.join("\n")),
            None => self.version(),
        }
    }

    /// The cubin of a text for an architecture, compiled if it is not kept. `more` are further options.
    pub(crate) fn cubin(&self, text: &str, arch: u32, more: &[String]) -> Result<Compiled, String> {
        let name = self.name(text, arch, more)?;
        if let Some(cubin) = self.folder.read(&name) {
            return Ok(Compiled { cubin, log: String::new() });
        }
        let compiled = self.compile(text, arch, more)?;
        // A folder that cannot be written is not missed.
        let _ = self.folder.write(&name, &compiled.cubin);
        Ok(compiled)
    }

    /// The name under which a cubin is kept.
    fn name(&self, text: &str, arch: u32, more: &[String]) -> Result<String, String> {
        let identity = self.identity()?;
        let options = more.join("\n");
        let texts = [text, &options, &identity, env!("CARGO_PKG_VERSION"), &OPTIONS.join("\n")];
        let key = |seed: &[u8]| {
            let [a, b, c, d, e] = texts.map(str::as_bytes);
            hash([seed, a, b, c, d, e])
        };
        // Two hashes of 64 bits, for a text that is taken for another would be a wrong result.
        Ok(format!("cuda-sm_{arch}-{:016x}{:016x}.cubin", key(b"1"), key(b"2")))
    }

    /// Compiles a text, kept or not.
    pub(crate) fn compile(
        &self,
        text: &str,
        arch: u32,
        more: &[String],
    ) -> Result<Compiled, String> {
        let nvrtc = self.nvrtc()?;
        let (major, minor) = nvrtc.version()?;
        if !nvrtc.archs()?.contains(&arch) {
            return Err(format!("NVRTC {major}.{minor} cannot compile for sm_{arch}"));
        }
        let mut options = vec![format!("-arch=sm_{arch}")];
        options.extend(OPTIONS.map(str::to_owned));
        if major >= UNDERSTANDS {
            options.extend(SINCE_13.map(str::to_owned));
        }
        options.extend_from_slice(more);
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = nvrtc.compile(text, &options)?;
        match outcome.cubin {
            Some(cubin) => Ok(Compiled { cubin, log: outcome.log }),
            None => {
                show_refused(text);
                Err(format!("kernels do not compile for sm_{arch}: {}", outcome.log.trim()))
            }
        }
    }
}

#[cfg(test)]
impl Compiled {
    /// What each kernel needs, as the log says; nothing if the cubin was kept from before.
    pub(crate) fn usage(&self) -> Vec<Usage> {
        let mut found: Vec<Usage> = Vec::new();
        for line in self.log.lines() {
            if let Some((_, rest)) = line.split_once("Compiling entry function '") {
                let entry = rest.split('\'').next().unwrap_or_default().to_owned();
                found.push(Usage { entry, registers: 0, stack_bytes: 0, spill_bytes: 0 });
            }
            let Some(last) = found.last_mut() else { continue };
            last.stack_bytes += before(line, " bytes stack frame");
            last.spill_bytes +=
                before(line, " bytes spill stores") + before(line, " bytes spill loads");
            last.registers += before(line, " registers");
        }
        found
    }
}

/// The number in front of these words; 0 if they are not there.
#[cfg(test)]
fn before(line: &str, words: &str) -> u32 {
    let digits = line.find(words).map_or("", |end| {
        let start = line[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        &line[start..end]
    });
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::testing;

    #[test]
    fn the_log_says_what_a_kernel_needs() {
        let Some(compiler) = testing::compiler() else { return };
        // 64 values that are indexed by what is read have no registers.
        let text = "extern \"C\" __global__ void indexes(unsigned* at) {\n\
                    \x20   unsigned values[64];\n\
                    \x20   for (int k = 0; k < 64; ++k) values[k] = at[k] * at[k + 1];\n\
                    \x20   at[0] = values[at[1] % 64];\n}\n\
                    extern \"C\" __global__ void adds(unsigned* at) { at[0] += at[1]; }\n";
        let compiled = compiler.compile(text, 90, &[]).expect("it compiles");
        let mut usage = compiled.usage();
        usage.sort_by(|left, right| left.entry.cmp(&right.entry));
        assert_eq!(usage.len(), 2, "{}", compiled.log);
        let [adds, indexes] = &usage[..] else { unreachable!("there are two") };
        assert_eq!((adds.entry.as_str(), adds.stack_bytes, adds.spill_bytes), ("adds", 0, 0));
        assert_eq!((indexes.entry.as_str(), indexes.stack_bytes), ("indexes", 256));
        assert!((1..=32).contains(&adds.registers), "{}", compiled.log);
        assert!(compiled.cubin.starts_with(b"\x7fELF"));
    }

    #[test]
    fn an_error_says_where_it_is() {
        let Some(compiler) = testing::compiler() else { return };
        let error = compiler.compile("\n\nnothing like it;", 90, &[]).expect_err("it is no text");
        assert!(error.contains("sm_90") && error.contains("kernels.cu(3)"), "{error}");
        let error = compiler.compile("", 1, &[]).expect_err("there is no such architecture");
        assert!(error.contains("cannot compile for sm_1"), "{error}");
        let error = compiler.compile("\0", 90, &[]).expect_err("it is no text");
        assert!(error.contains("zero byte"), "{error}");
    }

    #[test]
    fn a_compiler_whose_kernels_do_not_run_is_refused() {
        let Some(compiler) = testing::compiler() else { return };
        let version = compiler.version().expect("it is known");
        drop(compiler);
        let of = |arch, driver| {
            let compiler = Compiler::of_machine(Folder::default());
            compiler.for_target(Target { arch, driver }).version()
        };
        assert_eq!(of(90, 99_000), Ok(version));
        let too_new = of(90, 4_000).expect_err("the driver is very old");
        assert!(too_new.contains("is too new for a driver of CUDA 4.0"), "{too_new}");
        let unknown = of(1, 99_000).expect_err("there is no such architecture");
        assert!(unknown.contains("cannot compile for sm_1"), "{unknown}");
    }

    #[test]
    fn without_a_compiler_every_call_says_why() {
        let compiler = Compiler::new(Err("it is nowhere".to_owned()), Folder::default());
        let why = Err("it is nowhere".to_owned());
        assert_eq!(compiler.cubin("", 90, &[]), why);
        assert_eq!(compiler.compile("", 90, &[]), why);
        assert_eq!(compiler.archs().map(drop), why.map(drop));
    }

    #[test]
    fn floats_are_computed_as_they_are_written() {
        let Some(compiler) = testing::compiler() else { return };
        let text =
            "extern \"C\" __global__ void kernel(float* at) { at[0] = at[1] * at[2] + at[3]; }";
        let plain = compiler.compile(text, 90, &[]).expect("it compiles");
        let fused = compiler.compile(text, 90, &["-fmad=true".to_owned()]).expect("it compiles");
        assert_ne!(plain.cubin, fused.cubin, "the product is rounded before it is added to");
    }

    #[test]
    fn numbers_stand_before_their_words() {
        assert_eq!(
            before("    16 bytes stack frame, 8 bytes spill stores", " bytes spill stores"),
            8
        );
        assert_eq!(before("Used 30 registers", " registers"), 30);
        assert_eq!(before("no registers", " registers"), 0);
    }

    const TEXT: &str = "extern \"C\" __global__ void kernel(int* item) { *item = 1; }";

    /// The one file of a folder.
    fn file(folder: &tempfile::TempDir) -> PathBuf {
        let mut files = fs::read_dir(folder.path()).expect("a folder");
        let file = files.next().expect("a file").expect("a file").path();
        assert!(files.next().is_none(), "there is one file");
        file
    }

    #[test]
    fn what_is_kept_is_not_compiled_again_and_never_trusted_when_damaged() {
        if testing::compiler().is_none() {
            return;
        }
        let kept = tempfile::tempdir().expect("a folder");
        let open = || Compiler::of_machine(Folder::at(kept.path()));
        let first = open().cubin(TEXT, 90, &[]).expect("it compiles");
        assert!(!first.log.is_empty());
        let whole = fs::read(file(&kept)).expect("it is kept");
        let second = open().cubin(TEXT, 90, &[]).expect("it is kept");
        assert_eq!((second.cubin, second.log.as_str()), (first.cubin.clone(), ""));
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damaged in [&whole[..whole.len() / 2], &flipped, b"", b"nothing like it", &whole[16..]]
        {
            fs::write(file(&kept), damaged).expect("it can be written");
            let again = open().cubin(TEXT, 90, &[]).expect("it compiles");
            assert_eq!(again.cubin, first.cubin, "not what was damaged");
            assert_eq!(fs::read(file(&kept)).expect("it is kept"), whole);
        }
    }

    #[test]
    fn another_text_architecture_or_option_is_another_file() {
        let Some(compiler) = testing::compiler() else { return };
        drop(compiler);
        let kept = tempfile::tempdir().expect("a folder");
        let compiler = Compiler::of_machine(Folder::at(kept.path()));
        let other = TEXT.replace("= 1", "= 2");
        let option = ["-DNAME=1".to_owned()];
        let made = [(TEXT, 90, &[][..]), (&other, 90, &[]), (TEXT, 80, &[]), (TEXT, 90, &option)];
        for (number, (text, arch, more)) in (1..).zip(made) {
            compiler.cubin(text, arch, more).expect("it compiles");
            assert_eq!(fs::read_dir(kept.path()).expect("a folder").count(), number);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_not_missed() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let folder = Folder::at(file.path().join("folder"));
        if testing::compiler().is_some() {
            for folder in [folder, Folder::default()] {
                let compiled = Compiler::of_machine(folder).cubin(TEXT, 90, &[]);
                assert!(compiled.is_ok_and(|compiled| !compiled.cubin.is_empty()));
            }
        }
    }
}
