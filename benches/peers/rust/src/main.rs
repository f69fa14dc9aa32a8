//! A worker that runs Rust engines on request: upsweep, what it is measured beside, and the
//! physical limits of the machine. It reads one request a line and answers each with one line:
//!
//! ```text
//! prepare OP KIND DTYPE ACC N   makes the input      -> engines NAME:THREADS …
//! expect                        the right answer     -> digest HEX
//! check ENGINE                  one call             -> digest HEX  or  wrong WHY
//! run ENGINE CALLS              that many calls      -> seconds S
//! free                          drops the input      -> ok
//! ```
//!
//! Whoever asks decides how many calls make a sample and in which order engines take turns.

mod buffer;
mod cell;
mod engines;
mod input;
mod limits;

use std::io::{self, BufRead, Write};
use std::mem::take;

use cell::Cell;
use input::Kind;

fn main() -> io::Result<()> {
    let mut cell = Cell::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.split(' ').collect::<Vec<_>>()[..] {
            ["prepare", op, kind, dtype, acc, items] => {
                drop(take(&mut cell)); // before the new one is there
                let items = items.parse().expect("a number of items");
                cell = engines::prepare(op, Kind::named(kind), dtype, acc, items);
                cell.names()
            }
            ["expect"] => cell.expected(),
            ["check", engine] => cell.check(engine),
            ["run", engine, calls] => cell.run(engine, calls.parse().expect("a number of calls")),
            ["free"] => {
                cell = Cell::default();
                "ok".to_owned()
            }
            _ => panic!("not a request: {line}"),
        };
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}
