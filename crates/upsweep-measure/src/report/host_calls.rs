//! Calls as a program makes them, from the host's call to the host's result: where is the better place for items that lie in
//! the host's memory, and for items that are on the device already?
//!
//! The CPU and all GPUs take turns. Rows are those of `bench`, with the place behind the primitive: `reduce@host` brings its
//! items from the host and takes an array of results back there, `reduce@resident` has both on the device and waits for it.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use bytemuck::cast_slice;
use upsweep::any::{self, AnyArray, AnyView, Op, ReduceCall, Scalar, ScanCall};
use upsweep::strategy::Strategy;
use upsweep::{Device, Dtype};

use crate::bench::Columns;
use crate::csv_fields::{WRONG, micros, quoted};
use crate::error::Result;
use crate::inputs;
use crate::signals::check_signals;
use crate::statistics::median;

/// A sample lasts at least so many seconds, so that a clock can tell it.
const SAMPLE: f64 = 2e-4;

/// Most calls of a sample.
const MOST_CALLS: f64 = 1e5;

/// One way of one call.
struct Way<'a> {
    call: Box<dyn FnMut() -> upsweep::Result<()> + 'a>,
    calls: u32,
    timed: Timed,
}

/// What came of it.
struct Timed {
    device: String,
    op: &'static str,
    strategy: String,
    first: f64,
    times: Vec<f64>,
}

impl<'a> Way<'a> {
    fn new(
        device: &Device,
        op: &'static str,
        strategy: String,
        call: Box<dyn FnMut() -> upsweep::Result<()> + 'a>,
    ) -> Self {
        let device = device.id().to_owned();
        let timed = Timed { device, op, strategy, first: 0.0, times: Vec::new() };
        Self { call, calls: 1, timed }
    }

    fn seconds(&mut self, calls: u32) -> upsweep::Result<f64> {
        let begun = Instant::now();
        for _ in 0..calls {
            (self.call)()?;
        }
        Ok(begun.elapsed().as_secs_f64() / f64::from(calls))
    }

    /// The first call, and how many make a sample.
    fn begin(&mut self) -> upsweep::Result<()> {
        self.timed.first = self.seconds(1)?;
        // The first calls make kernels and wake devices.
        let once = (0..3).map(|_| self.seconds(1)).collect::<upsweep::Result<Vec<_>>>()?;
        let once = once.into_iter().fold(f64::INFINITY, f64::min).max(1e-9);
        self.calls = (SAMPLE / once).ceil().clamp(1.0, MOST_CALLS) as u32;
        Ok(())
    }
}

impl Timed {
    fn line(&self, n: usize, is_right: bool) -> String {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        let (device, strategy) = (quoted(&self.device), quoted(&self.strategy));
        let numbers = match (times.first(), times.last()) {
            // Without a rate or a limit: what bytes are moved where depends on the place.
            (Some(&least), Some(&most)) if is_right => {
                let [median, least, most] = [median(&times), least, most].map(micros);
                format!("{median},{least},{most},,,,{}", micros(self.first))
            }
            _ => ",,,,,,".to_owned(),
        };
        let checked = if is_right { "ok" } else { WRONG };
        format!("{device},{},f32,{n},{strategy},{numbers},{checked}\n", self.op)
    }
}

/// Sums and scans of `n` numbers on the CPU and on GPUs, as a record; also how many results are wrong.
pub(super) fn rows(gpus: &[Device], n: usize, samples: usize) -> Result<(String, usize)> {
    let items = inputs::items(Dtype::F32, n, false)?;
    let items = AnyView::from_bytes(Dtype::F32, items.bytes())?;
    let cpu = Device::cpu();
    let mut record = format!("{}\n", Columns::Plain.heading());
    let mut wrong = sums(&cpu, gpus, items, samples, &mut record)?;
    wrong += scans(&cpu, gpus, items, samples, &mut record)?;
    Ok((record, wrong))
}

/// Every way has its turn, so often.
fn in_turns(mut ways: Vec<Way<'_>>, samples: usize) -> Result<Vec<Timed>> {
    for way in &mut ways {
        way.begin()?;
    }
    for _ in 0..samples {
        for way in &mut ways {
            check_signals()?;
            let seconds = way.seconds(way.calls)?;
            way.timed.times.push(seconds);
        }
    }
    Ok(ways.into_iter().map(|way| way.timed).collect())
}

