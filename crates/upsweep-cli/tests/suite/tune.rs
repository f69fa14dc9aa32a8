//! `upsweep tune`: what it measures is kept, read, carried about, and told of when it cannot be used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Place, Ran};

/// The program with profiles in the folder `cache` of a place.
fn program(place: &Place) -> Command {
    let mut program = place.program();
    program.env("UPSWEEP_CACHE_DIR", place.path("cache")).env_remove("UPSWEEP_PROFILE");
    program
}

fn run(place: &Place, arguments: &str) -> Ran {
    Ran::new(program(place).args(arguments.split_whitespace()), b"")
}

/// The devices, as the program lists them.
fn devices(place: &Place) -> Vec<serde_json::Value> {
    let list: serde_json::Value =
        serde_json::from_str(&run(place, "devices --json").text()).expect("JSON");
    list["usable"].as_array().expect("a list").clone()
}

fn gpus(place: &Place) -> Vec<String> {
    let ids =
        devices(place).into_iter().map(|device| device["id"].as_str().expect("text").to_owned());
    ids.filter(|id| id != "cpu").collect()
}

/// The profiles that are kept.
fn all_kept(place: &Place) -> Vec<PathBuf> {
    let folder = place.path("cache/profiles");
    let files =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    files.collect()
}

/// The one profile that is kept.
fn kept(place: &Place) -> PathBuf {
    let files = all_kept(place);
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a text")
}

#[test]
fn a_cpu_gets_its_numbers() {
    let place = Place::new();
    let text = run(&place, "tune --device cpu --quick --budget 2s --csv tried.csv").text();
    assert!(text.contains("serial_bytes") && text.contains("half_line_bytes"), "{text}");
    let profile = read(&kept(&place));
    assert!(profile.contains("[cpu]") && profile.contains("scan_block_bytes = "), "{profile}");
    let tried = String::from_utf8(place.read("tried.csv")).expect("text");
    let mut lines = tried.lines();
    assert_eq!(lines.next().map(|head| head.split(',').count()), Some(11));
    assert!(lines.all(|line| line.starts_with("cpu,") && line.ends_with(",ok")), "{tried}");
    let found = &devices(&place)[0]["profile"];
    assert_eq!(found["origin"].as_str(), kept(&place).to_str(), "{found}");
    assert!(found["ignored"].is_null() && found["measured"].is_string(), "{found}");
    // The same results as without it.
    place.write(
        "items.f32",
        &(0..300_000u32).flat_map(|i| (i as f32).sqrt().to_le_bytes()).collect::<Vec<u8>>(),
    );
    let reduce = "reduce items.f32 --dtype f32 --device cpu";
    let without =
        Ran::new(program(&place).env("UPSWEEP_PROFILE", "off").args(reduce.split(' ')), b"");
    assert_eq!(run(&place, reduce).text(), without.text());
}

#[test]
fn a_gpu_gets_its_rows() {
    let place = Place::new();
    for id in gpus(&place) {
        let place = Place::new();
        let small = format!("tune --device {id} --dtype u32,f32 --n 1000,2^14 --csv tried.csv");
        let text = run(&place, &format!("{small} --budget 6s")).text();
        let profile = read(&kept(&place));
        for part in ["[[reduce]]", "[[scan]]", "item = \"f32\"", "items = 1000", "items = 16384"] {
            assert!(profile.contains(part), "{id}: {profile}\n{text}");
        }
        let tried = String::from_utf8(place.read("tried.csv")).expect("text");
        assert!(tried.lines().count() > 8, "{id}: {tried}");
        assert!(!tried.contains("differs from the reference"), "{id}: {tried}");
        // What is measured another time takes the place of its own rows alone.
        run(&place, &format!("tune --device {id} --op argmin --dtype f32 --n 1000 --budget 1s"))
            .text();
        let more = read(&kept(&place));
        assert!(more.contains("operator = \"argmin\""), "{id}: {more}");
        assert_eq!(
            more.matches("operator = \"sum\"").count(),
            profile.matches("operator = \"sum\"").count()
        );
        // So does another length of the same work.
        run(&place, &format!("tune --device {id} --op argmin --dtype f32 --n 5000 --budget 1s"))
            .text();
        let longer = read(&kept(&place));
        for part in ["items = 5000", "items = 1000\n", "items = 16384"] {
            assert!(longer.contains(part), "{id}: {part} in {longer}");
        }
        assert_eq!(longer.matches("operator = \"argmin\"").count(), 2, "{id}: {longer}");
        let more = longer;
        // It is read, and it can be carried to another machine.
        let of_device = devices(&place).into_iter().find(|device| device["id"] == *id);
        let found = &of_device.expect("the device")["profile"];
        assert_eq!(found["origin"].as_str(), kept(&place).to_str(), "{found}");
        run(&place, &format!("tune --device {id} --export away.toml")).text();
        let other = Place::new();
        other.write("away.toml", &place.read("away.toml"));
        run(&other, &format!("tune --device {id} --import away.toml")).text();
        assert_eq!(read(&kept(&other)), more, "{id}");
        // A device with other rows gives the same results.
        place.write(
            "items.f32",
            &(0..20_000u32).flat_map(|i| (i as f32).sqrt().to_le_bytes()).collect::<Vec<u8>>(),
        );
        let reduce = "reduce items.f32 --dtype f32 --device";
        assert_eq!(
            run(&place, &format!("{reduce} {id}")).text(),
            run(&place, &format!("{reduce} cpu")).text()
        );
    }
}

