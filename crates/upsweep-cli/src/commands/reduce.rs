//! `upsweep reduce`: all items of a file combined into one value.

use std::io::{self, Write};

use half::{bf16, f16};
use upsweep::profile::Traffic;
use upsweep::{
    ArgMax, ArgMin, Device, Dtype, Indexed, Max, Mean, Min, Number, Operator, Reduce, ReduceStream,
    Widen, argmax, argmin,
};

use crate::args::ReduceArguments;
use crate::error::{Failure, Result};
use crate::input::{Input, Items};
use crate::progress::Progress;
use upsweep_measure::check_accumulator;
use upsweep_measure::convert::widen;
use upsweep_measure::device;
use upsweep_measure::dispatch::{
    self, Exists, Op, PositionKernel, ReduceKernel, combined_in, same_bits,
};
use upsweep_measure::log;
use upsweep_measure::value::Value;

/// Reduces a file and prints the result.
pub(crate) fn run(arguments: &ReduceArguments) -> Result<()> {
    let op = arguments.op;
    let input = Input::open(&arguments.input.file, arguments.input.dtype)?;
    let (wanted, options) = (&arguments.device.device, arguments.device.options());
    let bytes = input.items * input.dtype.size();
    let dtypes = [input.dtype, arguments.acc.unwrap_or_else(|| accumulator(op, input.dtype))];
    let device = device::place(wanted, options, Traffic::Reads, bytes, &dtypes)?;
    input.will_read(false);
    let choice = device.reduce_choice(input.items, input.dtype.size());
    log!("{op} on {}: strategy {}, {:?}", device.id(), choice.0, choice.1);
    let job = Job { device: &device, input: &input, progress: &Progress::new(input.item_bytes()) };
    let result = match op {
        Op::ArgMin | Op::ArgMax => {
            if arguments.acc.is_some() {
                return Err(Failure::usage(format!(
                    "--acc has no meaning for {op}: a position is u64"
                )));
            }
            job.position(op)?.map_or("none".to_owned(), |position| position.to_string())
        }
        Op::Mean => job.mean(arguments.acc)?.to_string(),
        _ => job.reduce(op, arguments.acc)?.to_string(),
    };
    writeln!(io::stdout(), "{result}").map_err(Failure::stdout)
}

/// The type in which `op` combines items of type `dtype` unless the user names another.
fn accumulator(op: Op, dtype: Dtype) -> Dtype {
    match dtype {
        _ if !op.accumulates() => dtype,
        Dtype::U8 | Dtype::U16 | Dtype::U32 => Dtype::U64,
        Dtype::I8 | Dtype::I16 | Dtype::I32 => Dtype::I64,
        other => combined_in(other),
    }
}

struct Job<'a> {
    device: &'a Device,
    input: &'a Input,
    progress: &'a Progress,
}

