//! `upsweep bench --save` and `--compare`: what is kept, how it is compared, and what is refused. What comes of times is tested with
//! made ones, beside the code; here nothing may depend on how fast anything is.

use std::fs;
use std::process::Command;

use crate::common::{Place, Ran};

/// The program, which keeps things in the folder `cache` of a place.
fn program(place: &Place) -> Command {
    let mut program = place.program();
    program.env("UPSWEEP_CACHE_DIR", place.path("cache")).env("UPSWEEP_PROFILE", "off");
    program
}

fn run(place: &Place, arguments: &str) -> Ran {
    Ran::new(program(place).args(arguments.split_whitespace()), b"")
}

const SMALL: &str = "bench --device cpu --op reduce,argmin --dtype u32 --n 64,1000 --samples 1";

/// A place in which a program is kept as `before`.
fn kept() -> Place {
    let place = Place::new();
    let ran = run(&place, &format!("{SMALL} --strategy scalar,auto --save before"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.err.starts_with("kept as 'before'"), "{ran:?}");
    place
}

#[test]
fn a_program_is_compared_with_itself_row_by_row() {
    let place = kept();
    // A difference would need ten times the time.
    let ran = run(&place, "bench --compare before --rounds 6 --threshold 100 --csv compared.csv");
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let record = String::from_utf8(place.read("compared.csv")).expect("text");
    let rows: Vec<Vec<&str>> = record.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows[0].join(","),
        "device,op,dtype,n,strategy,kept_us,new_us,ratio,lower,upper,verdict"
    );
    let named: Vec<String> = rows[1..].iter().map(|row| row[..5].join(",")).collect();
    assert_eq!(
        named,
        [
            "cpu,reduce,u32,64,scalar",
            "cpu,reduce,u32,64,simd",
            "cpu,argmin,u32,64,scalar",
            "cpu,argmin,u32,64,simd",
            "cpu,reduce,u32,1000,scalar",
            "cpu,reduce,u32,1000,simd",
            "cpu,argmin,u32,1000,scalar",
            "cpu,argmin,u32,1000,simd",
        ]
    );
    for row in &rows[1..] {
        let numbers = row[5..10].iter().map(|number| number.parse().expect("a number"));
        let [kept, new, ratio, lower, upper] = numbers.collect::<Vec<f64>>()[..] else {
            panic!("{row:?}")
        };
        assert!(
            kept > 0.0 && new > 0.0 && 0.0 < lower && lower <= ratio && ratio <= upper,
            "{row:?}"
        );
        let verdicts = ["faster", "slower", "same", "too noisy to say"];
        assert!(verdicts.contains(&row[10]), "{row:?}");
        assert!(row[10] != "slower" || ran.status == Some(1), "{row:?}");
    }
    let text = String::from_utf8(ran.out).expect("text");
    assert!(text.starts_with("compared with 'before', ") && text.lines().count() == 10, "{text}");
}

#[test]
fn what_is_kept_takes_the_place_of_what_was() {
    let place = kept();
    let facts = place.path("cache/bench/before/kept.json");
    let before = fs::read_to_string(&facts).expect("text");
    assert_eq!(
        run(&place, "bench --device cpu --op reduce --n 5 --samples 1 --save before").status,
        Some(0)
    );
    let after = fs::read_to_string(&facts).expect("text");
    assert!(before.contains("argmin") && !after.contains("argmin"), "{after}");
    let names: Vec<_> = fs::read_dir(place.path("cache/bench")).expect("a folder").collect();
    assert_eq!(names.len(), 1, "nothing unfinished is left: {names:?}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let place = kept();
    let facts = place.path("cache/bench/before/kept.json");
    let good = fs::read_to_string(&facts).expect("text");
    for (arguments, why) in [
        ("bench --compare after", "nothing is kept as 'after'; there is before"),
        ("bench --compare ../before", "is no name"),
        ("bench --compare before --rounds 5", "fewer than 6 rounds"),
        ("bench --compare before --threshold nan", "between 0 and 100"),
        ("bench --compare before --n 5", "cannot be used with"),
        ("bench --rounds 7", "required"),
    ] {
        run(&place, arguments).refused_for(why);
    }
    run(&place, &format!("{SMALL} --save .hidden")).refused_for("is no name");
    let elsewhere = good.replacen("\"name\": \"", "\"name\": \"Another ", 1);
    for (content, why) in [
        (elsewhere.as_str(), "times of different devices are not compared"),
        (&good.replacen("\"driver\": \"", "\"driver\": \"older ", 1), "(older "),
        (&good.replacen("\"version\": 1", "\"version\": 2", 1), "version 2"),
        (&good[..good.len() / 2], "is damaged"),
        (&good.replacen("\"n\":", "\"m\":", 1), "is damaged"),
    ] {
        fs::write(&facts, content).expect("a place to write");
        run(&place, "bench --compare before").refused_for(why);
    }
    fs::write(&facts, &good).expect("a place to write");
    fs::remove_file(place.path("cache/bench/before/upsweep")).expect("it was there");
    run(&place, "bench --compare before").refused_for("cannot run");
    let nowhere = |arguments: &str| {
        Ran::new(program(&place).env("UPSWEEP_CACHE_DIR", "").args(arguments.split(' ')), b"")
    };
    nowhere("bench --compare before").refused_for("nothing is kept to compare with");
}
