//! `upsweep bench --save` and `--compare`: what is kept, what is compared, and what is refused. No verdict that depends
//! on time is expected here; `guard/interval.rs` tests those with numbers of its own.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{Place, Ran};

const COLUMNS: &str =
    "device,op,dtype,n,strategy,old_us,new_us,ratio,lower,upper,rounds,verdict,note";

/// Two small rows.
const ROWS: &str = "bench --device cpu --op reduce,argmax --dtype u8 --n 64 --samples 1";

/// Of so few rounds nothing can be said, whatever they take.
const COMPARE: &str = "bench --compare old --samples 1 --rounds 2";

fn program(place: &Place) -> Command {
    let mut program = place.program();
    program.env("UPSWEEP_CACHE_DIR", place.path("cache"));
    program
}

fn run(place: &Place, arguments: &str) -> Ran {
    Ran::new(program(place).args(arguments.split_whitespace()), b"")
}

/// A place in which these rows are kept.
fn kept(options: &str) -> Place {
    let place = Place::new();
    run(&place, &format!("{ROWS} {options} --save old")).text();
    place
}

/// The record, as text, changed.
fn edit(place: &Place, edit: impl Fn(String) -> String) {
    let path = place.path("cache/bench/old/record.json");
    let record = fs::read_to_string(&path).expect("a record");
    let edited = edit(record.clone());
    assert_ne!(record, edited);
    fs::write(path, edited).expect("it can be written");
}

#[test]
fn a_program_is_compared_with_itself() {
    let place = kept("");
    assert_eq!(run(&place, &format!("{ROWS} --save old")).status, Some(0), "again");
    let names: Vec<_> =
        fs::read_dir(place.path("cache/bench")).expect("a folder").map(Result::unwrap).collect();
    assert_eq!(names.len(), 1, "nothing unfinished stays: {names:?}");

    let record = run(&place, &format!("{COMPARE} --csv -")).text();
    let mut lines = record.lines();
    assert_eq!(lines.next(), Some(COLUMNS));
    for (line, op) in lines.by_ref().zip(["reduce", "argmax"]) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[..5], ["cpu", op, "u8", "64", "auto"], "{line}");
        for number in &fields[5..8] {
            assert!(number.parse::<f64>().is_ok_and(|number| number > 0.0), "{line}");
        }
        assert_eq!(fields[8..], ["", "", "2", "too noisy to say", "simd"], "{line}");
    }
    assert_eq!(lines.next(), None);

    let table = run(&place, &format!("{COMPARE} --only argmax --csv r.csv")).text();
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.contains("too noisy to say") && table.contains("argmax"), "{table}");
    assert!(place.read("r.csv").starts_with(COLUMNS.as_bytes()));
}

#[test]
fn rows_are_asked_for_as_they_were() {
    for (asked, shown) in [("--operator max", "/max,i16,"), ("--acc i64", ",i16->i64,")] {
        let place = Place::new();
        let rows = "bench --device cpu --op reduce,exclusive_scan --dtype i16 --n 100 --isa all --threads 1 \
                    --strategy simd,striped-16-exact/cooperative/last-block --samples 1";
        run(&place, &format!("{rows} {asked} --save old")).text();
        let record = run(&place, &format!("{COMPARE} --csv -")).text();
        assert!(record.lines().count() > 1, "{record}");
        for line in record.lines().skip(1) {
            assert!(line.contains(shown) && line.contains(",100,simd/"), "{line}");
            assert!(line.contains(",too noisy to say,simd/"), "{line}");
        }
    }
}

#[test]
fn other_devices_are_refused() {
    for (key, was) in
        [("name", "\"Some CPU\""), ("instruction_set", "\"none\""), ("driver", "\"7\"")]
    {
        let place = kept("");
        edit(&place, |record| {
            let line =
                record.lines().find(|line| line.contains(&format!("\"{key}\": "))).expect(key);
            record.replacen(line, &format!("\"{key}\": {was},"), 1)
        });
        let ran = run(&place, COMPARE);
        ran.refused_for("times of different devices are not compared");
    }
    let place = kept("--threads 1");
    edit(&place, |record| record.replace("\"compute_units\": 1", "\"compute_units\": 4096"));
    let ran = run(&place, COMPARE);
    ran.refused_for("with 4096 threads");
    ran.refused_for("with 1 threads");
}

