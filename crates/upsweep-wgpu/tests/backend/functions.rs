//! Annotated functions in WGSL, on every device, over hard inputs: the bits that Rust gives, or where WGSL lets a device compute
//! in its own way, results as near as is promised.

use std::fmt::Write;

use upsweep_core::kernel::{Module, Type};
use upsweep_core::{Dtype, Language};
use upsweep_testing::kernels::{Case, cases};
use upsweep_testing::skipped;
use wgpu::naga::back::{hlsl, msl};
use wgpu::naga::front;
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
use wgpu::util::DeviceExt;

/// If it is `required`, a run without any GPU fails.
const GPU_VARIABLE: &str = "UPSWEEP_TEST_GPU";

/// Functions in one shader.
const BATCH: usize = 24;

/// Results of a function that are shown if they are wrong.
const EXAMPLES: usize = 4;

/// An argument out of its two words.
fn argument(of: Type, at: usize) -> String {
    let (low, high) = (format!("input[at + {at}u]"), format!("input[at + {}u]", at + 1));
    let wide = format!("(u64({low}) | (u64({high}) << 32u))");
    match of {
        Type::Bool => format!("({low} != 0u)"),
        Type::Number(Dtype::I8 | Dtype::I16 | Dtype::I32) => format!("bitcast<i32>({low})"),
        Type::Number(Dtype::U64) => wide,
        Type::Number(Dtype::I64) => format!("bitcast<i64>({wide})"),
        Type::Number(Dtype::F32) => format!("bitcast<f32>({low})"),
        Type::Number(Dtype::F64) => format!("bitcast<f64>({wide})"),
        _ => low,
    }
}

/// The two words of a result; the sign of a short integer is extended on the host.
fn words(of: Type) -> [String; 2] {
    let narrow = |word: &str| [word.to_owned(), "0u".to_owned()];
    let wide = |bits: &str| [format!("u32({bits} & 0xfffffffflu)"), format!("u32({bits} >> 32u)")];
    match of {
        Type::Bool => narrow("u32(result)"),
        Type::Number(Dtype::U64) => wide("result"),
        Type::Number(Dtype::I64 | Dtype::F64) => wide("bitcast<u64>(result)"),
        _ => narrow("bitcast<u32>(result)"),
    }
}

/// A shader in which a workgroup's number says which function it calls.
fn shader(cases: &[&Case]) -> (String, Vec<Dtype>) {
    let mut module = Module::new(Language::Wgsl);
    let mut calls = String::new();
    for (number, case) in cases.iter().enumerate() {
        let name =
            module.function(case.function).unwrap_or_else(|why| panic!("{}: {why}", case.name));
        let parameters = case.function.parameters;
        let arguments: Vec<String> =
            parameters.iter().enumerate().map(|(k, (_, of))| argument(*of, 2 * k)).collect();
        let [low, high] = words(case.function.result);
        let _ = write!(
            calls,
            "        case {number}u: {{\n\
             \x20           let at = which.y + item * {}u;\n\
             \x20           let result = {name}({});\n\
             \x20           output[2u * (which.w + item)] = {low};\n\
             \x20           output[2u * (which.w + item) + 1u] = {high};\n        }}\n",
            2 * parameters.len(),
            arguments.join(", "),
        );
    }
    let text = format!(
        "{}\n@group(0) @binding(0) var<storage, read> input: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> output: array<u32>;\n\
         /// The function, where its input begins, its calls, and where its output begins.\n\
         @group(0) @binding(2) var<storage, read> calls: array<vec4<u32>>;\n\
         @compute @workgroup_size(64)\n\
         fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {{\n\
         \x20   let which = calls[group.y];\n\
         \x20   let item = group.x * 64u + thread;\n\
         \x20   if (item >= which.z) {{ return; }}\n\
         \x20   switch which.x {{\n{calls}        default: {{}}\n    }}\n}}\n",
        module.text()
    );
    (text, module.numbers().to_vec())
}

