//! What is refused: one line on standard error, exit status 2, and nothing half-written.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Place, Ran, doubles, ints, npy};

/// Reduces and scans `file`: both are refused with the same words, and nothing is left behind.
#[track_caller]
fn refused(name: &str, file: &[u8], options: &str, words: &str) {
    let place = Place::new();
    place.write(name, file);
    place.run(&format!("reduce {name} {options}")).refused_for(words);
    place.run(&format!("scan {name} -o out.npy {options}")).refused_for(words);
    place.run(&format!("scan {name} -o - {options}")).refused_for(words);
    assert_eq!(place.names(), [name]);
}

#[test]
fn damaged_files() {
    let good = npy("<i4", "(3,)", &ints(&[1, 2, 3]));
    let npy_refused = |file: &[u8], words: &str| refused("in.npy", file, "", words);
    npy_refused(b"", "magic");
    npy_refused(&good[..5], "magic");
    npy_refused(&good[..9], "truncated .npy header");
    npy_refused(&good[..100], "truncated .npy header");
    npy_refused(&good[..good.len() - 1], "truncated: shape (3,) of i32 needs 12 bytes");
    npy_refused(&[&good[..], b"x"].concat(), "bytes left over");
    npy_refused(b"PK\x03\x04", "is a zip archive");
    let mut wrong = good.clone();
    wrong[6] = 9;
    npy_refused(&wrong, "version 9.0");
    let mut long = good.clone();
    long[8..10].copy_from_slice(&[0xff, 0xff]);
    npy_refused(&long, "truncated .npy header: 65545 bytes are announced");
    let mut huge = good;
    huge[6] = 2;
    huge[8..12].copy_from_slice(&[0xff; 4]);
    npy_refused(&huge, "4294967307 bytes are announced");
    npy_refused(b"\x93NUMPY\x01\x00\x02\x00{}", "missing");
}

#[test]
fn arrays_that_are_not_numbers() {
    for (descr, shape, words) in [
        ("|O", "(3,)", "Python objects"),
        ("|b1", "(3,)", "--dtype u8"),
        ("<c16", "(1,)", "not a real number"),
        ("<U4", "(1,)", "not a real number"),
        ("|S4", "(1,)", "not a real number"),
        ("<M8[ns]", "(1,)", "not a real number"),
        ("<f16", "(1,)", "not supported"),
        ("<V2", "(1,)", "--dtype bf16"),
        ("<q9", "(1,)", "not supported"),
        ("", "(1,)", "not supported"),
        ("<f4", "()", "needs 4 bytes"),
        ("<f8", "(4611686018427387904,)", "more items than can be counted"),
        ("<u1", "(4294967296, 4294967296)", "more items than can be counted"),
        ("<u1", "(99999999999999999999,)", "not a length"),
    ] {
        refused("in.npy", &npy(descr, shape, &[0; 8]), "", words);
    }
    let structure = "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }\n";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(structure.len()).expect("short").to_le_bytes());
    file.extend(structure.as_bytes());
    refused("in.npy", &file, "", "structures");
    refused("in.npy", &npy("<f4", "(1,)", &[0; 4]), "--dtype f64", "--dtype says f64");
}

#[test]
fn raw_files_need_a_type_that_fits() {
    refused("raw", &[0; 6], "", "--dtype");
    refused("raw", &[0; 6], "--dtype f32", "6 bytes, not a multiple of the 4 bytes of f32");
    refused("raw", &[0; 6], "--dtype f33", "unknown dtype 'f33'; known are u8 i8");
}

#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    place.run("reduce none.npy").refused_for("'none.npy': No such file");
    place.run("scan none.npy -o out.npy").refused_for("No such file");
    fs::create_dir(place.path("dir.npy")).expect("a directory");
    place.run("reduce dir.npy").refused_for("directory");
    place.run("reduce /dev/zero --dtype u8").refused_for("is a device");
    let path = place.write("secret.npy", &npy("|u1", "(1,)", &[1]));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("own file");
    // The superuser reads everything.
    if fs::read(&path).is_err() {
        place.run("reduce secret.npy").refused_for("ermission denied");
    }
    place.run("reduce").refused_for("FILE");
    place.run("scan secret.npy").refused_for("--output");
    place.run("").refused_for("known are reduce scan select positions");
    place.run("frobnicate").refused_for("frobnicate");
    let name = "two\nlines";
    Ran::new(place.program().args(["reduce", name]), b"").refused_for("two\u{fffd}lines");
}

