//! The committed results of the summation specification, version 1.
//!
//! Each line of `vectors/summation-v1.csv` is a question and its answer. The columns:
//!
//! | column | meaning |
//! |---|---|
//! | `primitive` | `reduce`, `inclusive_scan` or `exclusive_scan` |
//! | `direction` | `forward` or `reverse` |
//! | `operator` | `sum`, `product`, or `compose` of maps `x → scale · x + shift` |
//! | `items` | type of the input: `f16`, `bf16`, `f32`, `f64`, or `affine_f32`, a pair of `f32` |
//! | `results` | type of the output; what is `f16` or `bf16` is combined in `f32` |
//! | `input`, `seed`, `length` | how the input is made; see [`Input`] |
//! | `init` | bits of the start value in the type of combination, or `-` |
//! | `hash` | of all output items: `hash = (hash ^ bits) · prime` with FNV-1a's 64-bit numbers |
//! | `samples` | `position=bits` of some output items; of a reduction the only one |
//!
//! Bits are hexadecimal; those of a map are its scale's in front of its shift's.
//!
//! `check.py` beside the file checks every line without this code.

use core::fmt::Write;

use upsweep::summation::TILE;
use upsweep::{
    Bounds, Direction, Operator, Product, Reduce, Scan, Sum, Widen, bf16, f16, reference,
};

use crate::{Affine, Compose, Input, Sample};

/// The first line of the file.
const HEADER: &str =
    "primitive,direction,operator,items,results,input,seed,length,init,hash,samples";

/// Something that reduces and scans in the order of the specification.
pub trait Engine {
    /// A reduction.
    fn reduce<T, A, O>(&self, items: &[T], problem: &Reduce<A, O>) -> A
    where
        T: Sample + Widen<A>,
        A: Sample,
        O: Operator<A>;

    /// A scan.
    fn scan<T, U, O>(&self, items: &[T], problem: &Scan<U::Acc, O>) -> Vec<U>
    where
        T: Sample + Widen<U::Acc>,
        U: Sample,
        O: Operator<U::Acc>;
}

/// The plain code of [`reference::specified`].
#[derive(Clone, Copy, Debug)]
pub struct Specified;

impl Engine for Specified {
    fn reduce<T, A, O>(&self, items: &[T], problem: &Reduce<A, O>) -> A
    where
        T: Sample + Widen<A>,
        A: Sample,
        O: Operator<A>,
    {
        reference::specified::reduce(items, problem)
    }

    fn scan<T, U, O>(&self, items: &[T], problem: &Scan<U::Acc, O>) -> Vec<U>
    where
        T: Sample + Widen<U::Acc>,
        U: Sample,
        O: Operator<U::Acc>,
    {
        reference::specified::scan(items, problem)
    }
}

/// A line without its last two columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// `reduce`, `inclusive_scan` or `exclusive_scan`.
    pub primitive: String,
    /// `forward` or `reverse`.
    pub direction: String,
    /// `sum`, `product` or `compose`.
    pub operator: String,
    /// Type of the input.
    pub items: String,
    /// Type of the output.
    pub results: String,
    /// How the input is made.
    pub input: Input,
    /// From which seed.
    pub seed: u64,
    /// Items of the input.
    pub length: usize,
    /// Bits of the start value.
    pub init: Option<u64>,
}

/// The last two columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Hash of all output items.
    pub hash: u64,
    /// Positions and bits of some of them.
    pub samples: Vec<(usize, u64)>,
}

impl Answer {
    fn new<T: Sample>(output: &[T]) -> Self {
        let hash = output.iter().fold(0xcbf2_9ce4_8422_2325, |hash, item| {
            (hash ^ item.bits()).wrapping_mul(0x100_0000_01b3)
        });
        let n = output.len();
        let last = n.saturating_sub(1);
        let mut positions = vec![0, n / 2, last / TILE * TILE, last];
        positions.sort_unstable();
        positions.dedup();
        positions.retain(|&position| position < n);
        Self { hash, samples: positions.iter().map(|&at| (at, output[at].bits())).collect() }
    }
}

impl Question {
    /// What `engine` answers.
    ///
    /// # Panics
    /// If the question names a type or an operator that it cannot.
    pub fn answer(&self, engine: &impl Engine) -> Answer {
        match (self.items.as_str(), self.results.as_str()) {
            ("f32", "f32") => self.with_numbers::<f32, f32, f32>(engine),
            ("f64", "f64") => self.with_numbers::<f64, f64, f64>(engine),
            ("f16", "f32") => self.with_numbers::<f16, f32, f32>(engine),
            ("bf16", "f32") => self.with_numbers::<bf16, f32, f32>(engine),
            ("f16", "f16") => self.with_numbers::<f16, f16, f32>(engine),
            ("bf16", "bf16") => self.with_numbers::<bf16, bf16, f32>(engine),
            ("affine_f32", "affine_f32") => {
                self.with_operator::<Affine<f32>, Affine<f32>, Affine<f32>, _>(engine, Compose)
            }
            types => panic!("no vectors from {types:?}"),
        }
    }

