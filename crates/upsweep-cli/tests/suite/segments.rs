//! What `upsweep reduce` and `upsweep scan` make of segments.

use crate::common::{Place, doubles, ints, npy};

/// Six integers in segments of 3, 0, 1 and 2, said in three ways, and halves.
fn files() -> Place {
    let place = Place::new();
    place.write("in.npy", &npy("<i4", "(2, 3)", &ints(&[5, -3, 12, 7, -3, 12])));
    let halves = [0.5, -1.5, f64::NAN, -0.0, 2.5, 2.5];
    place.write("halves.npy", &npy("<f8", "(6,)", &doubles(&halves)));
    place.write("offsets.npy", &npy("<i4", "(5,)", &ints(&[0, 3, 3, 4, 6])));
    place.write("flags.npy", &npy("|b1", "(6,)", &[0, 0, 0, 1, 1, 0]));
    place.write("keys.npy", &npy("|u1", "(6,)", &[9, 9, 9, 7, 9, 9]));
    place
}

#[test]
fn every_operator_of_every_segment() {
    let place = files();
    for (op, values) in [
        ("sum", ["14", "0", "7", "9"]),
        ("product", ["-180", "1", "7", "-36"]),
        ("min", ["-3", "2147483647", "7", "-3"]),
        ("max", ["12", "-2147483648", "7", "12"]),
        ("and", ["4", "-1", "7", "12"]),
        ("or", ["-3", "0", "7", "-3"]),
        ("xor", ["-12", "0", "7", "-15"]),
        ("argmin", ["1", "none", "3", "4"]),
        ("argmax", ["2", "none", "3", "5"]),
        ("mean", ["4.666666666666667", "NaN", "7.0", "4.5"]),
    ] {
        let run = |by: &str| place.run(&format!("reduce in.npy --op {op} {by}")).text();
        let lines = |values: &[&str]| values.join("\n") + "\n";
        let found = run("--offsets offsets.npy");
        assert_eq!(found.to_lowercase(), lines(&values).to_lowercase(), "{op}");
        let full = [values[0], values[2], values[3]];
        assert_eq!(run("--flags flags.npy"), lines(&full), "{op}");
        assert_eq!(run("--keys keys.npy"), lines(&full), "{op}");
    }
    let place = files();
    let halves =
        |op: &str| place.run(&format!("reduce halves.npy --op {op} --offsets offsets.npy")).text();
    assert_eq!(halves("argmax"), "2\nnone\n3\n4\n");
    assert_eq!(halves("argmin"), "2\nnone\n3\n4\n");
    assert_eq!(halves("sum --threads 1").to_lowercase(), "nan\n0.0\n-0.0\n5.0\n");
    let narrow = place.run("reduce in.npy --acc i32 --offsets offsets.npy").text();
    assert_eq!(narrow, "14\n0\n7\n9\n");
    let text = place.run_with("reduce - --dtype u8 --op argmax --keys keys.npy", b"1 2 2 0 5 9");
    assert_eq!(text.text(), "1\n3\n5\n");
}

#[test]
fn values_of_segments_are_an_array() {
    let place = files();
    let written = |options: &str| {
        place.run(&format!("reduce in.npy --offsets offsets.npy -o {options}")).text();
        place.read(options.split(' ').next().expect("a name"))
    };
    let sums: Vec<u8> = [14i64, 0, 7, 9].iter().flat_map(|sum| sum.to_le_bytes()).collect();
    assert_eq!(written("out.npy"), npy("<i8", "(4,)", &sums));
    assert_eq!(written("out.raw --format raw"), sums);
    assert_eq!(written("out.txt --op argmin --format text"), b"1\nnone\n3\n4\n");
    let positions: Vec<u8> =
        [1, u64::MAX, 3, 4].iter().flat_map(|position: &u64| position.to_le_bytes()).collect();
    assert_eq!(written("out.npy --op argmin"), npy("<u8", "(4,)", &positions));
    let out = place.run("reduce in.npy --offsets offsets.npy -o -");
    assert_eq!((out.status, out.out), (Some(0), npy("<i8", "(4,)", &sums)));
}

#[test]
fn segments_that_cannot_be() {
    let place = files();
    let refused = |options: &str, words: &str| {
        place.run(&format!("reduce in.npy {options}")).refused_for(words);
    };
    place.write("down.npy", &npy("<i4", "(3,)", &ints(&[0, 4, 3])));
    place.write("far.npy", &npy("<i4", "(2,)", &ints(&[0, 7])));
    place.write("below.npy", &npy("<i4", "(2,)", &ints(&[-1, 6])));
    place.write("raw", &[0; 24]);
    refused("--offsets down.npy", "offset 2 is 3, less than 4 before it");
    refused("--offsets far.npy", "the last offset is 7, and there are 6 items");
    refused("--offsets below.npy", "offset 0 is negative");
    refused("--offsets halves.npy", "offsets are u32, u64, i32 or i64, not f64");
    refused("--flags offsets.npy", "there are 5 flags for 6 items");
    refused("--keys offsets.npy --op argmax", "there are 5 keys for 6 items");
    refused("--keys raw", "--keys takes a .npy file, which 'raw' is not");
    refused("--keys -", "--keys takes a .npy file, which '-' is not");
    refused("--keys none.npy", "none.npy");
    refused("--keys keys.npy --flags flags.npy", "cannot be used with");
    refused("-o out.npy", "-o is for values of segments");
    refused("--keys keys.npy --op argmax --acc u64", "--acc has no meaning for argmax");
    place.run("reduce halves.npy --op xor --keys keys.npy").refused_for("xor");
    assert!(!place.path("out.npy").exists());
}

#[test]
fn each_segment_is_scanned_by_itself() {
    let place = files();
    for by in ["--offsets offsets.npy", "--flags flags.npy", "--keys keys.npy"] {
        let scan = |options: &str| {
            place.run(&format!("scan in.npy {by} {options} -o - --format text")).text()
        };
        assert_eq!(scan(""), "5\n2\n14\n7\n-3\n9\n", "{by}");
        assert_eq!(scan("--reverse --acc i32"), "14\n9\n12\n7\n9\n12\n", "{by}");
        assert_eq!(scan("--op max"), "5\n5\n12\n7\n-3\n12\n", "{by}");
        assert_eq!(scan("--exclusive --init 1"), "1\n6\n3\n1\n1\n-2\n", "{by}");
    }
    place.run("scan in.npy --offsets offsets.npy --acc i32 -o out.npy").text();
    let prefixes = ints(&[5, 2, 14, 7, -3, 9]);
    assert_eq!(place.read("out.npy"), npy("<i4", "(2, 3)", &prefixes));
}