#[test]
fn several_devices_get_a_profile_each() {
    let place = Place::new();
    let ids = gpus(&place);
    let small = "--op reduce --dtype u32 --n 1000 --budget 2s --skip-host";
    let text = run(&place, &format!("tune --device all {small} --csv tried.csv")).text();
    assert_eq!(all_kept(&place).len(), 1 + ids.len(), "{text}");
    assert_eq!(text.contains("cpu, "), !ids.is_empty(), "a head where there are several: {text}");
    // How much of a CPU is tried in so short a time depends on the machine; of each GPU at least what it chooses by itself is.
    let tried = String::from_utf8(place.read("tried.csv")).expect("text");
    assert_eq!(tried.matches("device,").count(), 1, "one head: {tried}");
    for id in &ids {
        assert!(tried.contains(&format!("\n{id},")), "{id}: {tried}");
        assert!(text.contains(&format!("\n{id}, ")), "a head for {id}: {text}");
        // The CPU is said twice, and is one device.
        let list = format!("cpu,{id},cpu");
        let text = run(&place, &format!("tune --device {list} --check {small}")).text();
        assert_eq!(text.matches("cpu, ").count(), 1, "{text}");
        assert!(text.contains(&format!("\n{id}, ")), "{text}");
        assert!(text.contains("Of 1 rows the choice in use loses"), "{text}");
        for one in ["--export", "--import", "--output"] {
            let said = format!("{one} takes the profile of one device");
            run(&place, &format!("tune --device {list} {one} one.toml")).refused_for(&said);
        }
    }
}

#[test]
fn gpus_that_are_programs_are_tuned_only_if_they_are_named() {
    let place = Place::new();
    let name =
        |device: serde_json::Value| device["limits"]["name"].as_str().expect("text").to_lowercase();
    let is_software = |name: &String| name.contains("llvmpipe") || name.contains("swiftshader");
    let (software, real): (Vec<String>, Vec<String>) =
        devices(&place).into_iter().map(name).partition(is_software);
    run(&place, "tune --op reduce --dtype u32 --n 1000 --budget 1s --skip-host").text();
    let files = all_kept(&place);
    assert!(!files.is_empty() && files.len() <= real.len(), "{files:?} of {real:?}");
    for file in &files {
        let profile = read(file).to_lowercase();
        assert!(real.iter().any(|name| profile.contains(name)), "{file:?}: {real:?}");
        assert!(!software.iter().any(|name| profile.contains(name)), "{file:?}: {software:?}");
    }
}

