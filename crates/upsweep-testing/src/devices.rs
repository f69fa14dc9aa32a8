//! Every device there is, in every configuration whose results must agree.

use core::fmt::{self, Display};
use core::ops::Deref;
use std::io::Write;
use std::sync::OnceLock;

use upsweep::strategy::{CpuPolicy, CpuStrategy};
use upsweep::{
    CpuOptions, Device, Dtype, Element, Error, InstructionSet, Kind, Language, Operator,
};

use crate::{Input, rotation};

/// Names an instruction set: CPU devices have no other then. Valgrind does not know AVX-512.
const ISA_VARIABLE: &str = "UPSWEEP_TEST_ISA";

/// Names backends, separated by commas: a run fails where one of them has no device.
const REQUIRE_VARIABLE: &str = "UPSWEEP_TEST_REQUIRE";

/// Thread counts of CPU devices: one, as many as a small machine has, an odd number, and far
/// more than a small machine has.
const THREADS: [usize; 4] = [1, 2, 3, 16];

/// A device in one configuration.
#[derive(Clone, Debug)]
pub struct TestDevice {
    /// The device.
    pub device: Device,
    /// How it was configured, as messages show it.
    pub label: String,
    /// Whether it stands for its kind where a test is too dear for all.
    representative: bool,
    /// Which of the GPUs it is, if it is one.
    gpu_number: Option<usize>,
}

impl TestDevice {
    /// Whether it is a GPU, perhaps one made of software.
    pub fn is_gpu(&self) -> bool {
        self.gpu_number.is_some()
    }

    /// Whether it tests this cell of a test. A GPU compiles a kernel for nearly every cell, and those of software take long for it: of
    /// `one_in` neighbours each takes one, another with each [seed](crate::rotation::seed). CPUs take all.
    ///
    /// A test without numbers for its cells takes the lines that its checks are called from.
    pub fn takes(&self, cell: usize, one_in: usize) -> bool {
        self.gpu_number.is_none_or(|gpu| rotation::is_turn_of(gpu, cell, one_in))
    }

    /// Whether it can compute with elements of all these kinds.
    pub fn supports(&self, kinds: &[Kind]) -> bool {
        let limits = self.device.limits();
        let has = |(_, dtype)| match dtype {
            Dtype::U64 | Dtype::I64 => limits.int64,
            Dtype::F64 => limits.float64,
            _ => true,
        };
        !self.is_gpu()
            || kinds.iter().all(|kind| match kind {
                Kind::Opaque | Kind::Struct { name: "Indexed", .. } => false,
                kind => kind.numbers().all(has),
            })
    }

    /// The result of a call with elements of these kinds and this operator; `None` where the device
    /// cannot compute with them, and has said so.
    ///
    /// # Panics
    /// If the call failed although the device can do it, or failed otherwise than it should.
    #[track_caller]
    pub fn result<R, A: Element, O: Operator<A>>(
        &self,
        kinds: &[Kind],
        operator: &O,
        result: Result<R, Error>,
    ) -> Option<R> {
        let supported = self.supports(kinds);
        let built_in = ["sum", "product", "min", "max", "and", "or", "xor"].contains(&O::NAME);
        let language =
            if self.device.id().starts_with("cuda") { Language::Cuda } else { Language::Wgsl };
        let translated = !self.is_gpu() || built_in || operator.source(language).is_some();
        match result {
            Ok(result) if supported && translated => Some(result),
            Err(Error::ElementUnsupported { .. }) if !supported => None,
            Err(Error::OperatorUntranslated { .. }) if !translated => None,
            Ok(_) => panic!("{self}: {} of {kinds:?} should have been refused", O::NAME),
            Err(error) => panic!("{self}: {} of {kinds:?}: {error}", O::NAME),
        }
    }

    /// Whether the device keeps the subnormal values that an operator may meet in such an input of `T`: a `bf16` is not so
    /// near 1 that the product of thousands does not vanish.
    pub fn keeps<T: Element>(&self, input: Input) -> bool {
        let may_vanish = match input {
            Input::Edges | Input::Special => true,
            Input::NearOne => T::KIND == Kind::Number(Dtype::Bf16),
            _ => false,
        };
        self.device.limits().subnormals || !may_vanish
    }
}

impl Deref for TestDevice {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Display for TestDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label)
    }
}

/// Which devices a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    All,
    /// On a CPU each instruction set with one thread, and the widest with several.
    Representative,
}

/// Calls `body` on every device. Absent ones are reported once as skipped, on standard error.
pub fn for_each_device(body: impl FnMut(&TestDevice)) {
    for_each_device_of(Selection::All, body);
}

/// Calls `body` on the devices of `selection`.
///
/// # Panics
/// If there is no device at all: a test that checked nothing has not passed.
pub fn for_each_device_of(selection: Selection, mut body: impl FnMut(&TestDevice)) {
    each(selection, &mut body);
}

/// As every test has a body of its own, what is done around it is compiled once.
fn each(selection: Selection, body: &mut dyn FnMut(&TestDevice)) {
    let mut count = 0;
    for device in devices() {
        if selection == Selection::All || device.representative {
            body(device);
            count += 1;
        }
    }
    assert!(count > 0, "there is no device to test");
}

/// Calls `body` on every GPU. Without any, says that the test was skipped.
pub fn for_each_gpu(mut body: impl FnMut(&TestDevice)) {
    let gpus = devices().iter().filter(|device| device.is_gpu());
    let count = gpus.map(&mut body).count();
    if count == 0 {
        skipped("a test of GPUs", "there is none");
    }
}

