//! The CPU as a device: threads, instruction set, strategy, and the calls.

use core::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use fearless_simd::Level;
use rayon::{ThreadPool, ThreadPoolBuilder};
use upsweep_core::{
    Backend, Bounds, Carry, CpuPolicy, CpuStrategy, Direction, Dtype, Element, Error, Extreme,
    Limits, Number, Operator, Policy, Reduce, ReduceState, Result, Scan, ScanState, Strategy,
    Traffic, Widen,
};

use crate::isa::{half_lines, has_half_lines};
use crate::limits::{hardware_threads, limits};
use crate::policy::{Policies, policy};
use crate::scan::Source;
use crate::team::{MOST_BLOCKS, Team};
use crate::{InstructionSet, probe, reduce, scalar, scan};

/// What to use of the CPU. Everything by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuOptions {
    /// At most so many threads, of a pool of the device's own; by default those that all such devices share, one for each hardware
    /// thread. They start with the first call that is long enough for more than one, and there are no more than
    /// 1,024, or one for each hardware thread.
    pub threads: Option<usize>,
    /// Instruction set; by default the widest found.
    pub instruction_set: Option<InstructionSet>,
    /// Strategy; by default chosen for each call.
    pub strategy: Option<CpuStrategy>,
    /// The numbers of the strategies; by default a function of the device's limits. They change
    /// speed, never a result.
    pub policy: Option<CpuPolicy>,
}

/// The CPU.
pub struct Cpu {
    limits: Limits,
    policies: Policies,
    level: Level,
    strategy: Option<CpuStrategy>,
    /// `None` with one thread.
    threads: Option<Arc<Threads>>,
}

/// Scratch memory of a plan: a CPU needs none.
#[derive(Debug)]
pub struct Workspace(());

/// How one call is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutionContext<'a> {
    /// The instruction set.
    pub(crate) level: Level,
    /// The threads.
    pub(crate) team: Team<'a>,
    /// The numbers.
    pub(crate) policy: &'a CpuPolicy,
}

/// Parts of `serial_bytes`, each of which pays for one more thread. From 2 MiB on a sum by all sixteen threads of a Xeon is faster than by
/// fewer, whether they were awake (11.7 us; 14.6 by eight, 20.3 by four, 23.8 by two) or had slept for a millisecond (44, 61, 44, 46); the
/// more so the longer it is (4 MiB: 17.4, 27.1, 41.9, 58.7; 2026-11-23, `2026-11-23-team.csv`).
const SHARES: usize = 16;

/// Blocks of a reduction for each thread, so that one that was late leaves its part to others; and the bytes of a block at least, which
/// pay for handing it out. Sixteen threads of a Xeon sum 4 MiB of `u32` in 18.9 us with four and in 21.9 with eight, some 5 % of which are
/// that these came first in each round; two of a Zen 5 half a MiB to 2 in 0.91 to 0.96 of the time, longer ones in the same
/// (2026-11-25, `2026-11-25-blocks-cpu.csv` of both). With one block of
/// 512 KiB for each of four threads the Xeon takes 21.5 us for 2 MiB, and 11.7 in blocks of 32 KiB (`2026-11-23-team.csv`).
const BLOCKS_OF_A_THREAD: usize = 4;
const LEAST_BLOCK: usize = 1 << 15;