/// The words that a device finds.
fn run(device: &wgpu::Device, queue: &wgpu::Queue, cases: &[&Case]) -> Vec<u64> {
    let (text, _) = shader(cases);
    let (mut input, mut calls, mut results) = (Vec::<u32>::new(), Vec::<[u32; 4]>::new(), 0u32);
    for (number, case) in cases.iter().enumerate() {
        let items = case.inputs.len() as u32;
        calls.push([number as u32, input.len() as u32, items, results]);
        let words = case.inputs.iter().flatten();
        input.extend(words.flat_map(|word| [*word as u32, (*word >> 32) as u32]));
        results += items;
    }
    let storage = wgpu::BufferUsages::STORAGE;
    let upload = |contents: &[u8]| {
        let described = wgpu::util::BufferInitDescriptor { label: None, contents, usage: storage };
        device.create_buffer_init(&described)
    };
    let buffer = |usage| {
        let size = 8 * u64::from(results);
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let (input, calls_buffer) =
        (upload(bytemuck::cast_slice(&input)), upload(bytemuck::cast_slice(&calls)));
    let output = buffer(storage | wgpu::BufferUsages::COPY_SRC);
    let host = buffer(wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: <_>::default(),
        cache: None,
    });
    let bound = [&input, &output, &calls_buffer];
    let entries = [0, 1, 2].map(|binding| wgpu::BindGroupEntry {
        binding,
        resource: bound[binding as usize].as_entire_binding(),
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let most = cases.iter().map(|case| case.inputs.len()).max().unwrap_or(0) as u32;
    let mut encoder = device.create_command_encoder(&<_>::default());
    {
        let mut pass = encoder.begin_compute_pass(&<_>::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(most.div_ceil(64), cases.len() as u32, 1);
    }
    encoder.copy_buffer_to_buffer(&output, 0, &host, 0, 8 * u64::from(results));
    queue.submit([encoder.finish()]);
    host.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("it can be mapped"));
    device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
    let bytes = host.get_mapped_range(..).expect("it is mapped");
    let words: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes);
    words
}

/// The result as the host has it, from the words that the device has.
fn extended(of: Type, word: u64) -> u64 {
    match of {
        Type::Number(Dtype::I8 | Dtype::I16 | Dtype::I32) => i64::from(word as u32 as i32) as u64,
        _ => word,
    }
}

/// Whether WGSL leaves a quotient to devices: if the divisor is beyond 2^126; and if it is cut off, on which side of a whole
/// number it was.
fn is_left_open(case: &Case, input: &[u64], found: u64, expected: u64) -> bool {
    let cut = case.name.ends_with("of_f32::div_euclid");
    if !cut && !case.name.ends_with("of_f32::div") {
        return false;
    }
    let [divisor, found, expected] =
        [input[1], found, expected].map(|word| f32::from_bits(word as u32));
    divisor.abs() > 2f32.powi(126) || cut && (found - expected).abs() <= 1.0
}

/// Whether two results differ by no more than what a device loses that takes subnormal numbers for 0.
fn is_lost(of: Type, found: u64, expected: u64) -> bool {
    match of {
        Type::Number(Dtype::F32) => {
            let [found, expected] = [found, expected].map(|word| f32::from_bits(word as u32));
            (found - expected).abs() <= f32::MIN_POSITIVE
        }
        Type::Number(Dtype::F64) => {
            let [found, expected] = [found, expected].map(f64::from_bits);
            (found - expected).abs() <= f64::MIN_POSITIVE
        }
        _ => false,
    }
}

/// Whether a device takes subnormal numbers for 0: it then misses products that are.
fn flushes(device: &wgpu::Device, queue: &wgpu::Queue, cases: &[Case]) -> bool {
    let product = cases.iter().find(|case| case.name.ends_with("of_f32::mul")).expect("a product");
    let found = run(device, queue, &[product]);
    let subnormal = |word: &u64| f32::from_bits(*word as u32).is_subnormal();
    !found.iter().any(subnormal) && product.expected.iter().flatten().any(subnormal)
}

fn has(features: wgpu::Features, numbers: &[Dtype]) -> bool {
    numbers.iter().all(|dtype| match dtype {
        Dtype::U64 | Dtype::I64 => features.contains(wgpu::Features::SHADER_INT64),
        Dtype::F64 => features.contains(wgpu::Features::SHADER_F64),
        _ => true,
    })
}

/// What Metal and DirectX 12 are given. Neither has `f64`.
#[test]
fn functions_in_wgsl_become_msl_and_hlsl() {
    let all = cases();
    let here: Vec<&Case> =
        all.iter().filter(|case| !shader(&[case]).1.contains(&Dtype::F64)).collect();
    for batch in here.chunks(BATCH) {
        let (text, _) = shader(batch);
        let module = front::wgsl::parse_str(&text);
        let module = module.unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
        let info =
            Validator::new(ValidationFlags::all(), Capabilities::SHADER_INT64).validate(&module);
        let info = info.unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
        let options = msl::Options {
            lang_version: (2, 3),
            fake_missing_bindings: true,
            ..msl::Options::default()
        };
        let (metal, _) = msl::write_string(&module, &info, &options, &<_>::default())
            .unwrap_or_else(|error| panic!("MSL: {error}"));
        assert!(metal.contains("kernel void"), "{metal}");
        let options = hlsl::Options {
            shader_model: hlsl::ShaderModel::V6_0,
            fake_missing_bindings: true,
            ..hlsl::Options::default()
        };
        let mut direct = String::new();
        hlsl::Writer::new(&mut direct, &options, &<_>::default())
            .write(&module, &info, None)
            .unwrap_or_else(|error| panic!("HLSL: {error}"));
        assert!(direct.contains("[numthreads("), "{direct}");
    }
}

#[test]
fn functions_in_wgsl_mean_what_they_mean_in_rust() {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    if adapters.is_empty() {
        let required = std::env::var(GPU_VARIABLE).is_ok_and(|gpu| gpu == "required");
        assert!(!required, "there is no GPU to test");
        return skipped("functions in WGSL", "there is no adapter");
    }
    let cases = cases();
    let mut wrong = Vec::new();
    for adapter in adapters {
        let name = adapter.get_info().name;
        let features =
            adapter.features() & (wgpu::Features::SHADER_INT64 | wgpu::Features::SHADER_F64);
        let described = wgpu::DeviceDescriptor {
            required_features: features,
            required_limits: adapter.limits(),
            ..<_>::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&described)).expect("a device");
        let here: Vec<&Case> =
            cases.iter().filter(|case| has(features, &shader(&[case]).1)).collect();
        println!("{name}: {} of {} functions", here.len(), cases.len());
        let flushes = flushes(&device, &queue, &cases);
        for batch in here.chunks(BATCH) {
            let mut found = run(&device, &queue, batch).into_iter();
            for case in batch {
                let of = case.function.result;
                let mut examples = Vec::new();
                for (input, expected) in case.inputs.iter().zip(&case.expected) {
                    let found = extended(of, found.next().expect("a word for each call"));
                    let Some(expected) = *expected else { continue };
                    let accepted = is_left_open(case, input, found, expected)
                        || case.accepts(found, expected, case.units)
                        || flushes && is_lost(of, found, expected);
                    if !accepted {
                        examples.push(format!("{input:x?} gives {found:x}, not {expected:x}"));
                    }
                }
                if !examples.is_empty() {
                    let (times, shown) = (examples.len(), examples.len().min(EXAMPLES));
                    let examples = examples[..shown].join("; ");
                    wrong.push(format!("{name}: {}, {times} times: {examples}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} functions wrong\n{}", wrong.len(), wrong.join("\n"));
}
