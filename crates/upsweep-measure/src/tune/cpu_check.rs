//! What the choice of a CPU loses: at each length the ways of doing the job meet in turns, the slower half leaving each time, and what is
//! left meets the choice in use once more, as at the end of a search on a GPU.
//!
//! The ways of a reduction are one thread or all, blocks of four sizes, and whole or half lines; those of a scan one thread or all, blocks
//! of six sizes or parts, and stores past the caches or not, of floats in half lines too. A way that comes to the same as the choice in use, or as
//! another way, is none: on a machine whose speed changes by the second the choice would lose to itself.

use std::hint::black_box;
use std::iter;
use std::sync::Arc;
use std::time::Instant;

use upsweep::any::{self, AnyView, AnyViewMut, ReduceCall, Scalar, ScanCall};
use upsweep::profile::{Measured, Traffic};
use upsweep::strategy::{CpuPolicy, CpuShape, WorkgroupPolicy};
use upsweep::{Device, Profile};

use super::budget::{Budget, Deadline};
use super::cpu_arrays::scalar;
use super::final_rounds::{FINAL, LEAST_TURNS, ROUNDS, SAMPLE};
use super::length_order::SAME;
use super::rows::{TellTrial, TrialRow, measured};
use crate::buffer::{Buffer, POISON};
use crate::csv_fields::WRONG;
use crate::error::Result;
use crate::statistics::median_of;
use crate::workload::Workload;

/// Blocks that are tried.
const BLOCKS: [usize; 4] = [1 << 15, 1 << 17, 1 << 19, 1 << 21];
const SCAN_BLOCKS: [usize; 6] = [1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18];

/// From how many bytes on lines are written past the caches, and halves of them are read and written.
const LINES: [(usize, usize); 2] = [(CpuPolicy::NEVER, CpuPolicy::NEVER), (CpuPolicy::NEVER, 0)];
const SCAN_LINES: [(usize, usize); 3] =
    [(CpuPolicy::NEVER, CpuPolicy::NEVER), (0, CpuPolicy::NEVER), (0, 0)];

/// Calls that move fewer bytes stay in every cache: how lines are read and written is not asked.
const CACHED: usize = 1 << 20;

/// A way that takes so many times as long as the fastest in all of its first runs does not meet the others.
const HOPELESS: f64 = 1.5;
const FIRST_RUNS: usize = 3;

/// Turns of the last meeting: as many as there is time for. Medians of 31 turns of the same way, held against itself on sixteen threads of a
/// Xeon, were up to 5 % apart.
const LAST_TURNS: usize = 121;

/// How long calls before each sample are not timed, and how many there are at most, as if it were in the middle of a loop of calls. Caches settle
/// slowly: of scans of 32 MiB by sixteen threads of a Xeon through the caches, those behind some past them take 571, 516, 441, 414, 380, 347 us
/// and then 320, and past them 650 and then 400 to 430 (2026-11-26, `2026-11-26-caches-settle-cpu.csv`); the third and fourth are as
/// fast either way. What is longer does not stay in caches.
const SETTLING: f64 = 3e-3;
const MOST_UNTIMED: usize = 8;

/// Calls before each sample that are not timed, where the fastest way takes so long.
fn untimed(fastest: f64) -> usize {
    ((SETTLING / fastest.max(1e-9)) as usize).clamp(1, MOST_UNTIMED)
}

/// One piece of work at every length.
pub(crate) struct CpuCheck<'a> {
    pub(crate) workload: Workload,
    pub(crate) device: &'a Device,
    pub(crate) operation: &'a str,
    pub(crate) lengths: &'a [usize],
    pub(crate) items: &'a Buffer,
    pub(crate) budget: &'a Budget,
    pub(crate) deadline: Deadline,
    pub(crate) tell: TellTrial<'a>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// For each length how much longer the choice takes than the best, in per cent.
    pub(crate) percent: Vec<f64>,
    /// Results that were wrong.
    pub(crate) wrong: usize,
}

