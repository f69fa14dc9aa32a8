//! Numbers in text: what standard input holds.

use std::io::{BufRead, ErrorKind};
use std::path::Path;
use std::str;

use upsweep::Dtype;
use upsweep::any::Scalar;

use crate::containers;
use crate::error::{Failure, Result};
use crate::npy;
use crate::spool::Spool;

/// How text is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFormat {
    /// What separates numbers beside white space, if it was said: otherwise a comma.
    pub(crate) separator: Option<u8>,
    /// What stands for a number that is missing; otherwise that is an error.
    pub(crate) missing: Option<Scalar>,
}

/// Reads numbers of one type that white space or a separator stand between, to the end of `input`.
///
/// Between two separators of a line, in front of its first and behind its last there must be a number.
pub(crate) fn read(mut input: impl BufRead, dtype: Dtype, format: TextFormat) -> Result<Spool> {
    let mut reader = Reader::new(dtype, format);
    let mut is_first = true;
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::file("read", Path::new("standard input"), error)),
        };
        if is_first {
            check_beginning(bytes)?;
            is_first = false;
        }
        for &byte in bytes {
            reader.take(byte)?;
        }
        let read = bytes.len();
        if read == 0 {
            break;
        }
        input.consume(read);
    }
    reader.finish()
}

/// Refuses what is not text.
fn check_beginning(bytes: &[u8]) -> Result<()> {
    let is = if bytes.starts_with(npy::MAGIC) {
        "a .npy file; name the file, or pipe it to /dev/stdin".to_owned()
    } else if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        "text in UTF-16; convert it to UTF-8 first".to_owned()
    } else if let Some(wrapping) = containers::wrapping(bytes) {
        wrapping
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("standard input is {is}")))
}

/// Digits between two separators of a number that is written with them: `1,234,567`.
const GROUP: usize = 3;

/// Most groups of a number: one of 64 bits has no more.
const MOST_GROUPS: usize = 7;

/// Bytes of the longest such number that are kept: with a sign, a point and some digits behind it.
const MOST_KEPT: usize = 64;

/// Text, as far as it has come.
struct Reader {
    dtype: Dtype,
    format: TextFormat,
    numbers: Spool,
    /// The number that is being read.
    token: Vec<u8>,
    /// All since the last white space, as long as it may be one number.
    word: Vec<u8>,
    /// Whether nothing was read yet.
    is_start: bool,
    line: u64,
    /// Separators of this line so far.
    separators: u64,
    /// Whether there was a number since the last of them, or since the line began.
    is_filled: bool,
}

impl Reader {
    fn new(dtype: Dtype, format: TextFormat) -> Self {
        let (token, word) = (Vec::new(), Vec::new());
        let numbers = Spool::new();
        let (is_start, line, separators, is_filled) = (true, 1, 0, false);
        Self { dtype, format, numbers, token, word, is_start, line, separators, is_filled }
    }

