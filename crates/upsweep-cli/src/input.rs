//! Where items come from: a `.npy` file or raw numbers, mapped into memory, or read in pieces where they cannot be; or text.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::cast_slice_mut;
#[cfg(unix)]
use memmap2::Advice;
use memmap2::Mmap;
use upsweep::Dtype;
use upsweep::any::{self, AnyView, Kernel, Scalar};
use upsweep_measure::log;

use crate::args::ReadingArguments;
use crate::columns::ByColumns;
use crate::error::{Failure, Result};
use crate::progress::Progress;
use crate::spool::{Spool, Spooled};
use crate::text::TextFormat;
use crate::{containers, npy, text};

/// Bytes of items that are handed to the device at once when they are read in place: few enough
/// to notice a signal soon and to draw progress, many enough that starting threads costs nothing.
const CHUNK_BYTES: usize = 128 << 20;

/// The same where they are copied first, from a file or to be converted.
const COPIED_BYTES: usize = 1 << 20;

/// The same of an array that is stored by columns: some rows of it, whose items share cache lines.
const COLUMNS_BYTES: usize = 64 << 20;

/// Bytes that are looked at for the header of a file that is read in pieces.
const MOST_HEADER: usize = 1 << 20;

/// What a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Npy,
    Raw,
    Text,
}

/// An array from outside.
pub(crate) struct Input {
    bytes: Bytes,
    path: PathBuf,
    offset: usize,
    big_endian: bool,
    /// If the items are not stored in C order.
    by_columns: Option<ByColumns>,
    /// What it was read from.
    pub(crate) format: Format,
    /// Type of the items.
    pub(crate) dtype: Dtype,
    /// Lengths of the dimensions.
    pub(crate) shape: Vec<u64>,
    /// Number of items.
    pub(crate) items: usize,
}

enum Bytes {
    Memory(Vec<u8>),
    Map(Mmap),
    /// A file that cannot be mapped, and its length.
    File(File, usize),
}

impl Bytes {
    fn len(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::Map(map) => map.len(),
            Self::File(_, length) => *length,
        }
    }

    /// So many bytes from the beginning, or all.
    fn head(&self, bytes: usize) -> io::Result<Vec<u8>> {
        let length = self.len().min(bytes);
        match self {
            Self::Memory(all) => Ok(all[..length].to_vec()),
            Self::Map(map) => Ok(map[..length].to_vec()),
            Self::File(file, _) => {
                let mut head = vec![0; length];
                read_at(file, 0, &mut head)?;
                Ok(head)
            }
        }
    }

    fn of_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        if length == 0 {
            return Ok(Self::Memory(Vec::new()));
        }
        // SAFETY: the bytes are only ever read as numbers, any bits of which are legal. Another
        // program that writes to the file changes numbers; one that shortens it ends this
        // program with a signal, as it does every program that maps a file.
        match unsafe { Mmap::map(&file) } {
            Ok(map) => Ok(Self::Map(map)),
            Err(error) => match usize::try_from(length) {
                Ok(length) => {
                    log!("mapping failed ({error}); the file is read in pieces");
                    Ok(Self::File(file, length))
                }
                Err(_) => Err(error),
            },
        }
    }
}

/// Fills `out` with the bytes of a file from `offset` on.
fn read_at(mut file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(out)
}

impl Input {
    /// Opens `path`; `-` is text on standard input. `dtype` is what the user says of the items.
    pub(crate) fn open(
        path: &Path,
        dtype: Option<Dtype>,
        reading: &ReadingArguments,
    ) -> Result<Self> {
        let input = if path == Path::new("-") {
            Self::read_text(dtype.unwrap_or(Dtype::F64), reading)
        } else if let Some(option) = reading.text_option() {
            let path = path.display();
            Err(Failure::usage(format!(
                "{option} is for text, which is read with -; not for '{path}'"
            )))
        } else {
            Self::open_file(path, dtype, reading.raw)
        }?;
        let kept = match input.bytes {
            Bytes::Map(_) => "mapped",
            Bytes::Memory(_) => "in memory",
            Bytes::File(..) => "read in pieces",
        };
        log!(
            "'{}': {:?}, {} items of {}, shape {:?}, items at byte {}{}{}, {kept}",
            path.display(),
            input.format,
            input.items,
            input.dtype,
            input.shape,
            input.offset,
            if input.big_endian { ", big-endian" } else { "" },
            if input.by_columns.is_some() { ", by columns" } else { "" },
        );
        Ok(input)
    }

