//! Definitions evaluated over arrays: step by step over a block of items that stays in the first-level cache.
//!
//! Each step is one loop over its operands (`steps`, `casts`). Arguments are read where they lie, results are written where they belong, and
//! all other values are in registers, which are bytes for a block of items (`evaluator`). Choosing the loop of a step takes some nanoseconds,
//! which a block of some thousand items hides. `reduce` and `scan` combine by a definition: they arrange items so that what is combined lies in
//! two runs of memory, in the [order of summation](upsweep_core::summation). `planes` are those arrangements.

mod casts;
mod evaluator;
mod planes;
mod reduce;
mod scan;
mod steps;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use fearless_simd::Level;
use upsweep_core::kernel::{Definition, Step, Term, ValueType};
use upsweep_core::{Dtype, Error, Result, Traffic};

use crate::Cpu;
use crate::device::ExecutionContext;
use crate::team::lock;
use evaluator::Evaluator;
use steps::Loop;

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Argument(usize),
    Register(usize),
    Output(usize),
}

/// Where a value is, and the bytes of one item.
#[derive(Clone, Copy, Debug)]
struct Operand {
    place: Place,
    size: usize,
}

/// A step: a loop from places to a place.
#[derive(Clone, Debug)]
struct Instruction {
    run: Loop,
    to: Operand,
    of: Vec<Operand>,
}

/// A constant, which fills a register.
#[derive(Clone, Copy, Debug)]
struct Constant {
    bits: u64,
    size: usize,
    register: usize,
}

/// A definition compiled for arrays: its needed steps in order, with the registers that they use.
///
/// ```
/// use upsweep_core::Dtype;
/// use upsweep_core::kernel::{Binary, Definition};
/// use upsweep_cpu::{Cpu, Program};
///
/// let mut square = Definition::default();
/// let x = square.argument(Dtype::U8)?;
/// let result = square.binary(Binary::Mul, x, x)?;
/// let mut output = [0; 3];
/// Cpu::shared().evaluate(&Program::new(&square, &[result]), 3, &[&[1, 2, 3]], &mut [&mut output])?;
/// assert_eq!(output, [1, 4, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    instructions: Vec<Instruction>,
    constants: Vec<Constant>,
    registers: usize,
    /// Bytes of one item of each argument that is read, and its number.
    arguments: Vec<Operand>,
    /// Bytes of one item of each result.
    outputs: Vec<usize>,
    /// Items of a block.
    block: usize,
    /// What an item costs, as if it were bytes of memory that are read.
    cost: usize,
}

/// Bytes of registers, arguments and results that a block touches: most of a first-level cache of 32 KiB. With 1,024 items or more, choosing
/// the loops of steps takes less than a tenth of the time.
const BLOCK_BYTES: usize = 24 << 10;
const LEAST_BLOCK: usize = 1 << 8;
const MOST_BLOCK: usize = 1 << 13;

/// Bytes that are read from memory while a function is called for one item, some 3 nanoseconds.
const CALL_BYTES: usize = 64;

impl Program {
    /// The program that computes these values.
    pub fn new(definition: &Definition, results: &[Term]) -> Self {
        Compiler::new(definition, results).program()
    }

    /// Bytes of one item of argument `number`, if it is read.
    fn argument_size(&self, number: usize) -> Option<usize> {
        let is_it = |of: &&Operand| of.place == Place::Argument(number);
        self.arguments.iter().find(is_it).map(|of| of.size)
    }
}

/// What becomes of each step of a definition.
struct Compiler<'a> {
    definition: &'a Definition,
    results: &'a [Term],
    needed: Vec<bool>,
    /// The step with the same bits, of a cast that changes none.
    source: Vec<usize>,
    /// The last step that reads the value.
    last_use: Vec<usize>,
    places: Vec<Option<Place>>,
    free: Vec<usize>,
    registers: usize,
}

impl<'a> Compiler<'a> {
    fn new(definition: &'a Definition, results: &'a [Term]) -> Self {
        let steps = definition.steps();
        let needed = definition.needed(results);
        let mut source: Vec<usize> = (0..steps.len()).collect();
        let mut last_use = source.clone();
        for (number, (step, of)) in steps.iter().enumerate().filter(|(number, _)| needed[*number]) {
            if let Step::Cast(value) = *step
                && steps::cast(definition.type_of(value), *of).is_none()
            {
                source[number] = source[value.number()];
            } else {
                step.operands().for_each(|value| last_use[source[value.number()]] = number);
            }
        }
        let places = vec![None; steps.len()];
        let free = Vec::new();
        Self { definition, results, needed, source, last_use, places, free, registers: 0 }
    }

