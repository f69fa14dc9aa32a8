//! One cell of the tables: an input, and every engine that can do its job.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use crate::buffer::Buffer;
use crate::input::{Item, digest};

type Run = Box<dyn FnMut(usize) -> f64>;
type Check = Box<dyn Fn() -> Result<u64, String>>;

struct Engine {
    name: String,
    threads: usize,
    run: Run,
    check: Check,
}

/// The engines of a cell, and where one is at hand the reference.
#[derive(Default)]
pub struct Cell {
    engines: Vec<Engine>,
    expected: Option<Check>,
}

impl Cell {
    /// An engine that times itself and has no result, or checks it in its own way.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        threads: usize,
        run: impl FnMut(usize) -> f64 + 'static,
        check: impl Fn() -> Result<u64, String> + 'static,
    ) {
        let (run, check) = (Box::new(run), Box::new(check));
        self.engines.push(Engine { name: name.into(), threads, run, check });
    }

    /// An engine that makes one value of the input.
    pub fn reduction<T: Item, A: Item>(
        &mut self,
        name: &str,
        threads: usize,
        input: &Rc<Buffer<T>>,
        reduce: impl Fn(&[T]) -> A + Clone + 'static,
    ) {
        let (items, once) = (Rc::clone(input), reduce.clone());
        let check = move || Ok(digest(&[once(&items)]));
        let items = Rc::clone(input);
        let run = move |calls| {
            let items: &[T] = &items;
            timed(calls, || {
                black_box(reduce(black_box(items)));
            })
        };
        self.add(name, threads, run, check);
    }

    /// An engine that makes as many items as the input has.
    pub fn scan<T: Item>(
        &mut self,
        name: &str,
        threads: usize,
        input: &Rc<Buffer<T>>,
        output: &Rc<RefCell<Buffer<T>>>,
        scan: impl Fn(&[T], &mut [T]) + Clone + 'static,
    ) {
        let (items, results, once) = (Rc::clone(input), Rc::clone(output), scan.clone());
        let check = move || {
            let mut results = results.borrow_mut();
            results.fill(T::of(u64::MAX / 3, crate::input::Kind::Unit));
            once(&items, &mut results);
            Ok(digest(&results))
        };
        let (items, results) = (Rc::clone(input), Rc::clone(output));
        let run = move |calls| {
            let items: &[T] = &items;
            let results: &mut [T] = &mut results.borrow_mut();
            timed(calls, || scan(black_box(items), black_box(&mut *results)))
        };
        self.add(name, threads, run, check);
    }

    /// Adds a check, of what a digest does not show, to the engine that was added last.
    ///
    /// # Panics
    /// If none was added.
    pub fn also(&mut self, further: impl Fn() -> Result<(), String> + 'static) {
        let engine = self.engines.pop().expect("an engine");
        let Engine { name, threads, run, check } = engine;
        let check = Box::new(move || further().and_then(|()| check()));
        self.engines.push(Engine { name, threads, run, check });
    }

    /// States the right answer.
    pub fn expect(&mut self, expected: impl Fn() -> u64 + 'static) {
        self.expected = Some(Box::new(move || Ok(expected())));
    }

    /// The answer to `prepare`.
    pub(crate) fn names(&self) -> String {
        let names =
            self.engines.iter().map(|engine| format!(" {}:{}", engine.name, engine.threads));
        names.fold("engines".to_owned(), |line, name| line + &name)
    }

    /// The answer to `expect`.
    pub(crate) fn expected(&self) -> String {
        answer(self.expected.as_ref().expect("a reference"))
    }

    /// The answer to `check`.
    pub(crate) fn check(&self, name: &str) -> String {
        let engine = self.engines.iter().find(|engine| engine.name == name);
        answer(&engine.expect("an engine that was listed").check)
    }

    /// The answer to `run`.
    pub(crate) fn run(&mut self, name: &str, calls: usize) -> String {
        let engine = self.engines.iter_mut().find(|engine| engine.name == name);
        format!("seconds {:e}", (engine.expect("an engine that was listed").run)(calls))
    }
}

fn answer(check: &Check) -> String {
    match check() {
        Ok(digest) => format!("digest {digest:016x}"),
        Err(why) => format!("wrong {why}"),
    }
}

/// Seconds that `calls` calls take.
pub fn timed(calls: usize, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed().as_secs_f64()
}