/// A job at one length.
struct LengthJob {
    items: usize,
    /// Until when it may take.
    until: Deadline,
    traffic: Traffic,
    /// Bytes that are moved.
    bytes: usize,
    /// The numbers in use.
    policy: CpuPolicy,
}

/// A way of doing a job.
struct Way {
    name: String,
    device: Device,
    /// Its times, each in times of the choice in use, in the same turn.
    ratios: Vec<f64>,
}

impl Way {
    fn ratio(&self) -> f64 {
        median_of(self.ratios.clone())
    }
}

/// A job on arrays of one length.
struct Run<'a> {
    workload: Workload,
    items: AnyView<'a>,
    call: Call,
    /// Where a scan goes.
    output: Buffer,
    expected: Expected,
}

/// The code of a job.
enum Call {
    Reduce(ReduceCall),
    Scan(ScanCall),
}

/// What one thread without vectors makes of the items.
enum Expected {
    Value(Option<Scalar>),
    /// The bytes of an array.
    Array(Buffer),
}

impl<'a> Run<'a> {
    fn new(device: &Device, workload: Workload, items: AnyView<'a>) -> Result<Self> {
        let Workload { dtype, stored, .. } = workload;
        if !workload.primitive.scans() {
            let call = ReduceCall::new(device, dtype, &workload.reduction())?;
            let expected = Expected::Value(call.run(&scalar()?, items)?);
            let (call, output) = (Call::Reduce(call), Buffer::new(0)?);
            return Ok(Self { workload, items, call, output, expected });
        }
        let call = ScanCall::new(dtype, stored, &workload.scan())?;
        let bytes = items.len() * stored.size();
        let [mut expected, output] = [Buffer::new(bytes)?, Buffer::new(bytes)?];
        let target = AnyViewMut::from_bytes(stored, expected.bytes_mut())?;
        call.run_into(&scalar()?, items, target)?;
        let (call, expected) = (Call::Scan(call), Expected::Array(expected));
        Ok(Self { workload, items, call, output, expected })
    }

    /// What the numbers of a device come to.
    fn shape(&self, device: &Device) -> Option<CpuShape> {
        let Workload { op, dtype, stored, .. } = self.workload;
        let items = self.items.len();
        match self.call {
            Call::Reduce(_) => any::reduce_shape(device, self.workload.read(), items),
            Call::Scan(_) => any::scan_shape(device, op, dtype, stored, items),
        }
    }

    fn found(&mut self, device: &Device) -> Result<Option<Scalar>> {
        let items = black_box(self.items);
        match &self.call {
            Call::Reduce(call) => Ok(black_box(call.run(device, items)?)),
            Call::Scan(call) => {
                let stored = self.workload.stored;
                let output = AnyViewMut::from_bytes(stored, self.output.bytes_mut())?;
                call.run_into(device, items, output)?;
                Ok(None)
            }
        }
    }

    fn call(&mut self, device: &Device) -> Result<()> {
        self.found(device).map(drop)
    }

    /// Moves the bytes and does nothing else.
    fn limit(&mut self, device: &Device) -> Result<()> {
        let items = black_box(self.items).bytes().unwrap_or_default();
        match self.call {
            Call::Reduce(_) => {
                black_box(device.probe_read(items)?);
            }
            Call::Scan(_) => {
                // Of a scan whose items grow it is the items alone.
                let count = items.len().min(self.output.bytes().len());
                device.probe_copy(&items[..count], &mut self.output.bytes_mut()[..count])?;
            }
        }
        Ok(())
    }

    /// Whether a call leaves what one thread without vectors does.
    fn is_right(&mut self, device: &Device) -> Result<bool> {
        self.output.bytes_mut().fill(POISON);
        let found = self.found(device)?;
        Ok(match &self.expected {
            Expected::Value(expected) => found == *expected,
            Expected::Array(expected) => self.output.bytes() == expected.bytes(),
        })
    }
}

