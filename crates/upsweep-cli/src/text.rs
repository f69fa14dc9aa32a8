//! Numbers in text: what standard input holds.

use std::io::{BufRead, ErrorKind};
use std::path::Path;

use upsweep::Dtype;
use upsweep::any::Scalar;

use crate::error::{Failure, Result};
use crate::npy;
use crate::spool::Spool;

/// Reads numbers that white space or commas separate, to the end of `input`.
pub(crate) fn read(mut input: impl BufRead, dtype: Dtype) -> Result<Spool> {
    let mut numbers = Spool::new();
    let mut token = Vec::new();
    let mut line = 1;
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::file("read", Path::new("standard input"), error)),
        };
        for &byte in bytes {
            if !byte.is_ascii_whitespace() && byte != b',' {
                token.push(byte);
                continue;
            }
            push(&mut numbers, &mut token, dtype, line)?;
            line += u64::from(byte == b'\n');
        }
        let read = bytes.len();
        if read == 0 {
            break;
        }
        input.consume(read);
    }
    push(&mut numbers, &mut token, dtype, line)?;
    Ok(numbers)
}

/// Adds the number that `token` stands for, if it stands for any, and empties it.
fn push(numbers: &mut Spool, token: &mut Vec<u8>, dtype: Dtype, line: u64) -> Result<()> {
    if token.is_empty() {
        return Ok(());
    }
    let number = match std::str::from_utf8(token) {
        Ok(text) => Scalar::parse(text, dtype),
        Err(_) if token.starts_with(npy::MAGIC) => {
            Err("this is a .npy file; name the file, or pipe it to /dev/stdin".to_owned())
        }
        Err(_) => Scalar::parse(&String::from_utf8_lossy(token), dtype),
    };
    numbers.write(number.map_err(|problem| Failure::Text { line, problem })?.bytes())?;
    token.clear();
    Ok(())
}