/// Says on standard error, past the capture of test output, that something was not tested.
pub fn skipped(what: impl Display, reason: impl Display) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "skipped: {what}: {reason}");
}

fn devices() -> &'static [TestDevice] {
    static DEVICES: OnceLock<Vec<TestDevice>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let required = std::env::var(REQUIRE_VARIABLE).unwrap_or_default();
        for absent in Device::list().absent {
            assert!(
                !required.split(',').any(|backend| backend == absent.backend),
                "{REQUIRE_VARIABLE} wants {}, but {}",
                absent.backend,
                absent.reason
            );
            skipped(&absent.backend, &absent.reason);
        }
        let mut devices = cpus();
        devices.extend(gpus());
        devices
    })
}

/// Every GPU, as it comes: all its strategies have tests of their own in the backend.
fn gpus() -> Vec<TestDevice> {
    // One that names an instruction set is about the CPU.
    if std::env::var_os(ISA_VARIABLE).is_some() {
        return Vec::new();
    }
    let ids = Device::list().usable.into_iter().map(|found| found.id).filter(|id| id != "cpu");
    ids.enumerate()
        .map(|(number, id)| {
            let device = Device::open(&id).unwrap_or_else(|error| panic!("{error}"));
            let label = format!("{id} {}", device.limits().name);
            TestDevice { device, label, representative: true, gpu_number: Some(number) }
        })
        .collect()
}

/// The instruction sets to test, narrow before wide.
fn instruction_sets() -> Vec<InstructionSet> {
    match std::env::var(ISA_VARIABLE) {
        Ok(name) => vec![name.parse().unwrap_or_else(|e| panic!("{ISA_VARIABLE}: {e}"))],
        Err(_) => InstructionSet::available(),
    }
}

fn cpus() -> Vec<TestDevice> {
    let sets = instruction_sets();
    let mut devices = Vec::new();
    for &set in &sets {
        let strategies = CpuStrategy::ALL.iter().copied().map(Some).chain([None]);
        for strategy in strategies {
            for threads in THREADS {
                let threaded = matches!(strategy, None | Some(CpuStrategy::SimdThreads));
                // The strategies without threads must ignore how many there are, and the scalar
                // one also which vectors there are: that they do is worth one device each.
                let (widest, first) = (sets.last() == Some(&set), sets.first() == Some(&set));
                let wanted = match strategy {
                    Some(CpuStrategy::Scalar) => {
                        widest && threads == 3 || first && !widest && threads == 1
                    }
                    Some(CpuStrategy::Simd) => threads == 3 && widest,
                    None => threads <= 2,
                    Some(CpuStrategy::SimdThreads) => threads > 1,
                };
                if wanted {
                    let representative = threads == 1 && strategy.is_none()
                        || widest && threaded && (threads == 3 || strategy.is_none());
                    devices.push(cpu(set, strategy, threads, representative));
                }
            }
        }
    }
    // Every number of a policy at both ends: threads, blocks and stores past the caches for
    // everything, and for nothing. And the smallest blocks that go through the caches, one after another and in parts.
    let all = |end| CpuPolicy {
        serial_bytes: end,
        scan_serial_bytes: end,
        block_bytes: end,
        scan_block_bytes: end,
        scan_parts_bytes: end,
        streaming_bytes: end,
        half_line_bytes: end,
        scan_half_line_bytes: end,
    };
    let most = 1 << 40;
    let through = CpuPolicy { streaming_bytes: most, ..all(0) };
    let policies = [
        ("every policy number the smallest", all(0), true),
        ("every policy number the largest", all(most), false),
        ("small blocks through the caches", through, false),
        ("small blocks in parts", CpuPolicy { scan_parts_bytes: most, ..through }, false),
    ];
    for (name, policy, representative) in policies {
        let options = CpuOptions { threads: Some(3), policy: Some(policy), ..<_>::default() };
        let set = sets.last().copied();
        let options = CpuOptions { instruction_set: set, ..options };
        devices.push(TestDevice {
            device: opened(options),
            label: format!("cpu with {name}"),
            representative,
            gpu_number: None,
        });
    }
    devices
}

fn opened(options: CpuOptions) -> Device {
    Device::cpu_with(options).unwrap_or_else(|error| panic!("{options:?}: {error}"))
}

fn cpu(
    set: InstructionSet,
    strategy: Option<CpuStrategy>,
    threads: usize,
    representative: bool,
) -> TestDevice {
    let device = opened(CpuOptions {
        threads: Some(threads),
        instruction_set: Some(set),
        strategy,
        policy: None,
    });
    let strategy = strategy.map_or("auto", CpuStrategy::name);
    let label = format!("cpu {set} {strategy} with {threads} threads");
    TestDevice { device, label, representative, gpu_number: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_and_thread_count_is_there() {
        let mut labels = Vec::new();
        for_each_device(|device| labels.push(device.to_string()));
        let count = labels.len();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), count, "configurations are tested once");
        for set in instruction_sets() {
            for threads in [2, 3, 16] {
                let label = format!("cpu {set} simd+threads with {threads} threads");
                assert!(labels.contains(&label), "{label}");
            }
            assert!(labels.contains(&format!("cpu {set} auto with 1 threads")));
        }
        assert!(labels.iter().any(|label| label.contains(" scalar ")));
        let mut few = 0;
        for_each_device_of(Selection::Representative, |_| few += 1);
        assert!(0 < few && few < count);
    }
}