#[test]
fn names_that_are_not_known() {
    let place = Place::new();
    place.write("in.npy", &npy("<f4", "(1,)", &[0; 4]));
    let known = "known are sum product min max and or xor argmin argmax mean";
    place.run("reduce in.npy --op median").refused_for(known);
    place.run("scan in.npy -o out --op median").refused_for(known);
    place.run("scan in.npy -o out --op mean").refused_for("no scan with mean");
    place.run("scan in.npy -o out --op argmax").refused_for("no scan with argmax");
    place.run("reduce in.npy --acc f99").refused_for("unknown dtype 'f99'");
    place.run("reduce in.npy --device gpu").refused_for("usable here: cpu");
    place.run("reduce in.npy --device cuda:999").refused_for("no device 'cuda:999'");
    place.run("scan in.npy -o out --device cuda:x").refused_for("cuda:0, cuda:1 and so on");
    place.run("bench --device cuda:999 --n 10").refused_for("no device 'cuda:999'");
    place.run("scan in.npy -o out --device wgpu:999").refused_for("no device 'wgpu:999'");
    place.run("bench --n ten").refused_for("'ten' is not a number of items");
    place.run("bench --op sort").refused_for("unknown primitive 'sort'; known are reduce argmin");
    place.run("bench --strategy fast").refused_for("known are scalar simd simd+threads");
    place.run("bench --isa mmx").refused_for("unknown instruction set 'mmx'");
    place.run("bench --operator argmin").refused_for("--op names it");
    place.run("bench --device gpu").refused_for("usable here: cpu");
    place.run("bench --samples 0").refused_for("--samples");
    assert_eq!(place.names(), ["in.npy"]);
}

#[test]
fn operators_and_accumulators_that_do_not_fit() {
    let place = Place::new();
    place.write("f.npy", &npy("<f4", "(1,)", &[0; 4]));
    place.write("i.npy", &npy("<u4", "(1,)", &[0; 4]));
    for op in ["and", "or", "xor"] {
        let words = format!("operator {op} is not defined for f32");
        place.run(&format!("reduce f.npy --op {op}")).refused_for(&words);
        place.run(&format!("scan f.npy -o out --op {op}")).refused_for(&words);
        place.run(&format!("reduce i.npy --acc f64 --op {op}")).refused_for("not defined for f64");
        place.run(&format!("scan i.npy -o out --acc f64 --op {op}")).refused_for("for f64");
    }
    let words = "--acc f32 does not hold every value of u32; for u32 there are u32 u64 i64 f64";
    place.run("reduce i.npy --acc f32").refused_for(words);
    place.run("scan i.npy -o out --acc f32").refused_for(words);
    place.run("reduce f.npy --acc i64").refused_for("there are f32 f64");
    place.run("reduce i.npy --op argmin --acc u64").refused_for("no meaning");
    place.run("reduce i.npy --op mean --acc u64").refused_for("f32 or f64");
    place.run("scan i.npy -o out --init 1.5").refused_for("--init '1.5' is not an integer");
    place.run("scan i.npy -o out --init -1").refused_for("'-1' does not fit in u64");
    place.run("scan i.npy -o out --inclusive --exclusive").refused_for("cannot be used with");
    assert_eq!(place.names(), ["f.npy", "i.npy"]);
}

#[test]
fn text_that_is_not_numbers() {
    let place = Place::new();
    let text = |text: &[u8], dtype: &str, words: &str| {
        place.run_with(&format!("reduce - --dtype {dtype}"), text).refused_for(words);
        place.run_with(&format!("scan - -o out --dtype {dtype}"), text).refused_for(words);
        place.run_with(&format!("scan - -o - --dtype {dtype}"), text).refused_for(words);
    };
    text(b"1 2\n3 four\n5", "f64", "line 2: 'four' is not a number");
    text(b"1\n\n2.5", "i32", "line 3: '2.5' is not an integer (i32 is wanted)");
    text(b"255 256", "u8", "line 1: '256' does not fit in u8");
    text(b"-1", "u64", "line 1: '-1' does not fit in u64");
    text(b"18446744073709551616", "u64", "does not fit in u64");
    text(b"1e400", "f64", "'1e400' does not fit in f64");
    text(b"0x10", "i32", "'0x10' is not an integer");
    text(b"--", "i8", "'--' is not an integer");
    text(b"\xff\xfe", "f32", "text in UTF-16");
    text(b"1\x002", "f32", "'1\\02' is not a number");
    text(&[b'z'; 5000], "f32", "zzz\u{2026}' is not a number");
    text(&npy("|u1", "(1,)", &[1]), "u8", "is a .npy file");
    assert!(place.names().is_empty());
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::new();
    place.write("in.npy", &npy("<f8", "(1000,)", &doubles(&[1.0; 1000])));
    place.run("scan in.npy -o none/out.npy").refused_for("cannot write 'none/out.npy'");
    place.run("scan in.npy -o /").refused_for("directory");
    place.run("scan in.npy -o .").refused_for("directory");
    place.run("scan in.npy -o in.npy/out").refused_for("cannot write");
    place.run("scan in.npy -o /dev/full").refused_for("No space left on device");
    place.run("scan in.npy -o /dev/full --reverse").refused_for("No space left on device");
    place.run("bench --n 10 --csv none/x.csv").refused_for("cannot write 'none/x.csv'");
    assert_eq!(place.names(), ["in.npy"]);
    for arguments in ["reduce in.npy", "devices", "scan in.npy -o -", "bench --n 4", "--help"] {
        let full = fs::File::create("/dev/full").expect("/dev/full is there");
        let mut command = place.program();
        let ended = command.args(arguments.split(' ')).stdout(full).output().expect("it ends");
        assert_eq!(ended.status.code(), Some(2), "{arguments}");
        let line = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(
            line, "upsweep: cannot write 'standard output': No space left on device\n",
            "{arguments}",
        );
    }
}

