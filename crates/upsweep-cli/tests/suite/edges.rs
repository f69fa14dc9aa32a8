//! Files and text as people have them, which look like something else than they are.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Place, Ran, doubles, ints, npy, npy_with};

#[test]
fn more_threads_than_anyone_has() {
    let place = Place::new();
    place.write("four.npy", &npy("<f8", "(4,)", &doubles(&[1.0, 2.0, 3.0, 4.0])));
    place.write("long.npy", &npy("|u1", "(40000000,)", &vec![1; 40_000_000]));
    let begun = Instant::now();
    assert_eq!(place.run("reduce four.npy --threads 100000").text(), "10.0\n");
    assert_eq!(place.run("reduce long.npy --threads 18446744073709551615").text(), "40000000\n");
    assert!(begun.elapsed() < Duration::from_secs(60), "it ends");
    place.run("reduce four.npy --threads 18446744073709551616").refused_for("--threads");
    // Where the system lets no more threads start: a number that was asked for is an error, another is not.
    let limited = |options: &str, file: &str| {
        let mut command = Command::new("sh");
        let script = format!(r#"ulimit -v 600000 && exec "$0" reduce {file} {options}"#);
        command.args(["-c", &script, env!("CARGO_BIN_EXE_upsweep")]).current_dir(place.path(""));
        Ran::new(&mut command, b"")
    };
    limited("--threads 1000", "long.npy").refused_for("cannot start 1000 threads");
    assert_eq!(limited("--threads 1000", "four.npy").text(), "10.0\n");
    assert_eq!(limited("", "long.npy").text(), "40000000\n");
}

#[test]
fn text_with_gaps_marks_and_separators() {
    let place = Place::new();
    let reduced =
        |options: &str, text: &str| place.run_with(&format!("reduce - {options}"), text.as_bytes());
    reduced("--op argmax", "1,,3\n").refused_for("standard input, line 1: field 2 is empty");
    assert_eq!(reduced("--op argmax --missing nan", "1,,3\n").text(), "1\n");
    assert_eq!(reduced("--missing 0", "1,,3\n").text(), "4.0\n");
    reduced("--missing much", "1,,3\n").refused_for("--missing 'much' is not a number");
    reduced("", "1,234,567\n").refused_for("'1,234,567' may be one number or several");
    assert_eq!(reduced("--separator ,", "1,234,567\n").text(), "802.0\n");
    assert_eq!(reduced("--separator ;", "1;2\n3;4\n").text(), "10.0\n");
    assert_eq!(reduced("--separator tab", "1\t2\n").text(), "3.0\n");
    reduced("--separator 5", "").refused_for("numbers may be written with it");
    assert_eq!(reduced("", "\u{feff}1\n2\n").text(), "3.0\n");
    reduced("", "1\n\u{feff}2\n").refused_for(r"line 2: '\u{feff}2' is not a number");
    place.write("in.npy", &npy("|u1", "(1,)", &[1]));
    place.run("reduce in.npy --separator ;").refused_for("--separator is for text");
    place.run("explain in.npy --missing 0").refused_for("--missing is for text");
}

#[test]
fn containers_and_text_are_not_raw_numbers() {
    let place = Place::new();
    let refused = |name: &str, file: &[u8], words: &str| {
        place.write(name, file);
        for options in ["", "--dtype u8"] {
            let ran = place.run(&format!("reduce {name} {options}"));
            ran.refused_for(words);
            assert_eq!(ran.err.contains("--raw"), !options.is_empty(), "{}", ran.err);
        }
    };
    refused("archive.npz", b"PK\x03\x04\x14\0\0\0", "'archive.npz' is a zip archive");
    refused("four.npy.gz", b"\x1f\x8b\x08\x08", "'four.npy.gz' is compressed by gzip");
    refused("table.parquet", b"PAR1\x15\x04", "is a Parquet file");
    refused("data.h5", b"\x89HDF\r\n\x1a\n\0", "is an HDF5 file");
    refused("numbers.txt", b"1\n2\n3\n4\n", "looks like text");
    refused("gzip.npy", b"\x1f\x8b\x08\x08", "is compressed by gzip");
    assert_eq!(place.run("reduce numbers.txt --dtype u8 --raw").text(), "242\n");
    assert_eq!(place.run("reduce archive.npz --dtype u8 --raw").text(), "182\n");
    let ran = place.run_with("reduce /dev/stdin --dtype u8", b"\x1f\x8b\x08\x08");
    ran.refused_for("compressed by gzip");
    place.run("reduce - --raw").refused_for("--raw is for files");
}

#[test]
fn arrays_by_columns_without_dimensions_and_with_metadata() {
    let place = Place::new();
    // 1 2 3 above 4 5 6.
    let data = doubles(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    place.write("fortran.npy", &npy_with("<f8", "True", "(2, 3)", &data));
    for (op, wanted) in
        [("sum", "21.0"), ("product", "720.0"), ("min", "1.0"), ("argmax", "5"), ("mean", "3.5")]
    {
        let found = place.run(&format!("reduce fortran.npy --op {op}")).text();
        assert_eq!(found, format!("{wanted}\n"), "{op}");
    }
    place.run("scan fortran.npy -o out.npy").text();
    let prefixes = doubles(&[1.0, 3.0, 6.0, 10.0, 15.0, 21.0]);
    assert_eq!(place.read("out.npy"), npy("<f8", "(2, 3)", &prefixes));
    let big: Vec<u8> = [1i32, 4, 2, 5, 3, 6].iter().flat_map(|n| n.to_be_bytes()).collect();
    place.write("big.npy", &npy_with(">i4", "True", "(2, 3)", &big));
    assert_eq!(place.run("reduce big.npy --op argmin").text(), "0\n");
    place.run("scan big.npy --acc i32 --reverse -o out.npy").text();
    assert_eq!(place.read("out.npy")[128..], ints(&[21, 20, 18, 15, 11, 6]));
    place.write("zero_d.npy", &npy("<f4", "()", &3.5f32.to_le_bytes()));
    assert_eq!(place.run("reduce zero_d.npy").text(), "3.5\n");
    place.run("scan zero_d.npy -o out.npy").text();
    assert_eq!(place.read("out.npy"), npy("<f4", "()", &3.5f32.to_le_bytes()));
    let dictionary = "{'descr': ('<f8', {'unit': 'm'}), 'fortran_order': False, 'shape': (4,), }\n";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(dictionary.len()).expect("short").to_le_bytes());
    file.extend(dictionary.as_bytes());
    file.extend(doubles(&[1.0, 2.0, 3.0, 4.0]));
    place.write("metadata.npy", &file);
    assert_eq!(place.run("reduce metadata.npy").text(), "10.0\n");
}

#[test]
fn sums_of_short_integers_have_64_bits() {
    let place = Place::new();
    place.write("bytes.npy", &npy("|u1", "(4,)", &[200, 100, 7, 255]));
    let scanned = |options: &str| {
        place.run(&format!("scan bytes.npy --format text -o - {options}")).text().replace('\n', " ")
    };
    assert_eq!(scanned(""), "200 300 307 562 ");
    assert_eq!(scanned("--op product --exclusive"), "1 200 20000 140000 ");
    assert_eq!(scanned("--acc u8"), "200 44 51 50 ");
    assert_eq!(scanned("--op max"), "200 200 200 255 ");
    assert_eq!(place.run("reduce bytes.npy").text(), "562\n");
    let many: Vec<u8> = [100_000_000u32; 100].iter().flat_map(|n| n.to_le_bytes()).collect();
    place.write("words.npy", &npy("<u4", "(100,)", &many));
    let text = place.run("scan words.npy --format text -o -").text();
    assert_eq!(text.lines().last(), Some("10000000000"));
}

/// Too little address space for a file stands in for a file system that maps none.
#[test]
fn what_cannot_be_mapped_is_read_and_written_in_pieces() {
    let place = Place::new();
    let items: Vec<u8> = (0..100_000_000u32).map(|item| (item % 251) as u8).collect();
    place.write("in.npy", &npy("|u1", "(100000000,)", &items));
    let limited = |arguments: &str, says: &str| {
        let mut command = Command::new("sh");
        let script = format!(r#"ulimit -v 90000 && exec "$0" {arguments} --threads 1"#);
        command.args(["-c", &script, env!("CARGO_BIN_EXE_upsweep")]).current_dir(place.path(""));
        let ran = Ran::new(command.env("UPSWEEP_LOG", "1"), b"");
        assert_eq!(ran.status, Some(0), "{arguments}: {ran:?}");
        assert!(ran.err.contains(says), "{arguments}: {ran:?}");
        ran.out
    };
    let found = limited("reduce in.npy", "the file is read in pieces");
    assert_eq!(found, place.run("reduce in.npy").out);
    for options in ["", "--reverse"] {
        let scan = format!("scan in.npy --acc u8 {options}");
        limited(&format!("{scan} -o pieces.npy"), "the output is written in pieces");
        assert_eq!(place.run(&format!("{scan} -o whole.npy")).text(), "");
        assert!(place.read("pieces.npy") == place.read("whole.npy"), "{scan}");
    }
}