    /// The same for items of which only matters whether they are 0: bools are 0 and 1.
    pub(crate) fn open_flags(
        path: &Path,
        dtype: Option<Dtype>,
        reading: &ReadingArguments,
    ) -> Result<Self> {
        Self::open(path, dtype, reading).or_else(|refused| {
            // What comes through a pipe is gone.
            let again = dtype.is_none() && path.is_file();
            match again.then(|| Self::open_file(path, Some(Dtype::U8), reading.raw)) {
                Some(Ok(bools)) if bools.format == Format::Npy => Ok(bools),
                _ => Err(refused),
            }
        })
    }

    /// Opens the `.npy` file that `option` names, whose bools are 0 and 1.
    pub(crate) fn open_npy(path: &Path, option: &str) -> Result<Self> {
        let name = path.display();
        let other = || Failure::usage(format!("{option} takes a .npy file, which '{name}' is not"));
        if path == Path::new("-") {
            return Err(other());
        }
        Self::open_file(path, None, false).or_else(|refused| {
            match Self::open_file(path, Some(Dtype::U8), false) {
                Ok(bools) if bools.format == Format::Npy => Ok(bools),
                Ok(_) => Err(other()),
                Err(_) => Err(refused),
            }
        })
    }

    fn read_text(dtype: Dtype, reading: &ReadingArguments) -> Result<Self> {
        if reading.raw {
            return Err(Failure::usage("--raw is for files; - is text on standard input"));
        }
        let missing = reading.missing.as_deref().map(|text| Scalar::parse(text, dtype));
        let missing = missing
            .transpose()
            .map_err(|problem| Failure::usage(format!("--missing {problem}")))?;
        let format = TextFormat { separator: reading.separator, missing };
        let bytes = match text::read(io::stdin().lock(), dtype, format)?.finish()? {
            Spooled::Memory(bytes) => Bytes::Memory(bytes),
            Spooled::File(file) => Bytes::of_file(file)
                .map_err(|error| Failure::file("read", &std::env::temp_dir(), error))?,
        };
        Ok(Self::plain(Path::new("standard input"), bytes, Format::Text, dtype))
    }

    fn open_file(path: &Path, dtype: Option<Dtype>, raw: bool) -> Result<Self> {
        let failure = |error| Failure::file("read", path, error);
        let file = File::open(path).map_err(failure)?;
        let kind = file.metadata().map_err(failure)?.file_type();
        if kind.is_dir() {
            return Err(failure(io::ErrorKind::IsADirectory.into()));
        }
        let bytes = if kind.is_file() {
            Bytes::of_file(file).map_err(failure)?
        } else if is_device(kind) {
            return Err(Failure::usage(format!("'{}' is a device, not a file", path.display())));
        } else {
            let mut spool = Spool::new();
            spool.read_from(&file, path)?;
            match spool.finish()? {
                Spooled::Memory(bytes) => Bytes::Memory(bytes),
                Spooled::File(file) => Bytes::of_file(file).map_err(failure)?,
            }
        };
        let named_npy = path.extension().is_some_and(|extension| extension == "npy");
        let head = bytes.head(containers::HEAD).map_err(failure)?;
        let wrapping = containers::wrapping(&head);
        if !raw && (head.starts_with(npy::MAGIC) || (named_npy && wrapping.is_none())) {
            return Self::npy(path, bytes, dtype);
        }
        if let Some(refusal) = refusal(wrapping, &head, dtype).filter(|_| !raw) {
            return Err(Failure::usage(format!("'{}' {refusal}", path.display())));
        }
        let name = path.display();
        let Some(dtype) = dtype else {
            return Err(Failure::usage(format!(
                "'{name}' is not a .npy file; say with --dtype which raw numbers it holds",
            )));
        };
        let length = bytes.len();
        if !length.is_multiple_of(dtype.size()) {
            return Err(Failure::usage(format!(
                "'{name}' has {length} bytes, not a multiple of the {} bytes of {dtype}",
                dtype.size(),
            )));
        }
        Ok(Self::plain(path, bytes, Format::Raw, dtype))
    }

