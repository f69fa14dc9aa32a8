//! Items that a function which is known when a program runs makes of arrays as they are read.

use core::ops::Range;
use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};
use upsweep_core::kernel::{Definition, Step, Term, ValueType};
use upsweep_core::{Bounds, Condition, Direction, Formula};
use upsweep_cpu::{Cpu, Program};
use upsweep_gpu::Selecting;

use super::array::AnyArray;
use super::function::AnyFunction;
use super::kernel::{ReduceKernel, ScanKernel, combined_in};
use super::reduce::write_value;
use super::select::{check_numbers, check_room, check_types, find, select_into};
use super::view::{AnyView, AnyViewMut};
use super::{AnyCompacted, AnyOperator, Op, Reduce, ReduceStream, Scalar, Scan, ScanStream};
use crate::backend::wrong_device;
use crate::erased::{Erased, ErasedGpu, ErasedItemsMut};
use crate::fused::{Made, Parts};
use crate::{Device, Dtype, Error, Result, ViewMut, memory};

/// Items that a [`Definition`] makes of the items of arrays, as they are read.
///
/// It is what [`Fused`](crate::Fused) is for functions that are known when a program is compiled. On a GPU the function becomes a part of the
/// kernel. A CPU evaluates it over pieces of the arrays, in its vectors, and reads what came of them in its caches.
///
/// # Errors
/// A GPU that lacks a type of numbers refuses a definition that has it. With wgpu there are four arrays at most, with CUDA eight; constants
/// take 64 words of 32 bits at most.
///
/// # Examples
/// ```
/// use upsweep::any::{AnyFused, AnyView, Binary, Definition, Op, Reduce, Scalar};
/// use upsweep::{Device, Dtype};
///
/// let mut definition = Definition::default();
/// let (a, b) = (definition.argument(Dtype::F32)?, definition.argument(Dtype::F32)?);
/// let product = definition.binary(Binary::Mul, a, b)?;
/// let (left, right) = ([1.0f32, 2.0, 3.0], [4.0f32, 5.0, 6.0]);
/// let products = AnyFused::new([AnyView::from(&left), AnyView::from(&right)], definition, product)?;
/// let dot = products.reduce(&Device::cpu(), &Reduce::new(Op::Sum))?;
/// assert_eq!(dot, Some(Scalar::new(32.0f32)));
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyFused<'a> {
    arrays: Vec<AnyView<'a>>,
    function: AnyFunction,
}

/// Items in the host's memory of one type, piece after piece.
struct Pieces<'f, 'a> {
    fused: &'f AnyFused<'a>,
    program: Arc<Program>,
    types: Vec<ValueType>,
    buffers: Vec<Vec<u64>>,
}

impl<'f, 'a> Pieces<'f, 'a> {
    fn new(fused: &'f AnyFused<'a>, results: &[Term]) -> Self {
        let types = results.iter().map(|result| fused.function.type_of(*result)).collect();
        let program = fused.function.program(results);
        Self { fused, program, types, buffers: vec![Vec::new(); results.len()] }
    }

    /// The bytes of each result at these items.
    fn make(&mut self, cpu: &Cpu, piece: Range<usize>) -> Result<Vec<&[u8]>> {
        let mut rooms = Vec::new();
        for (buffer, of) in self.buffers.iter_mut().zip(&self.types) {
            let bytes = piece.len() * of.size();
            buffer.resize(bytes.div_ceil(8), 0);
            rooms.push(&mut cast_slice_mut(buffer)[..bytes]);
        }
        self.fused.evaluate(cpu, &self.program, piece.clone(), &mut rooms)?;
        let made = self.buffers.iter().zip(&self.types);
        Ok(made.map(|(buffer, of)| &cast_slice(buffer)[..piece.len() * of.size()]).collect())
    }
}

