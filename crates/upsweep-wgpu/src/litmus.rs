//! What kernels take for granted, tried when a device is opened: one small launch, whose outcome is kept.
//!
//! No interface promises what `litmus.wgsl` tries, or says whether it holds. What does not hold here is not used.

use core::fmt;
use core::str::FromStr;

use upsweep_core::Result;
use wgpu::BufferUsages;

use crate::device::{Facts, Gpu};
use crate::shader::ROUNDING;
use upsweep_gpu::{Folder, hash};

/// Threads of a workgroup: as many as policies ask for where nothing else is said.
const THREADS: u32 = 256;

/// Workgroups of a GPU: four times as many as the largest of today holds at once.
const WORKGROUPS: u32 = 4096;

/// Workgroups of a device that is a CPU, which is not trusted to let waiting workgroups go on, however this ends:
/// its threads are at the mercy of the operating system.
const WORKGROUPS_OF_CPU: u32 = 64;

/// A workgroup waits for the one that has this many tickets less, so that chains are as long as those of scans.
const STRIDE: u32 = 32;

/// Looks of a workgroup before it gives up: some 10 ms on a GPU. lavapipe ends loops silently after 65,535 steps.
const LOOKS: u32 = 1 << 14;

/// Words in front of messages, and what lies in them; `litmus.wgsl`.
const HEADER: usize = 9;
const SMALL: usize = 6;
const FACTOR: usize = 7;

/// What holds on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Neighbouring threads are neighbouring lanes of one subgroup.
    pub(crate) subgroups: bool,
    /// Words that carry their own proof go from workgroup to workgroup.
    pub(crate) messages: bool,
    /// A workgroup that has started goes on while others wait for it.
    pub(crate) progress: bool,
    /// Results that are too small for a normal float are kept.
    pub(crate) subnormals: bool,
    /// `pack2x16float` rounds to the nearest f16, ties to even.
    pub(crate) packs_halves: bool,
}

/// The shader for devices with these facts.
pub(crate) fn text(facts: &Facts) -> String {
    let (threads, subgroup) = (THREADS.min(facts.threads), facts.subgroup);
    let entry = if subgroup > 1 {
        include_str!("litmus_subgroups.wgsl")
    } else {
        include_str!("litmus_threads.wgsl")
    };
    format!(
        "const THREADS = {threads}u;\nconst SUBGROUP = {subgroup}u;\nconst STRIDE = {STRIDE}u;\n\
         const LOOKS = {LOOKS}u;\n{entry}\n{}\n{ROUNDING}",
        include_str!("litmus.wgsl")
    )
}

impl Gpu {
    /// What holds on this device: found out now, or at an earlier opening of the same device by the same driver.
    pub(crate) fn litmus(&self, info: &wgpu::AdapterInfo, folder: &Folder) -> Outcome {
        let text = text(&self.facts);
        let key = format!("{info:?} {:?} {}", self.facts, env!("CARGO_PKG_VERSION"));
        let name = format!("litmus_{:016x}", hash([key.as_bytes(), text.as_bytes()]));
        let known = folder.read(&name).and_then(|text| String::from_utf8(text).ok()?.parse().ok());
        if let Some(outcome) = known {
            return outcome;
        }
        let is_cpu = info.device_type == wgpu::DeviceType::Cpu;
        // A device that cannot even do this: nothing holds.
        let workgroups = if is_cpu { WORKGROUPS_OF_CPU } else { WORKGROUPS };
        let tried = self.try_out(&text, workgroups);
        let outcome = tried.map(|words| Outcome::of(words, workgroups, is_cpu)).unwrap_or_default();
        // What has failed may have been bad luck: another program, a debugger. It is tried again next time.
        if outcome.subgroups && outcome.messages && (outcome.progress || is_cpu) {
            // Without the file it is tried again too.
            let _ = folder.write(&name, outcome.to_string().as_bytes());
        }
        outcome
    }

