//! Where items come from: a `.npy` file or raw numbers, mapped into memory; or text.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use bytemuck::cast_slice_mut;
use memmap2::{Advice, Mmap};
use upsweep::Dtype;
use upsweep::any::{self, AnyView, Kernel};
use upsweep_measure::log;

use crate::error::{Failure, Result};
use crate::progress::Progress;
use crate::spool::{Spool, Spooled};
use crate::{npy, text};

/// Bytes of items that are handed to the device at once when they are read in place: few enough
/// to notice a signal soon and to draw progress, many enough that starting threads costs nothing.
const CHUNK_BYTES: usize = 128 << 20;

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
    offset: usize,
    big_endian: bool,
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
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::Map(map) => map,
        }
    }

    fn of_file(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::Memory(Vec::new()));
        }
        // SAFETY: the bytes are only ever read as numbers, any bits of which are legal. Another
        // program that writes to the file changes numbers; one that shortens it ends this
        // program with a signal, as it does every program that maps a file.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self::Map(map))
    }
}

impl Input {
    /// Opens `path`; `-` is text on standard input. `dtype` is what the user says of the items.
    pub(crate) fn open(path: &Path, dtype: Option<Dtype>) -> Result<Self> {
        let input = if path == Path::new("-") {
            Self::read_text(dtype.unwrap_or(Dtype::F64))
        } else {
            Self::open_file(path, dtype)
        }?;
        log!(
            "'{}': {:?}, {} items of {}, shape {:?}, items at byte {}{}{}",
            path.display(),
            input.format,
            input.items,
            input.dtype,
            input.shape,
            input.offset,
            if input.big_endian { ", big-endian" } else { "" },
            if matches!(input.bytes, Bytes::Map(_)) { ", mapped" } else { ", in memory" },
        );
        Ok(input)
    }

    fn read_text(dtype: Dtype) -> Result<Self> {
        let bytes = match text::read(io::stdin().lock(), dtype)?.finish()? {
            Spooled::Memory(bytes) => Bytes::Memory(bytes),
            Spooled::File(file) => Bytes::of_file(&file)
                .map_err(|error| Failure::file("map", &std::env::temp_dir(), error))?,
        };
        Ok(Self::plain(bytes, Format::Text, dtype))
    }

    fn open_file(path: &Path, dtype: Option<Dtype>) -> Result<Self> {
        let failure = |error| Failure::file("read", path, error);
        let file = File::open(path).map_err(failure)?;
        let kind = file.metadata().map_err(failure)?.file_type();
        if kind.is_dir() {
            return Err(failure(io::ErrorKind::IsADirectory.into()));
        }
        let bytes = if kind.is_file() {
            Bytes::of_file(&file).map_err(failure)?
        } else if kind.is_char_device() || kind.is_block_device() {
            return Err(Failure::usage(format!("'{}' is a device, not a file", path.display())));
        } else {
            let mut spool = Spool::new();
            spool.read_from(&file, path)?;
            match spool.finish()? {
                Spooled::Memory(bytes) => Bytes::Memory(bytes),
                Spooled::File(file) => Bytes::of_file(&file).map_err(failure)?,
            }
        };
        let named_npy = path.extension().is_some_and(|extension| extension == "npy");
        if named_npy || bytes.all().starts_with(npy::MAGIC) {
            let header = npy::parse(bytes.all(), dtype)
                .map_err(|source| Failure::Npy { path: path.to_owned(), source })?;
            return Ok(Self {
                items: (bytes.all().len() - header.offset) / header.dtype.size(),
                bytes,
                offset: header.offset,
                big_endian: header.big_endian,
                format: Format::Npy,
                dtype: header.dtype,
                shape: header.shape,
            });
        }
        let name = path.display();
        let Some(dtype) = dtype else {
            return Err(Failure::usage(format!(
                "'{name}' is not a .npy file; say with --dtype which raw numbers it holds",
            )));
        };
        let length = bytes.all().len();
        if !length.is_multiple_of(dtype.size()) {
            return Err(Failure::usage(format!(
                "'{name}' has {length} bytes, not a multiple of the {} bytes of {dtype}",
                dtype.size(),
            )));
        }
        Ok(Self::plain(bytes, Format::Raw, dtype))
    }

    /// An array of one dimension without a header.
    fn plain(bytes: Bytes, format: Format, dtype: Dtype) -> Self {
        let items = bytes.all().len() / dtype.size();
        let shape = vec![items as u64];
        Self { bytes, offset: 0, big_endian: false, format, dtype, shape, items }
    }

    /// Bytes of all items.
    pub(crate) fn item_bytes(&self) -> u64 {
        (self.items as u64) * (self.dtype.size() as u64)
    }

    /// Tells the system in which direction the items will be read.
    pub(crate) fn will_read(&self, reverse: bool) {
        if let Bytes::Map(map) = &self.bytes {
            // Advice is a hint; that the system does not take it is no failure.
            let _ = map.advise(if reverse { Advice::Normal } else { Advice::Sequential });
        }
    }

    /// The items.
    pub(crate) fn items(&self) -> Items<'_> {
        Items {
            bytes: &self.bytes.all()[self.offset..][..self.items * self.dtype.size()],
            dtype: self.dtype,
            swap: self.big_endian,
        }
    }
}

/// The items of an input, read in place where that is possible.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a> {
    bytes: &'a [u8],
    dtype: Dtype,
    /// Whether the bytes of each item are in the other order than this machine's.
    swap: bool,
}

impl Items<'_> {
    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.size()
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
        let bytes = if in_place { CHUNK_BYTES } else { 1 << 20 };
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
        let bytes = &self.bytes[range.start * self.size()..range.end * self.size()];
        buffer.resize(bytes.len().div_ceil(8), 0);
        let copy = &mut cast_slice_mut(buffer)[..bytes.len()];
        any::convert(self.dtype, bytes, self.swap, self.dtype, copy)?;
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
        let bytes = &self.bytes[range.start * self.size()..range.end * self.size()];
        if self.swap { None } else { AnyView::from_bytes(self.dtype, bytes).ok() }
    }
}
