//! Calls on rows, of views and of fused inputs: which backend does them. Each has one instance for each pair of types, whoever calls.

use upsweep_core::{Extreme, Rows};
use upsweep_gpu::{ErasedReduce, ErasedScan};

use crate::backend::ViewBackend;
use crate::erased::{Erased, ErasedGpu, ErasedItemsMut, RowsCall};
use crate::{
    Device, Element, Error, Fused, Number, Operator, Recording, Reduce, Result, Scan, View,
    ViewMut, Widen,
};

#[inline(never)]
pub(crate) fn reduce<T, U, O>(
    device: &Device,
    input: View<'_, T>,
    rows: &Rows,
    mut output: ViewMut<'_, U>,
    problem: &Reduce<U::Acc, O>,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let device = device.at_home(|| input.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            cpu.reduce_rows::<T, U, O>(cpu.input(input)?, rows, cpu.output(output)?, problem)
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedReduce::in_segments::<T, U, O>(problem, gpu.language());
            gpu.reduce_rows(input.erased(), rows, output.erased().items, &problem)
        }
    }
}

/// The same of arrays in a GPU's memory, to be run as often as wanted.
#[inline(never)]
pub(crate) fn bind_reduce<T, U, O>(
    device: &Device,
    input: View<'_, T>,
    rows: &Rows,
    output: ViewMut<'_, U>,
    problem: &Reduce<U::Acc, O>,
) -> Result<Recording>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    bind(device, input, output, |gpu, to| {
        let problem = ErasedReduce::in_segments::<T, U, O>(problem, gpu.language());
        gpu.bind_rows(&RowsCall::Reduce(&problem), input.erased(), rows, to)
    })
}

/// Likewise.
#[inline(never)]
pub(crate) fn bind_scan<T, U, O>(
    device: &Device,
    input: View<'_, T>,
    rows: &Rows,
    output: ViewMut<'_, U>,
    problem: &Scan<U::Acc, O>,
) -> Result<Recording>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    bind(device, input, output, |gpu, to| {
        let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, gpu.language());
        gpu.bind_rows(&RowsCall::Scan(&problem), input.erased(), rows, to)
    })
}

/// Likewise.
#[inline(never)]
pub(crate) fn bind_position<T: Number>(
    device: &Device,
    input: View<'_, T>,
    rows: &Rows,
    output: ViewMut<'_, u64>,
    extreme: Extreme,
) -> Result<Recording> {
    bind(device, input, output, |gpu, to| {
        gpu.bind_rows(&RowsCall::Position(T::DTYPE, extreme), input.erased(), rows, to)
    })
}

fn bind<T: Element, U: Element>(
    device: &Device,
    input: View<'_, T>,
    mut output: ViewMut<'_, U>,
    bind: impl FnOnce(&dyn ErasedGpu, ErasedItemsMut<'_>) -> Result<Recording>,
) -> Result<Recording> {
    let device = device.at_home(|| input.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(_) => Err(Error::NoCommands { device: "cpu".to_owned() }),
        Erased::Gpu(gpu) => bind(gpu, output.erased().items),
    }
}

#[inline(never)]
pub(crate) fn reduce_made<'a, E, U, O>(
    device: &Device,
    items: &E,
    rows: &Rows,
    mut output: ViewMut<'_, U>,
    problem: &Reduce<U::Acc, O>,
) -> Result<()>
where
    E: Fused<'a, Item: Element + Widen<U::Acc>>,
    U: Element,
    O: Operator<U::Acc>,
{
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            cpu.reduce_rows_made(items.on_host()?, rows, cpu.output(output)?, problem)
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedReduce::in_segments::<U::Acc, U, O>(problem, gpu.language());
            gpu.reduce_rows_made(&items.made(), rows, output.erased().items, &problem)
        }
    }
}

#[inline(never)]
pub(crate) fn scan<T, U, O>(
    device: &Device,
    input: View<'_, T>,
    rows: &Rows,
    mut output: ViewMut<'_, U>,
    problem: &Scan<U::Acc, O>,
) -> Result<()>
where
    T: Widen<U::Acc>,
    U: Element,
    O: Operator<U::Acc>,
{
    let device = device.at_home(|| input.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            cpu.scan_rows::<T, U, O>(cpu.input(input)?, rows, cpu.output(output)?, problem)
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedScan::of::<T, U::Acc, U, O>(problem, gpu.language());
            gpu.scan_rows(input.erased(), rows, output.erased().items, &problem)
        }
    }
}

#[inline(never)]
pub(crate) fn scan_made<'a, E, U, O>(
    device: &Device,
    items: &E,
    rows: &Rows,
    mut output: ViewMut<'_, U>,
    problem: &Scan<U::Acc, O>,
) -> Result<()>
where
    E: Fused<'a, Item: Element + Widen<U::Acc>>,
    U: Element,
    O: Operator<U::Acc>,
{
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            cpu.scan_rows_made(items.on_host()?, rows, cpu.output(output)?, problem)
        }
        Erased::Gpu(gpu) => {
            let problem = ErasedScan::of::<U::Acc, U::Acc, U, O>(problem, gpu.language());
            gpu.scan_rows_made(&items.made(), rows, output.erased().items, &problem)
        }
    }
}

#[inline(never)]
pub(crate) fn position<T: Number>(
    device: &Device,
    input: View<'_, T>,
    rows: &Rows,
    mut output: ViewMut<'_, u64>,
    extreme: Extreme,
) -> Result<()> {
    let device = device.at_home(|| input.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            cpu.position_rows(cpu.input(input)?, rows, cpu.output(output)?, extreme)
        }
        Erased::Gpu(gpu) => {
            gpu.position_rows(input.erased(), rows, output.erased().items, T::DTYPE, extreme)
        }
    }
}

#[inline(never)]
pub(crate) fn position_made<'a, E: Fused<'a, Item: Number>>(
    device: &Device,
    items: &E,
    rows: &Rows,
    mut output: ViewMut<'_, u64>,
    extreme: Extreme,
) -> Result<()> {
    let device = device.at_home(|| items.home().or_else(|| output.home()));
    match device.kind().erased() {
        Erased::Cpu(cpu) => {
            cpu.position_rows_made(items.on_host()?, rows, cpu.output(output)?, extreme)
        }
        Erased::Gpu(gpu) => {
            let (output, item) = (output.erased().items, <E::Item as Number>::DTYPE);
            gpu.position_rows_made(&items.made(), rows, output, item, extreme)
        }
    }
}