    /// The first words of the state after a launch.
    fn try_out(&self, text: &str, workgroups: u32) -> Result<[u32; HEADER]> {
        let pipeline = self.compile(text, "litmus")?;
        let mut words = vec![0u32; HEADER + 2 * workgroups as usize];
        words[SMALL] = f32::MIN_POSITIVE.to_bits();
        words[FACTOR] = 0.5f32.to_bits();
        let state = self.upload("litmus", bytemuck::cast_slice(&words))?;
        let staging = self.buffer(
            "litmus",
            4 * HEADER as u64,
            BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        )?;
        let group = self.group(&pipeline, &[(0, state.as_entire_binding())])?;
        let mut encoder = self.device.create_command_encoder(&<_>::default());
        let mut pass = encoder.begin_compute_pass(&<_>::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(workgroups, 1, 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&state, 0, &staging, 0, 4 * HEADER as u64);
        self.scoped(|| self.queue.submit([encoder.finish()]))?;
        let mut found = [0u32; HEADER];
        self.read(&staging, 0, bytemuck::cast_slice_mut(&mut found))?;
        Ok(found)
    }
}

impl Outcome {
    /// What the words of the state say.
    fn of(words: [u32; HEADER], workgroups: u32, is_cpu: bool) -> Self {
        let [tickets, finished, misplaced, late, wrong, heard, small, _, misrounded] = words;
        // If workgroups are missing, nothing that the others say counts.
        let all = tickets == workgroups && finished == workgroups;
        Self {
            subgroups: all && misplaced == 0,
            messages: all && wrong == 0 && heard > 0,
            progress: all && wrong == 0 && late == 0 && !is_cpu,
            subnormals: all && f32::from_bits(small) == f32::MIN_POSITIVE * 0.5,
            packs_halves: all && misrounded == 0,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subgroups, messages, progress, subnormals, packs_halves } = self;
        write!(f, "{subgroups} {messages} {progress} {subnormals} {packs_halves}")
    }
}

impl FromStr for Outcome {
    type Err = ();

    fn from_str(text: &str) -> core::result::Result<Self, ()> {
        let words = text.split(' ').map(|word| word.parse().map_err(|_| ()));
        let words = words.collect::<core::result::Result<Vec<bool>, ()>>()?;
        let [subgroups, messages, progress, subnormals, packs_halves] = words[..] else {
            return Err(());
        };
        Ok(Self { subgroups, messages, progress, subnormals, packs_halves })
    }
}

#[cfg(test)]
mod tests {
    use upsweep_core::{
        AccessWidth, Arrangement, Error, GpuReduceStrategy, GpuScanStrategy, Load, Reduce,
        ReduceGlobal, ReduceLocal, Scan, ScanGlobal, ScanLocal, Sum, Tail,
    };

    use super::*;
    use crate::{Calls, ReduceOptions, ScanOptions, Source, Target, Workspace};

    /// All is well: tickets, finished, misplaced, late, wrong, heard, small, one that nobody reads, and misrounded.
    const WELL: [u32; HEADER] = [4096, 4096, 0, 0, 0, 4064, 0x0040_0000, 0, 0];

    #[test]
    fn the_state_is_read_right() {
        let with = |at: usize, word: u32| {
            let mut words = WELL;
            words[at] = word;
            Outcome::of(words, WORKGROUPS, false)
        };
        let (subnormals, packs_halves) = (true, true);
        let well =
            Outcome { subgroups: true, messages: true, progress: true, subnormals, packs_halves };
        assert_eq!(with(7, 0), well);
        assert_eq!(with(1, 4095), Outcome::default());
        assert_eq!(with(2, 1), Outcome { subgroups: false, ..well });
        assert_eq!(with(3, 1), Outcome { progress: false, ..well });
        assert_eq!(with(4, 1), Outcome { messages: false, progress: false, ..well });
        assert_eq!(with(5, 0), Outcome { messages: false, ..well });
        assert_eq!(with(6, 0), Outcome { subnormals: false, ..well });
        assert_eq!(with(8, 1), Outcome { packs_halves: false, ..well });
        // A CPU is not trusted, though nobody waited in vain.
        assert_eq!(Outcome::of(WELL, WORKGROUPS, true), Outcome { progress: false, ..well });
    }

    /// Kernels in which something is wrong, as it would be on a device on which it does not hold.
    #[test]
    fn what_does_not_hold_is_noticed() {
        for gpu in crate::testing::gpus(&Folder::default()) {
            let text = text(&gpu.facts);
            let with = |from: &str, to: &str| {
                assert!(text.contains(from), "{from}");
                let words = gpu.try_out(&text.replace(from, to), WORKGROUPS_OF_CPU).expect(to);
                Outcome::of(words, WORKGROUPS_OF_CPU, false)
            };
            let well = with("thread", "thread");
            assert!(well.subgroups && well.messages, "{gpu:?}: {well:?}");
            if gpu.facts.subgroup > 1 {
                let turned = with("(thread, distance)", "(thread, SUBGROUP - 1u)");
                assert_eq!(turned.subgroups, gpu.facts.subgroup == 2, "{gpu:?}");
                let shifted = with("min(distance, lane)", "min(distance / 2u, lane)");
                assert!(!shifted.subgroups, "{gpu:?}");
            }
            // Nobody says anything: all waits are in vain, and end.
            let silent = with("send(ticket);", "");
            assert!(!silent.progress && !silent.messages, "{gpu:?}: {silent:?}");
            let torn = with("PROOF | (value >> 16u)", "PROOF | (value >> 17u)");
            assert!(!torn.messages && !torn.progress, "{gpu:?}: {torn:?}");
            let flushed = with("small * ", "0.0 * small * ");
            assert!(!flushed.subnormals, "{gpu:?}: {flushed:?}");
            let truncated = with("+ 0xfffu", "");
            assert!(!truncated.packs_halves, "{gpu:?}: {truncated:?}");
            let killed = with("atomicAdd(&state[FINISHED], 1u);", "");
            assert_eq!(killed, Outcome::default(), "{gpu:?}");
        }
    }

