//! What `upsweep reduce` prints.

use crate::common::{Place, Ran, doubles, ints, npy, npy_with};

fn reduced(file: &[u8], options: &str) -> String {
    let place = Place::new();
    place.write("in.npy", file);
    place.run(&format!("reduce in.npy {options}")).text()
}

#[test]
fn every_operator_on_integers() {
    let file = npy("<i4", "(2, 3)", &ints(&[5, -3, 12, 7, -3, 12]));
    for (op, expected) in [
        ("sum", "30"),
        ("product", "45360"),
        ("min", "-3"),
        ("max", "12"),
        ("and", "4"),
        ("or", "-1"),
        ("xor", "2"),
        ("argmin", "1"),
        ("argmax", "2"),
        ("mean", "5.0"),
    ] {
        assert_eq!(reduced(&file, &format!("--op {op}")), format!("{expected}\n"), "{op}");
    }
    assert_eq!(reduced(&file, ""), "30\n");
}

#[test]
fn integers_accumulate_in_64_bits_unless_told_otherwise() {
    let file = npy("|u1", "(3,)", &[200, 100, 255]);
    assert_eq!(reduced(&file, ""), "555\n");
    assert_eq!(reduced(&file, "--op product"), "5100000\n");
    assert_eq!(reduced(&file, "--acc u8"), "43\n");
    assert_eq!(reduced(&file, "--acc i16"), "555\n");
    assert_eq!(reduced(&file, "--acc f32"), "555.0\n");
    assert_eq!(reduced(&file, "--acc f64 --op mean"), "185.0\n");
    assert_eq!(reduced(&file, "--acc i64 --op max"), "255\n");
    let file = npy("|i1", "(2,)", &[0x80, 0x80]);
    assert_eq!(reduced(&file, ""), "-256\n");
    assert_eq!(reduced(&file, "--acc i8"), "0\n");
    assert_eq!(reduced(&file, "--acc i32"), "-256\n");
    assert_eq!(reduced(&file, "--acc i32 --op product"), "16384\n");
    assert_eq!(reduced(&file, "--acc i16 --op and"), "-128\n");
    let file = npy("<u8", "(2,)", &[[0xff; 8], [2, 0, 0, 0, 0, 0, 0, 0]].concat());
    assert_eq!(reduced(&file, ""), "1\n");
    assert_eq!(reduced(&file, "--op product"), "18446744073709551614\n");
}

#[test]
fn floats_are_printed_shortest() {
    let sum = |numbers: &[f64]| {
        let shape = format!("({},)", numbers.len());
        reduced(&npy("<f8", &shape, &doubles(numbers)), "")
    };
    assert_eq!(sum(&[0.1, 0.2]), "0.30000000000000004\n");
    assert_eq!(sum(&[1e300, 1.0]), "1e300\n");
    assert_eq!(sum(&[f64::INFINITY, 1.0]), "inf\n");
    assert_eq!(sum(&[f64::NEG_INFINITY]), "-inf\n");
    assert_eq!(sum(&[f64::INFINITY, f64::NEG_INFINITY]), "nan\n");
    assert_eq!(sum(&[-0.0]), "-0.0\n");
    let file = npy("<f4", "(1,)", &0.1f32.to_le_bytes());
    assert_eq!(reduced(&file, ""), "0.1\n");
    assert_eq!(reduced(&file, "--acc f64"), "0.10000000149011612\n");
}

#[test]
fn short_floats_accumulate_in_f32() {
    // 2048 + 1 + 1: an f16 would lose both ones.
    let file = npy("<f2", "(3,)", &[0x00, 0x68, 0x00, 0x3c, 0x00, 0x3c]);
    assert_eq!(reduced(&file, ""), "2050.0\n");
    assert_eq!(reduced(&file, "--op max"), "2048.0\n");
    assert_eq!(reduced(&file, "--acc f16"), "2050.0\n");
    assert_eq!(reduced(&file, "--acc f64"), "2050.0\n");
    let file = npy("<f2", "(1,)", &[0x66, 0x2e]);
    assert_eq!(reduced(&file, "--op min"), "0.099975586\n");
    let place = Place::new();
    place.write("in.bf16", &[0x80, 0x3f, 0xcd, 0x3d]);
    let run = |options: &str| place.run(&format!("reduce in.bf16 --dtype bf16 {options}")).text();
    assert_eq!(run(""), "1.1000977\n");
    assert_eq!(run("--op min"), "0.100097656\n");
    place.write("v2.npy", &npy("<V2", "(2,)", &[0x80, 0x3f, 0x80, 0x3f]));
    assert_eq!(place.run("reduce v2.npy --dtype bf16").text(), "2.0\n");
}

#[test]
fn nothing_gives_the_identity_and_has_no_extreme() {
    let file = npy("<f4", "(0, 3)", &[]);
    for (op, expected) in [
        ("sum", "0.0"),
        ("product", "1.0"),
        ("min", "none"),
        ("max", "none"),
        ("argmin", "none"),
        ("argmax", "none"),
        ("mean", "nan"),
    ] {
        assert_eq!(reduced(&file, &format!("--op {op}")), format!("{expected}\n"), "{op}");
    }
    let file = npy("|u1", "(0,)", &[]);
    assert_eq!(reduced(&file, "--op and"), "255\n");
    assert_eq!(reduced(&file, "--op max --acc i16"), "none\n");
    assert_eq!(reduced(&npy("<f2", "(0,)", &[]), "--op min"), "none\n");
    let place = Place::new();
    place.write("empty", b"");
    assert_eq!(place.run("reduce empty --dtype i16").text(), "0\n");
    assert_eq!(place.run_with("reduce -", b" \n").text(), "0.0\n");
}

