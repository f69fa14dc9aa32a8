//! Instruction sets: found at run time, chosen once per call, outside all loops.

use core::fmt::{self, Display};
use core::str::FromStr;

use fearless_simd::{Level, Simd};
use upsweep_core::Error;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstructionSet {
    /// What every CPU of the architecture has: SSE2 on x86-64, plain code elsewhere.
    Portable,
    /// AVX2 with FMA and F16C: x86-64-v3.
    Avx2,
    /// AVX-512 as of Ice Lake and Zen 4.
    Avx512,
    /// NEON, on every 64-bit Arm.
    Neon,
}

impl InstructionSet {
    /// Every instruction set, narrow before wide.
    pub const ALL: &'static [InstructionSet] =
        &[Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// The instruction sets of this CPU, narrow before wide.
    pub fn available() -> Vec<InstructionSet> {
        Self::ALL.iter().copied().filter(|set| set.level().is_some()).collect()
    }

    /// The widest instruction set of this CPU.
    pub(crate) fn widest() -> Self {
        Self::available().pop().unwrap_or(Self::Portable)
    }

    /// Proof that this CPU has the instruction set; `None` if it has not.
    pub(crate) fn level(self) -> Option<Level> {
        let found = Level::new();
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => found.as_avx2().map(Level::Avx2),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => found.as_avx512().map(Level::Avx512),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => found.as_neon().map(Level::Neon),
            // On 64-bit Arm the least there is has a name of its own.
            #[cfg(not(target_arch = "aarch64"))]
            Self::Portable => {
                let _ = found;
                Some(Level::baseline())
            }
            #[allow(unreachable_patterns, reason = "which patterns are left depends on the target")]
            _ => None,
        }
    }
}

impl Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for InstructionSet {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|set| set.name() == name).ok_or_else(|| Error::UnknownName {
            what: "instruction set",
            name: name.into(),
            known: Self::ALL.iter().map(|set| set.name()).collect::<Vec<_>>().join(" "),
        })
    }
}

/// Whether a level loads and stores lines of 64 bytes whole, and another does it in halves.
pub(crate) fn has_half_lines(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    return matches!(level, Level::Avx512(_)) && level.as_avx2().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        false
    }
}

/// The level that loads and stores lines of 64 bytes in halves, where this one does it whole.
pub(crate) fn half_lines(level: Level) -> Level {
    #[cfg(target_arch = "x86_64")]
    if matches!(level, Level::Avx512(_))
        && let Some(avx2) = level.as_avx2()
    {
        return Level::Avx2(avx2);
    }
    level
}

/// Whether kernels with the vectors of `S` are plain loops that nobody unrolls: on an x86-64 without AVX2, of which hardly any is left.
/// Their results are the same.
pub(crate) const fn is_plain<S: Simd>() -> bool {
    cfg!(target_arch = "x86_64") && size_of::<S::f32s>() <= 16
}

/// The same of a level.
pub(crate) fn is_plain_at(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    return !matches!(level, Level::Avx2(_) | Level::Avx512(_));
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        false
    }
}

/// A piece of work that is compiled once for each instruction set.
///
/// Its body, and everything called from it, must be `#[inline(always)]`: only then is it part of
/// the function that has the instruction set enabled.
pub(crate) trait Kernel {
    /// What the work gives.
    type Output;

    /// Does the work with the instructions that `simd` stands for.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs `kernel` as compiled for `level`.
#[inline]
pub(crate) fn run<K: Kernel>(level: Level, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        // Sse4.2 has no arm: nothing here is faster with it.
        match level {
            Level::Avx512(simd) => simd.vectorize(
                #[inline(always)]
                || kernel.run(simd),
            ),
            Level::Avx2(simd) => simd.vectorize(
                #[inline(always)]
                || kernel.run(simd),
            ),
            _ => run_baseline(kernel),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    fearless_simd::dispatch!(level, simd => kernel.run(simd))
}

/// Runs `kernel` with SSE2, which needs no feature to be enabled: without the mark it would become part of every caller.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn run_baseline<K: Kernel>(kernel: K) -> K::Output {
    match Level::baseline().as_sse2() {
        Some(simd) => simd.vectorize(
            #[inline(always)]
            || kernel.run(simd),
        ),
        None => unreachable!("x86-64 always has SSE2"),
    }
}
