//! Registers, and what runs the steps of a program over them.

use core::mem;
use core::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use fearless_simd::Level;

use super::planes::fill;
use super::{Instruction, Operand, Place, Program};

/// Bytes of a cache line, where registers begin: vectors of them never lie in two lines.
const LINE: usize = 64;

/// Bytes that begin at a cache line.
#[derive(Clone, Debug, Default)]
pub(super) struct Aligned {
    words: Vec<u64>,
    start: usize,
    len: usize,
}

impl Aligned {
    pub(super) fn new(len: usize) -> Self {
        let words = vec![0u64; (len + LINE).div_ceil(size_of::<u64>())];
        // `usize::MAX` where no offset is found, as under an interpreter.
        let start = cast_slice::<u64, u8>(&words).as_ptr().align_offset(LINE);
        Self { words, start: if start < LINE { start } else { 0 }, len }
    }

    /// At least so many bytes; what was in them may be lost.
    pub(super) fn grow(&mut self, len: usize) {
        if self.len < len {
            *self = Self::new(len);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &cast_slice(&self.words)[self.start..][..self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut cast_slice_mut(&mut self.words)[self.start..][..self.len]
    }
}

/// Which operand of an operator a value is that is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A program with its registers, for one thread.
pub(super) struct Evaluator<'a> {
    program: &'a Program,
    level: Level,
    registers: Vec<Aligned>,
    /// Where the result of an operator is before it replaces an operand.
    result: Aligned,
    /// Items of a block.
    block: usize,
    /// Whether operands of an operator are exchanged.
    flipped: bool,
}

impl<'a> Evaluator<'a> {
    /// Registers for so many items at once, or for a block if they are more.
    pub(super) fn new(program: &'a Program, level: Level, items: usize) -> Self {
        let block = program.block.min(items.max(1));
        let mut registers = vec![Aligned::default(); program.registers];
        let widths = program.instructions.iter().map(|instruction| instruction.to);
        for to in widths {
            if let Place::Register(register) = to.place {
                registers[register].grow(block * to.size);
            }
        }
        for constant in &program.constants {
            registers[constant.register] = Aligned::new(block * constant.size);
            fill(registers[constant.register].bytes_mut(), constant.size, constant.bits);
        }
        Self { program, level, registers, result: Aligned::default(), block, flipped: false }
    }

    /// The same with the operands of the operator exchanged.
    pub(super) fn flipped(self, flipped: bool) -> Self {
        Self { flipped, ..self }
    }

    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// Evaluates all results at so many items.
    pub(super) fn run(&mut self, arguments: &[&[u8]], outputs: &mut [&mut [u8]], items: usize) {
        for start in (0..items).step_by(self.block) {
            self.block(arguments, outputs, start..items.min(start + self.block));
        }
    }

    /// Evaluates all results at a block of items.
    fn block(&mut self, arguments: &[&[u8]], outputs: &mut [&mut [u8]], items: Range<usize>) {
        let program = self.program;
        for Instruction { run, to, of } in &program.instructions {
            let mut operands: [&[u8]; 3] = [&[]; 3];
            match to.place {
                Place::Register(register) => {
                    let mut taken = mem::take(&mut self.registers[register]);
                    for (operand, of) in operands.iter_mut().zip(of) {
                        *operand = self.operand(*of, arguments, outputs, &items);
                    }
                    run(self.level, &mut taken.bytes_mut()[..items.len() * to.size], operands);
                    self.registers[register] = taken;
                }
                Place::Output(output) => {
                    let taken = mem::take(&mut outputs[output]);
                    for (operand, of) in operands.iter_mut().zip(of) {
                        *operand = self.operand(*of, arguments, outputs, &items);
                    }
                    run(self.level, &mut taken[bytes(&items, to.size)], operands);
                    outputs[output] = taken;
                }
                Place::Argument(_) => unreachable!("no step writes an argument"),
            }
        }
    }

    #[inline(always)]
    fn operand<'b>(
        &'b self,
        of: Operand,
        arguments: &[&'b [u8]],
        outputs: &'b [&mut [u8]],
        items: &Range<usize>,
    ) -> &'b [u8] {
        match of.place {
            Place::Argument(number) => &arguments[number][bytes(items, of.size)],
            Place::Register(number) => &self.registers[number].bytes()[..items.len() * of.size],
            Place::Output(number) => &outputs[number][bytes(items, of.size)],
        }
    }

    /// Replaces each of `values`, which is this operand of the operator, by its combination with one of `others`.
    pub(super) fn update(&mut self, values: &mut [u8], side: Side, others: &[u8]) {
        let size = self.program.outputs[0];
        let mut result = mem::take(&mut self.result);
        result.grow(self.block * size);
        let is_left = (side == Side::Left) != self.flipped;
        for start in (0..values.len()).step_by(self.block * size) {
            let end = values.len().min(start + self.block * size);
            let (block, other) = (&mut values[start..end], &others[start..end]);
            let arguments = if is_left { [&*block, other] } else { [other, &*block] };
            let to = &mut result.bytes_mut()[..end - start];
            self.block(&arguments, &mut [&mut *to], 0..(end - start) / size);
            block.copy_from_slice(to);
        }
        self.result = result;
    }

    /// Combines two values, by their bits.
    pub(super) fn combine(&mut self, left: u64, right: u64) -> u64 {
        let size = self.program.outputs[0];
        let [mut value, other] = [left, right].map(u64::to_le_bytes);
        self.update(&mut value[..size], Side::Left, &other[..size]);
        value_of(&value[..size])
    }
}

/// Where these items lie.
fn bytes(items: &Range<usize>, size: usize) -> Range<usize> {
    items.start * size..items.end * size
}

/// The bits of one value.
pub(super) fn value_of(bytes: &[u8]) -> u64 {
    let mut word = [0; size_of::<u64>()];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
