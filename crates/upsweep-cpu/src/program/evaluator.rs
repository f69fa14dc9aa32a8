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

/// One value, aligned as any type is.
#[derive(Clone, Copy)]
pub(super) struct Value(u64);

impl Value {
    pub(super) fn new(bits: u64) -> Self {
        Self(bits.to_le())
    }

    pub(super) fn bytes(&self, size: usize) -> &[u8] {
        &bytemuck::bytes_of(&self.0)[..size]
    }

    fn bytes_mut(&mut self, size: usize) -> &mut [u8] {
        &mut bytemuck::bytes_of_mut(&mut self.0)[..size]
    }
}

/// Bytes of planes up to which the one that comes before them is repeated, so that one update does for all: short ones cost less to copy than
/// to choose loops for. A scan of 1,024 `f32` needs 50 updates instead of 140.
const REPEATED: usize = 1 << 12;

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
    /// A plane several times.
    repeated: Aligned,
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
        let (result, repeated) = (Aligned::default(), Aligned::default());
        Self { program, level, registers, result, repeated, block, flipped: false }
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
        let most = self.block * size;
        let mut result = mem::take(&mut self.result);
        result.grow(most);
        let is_left = (side == Side::Left) != self.flipped;
        let (mut values, mut others) = (values, others);
        while !values.is_empty() {
            let (value, other);
            (value, values) = values.split_at_mut(values.len().min(most));
            (other, others) = others.split_at(value.len());
            let arguments = if is_left { [&*value, other] } else { [other, &*value] };
            let to = &mut result.bytes_mut()[..value.len()];
            let items = to.len() >> size.trailing_zeros();
            self.block(&arguments, &mut [&mut *to], 0..items);
            value.copy_from_slice(to);
        }
        self.result = result;
    }

    /// Puts the values of one plane in front of those of each of some planes, which are the right operands.
    pub(super) fn put_before(&mut self, planes: &mut [u8], before: &[u8]) {
        if planes.len() == before.len() || planes.len() > REPEATED {
            for plane in planes.chunks_exact_mut(before.len()) {
                self.update(plane, Side::Right, before);
            }
        } else {
            let mut repeated = mem::take(&mut self.repeated);
            repeated.grow(REPEATED);
            let others = &mut repeated.bytes_mut()[..planes.len()];
            others.chunks_exact_mut(before.len()).for_each(|other| other.copy_from_slice(before));
            self.update(planes, Side::Right, others);
            self.repeated = repeated;
        }
    }

    /// Combines two values, by their bits.
    pub(super) fn combine(&mut self, left: u64, right: u64) -> u64 {
        let size = self.program.outputs[0];
        let [mut value, other] = [left, right].map(Value::new);
        self.update(value.bytes_mut(size), Side::Left, other.bytes(size));
        value_of(value.bytes(size))
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
