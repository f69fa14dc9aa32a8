//! Runs the fuzz targets with seeded random bytes, on a stable compiler.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use upsweep_fuzz::{TARGETS, Target};
use upsweep_testing::Random;

/// The longest input that is tried.
const MAX_INPUT_BYTES: usize = 4096;

/// How long a failing input is made smaller.
const SHRINK_TIME: Duration = Duration::from_secs(20);

const USAGE: &str = "usage: upsweep-fuzz [--seconds N] [--target NAME] [--seed S] [--input HEX]";

/// What the last panic said.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

struct Options {
    seconds: u64,
    target: Option<String>,
    seed: u64,
    input: Option<Vec<u8>>,
}

fn main() -> ExitCode {
    // A panic is a finding, told once and at the end.
    set_hook(Box::new(|panic| {
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    match parse_options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn parse_options() -> Result<Options, String> {
    let mut options = Options { seconds: 10, target: None, seed: 1, input: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        let number =
            || value.parse::<u64>().map_err(|error| format!("{argument} {value}: {error}"));
        match argument.as_str() {
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--input" => options.input = Some(from_hex(&value)?),
            "--target" => options.target = Some(value),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let wanted = |name: &str| options.target.as_deref().is_none_or(|target| target == name);
    let targets: Vec<_> = TARGETS.into_iter().filter(|(name, _)| wanted(name)).collect();
    if targets.is_empty() {
        let names = TARGETS.map(|(name, _)| name).join(" ");
        return Err(format!("there is no such target; known are {names}"));
    }
    if let Some(input) = &options.input {
        return targets.iter().try_for_each(|&(name, target)| run_input(name, target, input));
    }
    let time = Duration::from_secs(options.seconds) / targets.len() as u32;
    // A failure of one target does not keep the others from being tried.
    let failures: Vec<String> = targets
        .into_iter()
        .filter_map(|(name, target)| run_target(name, target, time, options.seed).err())
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Tries random inputs for some time, up to the first that fails.
fn run_target(name: &str, target: Target, time: Duration, seed: u64) -> Result<(), String> {
    let start = Instant::now();
    let mut random = Random::new(seed);
    let mut runs = 0u64;
    while start.elapsed() < time {
        // Short inputs more often than long ones.
        let most = MAX_INPUT_BYTES >> random.below(10);
        let input: Vec<u8> =
            (0..random.below(most + 1)).map(|_| (random.word() >> 56) as u8).collect();
        run_input(name, target, &input)?;
        runs += 1;
    }
    println!("{name}: {runs} inputs, all as the oracle says (seed {seed})");
    Ok(())
}

/// Runs one input; an error describes a failure and how to repeat it.
fn run_input(name: &str, target: Target, input: &[u8]) -> Result<(), String> {
    if !fails(target, input) {
        return Ok(());
    }
    let small = shrink(target, input);
    // The message of the last failing run may be that of another input.
    let repeats = fails(target, &small);
    let message = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let again = if repeats { "" } else { " (not every time)" };
    let hex: String = small.iter().map(|byte| format!("{byte:02x}")).collect();
    Err(format!("{name} fails{again}: {message}\nrepeat with --target {name} --input '{hex}'"))
}

fn fails(target: Target, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| target(input))).is_err()
}

/// A smaller input that fails too: without runs of bytes, then with bytes made zero.
fn shrink(target: Target, input: &[u8]) -> Vec<u8> {
    let start = Instant::now();
    let mut small = input.to_vec();
    let mut run = small.len().div_ceil(2);
    while run > 0 && start.elapsed() < SHRINK_TIME {
        let mut at = 0;
        while at < small.len() && start.elapsed() < SHRINK_TIME {
            let mut shorter = small.clone();
            shorter.drain(at..(at + run).min(small.len()));
            if fails(target, &shorter) {
                small = shorter;
            } else {
                at += run;
            }
        }
        run /= 2;
    }
    for at in 0..small.len() {
        let byte = std::mem::replace(&mut small[at], 0);
        if start.elapsed() > SHRINK_TIME || !fails(target, &small) {
            small[at] = byte;
        }
    }
    small
}

fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let odd = || format!("'{text}' is not a row of bytes in hexadecimal");
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0).ok_or_else(odd)?;
    Ok(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}