#[test]
fn a_nan_is_an_extreme() {
    let file = npy("<f8", "(4,)", &doubles(&[3.0, f64::NAN, -1.0, f64::NAN]));
    assert_eq!(reduced(&file, "--op min"), "nan\n");
    assert_eq!(reduced(&file, "--op argmin"), "1\n");
    assert_eq!(reduced(&file, "--op argmax"), "1\n");
}

#[test]
fn big_endian_and_misaligned_items_are_read() {
    let big: Vec<u8> = [1i32, -2, 70000].iter().flat_map(|number| number.to_be_bytes()).collect();
    assert_eq!(reduced(&npy(">i4", "(3,)", &big), ""), "69999\n");
    assert_eq!(reduced(&npy(">i4", "(3,)", &big), "--op argmin"), "1\n");
    assert_eq!(reduced(&npy(">i4", "(3,)", &big), "--op min"), "-2\n");
    // A header of 10 + 57 bytes puts every item at an odd address.
    let dictionary = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}\n ";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(dictionary.len()).expect("short").to_le_bytes());
    file.extend(dictionary.as_bytes());
    assert_eq!(file.len() % 4, 3);
    file.extend(ints(&[1, -2, 70000]));
    assert_eq!(reduced(&file, ""), "69999\n");
    assert_eq!(reduced(&file, "--op xor"), (1 ^ -2 ^ 70000).to_string() + "\n");
}

#[test]
fn versions_2_and_3_and_harmless_fortran_order() {
    for version in [2, 3] {
        let dictionary = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }\n";
        let mut file = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        file.extend(u32::try_from(dictionary.len()).expect("short").to_le_bytes());
        file.extend(dictionary.as_bytes());
        file.extend(ints(&[42]));
        assert_eq!(reduced(&file, ""), "42\n");
    }
    assert_eq!(reduced(&npy_with("<i4", "True", "(1, 2)", &ints(&[4, 5])), ""), "9\n");
}

#[test]
fn raw_files_and_text() {
    let place = Place::new();
    place.write("raw", &ints(&[1, 2, 3]));
    assert_eq!(place.run("reduce raw --dtype i32").text(), "6\n");
    assert_eq!(place.run("reduce raw --dtype u8").text(), "6\n");
    assert_eq!(place.run_with("reduce -", b"1.5, 2\n\n 3e1\t-0.5").text(), "33.0\n");
    assert_eq!(place.run_with("reduce - --dtype u8", b"200\n100\n").text(), "300\n");
    assert_eq!(place.run_with("reduce - --dtype i8 --op min", b"-128 +127").text(), "-128\n");
    assert_eq!(place.run_with("reduce - --op max", b"-inf nan").text(), "nan\n");
    assert_eq!(place.run_with("reduce - --dtype f16", b"0.1").text(), "0.099975586\n");
    let file = npy("<i4", "(2,)", &ints(&[20, 22]));
    assert_eq!(place.run_with("reduce /dev/stdin", &file).text(), "42\n");
    place.write("bools.npy", &npy("|b1", "(3,)", &[1, 0, 1]));
    assert_eq!(place.run("reduce bools.npy --dtype u8").text(), "2\n");
}

#[test]
fn long_text_leaves_memory() {
    use std::fmt::Write;
    let mut text = String::new();
    for number in 0..5_000_000 {
        let _ = writeln!(text, "{}", number % 10);
    }
    // 40 MB of doubles, more than are kept in memory.
    assert_eq!(Place::new().run_with("reduce -", text.as_bytes()).text(), "22500000.0\n");
}

#[test]
fn threads_and_environment() {
    let place = Place::new();
    place.write("in.npy", &npy("<i4", "(2,)", &ints(&[1, 2])));
    assert_eq!(place.run("reduce in.npy --threads 1 --device cpu").text(), "3\n");
    assert_eq!(place.run("reduce in.npy --threads 3").text(), "3\n");
    place.run("reduce in.npy --threads 0").refused_for("--threads");
    let with = |value: &str| {
        Ran::new(place.program().args(["reduce", "in.npy"]).env("UPSWEEP_DEVICE", value), b"")
    };
    assert_eq!(with("cpu").text(), "3\n");
    assert_eq!(with("").text(), "3\n");
    with("toaster").refused_for("no device 'toaster'");
    let ran = Ran::new(place.program().args(["reduce", "in.npy"]).env("UPSWEEP_LOG", "1"), b"");
    assert_eq!(ran.out, b"3\n");
    assert!(ran.err.contains("2 items of i32") && ran.err.contains("strategy"), "{}", ran.err);
}

#[test]
fn the_shipped_array() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/jacksboro_elevation.npy");
    let run = |op: &str| Place::new().run(&format!("reduce {data} --op {op}")).text();
    assert_eq!(run("sum"), "73617913\n");
    assert_eq!(run("mean"), "531.0311688499048\n");
    assert_eq!(run("argmax"), "119910\n");
}
