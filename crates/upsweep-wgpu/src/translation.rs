//! Every kernel in the languages of all platforms, without the platforms: naga, which is what wgpu translates with,
//! must give SPIR-V for Vulkan, MSL for Metal and HLSL for DirectX 12, and `spirv-val` must accept the SPIR-V.
//!
//! Each test makes the text of every kernel it is about; of the texts that differ, [`rotation`] chooses which are translated in this run.
//!
//! The options are wgpu's own: checked accesses, unbounded loops, no zeroed workgroup memory, bindings in the
//! order of an automatic layout.

mod own;

use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};

use upsweep_core::{
    AccessWidth, Arrangement, BitAnd, BitOr, BitXor, Bounds, Direction, Dtype, Element, Error,
    Extreme, GpuReduceStrategy, GpuScanStrategy, Kind, LadderStep, Language, Load, Max, Min,
    Number, Operator, Product, ReduceGlobal, ReduceLocal, RowAxis, Rows, RowsStrategy, ScanGlobal,
    ScanLocal, SegmentedBy, Source, Sum, Tail, Widen, WorkgroupPolicy, bf16, f16,
};
use wgpu::naga::back::pipeline_constants::process_overrides;
use wgpu::naga::back::{hlsl, msl, spv};
use wgpu::naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use wgpu::naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use wgpu::naga::{AddressSpace, Module, ResourceBinding, ShaderStage, StorageAccess, front};

use crate::device::Facts;
use crate::reduce::{self, Reduction};
use crate::scan::{self, Lies, Scanning};
use crate::shader::{Cut, Shader, Types};
use crate::{ladder, launch_sizes, litmus, probe, rows};
use upsweep_gpu::layout::width_of;
use upsweep_gpu::{Copying, Form, Op, Segmentation, Signature};
use upsweep_testing::rotation;

/// If it is `required`, a run without `spirv-val` fails.
const VALIDATOR_VARIABLE: &str = "UPSWEEP_TEST_SPIRV_VAL";

/// Devices by their subgroups, with threads of a workgroup and bytes that it shares: the least that wgpu grants,
/// SwiftShader, lavapipe, Intel, NVIDIA, AMD's older ones.
const DEVICES: [(u32, u32, u32); 6] = [
    (1, 256, 16_352),
    (4, 256, 16 << 10),
    (8, 1024, 32 << 10),
    (16, 1024, 32 << 10),
    (32, 1024, 48 << 10),
    (64, 1024, 64 << 10),
];

/// Both ends of every field of a policy, and none: the default.
const POLICIES: [Option<(u32, u32)>; 4] = [None, Some((32, 1)), Some((1024, 64)), Some((256, 128))];

fn facts((subgroup, threads, shared_bytes): (u32, u32, u32)) -> Facts {
    let (grid, binding_bytes, alignment) = (65_535, 1 << 27, 256);
    let (int64_atomics, messages, forward_progress) = (false, true, true);
    Facts {
        subgroup,
        threads,
        shared_bytes,
        grid,
        binding_bytes,
        alignment,
        int64_atomics,
        messages,
        forward_progress,
        packs_halves: subgroup >= 8,
    }
}

fn policy(number: usize) -> Option<WorkgroupPolicy> {
    let (threads_per_workgroup, items_per_thread) = POLICIES[number % POLICIES.len()]?;
    Some(WorkgroupPolicy { threads_per_workgroup, items_per_thread })
}

fn loads() -> Vec<Load> {
    let mut loads = Vec::new();
    for &arrangement in Arrangement::ALL {
        for &width in AccessWidth::ALL {
            for &tail in Tail::ALL {
                loads.push(Load { arrangement, width, tail });
            }
        }
    }
    loads
}

/// Of so many distinct kernels one is translated in each run, beside those that it takes to meet every level.
const ONE_IN: usize = 12;

/// A kernel that may be translated.
struct Cell {
    facts: Facts,
    text: String,
    entries: Vec<&'static str>,
    dtypes: Vec<Dtype>,
    context: String,
    /// What it is an example of; every level is met in each run.
    levels: Vec<String>,
}

/// Collects kernels, each text once, and translates those that this run's seed chooses.
struct Translator {
    seen: HashSet<String>,
    cells: Vec<Cell>,
    validator: bool,
}

impl Translator {
    fn new() -> Self {
        let mut program = Command::new("spirv-val");
        program.arg("--version").stdout(Stdio::null());
        let validator = program.status().is_ok_and(|status| status.success());
        if !validator {
            let required = std::env::var(VALIDATOR_VARIABLE).is_ok_and(|value| value == "required");
            assert!(!required, "there is no program spirv-val");
            upsweep_testing::skipped("spirv-val", "there is no such program");
        }
        Self { seen: HashSet::new(), cells: Vec::new(), validator }
    }