    fn program(mut self) -> Program {
        let steps = self.definition.steps();
        let (mut arguments, mut constants, mut instructions) = (vec![], vec![], vec![]);
        let mut slow = 0;
        self.place_results();
        for (number, &(step, of)) in steps.iter().enumerate() {
            if !self.needed[number] || self.source[number] != number {
                continue;
            }
            let size = of.size();
            match step {
                Step::Argument(argument) => {
                    let place = Place::Argument(argument);
                    self.places[number] = Some(place);
                    arguments.push(Operand { place, size });
                }
                Step::Constant(bits) => {
                    // Filled before the first block, so nobody else may have the register.
                    let register = self.new_register();
                    self.places[number] = Some(Place::Register(register));
                    let bits = if of == ValueType::Bool { u64::from(bits != 0) } else { bits };
                    constants.push(Constant { bits, size, register });
                }
                _ => {
                    let place = self.places[number].unwrap_or_else(|| self.register());
                    self.places[number] = Some(place);
                    let instruction = self.instruction(step, of, Operand { place, size });
                    instructions.push(instruction);
                    let first = step.operands().next();
                    let of = first.map_or(of, |term| self.definition.type_of(term));
                    slow += usize::from(steps::is_slow(step, of));
                    self.release(step, number);
                }
            }
        }
        for (output, result) in self.results.iter().enumerate() {
            let from = self.operand(*result);
            let place = Place::Output(output);
            if from.place != place {
                let to = Operand { place, ..from };
                instructions.push(Instruction { run: steps::copy, to, of: vec![from] });
            }
        }
        let outputs: Vec<usize> =
            self.results.iter().map(|result| self.definition.type_of(*result).size()).collect();
        let widest = steps.iter().map(|(_, of)| of.size()).max().unwrap_or(1);
        let touched = self.registers * widest
            + arguments.iter().map(|of| of.size).sum::<usize>()
            + outputs.iter().sum::<usize>();
        let most = (BLOCK_BYTES / touched.max(1)).max(1);
        let block = (1 << most.ilog2()).clamp(LEAST_BLOCK, MOST_BLOCK);
        let cost = touched + instructions.len() + slow * CALL_BYTES;
        let registers = self.registers;
        Program { instructions, constants, registers, arguments, outputs, block, cost }
    }

    /// Results that steps make are made where they belong. Others are copied.
    fn place_results(&mut self) {
        let steps = self.definition.steps();
        for (output, result) in self.results.iter().enumerate() {
            let source = self.source[result.number()];
            if !matches!(steps[source].0, Step::Argument(_) | Step::Constant(_)) {
                self.places[source].get_or_insert(Place::Output(output));
            }
        }
    }

    fn instruction(&self, step: Step, made: ValueType, to: Operand) -> Instruction {
        let of = |term: Term| self.definition.type_of(term);
        let mut operands: Vec<_> = step.operands().map(|term| self.operand(term)).collect();
        let run = match step {
            Step::Argument(_) | Step::Constant(_) => steps::copy,
            Step::Unary(operator, value) => steps::unary(operator, of(value)),
            Step::Binary(operator, left, _) => {
                let (run, exchanged) = steps::binary(operator, of(left));
                if exchanged {
                    operands.reverse();
                }
                run
            }
            Step::Cast(value) => steps::cast(of(value), made).unwrap_or(steps::copy),
            Step::Method(method, value) => steps::method(method, of(value)),
            Step::MethodOfTwo(method, left, _) => steps::method_of_two(method, of(left)),
            Step::Select(_, yes, _) => steps::select(of(yes)),
        };
        Instruction { run, to, of: operands }
    }

    /// Where a value of an earlier step is. Steps are made of earlier ones.
    fn operand(&self, term: Term) -> Operand {
        let place = self.places[self.source[term.number()]];
        let size = self.definition.type_of(term).size();
        Operand { place: place.unwrap_or(Place::Register(0)), size }
    }

    fn register(&mut self) -> Place {
        let register = self.free.pop().unwrap_or_else(|| self.new_register());
        Place::Register(register)
    }

