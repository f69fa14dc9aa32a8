//! A file and how to read it.

use std::path::PathBuf;

use clap::Args;
use upsweep::Dtype;

/// A file and how to read it.
#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    /// A .npy file, a file of raw numbers (with --dtype), or - for text on standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Type of the numbers of a raw file or of text [default for text: f64]
    #[arg(long, value_name = "TYPE")]
    pub(crate) dtype: Option<Dtype>,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// What is said of text and of raw files.
#[derive(Debug, Args)]
pub(crate) struct ReadingArguments {
    /// What separates the numbers of text beside white space: one character, or tab [default: a comma]
    #[arg(long, value_name = "CHARACTER", value_parser = separator)]
    pub(crate) separator: Option<u8>,

    /// What an empty field of text stands for, such as nan or 0 [default: it is an error]
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub(crate) missing: Option<String>,

    /// Take the bytes of a file for numbers, whatever they look like
    #[arg(long)]
    pub(crate) raw: bool,
}

impl ReadingArguments {
    /// An option that was given and is about text.
    pub(crate) fn text_option(&self) -> Option<&'static str> {
        let separator = self.separator.map(|_| "--separator");
        separator.or(self.missing.as_ref().map(|_| "--missing"))
    }
}

/// A character that no number is written with.
fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if matches!(text, "tab" | "\\t") => Ok(b'\t'),
        [byte] if byte.is_ascii_alphanumeric() || b"+-.\n\r".contains(byte) => {
            Err("numbers may be written with it".to_owned())
        }
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("one ASCII character is wanted, or the word tab".to_owned()),
    }
}