impl Job<'_> {
    fn reduce(&self, op: Op, acc: Option<Dtype>) -> Result<Value> {
        let item = self.input.dtype;
        op.check(item)?;
        let acc = acc.unwrap_or_else(|| accumulator(op, item));
        check_accumulator(item, acc)?;
        if op.accumulates() {
            // Integers wrap, so the 64 bits end in the bits of every narrower accumulator.
            // A device without 64-bit integers can do with those.
            let wraps = acc.is_float() || !self.device.limits().int64;
            let combined = if wraps { acc } else { accumulator(op, item) };
            let total = self.combine(op, item, combined)?;
            return Ok(match acc {
                Dtype::F16 | Dtype::Bf16 => narrow(total, acc),
                acc if acc.is_float() => total,
                acc => total.wrapped(acc),
            });
        }
        op.check(acc)?;
        // The extreme of widened values is the widened extreme; so it is with bits. Only the
        // identity, which nothing gives, is that of the wider type.
        let item = if self.input.items == 0 { acc } else { item };
        let value = self.combine(op, item, item)?;
        let value = if combined_in(item) == item { value } else { narrow(value, item) };
        Ok(widen(value, item, acc).unwrap_or(value))
    }

    fn mean(&self, acc: Option<Dtype>) -> Result<Value> {
        let item = self.input.dtype;
        let default = match item {
            Dtype::F16 | Dtype::Bf16 | Dtype::F32 => Dtype::F32,
            _ => Dtype::F64,
        };
        let acc = acc.unwrap_or(default);
        check_accumulator(item, acc)?;
        let items = self.input.items;
        match acc {
            Dtype::F32 => {
                let sum = self.combine(Op::Sum, item, acc)?.bits();
                Ok(Value::new(<f32 as Mean>::divide(sum, items)))
            }
            Dtype::F64 => {
                let sum = self.combine(Op::Sum, item, acc)?.bits();
                Ok(Value::new(<f64 as Mean>::divide(sum, items)))
            }
            _ => Err(Failure::usage(format!("a mean is f32 or f64, not --acc {acc}"))),
        }
    }

    /// Combines items that are `item` in the file in type `acc`; the value has that type, or the
    /// type that it is combined in.
    fn combine(&self, op: Op, item: Dtype, acc: Dtype) -> Result<Value> {
        let acc = combined_in(acc);
        let (from, to) = same_bits(op, item, acc);
        let direct = dispatch::reduce(op, from, to, Exists).is_some();
        let (seen, from, to) = if direct {
            (item, from, to)
        } else {
            let (from, to) = same_bits(op, acc, acc);
            (acc, from, to)
        };
        log!("kernel {op} {from} in {to}{}", if direct { "" } else { ", items converted first" });
        let empty_input;
        let source = if item == self.input.dtype {
            self.input
        } else {
            empty_input = Input::empty(item);
            &empty_input
        };
        let unsupported = || Failure::usage(format!("{op} of {item} in {acc} is not supported"));
        let items = source.items_as(seen).ok_or_else(unsupported)?;
        let kernel = Stream { device: self.device, items, progress: self.progress };
        let value = dispatch::reduce(op, from, to, kernel).ok_or_else(unsupported)??;
        Ok(value.wrapped(acc))
    }

    fn position(&self, op: Op) -> Result<Option<u64>> {
        let largest = op == Op::ArgMax;
        let Some(items) = self.input.items_as(self.input.dtype) else {
            return Ok(None);
        };
        let kernel = Position { device: self.device, items, progress: self.progress, largest };
        dispatch::position(self.input.dtype, kernel)
    }
}

/// A value of a short float's accumulator, rounded to the short float.
fn narrow(value: Value, short: Dtype) -> Value {
    match short {
        Dtype::F16 => Value::new(f16::from_f32(value.bits())),
        Dtype::Bf16 => Value::new(bf16::from_f32(value.bits())),
        _ => value,
    }
}

/// Takes the items chunk by chunk.
struct Stream<'a> {
    device: &'a Device,
    items: Items<'a>,
    progress: &'a Progress,
}

impl ReduceKernel for Stream<'_> {
    type Output = Result<Value>;

    fn run<T, A, O>(self, operator: O) -> Result<Value>
    where
        T: Number + Widen<A>,
        A: Number,
        O: Operator<A>,
    {
        let mut stream = ReduceStream::<T, A, O>::new(self.device, Reduce::new(operator))?;
        let mut buffer = Vec::new();
        let step = self.items.step::<T>(ReduceStream::<T, A, O>::CHUNK);
        self.items
            .in_steps::<T>(step, &mut buffer, self.progress, |_, chunk| Ok(stream.push(chunk)?))?;
        Ok(Value::new(stream.finish()))
    }
}

struct Position<'a> {
    device: &'a Device,
    items: Items<'a>,
    progress: &'a Progress,
    largest: bool,
}

impl PositionKernel for Position<'_> {
    type Output = Result<Option<u64>>;

    fn run<T>(self) -> Result<Option<u64>>
    where
        T: Number,
        T::Acc: Number,
        Min: Operator<T::Acc>,
        Max: Operator<T::Acc>,
    {
        let mut best: Option<Indexed<T::Acc>> = None;
        let mut buffer = Vec::new();
        let step = self.items.step::<T>(1);
        self.items.in_steps::<T>(step, &mut buffer, self.progress, |start, chunk| {
            let found =
                if self.largest { argmax(self.device, chunk) } else { argmin(self.device, chunk) };
            let Some(index) = found? else {
                return Ok(());
            };
            let value = chunk[usize::try_from(index).unwrap_or(usize::MAX)].to_acc();
            let found = Indexed { value, index: start as u64 + index };
            best = Some(match best {
                None => found,
                Some(best) if self.largest => ArgMax.combine(best, found),
                Some(best) => ArgMin.combine(best, found),
            });
            Ok(())
        })?;
        Ok(best.map(|best| best.index))
    }
}