    fn new_register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    /// Registers of operands that nobody reads after this step are free. That of its own value is another one, so that a loop never
    /// reads what it writes.
    fn release(&mut self, step: Step, number: usize) {
        for term in step.operands() {
            let source = self.source[term.number()];
            let is_constant = matches!(self.definition.steps()[source].0, Step::Constant(_));
            if let Some(Place::Register(register)) = self.places[source]
                && self.last_use[source] == number
                && !is_constant
                && !self.free.contains(&register)
            {
                self.free.push(register);
            }
        }
    }
}

/// An operator that is a definition of two arguments of one type and gives that type.
#[derive(Clone, Debug)]
pub struct ProgramOperator {
    program: Program,
    dtype: Dtype,
    identity: u64,
    commutative: bool,
}

impl ProgramOperator {
    /// `identity` are the bits of a value that leaves every other one as it is, bit for bit.
    ///
    /// # Panics
    /// If the result is a `bool`.
    pub fn new(definition: &Definition, result: Term, identity: u64, commutative: bool) -> Self {
        let Some(dtype) = definition.type_of(result).number() else {
            panic!("an operator's values are numbers")
        };
        Self { program: Program::new(definition, &[result]), dtype, identity, commutative }
    }

    /// The type of both operands and of the result.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Combines two values, by their bits.
    pub fn combine(&self, left: u64, right: u64) -> u64 {
        Evaluator::new(&self.program, Level::baseline(), 1).combine(left, right)
    }
}

impl Cpu {
    /// Evaluates all results at every item, on all threads.
    ///
    /// # Arguments
    /// `arguments[i]` are the bytes of argument `i`, aligned as its type is; an argument that no result needs may be empty, or absent. Each
    /// of `outputs` has as many items, of the type of its result; a `bool` is a byte that is 0 or 1.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if an argument or an output has another length; [`Error::NoDevice`] if the threads cannot start.
    ///
    /// # Panics
    /// If there are not as many outputs as results, an argument that is read is absent, or bytes are not aligned.
    pub fn evaluate(
        &self,
        program: &Program,
        items: usize,
        arguments: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<()> {
        assert_eq!(outputs.len(), program.outputs.len(), "one output for each result");
        for (number, argument) in arguments.iter().enumerate() {
            if let Some(size) = program.argument_size(number)
                && argument.len() != items * size
            {
                return Err(Error::LengthMismatch { input: argument.len() / size, output: items });
            }
        }
        for (output, size) in outputs.iter().zip(&program.outputs) {
            if output.len() != items * size {
                return Err(Error::LengthMismatch { input: items, output: output.len() / size });
            }
        }
        let context = self.context_of(program, items)?;
        let piece = piece_items(&context, program, items);
        if piece >= items {
            Evaluator::new(program, context.level, items).run(arguments, outputs, items);
            return Ok(());
        }
        let mut rest: Vec<_> = outputs
            .iter_mut()
            .zip(&program.outputs)
            .map(|(output, size)| output.chunks_mut(piece * size))
            .collect();
        let pieces = Mutex::new((0..items).step_by(piece).map(move |start| {
            let outputs: Vec<&mut [u8]> = rest.iter_mut().flat_map(Iterator::next).collect();
            (start, outputs)
        }));
        context.team.run(&|| {
            let mut evaluator = Evaluator::new(program, context.level, piece);
            while let Some((start, mut outputs)) = lock(&pieces).and_then(|mut all| all.next()) {
                let end = items.min(start + piece);
                let arguments: Vec<&[u8]> = arguments
                    .iter()
                    .enumerate()
                    .map(|(number, argument)| {
                        let size = program.argument_size(number).unwrap_or(0);
                        &argument[start * size..end * size]
                    })
                    .collect();
                evaluator.run(&arguments, &mut outputs, end - start);
            }
        });
        Ok(())
    }

    /// The means for so many items of a program.
    fn context_of(&self, program: &Program, items: usize) -> Result<ExecutionContext<'_>> {
        let size = program.outputs.iter().copied().max().unwrap_or(1);
        let bytes = items.saturating_mul(program.cost);
        self.context(Traffic::Reads, self.policies().of_bytes(size), bytes)
    }
}

/// Items that a thread takes at once: all if the caller is alone, else whole blocks.
fn piece_items(context: &ExecutionContext<'_>, program: &Program, items: usize) -> usize {
    if context.team.threads() <= 1 {
        return items;
    }
    let bytes = context.block_bytes(items.saturating_mul(program.cost));
    (bytes / program.cost.max(1)).max(1).next_multiple_of(program.block)
}
