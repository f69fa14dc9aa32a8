//! Where an array goes: a file that appears whole or not at all, or a stream.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use memmap2::MmapMut;
use tempfile::TempPath;
use upsweep::Dtype;
use upsweep::any::Scalar;
use upsweep_measure::log;
use upsweep_measure::signals::{check_signals, watch_signals};

use crate::args::OutputFormat;
use crate::error::{Failure, Result};
use crate::input::Format;
use crate::npy;
use crate::spool::Spool;

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

    /// The format of an output when the user names none, of what was read from `input`.
    pub(crate) fn format(&self, input: Format) -> OutputFormat {
        let named_npy = self.path().extension().is_some_and(|extension| extension == "npy");
        match (input, self) {
            (Format::Npy, _) => OutputFormat::Npy,
            (_, Self::File(_) | Self::Stream(_)) if named_npy => OutputFormat::Npy,
            (Format::Text, Self::Stdout) => OutputFormat::Text,
            _ => OutputFormat::Raw,
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

/// A file that takes its name when it is finished, and is gone if the program ends before.
///
/// Until then it has no name at all, where the system has such files. Elsewhere it has another one beside its own, which stays if the
/// program is killed.
pub(crate) struct NewFile {
    file: File,
    /// The name that it has until it is finished, if it needs one.
    part: Option<TempPath>,
    path: PathBuf,
    directory: PathBuf,
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
        let (file, part) = match unnamed::create(directory) {
            Some(file) => (file, None),
            None => {
                let named = part_builder().tempfile_in(directory);
                // The name that tempfile adds is of no use to the user.
                let (file, part) = named.map_err(|error| failure(plain(error)))?.into_parts();
                (file, Some(part))
            }
        };
        if let Ok(replaced) = fs::metadata(path) {
            file.set_permissions(replaced.permissions()).map_err(failure)?;
        }
        let (path, directory) = (path.to_owned(), directory.to_owned());
        Ok(Self { file, part, path, directory, shown: shown.to_owned() })
    }

    /// The file to write to.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<()> {
        check_signals()?;
        let Self { file, part, path, directory, shown } = self;
        let named = match part {
            Some(part) => part.persist(path).map_err(|error| error.error),
            None => match unnamed::link(&file, &path) {
                // A name that is taken can only be taken over by a file that has one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => part_builder()
                    .make_in(directory, |part| unnamed::link(&file, part))
                    .and_then(|part| part.persist(path).map(drop).map_err(|error| error.error)),
                linked => linked,
            },
        };
        named.map_err(|error| Failure::file("write", &shown, plain(error)))
    }
}

/// What makes names for files that are not finished.
fn part_builder<'a>() -> tempfile::Builder<'a, 'a> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".upsweep-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// The error of the system alone.
fn plain(error: io::Error) -> io::Error {
    error.raw_os_error().map_or(error, io::Error::from_raw_os_error)
}

/// Files without a name, which can be given one.
#[cfg(target_os = "linux")]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    /// A new file in this directory; `None` if it cannot be made there or could not be given a name.
    pub(super) fn create(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file: File = open(directory, flags, Mode::from_raw_mode(0o666)).ok()?.into();
        link_of(&file).symlink_metadata().is_ok().then_some(file)
    }

    /// Gives it a name.
    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, link_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// The link by which the system shows an open file.
    fn link_of(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// Systems without such files.
#[cfg(not(target_os = "linux"))]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn create(_: &Path) -> Option<File> {
        None
    }

    pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A stream that items are written to in one format.
pub(crate) struct ItemStream<'a> {
    writer: BufWriter<Box<dyn Write + 'a>>,
    path: &'a Path,
    dtype: Dtype,
    format: OutputFormat,
}

impl<'a> ItemStream<'a> {
    /// Items of this type to a stream that messages call `path`.
    pub(crate) fn new(
        writer: Box<dyn Write + 'a>,
        path: &'a Path,
        dtype: Dtype,
        format: OutputFormat,
    ) -> Self {
        Self { writer: BufWriter::with_capacity(1 << 16, writer), path, dtype, format }
    }

    /// Writes what is no item.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(|error| Failure::file("write", self.path, error))
    }

    /// Writes items that lie in memory as these bytes.
    pub(crate) fn write_items(&mut self, bytes: &[u8]) -> Result<()> {
        if self.format != OutputFormat::Text {
            return self.write(bytes);
        }
        for item in bytes.chunks_exact(self.dtype.size()) {
            if let Some(number) = Scalar::from_bytes(self.dtype, item) {
                writeln!(self.writer, "{number}")
                    .map_err(|error| Failure::file("write", self.path, error))?;
            }
        }
        Ok(())
    }

    /// Everything is there.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| Failure::file("write", self.path, error))
    }
}