#[test]
fn what_is_not_there_or_damaged_is_refused() {
    let place = kept("");
    run(&place, "bench --compare other").refused_for("nothing is kept as 'other'");
    run(&place, &format!("{COMPARE} --only scan")).refused_for("cpu/reduce/u8/64/auto");
    edit(&place, |record| record.replace("\"form\": 1", "\"form\": 9"));
    run(&place, COMPARE).refused_for("its form is 9, not 1");
    edit(&place, |record| record[..record.len() / 2].to_owned());
    run(&place, COMPARE).refused_for("is damaged");

    let place = kept("");
    let program = place.path("cache/bench/old/upsweep");
    fs::write(&program, "#!/bin/sh\necho no\n").expect("it can be written");
    run(&place, COMPARE).refused_for("wrote no record of cpu/reduce");
    fs::write(&program, "#!/bin/sh\necho 'upsweep: oh dear' >&2; exit 2\n").expect("written");
    run(&place, COMPARE).refused_for("cannot measure cpu/reduce/u8/64/auto: oh dear");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).expect("it is ours");
    run(&place, COMPARE).refused_for("cannot run");
    fs::remove_file(&program).expect("it is there");
    run(&place, COMPARE).refused_for("is gone");
}

#[test]
fn a_row_that_fails_is_not_passed_over() {
    let place = kept("");
    let program = place.path("cache/bench/old/upsweep");
    let says = "#!/bin/sh\necho strategy,median_us,checked\necho 'simd,,\"no, thanks\"'\nexit 1\n";
    fs::write(&program, says).expect("it can be written");
    let ran = run(&place, &format!("{COMPARE} --csv -"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("2 of the rows above are slower than 'old', or fail"), "{ran:?}");
    let out = String::from_utf8(ran.out).expect("text");
    assert!(out.contains(",fails,\"the kept program: no, thanks\""), "{out}");
}

#[test]
fn slower_programs_are_told_by_the_exit_status() {
    let place = kept("");
    let program = place.path("cache/bench/old/upsweep");
    // A program that says it took no more than a femtosecond.
    let says = "#!/bin/sh\necho strategy,median_us,checked\necho simd,1e-9,ok\n";
    fs::write(&program, says).expect("it can be written");
    let ran = run(&place, "bench --compare old --samples 1 --rounds 8");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert_eq!(String::from_utf8_lossy(&ran.out).matches(" slower ").count(), 2, "{ran:?}");
}

#[test]
fn names_and_places() {
    let place = Place::new();
    for name in ["", "..", ".hidden", "a/b", "a b", "é", &"x".repeat(65)] {
        let ran = Ran::new(program(&place).args(["bench", "--n", "1", "--save", name]), b"");
        ran.refused_for("a name has up to 64 letters");
    }
    run(&place, "bench --save a --compare a").refused_for("cannot be used with");
    run(&place, "bench --compare a --n 5").refused_for("cannot be used with");
    run(&place, "bench --compare a --threshold=-3%").refused_for("0% to 100%");
    let none = run(&place, "bench --dtype f32 --operator and --n 5 --save a --csv r.csv");
    assert_eq!(none.status, Some(2), "{none:?}");
    assert!(none.err.contains("there is nothing to keep"), "{none:?}");
    assert!(!place.path("cache/bench/a").exists());

    let nowhere = |arguments: &str| {
        let mut program = place.program();
        Ran::new(program.env("UPSWEEP_CACHE_DIR", "").args(arguments.split_whitespace()), b"")
    };
    nowhere(&format!("{ROWS} --save a")).refused_for("nothing is kept without a cache");
    nowhere("bench --compare a").refused_for("nothing is kept without a cache");
    // A file where a folder should be.
    place.write("file", b"");
    let mut program = place.program();
    program.env("UPSWEEP_CACHE_DIR", place.path("file")).args(ROWS.split_whitespace());
    Ran::new(program.args(["--save", "a"]), b"").refused_for("cannot write");
}
