//! What `upsweep scan` writes.

use std::process::Stdio;

use crate::common::{Place, Ran, doubles, ints, npy};

/// Scans integers between `.npy` files and gives the output's items.
#[track_caller]
fn scanned(numbers: &[i32], options: &str) -> Vec<i32> {
    let place = Place::new();
    place.write("in.npy", &npy("<i4", &format!("({},)", numbers.len()), &ints(numbers)));
    let ran = place.run(&format!("scan in.npy -o out.npy --acc i32 {options}"));
    assert_eq!(ran.text(), "");
    assert_eq!(place.names(), ["in.npy", "out.npy"]);
    let file = place.read("out.npy");
    assert_eq!(file.len(), 128 + 4 * numbers.len());
    file[128..].as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect()
}

#[test]
fn directions_bounds_and_start_values() {
    let numbers = [3, 1, 4, -1, 5];
    assert_eq!(scanned(&numbers, ""), [3, 4, 8, 7, 12]);
    assert_eq!(scanned(&numbers, "--inclusive --op sum"), [3, 4, 8, 7, 12]);
    assert_eq!(scanned(&numbers, "--exclusive"), [0, 3, 4, 8, 7]);
    assert_eq!(scanned(&numbers, "--reverse"), [12, 9, 8, 4, 5]);
    assert_eq!(scanned(&numbers, "--reverse --exclusive"), [9, 8, 4, 5, 0]);
    assert_eq!(scanned(&numbers, "--init -10"), [-7, -6, -2, -3, 2]);
    assert_eq!(scanned(&numbers, "--exclusive --reverse --init 7"), [16, 15, 11, 12, 7]);
    assert_eq!(scanned(&numbers, "--op max"), [3, 3, 4, 4, 5]);
    assert_eq!(scanned(&numbers, "--op min --reverse"), [-1, -1, -1, -1, 5]);
    assert_eq!(scanned(&numbers, "--op product"), [3, 3, 12, -12, -60]);
    assert_eq!(scanned(&numbers, "--op xor"), [3, 2, 6, -7, -4]);
    assert_eq!(scanned(&numbers, "--op and"), [3, 1, 0, 0, 0]);
    assert_eq!(scanned(&numbers, "--op or"), [3, 3, 7, -1, -1]);
    assert_eq!(scanned(&[i32::MAX, 1], ""), [i32::MAX, i32::MIN]);
    assert_eq!(scanned(&[], ""), [0; 0]);
    assert_eq!(scanned(&numbers, "--threads 1 --device cpu"), [3, 4, 8, 7, 12]);
}

#[test]
fn more_than_one_chunk_in_either_direction() {
    let numbers: Vec<i32> = (0..3_000_000).map(|i| i % 1000 - 500).collect();
    let forward: Vec<i32> = numbers
        .iter()
        .scan(0i32, |sum, &number| {
            *sum = sum.wrapping_add(number);
            Some(*sum)
        })
        .collect();
    let total = forward[forward.len() - 1];
    let place = Place::new();
    place.write("in.npy", &npy("<i4", "(3000000,)", &ints(&numbers)));
    // Through a pipe, from either end, as the items are and converted.
    let ran = place.run("scan in.npy --acc i32 -o -");
    assert_eq!(ran.out[128..], ints(&forward));
    let backward: Vec<i32> =
        numbers.iter().zip(&forward).map(|(number, sum)| total - sum + number).collect();
    let ran = place.run("scan in.npy --acc i32 --reverse -o /dev/stdout");
    assert_eq!(ran.out[128..], ints(&backward));
    assert_eq!(place.run("scan in.npy --acc i32 --reverse -o out.npy").text(), "");
    assert_eq!(place.read("out.npy")[128..], ints(&backward));
    let wide: Vec<f64> = backward.iter().map(|&number| f64::from(number)).collect();
    assert_eq!(place.run("scan in.npy --reverse --acc f64 -o out.npy").text(), "");
    assert!(place.read("out.npy")[128..] == doubles(&wide));
    let big: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    place.write("big.npy", &npy(">i4", "(1500, 2000)", &big));
    assert_eq!(place.run("scan big.npy --acc i32 --reverse -o out.npy").text(), "");
    assert!(place.read("out.npy")[128..] == ints(&backward));
    assert_eq!(place.names(), ["big.npy", "in.npy", "out.npy"]);
}

#[test]
fn the_output_is_numpys_own() {
    let place = Place::new();
    let data = ints(&[1, 2, 3, 4, 5, 6]);
    place.write("in.npy", &npy("<i4", "(2, 3)", &data));
    place.run("scan in.npy -o out.npy --exclusive --op max --init 0").text();
    assert_eq!(place.read("out.npy"), npy("<i4", "(2, 3)", &ints(&[0, 1, 2, 3, 4, 5])));
    place.run("scan in.npy -o wide.npy").text();
    let wide: Vec<u8> = [1i64, 3, 6, 10, 15, 21].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(place.read("wide.npy"), npy("<i8", "(2, 3)", &wide));
    place.write("raw", &[1, 2, 3]);
    place.run("scan raw --dtype u8 --acc u8 -o raw.npy").text();
    assert_eq!(place.read("raw.npy"), npy("|u1", "(3,)", &[1, 3, 6]));
}

