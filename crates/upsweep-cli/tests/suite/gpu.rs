//! The program on every GPU there is: the CPU's results, bit for bit, and clear refusals.

use crate::common::Place;

/// Names backends that must have a device here.
const REQUIRE_VARIABLE: &str = "UPSWEEP_TEST_REQUIRE";

/// The ids of GPUs, and whether each has 64-bit integers.
fn gpus(place: &Place) -> Vec<(String, bool)> {
    gpus_with(place, "int64")
}

/// The ids of GPUs, and whether each has something.
fn gpus_with(place: &Place, fact: &str) -> Vec<(String, bool)> {
    let text = place.run("devices --json").text();
    let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let devices = list["usable"].as_array().expect("a list").iter();
    let gpus: Vec<_> = devices
        .filter(|device| device["id"] != "cpu")
        .map(|device| {
            let id = device["id"].as_str().expect("text").to_owned();
            (id, device["limits"][fact].as_bool().expect("a fact"))
        })
        .collect();
    let required = std::env::var(REQUIRE_VARIABLE).unwrap_or_default();
    for backend in required.split(',').filter(|backend| !matches!(*backend, "" | "cpu")) {
        assert!(
            gpus.iter().any(|(id, _)| id.starts_with(backend)),
            "there is no {backend} to test"
        );
    }
    gpus
}

fn floats() -> Vec<u8> {
    (0..150_001u32).flat_map(|i| ((i * 7919 % 1000) as f32 / 7.0).to_le_bytes()).collect()
}

#[test]
fn results_are_those_of_the_cpu() {
    let place = Place::new();
    place.write("items.f32", &floats());
    for (id, _) in gpus(&place) {
        for op in ["sum", "max", "argmin", "mean"] {
            let run = |device: &str| {
                place
                    .run(&format!("reduce items.f32 --dtype f32 --op {op} --device {device}"))
                    .text()
            };
            assert_eq!(run(&id), run("cpu"), "{op} on {id}");
        }
        for how in ["--inclusive", "--exclusive --reverse --init 0.5"] {
            let run = |device: &str| {
                let name = format!("{}.f32", device.replace(':', "_"));
                let scan = format!("scan items.f32 --dtype f32 {how} -o {name} --device {device}");
                assert_eq!(place.run(&scan).text(), "");
                place.read(&name)
            };
            assert!(run(&id) == run("cpu"), "{how} on {id}");
        }
    }
}

#[test]
fn gpus_keep_what_the_cpu_does() {
    let place = Place::new();
    place.write("items.f32", &floats());
    place.write("wide.f64", &floats()[..80_000]);
    for (id, int64) in gpus(&place) {
        let three = "partition --where <=-1 --then-where >12.5";
        for how in [
            "select --where >12.5",
            "partition --where <=-1",
            three,
            "positions",
            "rle --counts counts",
        ] {
            let run = |device: &str| {
                let (command, how) = how.split_once(' ').unwrap_or((how, ""));
                let arguments =
                    format!("{command} items.f32 --dtype f32 {how} -o out --device {device}");
                (place.run(&arguments).text(), place.read("out"))
            };
            assert!(run(&id) == run("cpu"), "{how} on {id}");
        }
        let wide =
            place.run(&format!("select wide.f64 --dtype f64 --where >1 -o out --device {id}"));
        if int64 {
            assert_eq!(wide.text(), "");
        } else {
            wide.refused_for("it has no 64-bit integers");
        }
    }
}

#[test]
fn what_a_gpu_cannot_do_is_said() {
    let place = Place::new();
    place.write("items.u32", &floats());
    for absent in ["wgpu:999", "cuda:999"] {
        let reduce = format!("reduce items.u32 --dtype u32 --device {absent}");
        place.run(&reduce).refused_for(&format!("no device '{absent}'"));
    }
    for (id, int64) in gpus(&place) {
        let threads = format!("reduce items.u32 --dtype u32 --threads 2 --device {id}");
        place.run(&threads).refused_for("do not fit device");
        if int64 {
            continue;
        }
        let wide = format!("reduce items.u32 --dtype u32 --device {id}");
        place.run(&wide).refused_for("cannot compute with u64");
        // In 32 bits it wraps to the same bits.
        let run = |device: &str| {
            place.run(&format!("reduce items.u32 --dtype u32 --acc u32 --device {device}")).text()
        };
        assert_eq!(run(&id), run("cpu"));
    }
}