    fn npy(path: &Path, bytes: Bytes, dtype: Option<Dtype>) -> Result<Self> {
        let head;
        let start = match &bytes {
            Bytes::Memory(bytes) => bytes.as_slice(),
            Bytes::Map(map) => map,
            Bytes::File(..) => {
                let read = bytes.head(MOST_HEADER);
                head = read.map_err(|error| Failure::file("read", path, error))?;
                &head
            }
        };
        let header = npy::parse(start, bytes.len() as u64, dtype)
            .map_err(|source| Failure::Npy { path: path.to_owned(), source })?;
        Ok(Self {
            items: (bytes.len() - header.offset) / header.dtype.size(),
            bytes,
            path: path.to_owned(),
            offset: header.offset,
            big_endian: header.big_endian,
            by_columns: header.by_columns.then(|| ByColumns::new(&header.shape)),
            format: Format::Npy,
            dtype: header.dtype,
            shape: header.shape,
        })
    }

    /// An array of one dimension without a header.
    fn plain(path: &Path, bytes: Bytes, format: Format, dtype: Dtype) -> Self {
        let items = bytes.len() / dtype.size();
        Self {
            bytes,
            path: path.to_owned(),
            offset: 0,
            big_endian: false,
            by_columns: None,
            format,
            dtype,
            shape: vec![items as u64],
            items,
        }
    }

    /// Bytes of all items.
    pub(crate) fn item_bytes(&self) -> u64 {
        (self.items as u64) * (self.dtype.size() as u64)
    }

    /// Tells the system in which direction the items will be read.
    #[cfg_attr(not(unix), allow(unused, reason = "there is no such advice"))]
    pub(crate) fn will_read(&self, reverse: bool) {
        #[cfg(unix)]
        if let Bytes::Map(map) = &self.bytes {
            // Advice is a hint; that the system does not take it is no failure.
            let _ = map.advise(if reverse { Advice::Normal } else { Advice::Sequential });
        }
    }

    /// Whether items are stored by columns: the first dimension counts fastest.
    pub(crate) fn is_by_columns(&self) -> bool {
        self.by_columns.is_some()
    }

    /// From now on items come as they are stored, not in C order.
    pub(crate) fn ignore_order(&mut self) {
        self.by_columns = None;
    }

    /// The items. Of a file that cannot be mapped and is stored by columns all are read here.
    pub(crate) fn items(&mut self) -> Result<Items<'_>> {
        if self.by_columns.is_some() && matches!(self.bytes, Bytes::File(..)) {
            let read = self.bytes.head(self.bytes.len());
            let all = read.map_err(|error| Failure::file("read", &self.path, error))?;
            self.bytes = Bytes::Memory(all);
        }
        let length = self.items * self.dtype.size();
        let stored = match &self.bytes {
            Bytes::Memory(bytes) => Stored::Memory(&bytes[self.offset..][..length]),
            Bytes::Map(map) => Stored::Memory(&map[self.offset..][..length]),
            Bytes::File(file, _) => Stored::File(file, self.offset as u64),
        };
        Ok(Items {
            stored,
            path: &self.path,
            count: self.items,
            dtype: self.dtype,
            swap: self.big_endian,
            by_columns: self.by_columns.as_ref(),
        })
    }
}

#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