    fn with_numbers<T, U, A>(&self, engine: &impl Engine) -> Answer
    where
        T: Sample + Widen<A>,
        U: Sample<Acc = A>,
        A: Sample<Acc = A>,
        Sum: Operator<A>,
        Product: Operator<A>,
    {
        match self.operator.as_str() {
            "sum" => self.with_operator::<T, U, A, _>(engine, Sum),
            "product" => self.with_operator::<T, U, A, _>(engine, Product),
            operator => panic!("no vectors for {operator}"),
        }
    }

    fn with_operator<T, U, A, O>(&self, engine: &impl Engine, operator: O) -> Answer
    where
        T: Sample + Widen<A>,
        U: Sample<Acc = A>,
        A: Sample<Acc = A>,
        O: Operator<A>,
    {
        let items: Vec<T> = self.input.array(self.seed, self.length);
        let init = self.init.map(A::from_bits);
        if self.primitive == "reduce" {
            let mut problem = Reduce::new(operator);
            problem.init = init;
            return Answer::new(&[engine.reduce::<T, A, O>(&items, &problem)]);
        }
        let mut problem = Scan::inclusive(operator);
        problem.init = init;
        if self.primitive == "exclusive_scan" {
            problem.bounds = Bounds::Exclusive;
        }
        if self.direction == "reverse" {
            problem.direction = Direction::Reverse;
        }
        Answer::new(&engine.scan::<T, U, O>(&items, &problem))
    }
}

/// Lengths with all variants.
const EVERY: &[usize] = &[0, 1, 2, 3, 4, 5, 127, 128, 129, 2047, 2048, 2049, 4097];

/// Lengths with all reductions, and two variants of each scan.
const SOME: &[usize] = &[10_240, 65_535, 65_536, 65_537, 100_000, 131_149, 196_607];

/// Lengths with all reductions, and a few scans.
const FEW: &[usize] = &[1 << 20, (1 << 22) + 1];

/// Types of input, of output, operator, and how the input is made at odd and at even places.
const FAMILIES: &[(&str, &str, &str, Input, Input)] = &[
    ("f32", "f32", "sum", Input::Mixed, Input::Uniform),
    ("f64", "f64", "sum", Input::Mixed, Input::Uniform),
    ("f16", "f32", "sum", Input::Mixed, Input::Uniform),
    ("bf16", "f32", "sum", Input::Mixed, Input::Uniform),
    ("f16", "f16", "sum", Input::Mixed, Input::Uniform),
    ("bf16", "bf16", "sum", Input::Mixed, Input::Uniform),
    ("f32", "f32", "product", Input::NearOne, Input::NearOne),
    ("f64", "f64", "product", Input::NearOne, Input::NearOne),
    ("f16", "f32", "product", Input::NearOne, Input::NearOne),
    ("bf16", "f32", "product", Input::NearOne, Input::NearOne),
    ("f16", "f16", "product", Input::NearOne, Input::NearOne),
    ("bf16", "bf16", "product", Input::NearOne, Input::NearOne),
    ("affine_f32", "affine_f32", "compose", Input::NearOne, Input::NearOne),
];

/// Every question of the file, in its order.
pub fn questions() -> Vec<Question> {
    let mut questions = Vec::new();
    for (place, &length) in EVERY.iter().chain(SOME).chain(FEW).enumerate() {
        for (family, &(items, results, operator, odd, even)) in FAMILIES.iter().enumerate() {
            let input = if place % 2 == 1 { odd } else { even };
            // A reduction's result is not rounded to the short type.
            let reductions = if matches!(results, "f16" | "bf16") { 0 } else { 2 };
            for variant in 0..reductions + 8 {
                let (primitive, reverse, with_init) = if variant < reductions {
                    ("reduce", false, variant == 1)
                } else {
                    let scan = variant - reductions;
                    let taken = match length {
                        _ if place < EVERY.len() => true,
                        _ if place < EVERY.len() + SOME.len() => scan % 4 == (place + family) % 4,
                        _ => scan == (3 * place + family) % 8,
                    };
                    if !taken {
                        continue;
                    }
                    let primitive = if scan & 1 == 0 { "inclusive_scan" } else { "exclusive_scan" };
                    (primitive, scan & 2 != 0, scan & 4 != 0)
                };
                questions.push(Question {
                    primitive: primitive.into(),
                    direction: if reverse { "reverse" } else { "forward" }.into(),
                    operator: operator.into(),
                    items: items.into(),
                    results: results.into(),
                    input,
                    seed: questions.len() as u64,
                    length,
                    init: with_init.then(|| init_bits(results, operator)),
                });
            }
        }
    }
    questions.extend(zeros());
    questions
}