impl ExecutionContext<'_> {
    /// Bytes that a thread takes at once of a reduction of so many: all if the caller is alone.
    #[inline]
    pub(crate) fn block_bytes(&self, bytes: usize) -> usize {
        let threads = self.team.threads();
        if threads <= 1 {
            return bytes;
        }
        let most = self.policy.block_bytes;
        let even = bytes.div_ceil(BLOCKS_OF_A_THREAD * threads);
        even.clamp(LEAST_BLOCK.min(most), most).max(bytes.div_ceil(MOST_BLOCKS))
    }

    /// The same means without other threads.
    pub(crate) fn alone(&self) -> Self {
        Self { team: Team::ALONE, ..*self }
    }

    /// The means for reading `bytes` bytes with little arithmetic.
    #[inline]
    pub(crate) fn to_read(self, bytes: usize) -> Self {
        let halves = self.reads_half_lines(bytes);
        Self { level: if halves { half_lines(self.level) } else { self.level }, ..self }
    }

    /// Whether so many bytes are read in half lines.
    #[inline]
    pub(crate) fn reads_half_lines(&self, bytes: usize) -> bool {
        bytes >= self.policy.half_line_bytes && has_half_lines(self.level)
    }
}

impl Cpu {
    /// The CPU with everything it has. All callers share its threads, which start with the first call that is long enough for them.
    pub fn shared() -> Arc<Cpu> {
        static SHARED: LazyLock<Arc<Cpu>> =
            LazyLock::new(|| match Cpu::new(CpuOptions::default()) {
                Ok(cpu) => Arc::new(cpu),
                Err(error) => unreachable!("what every CPU has cannot be absent: {error}"),
            });
        Arc::clone(&SHARED)
    }

    /// The CPU with these options.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if this CPU lacks the instruction set, or for no threads. A call gives the same error if the system does not let
    /// as many threads start as were asked for.
    pub fn new(options: CpuOptions) -> Result<Cpu> {
        let absent = |reason: String| Error::NoDevice { id: "cpu".into(), reason };
        let set = options.instruction_set.unwrap_or_else(InstructionSet::widest);
        let level = set.level().ok_or_else(|| {
            let found =
                InstructionSet::available().iter().map(|set| set.name()).collect::<Vec<_>>();
            absent(format!("this CPU has no {set}; it has {}", found.join(" ")))
        })?;
        let most = hardware_threads().max(MOST_THREADS);
        let count = options.threads.unwrap_or_else(hardware_threads).min(most);
        if count == 0 {
            return Err(absent("0 threads cannot do anything".into()));
        }
        let threads = match options.threads {
            _ if count == 1 => None,
            None => Some(Threads::shared()),
            Some(_) => Some(Arc::new(Threads::new(count, false))),
        };
        let limits = limits(count, set);
        let policies = Policies::of_all(options.policy.unwrap_or_else(|| policy(&limits)));
        Ok(Cpu { limits, policies, level, strategy: options.strategy, threads })
    }

    /// The same CPU, and the same threads, with other numbers for all items.
    #[must_use]
    pub fn with_policy(&self, policy: CpuPolicy) -> Cpu {
        self.with_policies(policy, &[])
    }

    /// The same with others for items of as many bytes as these types have, and that are floats as they are, or are none.
    #[must_use]
    pub fn with_policies(&self, policy: CpuPolicy, types: &[(Dtype, CpuPolicy)]) -> Cpu {
        let policies = Policies::of_all(policy).with(types);
        let (limits, threads) = (self.limits.clone(), self.threads.clone());
        Cpu { limits, policies, level: self.level, strategy: self.strategy, threads }
    }

    /// Whether another has the same numbers.
    pub fn has_policies_of(&self, other: &Cpu) -> bool {
        self.policies == other.policies
    }

    /// The same CPU with the numbers that follow from its limits.
    #[must_use]
    pub fn by_default(&self) -> Cpu {
        self.with_policy(policy(&self.limits))
    }

    /// The strategy that all calls have, if one was asked for.
    pub fn strategy(&self) -> Option<CpuStrategy> {
        self.strategy
    }

    /// The strategy and the numbers of a call that moves so many bytes, of items of this type: of a scan those that are written.
    pub fn choice<T: Element>(&self, traffic: Traffic, bytes: usize) -> (CpuStrategy, CpuPolicy) {
        let policy = self.policies.of::<T>();
        (self.choose(bytes, alone_below(policy, traffic)), *policy)
    }

