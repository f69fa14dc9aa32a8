//! `upsweep explain`: what is said of a call, for people and for programs, and where a call goes that is left to the program.

use std::fs;
use std::process::Command;

use crate::common::{Place, Ran, npy};
use serde_json::Value;

/// The program with profiles in the folder `cache` of a place.
fn program(place: &Place) -> Command {
    let mut program = place.program();
    program.env("UPSWEEP_CACHE_DIR", place.path("cache")).env_remove("UPSWEEP_PROFILE");
    program
}

fn run(place: &Place, arguments: &str) -> Ran {
    Ran::new(program(place).args(arguments.split_whitespace()), b"")
}

fn json(ran: &Ran) -> Vec<Value> {
    let value: Value = serde_json::from_str(&ran.text()).expect("JSON");
    value.as_array().expect("a list").clone()
}

fn devices(place: &Place) -> Vec<String> {
    let list: Value = serde_json::from_str(&run(place, "devices --json").text()).expect("JSON");
    let usable = list["usable"].as_array().expect("a list");
    usable.iter().map(|device| device["id"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn a_cpu_says_how_it_works() {
    let place = Place::new();
    let command = "explain --n 10^5 --op inclusive_scan --strategy simd+threads --device cpu";
    let all = json(&run(&place, &format!("{command} --json")));
    let [said] = &all[..] else { panic!("{all:?}") };
    let (shape, text) = (&said["shape"], run(&place, command).text());
    let threads = shape["threads"].as_u64().expect("a number");
    let words = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
    assert!(text.contains(&words), "{words} is not in {text}");
    for (part, words) in [("in_parts", ", in parts"), ("streaming", ", output written past")] {
        assert_eq!(shape[part].as_bool(), Some(text.contains(words)), "{said} {text}");
    }
}

#[test]
fn every_device_and_primitive_is_explained() {
    let place = Place::new();
    for id in devices(&place) {
        for (arguments, op, bytes) in [
            ("--n 10^4", "reduce", 40_000),
            ("--n 10^4 --dtype u8 --op exclusive_scan --acc u32", "exclusive_scan", 50_000),
            ("--n 10^4 --dtype i16 --op argmin", "argmin", 20_000),
            ("--n 10^4 --dtype i32 --operator max --op inclusive_scan", "inclusive_scan", 80_000),
        ] {
            let command = format!("explain {arguments} --device {id}");
            let all = json(&run(&place, &format!("{command} --json")));
            let [said] = &all[..] else { panic!("{all:?}") };
            assert_eq!(
                (&said["op"], &said["bytes"], &said["n"]),
                (&op.into(), &bytes.into(), &10_000.into())
            );
            assert_eq!(said["device"], *id);
            for time in ["time_us", "limit_us", "one_item_us", "host_us"] {
                assert!(said[time]["median"].as_f64().is_some_and(|us| us > 0.0), "{time}: {said}");
            }
            assert!(said["pct_of_limit"].as_f64().is_some_and(|percent| percent > 0.0), "{said}");
            assert_eq!(said["launches"].as_array().expect("a list").is_empty(), id == "cpu");
            assert!(said["placed"].is_null() && said["why"]["from"].is_string(), "{said}");
            let text = run(&place, &command).text();
            for part in ["strategy", "because", "must be moved", "limited by", "first call"] {
                assert!(text.contains(part), "{part} is not in {text}");
            }
        }
    }
}

#[test]
fn files_are_explained() {
    let place = Place::new();
    let items: Vec<u8> = (0..3000u32).flat_map(|item| (item as i16).to_le_bytes()).collect();
    place.write("items.npy", &npy("<i2", "(30, 100)", &items));
    place.write("items.raw", &items);
    let [npy, raw] = ["items.npy", "items.raw --dtype i16"]
        .map(|file| json(&run(&place, &format!("explain {file} --op argmax --device cpu --json"))));
    for said in [&npy[0], &raw[0]] {
        assert_eq!((said["n"].as_u64(), said["dtype"].as_str()), (Some(3000), Some("i16")));
    }
    let lengths = json(&run(&place, "explain --n 0,1,2^12 --device cpu --json"));
    let lengths: Vec<Option<u64>> = lengths.iter().map(|said| said["n"].as_u64()).collect();
    assert_eq!(lengths, [Some(0), Some(1), Some(4096)]);
    for (arguments, why) in [
        ("explain", "required"),
        ("explain items.raw", "--dtype"),
        ("explain items.npy --n 5", "cannot be used with"),
        ("explain absent.npy", "absent.npy"),
        ("explain --n 5 --op sort", "'sort'"),
        ("explain --n 5 --op argmin --acc u64", "a position is u64"),
        ("explain --n 5 --dtype f32 --operator xor", "xor"),
        ("explain --n 5 --acc u8", "does not hold every value"),
        ("explain --n 5 --device toaster", "no device 'toaster'"),
        ("explain --n 5 --device cpu --strategy striped-4-exact/raking/atomic", "of a GPU"),
    ] {
        run(&place, arguments).refused_for(why);
    }
}

#[test]
fn a_strategy_can_be_named() {
    let place = Place::new();
    for id in devices(&place) {
        let name = match id.as_str() {
            "cpu" => "scalar",
            _ => "striped-4-checked/cooperative/multi-level",
        };
        let said =
            json(&run(&place, &format!("explain --n 5000 --strategy {name} --device {id} --json")));
        let why = (said[0]["strategy"].as_str(), said[0]["why"]["from"].as_str());
        assert_eq!(why, (Some(name), Some("asked")), "{id}");
    }
}

#[test]
fn auto_goes_by_what_was_measured() {
    let place = Place::new();
    let placed = |n: &str| {
        let said = json(&run(&place, &format!("explain --n {n} --json --device auto")));
        let text = said[0]["placed"].as_str().expect("a reason").to_owned();
        (said[0]["device"].as_str().expect("text").to_owned(), text)
    };
    let (device, reason) = placed("1000");
    assert!(device == "cpu" && reason.contains("upsweep tune --device ID"), "{reason}");
    let Some(gpu) = devices(&place).into_iter().find(|id| id != "cpu") else { return };
    let tune = format!("tune --device {gpu} --op reduce --dtype u32 --n 1000 --budget 4s");
    let table = run(&place, &tune).text();
    assert!(table.contains("Arrays in the host's memory") && table.contains("CPU, "), "{table}");
    let (_, reason) = placed("1000");
    assert!(reason.contains("µs on the CPU and"), "{reason}");
    // Times as they would be if this GPU were faster with many bytes.
    let folder = fs::read_dir(place.path("cache/profiles")).expect("a folder");
    let path = folder.map(|file| file.expect("a file").path()).next().expect("a profile");
    let text = fs::read_to_string(&path).expect("text");
    let (before, from_host) = text.split_once("[from_host]").expect("times from the host");
    let cpu = from_host.lines().find(|line| line.starts_with("cpu = ")).expect("its name");
    let rows = ["reads", "copies"].map(|name| {
        let row = |times: &str| format!("\n[[from_host.{name}]]\n{times}\n");
        row("bytes = 4096\ngpu_us = 100.0\ncpu_us = 1.0")
            + &row("bytes = 1048576\ngpu_us = 100.0\ncpu_us = 250.0")
    });
    let faster = format!("{before}[from_host]\n{cpu}\n{}", rows.concat());
    fs::write(&path, faster).expect("a place to write");
    assert_eq!(placed("1000").0, "cpu");
    let (device, reason) = placed("2^18");
    assert_eq!(device, gpu, "{reason}");
    // Files go the same way, and the results are the same.
    place.write("items.u32", &(0..1u32 << 18).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let reduce = ["reduce", "items.u32", "--dtype", "u32", "--op", "max"];
    let told = Ran::new(program(&place).args(reduce).env("UPSWEEP_LOG", "1"), b"");
    assert_eq!(String::from_utf8_lossy(&told.out), "262143\n");
    assert!(told.err.contains(&format!("placed on {gpu}")), "{}", told.err);
}
