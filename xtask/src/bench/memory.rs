//! How much memory the program needs beside the file it maps: the highest anonymous memory seen
//! while it reduces and scans a large file.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::build::Build;
use super::machine::kibibytes;
use crate::shell::{Result, output, program, target_dir};

/// Time between two looks at the program.
const PERIOD: Duration = Duration::from_millis(1);

/// Anonymous memory that is allowed.
const WANTED: u64 = 100 << 20;

/// Items handled at once here.
const CHUNK: u64 = 1 << 16;

/// One run of the program.
pub(super) struct Peak {
    pub(super) command: &'static str,
    pub(super) file_bytes: u64,
    /// Highest anonymous memory in bytes and seconds of the run, or why there is none.
    pub(super) outcome: std::result::Result<(u64, f64), Missing>,
}

/// Why a run gave no number.
pub(super) enum Missing {
    /// Nothing is wrong with the program.
    LeftOut(String),
    /// The program failed or was wrong.
    Failed(String),
}

impl Peak {
    pub(super) fn met(&self) -> Option<bool> {
        self.outcome.as_ref().ok().map(|(bytes, _)| *bytes < WANTED)
    }

    pub(super) fn failure(&self) -> Option<String> {
        match &self.outcome {
            Err(Missing::Failed(why)) => Some(format!("upsweep {}: {why}", self.command)),
            _ => None,
        }
    }
}

/// Runs the program on a file of this size, made for the purpose and deleted afterwards.
pub(super) fn peaks(how: &Build, file_bytes: u64) -> Result<Vec<Peak>> {
    println!("measuring the program's memory on a file of {} MiB", file_bytes >> 20);
    let folder = target_dir().join("bench-files");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let outcome = measure(how, &folder, file_bytes);
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    outcome
}

fn measure(how: &Build, folder: &Path, file_bytes: u64) -> Result<Vec<Peak>> {
    let peak = |command, outcome| Peak { command, file_bytes, outcome };
    let free = free_bytes(folder)?;
    if free < 2 * file_bytes + (1 << 30) {
        let why = format!("two files of {} MiB, {} MiB are free", file_bytes >> 20, free >> 20);
        let left_out = || Err(Missing::LeftOut(why.clone()));
        return Ok(vec![peak("reduce", left_out()), peak("scan", left_out())]);
    }
    let items = file_bytes / 4;
    let (input, scanned) = (folder.join("input.npy"), folder.join("scanned.npy"));
    write_input(&input, items).map_err(|error| format!("{}: {error}", input.display()))?;

    let reduced = watched(how, &["reduce".into(), input.clone()]).and_then(|(text, peak)| {
        let right = (items * (items - 1) / 2).to_string();
        if text.trim() == right {
            Ok(peak)
        } else {
            Err(Missing::Failed(format!("'{text}' is not {right}")))
        }
    });
    // As many bytes are written as read.
    let command =
        ["scan".into(), input, "-o".into(), scanned.clone(), "--acc".into(), "u32".into()];
    let scanned = watched(how, &command).and_then(|(_, peak)| {
        check_scan(&scanned, items).map_err(Missing::Failed)?;
        Ok(peak)
    });
    Ok(vec![peak("reduce", reduced), peak("scan", scanned)])
}

fn free_bytes(folder: &Path) -> Result<u64> {
    let said = output(program("df").args(["-Pk"]).arg(folder))?;
    let field = said.lines().last().and_then(|line| line.split_whitespace().nth(3));
    let kib: Option<u64> = field.and_then(|field| field.parse().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| format!("df said: {said}"))
}

/// The numbers from zero on, as numpy writes them.
fn write_input(path: &Path, items: u64) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut header = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({items},), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for item in 0..items {
        file.write_all(&(item as u32).to_le_bytes())?;
    }
    file.flush()
}

/// Whether item `i` is the sum of the numbers up to `i`, in 32 bits.
fn check_scan(path: &Path, items: u64) -> std::result::Result<(), String> {
    let say = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(say)?;
    let length = file.metadata().map_err(say)?.len();
    let header = length.checked_sub(4 * items).ok_or("the output is too short")?;
    std::io::copy(&mut Read::by_ref(&mut file).take(header), &mut std::io::sink()).map_err(say)?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut bytes = vec![0; 4 * CHUNK as usize];
    for first in (0..items).step_by(CHUNK as usize) {
        let count = CHUNK.min(items - first);
        let chunk = &mut bytes[..4 * count as usize];
        file.read_exact(chunk).map_err(say)?;
        for (item, found) in (first..).zip(chunk.as_chunks::<4>().0) {
            let right = (item * (item + 1) / 2) as u32;
            if u32::from_le_bytes(*found) != right {
                return Err(format!("item {item} of the scan is not {right}"));
            }
        }
    }
    Ok(())
}

type Watched = std::result::Result<(String, (u64, f64)), Missing>;

/// Runs the program; returns what it prints, its highest anonymous memory and its time.
fn watched(how: &Build, arguments: &[PathBuf]) -> Watched {
    let failed = |error: std::io::Error| Missing::Failed(error.to_string());
    let start = Instant::now();
    let mut child = program(target_dir().join(how.folder).join("upsweep"))
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let exit = loop {
        if let Some(exit) = child.try_wait().map_err(failed)? {
            break exit;
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        peak = peak.max(kibibytes(&text, "RssAnon").unwrap_or(0));
        std::thread::sleep(PERIOD);
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).map_err(failed)?;
    if !exit.success() {
        return Err(Missing::Failed(exit.to_string()));
    }
    Ok((text, (peak, seconds)))
}
