//! A directory of its own for every test, files written byte by byte, and the program run in it.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory that is removed at the end of the test.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    /// An empty directory.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// The path of `name` in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("a file can be written");
        path
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file can be read")
    }

    /// The names of all files, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the directory can be listed");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The program, to be started in the directory.
    pub(crate) fn program(&self) -> Command {
        program_in(self.0.path())
    }

    /// Runs the program with `arguments` between spaces.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        Ran::new(self.program().args(arguments.split_whitespace()), b"")
    }

    /// Runs the program with `text` on standard input.
    pub(crate) fn run_with(&self, arguments: &str, text: &[u8]) -> Ran {
        Ran::new(self.program().args(arguments.split_whitespace()), text)
    }
}

/// The program, to be started in `directory`, with nothing set that changes what it does.
pub(crate) fn program_in(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_upsweep"));
    command.current_dir(directory).env_remove("UPSWEEP_DEVICE").env_remove("UPSWEEP_LOG");
    // Mesa's layer that sorts devices looks for a desktop, and says on standard error if there is none.
    command.env("NODEVICE_SELECT", "1");
    command
}

/// What a run of the program gave.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let out = String::from_utf8_lossy(&self.out[..self.out.len().min(2000)]);
        write!(f, "status {:?}\nout: {out}\nerr: {}", self.status, self.err)
    }
}

impl Ran {
    /// Runs `command` to its end.
    pub(crate) fn new(command: &mut Command, input: &[u8]) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // A program that ends early does not read everything.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        let err = String::from_utf8(stderr).expect("messages are text");
        Self { status: status.code(), out: stdout, err }
    }

    /// Standard output of a run that went well.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        assert_eq!((self.status, self.err.as_str()), (Some(0), ""), "{self:?}");
        String::from_utf8(self.out.clone()).expect("text")
    }

    /// The one line of a run that was refused: exit status 2, nothing on standard output.
    #[track_caller]
    pub(crate) fn refused(&self) -> &str {
        assert_eq!(self.status, Some(2), "{self:?}");
        assert!(self.out.is_empty(), "{self:?}");
        let line = self.err.strip_suffix('\n').expect("a whole line");
        assert!(!line.contains('\n'), "more than one line: {line}");
        line.strip_prefix("upsweep: ").expect("a line of the program's")
    }

    /// Checks that a run was refused with a line that contains `words`.
    #[track_caller]
    pub(crate) fn refused_for(&self, words: &str) {
        let line = self.refused();
        assert!(line.contains(words), "'{words}' is not in: {line}");
    }
}

/// A `.npy` file of version 1 as numpy writes it.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy_with(descr, "False", shape, data)
}

/// A `.npy` file of version 1, its header aligned to 64 bytes.
pub(crate) fn npy_with(descr: &str, fortran_order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dictionary =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}");
    let length = (10 + dictionary.len() + 1).next_multiple_of(64) - 10;
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(length).expect("a short header").to_le_bytes());
    file.extend(format!("{dictionary:<width$}\n", width = length - 1).as_bytes());
    file.extend(data);
    file
}

/// Little-endian bytes of 32-bit integers.
pub(crate) fn ints(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Little-endian bytes of doubles.
pub(crate) fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