    #[test]
    fn what_does_not_hold_is_not_used() {
        for mut gpu in crate::testing::gpus(&Folder::default()) {
            for subgroups in [true, false] {
                crate::testing::own(&mut gpu).trust(Outcome { subgroups, ..Outcome::default() });
                assert_eq!(gpu.limits().subgroup_sizes != (1, 1), subgroups, "{gpu:?}");
                let items: Vec<u32> = (0..100_000).collect();
                let mut workspace = Workspace::default();
                let mut reduce = |strategy| {
                    let (problem, policy) = (Reduce::new(Sum), None);
                    let options = ReduceOptions { strategy, policy };
                    gpu.reduce::<u32, u32, _>(
                        &mut workspace,
                        Source::Host(&items),
                        &problem,
                        &options,
                    )
                };
                assert_eq!(reduce(None), Ok(704_982_704), "{gpu:?}");
                let load = Load {
                    arrangement: Arrangement::Striped,
                    width: AccessWidth::Bytes4,
                    tail: Tail::Exact,
                };
                for global in [ReduceGlobal::Atomic, ReduceGlobal::LastBlock] {
                    let local = ReduceLocal::SharedMemory;
                    let refused = reduce(Some(GpuReduceStrategy { load, local, global }));
                    assert!(matches!(refused, Err(Error::StrategyRefused { .. })), "{refused:?}");
                }
                let mut workspace = Workspace::default();
                let mut scan = |strategy| {
                    let mut data = vec![1u32; 10_000];
                    let (problem, to) = (Scan::inclusive(Sum), Target::Host(&mut data[..]));
                    let options = ScanOptions { strategy, ..ScanOptions::default() };
                    gpu.scan_in_place(&mut workspace, to, &problem, &options)?;
                    Ok(data)
                };
                assert_eq!(scan(None), Ok((1..=10_000).collect()), "{gpu:?}");
                for global in [ScanGlobal::LookBack, ScanGlobal::LookBackFallback] {
                    let local = ScanLocal::Raking;
                    let refused = scan(Some(GpuScanStrategy { load, local, global }));
                    assert!(matches!(refused, Err(Error::StrategyRefused { .. })), "{refused:?}");
                }
            }
        }
    }

    /// Software is not trusted to let workgroups go on, and the second opening knows without trying.
    #[test]
    fn an_outcome_is_kept() {
        for adapter in crate::testing::adapters() {
            let kept = tempfile::tempdir().expect("a folder");
            let folder = Folder::at(kept.path());
            let open = || Gpu::open_with("gpu", &adapter, &folder).expect("a device");
            let gpu = open();
            let is_cpu = adapter.get_info().device_type == wgpu::DeviceType::Cpu;
            assert!(gpu.facts.messages, "{gpu:?}");
            assert!(!(is_cpu && gpu.limits().forward_progress), "{gpu:?}");
            let names = std::fs::read_dir(kept.path()).expect("it is there");
            let names = names.map(|entry| entry.expect("a file").file_name().into_string());
            let mut names = names.map(|name| name.expect("ASCII"));
            let name = names.find(|name| name.starts_with("litmus_")).expect("the outcome's file");
            let forged = Outcome { subnormals: true, ..Outcome::default() };
            folder.write(&name, forged.to_string().as_bytes()).expect("it can be written");
            let again = open();
            assert_eq!((again.facts.messages, again.facts.subgroup), (false, 1), "{again:?}");
            folder.write(&name, b"no outcome").expect("it can be written");
            assert_eq!(open().facts, gpu.facts, "tried again");
        }
    }

    #[test]
    fn an_outcome_is_written_and_read() {
        for k in 0..32 {
            let [subgroups, messages, progress, subnormals, packs_halves] =
                [1, 2, 4, 8, 16].map(|bit| k & bit > 0);
            let outcome = Outcome { subgroups, messages, progress, subnormals, packs_halves };
            assert_eq!(outcome.to_string().parse(), Ok(outcome));
        }
        for text in ["", "true true true true", "true true true true maybe"] {
            assert_eq!(text.parse::<Outcome>(), Err(()), "{text}");
        }
    }
}