#[test]
fn formats_follow_the_names() {
    let place = Place::new();
    place.write("in.npy", &npy("|u1", "(3,)", &[1, 2, 3]));
    place.write("raw", &[1, 2, 3]);
    let sums = npy("|u1", "(3,)", &[1, 3, 6]);
    let output = |arguments: &str| {
        assert_eq!(place.run(&format!("scan {arguments} --acc u8 -o out")).text(), "");
        place.read("out")
    };
    assert_eq!(output("in.npy"), sums);
    assert_eq!(output("in.npy --format raw"), [1, 3, 6]);
    assert_eq!(output("in.npy --format text"), b"1\n3\n6\n");
    assert_eq!(output("raw --dtype u8"), [1, 3, 6]);
    assert_eq!(output("raw --dtype u8 --format npy"), sums);
    assert_eq!(place.run("scan raw --dtype u8 --acc u8 -o -").out, [1, 3, 6]);
    assert_eq!(place.run("scan in.npy --acc u8 -o -").out, sums);
    assert_eq!(place.run_with("scan - --dtype u8 -o -", b"1 2 3").text(), "1\n3\n6\n");
    assert_eq!(place.run_with("scan - -o - --reverse", b"1 2 3").text(), "6.0\n5.0\n3.0\n");
    assert_eq!(place.run_with("scan - --dtype u8 --acc u8 -o text", b"1 2 3").text(), "");
    assert_eq!(place.read("text"), [1, 3, 6]);
    assert_eq!(output("raw --dtype u8 --format text --reverse"), b"6\n5\n3\n");
    assert_eq!(place.names(), ["in.npy", "out", "raw", "text"]);
}

#[test]
fn short_floats_are_rounded_once() {
    let place = Place::new();
    // 2048, 1, 1: summed in f16 both ones would be lost.
    place.write("in.npy", &npy("<f2", "(3,)", &[0x00, 0x68, 0x00, 0x3c, 0x00, 0x3c]));
    place.run("scan in.npy -o out.npy").text();
    assert_eq!(place.read("out.npy")[128..], [0x00, 0x68, 0x00, 0x68, 0x01, 0x68]);
    place.run("scan in.npy -o out.npy --acc f32").text();
    let wide: Vec<u8> = [2048f32, 2049.0, 2050.0].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(place.read("out.npy")[128..], wide);
    place.write("b.npy", &npy("<V2", "(1,)", &[0x80, 0x3f]));
    place.run("scan b.npy --dtype bf16 -o out.npy").text();
    assert_eq!(place.read("out.npy"), npy("<V2", "(1,)", &[0x80, 0x3f]));
}

#[test]
fn a_file_onto_itself_and_its_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    let path = place.write("in.npy", &npy("<i4", "(3,)", &ints(&[1, 2, 3])));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("own file");
    symlink("in.npy", place.path("link.npy")).expect("a link can be made");
    place.run("scan in.npy --acc i32 -o link.npy").text();
    assert_eq!(place.read("in.npy")[128..], ints(&[1, 3, 6]));
    place.run("scan in.npy --acc i32 -o in.npy").text();
    assert_eq!(place.read("in.npy")[128..], ints(&[1, 4, 10]));
    let facts = std::fs::symlink_metadata(place.path("link.npy")).expect("the link is there");
    assert!(facts.is_symlink());
    let mode = std::fs::metadata(&path).expect("the file is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn standard_output_that_is_a_file_is_written_to() {
    let place = Place::new();
    place.write("in.npy", &npy("|u1", "(3,)", &[1, 2, 3]));
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        let file = std::fs::File::create(place.path("out")).expect("a file");
        let status = place
            .program()
            .args(["scan", "in.npy", "--acc", "u8", "-o", name])
            .stdout(file)
            .status();
        assert!(status.expect("the program runs").success());
        assert_eq!(place.read("out"), npy("|u1", "(3,)", &[1, 3, 6]), "{name}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new();
    place.write("in.npy", &npy("<i4", "(3000000,)", &ints(&vec![1; 3_000_000])));
    for arguments in ["scan in.npy -o -", "scan in.npy -o - --format text", "bench --n 8"] {
        let mut command = place.program();
        command.args(arguments.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("the program ends");
        let (status, err) = (ended.status.code(), String::from_utf8_lossy(&ended.stderr));
        assert_eq!((status, &*err), (Some(0), ""), "{arguments}");
    }
    let mut head = Ran::new(place.program().args(["reduce", "--help"]), b"");
    assert!(head.text().contains("Examples:"));
    head = place.run("--version");
    assert!(head.text().starts_with("upsweep "));
}
