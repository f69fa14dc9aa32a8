//! The header of numpy's `.npy` files: read strictly, written as numpy writes it.
//!
//! A file is six magic bytes, a version, the length of the header, the header, and the items. The
//! header is a Python dictionary with the keys `descr`, `fortran_order` and `shape`.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::{self, CharIndices};

use upsweep::Dtype;

/// How every `.npy` file begins.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// Items begin at a multiple of this many bytes in files that are written here.
const ALIGNMENT: usize = 64;

/// What is wrong with a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderError {
    #[error("not a .npy file: it does not begin with the magic bytes of one")]
    Magic,
    #[error(".npy format version {0}.{1} is not known; known are 1.0, 2.0 and 3.0")]
    Version(u8, u8),
    #[error("truncated .npy header: {wanted} bytes are announced, the file has {found}")]
    Truncated { wanted: u64, found: u64 },
    #[error("corrupt .npy header: {0}")]
    Corrupt(String),
    #[error("dtype {0}")]
    Dtype(String),
    #[error("shape {0} has more items than can be counted")]
    Overflow(String),
    #[error(
        "{problem}: shape {shape} of {dtype} needs {wanted} bytes behind the header, there are {found}"
    )]
    Length { problem: &'static str, shape: String, dtype: Dtype, wanted: u64, found: u64 },
    #[error("the items are {found}, --dtype says {asked}")]
    Mismatch { found: Dtype, asked: Dtype },
}

/// What a `.npy` file contains, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Type of the items.
    pub(crate) dtype: Dtype,
    /// Whether the items are big-endian.
    pub(crate) big_endian: bool,
    /// Whether neighbours in the file are neighbours along the first dimension, not the last, and this makes a difference.
    pub(crate) by_columns: bool,
    /// Lengths of the dimensions. Without any there is one item.
    pub(crate) shape: Vec<u64>,
    /// Number of items.
    pub(crate) items: u64,
    /// Where the first item begins.
    pub(crate) offset: usize,
}

/// Reads the header of a file that begins with `bytes` and has `length` of them, and checks it against their number.
///
/// `asked` is the type that the user named: it must be the file's, and it decides what items are
/// for which numpy has no type of its own.
pub(crate) fn parse(
    bytes: &[u8],
    length: u64,
    asked: Option<Dtype>,
) -> Result<Header, HeaderError> {
    let (text, offset) = header_text(bytes, length)?;
    let fields = Parser::new(&text).fields().map_err(HeaderError::Corrupt)?;
    let (dtype, big_endian) = dtype(&fields.descr, asked)?;
    if let Some(asked) = asked.filter(|&asked| asked != dtype) {
        return Err(HeaderError::Mismatch { found: dtype, asked });
    }
    let shape = fields.shape;
    let overflow = || HeaderError::Overflow(shape_text(&shape));
    let items = if shape.contains(&0) {
        0
    } else {
        shape.iter().try_fold(1u64, |items, &side| items.checked_mul(side)).ok_or_else(overflow)?
    };
    let wanted = items.checked_mul(dtype.size() as u64).ok_or_else(overflow)?;
    if isize::try_from(wanted).is_err() {
        return Err(overflow());
    }
    // With one side longer than 1 both orders are the same.
    let long_sides = shape.iter().filter(|&&side| side > 1).count();
    let by_columns = fields.fortran_order && items > 0 && long_sides > 1;
    let found = length - offset as u64;
    if found != wanted {
        let problem = if found < wanted { "truncated" } else { "bytes left over at the end" };
        let shape = shape_text(&shape);
        return Err(HeaderError::Length { problem, shape, dtype, wanted, found });
    }
    Ok(Header { dtype, big_endian, by_columns, shape, items, offset })
}