#[test]
fn a_file_that_may_not_be_written_stays() {
    let place = Place::new();
    place.write("in.npy", &npy("|u1", "(1,)", &[1]));
    let path = place.write("kept.npy", b"as it was");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("own file");
    if fs::OpenOptions::new().append(true).open(&path).is_err() {
        place.run("scan in.npy -o kept.npy").refused_for("ermission denied");
        assert_eq!(place.read("kept.npy"), b"as it was");
    }
}

#[test]
fn an_error_leaves_the_old_output() {
    let place = Place::new();
    place.write("in.npy", &npy("<f8", "(2,)", &[0; 15]));
    place.write("out.npy", b"as it was");
    place.run("scan in.npy -o out.npy").refused_for("truncated");
    assert_eq!(place.read("out.npy"), b"as it was");
}

/// A limit on the size of files stands in for a full disk where no file system can be mounted.
#[test]
fn a_file_that_may_not_grow() {
    let place = Place::new();
    place.write("in.npy", &npy("|u1", "(1000000,)", &[1; 1_000_000]));
    place.write("out.npy", b"as it was");
    for format in ["npy", "text"] {
        let mut command = Command::new("sh");
        let script = r#"ulimit -f 100 && exec "$0" scan in.npy -o out.npy --format "$1""#;
        command.args(["-c", script, env!("CARGO_BIN_EXE_upsweep"), format]);
        command.current_dir(place.path(""));
        Ran::new(&mut command, b"").refused_for("cannot write 'out.npy': File too large");
        assert_eq!(place.read("out.npy"), b"as it was");
        assert_eq!(place.names(), ["in.npy", "out.npy"]);
    }
}

/// A file system of 1 MiB, for those who may mount one.
#[test]
fn a_full_disk() {
    let place = Place::new();
    place.write("in.npy", &npy("|u1", "(4000000,)", &vec![1; 4_000_000]));
    let disk = place.path("disk");
    fs::create_dir(&disk).expect("a directory");
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&disk);
    if !mount.output().is_ok_and(|mount| mount.status.success()) {
        println!("skipped: this user may not mount a file system");
        return;
    }
    let runs = ["npy", "raw", "text"]
        .map(|format| place.run(&format!("scan in.npy -o disk/out --format {format}")));
    let left: Vec<_> = fs::read_dir(&disk).expect("the disk can be listed").collect();
    let unmounted = Command::new("umount").arg(&disk).status().expect("umount runs");
    assert!(unmounted.success());
    for run in runs {
        run.refused_for("cannot write 'disk/out': No space left on device");
    }
    assert!(left.is_empty(), "{left:?}");
}

/// Whether files in this directory can do without a name.
fn has_unnamed_files(place: &Place) -> bool {
    use rustix::fs::{Mode, OFlags, open};
    open(place.path(""), OFlags::TMPFILE | OFlags::WRONLY, Mode::RUSR).is_ok()
}

#[test]
fn a_signal_leaves_nothing_behind() {
    for (signal, status) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let place = Place::new();
        // Two GiB of zeros that take no space: enough to be caught at work.
        let zeros = fs::File::create(place.path("zeros")).expect("a file");
        zeros.set_len(2 << 30).expect("a sparse file");
        let mut command = place.program();
        command.args(["scan", "zeros", "--dtype", "u8", "--acc", "u8", "-o", "out"]);
        let piped = command.env("UPSWEEP_LOG", "1").stderr(Stdio::piped());
        let mut child = piped.spawn().expect("it starts");
        // What is said of the kernel comes right before the output is begun.
        let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let begins = said.any(|line| line.expect("text").contains("kernel"));
        assert!(begins, "the log tells of the kernel");
        std::thread::sleep(Duration::from_millis(50));
        let id = child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(child.wait().expect("it ends").code(), status, "{signal}");
        let left = place.names();
        // Nobody can remove a file of a program that was killed, unless the system does.
        let named = signal == "KILL" && !has_unnamed_files(&place);
        let is_part = |name: &String| name.starts_with(".upsweep-") && name.ends_with(".part");
        let (parts, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_part);
        assert_eq!(others, ["zeros"], "{signal}");
        assert!(parts.len() <= usize::from(named), "{signal}: {parts:?}");
    }
}