#[test]
fn what_is_chosen_is_held_against_the_best() {
    let place = Place::new();
    // A scan that grows, whole numbers and floats, a position, lengths at which there are one way and many.
    for what in ["--op reduce,argmax --dtype u32,f64", "--op inclusive_scan --dtype u8 --acc u32"] {
        let check = format!("tune --device cpu --check {what} --n 1000,2^19 --budget all");
        let text = run(&place, &format!("{check} --csv tried.csv")).text();
        let tried = String::from_utf8(place.read("tried.csv")).expect("text");
        let rows = tried.lines().filter(|line| line.contains(", in use\"")).count();
        assert!(text.contains(&format!("Of {rows} rows the choice in use loses")), "{text}");
        assert_eq!(rows, if what.contains("argmax") { 8 } else { 2 }, "{tried}");
        assert!(tried.lines().skip(1).all(|line| line.ends_with(",ok in the end")), "{tried}");
        assert!(!place.path("cache/profiles").exists(), "nothing is kept");
    }
    for id in gpus(&place) {
        let place = Place::new();
        let check = format!("tune --device {id} --check --op reduce --dtype u32 --n 1000,5000");
        let text = run(&place, &format!("{check} --skip-host --budget 2s --csv tried.csv")).text();
        assert!(text.contains("Of 2 rows the choice in use loses 2 % at most in "), "{text}");
        let tried = String::from_utf8(place.read("tried.csv")).expect("text");
        assert!(tried.lines().any(|line| line.ends_with(",ok in the end")), "{tried}");
        assert!(!place.path("cache/profiles").exists(), "nothing is kept");
    }
}

#[test]
fn what_cannot_be_used_is_ignored_and_told() {
    let place = Place::new();
    place.write("items.u8", &[1, 2, 3]);
    run(&place, "tune --device cpu --quick --budget 0.01s").text();
    let path = kept(&place);
    let good = read(&path);
    for (content, why) in [
        (good.replace("version = 1", "version = 7"), "version 7"),
        (good[..good.find("serial_bytes").expect("a number") + 6].to_owned(), "profile"),
        (good.replace("device = \"", "device = \"Another "), "it was measured on Another"),
        (good.replace("serial_bytes = ", "serial_bytes = -"), "serial_bytes"),
        ("\u{0}".to_owned(), "profile"),
    ] {
        fs::write(&path, &content).expect("a place to write");
        let ignored = devices(&place)[0]["profile"]["ignored"].clone();
        assert!(ignored.as_str().is_some_and(|said| said.contains(why)), "{why}: {ignored}");
        let arguments = ["reduce", "items.u8", "--dtype", "u8"];
        let ran = Ran::new(program(&place).args(arguments), b"");
        assert_eq!(ran.text(), "6\n");
        let told = Ran::new(program(&place).args(arguments).env("UPSWEEP_LOG", "1"), b"");
        assert_eq!((told.status, told.out.as_slice()), (Some(0), &b"6\n"[..]));
        assert!(told.err.contains("not used") && told.err.contains(why), "{why}: {}", told.err);
        // It cannot be brought here either.
        fs::copy(&path, place.path("other.toml")).expect("a copy");
        run(&place, "tune --device cpu --import other.toml").refused_for(why);
    }
    run(&place, "tune --device cpu --import absent.toml").refused_for("absent.toml");
    run(&place, "tune --device cpu --budget soon").refused_for("no time such as 60s");
    run(&place, "tune --device cpu --n 2^10 --output items.u8/file.toml --budget 0.01s")
        .refused_for("items.u8/file.toml");
    let nowhere = Ran::new(
        program(&place).env("UPSWEEP_CACHE_DIR", "").args(["tune", "--device", "cpu"]),
        b"",
    );
    nowhere.refused_for("-o names a file");
}

#[test]
fn a_signal_ends_it_with_what_it_has() {
    let place = Place::new();
    let Some(id) = gpus(&place).into_iter().next() else { return };
    let mut tune = program(&place);
    tune.args([
        "tune", "--device", &id, "--op", "reduce", "--dtype", "u32,f32", "--n", "1000", "--budget",
        "all",
    ]);
    let mut child = tune
        .args(["--csv", "tried.csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let begun = Instant::now();
    let tried = || fs::read_to_string(place.path("tried.csv")).unwrap_or_default().lines().count();
    while tried() < 4 {
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing was tried");
        assert!(child.try_wait().expect("it is ours").is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(50));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(130));
    assert!(read(&kept(&place)).contains("[[reduce]]"), "what was found is kept");
}