/// The dictionary of the file, and where it ends.
fn header_text(bytes: &[u8], file: u64) -> Result<(Cow<'_, str>, usize), HeaderError> {
    if !bytes.starts_with(MAGIC) {
        return Err(HeaderError::Magic);
    }
    let short = |wanted: u64| HeaderError::Truncated { wanted, found: file };
    let (&[major, minor], rest) = bytes[MAGIC.len()..].split_first_chunk().ok_or(short(10))?;
    let (length, start) = match (major, minor) {
        (1, 0) => {
            let (length, _) = rest.split_first_chunk().ok_or(short(10))?;
            (u32::from(u16::from_le_bytes(*length)), 10u32)
        }
        (2 | 3, 0) => {
            let (length, _) = rest.split_first_chunk().ok_or(short(12))?;
            (u32::from_le_bytes(*length), 12)
        }
        _ => return Err(HeaderError::Version(major, minor)),
    };
    let end = u64::from(start) + u64::from(length);
    let (start, end) = match usize::try_from(end) {
        Ok(end) if end <= bytes.len() => (start as usize, end),
        _ if end <= file => {
            return Err(HeaderError::Corrupt(format!("it has {length} bytes, too many")));
        }
        _ => return Err(short(end)),
    };
    let text = &bytes[start..end];
    let text = if major < 3 {
        // Latin-1, of which only ASCII has a meaning here.
        text.iter().map(|&byte| char::from(byte)).collect()
    } else {
        let text = str::from_utf8(text);
        Cow::from(text.map_err(|_| HeaderError::Corrupt("it is not UTF-8".to_owned()))?)
    };
    Ok((text, end))
}

/// The type that `descr` names, and whether it is big-endian.
fn dtype(descr: &str, asked: Option<Dtype>) -> Result<(Dtype, bool), HeaderError> {
    let refuse = |why: &str| Err(HeaderError::Dtype(format!("'{descr}' {why}")));
    let (order, kind) = match descr.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), kind)) => (order, kind),
        _ => ("|", descr),
    };
    let dtype = match kind {
        "u1" => Dtype::U8,
        "i1" => Dtype::I8,
        "u2" => Dtype::U16,
        "i2" => Dtype::I16,
        "u4" => Dtype::U32,
        "i4" => Dtype::I32,
        "u8" => Dtype::U64,
        "i8" => Dtype::I64,
        "f2" => Dtype::F16,
        "f4" => Dtype::F32,
        "f8" => Dtype::F64,
        "V2" if asked == Some(Dtype::Bf16) => Dtype::Bf16,
        "V2" => return refuse("is two bytes of no type; if they are bf16, add --dtype bf16"),
        "b1" | "?" if asked == Some(Dtype::U8) => Dtype::U8,
        "b1" | "?" => {
            return refuse("(bool) is not a number; to count it as 0 and 1, add --dtype u8");
        }
        "O" => return refuse("(Python objects) is not a number"),
        _ if kind.starts_with(['c', 'U', 'S', 'M', 'm', 'V', 'a']) => {
            return refuse("is not a real number; known are u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8");
        }
        _ => return refuse("is not supported; known are u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8"),
    };
    if order == "|" && dtype.size() > 1 && kind != "V2" {
        return refuse("does not say in which order its bytes are");
    }
    Ok((dtype, order == ">" || (order == "=" && cfg!(target_endian = "big"))))
}

/// A shape as Python writes it.
fn shape_text(shape: &[u64]) -> String {
    match shape {
        [side] => format!("({side},)"),
        sides => {
            let sides: Vec<String> = sides.iter().map(u64::to_string).collect();
            format!("({})", sides.join(", "))
        }
    }
}