    /// Takes a kernel for a device with these facts.
    fn add(&mut self, facts: &Facts, shader: &Shader, levels: Vec<String>, context: &str) {
        let dtypes = shader.types.computed_with();
        let types = &shader.types;
        let mut all = vec![
            format!("item {:?}", types.item),
            format!("value {:?}", types.acc),
            format!("output {:?}", types.output),
            format!("operator {:?}", types.op),
            format!("input by {} bytes", shader.width),
            format!("output by {} bytes, shared {}", shader.out_width, shader.shared_words),
        ];
        all.extend(levels);
        self.add_text(facts, shader.text(), &shader.entries, dtypes, all, context);
    }

    fn add_text(
        &mut self,
        facts: &Facts,
        text: String,
        entries: &[&'static str],
        dtypes: Vec<Dtype>,
        mut levels: Vec<String>,
        context: &str,
    ) {
        if !self.seen.insert(text.clone()) {
            return;
        }
        levels.push(format!("subgroups of {}", facts.subgroup));
        levels.push(format!("newest versions {}", self.cells.len().is_multiple_of(2)));
        let (facts, context) = (*facts, context.to_owned());
        self.cells.push(Cell { facts, text, entries: entries.to_vec(), dtypes, context, levels });
    }

    /// Translates one of so many kernels, and those that it takes to meet every level.
    fn translate(mut self, one_in: usize) {
        let cells = std::mem::take(&mut self.cells);
        let levels: Vec<&[String]> = cells.iter().map(|cell| &cell.levels[..]).collect();
        let chosen = rotation::chosen(&levels, one_in);
        assert!(!chosen.is_empty(), "there is nothing to translate");
        for number in chosen {
            // Every other text in the newest versions that wgpu writes, the rest in the oldest that suffice.
            self.translate_cell(&cells[number], number.is_multiple_of(2));
        }
    }

    fn translate_cell(&self, cell: &Cell, newest: bool) {
        let Cell { facts, text, context, .. } = cell;
        let module = front::wgsl::parse_str(text)
            .unwrap_or_else(|error| panic!("{context}: {}", error.emit_to_string(text)));
        // What the device does not have, the kernel must not ask for. Everything of wgpu's but OpenGL unpacks f16.
        let any = |of: &[Dtype]| cell.dtypes.iter().any(|dtype| of.contains(dtype));
        let doubles = any(&[Dtype::F64]);
        let mut capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
        capabilities.set(Capabilities::SUBGROUP, facts.subgroup > 1);
        let wide = doubles || any(&[Dtype::U64, Dtype::I64]) || facts.int64_atomics;
        capabilities.set(Capabilities::SHADER_INT64, wide);
        capabilities.set(Capabilities::SHADER_INT64_ATOMIC_ALL_OPS, facts.int64_atomics);
        let validate = |with| {
            let validated = Validator::new(ValidationFlags::all(), with).validate(&module);
            validated.map_err(|error| error.emit_to_string(text))
        };
        if doubles {
            // Only Vulkan has f64: wgpu gives no other device the capability, and refuses the kernel without it.
            let refused = validate(capabilities).expect_err(context);
            assert!(refused.contains("FLOAT64"), "{refused}");
            capabilities |= Capabilities::FLOAT64;
        }
        let info = validate(capabilities).unwrap_or_else(|error| panic!("{context}: {error}"));
        for entry in &cell.entries {
            // What wgpu makes of an entry point before it translates it: nothing else is left in the module.
            let stage = Some((ShaderStage::Compute, *entry));
            let (module, info) = process_overrides(&module, &info, stage, &<_>::default())
                .unwrap_or_else(|error| panic!("{context}: {error}"));
            let words = to_spirv(&module, &info, entry, newest);
            if self.validator {
                accepted_by_validator(&words, newest, context);
            }
            // Metal has neither doubles nor all atomics of 64 bits.
            if !doubles && !facts.int64_atomics {
                let metal = to_msl(&module, &info, entry, newest);
                let metal = metal.unwrap_or_else(|error| panic!("{context}: MSL: {error}"));
                assert!(metal.contains("kernel void"), "{context}");
            }
            if !doubles {
                let direct = to_hlsl(&module, &info, entry, newest);
                let direct = direct.unwrap_or_else(|error| panic!("{context}: HLSL: {error}"));
                assert!(direct.contains("[numthreads("), "{context}");
            }
        }
    }
}

impl Drop for Translator {
    fn drop(&mut self) {
        let forgotten = !self.cells.is_empty() && !std::thread::panicking();
        assert!(!forgotten, "{} kernels were not translated", self.cells.len());
    }
}

fn to_spirv(module: &Module, info: &ModuleInfo, entry: &str, newest: bool) -> Vec<u32> {
    // Drivers with VK_EXT_robustness2 check accesses to buffers themselves, as wgpu knows.
    let buffer = if newest { BoundsCheckPolicy::Unchecked } else { BoundsCheckPolicy::Restrict };
    let options = spv::Options {
        // Vulkan 1.3; and 1.1, the least with subgroup operations.
        lang_version: if newest { (1, 6) } else { (1, 3) },
        flags: spv::WriterFlags::empty(),
        bounds_check_policies: BoundsCheckPolicies { buffer, ..RESTRICTED },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    let stage =
        spv::PipelineOptions { entry_point: entry.to_owned(), shader_stage: ShaderStage::Compute };
    spv::write_vec(module, info, &options, Some(&stage))
        .unwrap_or_else(|error| panic!("{entry}: {error}"))
}

/// Accesses outside a buffer or an array are brought inside.
const RESTRICTED: BoundsCheckPolicies = BoundsCheckPolicies {
    index: BoundsCheckPolicy::Restrict,
    buffer: BoundsCheckPolicy::Restrict,
    image_load: BoundsCheckPolicy::Restrict,
    binding_array: BoundsCheckPolicy::Unchecked,
};

/// The bindings that an entry point uses, and whether it writes there, in order.
fn bindings(module: &Module, info: &ModuleInfo) -> Vec<(ResourceBinding, AddressSpace)> {
    let entry = info.get_entry_point(0);
    let mut used: Vec<_> = module
        .global_variables
        .iter()
        .filter(|(handle, _)| !entry[*handle].is_empty())
        .filter_map(|(_, variable)| Some((variable.binding?, variable.space)))
        .collect();
    used.sort_by_key(|(binding, _)| *binding);
    used
}

fn to_msl(module: &Module, info: &ModuleInfo, entry: &str, newest: bool) -> Result<String, String> {
    let used = bindings(module, info);
    let resources = used.iter().zip(0u8..).map(|((binding, space), slot)| {
        let mutable = matches!(space, AddressSpace::Storage { access } if access.contains(StorageAccess::STORE));
        (*binding, msl::BindTarget { buffer: Some(slot), mutable, ..<_>::default() })
    });
    let resources = msl::EntryPointResources {
        resources: resources.collect(),
        immediates_buffer: None,
        sizes_buffer: u8::try_from(used.len()).ok(),
    };
    let options = msl::Options {
        // macOS 26; and 11: 64-bit integers need 2.3.
        lang_version: if newest { (4, 0) } else { (2, 3) },
        per_entry_point_map: [(entry.to_owned(), resources)].into(),
        fake_missing_bindings: false,
        bounds_check_policies: RESTRICTED,
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        ..msl::Options::default()
    };
    let stage = msl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, entry.to_owned())),
        ..msl::PipelineOptions::default()
    };
    let (text, translated) =
        msl::write_string(module, info, &options, &stage).map_err(|error| error.to_string())?;
    for name in translated.entry_point_names {
        name.map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn to_hlsl(
    module: &Module,
    info: &ModuleInfo,
    entry: &str,
    newest: bool,
) -> Result<String, String> {
    let mut registers = [0u32; 3];
    let mut map = hlsl::BindingMap::default();
    for (binding, space) in bindings(module, info) {
        // Constants, what is only read, and what is written are numbered apart.
        let kind = match space {
            AddressSpace::Uniform => 0,
            AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => 1,
            _ => 2,
        };
        let register = registers[kind];
        registers[kind] += 1;
        let target = hlsl::BindTarget { register, restrict_indexing: true, ..<_>::default() };
        map.insert(binding, target);
    }
    let options = hlsl::Options {
        shader_model: if newest { hlsl::ShaderModel::V6_7 } else { hlsl::ShaderModel::V6_0 },
        binding_map: map,
        fake_missing_bindings: false,
        // How wgpu says the size of a grid, which HLSL cannot ask for.
        special_constants_binding: Some(hlsl::BindTarget { space: 3, ..<_>::default() }),
        zero_initialize_workgroup_memory: false,
        restrict_indexing: true,
        force_loop_bounding: false,
        ..hlsl::Options::default()
    };
    let stage =
        hlsl::PipelineOptions { entry_point: Some((ShaderStage::Compute, entry.to_owned())) };
    let mut text = String::new();
    let translated = hlsl::Writer::new(&mut text, &options, &stage)
        .write(module, info, None)
        .map_err(|error| error.to_string())?;
    for name in translated.entry_point_names {
        name.map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn accepted_by_validator(words: &[u32], newest: bool, context: &str) {
    let mut command = Command::new("spirv-val");
    command.args(["--target-env", if newest { "vulkan1.3" } else { "vulkan1.1" }, "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("spirv-val was here before");
    let mut input = process.stdin.take().expect("it was asked for");
    input.write_all(bytemuck::cast_slice(words)).expect("spirv-val reads all of it");
    drop(input);
    let said = process.wait_with_output().expect("spirv-val ends");
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{context}: {text}{}", String::from_utf8_lossy(&said.stdout));
}

fn types<T: Element, A: Element, U: Element, O: Operator<A>>(operator: O) -> Types {
    Types::of(&Signature::of::<T, A, U, O>(&operator, Language::Wgsl))
        .expect("it has a text in WGSL")
}

/// An operator of a caller's, not commutative: the later of two values that are not 0.
#[derive(Clone, Copy)]
struct Last;

impl Operator<u32> for Last {
    const NAME: &'static str = "last";
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> u32 {
        0
    }

    fn combine(&self, left: u32, right: u32) -> u32 {
        if right == 0 { left } else { right }
    }

    fn source(&self, _: Language) -> Option<Source> {
        Some(Source {
            combine: "return select(right, left, right == 0u);".into(),
            ..Source::default()
        })
    }
}

/// Where no array can be had, how it lies is said: aligned or not.
fn reduce_kernel(
    translator: &mut Translator,
    facts: &Facts,
    types: &Types,
    strategy: GpuReduceStrategy,
    aligned: bool,
    policy: Option<WorkgroupPolicy>,
) -> Result<(), Error> {
    let width = reduce::bytes(strategy.load.width).max(types.item.size() as u32);
    let device = ("none", facts);
    let (_, shader) =
        Reduction::kernel(device, types, strategy, 1 << 20, (width, aligned), policy)?;
    let context = format!("{types:?} by {strategy:?} on {facts:?} with {policy:?}");
    let GpuReduceStrategy { load, local, global } = strategy;
    let mut levels = rotation::levels_of(load, local, global);
    levels.extend([format!("{policy:?}"), format!("aligned {aligned}")]);
    translator.add(facts, &shader, levels, &context);
    Ok(())
}

/// The devices of a cell, by turns two thirds of all, each with the number of a type: two devices for each type.
fn spread(cell: usize) -> impl Iterator<Item = (usize, Facts, usize)> {
    let devices = DEVICES.into_iter().map(facts).enumerate();
    let own = devices.filter(move |(number, _)| !(cell + number).is_multiple_of(3));
    own.map(move |(number, facts)| (number, facts, (cell + number) % 2))
}

#[test]
fn every_cell_of_a_reduction() {
    let mut translator = Translator::new();
    let both = [types::<u32, u32, u32, _>(Sum), types::<f32, f32, f32, _>(Sum)];
    let mut cell = 0;
    for load in loads() {
        for &local in ReduceLocal::ALL {
            for &global in ReduceGlobal::ALL {
                let strategy = GpuReduceStrategy { load, local, global };
                let mut ran = [0; 2];
                for (number, facts, kind) in spread(cell) {
                    let policy = policy(cell / 9 + number / 2);
                    let aligned = !(cell + number).is_multiple_of(3);
                    let types = &both[kind];
                    let made =
                        reduce_kernel(&mut translator, &facts, types, strategy, aligned, policy);
                    let needs = local != ReduceLocal::SharedMemory && facts.subgroup == 1;
                    let atomic = global == ReduceGlobal::Atomic && types.acc == Dtype::F32.into();
                    assert_eq!(made.is_err(), needs || atomic, "{strategy:?}: {made:?}");
                    ran[kind] += usize::from(made.is_ok());
                }
                // There is no atomic sum of floats.
                assert!(ran[0] > 0 && (ran[1] > 0) == (global != ReduceGlobal::Atomic));
                cell += 1;
            }
        }
    }
    assert_eq!(cell, 108);
    translator.translate(ONE_IN);
}

/// Where the device has them.
#[test]
fn atomics_of_64_bits() {
    let mut translator = Translator::new();
    let sum = types::<u32, u32, u32, _>(Sum);
    let wide = [
        types::<u64, u64, u64, _>(Sum),
        types::<u8, i64, i64, _>(Sum),
        types::<i64, i64, i64, _>(Min),
        types::<u64, u64, u64, _>(Max),
        types::<f64, f64, f64, _>(Max),
        types::<i64, i64, i64, _>(BitXor),
    ];
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes16, tail: Tail::Exact };
    let (local, global) = (ReduceLocal::SharedMemory, ReduceGlobal::Atomic);
    let strategy = GpuReduceStrategy { load, local, global };
    for device in DEVICES {
        for types in &wide {
            let without = facts(device);
            let with = Facts { int64_atomics: true, ..without };
            let mut made =
                |facts| reduce_kernel(&mut translator, facts, types, strategy, true, None);
            assert!(matches!(made(&without), Err(Error::StrategyRefused { .. })), "{types:?}");
            assert_eq!(made(&with), Ok(()), "{types:?}");
        }
        // Sums of one word share an atomic with the count.
        let with = Facts { int64_atomics: true, ..facts(device) };
        let made = reduce_kernel(&mut translator, &with, &sum, strategy, true, None);
        assert_eq!(made, Ok(()));
    }
    translator.translate(ONE_IN);
}

/// What is tried when a device is opened, what its limits are measured with, and the ladder.
#[test]
fn kernels_beside_the_primitives() {
    let mut translator = Translator::new();
    for device in DEVICES {
        let facts = facts(device);
        let steps = LadderStep::ALL.map(LadderStep::name);
        for (name, text, entries) in [
            ("litmus", litmus::text(&facts), &["litmus"][..]),
            ("probe", probe::text(), &["read_all", "copy_all"]),
            ("launch sizes", launch_sizes::text(), &["size_launches"]),
            ("derived parameters", launch_sizes::derived_text(), &["derive_parameters"]),
            ("ladder", ladder::text(&facts), &steps),
        ] {
            let levels = vec![name.to_owned()];
            translator.add_text(&facts, text, entries, vec![], levels, name);
        }
    }
    translator.translate(1);
}

fn scan_kernels(
    translator: &mut Translator,
    facts: &Facts,
    types: &Types,
    strategy: GpuScanStrategy,
    (form, in_place): (Form, bool),
    (aligned, out_aligned): (bool, bool),
    policy: Option<WorkgroupPolicy>,
) -> Result<(), Error> {
    let short = types.output.size() < 4;
    let shared_words = short && (!out_aligned || types.emits());
    let (size, mut out_size) = (types.item.size() as u32, types.output.size() as u32);
    let mut out_width = if shared_words { 4 } else { reduce::bytes(strategy.load.width) };
    if types.emits() {
        // One item at once, whatever is read, as `Lies` has it.
        (out_width, out_size) = (width_of(types.output, out_size.max(4)), size);
    }
    // As many items of the narrower array at once as of the wider, as `Lies` has it.
    let asked = if types.emits() { reduce::bytes(strategy.load.width) } else { out_width };
    let width = (asked * size / size.max(out_size)).max(size).max(4);
    let lies = Lies { width, out_width, aligned, out_aligned, shared_words, in_place };
    let device = ("none", facts);
    let (_, shaders) = Scanning::kernels(device, types, strategy, form, 1 << 20, lies, policy)?;
    let context = format!(
        "{types:?} by {strategy:?}, {form:?}, in place {in_place} on {facts:?} with {policy:?}"
    );
    let GpuScanStrategy { load, local, global } = strategy;
    let mut levels = rotation::levels_of(load, local, global);
    levels.extend([format!("{policy:?}"), format!("{form:?}, in place {in_place}")]);
    levels.push(format!("aligned {aligned}, {out_aligned}"));
    if let Some(Cut { of, unique, .. }) = types.cut {
        let Segmentation { by, kind, wide, reduces, is_bounded } = of;
        levels.push(format!("{by:?} of {kind:?}, bounded {is_bounded}"));
        levels.push(format!("wide {wide}, reduces {reduces}, unique {unique}"));
    }
    for (launch, shader) in shaders.iter().enumerate() {
        let mut levels = levels.clone();
        levels.push(format!("launch {launch} by {global:?}"));
        translator.add(facts, shader, levels, &context);
    }
    Ok(())
}

/// Every combination of bounds, direction and place, by its number.
fn form(number: usize, everywhere: bool) -> (Form, bool) {
    let form = Form {
        bounds: if number & 1 == 0 { Bounds::Inclusive } else { Bounds::Exclusive },
        direction: if number & 2 == 0 { Direction::Forward } else { Direction::Reverse },
        everywhere,
        only_total: false,
        selecting: None,
    };
    (form, number & 4 > 0)
}

#[test]
fn every_cell_of_a_scan() {
    let mut translator = Translator::new();
    let both = [types::<u32, u32, u32, _>(Sum), types::<f32, f32, f32, _>(Sum)];
    let mut cell = 0;
    for load in loads() {
        for &local in ScanLocal::ALL {
            for &global in ScanGlobal::ALL {
                let strategy = GpuScanStrategy { load, local, global };
                let (mut tried, mut ran) = ([0; 2], [0; 2]);
                for (number, facts, kind) in spread(cell) {
                    let types = &both[kind];
                    // In the order of summation on the first device of a type, without on the second.
                    let everywhere = tried[kind] == 0;
                    let form = form(cell + number / 2, everywhere);
                    let aligned = (cell + number, cell + number / 2);
                    let aligned = (!aligned.0.is_multiple_of(4), !aligned.1.is_multiple_of(5));
                    let policy = policy(cell / 15 + number / 2);
                    let made = scan_kernels(
                        &mut translator,
                        &facts,
                        types,
                        strategy,
                        form,
                        aligned,
                        policy,
                    );
                    let needs = local == ScanLocal::Cooperative && facts.subgroup == 1;
                    let nests = everywhere
                        && types.acc == Dtype::F32.into()
                        && (local == ScanLocal::Blelloch
                            || global == ScanGlobal::ScanThenPropagate);
                    assert_eq!(made.is_err(), needs || nests, "{strategy:?}: {made:?}");
                    tried[kind] += 1;
                    ran[kind] += usize::from(made.is_ok());
                }
                assert!(ran.iter().all(|&ran| ran > 0), "{strategy:?}: {ran:?}");
                cell += 1;
            }
        }
    }
    assert_eq!(cell, 180);
    translator.translate(ONE_IN);
}

/// Scans of words of several items, in every form on every device.
#[test]
fn packed_scans() {
    let mut translator = Translator::new();
    for (number, types) in
        [types::<u8, u8, u8, _>(Sum), types::<i16, i16, i16, _>(Sum)].iter().enumerate()
    {
        let types = types.packed().expect("a sum of short integers");
        for (turn, device) in DEVICES.into_iter().enumerate() {
            let facts = facts(device);
            let strategy = scan::policy::strategy(&facts);
            for k in 0..8 {
                let cell = number + turn + k;
                let aligned = (!cell.is_multiple_of(4), !cell.is_multiple_of(5));
                let policy = policy(cell);
                let form = form(k, true);
                let made =
                    scan_kernels(&mut translator, &facts, &types, strategy, form, aligned, policy);
                made.unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
    translator.translate(ONE_IN);
}

/// Twelve bytes, which are no access.
const TRIPLE: Kind = Kind::Struct {
    name: "Triple",
    fields: &[("a", 0, Dtype::U32), ("b", 4, Dtype::U32), ("c", 8, Dtype::F32)],
};

/// What is cut into segments: every way of saying where they begin, by every strategy.
#[test]
fn every_way_of_saying_segments() {
    let mut translator = Translator::new();
    let ways = [
        (SegmentedBy::Offsets, Dtype::U32.into()),
        (SegmentedBy::Offsets, Dtype::U64.into()),
        (SegmentedBy::Flags, Dtype::U8.into()),
        (SegmentedBy::Flags, Dtype::U32.into()),
        (SegmentedBy::Keys, Dtype::I8.into()),
        (SegmentedBy::Keys, Dtype::Bf16.into()),
        (SegmentedBy::Keys, Dtype::F32.into()),
        (SegmentedBy::Keys, Dtype::F64.into()),
        (SegmentedBy::Keys, TRIPLE),
    ];
    let all = [
        types::<u32, u32, u32, _>(Sum),
        types::<f32, f32, f32, _>(Sum),
        types::<f16, f32, f16, _>(Max),
        types::<i8, i8, i8, _>(Min),
        types::<u32, u32, u32, _>(Last),
        types::<u32, u64, u64, _>(Sum),
        types::<f64, f64, f64, _>(Min),
    ];
    let load = loads();
    let mut number = 0usize;
    for (by, kind) in ways {
        for &local in ScanLocal::ALL {
            for &global in ScanGlobal::ALL {
                for reduces in [false, true] {
                    number += 1;
                    let wide =
                        by != SegmentedBy::Offsets && kind != TRIPLE && !number.is_multiple_of(3);
                    let unique = reduces && by == SegmentedBy::Keys && !number.is_multiple_of(4);
                    let is_bounded = by == SegmentedBy::Offsets && number.is_multiple_of(2);
                    let of = Segmentation { by, kind, wide, reduces, is_bounded };
                    let cut = Some(Cut { of, unique, arrays: 1 });
                    let types = Types { cut, ..all[number % all.len()].clone() };
                    let mut form = form(number & 3, types.is_exact() || number.is_multiple_of(2));
                    if reduces {
                        (form.0.bounds, form.0.direction) = (Bounds::Inclusive, Direction::Forward);
                    }
                    let facts = facts(DEVICES[number / 2 % DEVICES.len()]);
                    let strategy =
                        GpuScanStrategy { load: load[number % load.len()], local, global };
                    let aligned = (!number.is_multiple_of(5), !number.is_multiple_of(7));
                    let policy = policy(number / 3);
                    let made = scan_kernels(
                        &mut translator,
                        &facts,
                        &types,
                        strategy,
                        form,
                        aligned,
                        policy,
                    );
                    let needs = local == ScanLocal::Cooperative && facts.subgroup == 1;
                    let nests =
                        form.0.everywhere && !types.is_exact() && local == ScanLocal::Blelloch;
                    let narrow = reduce::bytes(strategy.load.width) < types.output.size() as u32;
                    let propagates = global == ScanGlobal::ScanThenPropagate;
                    assert_eq!(
                        made.is_err(),
                        needs || nests || narrow || propagates,
                        "{types:?}, {strategy:?}: {made:?}"
                    );
                }
            }
        }
    }
    translator.translate(ONE_IN);
}

/// The strategies that are chosen where none is asked for, for one of each kind of device.
fn by_default(
    translator: &mut Translator,
    types: &Types,
    counts: &mut usize,
    reduces: bool,
    scans: bool,
) {
    *counts += 1;
    let number = *counts;
    for (index, device) in DEVICES.into_iter().enumerate() {
        // Subgroups of one size or another are the same text but for a number.
        if index > 1 && index - 2 != number % 4 {
            continue;
        }
        let facts = facts(device);
        if reduces {
            let bytes = u64::from(number.is_multiple_of(2)) << 26;
            let strategy = reduce::policy::strategy(&facts, types, bytes);
            reduce_kernel(
                translator,
                &facts,
                types,
                strategy,
                !number.is_multiple_of(4),
                policy(number),
            )
            .unwrap_or_else(|error| panic!("{types:?}: {error}"));
        }
        if scans {
            for (k, forward_progress) in [true, false].into_iter().enumerate() {
                let facts = Facts { forward_progress, ..facts };
                let strategy = scan::policy::strategy(&facts);
                // Over types, operators and devices every form is met.
                let mut form = form(number + 3 * k + 5 * index, true);
                form.1 &= types.made.is_none() && types.item == types.output;
                let aligned = (number + k, number + k + index);
                let aligned = (!aligned.0.is_multiple_of(3), !aligned.1.is_multiple_of(4));
                scan_kernels(translator, &facts, types, strategy, form, aligned, None)
                    .unwrap_or_else(|error| panic!("{types:?}: {error}"));
            }
        }
    }
}

/// Reductions of items of type `T` in type `A`, and scans if `A` is what `T` is scanned in.
fn kernels_of<T, A, O>(translator: &mut Translator, counts: &mut usize, operator: O)
where
    T: Number + Widen<A>,
    A: Number,
    O: Operator<A>,
{
    let reduced = types::<T, A, A, O>(operator);
    by_default(translator, &reduced, counts, O::COMMUTATIVE, false);
    if core::any::TypeId::of::<T::Acc>() == core::any::TypeId::of::<A>() {
        let scanned = types::<T, A, T, O>(operator);
        by_default(translator, &scanned, counts, false, true);
    }
}

macro_rules! kernels {
    ($translator:ident, $counts:ident: $($operator:ident of $($item:ident in $acc:ident),*;)*) => { $($(
        kernels_of::<$item, $acc, _>(&mut $translator, &mut $counts, $operator);
    )*)* };
}

#[test]
fn every_type_and_operator_of_32_bits() {
    let (mut translator, mut counts) = (Translator::new(), 0);
    kernels! { translator, counts:
        Sum of u8 in u8, i8 in i8, u16 in u16, i16 in i16, u32 in u32, i32 in i32, f16 in f32, bf16 in f32, f32 in f32;
        Product of u8 in u8, i8 in i8, u16 in u16, i16 in i16, u32 in u32, i32 in i32, f16 in f32, bf16 in f32, f32 in f32;
        Min of u8 in u8, i8 in i8, u16 in u16, i16 in i16, u32 in u32, i32 in i32, f16 in f32, bf16 in f32, f32 in f32;
        Max of u8 in u8, i8 in i8, u16 in u16, i16 in i16, u32 in u32, i32 in i32, f16 in f32, bf16 in f32, f32 in f32;
        BitAnd of u8 in u8, i8 in i8, u16 in u16, i16 in i16, u32 in u32, i32 in i32;
        BitOr of u8 in u8, i8 in i8, u16 in u16, i16 in i16, u32 in u32, i32 in i32;
        BitXor of u8 in u8, i8 in i8, u16 in u16, i16 in i16, u32 in u32, i32 in i32;
        Last of u32 in u32;
    }
    translator.translate(ONE_IN);
}

#[test]
fn every_type_and_operator_of_64_bits() {
    let (mut translator, mut counts) = (Translator::new(), 0);
    kernels! { translator, counts:
        Sum of u8 in u64, i8 in i64, u16 in u64, i16 in i64, u32 in u64, i32 in i64, f32 in f64;
        Sum of u64 in u64, i64 in i64, f64 in f64;
        Product of u64 in u64, i64 in i64, f64 in f64, u8 in u64, i32 in i64;
        Min of u64 in u64, i64 in i64, f64 in f64;
        Max of u64 in u64, i64 in i64, f64 in f64;
        BitAnd of u64 in u64, i64 in i64;
        BitOr of u64 in u64, i64 in i64;
        BitXor of u64 in u64, i64 in i64;
    }
    translator.translate(ONE_IN);
}

#[test]
fn every_search_for_a_position() {
    let (mut translator, mut counts) = (Translator::new(), 0);
    macro_rules! positions {
        ($($item:ident)*) => { $(
            for extreme in [Extreme::Smallest, Extreme::Largest] {
                let types = Types::of_position(<$item as Number>::DTYPE, extreme);
                by_default(&mut translator, &types, &mut counts, true, false);
            }
        )* };
    }
    positions!(u8 i8 u16 i16 u32 i32 f16 bf16 f32 u64 i64 f64);
    translator.translate(ONE_IN);
}

/// Rows of an array of these axes, each a length and a stride, across rows and along them.
fn rows_of(across: &[(usize, isize)], along: &[(usize, isize)]) -> Rows {
    let axes = |axes: &[(usize, isize)]| {
        axes.iter().map(|&(len, input)| RowAxis { len, input, output: input }).collect()
    };
    Rows { across: axes(across), along: axes(along), start: [0; 2] }
}

/// Short rows and long ones, one or several axes, along memory and across it, wherever accesses may begin.
fn kinds_of_rows() -> Vec<Rows> {
    vec![
        rows_of(&[(1 << 20, 8)], &[(8, 1)]),
        rows_of(&[(1000, 3)], &[(3, 1)]),
        rows_of(&[(1 << 18, 1001)], &[(1001, 1)]),
        rows_of(&[(64, 1 << 12)], &[(64, 1 << 18), (1 << 12, 1)]),
        rows_of(&[(1 << 20, 1)], &[(8, 1 << 20)]),
        rows_of(&[(8, 1)], &[(1 << 20, 8)]),
        rows_of(&[(100, 128 * 100), (100, 1)], &[(128, 100)]),
        rows_of(&[(1 << 12, 1)], &[(1 << 12, 1 << 12)]),
        rows_of(&[], &[(77, -5)]),
    ]
}

#[test]
fn rows_of_arrays() {
    let mut translator = Translator::new();
    let mut all = own::made_of_floats();
    all.extend([
        types::<f32, f32, f32, _>(Sum),
        types::<u8, u32, u32, _>(Sum),
        types::<f16, f32, f16, _>(Max),
        types::<u32, u64, u64, _>(Sum),
        types::<u32, u32, u32, _>(Last),
        Types::of_position(Dtype::F32, Extreme::Largest),
    ]);
    all.extend(own::found_of_floats());
    for (device, types) in
        DEVICES.into_iter().flat_map(|device| all.iter().map(move |of| (device, of)))
    {
        let facts = facts(device);
        for (number, rows) in kinds_of_rows().iter().enumerate() {
            let way =
                [None, None, Some(RowsStrategy::Along), Some(RowsStrategy::Across)][number % 4];
            let way = way.filter(|_| !rows.across.is_empty());
            let asked = rows::Asked { address: [0, 4][number % 2], way };
            let shape = rows::shape(&facts, types, rows, asked);
            let mut shaders = vec![
                rows::shader(&facts, types, &shape, rows, false),
                rows::fold_shader(types, Some(&shape), rows, false, "fold_parts"),
                rows::fold_shader(types, None, rows, false, "fill_rows"),
            ];
            if !matches!(types.op, Op::First(_)) {
                let (form, _) = form(number, true);
                let shape = rows::scan_shape(&facts, types, rows, asked);
                let out_vector = shape.out_vector(rows, types.output.size(), asked.address);
                shaders.extend([
                    rows::shader(&facts, types, &shape, rows, true),
                    rows::scan_shader(&facts, types, &shape, rows, form, out_vector),
                    rows::fold_shader(types, Some(&shape), rows, true, "into_windows"),
                ]);
            }
            for shader in shaders {
                let levels = vec![shader.entries[0].to_owned(), format!("{:?}", shape.way)];
                translator.add(&facts, &shader, levels, &format!("{types:?} of {rows:?}"));
            }
        }
    }
    let words = [
        types::<u8, u8, u8, _>(Sum),
        types::<u16, u16, u16, _>(Sum),
        types::<u32, u32, u32, _>(Sum),
        types::<u64, u64, u64, _>(Sum),
    ];
    for types in &words {
        for rows in [rows_of(&[(64, 64)], &[]), rows_of(&[(64, 1), (64, 64), (8, 1 << 12)], &[])] {
            let copying = Copying::new(&rows, types.item.size(), [0; 2]);
            let own = copying.rows();
            let written = rows::written_at_once(own, copying.vector(), types.item.size(), 0);
            let shader = rows::copy_shader(types, &copying, written, 256);
            let levels = vec![shader.entries[0].to_owned()];
            translator.add(&facts(DEVICES[1]), &shader, levels, &format!("copy of {rows:?}"));
        }
    }
    translator.translate(ROWS_ONE_IN);
}

/// As [`ONE_IN`] of kernels of rows, which differ in more numbers.
const ROWS_ONE_IN: usize = 40;