    /// The same for items of so many bytes that are no floats.
    fn choice_of_bytes(
        &self,
        traffic: Traffic,
        bytes: usize,
        item_bytes: usize,
    ) -> (Strategy, Policy) {
        let policy = self.policies.of_bytes(item_bytes);
        let strategy = self.choose(bytes, alone_below(policy, traffic));
        (Strategy::Cpu(strategy), Policy::Cpu(*policy))
    }

    /// Reads all bytes once and returns a value that depends on each.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the threads cannot start.
    pub fn probe_read(&self, bytes: &[u8]) -> Result<u8> {
        // Words are read and written as fast as any items.
        self.with_context::<u32, _>(bytes.len(), |context| {
            probe::read(&context.to_read(bytes.len()), bytes)
        })
    }

    /// Copies all bytes.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ; [`Error::NoDevice`] if the threads cannot start.
    pub fn probe_copy(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        check_lengths(input, output)?;
        self.with_context::<u32, _>(2 * input.len(), |context| probe::copy(context, input, output))
    }

    /// The strategy for `bytes` bytes of traffic, of which fewer than `alone_below` stay on one thread.
    #[inline]
    fn choose(&self, bytes: usize, alone_below: usize) -> CpuStrategy {
        self.strategy.unwrap_or(if bytes < alone_below || self.threads.is_none() {
            CpuStrategy::Simd
        } else {
            CpuStrategy::SimdThreads
        })
    }

    /// Calls `work` with the means for `bytes` bytes, of items of this type, that it reads, or writes where no thread waits for another.
    #[inline]
    pub(crate) fn with_context<T: Element, R>(
        &self,
        bytes: usize,
        work: impl FnOnce(&ExecutionContext<'_>) -> R,
    ) -> Result<R> {
        Ok(work(&self.context(Traffic::Reads, self.policies.of::<T>(), bytes)?))
    }

    /// The same for a scan that reads and writes `bytes` bytes, and writes items of this type.
    #[inline]
    pub(crate) fn with_scan_context<U: Element, R>(
        &self,
        bytes: usize,
        work: impl FnOnce(&ExecutionContext<'_>) -> R,
    ) -> Result<R> {
        Ok(work(&self.context(Traffic::Copies, self.policies.of::<U>(), bytes)?))
    }

    /// The means for so many bytes.
    pub(crate) fn context<'a>(
        &'a self,
        traffic: Traffic,
        policy: &'a CpuPolicy,
        bytes: usize,
    ) -> Result<ExecutionContext<'a>> {
        let alone_below = alone_below(policy, traffic);
        let team = match &self.threads {
            Some(threads) if self.choose(bytes, alone_below) == CpuStrategy::SimdThreads => {
                let forced = self.strategy == Some(CpuStrategy::SimdThreads);
                let paid = bytes.saturating_mul(SHARES) / alone_below.max(1);
                let most = if forced { usize::MAX } else { paid };
                threads.team()?.at_most(most).to_move(bytes)
            }
            _ => Team::ALONE,
        };
        Ok(ExecutionContext { level: self.level, team, policy })
    }

    /// The numbers for every kind of items.
    pub(crate) fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The instruction set.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// The same with one thread.
    pub(crate) fn alone(&self) -> Self {
        let Self { limits, policies, level, strategy, .. } = self;
        Self {
            limits: limits.clone(),
            policies: *policies,
            level: *level,
            strategy: *strategy,
            threads: None,
        }
    }

    pub(crate) fn is_scalar(&self) -> bool {
        self.strategy == Some(CpuStrategy::Scalar)
    }

    fn scan_from<T, U, O>(
        &self,
        source: Source<'_, T>,
        output: &mut [U],
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        if self.is_scalar() {
            scalar::scan(source, output, problem);
        } else {
            let mut carry = Carry::new(problem.init, &problem.operator);
            let bytes = output.len() * (size_of::<T>() + size_of::<U>());
            self.with_scan_context::<U, _>(bytes, |context| {
                scan::scan(context, source, output, problem, &mut carry);
            })?;
        }
        set_first(output, problem);
        Ok(())
    }
}