/// Writes `header` to the front of `file`, and takes space for `bytes` bytes in all, so that a full disk is an error here and not a
/// signal later.
pub(crate) fn begin(file: &File, path: &Path, header: &[u8], bytes: u64) -> Result<()> {
    let failure = |error| Failure::file("write", path, error);
    let mut writer = file;
    writer.write_all(header).map_err(failure)?;
    if bytes > 0 { reserve(file, bytes).map_err(failure) } else { Ok(()) }
}

/// All of a file that has been begun, as memory; `None` if it cannot be mapped.
pub(crate) fn map(file: &File) -> Option<MmapMut> {
    // SAFETY: the file has no name that another program would know, or none at all, so that
    // nobody shortens it; numbers are written over any bytes.
    let map = unsafe { MmapMut::map_mut(file) };
    let tell = |error| log!("mapping failed ({error}); the output is written in pieces");
    map.map_err(tell).ok()
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

/// An array of one dimension that is written from its first item on, whose length may be known only at the end.
pub(crate) struct NewArray<'a> {
    sink: Sink<'a>,
    dtype: Dtype,
    path: &'a Path,
    items: u64,
}

enum Sink<'a> {
    /// A file, and whether its header is written at the end.
    File {
        new: NewFile,
        stream: ItemStream<'a>,
        lacks_header: bool,
    },
    Stream(ItemStream<'a>),
    /// Everything, until the header can be written in front of it.
    Spool(Spool, &'a Target),
}

impl<'a> NewArray<'a> {
    /// Begins an array, that of so many items if that is known, at a target that messages call `path`.
    pub(crate) fn create(
        target: &'a Target,
        path: &'a Path,
        dtype: Dtype,
        format: OutputFormat,
        items: Option<u64>,
    ) -> Result<Self> {
        let is_npy = format == OutputFormat::Npy;
        // All lengths take as many bytes.
        let header =
            if is_npy { npy::header(dtype, &[items.unwrap_or(u64::MAX)]) } else { Vec::new() };
        let sink = match target {
            Target::File(file) => {
                let new = NewFile::create(file, path)?;
                let same = new.file().try_clone();
                let same = same.map_err(|error| Failure::file("write", path, error))?;
                let mut stream = ItemStream::new(Box::new(same), path, dtype, format);
                stream.write(&header)?;
                Sink::File { new, stream, lacks_header: is_npy && items.is_none() }
            }
            Target::Stream(_) | Target::Stdout if is_npy && items.is_none() => {
                Sink::Spool(Spool::new(), target)
            }
            Target::Stream(_) | Target::Stdout => {
                watch_signals()?;
                let mut stream = ItemStream::new(target.open_stream()?, path, dtype, format);
                stream.write(&header)?;
                Sink::Stream(stream)
            }
        };
        Ok(Self { sink, dtype, path, items: 0 })
    }

    /// Adds items, which lie in memory as these bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.items += (bytes.len() / self.dtype.size()) as u64;
        match &mut self.sink {
            Sink::File { stream, .. } | Sink::Stream(stream) => stream.write_items(bytes),
            Sink::Spool(spool, _) => spool.write(bytes),
        }
    }

    /// All items are there: writes what is still missing, but gives no file its name.
    pub(crate) fn complete(&mut self) -> Result<()> {
        let header = npy::header(self.dtype, &[self.items]);
        match &mut self.sink {
            Sink::File { new, stream, lacks_header } => {
                stream.flush()?;
                if *lacks_header {
                    let mut file = new.file();
                    let written = file.rewind().and_then(|()| file.write_all(&header));
                    written.map_err(|error| Failure::file("write", self.path, error))?;
                }
                Ok(())
            }
            Sink::Stream(stream) => stream.flush(),
            Sink::Spool(spool, target) => {
                let path = target.path();
                let mut stream =
                    ItemStream::new(target.open_stream()?, path, self.dtype, OutputFormat::Npy);
                stream.write(&header)?;
                std::mem::replace(spool, Spool::new()).take(|bytes| stream.write(bytes))?;
                stream.flush()
            }
        }
    }

    /// Gives a file that is complete its name.
    pub(crate) fn publish(self) -> Result<()> {
        match self.sink {
            Sink::File { new, .. } => new.finish(),
            Sink::Stream(_) | Sink::Spool(..) => Ok(()),
        }
    }

    /// Everything is there.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.complete()?;
        self.publish()
    }
}