/// The beginning of a file with items of type `dtype`: everything in front of the first item.
pub(crate) fn header(dtype: Dtype, shape: &[u64]) -> Vec<u8> {
    let descr = match dtype {
        Dtype::U8 => "|u1",
        Dtype::I8 => "|i1",
        Dtype::U16 => "<u2",
        Dtype::I16 => "<i2",
        Dtype::U32 => "<u4",
        Dtype::I32 => "<i4",
        Dtype::U64 => "<u8",
        Dtype::I64 => "<i8",
        Dtype::F16 => "<f2",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
        // numpy has no bf16; packages that add one write it so.
        _ => "<V2",
    };
    let shape = shape_text(shape);
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let end = |prefix: usize| (prefix + text.len() + 1).next_multiple_of(ALIGNMENT);
    let mut bytes = MAGIC.to_vec();
    if let Ok(length) = u16::try_from(end(10) - 10) {
        bytes.extend([1, 0]);
        bytes.extend(length.to_le_bytes());
    } else {
        bytes.extend([2, 0]);
        let length = u32::try_from(end(12) - 12).unwrap_or(u32::MAX);
        bytes.extend(length.to_le_bytes());
    }
    let end = end(bytes.len());
    bytes.extend(text.as_bytes());
    bytes.resize(end - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// What the dictionary says.
struct Fields {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

/// Reads the few forms of a Python literal that a header consists of.
struct Parser<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, chars: text.char_indices().peekable() }
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        while self.chars.next_if(|(_, c)| c.is_ascii_whitespace()).is_some() {}
        self.chars.peek().map(|&(_, c)| c)
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.peek() == Some(wanted) && self.chars.next().is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.peek() {
            Some(c) if c == wanted => {
                self.chars.next();
                Ok(())
            }
            Some(c) => Err(format!("'{wanted}' is missing in front of '{}'", c.escape_default())),
            None => Err(format!("it ends where '{wanted}' should be")),
        }
    }

    /// Characters up to the first for which `part` is false.
    fn take(&mut self, part: impl Fn(char) -> bool) -> &'a str {
        let start = self.chars.peek().map_or(self.text.len(), |&(at, _)| at);
        while self.chars.next_if(|&(_, c)| part(c)).is_some() {}
        let end = self.chars.peek().map_or(self.text.len(), |&(at, _)| at);
        &self.text[start..end]
    }

    fn fields(mut self) -> Result<Fields, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while self.peek() != Some('}') {
            let key = self.string()?;
            self.expect(':')?;
            let again = match key {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(format!("unknown key '{}'", key.escape_default())),
            };
            if again {
                return Err(format!("key '{key}' stands twice"));
            }
            if !self.accept(',') {
                break;
            }
        }
        self.expect('}')?;
        if self.peek().is_some() {
            return Err("there is more behind the dictionary".to_owned());
        }
        let missing = |key: &str| format!("key '{key}' is missing");
        Ok(Fields {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = match self.peek() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err("a quoted word is missing".to_owned()),
        };
        self.chars.next();
        let word = self.take(|c| c != quote && c != '\\');
        match self.chars.next() {
            Some((_, end)) if end == quote => Ok(word),
            _ => Err("a quoted word does not end".to_owned()),
        }
    }

    /// The type: a word, or a word with metadata, which say nothing of the items. A list stands for a structure, and a word with a shape
    /// for items that are arrays; no primitive takes these.
    fn descr(&mut self) -> Result<String, String> {
        if self.peek() == Some('[') {
            return Err("the items are structures; save one field alone".to_owned());
        }
        if !self.accept('(') {
            return Ok(self.string()?.escape_default().to_string());
        }
        let dtype = self.string()?.escape_default().to_string();
        self.expect(',')?;
        if self.peek() != Some('{') {
            return Err("the items are arrays; save them as one array".to_owned());
        }
        self.skip_dictionary()?;
        self.accept(',');
        self.expect(')')?;
        Ok(dtype)
    }

    /// Goes to the end of a dictionary, whatever is in it.
    fn skip_dictionary(&mut self) -> Result<(), String> {
        let mut depth = 0u32;
        while let Some((_, c)) = self.chars.next() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                '\'' | '"' => self.skip_string(c)?,
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
        Err("the metadata of the type do not end".to_owned())
    }

    /// Goes to the end of a string that began with `quote`.
    fn skip_string(&mut self, quote: char) -> Result<(), String> {
        while let Some((_, c)) = self.chars.next() {
            match c {
                // Whatever it stands for, it does not end the string.
                '\\' => drop(self.chars.next()),
                _ if c == quote => return Ok(()),
                _ => {}
            }
        }
        Err("a quoted word does not end".to_owned())
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.peek();
        match self.take(|c| c.is_ascii_alphabetic()) {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err("fortran_order is neither True nor False".to_owned()),
        }
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        let mut comma = true;
        self.expect('(')?;
        while self.peek() != Some(')') {
            if !comma {
                return Err("a comma is missing in the shape".to_owned());
            }
            let digits = self.take(|c| c.is_ascii_digit());
            let side = digits.parse().map_err(|_| format!("'{digits}' is not a length"))?;
            shape.push(side);
            // Python 2 wrote long integers with an L.
            self.accept('L');
            comma = self.accept(',');
        }
        self.expect(')')?;
        if shape.len() == 1 && !comma {
            return Err("the shape is a number, not a tuple".to_owned());
        }
        Ok(shape)
    }
}

#[cfg(test)]
#[path = "npy/tests.rs"]
mod tests;