    fn take(&mut self, byte: u8) -> Result<()> {
        if byte == self.format.separator.unwrap_or(b',') {
            self.end_number()?;
            self.keep(byte);
            self.fill_gap()?;
            self.separators += 1;
            self.is_filled = false;
        } else if byte.is_ascii_whitespace() {
            self.end_number()?;
            self.end_word()?;
            if byte == b'\n' {
                self.end_line()?;
            }
        } else {
            self.token.push(byte);
            self.keep(byte);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Spool> {
        self.end_number()?;
        self.end_word()?;
        self.end_line()?;
        Ok(self.numbers)
    }

    fn keep(&mut self, byte: u8) {
        if self.word.len() < MOST_KEPT {
            self.word.push(byte);
        }
    }

    /// Adds the number that was read, if there was one.
    fn end_number(&mut self) -> Result<()> {
        if self.token.is_empty() {
            return Ok(());
        }
        let mut token = self.token.as_slice();
        if self.is_start {
            // The byte order mark that some editors begin a file with.
            token = token.strip_prefix(b"\xef\xbb\xbf").unwrap_or(token);
            self.is_start = false;
        }
        if !token.is_empty() {
            let number = Scalar::parse(&String::from_utf8_lossy(token), self.dtype);
            let number = number.map_err(|problem| self.failure(problem))?;
            self.numbers.write(number.bytes())?;
            self.is_filled = true;
        }
        self.token.clear();
        Ok(())
    }

    /// Refuses what may be one number, the digits of which commas put in groups, unless commas were said to separate numbers.
    fn end_word(&mut self) -> Result<()> {
        if self.format.separator.is_none() && is_grouped(&self.word) {
            let word = String::from_utf8_lossy(&self.word).into_owned();
            return Err(self.failure(format!(
                "'{word}' may be one number or several; if they are several, say --separator ,"
            )));
        }
        self.word.clear();
        Ok(())
    }

    /// Ends a line. Without separators it may have no number.
    fn end_line(&mut self) -> Result<()> {
        if self.separators > 0 {
            self.fill_gap()?;
        }
        self.line += 1;
        (self.separators, self.is_filled) = (0, false);
        Ok(())
    }

    /// Sees to a field that ends here.
    fn fill_gap(&mut self) -> Result<()> {
        match self.format.missing {
            _ if self.is_filled => Ok(()),
            Some(missing) => self.numbers.write(missing.bytes()),
            None => {
                let field = self.separators + 1;
                Err(self.failure(format!(
                    "field {field} is empty; --missing says what such a field stands for"
                )))
            }
        }
    }

    fn failure(&self, problem: String) -> Failure {
        Failure::Text { line: self.line, problem }
    }
}

/// Whether this is a number with a comma in front of every third digit.
fn is_grouped(word: &[u8]) -> bool {
    let digits = |group: &[u8]| !group.is_empty() && group.iter().all(u8::is_ascii_digit);
    let Some(word) = str::from_utf8(word).ok().filter(|word| word.len() < MOST_KEPT) else {
        return false;
    };
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let groups: Vec<&[u8]> = whole.split(',').map(str::as_bytes).collect();
    let (first, others) = (groups[0], &groups[1..]);
    (1..MOST_GROUPS).contains(&others.len())
        && digits(fraction.as_bytes())
        && first.len() <= GROUP
        && digits(first)
        && first[0] != b'0'
        && others.iter().all(|group| group.len() == GROUP && digits(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::Spooled;

    fn read_as(
        text: &str,
        separator: Option<u8>,
        missing: Option<f64>,
    ) -> std::result::Result<Vec<f64>, String> {
        let format = TextFormat { separator, missing: missing.map(Scalar::new) };
        // In pieces, so that words lie across them.
        let input = std::io::BufReader::with_capacity(3, text.as_bytes());
        let read = read(input, Dtype::F64, format).and_then(Spool::finish);
        match read.map_err(|error| error.to_string())? {
            Spooled::Memory(bytes) => Ok(bytes
                .chunks_exact(8)
                .map(|item| f64::from_le_bytes(item.try_into().expect("eight bytes")))
                .collect()),
            Spooled::File(_) => unreachable!("it is short"),
        }
    }

    #[test]
    fn numbers_stand_between_white_space_or_commas() {
        for (text, wanted) in [
            ("", vec![]),
            ("\n \n", vec![]),
            ("1", vec![1.0]),
            ("3 1 4\n1 5\n", vec![3.0, 1.0, 4.0, 1.0, 5.0]),
            ("1,2 , 3\r\n4,5\n", vec![1.0, 2.0, 3.0, 4.0, 5.0]),
            ("1 2, 3\n", vec![1.0, 2.0, 3.0]),
            ("\u{feff}1\n2\n", vec![1.0, 2.0]),
            ("\u{feff}\n2\n", vec![2.0]),
        ] {
            assert_eq!(read_as(text, None, None), Ok(wanted), "{text:?}");
        }
    }

    #[test]
    fn a_number_that_is_missing_is_named() {
        for (text, line, field) in [
            ("1,,3\n", 1, 2),
            ("1\n2\n,3\n", 3, 1),
            ("1,2,\n", 1, 3),
            ("1,2,", 1, 3),
            ("1, ,3", 1, 2),
            (",", 1, 1),
        ] {
            let found = read_as(text, None, None).expect_err(text);
            let wanted = format!("standard input, line {line}: field {field} is empty");
            assert!(found.starts_with(&wanted), "{text:?}: {found}");
        }
        assert_eq!(read_as("1,,3\n,\n", None, Some(0.5)), Ok(vec![1.0, 0.5, 3.0, 0.5, 0.5]));
        assert_eq!(read_as("1,\n\n2,3", None, Some(7.0)), Ok(vec![1.0, 7.0, 2.0, 3.0]));
    }

    #[test]
    fn another_separator_leaves_commas_to_be_refused() {
        assert_eq!(read_as("1;2; 3\n", Some(b';'), None), Ok(vec![1.0, 2.0, 3.0]));
        assert_eq!(read_as("1\t2\n", Some(b'\t'), None), Ok(vec![1.0, 2.0]));
        assert!(
            read_as("1\t\t2\n", Some(b'\t'), None).is_err_and(|error| error.contains("field 2"))
        );
        assert!(read_as("1,5;2\n", Some(b';'), None).is_err_and(|error| error.contains("'1,5'")));
    }

    #[test]
    fn digits_in_groups_are_refused_unless_commas_separate() {
        for text in ["1,234,567\n", "5 12,345", "-1,000.5\n", "999,999"] {
            let found = read_as(text, None, None).expect_err(text);
            assert!(found.contains("one number or several"), "{text}: {found}");
        }
        assert_eq!(read_as("1,234,567", Some(b','), None), Ok(vec![1.0, 234.0, 567.0]));
        for text in ["1,234,56", "1234,567", "0,123", "1,2345", "1, 234", "1,234,567e3"] {
            assert!(read_as(text, None, None).is_ok(), "{text}");
        }
        let many = "100,".repeat(7) + "100";
        assert_eq!(read_as(&many, None, None).map(|numbers| numbers.len()), Ok(8));
    }

    #[test]
    fn what_is_no_text_is_named() {
        for (bytes, is) in [
            (&b"\x1f\x8b\x08\0"[..], "compressed by gzip"),
            (b"\x93NUMPY\x01\0", "a .npy file"),
            (b"\xff\xfe1\0", "UTF-16"),
        ] {
            let format = TextFormat { separator: None, missing: None };
            let found = read(bytes, Dtype::F64, format).err().expect(is).to_string();
            assert!(found.contains(is), "{found}");
        }
    }
}
