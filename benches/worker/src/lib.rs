//! Workers of benchmarks: programs that run engines on request. A worker reads one request a line and answers each with one line:
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
mod input;
pub mod limits;

use std::cell::RefCell;
use std::io::{self, BufRead, Write};
use std::mem::take;
use std::rc::Rc;

pub use buffer::{Buffer, bytes, bytes_mut};
pub use cell::{Cell, timed};
pub use input::{Digest, Item, Kind, digest, hash};

/// An input, and for a scan room for the output.
#[derive(Debug)]
pub struct Arrays<T> {
    /// The items.
    pub input: Rc<Buffer<T>>,
    /// Where results go.
    pub output: Rc<RefCell<Buffer<T>>>,
}

impl<T: Item> Arrays<T> {
    /// So many items of a kind, and room for `outputs` results.
    pub fn new(kind: Kind, items: usize, outputs: usize) -> Self {
        let input = Rc::new(Buffer::of(items, |index| T::of(hash(index), kind)));
        Self { input, output: Rc::new(RefCell::new(Buffer::zeroed(outputs))) }
    }
}

/// Answers requests until there are no more. `prepare` makes a cell of operator, kind of items, type, accumulator and length, with every
/// engine that can do the job; without an engine if none can.
///
/// # Errors
/// If requests cannot be read or answers not written.
///
/// # Panics
/// At a line that is no request.
pub fn serve(prepare: fn(&str, Kind, &str, &str, usize) -> Cell) -> io::Result<()> {
    let mut cell = Cell::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.split(' ').collect::<Vec<_>>()[..] {
            ["prepare", op, kind, dtype, acc, items] => {
                drop(take(&mut cell)); // before the new one is there
                let items = items.parse().expect("a number of items");
                cell = prepare(op, Kind::named(kind), dtype, acc, items);
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