/// Why a file that begins so, and is no `.npy` file, is not taken for raw numbers.
fn refusal(wrapping: Option<String>, head: &[u8], dtype: Option<Dtype>) -> Option<String> {
    // Who said a type may mean the bytes.
    let anyway = if dtype.is_some() { ", or take its bytes for numbers with --raw" } else { "" };
    if let Some(wrapping) = wrapping {
        return Some(format!("is {wrapping}{anyway}"));
    }
    let hint =
        "looks like text, which - reads from standard input, as in 'upsweep reduce - < FILE'";
    containers::is_text(head).then(|| format!("{hint}{anyway}"))
}

/// The bytes of items.
#[derive(Clone, Copy)]
enum Stored<'a> {
    Memory(&'a [u8]),
    /// In a file, from this byte on.
    File(&'a File, u64),
}

/// The items of an input, read in place where that is possible.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a> {
    stored: Stored<'a>,
    path: &'a Path,
    count: usize,
    dtype: Dtype,
    /// Whether the bytes of each item are in the other order than this machine's.
    swap: bool,
    by_columns: Option<&'a ByColumns>,
}

impl Items<'_> {
    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Bytes of one item.
    pub(crate) fn size(&self) -> usize {
        self.dtype.size()
    }

    /// How many items to take at once for a kernel: a multiple of `multiple`. Where they are copied first they are few.
    pub(crate) fn step(&self, kernel: Option<Kernel>, multiple: usize) -> usize {
        let converts = kernel.is_some_and(|kernel| kernel.converts);
        let size = kernel.map_or(self.size(), |kernel| kernel.item.size());
        let in_place = !converts && self.in_place(0..self.len()).is_some();
        let bytes = if in_place {
            CHUNK_BYTES
        } else if self.by_columns.is_some() {
            COLUMNS_BYTES
        } else {
            COPIED_BYTES
        };
        (bytes / size).next_multiple_of(multiple)
    }

    /// The items of `range`. `buffer` keeps what cannot be read in place.
    pub(crate) fn get<'b>(
        &'b self,
        range: Range<usize>,
        buffer: &'b mut Vec<u64>,
    ) -> Result<AnyView<'b>> {
        if let Some(items) = self.in_place(range.clone()) {
            return Ok(items);
        }
        let (size, mut read) = (self.size(), Vec::new());
        let length = range.len() * size;
        buffer.resize(length.div_ceil(8), 0);
        let copy = &mut cast_slice_mut(buffer)[..length];
        let stored = match (self.stored, self.by_columns) {
            (Stored::Memory(all), Some(by_columns)) => {
                by_columns.gather(all, size, range, copy);
                None
            }
            (Stored::Memory(all), None) => Some(&all[range.start * size..range.end * size]),
            (Stored::File(file, offset), _) => {
                let failure = |error| Failure::file("read", self.path, error);
                let start = offset + (range.start * size) as u64;
                read_at(file, start, copy).map_err(failure)?;
                None
            }
        };
        match stored {
            Some(stored) => any::convert(self.dtype, stored, self.swap, self.dtype, copy)?,
            None if self.swap => {
                read.extend_from_slice(copy);
                any::convert(self.dtype, &read, true, self.dtype, copy)?;
            }
            None => {}
        }
        Ok(AnyView::from_bytes(self.dtype, copy)?)
    }

    /// Calls `take` with every chunk of `step` items, from first to last, and the position of its
    /// first item. Only the last chunk may have fewer.
    pub(crate) fn in_steps(
        &self,
        step: usize,
        progress: &Progress,
        mut take: impl FnMut(usize, AnyView<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        for start in (0..self.len()).step_by(step) {
            let end = self.len().min(start + step);
            take(start, self.get(start..end, &mut buffer)?)?;
            progress.advance((end - start) * self.size())?;
        }
        Ok(())
    }

    fn in_place(&self, range: Range<usize>) -> Option<AnyView<'_>> {
        let Stored::Memory(all) = self.stored else { return None };
        let bytes = &all[range.start * self.size()..range.end * self.size()];
        let is_plain = !self.swap && self.by_columns.is_none();
        if is_plain { AnyView::from_bytes(self.dtype, bytes).ok() } else { None }
    }
}