/// Adds the lines of all ways; how many are wrong.
fn lines(timed: &[Timed], right: &[bool], n: usize, record: &mut String) -> usize {
    for (timed, &is_right) in timed.iter().zip(right) {
        record.push_str(&timed.line(n, is_right));
    }
    right.iter().filter(|is_right| !**is_right).count()
}

/// The strategy of a CPU. What a GPU takes depends on more than lengths and sizes, and a call does not tell.
fn name(device: &Device, choice: impl Fn(&Device) -> Strategy) -> String {
    if device.id() == "cpu" { choice(device).to_string() } else { "auto".to_owned() }
}

fn sums(
    cpu: &Device,
    gpus: &[Device],
    items: AnyView<'_>,
    samples: usize,
    record: &mut String,
) -> Result<usize> {
    let sum = ReduceCall::new(cpu, Dtype::F32, &any::Reduce::new(Op::Sum))?;
    // Floats are combined in one order, so that all devices have the same bits.
    let expected = sum.run(cpu, items)?;
    let choice = |device: &Device| any::reduce_choice(device, Dtype::F32, items.len()).0;
    let chosen = |device: &Device| name(device, choice);
    let found: Vec<Cell<Option<Scalar>>> = vec![Cell::new(None); 1 + 2 * gpus.len()];
    let arrays = gpus.iter().map(|gpu| AnyArray::from_view(gpu, items));
    let arrays = arrays.collect::<upsweep::Result<Vec<_>>>()?;
    let (mut ways, sum) = (Vec::new(), &sum);
    for (device, found) in std::iter::once(cpu).chain(gpus).zip(&found) {
        let call = move || sum.run(device, black_box(items)).map(|sum| found.set(sum));
        ways.push(Way::new(device, "reduce@host", chosen(device), Box::new(call)));
    }
    for ((device, array), found) in gpus.iter().zip(&arrays).zip(&found[1 + gpus.len()..]) {
        let call = move || sum.run(device, array).map(|sum| found.set(sum));
        ways.push(Way::new(device, "reduce@resident", chosen(device), Box::new(call)));
    }
    let timed = in_turns(ways, samples)?;
    let right: Vec<bool> = found.iter().map(|found| found.get() == expected).collect();
    Ok(lines(&timed, &right, items.len(), record))
}

fn scans(
    cpu: &Device,
    gpus: &[Device],
    items: AnyView<'_>,
    samples: usize,
    record: &mut String,
) -> Result<usize> {
    let sums = ScanCall::new(Dtype::F32, Dtype::F32, &any::Scan::inclusive(Op::Sum))?;
    let mut expected = vec![0f32; items.len()];
    sums.run_into(cpu, items, &mut expected)?;
    let choice = |device: &Device| any::scan_choice(device, Dtype::F32, Dtype::F32, items.len()).0;
    let chosen = |device: &Device| name(device, choice);
    let mut outputs = vec![vec![f32::NAN; items.len()]; 1 + gpus.len()];
    let arrays = gpus.iter().map(|gpu| AnyArray::from_view(gpu, items));
    let arrays = arrays.collect::<upsweep::Result<Vec<_>>>()?;
    let results = gpus.iter().map(|gpu| AnyArray::filled(gpu, items.len(), Scalar::new(f32::NAN)));
    let mut results = results.collect::<upsweep::Result<Vec<_>>>()?;
    let (mut ways, sums) = (Vec::new(), &sums);
    for (device, output) in std::iter::once(cpu).chain(gpus).zip(&mut outputs) {
        let call = move || sums.run_into(device, black_box(items), &mut output[..]);
        ways.push(Way::new(device, "inclusive_scan@host", chosen(device), Box::new(call)));
    }
    for ((device, array), result) in gpus.iter().zip(&arrays).zip(&mut results) {
        let call = move || {
            sums.run_into(device, array, &mut *result)?;
            device.wait()
        };
        ways.push(Way::new(device, "inclusive_scan@resident", chosen(device), Box::new(call)));
    }
    let timed = in_turns(ways, samples)?;
    let expected: &[u8] = cast_slice(&expected);
    let mut right: Vec<bool> =
        outputs.iter().map(|output| cast_slice::<f32, u8>(output) == expected).collect();
    for result in &results {
        right.push(result.to_bytes()? == expected);
    }
    Ok(lines(&timed, &right, items.len(), record))
}
