//! What `upsweep select`, `positions`, `partition`, `unique`, `rle` and `reduce-by-key` write.

use upsweep::reference::compaction;

use crate::common::{Place, Ran, doubles, ints, npy};

/// Runs a command with a condition, which has spaces in it.
fn run_where(place: &Place, arguments: &str, condition: &str) -> Ran {
    let mut program = place.program();
    Ran::new(program.args(arguments.split_whitespace()).args(["--where", condition]), b"")
}

/// Little-endian bytes of unsigned integers.
fn longs(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Six integers, and flags of which some are set.
fn files() -> Place {
    let place = Place::new();
    place.write("in.npy", &npy("<i4", "(2, 3)", &ints(&[5, -3, 12, 7, 0, 12])));
    place.write("flags.npy", &npy("|b1", "(6,)", &[0, 1, 0, 1, 1, 0]));
    place
        .write("minus.npy", &npy("<f8", "(2, 3)", &doubles(&[-0.0, 0.0, 1.0, 0.0, f64::NAN, 0.0])));
    place
}

#[test]
fn items_are_kept_by_comparisons_and_flags() {
    let place = files();
    for (condition, kept) in [
        ("> 5", &[12, 7, 12][..]),
        (">=5", &[5, 12, 7, 12]),
        ("< 5.5", &[5, -3, 0]),
        (" <= -3 ", &[-3]),
        ("== 12", &[12, 12]),
        ("!= 12", &[5, -3, 7, 0]),
        ("< 1e300", &[5, -3, 12, 7, 0, 12]),
        ("> 2147483647", &[]),
    ] {
        assert_eq!(run_where(&place, "select in.npy -o out.npy", condition).text(), "");
        let shape = format!("({},)", kept.len());
        assert_eq!(place.read("out.npy"), npy("<i4", &shape, &ints(kept)), "{condition}");
    }
    let flagged = |flags: &str| {
        place.run(&format!("select in.npy --flags {flags} -o out.npy --threads 1")).text();
        place.read("out.npy")[128..].to_vec()
    };
    assert_eq!(flagged("flags.npy"), ints(&[-3, 7, 0]));
    // -0 and NaN are not 0.
    assert_eq!(flagged("minus.npy"), ints(&[5, 12, 0]));
    assert_eq!(place.names(), ["flags.npy", "in.npy", "minus.npy", "out.npy"]);
}

#[test]
fn kept_items_are_written_in_every_format() {
    let place = files();
    let written = |arguments: &str| {
        let ran = run_where(&place, arguments, "> 5");
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        ran.out
    };
    let kept = npy("<i4", "(3,)", &ints(&[12, 7, 12]));
    // Through a pipe the length must be known before the items.
    assert_eq!(written("select in.npy -o -"), kept);
    assert_eq!(written("select in.npy -o - --format text"), b"12\n7\n12\n");
    assert_eq!(written("select in.npy -o /dev/stdout --format raw"), ints(&[12, 7, 12]));
    written("select in.npy -o out.txt --format text");
    assert_eq!(place.read("out.txt"), b"12\n7\n12\n");
    place.write("raw", &ints(&[1, 6, -9, 8]));
    written("select raw --dtype i32 -o out.npy");
    assert_eq!(place.read("out.npy"), npy("<i4", "(2,)", &ints(&[6, 8])));
    written("select raw --dtype i32 -o out");
    assert_eq!(place.read("out"), ints(&[6, 8]));
    // Onto itself.
    written("select in.npy -o in.npy");
    assert_eq!(place.read("in.npy"), kept);
    let text = |arguments: &str, text: &[u8]| place.run_with(arguments, text).text();
    assert_eq!(text("select - -o - --where >1.5", b"1 2 nan 3.5"), "2.0\n3.5\n");
    assert_eq!(text("select - --dtype u8 -o - --where !=2", b"1 2,3"), "1\n3\n");
    assert_eq!(text("positions - -o -", b"0 2 -0 nan"), "1\n2\n3\n");
    let mut program = place.program();
    let ran = Ran::new(program.args(["partition", "-", "-o", "-", "--where", ">= 2"]), b"1 2 0 3");
    assert_eq!((ran.status, &*ran.out, &*ran.err), (Some(0), &b"2.0\n3.0\n1.0\n0.0\n"[..], "2\n"));
}

#[test]
fn positions_are_those_of_what_is_not_zero() {
    let place = files();
    let positions = |file: &str| {
        assert_eq!(place.run(&format!("positions {file} -o out.npy")).text(), "");
        place.read("out.npy")
    };
    assert_eq!(positions("in.npy"), npy("<u8", "(5,)", &longs(&[0, 1, 2, 3, 5])));
    assert_eq!(positions("flags.npy"), npy("<u8", "(3,)", &longs(&[1, 3, 4])));
    assert_eq!(positions("minus.npy"), npy("<u8", "(3,)", &longs(&[0, 2, 4])));
    place.write("none.npy", &npy("<i8", "(0,)", &[]));
    assert_eq!(positions("none.npy"), npy("<u8", "(0,)", &[]));
}

#[test]
fn partitions_say_how_many_come_first() {
    let place = files();
    assert_eq!(run_where(&place, "partition in.npy -o out.npy", "<= 5").text(), "3\n");
    let all = npy("<i4", "(6,)", &ints(&[5, -3, 0, 12, 7, 12]));
    assert_eq!(place.read("out.npy"), all);
    assert_eq!(place.run("partition in.npy -o out.npy --flags flags.npy").text(), "3\n");
    assert_eq!(place.read("out.npy")[128..], ints(&[-3, 7, 0, 5, 12, 12]));
    let ran = run_where(&place, "partition in.npy -o -", "<= 5");
    assert_eq!((ran.status, &ran.out, &*ran.err), (Some(0), &all, "3\n"));
}

#[test]
fn partitions_in_three_parts_say_where_they_begin() {
    let place = files();
    place.write("then.npy", &npy("<u2", "(6,)", &[1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]));
    let mut program = place.program();
    let conditions = ["--where", "< 0", "--then-where", "<= 5"];
    let ran = Ran::new(program.args(["partition", "in.npy", "-o", "-"]).args(conditions), b"");
    let all = npy("<i4", "(6,)", &ints(&[-3, 5, 0, 12, 7, 12]));
    assert_eq!((ran.status, &ran.out, &*ran.err), (Some(0), &all, "1\n3\n"));
    // The first flags go first: 7 has both.
    let options = "-o out.npy --flags flags.npy --then-flags then.npy";
    assert_eq!(place.run(&format!("partition in.npy {options}")).text(), "3\n4\n");
    assert_eq!(place.read("out.npy"), npy("<i4", "(6,)", &ints(&[-3, 7, 0, 5, 12, 12])));
    place.write("none.npy", &npy("<i8", "(0,)", &[]));
    let options = "-o out.npy --where >0 --then-where ==0 --threads 1";
    assert_eq!(place.run(&format!("partition none.npy {options}")).text(), "0\n0\n");
    assert_eq!(place.read("out.npy"), npy("<i8", "(0,)", &[]));
}

#[test]
fn more_than_one_chunk() {
    // A chunk has 2^22 items; of big-endian ones fewer.
    let count = 5_000_003usize;
    let numbers: Vec<i32> =
        (0..count as i32).map(|i| i.wrapping_mul(-1_640_531_527) >> 8).collect();
    let flags: Vec<u8> = numbers.iter().map(|&number| (number > 1000).into()).collect();
    let place = Place::new();
    let shape = format!("({count},)");
    place.write("in.npy", &npy("<i4", &shape, &ints(&numbers)));
    let big: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    place.write("big.npy", &npy(">i4", &shape, &big));
    place.write("flags.npy", &npy("|u1", &shape, &flags));
    let kept = ints(&compaction::select(&numbers, &flags));
    let (all, border) = compaction::partition(&numbers, &flags);
    for file in ["in.npy", "big.npy"] {
        run_where(&place, &format!("select {file} -o out.npy"), "> 1000").text();
        assert!(place.read("out.npy")[128..] == kept, "{file}");
        place.run(&format!("select {file} --flags flags.npy -o out.npy")).text();
        assert!(place.read("out.npy")[128..] == kept, "{file}");
        let printed = run_where(&place, &format!("partition {file} -o out.npy"), "> 1000.5").text();
        assert_eq!(printed, format!("{border}\n"));
        assert!(place.read("out.npy")[128..] == ints(&all), "{file}");
    }
    let then: Vec<u8> = numbers.iter().map(|&number| (number > -7000).into()).collect();
    place.write("then.npy", &npy("|u1", &shape, &then));
    let (all, [second, rest]) = compaction::partition3(&numbers, &flags, &then);
    for file in ["in.npy", "big.npy"] {
        for parts in
            ["--where >1000 --then-where >-7000", "--flags flags.npy --then-flags then.npy"]
        {
            let printed = place.run(&format!("partition {file} -o out.npy {parts}")).text();
            assert_eq!(printed, format!("{second}\n{rest}\n"), "{file} {parts}");
            assert!(place.read("out.npy")[128..] == ints(&all), "{file} {parts}");
        }
    }
    // More than is kept in memory until the length is known.
    let ran = run_where(&place, "select in.npy -o -", "!= 7");
    let others: Vec<i32> = numbers.iter().copied().filter(|&number| number != 7).collect();
    assert_eq!(ran.status, Some(0));
    assert!(ran.out == npy("<i4", &format!("({},)", others.len()), &ints(&others)));
    place.run("positions flags.npy -o out.raw --format raw").text();
    assert!(place.read("out.raw") == longs(&compaction::positions(&flags)));
}

#[test]
fn runs_are_found() {
    let place = Place::new();
    let floats = [0.0, -0.0, -0.0, f64::NAN, f64::NAN, 1.0];
    place.write("in.npy", &npy("<f8", "(3, 2)", &doubles(&floats)));
    let firsts = npy("<f8", "(4,)", &doubles(&[0.0, -0.0, f64::NAN, 1.0]));
    assert_eq!(place.run("unique in.npy -o out.npy").text(), "");
    assert_eq!(place.read("out.npy"), firsts);
    assert_eq!(place.run("rle in.npy -o out.npy --counts counts.npy --threads 1").text(), "");
    assert_eq!(place.read("out.npy"), firsts);
    assert_eq!(place.read("counts.npy"), npy("<u8", "(4,)", &longs(&[1, 2, 2, 1])));
    let text = |arguments: &str, text: &[u8]| place.run_with(arguments, text).text();
    assert_eq!(text("unique - --dtype u8 -o -", b"3 3 1 1 3"), "3\n1\n3\n");
    assert_eq!(text("rle - --dtype u8 -o values --counts -", b"3 3 1 1 3"), "2\n2\n1\n");
    assert_eq!(place.read("values"), [3, 1, 3]);
    place.write("none.npy", &npy("<i8", "(0, 3)", &[]));
    place.run("rle none.npy -o out.npy --counts counts.npy").text();
    assert_eq!(place.read("out.npy"), npy("<i8", "(0,)", &[]));
    assert_eq!(place.read("counts.npy"), npy("<u8", "(0,)", &[]));
    place
        .run("rle in.npy -o same --counts same")
        .refused_for("-o and --counts name the same place");
    place.run("rle in.npy -o new").refused_for("--counts <COUNTS>");
    assert_eq!(place.names(), ["counts.npy", "in.npy", "none.npy", "out.npy", "values"]);
}

#[test]
fn runs_go_on_from_chunk_to_chunk() {
    // A chunk of bytes has 2^22 items.
    let chunk = 1usize << 22;
    let place = Place::new();
    for border in [chunk - 1, chunk, chunk + 1] {
        let mut bytes = vec![7u8; 2 * chunk + 5];
        bytes[border..].fill(9);
        bytes[2 * chunk + 3] = 7;
        place.write("in.raw", &bytes);
        let options = "in.raw --dtype u8 -o out";
        place.run(&format!("rle {options} --counts counts --format raw")).text();
        let (values, counts) = compaction::run_length_encode(&bytes);
        assert_eq!((place.read("out"), place.read("counts")), (values.clone(), longs(&counts)));
        place.run(&format!("unique {options}")).text();
        assert_eq!(place.read("out"), values);
    }
}

#[test]
fn values_are_combined_by_key() {
    let place = files();
    place.write(
        "keys.npy",
        &npy(
            "<f4",
            "(6,)",
            &[[0; 4], [0, 0, 0, 0x80], [0, 0, 0, 0x80], [1; 4], [1; 4], [0; 4]].concat(),
        ),
    );
    let by_key = |options: &str| {
        let ran =
            place.run(&format!("reduce-by-key keys.npy in.npy -o out.npy --keys of.npy {options}"));
        assert_eq!(ran.text(), "");
        (place.read("out.npy"), place.read("of.npy"))
    };
    let keys = [[0; 4], [0, 0, 0, 0x80], [1; 4], [0; 4]].concat();
    let sums: Vec<u8> = [5i64, 9, 7, 12].iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let keys = npy("<f4", "(4,)", &keys);
    assert_eq!(by_key(""), (npy("<i8", "(4,)", &sums), keys.clone()));
    assert_eq!(
        by_key("--op max --threads 1"),
        (npy("<i4", "(4,)", &ints(&[5, 12, 7, 12])), keys.clone())
    );
    assert_eq!(by_key("--op mean").0, npy("<f8", "(4,)", &doubles(&[5.0, 4.5, 3.5, 12.0])));
    let positions = npy("<u8", "(4,)", &longs(&[0, 2, 3, 5]));
    assert_eq!(by_key("--op argmax"), (positions, keys.clone()));
    assert_eq!(by_key("--acc i32").0, npy("<i4", "(4,)", &ints(&[5, 9, 7, 12])));
    place.write("raw", &[9, 9, 7]);
    let text = place.run_with("reduce-by-key raw - --key-dtype u8 -o - --keys of", b"0.5 2 3");
    assert_eq!((text.text().as_str(), place.read("of")), ("2.5\n3.0\n", vec![9, 7]));
}

#[test]
fn mistakes_leave_nothing_behind() {
    let place = files();
    place.write("short.npy", &npy("|u1", "(2,)", &[1, 0]));
    place.write("raw", &[0; 24]);
    let refused = |arguments: &str, words: &str| place.run(arguments).refused_for(words);
    refused("select in.npy -o out.npy", "--where <CONDITION>|--flags <FLAGS>");
    refused("select in.npy -o out.npy --where >1 --flags flags.npy", "cannot be used with");
    refused("select in.npy --where >1", "--output <OUT>");
    refused(
        "select in.npy -o out.npy --where 3",
        "--where '3' does not begin with a comparison; known are < <= > >= == !=",
    );
    refused("select in.npy -o out.npy --where <three", "--where 'three' is not a number");
    refused("select in.npy -o out.npy --flags short.npy", "there are 2 flags for 6 items");
    refused(
        "select in.npy -o out.npy --flags raw",
        "--flags takes a .npy file, which 'raw' is not",
    );
    refused("partition raw -o out.npy --where >1", "say with --dtype");
    let three = |options: &str, words: &str| {
        place.run(&format!("partition in.npy -o out.npy {options}")).refused_for(words);
    };
    three("--then-where >1", "--where <CONDITION>|--flags <FLAGS>");
    three("--where >1 --then-where >0 --then-flags flags.npy", "cannot be used with");
    three("--where >1 --then-flags flags.npy", "cannot be used with");
    three("--flags flags.npy --then-where >1", "cannot be used with");
    three("--where >1 --then-where 3", "--then-where '3' does not begin with a comparison");
    three("--flags flags.npy --then-flags short.npy", "there are 2 flags for 6 items");
    three("--flags flags.npy --then-flags raw", "--then-flags takes a .npy file");
    refused("positions none.npy -o out.npy", "none.npy");
    refused("positions raw -o out.npy", "say with --dtype");
    refused("select flags.npy -o out.npy --where >0", "--dtype u8");
    refused("select in.npy -o nowhere/out.npy --where >1", "nowhere/out.npy");
    refused("select in.npy -o out.npy --where >1 --device cuda:99", "cuda:99");
    let by_key = |options: &str, words: &str| {
        place.run(&format!("reduce-by-key {options}")).refused_for(words);
    };
    by_key("short.npy in.npy -o out.npy --keys of.npy", "there are 2 keys for 6 values");
    by_key("flags.npy in.npy -o out.npy --keys out.npy", "-o and --keys name the same place");
    by_key("flags.npy in.npy -o - --keys -", "-o and --keys name the same place, standard output");
    by_key("raw in.npy -o out.npy --keys of.npy", "KEYS without --key-dtype takes a .npy file");
    by_key("- in.npy -o out.npy --keys of.npy", "KEYS is a file");
    by_key("flags.npy in.npy -o out.npy", "--keys <OUTKEYS>");
    by_key("flags.npy minus.npy -o out.npy --keys of.npy --op xor", "xor");
    assert_eq!(place.names(), ["flags.npy", "in.npy", "minus.npy", "raw", "short.npy"]);
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let place = files();
    place.write("out.npy", b"old");
    let ran = run_where(&place, "select in.npy -o /dev/full", "> 1");
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("/dev/full"), "{}", ran.err);
    let mut program = place.program();
    let full = ["partition", "in.npy", "-o", "/dev/full", "--where", ">1", "--then-where", ">0"];
    assert_eq!(Ran::new(program.args(full), b"").status, Some(2));
    // Neither array appears if one cannot be written.
    let ran = place.run("reduce-by-key flags.npy in.npy -o out.npy --keys /dev/full");
    assert_eq!(ran.status, Some(2));
    assert_eq!(place.read("out.npy"), b"old");
    assert_eq!(place.names(), ["flags.npy", "in.npy", "minus.npy", "out.npy"]);
}