#[test]
fn gpus_are_measured() {
    let place = Place::new();
    for (id, _) in gpus(&place) {
        let cell = "blocked-4-checked/raking/multi-level";
        let bench = format!(
            "bench --device {id} --op reduce,argmax,exclusive_scan --dtype f32 --n 5000 \
             --strategy auto,{cell} --samples 1 --csv -"
        );
        let text = place.run(&bench).text();
        let rows: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.splitn(13, ',').collect()).collect();
        assert_eq!(rows.len(), 6, "{text}");
        for row in &rows {
            assert_eq!(row[0], id);
            if row[1] == "exclusive_scan" && row[4] == cell {
                assert!(row[12].contains("a strategy of reductions"), "{row:?}");
                continue;
            }
            if id.starts_with("cuda") && row[4] == cell {
                assert!(row[12].contains("cannot run strategy"), "{row:?}");
                continue;
            }
            assert_eq!(row[12], "ok", "{row:?}");
            assert!(row[4].contains('/'), "{row:?}");
            assert!(row[5].parse::<f64>().is_ok_and(|time| time > 0.0), "{row:?}");
        }
    }
}

#[test]
fn gpus_are_profiled() {
    let place = Place::new();
    let cell = "striped-4-exact/raking/reduce-then-scan";
    let bench = "bench --op exclusive_scan --dtype u8 --acc u32 --n 5000 --samples 3 --profile";
    place.run(&format!("{bench} --device cpu")).refused_for("device cpu has no dispatches");
    place.run(&format!("{bench} --device wgpu:999")).refused_for("no device 'wgpu:999'");
    for (id, timestamps) in gpus_with(&place, "timestamps") {
        let bench = format!("{bench} --device {id} --strategy {cell}");
        if id.starts_with("cuda") {
            place.run(&bench).refused_for("has no dispatches");
            continue;
        }
        if !timestamps {
            place.run(&bench).refused_for("has no timestamps");
            continue;
        }
        let record = place.run(&format!("{bench} --csv -")).text();
        let rows: Vec<Vec<&str>> = record.lines().map(|line| line.split(',').collect()).collect();
        let column = |name: &str| rows[0].iter().position(|known| *known == name).expect(name);
        let names: Vec<&str> = rows[1..].iter().map(|row| row[column("dispatch")]).collect();
        assert_eq!(names, ["", "upsweep", "spine", "downsweep", "whole"], "{record}");
        let bytes: Vec<&str> = rows[1..].iter().map(|row| row[column("bytes")]).collect();
        assert_eq!((bytes[1], bytes[3]), ("5000", "25000"), "{record}");
        for row in &rows[1..] {
            assert_eq!(row.len(), 18, "{record}");
            assert_eq!((row[column("op")], row[column("checked")]), ("exclusive_scan", "ok"));
            let number = |name: &str| row[column(name)].parse::<f64>().expect(name);
            if !row[column("dispatch")].is_empty() {
                assert!(number("lower_us") <= number("median_us"), "{record}");
                assert!(number("median_us") <= number("upper_us"), "{record}");
            }
        }
        let table = place.run(&bench).text();
        for words in ["\n  dispatch ", "\n  spine ", "\n  whole ", "\n  between launches "] {
            assert!(table.contains(words), "'{words}' is not in: {table}");
        }
    }
}

#[test]
fn the_ladder_is_climbed() {
    let place = Place::new();
    place.run("ladder --device cpu").refused_for("device cpu has no ladder");
    place.run("ladder --device wgpu:999").refused_for("no device 'wgpu:999'");
    for (id, timestamps) in gpus_with(&place, "timestamps") {
        let ladder = format!("ladder --device {id} --n 1,2^10,3001 --samples 2");
        if !timestamps {
            place.run(&ladder).refused_for("has no timestamps");
            continue;
        }
        place.run(&format!("ladder --device {id} --n 0")).refused_for("over no items");
        let record = place.run(&format!("{ladder} --csv -")).text();
        let mut lines = record.lines();
        let head = "device,n,step,change,bottleneck,median_us,min_us,max_us,gbps,limit_gbps,\
                    pct_of_limit,step_speedup,speedup,checked";
        assert_eq!(lines.next(), Some(head));
        let steps = [
            "interleaved",
            "strided",
            "sequential",
            "first_add",
            "last_subgroup",
            "unrolled",
            "cascading",
            "reduce",
        ];
        for n in [1, 1024, 3001] {
            for step in steps {
                let line = lines.next().expect("a line for every step");
                assert!(line.starts_with(&format!("{id},{n},{step},")), "{line}");
                assert!(line.ends_with(",ok"), "{line}");
            }
        }
        assert_eq!(lines.next(), None);
        let table = place.run(&format!("{ladder} --csv record.csv")).text();
        for words in ["the sum of 3001 u32 on", "1 interleaved ", "bank conflicts", "  limit "] {
            assert!(table.contains(words), "'{words}' is not in: {table}");
        }
        assert_eq!(place.read("record.csv").split(|&byte| byte == b'\n').count(), 3 * 8 + 2);
    }
}