/// Calls of fewer bytes stay on one thread.
#[inline]
fn alone_below(policy: &CpuPolicy, traffic: Traffic) -> usize {
    match traffic {
        Traffic::Reads => policy.serial_bytes,
        Traffic::Copies => policy.scan_serial_bytes,
    }
}

/// An exclusive scan without a start value begins with the identity, which is not always the
/// padding that the kernels start from.
pub(crate) fn set_first<U: Element, O: Operator<U::Acc>>(
    output: &mut [U],
    problem: &Scan<U::Acc, O>,
) {
    if problem.bounds == Bounds::Inclusive || problem.init.is_some() {
        return;
    }
    let first = match problem.direction {
        Direction::Forward => output.first_mut(),
        Direction::Reverse => output.last_mut(),
    };
    if let Some(first) = first {
        *first = U::from_acc(problem.operator.identity());
    }
}

/// Threads of a device at most, unless it has more hardware threads: far more than any call has work for, and few enough for what a
/// system allows to a process.
const MOST_THREADS: usize = 1024;

/// Threads, which start when a call is long enough for more than one: a short call does not pay for them.
struct Threads {
    count: usize,
    /// Whether fewer will do.
    fewer: bool,
    pool: OnceLock<core::result::Result<ThreadPool, String>>,
}

impl Threads {
    fn new(count: usize, fewer: bool) -> Self {
        Self { count, fewer, pool: OnceLock::new() }
    }

    /// The threads of all devices that have one for each hardware thread. Devices with threads of their own would be in each other's
    /// way: those of the one look for work for a while after each call, and those of the other sleep meanwhile.
    ///
    /// Nobody asked for their number. Where the system allows fewer, they are fewer.
    fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<Threads>> =
            LazyLock::new(|| Arc::new(Threads::new(hardware_threads(), true)));
        Arc::clone(&SHARED)
    }

    /// All of them.
    fn team(&self) -> Result<Team<'_>> {
        let started = self.pool.get_or_init(|| {
            let mut pool = pool_of(self.count);
            let mut count = self.count;
            while self.fewer && pool.is_err() && count > 2 {
                count /= 2;
                pool = pool_of(count);
            }
            pool
        });
        match started {
            Ok(pool) => Ok(Team::new(pool)),
            Err(_) if self.fewer => Ok(Team::ALONE),
            Err(reason) => Err(Error::NoDevice { id: "cpu".into(), reason: reason.clone() }),
        }
    }
}

/// A pool of so many threads, or why there is none.
fn pool_of(threads: usize) -> core::result::Result<ThreadPool, String> {
    let named = ThreadPoolBuilder::new().thread_name(|i| format!("upsweep {i}"));
    let pool = named.num_threads(threads).build();
    pool.map_err(|error| format!("cannot start {threads} threads: {error}"))
}

fn check_lengths<T, U>(input: &[T], output: &[U]) -> Result<()> {
    if input.len() == output.len() {
        Ok(())
    } else {
        Err(Error::LengthMismatch { input: input.len(), output: output.len() })
    }
}

impl Backend for Cpu {
    type Input<'a, T: Element> = &'a [T];
    type Output<'a, T: Element> = &'a mut [T];
    type Workspace = Workspace;

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn reduce_choice(&self, items: usize, item_bytes: usize) -> (Strategy, Policy) {
        self.choice_of_bytes(Traffic::Reads, items.saturating_mul(item_bytes), item_bytes)
    }

    fn scan_choice(&self, items: usize, item_bytes: usize, _: bool) -> (Strategy, Policy) {
        self.choice_of_bytes(Traffic::Copies, items.saturating_mul(2 * item_bytes), item_bytes)
    }

