//! Where an array goes: a file that appears whole or not at all, or a stream.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use memmap2::MmapMut;
use tempfile::NamedTempFile;
use upsweep_measure::signals::{check_signals, watch_signals};

use crate::error::{Failure, Result};

/// What the user named with `-o`.
pub(crate) enum Target {
    /// A regular file, there or to be made; the path is free of links.
    File(PathBuf),
    /// A pipe or a device.
    Stream(PathBuf),
    /// Standard output.
    Stdout,
}

impl Target {
    /// Looks at what `path` is, without opening it.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        if path == Path::new("-") || path == Path::new("/dev/stdout") {
            return Ok(Self::Stdout);
        }
        let failure = |error| Failure::file("write", path, error);
        // Behind these names stand open files, which are to be written to, not replaced.
        let open_file =
            ["/dev/fd", "/dev/stderr", "/proc"].iter().any(|open| path.starts_with(open));
        match fs::metadata(path) {
            Ok(facts) if facts.is_dir() => Err(failure(io::ErrorKind::IsADirectory.into())),
            Ok(facts) if facts.is_file() && !open_file => {
                // Replacing a file asks only for the right to change its directory; a file that
                // may not be written is meant to stay.
                OpenOptions::new().append(true).open(path).map_err(failure)?;
                Ok(Self::File(fs::canonicalize(path).map_err(failure)?))
            }
            Ok(_) => Ok(Self::Stream(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::File(path.to_owned()))
            }
            Err(error) => Err(failure(error)),
        }
    }

    /// The name in messages.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Stream(path) => path,
            Self::Stdout => Path::new("standard output"),
        }
    }

    /// Opens a stream for writing.
    pub(crate) fn open_stream(&self) -> Result<Box<dyn Write>> {
        match self {
            Self::Stdout => Ok(Box::new(io::stdout().lock())),
            Self::File(path) | Self::Stream(path) => {
                let file = OpenOptions::new().write(true).open(path);
                Ok(Box::new(file.map_err(|error| Failure::file("write", path, error))?))
            }
        }
    }
}

/// A file that takes its name when it is finished. Until then it stands beside it under a name of
/// its own, and is removed if anything goes wrong.
pub(crate) struct NewFile {
    file: NamedTempFile,
    path: PathBuf,
    /// What the user calls it.
    shown: PathBuf,
}

impl NewFile {
    /// Begins the file that will be `path`, and that messages call `shown`.
    pub(crate) fn create(path: &Path, shown: &Path) -> Result<Self> {
        let failure = |error| Failure::file("write", shown, error);
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        if path.file_name().is_none() {
            return Err(failure(io::ErrorKind::InvalidInput.into()));
        }
        watch_signals()?;
        let file = tempfile::Builder::new()
            .prefix(".upsweep-")
            .suffix(".part")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)
            // The name that tempfile adds is of no use to the user.
            .map_err(|error| {
                failure(error.raw_os_error().map_or(error, io::Error::from_raw_os_error))
            })?;
        if let Ok(replaced) = fs::metadata(path) {
            file.as_file().set_permissions(replaced.permissions()).map_err(failure)?;
        }
        Ok(Self { file, path: path.to_owned(), shown: shown.to_owned() })
    }

    /// The file to write to.
    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<()> {
        check_signals()?;
        let Self { file, path, shown } = self;
        file.persist(path).map(drop).map_err(|error| Failure::file("write", &shown, error.error))
    }
}

/// Gives `file` a length of `bytes` with `header` at the front, and maps all of it. The space is
/// taken now, so that a full disk is an error here and not a signal later.
pub(crate) fn map(file: &File, path: &Path, header: &[u8], bytes: u64) -> Result<MmapMut> {
    let failure = |error| Failure::file("write", path, error);
    let mut writer = file;
    writer.write_all(header).map_err(failure)?;
    if bytes == 0 {
        return MmapMut::map_anon(1).map_err(failure);
    }
    reserve(file, bytes).map_err(failure)?;
    // SAFETY: the file has no name that another program would know, or none at all, so that
    // nobody shortens it; numbers are written over any bytes.
    unsafe { MmapMut::map_mut(file) }.map_err(failure)
}

/// Takes space for `bytes` bytes on the disk.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    loop {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        match fallocate(file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {
                if check_signals().is_err() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
            }
            // Not every file system can.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let zeros = vec![0; 1 << 20];
    let mut left = bytes.saturating_sub(file.metadata()?.len());
    let mut writer = file;
    while left > 0 {
        let part = usize::try_from(left).map_or(zeros.len(), |left| left.min(zeros.len()));
        writer.write_all(&zeros[..part])?;
        left -= part as u64;
        if check_signals().is_err() {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    Ok(())
}
