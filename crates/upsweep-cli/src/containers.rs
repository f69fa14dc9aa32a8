//! Files that hold numbers in a wrapping of their own, known by how they begin: their bytes are not the numbers.

/// How a file begins, what it is, and how to get at the numbers.
type Known = (&'static [u8], &'static str, &'static str);

const UNPACK: &str = "unpack it first";
const CONVERT: &str = "save the array as .npy first";

/// Those that are likely to be taken for numbers. A longer beginning stands before a shorter one that it contains.
const KNOWN: &[Known] = &[
    (
        b"PK\x03\x04",
        "a zip archive, such as numpy's .npz",
        "unpack it first; the arrays in it are .npy files",
    ),
    (b"PK\x05\x06", "an empty zip archive", "there is no array in it"),
    (b"\x1f\x8b", "compressed by gzip", "unpack it first, with gzip -d"),
    (b"BZh", "compressed by bzip2", "unpack it first, with bzip2 -d"),
    (b"\xfd7zXZ\0", "compressed by xz", "unpack it first, with xz -d"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it first, with zstd -d"),
    (b"\x04\x22\x4d\x18", "compressed by lz4", "unpack it first, with lz4 -d"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", CONVERT),
    (b"CDF\x01", "a NetCDF file", CONVERT),
    (b"CDF\x02", "a NetCDF file", CONVERT),
    (b"CDF\x05", "a NetCDF file", CONVERT),
    (b"PAR1", "a Parquet file", CONVERT),
    (b"ARROW1\0\0", "an Arrow file", CONVERT),
    (b"FEA1", "a Feather file", CONVERT),
    (b"ORC", "an ORC file", CONVERT),
    (b"Obj\x01", "an Avro file", CONVERT),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file", CONVERT),
    (b"SIMPLE  =", "a FITS file", CONVERT),
    (b"SQLite format 3\0", "an SQLite database", CONVERT),
    (b"\x89PNG\r\n\x1a\n", "a PNG image", CONVERT),
    (b"II*\0", "a TIFF image", CONVERT),
    (b"MM\0*", "a TIFF image", CONVERT),
    (b"\xff\xd8\xff", "a JPEG image", CONVERT),
    (b"%PDF-", "a PDF document", CONVERT),
];

/// Bytes that tell whether a file is text, and of which kind of wrapping.
pub(crate) const HEAD: usize = 4096;

/// What a file that begins so is, if its bytes are not the numbers in it, and what to do.
pub(crate) fn wrapping(head: &[u8]) -> Option<String> {
    let known = KNOWN.iter().find(|(beginning, ..)| head.starts_with(beginning));
    known.map(|(_, what, remedy)| format!("{what}; {remedy}"))
}

/// Whether a file that begins so is text with numbers in it: nothing but what numbers are written with, and at least a digit.
pub(crate) fn is_text(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let part_of_text =
        |byte: &u8| byte.is_ascii_whitespace() || b"0123456789+-.,;eE_".contains(byte);
    head.iter().any(u8::is_ascii_digit) && head.iter().all(part_of_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_told_apart() {
        for (number, (beginning, what, _)) in KNOWN.iter().enumerate() {
            let found = wrapping(beginning).expect("it is known");
            assert!(found.starts_with(what), "{found}");
            let before = &KNOWN[..number];
            assert!(before.iter().all(|(other, ..)| !beginning.starts_with(other)), "{what}");
        }
        assert_eq!(wrapping(b""), None);
        assert_eq!(wrapping(&1.0f32.to_le_bytes()), None);
    }

    #[test]
    fn text_is_what_numbers_are_written_with() {
        for text in ["1\n2\n", "\u{feff}-1.5e-3, 7", "12"] {
            assert!(is_text(text.as_bytes()), "{text}");
        }
        for (bytes, why) in
            [(&b""[..], "nothing"), (b"\n\n", "no digit"), (b"1\x002", "a zero byte")]
        {
            assert!(!is_text(bytes), "{why}");
        }
    }
}
