//! Makes the committed results of the summation specification, or checks them.

use std::process::ExitCode;

use upsweep_testing::vectors::{Specified, path, questions, read, write};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--write"] => make(),
        ["--check"] => check(),
        _ => Err("usage: vectors --write | --check".into()),
    };
    match result {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn make() -> Result<String, String> {
    let rows: Vec<_> = questions()
        .into_iter()
        .map(|question| {
            let answer = question.answer(&Specified);
            (question, answer)
        })
        .collect();
    std::fs::write(path(), write(&rows)).map_err(|e| format!("{}: {e}", path().display()))?;
    Ok(format!("{} lines written to {}", rows.len(), path().display()))
}

fn check() -> Result<String, String> {
    let text = std::fs::read_to_string(path()).map_err(|e| format!("{}: {e}", path().display()))?;
    let rows = read(&text)?;
    for (question, expected) in &rows {
        let found = question.answer(&Specified);
        if found != *expected {
            return Err(format!("{question:?}\n  has {expected:x?}\n  is  {found:x?}"));
        }
    }
    Ok(format!("{} lines are as the specification says", rows.len()))
}
