//! Annotated functions in CUDA C++, compiled as kernels are, and on a GPU, where there is one, over hard inputs: the bits that
//! Rust gives. What C++ leaves undefined, the host's compiler looks for (`upsweep-testing/tests/cpp.rs`).

use std::fmt::Write;

use upsweep_core::Language;
use upsweep_core::kernel::Module;
use upsweep_testing::SaturatingSum;
use upsweep_testing::kernels::cuda::{argument, word};
use upsweep_testing::kernels::{Case, cases};

use crate::launch::{Arguments, Launch};
use crate::reduce::{Reads, Reduction};
use crate::shader::Types;
use crate::{Memory, testing};

/// Functions in one text.
const BATCH: usize = 64;

/// By how much the functions of CUDA's library may differ from those that Rust calls.
const UNITS: u32 = 2;

/// Threads of a workgroup.
const THREADS: usize = 128;

/// A kernel in which a workgroup's number says which function it calls. Four words of `calls` are the function, where its input
/// begins, its calls, and where its output begins.
fn text(cases: &[Case]) -> String {
    let mut module = Module::new(Language::Cuda);
    let mut calls = String::new();
    for (number, case) in cases.iter().enumerate() {
        let name =
            module.function(case.function).unwrap_or_else(|why| panic!("{}: {why}", case.name));
        let parameters = case.function.parameters;
        let arguments: Vec<String> = (parameters.iter().enumerate())
            .map(|(k, (_, of))| argument(*of, &format!("words[{k}]")))
            .collect();
        let call = word(case.function.result, &format!("{name}({})", arguments.join(", ")));
        let count = parameters.len();
        let _ =
            writeln!(calls, "    case {number}: words += {count} * item; *result = {call}; break;");
    }
    format!(
        "{}\n{}\nextern \"C\" __global__ void call_all(const u64* input, u64* output, const u64* calls) {{\n\
         \x20   const u64* call = calls + 4 * blockIdx.y;\n\
         \x20   const u64 item = blockIdx.x * {THREADS} + threadIdx.x;\n\
         \x20   if (item >= call[2]) return;\n\
         \x20   const u64* words = input + call[1];\n\
         \x20   u64* result = output + call[3] + item;\n\
         \x20   switch (call[0]) {{\n{calls}    }}\n}}\n",
        include_str!("shader/names.cuh"),
        module.text()
    )
}

/// An operator among all that a kernel declares.
#[test]
fn operators_stand_in_kernels() {
    let Some(compiler) = testing::compiler() else { return };
    let types =
        Types::of(&testing::signature::<u32, u32, u32, _>(&SaturatingSum)).expect("it has a text");
    let reads = Reads { width: 16, skewed: false };
    let (_, shader) = Reduction::kernel("cuda:0", &types, &<_>::default(), 1 << 28, reads)
        .unwrap_or_else(|error| panic!("{error}"));
    let text = shader.text();
    assert!(text.contains("rust_saturating_add_u32"), "{text}");
    let compiled = compiler.compile(&text, 90, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(!compiled.log.contains("warning"), "{}", compiled.log);
}

#[test]
fn functions_in_cuda_mean_what_they_mean_in_rust() {
    let Some(compiler) = testing::compiler() else { return };
    let newest = compiler.archs().expect("a list").pop().expect("it compiles for something");
    let gpu = testing::gpu();
    let cases = cases();
    let mut wrong = Vec::new();
    for batch in cases.chunks(BATCH) {
        let text = text(batch);
        for arch in [80, newest] {
            let compiled = compiler.compile(&text, arch, &[]);
            let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
            assert!(!compiled.log.contains("warning"), "{}", compiled.log);
        }
        let Some(gpu) = &gpu else { continue };
        let (mut input, mut calls, mut results) = (Vec::<u64>::new(), Vec::<u64>::new(), 0);
        for (number, case) in batch.iter().enumerate() {
            calls.extend([number, input.len(), case.inputs.len(), results].map(|at| at as u64));
            input.extend(case.inputs.iter().flatten());
            results += case.inputs.len();
        }
        let most = batch.iter().map(|case| case.inputs.len()).max().unwrap_or(0);
        let (input, calls) = (Memory::holding(gpu, &input), Memory::holding(gpu, &calls));
        let (input, calls) = (input.expect("memory"), calls.expect("memory"));
        let output = Memory::new::<u64>(gpu, results).expect("memory");
        let module = gpu.load(&text, &["call_all"]).expect("a kernel");
        let kernel = module.kernel("call_all").expect("it was named");
        let launch = Launch {
            grid: [most.div_ceil(THREADS) as u32, batch.len() as u32],
            threads: THREADS as u32,
            shared_bytes: 0,
            cooperative: false,
        };
        let arguments = Arguments::new()
            .with(input.slice().pointer())
            .with(output.slice().pointer())
            .with(calls.slice().pointer());
        // SAFETY: the arguments are those of the text above, and the memory is freed behind the kernel.
        unsafe { gpu.launch(gpu.stream(), &kernel, &launch, &arguments) }.expect("it is launched");
        let mut found = output.to_vec::<u64>().expect("it can be read").into_iter();
        for case in batch {
            for (input, expected) in case.inputs.iter().zip(&case.expected) {
                let found = found.next().expect("a word for each call");
                let units = if case.is_of_library() { case.units.min(UNITS) } else { 0 };
                if expected.is_some_and(|expected| !case.accepts(found, expected, units)) {
                    wrong.push(format!("{}{input:x?}: {found:x}, not {expected:x?}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong, such as\n{}", wrong.len(), wrong.join("\n"));
}