impl CpuCheck<'_> {
    /// How much the choice loses at each length.
    pub(crate) fn run(mut self) -> Result<Losses> {
        let (workload, device, mut lost) = (self.workload, self.device, Losses::default());
        let all = AnyView::from_bytes(workload.dtype, self.items.bytes())?;
        let (traffic, acted) = match workload.primitive.scans() {
            true => (Traffic::Copies, workload.written()),
            false => (Traffic::Reads, workload.read()),
        };
        for (number, &items) in self.lengths.iter().enumerate() {
            if self.deadline.is_over() {
                break;
            }
            let mut run = Run::new(device, workload, all.slice(0..items)?)?;
            let bytes = items * workload.dtype.size() + run.output.bytes().len();
            let until = self.until(number);
            let Some(policy) = any::cpu_policy(device, acted) else { break };
            let asked = LengthJob { items, until, traffic, bytes, policy };
            self.row(&asked, &mut run, &mut lost)?;
        }
        Ok(lost)
    }

    /// All ways, those that come to the same among them.
    fn all(&self, asked: &LengthJob) -> Vec<Device> {
        let lines: &[(usize, usize)] = match asked.traffic {
            _ if asked.bytes < CACHED => &LINES[..1],
            Traffic::Reads => &LINES,
            Traffic::Copies => &SCAN_LINES,
        };
        let blocks = match asked.traffic {
            Traffic::Reads => &BLOCKS[..],
            Traffic::Copies => &SCAN_BLOCKS,
        };
        let mut policies = Vec::new();
        for &(streaming_bytes, half_line_bytes) in lines {
            let scan_half_line_bytes = half_line_bytes;
            let own = CpuPolicy {
                streaming_bytes,
                half_line_bytes,
                scan_half_line_bytes,
                ..asked.policy
            };
            let [alone, together] = [CpuPolicy::NEVER, 1];
            policies.push(CpuPolicy { serial_bytes: alone, scan_serial_bytes: alone, ..own });
            let own = CpuPolicy { serial_bytes: together, scan_serial_bytes: together, ..own };
            policies.push(CpuPolicy { scan_parts_bytes: CpuPolicy::NEVER, ..own });
            policies.extend(blocks.iter().map(|&block| CpuPolicy {
                block_bytes: block,
                scan_block_bytes: block,
                scan_parts_bytes: 0,
                ..own
            }));
        }
        let with = |policy| {
            let profile = Profile { cpu: Some(policy), ..Profile::default() };
            self.device.with_profile(Some(Arc::new(profile)))
        };
        policies.into_iter().map(with).collect()
    }

    /// Until when the length of this number may take: what one leaves over, all longer ones share.
    fn until(&self, number: usize) -> Deadline {
        self.deadline.before(1.0 - 1.0 / (self.lengths.len() - number) as f64)
    }

    /// One length: how much the choice loses.
    fn row(&mut self, asked: &LengthJob, run: &mut Run<'_>, lost: &mut Losses) -> Result<()> {
        let own = self.device;
        let Some(shape) = run.shape(own) else { unreachable!("a CPU knows what it does") };
        let in_use = format!("{shape}, in use");
        let Some(mut fastest) = self.first_runs(asked, &in_use, own, run, lost)? else {
            return Ok(());
        };
        let mut ways = Vec::new();
        let mut shapes = vec![shape];
        for device in self.all(asked) {
            let Some(shape) = run.shape(&device).filter(|shape| !shapes.contains(shape)) else {
                continue;
            };
            shapes.push(shape);
            let name = shape.to_string();
            if let Some(time) = self.first_runs(asked, &name, &device, run, lost)? {
                fastest = fastest.min(time);
                ways.push((time, Way { name, device, ratios: Vec::new() }));
            }
        }
        ways.retain(|(time, _)| *time <= HOPELESS * fastest);
        let ways = ways.into_iter().map(|(_, way)| way).collect();
        let (own_time, best) = self.meet(ways, fastest, run, asked.until)?;
        let limit = sample(fastest, || run.limit(own))?;
        let measured = |time: f64| Some(measured(time, limit, own_time));
        self.tell(asked.items, &in_use, measured(own_time))?;
        let mut percent = 0.0;
        if let Some(best) = best {
            let ratio = best.ratio();
            self.tell(asked.items, &best.name, measured(ratio * own_time))?;
            if SAME * ratio < 1.0 {
                percent = 100.0 * (1.0 / ratio - 1.0);
            }
        }
        lost.percent.push(percent);
        self.budget.moved();
        Ok(())
    }

    /// The seconds of the fastest of some runs of a way, unless its result is wrong.
    fn first_runs(
        &mut self,
        asked: &LengthJob,
        name: &str,
        device: &Device,
        run: &mut Run<'_>,
        lost: &mut Losses,
    ) -> Result<Option<f64>> {
        if !run.is_right(device)? {
            lost.wrong += 1;
            self.tell(asked.items, name, None)?;
            return Ok(None);
        }
        let times = (0..FIRST_RUNS).map(|_| timed(1, || run.call(device)));
        Ok(times.collect::<Result<Vec<_>>>()?.into_iter().reduce(f64::min))
    }

    /// The seconds of the choice in use, and the fastest of the other ways, with its times from the last meeting alone.
    fn meet(
        &self,
        mut ways: Vec<Way>,
        fastest: f64,
        run: &mut Run<'_>,
        until: Deadline,
    ) -> Result<(f64, Option<Way>)> {
        let mut sample = |device: &Device| sample(fastest, || run.call(device));
        for (round, turns) in ROUNDS.into_iter().enumerate() {
            let this = until.before(1.0 - 1.0 / (ROUNDS.len() + 1 - round) as f64);
            for turn in 0..turns {
                if ways.len() <= 1 || turn >= LEAST_TURNS && this.is_over() {
                    break;
                }
                self.turn(turn, &mut ways, &mut sample)?;
            }
            ways.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
            ways.truncate(ways.len().div_ceil(2));
        }
        let mut best = ways.into_iter().next();
        best.iter_mut().for_each(|way| way.ratios.clear());
        let mut own_times = Vec::new();
        let turns = if best.is_some() { LAST_TURNS } else { LEAST_TURNS };
        for turn in 0..turns {
            if turn >= LEAST_TURNS && until.is_over() {
                break;
            }
            own_times.push(self.turn(turn, best.as_mut_slice(), &mut sample)?);
        }
        Ok((median_of(own_times), best))
    }

    /// Times the choice in use and some ways once, and gives the seconds of the choice. Every second turn goes backwards: what comes behind
    /// another finds the caches as that left them.
    fn turn(
        &self,
        number: usize,
        ways: &mut [Way],
        sample: &mut impl FnMut(&Device) -> Result<f64>,
    ) -> Result<f64> {
        let devices = iter::once(self.device).chain(ways.iter().map(|way| &way.device));
        let mut order: Vec<(usize, &Device)> = devices.enumerate().collect();
        let mut times = vec![0.0; order.len()];
        if number % 2 == 1 {
            order.reverse();
        }
        for (place, device) in order {
            times[place] = sample(device)?;
        }
        for (way, time) in ways.iter_mut().zip(&times[1..]) {
            way.ratios.push(time / times[0]);
        }
        Ok(times[0])
    }

    /// Tells of a way: its times, or that its result was wrong.
    fn tell(&mut self, items: usize, strategy: &str, times: Option<Measured>) -> Result<()> {
        let policy = WorkgroupPolicy { threads_per_workgroup: 0, items_per_thread: 0 };
        let operation = self.operation;
        let checked = if times.is_some() { FINAL } else { WRONG }.to_owned();
        (self.tell)(&TrialRow { operation, items, strategy, policy, times, checked })
    }
}

/// Seconds of each of some calls, one after another.
fn timed(runs: u32, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    (0..runs).try_for_each(|_| call())?;
    Ok(begun.elapsed().as_secs_f64() / f64::from(runs))
}

/// Seconds of a call in the middle of a loop of them, where the fastest way takes so long.
pub(super) fn sample(fastest: f64, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    (0..untimed(fastest)).try_for_each(|_| call())?;
    timed(((SAMPLE / fastest.max(1e-9)) as u32).clamp(1, 1 << 16), call)
}