    fn workspace(&self, _items: usize, _item_bytes: usize) -> Result<Workspace> {
        Ok(Workspace(()))
    }

    #[inline(never)]
    fn reduce<T, A, O>(&self, _: &mut Workspace, input: &[T], problem: &Reduce<A, O>) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let operator = problem.operator;
        if input.is_empty() {
            return Ok(problem.init.unwrap_or(operator.identity()));
        }
        let total = if self.is_scalar() {
            scalar::total(input, operator)
        } else {
            let bytes = size_of_val(input);
            self.with_context::<T, _>(bytes, |context| {
                reduce::total(&context.to_read(bytes), input, operator)
            })?
        };
        Ok(match problem.init {
            Some(init) => operator.combine(init, total),
            None => total,
        })
    }

    fn reduce_into<T, A, O>(
        &self,
        workspace: &mut Workspace,
        input: &[T],
        result: &mut [A],
        problem: &Reduce<A, O>,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        let [result] = result else {
            return Err(Error::ResultLength { items: result.len() });
        };
        *result = self.reduce(workspace, input, problem)?;
        Ok(())
    }

    #[inline(never)]
    fn position<T: Number>(
        &self,
        _: &mut Workspace,
        input: &[T],
        extreme: Extreme,
    ) -> Result<Option<u64>> {
        if input.is_empty() {
            return Ok(None);
        }
        let bytes = size_of_val(input);
        // Converting short floats takes longer than reading them: there whole lines stay ahead.
        let converts = size_of::<T>() == 2 && T::DTYPE.is_float();
        let find = |context: &ExecutionContext<'_>| {
            let context = if converts { *context } else { context.to_read(bytes) };
            reduce::position(&context, input, extreme)
        };
        self.with_context::<T, _>(bytes, find).map(Some)
    }

    #[inline(never)]
    fn reduce_next<T, A, O>(
        &self,
        _: &mut Workspace,
        state: &mut ReduceState<A, O>,
        chunk: &[T],
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        state.check(chunk.len())?;
        let operator = state.operator();
        if O::COMMUTATIVE {
            let mut rest = chunk;
            while !rest.is_empty() {
                let piece;
                (piece, rest) = rest.split_at(state.piece(rest.len()));
                let total = self.with_context::<T, _>(size_of_val(piece), |context| {
                    reduce::total(&context.to_read(size_of_val(chunk)), piece, operator)
                })?;
                state.push(total, piece.len());
            }
        } else {
            self.with_context::<T, _>(size_of_val(chunk), |context| {
                scan::total_in_order(context, chunk, operator, state.carry());
            })?;
        }
        Ok(())
    }

    #[inline(never)]
    fn scan<T, U, O>(
        &self,
        _: &mut Workspace,
        input: &[T],
        output: &mut [U],
        problem: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        check_lengths(input, output)?;
        self.scan_from(Source::Separate(input), output, problem)
    }

    #[inline(never)]
    fn scan_in_place<T, O>(
        &self,
        _: &mut Workspace,
        data: &mut [T],
        problem: &Scan<T::Acc, O>,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        self.scan_from::<T, T, O>(Source::InPlace, data, problem)
    }

    #[inline(never)]
    fn scan_next<T, U, O>(
        &self,
        _: &mut Workspace,
        state: &mut ScanState<U::Acc, O>,
        chunk: &[T],
        output: &mut [U],
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        check_lengths(chunk, output)?;
        let first = state.check(chunk.len())?;
        let (problem, carry) = state.parts();
        let bytes = size_of_val(chunk) + size_of_val(output);
        self.with_scan_context::<U, _>(bytes, |context| {
            scan::scan(context, Source::Separate(chunk), output, problem, carry);
        })?;
        if first {
            set_first(output, problem);
        }
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpu").field("limits", &self.limits).finish_non_exhaustive()
    }
}