/// Sums of zeros: whether the sign of zero survives padding.
fn zeros() -> impl Iterator<Item = Question> {
    let primitives = ["reduce", "inclusive_scan", "exclusive_scan"];
    ["f32", "f64"].into_iter().flat_map(move |items| {
        [1, 2, 3, 129, 2049].into_iter().flat_map(move |length| {
            primitives.into_iter().map(move |primitive| Question {
                primitive: primitive.into(),
                direction: "forward".into(),
                operator: "sum".into(),
                items: items.into(),
                results: items.into(),
                input: Input::Zeros,
                // From this seed the first word's highest bit is set: −0 comes first.
                seed: 0,
                length,
                init: None,
            })
        })
    })
}

/// The start value: 0.375 for sums, 1.25 for products, `x → 1.25 · x + 0.375` for maps.
fn init_bits(results: &str, operator: &str) -> u64 {
    let (sum, product) = (0.375f32, 1.25f32);
    match (results, operator) {
        (_, "compose") => Affine { scale: product, shift: sum }.bits(),
        ("f64", "sum") => f64::from(sum).bits(),
        ("f64", _) => f64::from(product).bits(),
        (_, "sum") => sum.bits(),
        _ => product.bits(),
    }
}

/// The file's text.
pub fn write(rows: &[(Question, Answer)]) -> String {
    let mut text = format!("{HEADER}\n");
    for (question, answer) in rows {
        let q = question;
        let init = q.init.map_or("-".into(), |bits| format!("{bits:x}"));
        let samples = answer.samples.iter().map(|(at, bits)| format!("{at}={bits:x}"));
        let samples = samples.collect::<Vec<_>>().join(" ");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{init},{:x},{samples}",
            q.primitive,
            q.direction,
            q.operator,
            q.items,
            q.results,
            q.input,
            q.seed,
            q.length,
            answer.hash
        );
    }
    text
}

/// The lines of the file.
///
/// # Errors
/// The first line that does not have the form.
pub fn read(text: &str) -> Result<Vec<(Question, Answer)>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(format!("the first line is not '{HEADER}'"));
    }
    lines.map(|line| read_line(line).ok_or_else(|| format!("cannot read '{line}'"))).collect()
}

fn read_line(line: &str) -> Option<(Question, Answer)> {
    let columns: Vec<&str> = line.split(',').collect();
    let &[primitive, direction, operator, items, results, input, seed, length, init, hash, samples] =
        columns.as_slice()
    else {
        return None;
    };
    let bits = |text: &str| u64::from_str_radix(text, 16).ok();
    let samples = samples.split_whitespace().map(|sample| {
        let (at, value) = sample.split_once('=')?;
        Some((at.parse().ok()?, bits(value)?))
    });
    let question = Question {
        primitive: primitive.into(),
        direction: direction.into(),
        operator: operator.into(),
        items: items.into(),
        results: results.into(),
        input: input.parse().ok()?,
        seed: seed.parse().ok()?,
        length: length.parse().ok()?,
        init: if init == "-" { None } else { Some(bits(init)?) },
    };
    Some((question, Answer { hash: bits(hash)?, samples: samples.collect::<Option<_>>()? }))
}

/// Where the committed file is.
pub fn path() -> std::path::PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/summation-v1.csv").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_asks_what_the_code_asks() {
        let text = std::fs::read_to_string(path()).expect("the file is there");
        let rows = read(&text).expect("the file has the form");
        let asked: Vec<Question> = rows.iter().map(|row| row.0.clone()).collect();
        assert!(asked == questions(), "run `cargo run -p upsweep-testing --bin vectors`");
        assert_eq!(write(&rows), text);
    }

    #[test]
    fn a_changed_bit_changes_the_answer() {
        let items: Vec<f32> = Input::Mixed.array(1, 5000);
        let answer = Answer::new(&items);
        for at in [0, 1, 2500, 4999] {
            let mut other = items.clone();
            other[at] = f32::from_bits(other[at].to_bits() ^ 1);
            assert_ne!(Answer::new(&other), answer);
        }
    }
}