/// What takes the values of a piece, the number of what was found before and a place for what is found in it.
type TakePiece<'t> = &'t mut dyn FnMut(&[&[u8]], usize, ViewMut<'_, u64>) -> Result<()>;

/// Items that are made at once on the host.
const PIECE: usize = ReduceStream::CHUNK;
const _: () = assert!(PIECE.is_multiple_of(ScanStream::CHUNK));

impl<'a> AnyFused<'a> {
    /// What a definition makes of arrays, one for each argument: the items that are one of its values.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] for an array of another type than its argument; [`Error::Buffer`] for another number of arrays, for none, for
    /// arrays of several lengths, and for a value that is a `bool`.
    pub fn new(
        arrays: impl Into<Vec<AnyView<'a>>>,
        definition: Definition,
        item: Term,
    ) -> Result<Self> {
        AnyFunction::new(definition, item)?.of(arrays)
    }

    /// What a function makes of arrays.
    pub(super) fn of_function(function: AnyFunction, arrays: Vec<AnyView<'a>>) -> Result<Self> {
        let wanted = function.definition().arguments();
        if arrays.len() != wanted.len() || arrays.is_empty() {
            let (found, wanted) = (arrays.len(), wanted.len());
            let reason = format!("there are {found} arrays for a function of {wanted}");
            return Err(Error::Buffer { reason });
        }
        for (array, wanted) in arrays.iter().zip(wanted) {
            if array.dtype() != *wanted {
                return Err(Error::WrongDtype { found: array.dtype(), wanted: *wanted });
            }
            if array.len() != arrays[0].len() {
                let (one, other) = (arrays[0].len(), array.len());
                let reason = format!("arrays of {one} and {other} items are read together");
                return Err(Error::Buffer { reason });
            }
        }
        Ok(Self { arrays, function })
    }

    /// The items of an array as they are.
    ///
    /// # Errors
    /// [`Error::Undefined`] for short floats.
    pub fn of(array: AnyView<'a>) -> Result<Self> {
        AnyFunction::identity(array.dtype())?.of([array])
    }

    /// The type of the items.
    pub fn dtype(&self) -> Dtype {
        self.function.dtype()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.arrays[0].len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The array, if items are those of one as they are.
    fn as_array(&self) -> Option<AnyView<'a>> {
        match self.function.definition().steps()[self.item().number()].0 {
            Step::Argument(number) => self.arrays.get(number).copied(),
            _ => None,
        }
    }

    /// Which value the items are.
    fn item(&self) -> Term {
        self.function.item()
    }

    /// One of the values of each item, as a type.
    fn cast(&self, value: Term, dtype: Dtype) -> Result<Self> {
        Ok(Self { arrays: self.arrays.clone(), function: self.function.cast(value, dtype)? })
    }

    /// The items as the type that a kernel reads, by way of another.
    pub(super) fn cast_by(&self, by: Dtype, to: Dtype) -> Result<Self> {
        let widened = self.function.cast(self.item(), by)?;
        let function = widened.cast(widened.item(), to)?;
        Ok(Self { arrays: self.arrays.clone(), function })
    }

    fn home(&self) -> Option<Device> {
        self.arrays.iter().find_map(AnyView::home)
    }

    /// That a value says of each item whether something holds.
    fn check_condition(&self, condition: Term) -> Result<()> {
        let found = self.function.type_of(condition);
        let reason = format!("a condition is a bool, not {found}");
        if found == ValueType::Bool { Ok(()) } else { Err(Error::Buffer { reason }) }
    }

    /// The values of a program at some of the items, which are in the host's memory.
    fn evaluate(
        &self,
        cpu: &Cpu,
        program: &Program,
        piece: Range<usize>,
        outputs: &mut [&mut [u8]],
    ) -> Result<()> {
        let bytes = |array: &AnyView<'a>| {
            let (bytes, size) = array.number_bytes()?;
            Ok(&bytes[piece.start * size..piece.end * size])
        };
        let arguments: Vec<_> = self.arrays.iter().map(bytes).collect::<Result<_>>()?;
        cpu.evaluate(program, piece.len(), &arguments, outputs)
    }

    /// How kernels make values, of which `written` makes what is written and the condition.
    fn made(
        &self,
        written: impl FnOnce(&mut Made<'a>, &mut dyn FnMut(Term, &mut Parts<'a>) -> Formula),
    ) -> Made<'a> {
        let mut read = vec![None; self.arrays.len()];
        let mut formula = |term: Term, parts: &mut Parts<'a>| {
            let mut item = |argument: usize, parts: &mut Parts<'a>| {
                let array = &self.arrays[argument];
                read[argument].get_or_insert_with(|| parts.array(array.source())).clone()
            };
            if let Step::Argument(argument) = self.function.definition().steps()[term.number()].0 {
                return item(argument, parts);
            }
            let defined = self.function.defined(term);
            let mut arguments: Vec<Formula> =
                defined.arguments.iter().map(|argument| item(*argument, parts)).collect();
            let constants = defined.constants.into_iter();
            arguments.extend(constants.map(|constant| Formula::Value(parts.parameter(constant))));
            Formula::Call(defined.function, arguments)
        };
        let mut made = Made::empty(self.len());
        written(&mut made, &mut formula);
        made
    }

    /// The recipe of all items.
    pub(super) fn all(&self) -> Made<'a> {
        self.made(|made, formula| {
            let item = formula(self.item(), &mut made.parts);
            made.state(self.dtype().into(), item, None);
        })
    }

    /// The recipe of those items of which a condition holds.
    fn selected(&self, condition: Option<Term>) -> Made<'a> {
        self.made(|made, formula| {
            let item = formula(self.item(), &mut made.parts);
            let condition = condition.map(|of| Condition::Holds(formula(of, &mut made.parts)));
            made.state(self.dtype().into(), item, Some(condition.unwrap_or(Condition::All)));
        })
    }

    /// Combines all items into one value: as [`reduce`](super::reduce()) of an array of them.
    ///
    /// # Cost
    /// Every array is read once, and nothing is written on a GPU. For the position of an extreme the items are made in memory first.
    ///
    /// # Errors
    /// Those of [`reduce`](super::reduce()) and of [`AnyFused`].
    pub fn reduce(&self, device: &Device, problem: &Reduce) -> Result<Option<Scalar>> {
        if let Some(array) = self.as_array() {
            return super::reduce(device, array, problem);
        }
        let item = self.dtype();
        problem.check(item)?;
        let device = &*device.at_home(|| self.home());
        if problem.op.is_position() {
            return super::reduce(device, &self.to_array(device)?, problem);
        }
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let mut stream = ReduceStream::new(device, item, problem)?;
                let mut pieces = Pieces::new(self, &[self.item()]);
                for start in (0..self.len()).step_by(PIECE) {
                    let piece = start..self.len().min(start + PIECE);
                    let made = pieces.make(cpu, piece)?;
                    stream.push(AnyView::from_bytes(item, made[0])?)?;
                }
                stream.finish()
            }
            Erased::Gpu(gpu) => {
                let kernel = problem.kernel(item, device.limits().int64)?;
                if kernel.widens && self.is_empty() {
                    return super::reduce(device, AnyView::from_bytes(item, &[])?, problem);
                }
                let value = self.combined(gpu, &kernel, problem.init)?;
                let value = kernel.result(value, item, problem.init)?;
                if problem.op != Op::Mean {
                    return Ok(Some(value));
                }
                // Arrays that are read together have one length, which any of them may say.
                let says = self.arrays.iter().find(|array| array.is_bounded());
                let len = device.known_len(says.unwrap_or(&self.arrays[0]).erased())?;
                Ok(Some(super::reduce::mean_of(problem.op, value, len)))
            }
        }
    }

    /// As [`reduce`](AnyFused::reduce), leaving the value where the caller wants it: see [`reduce_into`](super::reduce_into).
    ///
    /// # Errors
    /// Those of [`reduce`](AnyFused::reduce) and of [`reduce_into`](super::reduce_into).
    pub fn reduce_into<'b>(
        &self,
        device: &Device,
        result: impl Into<AnyViewMut<'b>>,
        problem: &Reduce,
    ) -> Result<()> {
        self.reduced_into(device, result.into(), problem)
    }

    fn reduced_into(
        &self,
        device: &Device,
        mut result: AnyViewMut<'_>,
        problem: &Reduce,
    ) -> Result<()> {
        if let Some(array) = self.as_array() {
            return super::reduce_into(device, array, result, problem);
        }
        let item = self.dtype();
        problem.check(item)?;
        check_result(&result, combined_in(problem.result(item)))?;
        let device = &*device.at_home(|| self.home().or_else(|| result.home()));
        let wanted = Reduce { acc: Some(result.dtype()), ..*problem };
        if let (Erased::Gpu(gpu), ErasedItemsMut::Device(range)) =
            (device.kind().erased(), result.erased())
            && problem.op.scans()
            && !self.is_empty()
        {
            let kernel = wanted.kernel(item, device.limits().int64)?;
            if !kernel.widens && kernel.to.size() == wanted.result(item).size() {
                return self.combined_into(gpu, &kernel, range, problem.init);
            }
        }
        let value = self.reduce(device, &wanted)?.unwrap_or(Scalar::new(u64::MAX));
        write_value(device, result, value)
    }

    /// What the kernel of a GPU makes of all items.
    pub(super) fn combined(
        &self,
        gpu: &dyn ErasedGpu,
        kernel: &ReduceKernel,
        init: Option<Scalar>,
    ) -> Result<Scalar> {
        let own = self.cast_by(kernel.widened_to, kernel.from)?;
        let erased = kernel.code.problem(kernel.init(init), gpu.language());
        let found = gpu.reduce_made(&own.all(), &erased)?;
        Ok(Scalar::of_bytes(kernel.to, cast_slice(&found)))
    }

    /// The same into memory of the GPU's.
    pub(super) fn combined_into(
        &self,
        gpu: &dyn ErasedGpu,
        kernel: &ReduceKernel,
        result: memory::Range<'_>,
        init: Option<Scalar>,
    ) -> Result<()> {
        let own = self.cast_by(kernel.widened_to, kernel.from)?;
        let erased = kernel.code.problem(kernel.init(init), gpu.language());
        gpu.reduce_made_into(&own.all(), result.bits_as(kernel.to), &erased)
    }

    /// Has the kernel of a GPU scan all items.
    pub(super) fn prefixes_into(
        &self,
        gpu: &dyn ErasedGpu,
        kernel: &ScanKernel,
        output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()> {
        let own = self.cast_by(kernel.widened_to, kernel.from)?;
        let erased = kernel.code.problem(problem, gpu.language());
        gpu.scan_made(&own.all(), output.bits_as(kernel.to).erased(), &erased)
    }

    /// Writes every prefix to `output`: as [`scan_into`](super::scan_into) of an array of the items.
    ///
    /// # Errors
    /// Those of [`scan_into`](super::scan_into) and of [`AnyFused`].
    pub fn scan_into<'b>(
        &self,
        device: &Device,
        output: impl Into<AnyViewMut<'b>>,
        problem: &Scan,
    ) -> Result<()> {
        self.scanned_into(device, output.into(), problem)
    }

    fn scanned_into(
        &self,
        device: &Device,
        mut output: AnyViewMut<'_>,
        problem: &Scan,
    ) -> Result<()> {
        if let Some(array) = self.as_array() {
            return super::scan_into(device, array, output, problem);
        }
        let (item, out) = (self.dtype(), output.dtype());
        problem.check(item, out)?;
        self.check_len(&output)?;
        let device = &*device.at_home(|| self.home().or_else(|| output.home()));
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let mut stream = ScanStream::new(device, item, out, problem)?;
                let mut pieces = Pieces::new(self, &[self.item()]);
                let bytes = host_bytes(&mut output)?;
                let (items, size) = (self.len(), out.size());
                for number in 0..items.div_ceil(PIECE) {
                    // A shorter piece is the last to come, from either end.
                    let (start, end) = (number * PIECE, items.min((number + 1) * PIECE));
                    let piece = match problem.direction {
                        Direction::Forward => start..end,
                        Direction::Reverse => items - end..items - start,
                    };
                    let room = &mut bytes[piece.start * size..piece.end * size];
                    let made = pieces.make(cpu, piece)?;
                    for chunk in in_turn(problem.direction, made[0].len() / item.size()) {
                        let (from, to) = (chunk.start, chunk.end);
                        let items = &made[0][from * item.size()..to * item.size()];
                        let output = &mut room[from * size..to * size];
                        stream.next(
                            AnyView::from_bytes(item, items)?,
                            AnyViewMut::from_bytes(out, output)?,
                        )?;
                    }
                }
                Ok(())
            }
            Erased::Gpu(gpu) => {
                let kernel = ScanKernel::new(problem.op, item, out)?;
                self.prefixes_into(gpu, &kernel, output, problem)
            }
        }
    }

    /// Writes the items to `output`, which has their type.
    ///
    /// # Cost
    /// Every array is read once, and each item is written once. It waits for nothing that is written on a GPU.
    ///
    /// # Errors
    /// Those of [`AnyFused`]; [`Error::WrongDtype`] and [`Error::LengthMismatch`] for another output.
    pub fn evaluate_into<'b>(
        &self,
        device: &Device,
        output: impl Into<AnyViewMut<'b>>,
    ) -> Result<()> {
        self.evaluated_into(device, output.into())
    }

    fn evaluated_into(&self, device: &Device, mut output: AnyViewMut<'_>) -> Result<()> {
        self.check_output(&output)?;
        let device = &*device.at_home(|| self.home().or_else(|| output.home()));
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let program = self.function.program(&[self.item()]);
                self.evaluate(cpu, &program, 0..self.len(), &mut [host_bytes(&mut output)?])
            }
            Erased::Gpu(gpu) => {
                check_types(device, [self.dtype()])?;
                gpu.evaluate(&self.selected(None), output.erased())
            }
        }
    }

    /// The items as an array on the device.
    ///
    /// # Errors
    /// Those of [`evaluate_into`](AnyFused::evaluate_into).
    pub fn to_array(&self, device: &Device) -> Result<AnyArray> {
        let device = &*device.at_home(|| self.home());
        let mut output = AnyArray::with_any(device, self.dtype(), self.len())?;
        self.evaluate_into(device, output.view_mut())?;
        Ok(output)
    }

    /// The items of which a condition holds, a `bool` of the definition, in their order: as [`select`](super::select).
    ///
    /// # Cost
    /// Every array is read once, and what is selected is written once.
    ///
    /// # Errors
    /// Those of [`select`](super::select) and of [`AnyFused`]; [`Error::Buffer`] for a value that is no `bool`.
    pub fn select(&self, device: &Device, condition: Term) -> Result<AnyCompacted> {
        let device = &*device.at_home(|| self.home());
        let mut kept = super::select::Room::new(device, self.dtype(), self.len())?;
        let (output, count) = kept.targets();
        self.selected_into(device, condition, output, count)?;
        Ok(kept.compacted())
    }

    /// The same into memory of the caller's: as [`select_into`](super::select_into()).
    ///
    /// # Errors
    /// Those of [`select`](AnyFused::select) and of [`select_into`](super::select_into()).
    pub fn select_into<'b, 'c>(
        &self,
        device: &Device,
        condition: Term,
        output: impl Into<AnyViewMut<'b>>,
        count: impl Into<ViewMut<'c, u64>>,
    ) -> Result<()> {
        self.selected_into(device, condition, output.into(), count.into())
    }

    fn selected_into(
        &self,
        device: &Device,
        condition: Term,
        mut output: AnyViewMut<'_>,
        mut count: ViewMut<'_, u64>,
    ) -> Result<()> {
        self.check_condition(condition)?;
        self.check_output(&output)?;
        check_room(self.len(), &output, &count)?;
        let device = &*device.at_home(|| self.home().or_else(|| output.home()));
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let (item, size) = (self.dtype(), self.dtype().size());
                let bytes = host_bytes(&mut output)?;
                self.in_pieces(cpu, &[self.item(), condition], count, &mut |made, start, found| {
                    let room = &mut bytes[start * size..start * size + made[0].len()];
                    let [items, flags] = [(item, made[0]), (Dtype::U8, made[1])]
                        .map(|(dtype, bytes)| AnyView::from_bytes(dtype, bytes));
                    select_into(device, items?, flags?, AnyViewMut::from_bytes(item, room)?, found)
                })
            }
            Erased::Gpu(gpu) => {
                check_types(device, [self.dtype()])?;
                let (made, count) = (self.selected(Some(condition)), count.erased().items);
                gpu.select(&made, Selecting::Selected, output.erased(), count)
            }
        }
    }

    /// The numbers of the items of which a condition holds, as `u32` or `u64`: as [`positions`](super::positions).
    ///
    /// # Errors
    /// Those of [`select`](AnyFused::select) and of [`positions`](super::positions).
    pub fn positions(
        &self,
        device: &Device,
        condition: Term,
        numbers: Dtype,
    ) -> Result<AnyCompacted> {
        self.check_condition(condition)?;
        check_numbers(self.len() as u64, numbers)?;
        let device = &*device.at_home(|| self.home());
        let mut found = super::select::Room::new(device, numbers, self.len())?;
        let (mut output, mut count) = found.targets();
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let (bytes, size) = (host_bytes(&mut output)?, numbers.size());
                let mut seen = 0;
                self.in_pieces(cpu, &[condition], count, &mut |made, start, found| {
                    let flags = AnyView::from_bytes(Dtype::U8, made[0])?;
                    let first = seen;
                    seen += flags.len();
                    let room = &mut bytes[start * size..(start + flags.len()) * size];
                    let room = AnyViewMut::from_bytes(numbers, room)?;
                    find(device, None, (flags, first as u64), (room, found))
                })?;
            }
            Erased::Gpu(gpu) => {
                check_types(device, [numbers])?;
                let made = self.made(|made, formula| {
                    let condition = Condition::Holds(formula(condition, &mut made.parts));
                    let written = made.parts.numbers(numbers, 0);
                    made.state(numbers.into(), written, Some(condition));
                });
                let (output, count) = (output.erased(), count.erased().items);
                gpu.select(&made, Selecting::Selected, output, count)?;
            }
        }
        Ok(found.compacted())
    }

    /// Counts the items for which a condition holds, and waits for the number.
    ///
    /// # Errors
    /// Those of [`select`](AnyFused::select).
    pub fn count(&self, device: &Device, condition: Term) -> Result<u64> {
        self.check_condition(condition)?;
        let device = &*device.at_home(|| self.home());
        match device.kind().erased() {
            Erased::Cpu(_) => {
                let flags = self.cast(condition, Dtype::U8)?;
                let found = flags.reduce(device, &Reduce::new(Op::Sum))?;
                Ok(found.map_or(0, |found| found.word()))
            }
            Erased::Gpu(gpu) => {
                let made = self.made(|made, formula| {
                    let holds = formula(condition, &mut made.parts);
                    made.state(self.dtype().into(), holds.clone(), Some(Condition::Holds(holds)));
                });
                let mut count = [0];
                gpu.count(&made, ViewMut::from(&mut count).erased().items)?;
                Ok(count[0])
            }
        }
    }

    /// Hands values piece after piece to `take`, with the number of what was found before and a place for what is found in the piece. All that was found
    /// is left in `count`.
    fn in_pieces(
        &self,
        cpu: &Cpu,
        results: &[Term],
        count: ViewMut<'_, u64>,
        take: TakePiece<'_>,
    ) -> Result<()> {
        let (mut pieces, mut all) = (Pieces::new(self, results), 0);
        for start in (0..self.len()).step_by(PIECE) {
            let made = pieces.make(cpu, start..self.len().min(start + PIECE))?;
            let mut found = [0];
            take(&made, all, ViewMut::from(&mut found))?;
            all += found[0] as usize;
        }
        write_value(&Device::cpu(), count.into(), Scalar::new(all as u64))
    }

    /// Combines all items by an operator that is known when a program runs, from a start value.
    ///
    /// # Result
    /// Without items the start value, or the identity.
    ///
    /// # Cost
    /// Every array is read once. A CPU makes items that are made in memory first.
    ///
    /// # Errors
    /// Those of [`AnyFused`]; [`Error::WrongDtype`] if the items are of another type than the operator's values, or the start value is.
    pub fn reduce_by(
        &self,
        device: &Device,
        operator: &AnyOperator,
        init: Option<Scalar>,
    ) -> Result<Scalar> {
        operator.check(self.dtype())?;
        let init = operator.init(init)?;
        let device = &*device.at_home(|| self.home());
        let found = match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let found = self
                    .with_bytes(device, |items| cpu.reduce_by(operator.on_host(), items, init))?;
                return Ok(Scalar::of_bytes(operator.dtype(), &found.to_le_bytes()));
            }
            Erased::Gpu(gpu) => {
                gpu.reduce_made(&self.all(), &operator.on_gpu().reduction(init, gpu.language()))?
            }
        };
        Ok(Scalar::of_bytes(operator.dtype(), cast_slice(&found)))
    }

    /// The same into the one item of `result`; on a GPU the host need not wait.
    ///
    /// # Errors
    /// Those of [`reduce_by`](AnyFused::reduce_by); [`Error::ResultLength`] unless there is room for one item.
    pub fn reduce_by_into<'b>(
        &self,
        device: &Device,
        result: impl Into<AnyViewMut<'b>>,
        operator: &AnyOperator,
        init: Option<Scalar>,
    ) -> Result<()> {
        let mut result = result.into();
        check_result(&result, operator.dtype())?;
        let device = &*device.at_home(|| self.home().or_else(|| result.home()));
        if let (Erased::Gpu(gpu), ErasedItemsMut::Device(range)) =
            (device.kind().erased(), result.erased())
            && !self.is_empty()
        {
            operator.check(self.dtype())?;
            let problem = operator.on_gpu().reduction(operator.init(init)?, gpu.language());
            return gpu.reduce_made_into(&self.all(), range, &problem);
        }
        let value = self.reduce_by(device, operator, init)?;
        write_value(device, result, value)
    }

    /// Writes every prefix by an operator that is known when a program runs to `output`, which has its type.
    ///
    /// # Errors
    /// Those of [`reduce_by`](AnyFused::reduce_by); [`Error::LengthMismatch`] if the lengths differ.
    pub fn scan_by_into<'b>(
        &self,
        device: &Device,
        output: impl Into<AnyViewMut<'b>>,
        operator: &AnyOperator,
        (bounds, direction): (Bounds, Direction),
        init: Option<Scalar>,
    ) -> Result<()> {
        let mut output = output.into();
        operator.check(self.dtype())?;
        self.check_output(&output)?;
        let init = operator.init(init)?;
        let device = &*device.at_home(|| self.home().or_else(|| output.home()));
        match device.kind().erased() {
            Erased::Cpu(cpu) => {
                let output = host_bytes(&mut output)?;
                self.with_bytes(device, |items| {
                    cpu.scan_by(operator.on_host(), items, output, bounds, direction, init)
                })
            }
            Erased::Gpu(gpu) => {
                let problem = operator.on_gpu().scan(bounds, direction, init, gpu.language());
                gpu.scan_made(&self.all(), output.erased(), &problem)
            }
        }
    }

    /// Does `work` with the bytes of all items in the host's memory.
    fn with_bytes<R>(&self, device: &Device, work: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        if let Some(array) = self.as_array() {
            return work(array.number_bytes()?.0);
        }
        let items = self.to_array(device)?;
        work(items.view().number_bytes()?.0)
    }

    fn check_len(&self, output: &AnyViewMut<'_>) -> Result<()> {
        let (input, output) = (self.len(), output.len());
        if input == output { Ok(()) } else { Err(Error::LengthMismatch { input, output }) }
    }

    fn check_output(&self, output: &AnyViewMut<'_>) -> Result<()> {
        let (found, wanted) = (output.dtype(), self.dtype());
        if found != wanted {
            return Err(Error::WrongDtype { found, wanted });
        }
        self.check_len(output)
    }
}

/// That there is room for one value of this type.
fn check_result(result: &AnyViewMut<'_>, wanted: Dtype) -> Result<()> {
    let found = result.dtype();
    match result.len() {
        1 if found == wanted => Ok(()),
        1 => Err(Error::WrongDtype { found, wanted }),
        items => Err(Error::ResultLength { items }),
    }
}

/// The bytes of an output in the host's memory.
fn host_bytes<'b>(output: &'b mut AnyViewMut<'_>) -> Result<&'b mut [u8]> {
    let wrong = wrong_device(output.device(), "cpu");
    output.bytes_mut().ok_or(wrong)
}

/// The chunks of so many items that a scan takes, in the order in which it takes them.
fn in_turn(direction: Direction, items: usize) -> impl Iterator<Item = Range<usize>> {
    (0..items.div_ceil(ScanStream::CHUNK)).map(move |number| {
        let start = number * ScanStream::CHUNK;
        let end = items.min(start + ScanStream::CHUNK);
        match direction {
            Direction::Forward => start..end,
            Direction::Reverse => items - end..items - start,
        }
    })
}
