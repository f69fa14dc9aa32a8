//! The kernels of all primitives compile without a GPU, and keep what they hold in registers.
//!
//! Each test makes the text of every kernel it is about; of the texts that differ, [`rotation`] chooses which are compiled in this run.

use std::collections::HashSet;

use upsweep_core::{
    AccessWidth, Apply, Arrangement, BitXor, Bounds, Condition, Direction, Dtype, Element, Extreme,
    Formula, GpuReduceStrategy, GpuScanStrategy, Kind, Language, Layout, Load, Max, Number,
    Operator, Product, Recipe, ReduceGlobal, ReduceLocal, RowAxis, Rows, ScanGlobal, ScanLocal,
    SegmentedBy, Strategy, Sum, Tail, Widen, WorkgroupPolicy, bf16, f16,
};

use upsweep_gpu::{
    Copying, Form, Op, OperatorValues, ReduceOptions, ScanOptions, Segmentation, Selecting,
};
use upsweep_testing::{
    AddedPowers, Around, BothTagged, Capped, Extent, Joined, LargestStretch, LastOther, Pair,
    Powers, Products, Quadratic, Recurrence, Recurs, Stretch, SumUpTo, Tagged, Wide, WideSum,
    is_odd, powers_of, product, recipes, rotation, selections, stretch_of,
};

use crate::bytes;
use crate::compile::Usage;
use crate::device::Facts;
use crate::ladder;
use crate::reduce::{Reads, Reduction};
use crate::rows;
use crate::scan::policy::gathers_to_device_length;
use crate::scan::{Lies, Scanning};
use crate::segmented::by_offsets_shader;
use crate::shader::{Cut, Shader, Types};
use crate::testing;

fn types<T, A, U, O>() -> Types
where
    T: Widen<A>,
    A: Element,
    U: Element,
    O: Operator<A> + Default,
{
    Types::of(&testing::signature::<T, A, U, O>(&O::default())).expect("it has a text")
}

/// Types of every size of item and of value, exact and not.
fn spread() -> Vec<Types> {
    vec![
        types::<u32, u32, u32, Sum>(),
        types::<f32, f32, f32, Sum>(),
        types::<f64, f64, f64, Product>(),
        types::<u64, u64, u64, Sum>(),
        types::<u8, u32, u32, Sum>(),
        types::<i8, i8, i8, Max>(),
        types::<u16, u64, u64, BitXor>(),
        types::<f16, f32, f16, Sum>(),
        types::<bf16, f32, f32, Max>(),
    ]
}

/// Operators with fields, on numbers and structures, whether they commute or not.
fn with_fields() -> Vec<Types> {
    let products = Products { square: 5, unused: 0.5 };
    let all = [
        Types::of(&testing::signature::<u32, u32, u32, _>(&LastOther { nothing: 3 })),
        Types::of(&testing::signature::<i16, i32, i32, _>(&Capped { most: 9, less: 2, rest: 0 })),
        Types::of(&testing::signature::<f32, f32, f32, _>(&SumUpTo { most: 9.5 })),
        Types::of(&testing::signature::<Quadratic, Quadratic, Quadratic, _>(&products)),
    ];
    all.into_iter().map(|types| types.expect("they have a text")).collect()
}

/// Structures of every size, whether they commute or not.
fn structures() -> Vec<Types> {
    vec![
        types::<Pair, Pair, Pair, Joined>(),
        types::<Recurrence, Recurrence, Recurrence, Recurs>(),
        types::<Powers, Powers, Powers, AddedPowers>(),
        types::<Stretch, Stretch, Stretch, LargestStretch>(),
        types::<Tagged, Tagged, Tagged, BothTagged>(),
        types::<Wide, Wide, Wide, WideSum>(),
        types::<Extent, Extent, Extent, Around>(),
    ]
}

/// Of so many distinct kernels one is compiled in each run, beside those that it takes to meet every level.
const ONE_IN: usize = 6;

/// The same of reductions of rows, which differ in more numbers.
const ROWS_ONE_IN: usize = 40;

/// Of so many distinct kernels one is taken with a length that only the device knows, too.
const BOUNDED_ONE_IN: usize = 8;

/// Collects kernels, each text once for an architecture, and compiles those that this run's seed chooses.
#[derive(Default)]
struct Kernels {
    seen: HashSet<(String, u32)>,
    cells: Vec<(Shader, u32)>,
}

impl Kernels {
    /// Takes a kernel for an architecture; of some kernels also that which looks how many items there are, where it has the same policy.
    fn add(&mut self, shader: &Shader, arch: u32) {
        if !self.seen.insert((shader.text(), arch)) {
            return;
        }
        self.cells.push((shader.clone(), arch));
        let types = shader.types.clone().of_length(true);
        if self.cells.len().is_multiple_of(BOUNDED_ONE_IN) && !gathers_to_device_length(&types) {
            self.add(&Shader { types, ..shader.clone() }, arch);
        }
    }

    /// Compiles one of so many kernels, and those that it takes to meet every level; none may warn or spill. All that do are named.
    fn compile(mut self, one_in: usize) {
        let cells = std::mem::take(&mut self.cells);
        let Some(compiler) = testing::compiler() else { return };
        let levels: Vec<_> = cells.iter().map(|(shader, arch)| levels_of(shader, *arch)).collect();
        let chosen = rotation::chosen(&levels, one_in);
        assert!(!chosen.is_empty(), "there is nothing to compile");
        let mut faults = Vec::new();
        for (shader, arch) in chosen.into_iter().map(|number| &cells[number]) {
            let of_cell = || format!("sm_{arch}: {:?} {:?}", shader.types, shader.constants);
            let compiled = match compiler.compile(&shader.text(), *arch, &[]) {
                Ok(compiled) => compiled,
                Err(error) => {
                    faults.push(format!("{error} on {}", of_cell()));
                    continue;
                }
            };
            if compiled.log.contains("warning") {
                faults.push(format!("{} on {}", compiled.log, of_cell()));
            }
            let spills = |usage: &Usage| (usage.stack_bytes, usage.spill_bytes) != (0, 0);
            for usage in compiled.usage().iter().filter(|usage| spills(usage)) {
                faults.push(format!("{usage:?} on {}", of_cell()));
            }
        }
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let forgotten = !self.cells.is_empty() && !std::thread::panicking();
        assert!(!forgotten, "{} kernels were not compiled", self.cells.len());
    }
}

/// What a kernel is an example of: its types, its texts, every number in its header.
fn levels_of(shader: &Shader, arch: u32) -> Vec<String> {
    let Shader { types, width, out_width, constants, parts, .. } = shader;
    let mut levels = vec![
        format!("sm_{arch}"),
        format!("item {:?}", types.item),
        format!("value {:?}", types.acc),
        format!("output {:?}", types.output),
        format!("operator {:?}", types.op),
        format!("{:?}", types.cut),
        format!("input by {width} bytes"),
        format!("output by {out_width} bytes"),
    ];
    levels.extend(types.made.iter().map(|made| format!("lengths {:?}", made.recipe.lengths)));
    levels.extend(constants.iter().map(|(name, value)| format!("{name} = {value}")));
    levels.extend(parts.iter().map(|part| (*part).to_owned()));
    levels
}

/// The architectures from this one on that kernels are compiled for: known ones, and the newest that the compiler knows.
fn archs(first: u32) -> Vec<u32> {
    let Some(compiler) = testing::compiler() else { return Vec::new() };
    let newest = compiler.archs().expect("a list").pop().expect("it compiles for something");
    [80, 90, newest].into_iter().filter(|&arch| arch >= first).collect()
}

fn policies() -> [Option<WorkgroupPolicy>; 4] {
    let policy = |threads_per_workgroup, items_per_thread| {
        Some(WorkgroupPolicy { threads_per_workgroup, items_per_thread })
    };
    [None, policy(32, 1), policy(1024, 1024), policy(256, 32)]
}

/// Rows with their axes across and along: each a length and a stride.
fn rows_of(across: &[(usize, isize)], along: &[(usize, isize)]) -> Rows {
    let axes = |axes: &[(usize, isize)]| {
        axes.iter().map(|&(len, input)| RowAxis { len, input, output: 0 }).collect()
    };
    Rows { across: axes(across), along: axes(along), start: [0; 2] }
}

/// Short rows and long ones, one or several axes, along memory and across it, wherever accesses may begin.
fn kinds_of_rows() -> Vec<Rows> {
    vec![
        rows_of(&[(1 << 25, 8)], &[(8, 1)]),
        rows_of(&[(1000, 3)], &[(3, 1)]),
        rows_of(&[(1 << 20, 100)], &[(100, 1)]),
        rows_of(&[(1 << 18, 1000)], &[(1000, 1)]),
        rows_of(&[(1 << 18, 1001)], &[(1001, 1)]),
        rows_of(&[(256, 1 << 20)], &[(1 << 20, 1)]),
        rows_of(&[(64, 1 << 12)], &[(64, 1 << 18), (1 << 12, 1)]),
        rows_of(&[(1 << 25, 1)], &[(8, 1 << 25)]),
        rows_of(&[(8, 1)], &[(1 << 25, 8)]),
        rows_of(&[(100, 128 * 100), (100, 1)], &[(128, 100)]),
        rows_of(&[(1 << 14, 1)], &[(1 << 14, 1 << 14)]),
        rows_of(&[(3, 1)], &[(1 << 33, 3)]),
        rows_of(&[], &[(77, -5)]),
    ]
}

/// All recipes that make numbers of floats.
fn recipes_of_floats() -> impl Iterator<Item = Recipe> {
    let float = Kind::Number(Dtype::F32);
    recipes().into_iter().filter(move |recipe| recipe.item == float && recipe.written.is_none())
}

/// Sums of what they make.
fn made_of_floats() -> Vec<Types> {
    let sum = testing::signature::<f32, f32, f32, _>(&Sum);
    let sum = |recipe| Types::of_made(&recipe, &sum).expect("it has a text");
    recipes_of_floats().map(sum).collect()
}

/// Searches among what some of them make.
fn found_of_floats() -> impl Iterator<Item = Types> {
    let search = (Dtype::F32, Extreme::Smallest);
    let found = move |recipe| Types::of_position_made(&recipe, search, "cuda:0");
    recipes_of_floats().step_by(2).map(move |recipe| found(recipe).expect("it has a text"))
}

#[test]
fn reductions_of_rows_compile() {
    let mut all_kernels = Kernels::default();
    let mut all = [spread(), with_fields(), structures()].concat();
    all.push(Types::of_position(f32::DTYPE, Extreme::Largest));
    all.push(Types::of_position(u8::DTYPE, Extreme::Smallest));
    all.extend(made_of_floats());
    all.extend(found_of_floats());
    for types in &all {
        for rows in kinds_of_rows() {
            for address in [0, 4] {
                let shape = rows::shape(types, &rows, address, None);
                let shader = rows::shader(types, &shape, &rows, false);
                for arch in archs(80) {
                    all_kernels.add(&shader, arch);
                }
            }
        }
    }
    all_kernels.compile(ROWS_ONE_IN);
}

#[test]
fn scans_of_rows_compile() {
    let mut all_kernels = Kernels::default();
    for types in &[spread(), with_fields(), structures(), made_of_floats()].concat() {
        for (number, rows) in kinds_of_rows().into_iter().enumerate() {
            let bounds = [Bounds::Inclusive, Bounds::Exclusive][number % 2];
            let direction = [Direction::Forward, Direction::Reverse][number / 2 % 2];
            let form = Form { bounds, direction, only_total: false, ..Form::TOTAL };
            let output = |axis: RowAxis| RowAxis { output: axis.input, ..axis };
            let rows = Rows {
                across: rows.across.into_iter().map(output).collect(),
                along: rows.along.into_iter().map(output).collect(),
                ..rows
            };
            let shape = rows::scan_shape(types, &rows, 0, None);
            let out_vector = shape.out_vector(&rows, types.output.size(), 0);
            let shader = rows::scan_shader(types, &shape, &rows, form, out_vector);
            let totals = rows::shader(types, &shape, &rows, direction == Direction::Reverse);
            for arch in archs(80) {
                all_kernels.add(&shader, arch);
                if shape.parts > 1 {
                    all_kernels.add(&totals, arch);
                }
            }
        }
    }
    all_kernels.compile(ROWS_ONE_IN);
}

#[test]
fn copies_compile() {
    let mut all_kernels = Kernels::default();
    for word in [Dtype::U8, Dtype::U16, Dtype::U32, Dtype::U64] {
        for (shape, strides) in
            [(&[64, 64][..], &[64, 1][..]), (&[64, 64], &[1, 64]), (&[9, 7, 5], &[1, 45, 9])]
        {
            let from = Layout::strided(shape, strides, 0).expect("strides");
            let to = Layout::packed(shape).expect("a shape");
            let rows = Rows::scanned(&from, &[], &to).in_output_order();
            let types = Types::new(
                word.into(),
                word.into(),
                word.into(),
                Op::Sum,
                OperatorValues::none(word.into()),
            );
            let copying = Copying::new(&rows, word.size(), [0; 2]);
            for arch in archs(80) {
                all_kernels.add(&rows::copy_shader(&types, &copying), arch);
            }
        }
    }
    all_kernels.compile(4);
}

#[test]
fn reductions_compile() {
    let mut all_kernels = Kernels::default();
    let load =
        Load { arrangement: Arrangement::Striped, width: AccessWidth::Bytes16, tail: Tail::Exact };
    let mut all = spread();
    all.push(Types::of_position(f32::DTYPE, Extreme::Largest));
    all.push(Types::of_position(u8::DTYPE, Extreme::Smallest));
    for (number, types) in all.iter().enumerate() {
        let size = types.item.size() as u32;
        for (turn, &global) in
            [ReduceGlobal::LastBlock, ReduceGlobal::Atomic, ReduceGlobal::MultiLevel]
                .iter()
                .enumerate()
        {
            let strategy =
                Some(GpuReduceStrategy { load, local: ReduceLocal::Cooperative, global });
            let policy = policies()[(number + turn) % 4];
            let widths = [16, size.max(4), size];
            let width = widths[(number + turn) % 3];
            let options = ReduceOptions { strategy, policy };
            let reads = Reads { width, skewed: width > size && number % 2 == 0 };
            let Ok((_, shader)) = Reduction::kernel("cuda:0", types, &options, 1 << 28, reads)
            else {
                assert!(global == ReduceGlobal::Atomic && types.op.atomic(types.held()).is_none());
                continue;
            };
            for arch in archs(80) {
                all_kernels.add(&shader, arch);
            }
        }
    }
    all_kernels.compile(ONE_IN);
}

#[test]
fn strategies_of_reductions_compile() {
    let mut all_kernels = Kernels::default();
    let mut all = spread();
    all.push(types::<u8, f64, f64, Sum>());
    all.push(Types::of_position(f64::DTYPE, Extreme::Largest));
    all.push(Types::of_position(u8::DTYPE, Extreme::Smallest));
    let archs = archs(80);
    for (number, types) in all.iter().enumerate() {
        let loads = Load::all().filter(|load| bytes(load.width) as usize >= types.item.size());
        for (turn, load) in loads.enumerate() {
            // Every local with every load, in three of the types at hand.
            let turn = turn + turn / 3 + number;
            let local = ReduceLocal::ALL[turn % 3];
            let global = [ReduceGlobal::LastBlock, ReduceGlobal::MultiLevel][turn / 3 % 2];
            let options = ReduceOptions {
                strategy: Some(GpuReduceStrategy { load, local, global }),
                policy: policies()[(number + turn / 2) % 4],
            };
            let width = bytes(load.width);
            let skewed = width as usize > types.item.size() && turn % 4 == 1;
            let reads = Reads { width, skewed };
            let kernel = Reduction::kernel("cuda:0", types, &options, 1 << 28, reads);
            let (_, shader) = kernel.unwrap_or_else(|error| panic!("{error}"));
            if let Some(&arch) = archs.get(turn % archs.len().max(1)) {
                all_kernels.add(&shader, arch);
            }
        }
    }
    all_kernels.compile(ONE_IN);
}

#[test]
fn reductions_are_refused_for_what_types_lack() {
    let load =
        Load { arrangement: Arrangement::Blocked, width: AccessWidth::Bytes4, tail: Tail::Checked };
    let strategy = |global| GpuReduceStrategy { load, local: ReduceLocal::Raking, global };
    let refused = |types: &Types, global, reason: &str| {
        let options = ReduceOptions { strategy: Some(strategy(global)), policy: None };
        let reads = Reads { width: 8, skewed: false };
        let kernel = Reduction::kernel("cuda:0", types, &options, 1 << 20, reads);
        let error = kernel.map(drop).expect_err("it cannot be had").to_string();
        assert!(error.contains(&Strategy::GpuReduce(strategy(global)).to_string()), "{error}");
        assert!(error.contains(reason), "{error}");
    };
    let wide = types::<f64, f64, f64, Sum>();
    refused(&wide, ReduceGlobal::LastBlock, "an access of 4 bytes holds no f64");
    let rounds = types::<f32, f32, f32, Sum>();
    refused(&rounds, ReduceGlobal::Atomic, "there is no atomic sum of f32");
}

#[test]
fn scans_compile() {
    let mut all_kernels = Kernels::default();
    for (number, types) in spread().iter().enumerate() {
        for (turn, direction) in [Direction::Forward, Direction::Reverse].into_iter().enumerate() {
            let bounds = [Bounds::Inclusive, Bounds::Exclusive][(number + turn) % 2];
            let form =
                Form { bounds, direction, everywhere: true, only_total: false, selecting: None };
            let lies = Lies {
                width: 16,
                aligned: number % 4 != 3,
                out_aligned: (number + turn) % 5 != 4,
                one_by_one: false,
                evenly: true,
                batched: number % 3 == turn,
            };
            let policy = policies()[(number / 2 + 2 * turn) % 4];
            let options = ScanOptions { policy, ..ScanOptions::default() };
            for arch in archs(90) {
                let facts = Facts { arch, ..testing::facts(90) };
                let device = ("cuda:0", &facts);
                let kernels = Scanning::kernels(device, types, form, 1 << 28, lies, &options);
                let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
                all_kernels.add(&shaders[0], arch);
            }
        }
    }
    all_kernels.compile(ONE_IN);
}

/// Scans of words of several items, staged and in registers, in every form.
#[test]
fn packed_scans_compile() {
    let mut all_kernels = Kernels::default();
    let archs = archs(80);
    let all = [types::<u8, u8, u8, Sum>(), types::<i16, i16, i16, Sum>()];
    for (number, types) in all.iter().enumerate() {
        let types = types.packed().expect("it is a sum of short integers");
        for turn in 0..8 {
            let Some(&arch) = archs.get((number + turn) % archs.len().max(1)) else { return };
            let bounds = [Bounds::Inclusive, Bounds::Exclusive][turn % 2];
            let direction = [Direction::Forward, Direction::Reverse][turn / 2 % 2];
            let form =
                Form { bounds, direction, everywhere: true, only_total: false, selecting: None };
            let (aligned, out_aligned) = (turn % 3 > 0, turn % 4 > 0);
            let lies = Lies {
                width: 16,
                aligned,
                out_aligned,
                one_by_one: false,
                evenly: aligned,
                batched: turn % 3 == 1,
            };
            let facts = Facts { arch, ..testing::facts(arch) };
            let options = ScanOptions { policy: policies()[turn % 4], ..ScanOptions::default() };
            let items = [1 << 28, 1 << 16][turn / 4];
            let kernels =
                Scanning::kernels(("cuda:0", &facts), &types, form, items, lies, &options);
            let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
            all_kernels.add(&shaders[0], arch);
        }
    }
    all_kernels.compile(ONE_IN);
}

#[test]
fn only_plain_sums_of_short_integers_are_packed() {
    assert_eq!(types::<i8, i8, i8, Sum>().packed().map(|types| types.packed), Some(4));
    assert_eq!(types::<u16, u16, u16, Sum>().packed().map(|types| types.packed), Some(2));
    for other in [
        types::<u8, u32, u32, Sum>(),
        types::<u8, u8, u8, Max>(),
        types::<u32, u32, u32, Sum>(),
        types::<f16, f32, f16, Sum>(),
    ] {
        assert_eq!(other.packed(), None);
    }
}

#[test]
fn structures_compile() {
    let mut all_kernels = Kernels::default();
    let archs = archs(80);
    for (turn, types) in structures().iter().chain(&with_fields()).enumerate() {
        let Some(&arch) = archs.get(turn % archs.len().max(1)) else { return };
        let facts = Facts { arch, ..testing::facts(arch) };
        let device = ("cuda:0", &facts);
        let lies = Lies {
            width: 16,
            aligned: turn % 2 == 0,
            out_aligned: turn % 3 > 0,
            one_by_one: false,
            evenly: true,
            batched: false,
        };
        let forms = [Form { only_total: false, ..Form::TOTAL }, Form::TOTAL];
        let in_order = GpuScanStrategy {
            load: Load {
                arrangement: Arrangement::Striped,
                width: AccessWidth::Bytes16,
                tail: Tail::Exact,
            },
            local: ScanLocal::Cooperative,
            global: ScanGlobal::ReduceThenScan,
        };
        for (items, form, strategy) in [
            (1 << 28, forms[0], None),
            (1 << 16, forms[0], None),
            (1 << 28, forms[0], Some(in_order)),
            (1 << 28, forms[1], Some(in_order)),
        ] {
            let options = ScanOptions { strategy, ..ScanOptions::default() };
            let kernels = Scanning::kernels(device, types, form, items, lies, &options);
            let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
            shaders.iter().for_each(|shader| all_kernels.add(shader, arch));
        }
        if types.op.is_commutative() {
            let size = types.item.size() as u32;
            let whole = types.item.number().is_none() && !(size.is_power_of_two() && size <= 16);
            let reads =
                Reads { width: if whole { size } else { 16 }, skewed: turn % 2 == 0 && !whole };
            let options = ReduceOptions::default();
            let kernel = Reduction::kernel("cuda:0", types, &options, 1 << 28, reads);
            let (_, shader) = kernel.unwrap_or_else(|error| panic!("{error}"));
            all_kernels.add(&shader, arch);
        }
    }
    all_kernels.compile(ONE_IN);
}

/// Adds the kernels that reduce segments of items that are made, said in one of three ways.
fn add_segments(all_kernels: &mut Kernels, types: &Types, facts: &Facts, lies: Lies, turn: usize) {
    let (by, kind, long) = [
        (SegmentedBy::Offsets, Dtype::U32.into(), false),
        (SegmentedBy::Flags, Dtype::U8.into(), false),
        (SegmentedBy::Keys, Dtype::U32.into(), true),
    ][turn % 3];
    let wide = by != SegmentedBy::Offsets && turn.is_multiple_of(2);
    let is_bounded = by == SegmentedBy::Offsets && turn.is_multiple_of(2);
    let cut = Cut { of: Segmentation { by, kind, wide, reduces: true, is_bounded }, long };
    let types = Types { cut: Some(cut), ..types.clone() };
    if by == SegmentedBy::Offsets {
        all_kernels.add(&by_offsets_shader(facts, &types, &cut, lies), facts.arch);
        return;
    }
    let form = Form { only_total: false, ..Form::TOTAL };
    let strategy = Some(crate::scan::policy::of_types(facts.arch, &types, true));
    let options = ScanOptions { strategy, ..ScanOptions::default() };
    let kernels = Scanning::kernels(("cuda:0", facts), &types, form, 1 << 28, lies, &options);
    let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
    shaders.iter().for_each(|shader| all_kernels.add(shader, facts.arch));
}

/// Kernels that make items of those anywhere in arrays, or of none, and are handed parameters.
#[test]
fn items_of_parameters_compile() {
    let mut all_kernels = Kernels::default();
    let archs = archs(80);
    for (turn, recipe) in recipes().iter().enumerate() {
        let writes_other = recipe.written.is_some();
        let types = match (recipe.item.number(), writes_other) {
            (Some(Dtype::F32), true) => {
                Types::of_made(recipe, &testing::signature::<f32, f32, u32, _>(&Sum))
            }
            (Some(Dtype::F32), false) => {
                Types::of_made(recipe, &testing::signature::<f32, f32, f32, _>(&Sum))
            }
            _ if turn % 2 == 0 => {
                Types::of_made(recipe, &testing::signature::<u32, u32, u32, _>(&Sum))
            }
            _ => Types::of_made(
                recipe,
                &testing::signature::<u32, u32, u32, _>(&LastOther { nothing: 1 }),
            ),
        };
        let types = types.expect("they have a text");
        let types = types.of_length(!recipe.lengths.all.is_empty());
        let Some(&arch) = archs.get(turn % archs.len().max(1)) else { return };
        let facts = Facts { arch, ..testing::facts(arch) };
        let most = recipe.items_of_access() * types.item.size() as u32;
        let bounded = types.clone().of_length(true);
        let lengths = [Some(types), gathers_to_device_length(&bounded).then_some(bounded)];
        let cells = lengths.iter().flatten().flat_map(|types| [(types, false), (types, true)]);
        for (types, one_by_one) in cells {
            let width = if one_by_one { types.item.size() as u32 } else { most };
            if !writes_other && types.op.is_commutative() {
                let (options, reads) = (ReduceOptions::default(), Reads { width, skewed: false });
                let kernel = Reduction::kernel("cuda:0", types, &options, 1 << 28, reads);
                let (_, shader) = kernel.unwrap_or_else(|error| panic!("{error}"));
                all_kernels.add(&shader, arch);
            }
            let lies = Lies {
                width: 16,
                aligned: true,
                out_aligned: true,
                one_by_one,
                evenly: !one_by_one,
                batched: false,
            };
            add_segments(&mut all_kernels, types, &facts, lies, turn + usize::from(one_by_one));
            let bounds = [Bounds::Inclusive, Bounds::Exclusive][turn % 2];
            let direction = [Direction::Forward, Direction::Reverse][turn / 2 % 2];
            let form =
                Form { bounds, direction, everywhere: true, only_total: false, selecting: None };
            let strategy = Some(crate::scan::policy::of_types(arch, types, true));
            for form in [form, Form::TOTAL] {
                let strategy = match form.only_total {
                    true => "striped-16-exact/cooperative/reduce-then-scan".parse().ok(),
                    false => strategy,
                };
                let options = ScanOptions { strategy, ..ScanOptions::default() };
                let device = ("cuda:0", &facts);
                let kernels = Scanning::kernels(device, types, form, 1 << 28, lies, &options);
                let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
                shaders.iter().for_each(|shader| all_kernels.add(shader, arch));
            }
        }
    }
    all_kernels.compile(ONE_IN);
}

/// Kernels that make items as they read them: of one array and of two, of several widths, read at once or one by one.
#[test]
fn made_items_compile() {
    let mut all_kernels = Kernels::default();
    let recipe = |item, arrays: &[Kind], function| {
        let items = (0..arrays.len()).map(Formula::Item).collect();
        Recipe::of_arrays(item, arrays.to_vec(), Formula::Call(function, items))
    };
    let [float, integer] = [Kind::Number(Dtype::F32), Kind::Number(Dtype::I32)];
    let dot = recipe(float, &[float, float], product {}.function());
    let powers = recipe(Powers::KIND, &[float], powers_of {}.function());
    let stretches = recipe(Stretch::KIND, &[integer], stretch_of {}.function());
    let bytes = recipe(Kind::Number(Dtype::U32), &[Kind::Number(Dtype::U8)], is_odd {}.function());
    let all = [
        Types::of_made(&dot, &testing::signature::<f32, f32, f32, _>(&Sum)),
        Types::of_made(&dot, &testing::signature::<f64, f64, f64, _>(&Sum)),
        Types::of_made(&dot, &testing::signature::<f32, f32, f32, _>(&Max)),
        Types::of_made(&bytes, &testing::signature::<u32, u32, u32, _>(&Sum)),
        Types::of_made(&powers, &testing::signature::<Powers, Powers, Powers, _>(&AddedPowers)),
        Types::of_made(
            &stretches,
            &testing::signature::<Stretch, Stretch, Stretch, _>(&LargestStretch),
        ),
        Types::of_made(&bytes, &testing::signature::<u32, u32, u32, _>(&LastOther { nothing: 1 })),
        Types::of_made(&dot, &testing::signature::<f32, f32, f32, _>(&SumUpTo { most: 9.5 })),
    ];
    let archs = archs(80);
    for (turn, types) in all.into_iter().enumerate() {
        let types = types.expect("they have a text");
        let Some(&arch) = archs.get(turn % archs.len().max(1)) else { return };
        let facts = Facts { arch, ..testing::facts(arch) };
        for one_by_one in [false, true] {
            let width = if one_by_one { types.item.size() as u32 } else { 16 };
            if types.op.is_commutative() {
                let (options, reads) = (ReduceOptions::default(), Reads { width, skewed: false });
                let kernel = Reduction::kernel("cuda:0", &types, &options, 1 << 28, reads);
                let (_, shader) = kernel.unwrap_or_else(|error| panic!("{error}"));
                all_kernels.add(&shader, arch);
            }
            let lies = Lies {
                width: 16,
                aligned: true,
                out_aligned: true,
                one_by_one,
                evenly: !one_by_one,
                batched: false,
            };
            add_segments(&mut all_kernels, &types, &facts, lies, turn + usize::from(one_by_one));
            let forms = [Form { only_total: false, ..Form::TOTAL }, Form::TOTAL];
            for form in &forms[..if types.op.is_commutative() { 1 } else { 2 }] {
                let strategy = if form.only_total {
                    "striped-16-exact/cooperative/reduce-then-scan".parse().ok()
                } else {
                    Some(crate::scan::policy::of_types(arch, &types, true))
                };
                let options = ScanOptions { strategy, ..ScanOptions::default() };
                let device = ("cuda:0", &facts);
                let kernels = Scanning::kernels(device, &types, *form, 1 << 28, lies, &options);
                let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
                shaders.iter().for_each(|shader| all_kernels.add(shader, arch));
            }
        }
    }
    all_kernels.compile(ONE_IN);
}

/// Selections of every kind, by each way in which chunks learn what comes before them.
#[test]
fn selections_compile() {
    let mut all_kernels = Kernels::default();
    let archs = archs(80);
    let strategies = [
        None,
        "striped-16-exact/cooperative/reduce-then-scan".parse().ok(),
        "blocked-16-checked/raking/look-back-fallback".parse().ok(),
        "striped-16-exact/blelloch/aggregates".parse().ok(),
    ];
    let ways = [
        Selecting::Selected,
        Selecting::Partitioned,
        Selecting::Counted,
        Selecting::Behind,
        Selecting::Last,
    ];
    for (number, recipe) in selections().iter().enumerate() {
        for (turn, strategy) in strategies.iter().enumerate() {
            let turn = number + turn;
            let Some(&arch) = archs.get(turn % archs.len().max(1)) else { return };
            let items = if turn % 5 == 4 { 1 << 33 } else { 1 << 28 };
            let signature = upsweep_gpu::select::signature(recipe, items, Language::Cuda);
            let types = Types::of_made(recipe, &signature).expect("it has a text");
            let types = types.of_length(!recipe.lengths.all.is_empty());
            let facts = Facts { arch, ..testing::facts(arch) };
            let evenly = turn % 4 != 1;
            let strategy = strategy.unwrap_or(crate::scan::policy::of_types(arch, &types, evenly));
            let options = ScanOptions { strategy: Some(strategy), ..ScanOptions::default() };
            let (device, one_by_one) = (("cuda:0", &facts), turn % 3 == 2);
            let lies = Lies {
                width: 16,
                aligned: true,
                out_aligned: turn % 2 == 0,
                one_by_one,
                evenly,
                batched: false,
            };
            let way = match recipe.condition {
                Some(Condition::Begins(..)) if turn % 3 == 0 => {
                    Selecting::Runs { long: turn % 2 == 0 }
                }
                Some(Condition::Begins(..)) if turn % 3 == 1 => {
                    Selecting::Segments { long: items > 1 << 32 }
                }
                _ => ways[turn % ways.len()],
            };
            let (form, types) = (Form::of_selection(way), types.selecting(way));
            let kernels = Scanning::kernels(device, &types, form, items, lies, &options);
            let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
            shaders.iter().for_each(|shader| all_kernels.add(shader, arch));
        }
        // How many there are is a sum. Runs are not counted by themselves.
        if recipe.condition.as_ref().and_then(Condition::compared).is_some() {
            continue;
        }
        let (counted, _) = recipe.indicator();
        let types = Types::of_made(&counted, &testing::signature::<u32, u64, u64, _>(&Sum));
        let types = types.expect("it has a text").of_length(!counted.lengths.all.is_empty());
        let Some(&arch) = archs.get(number % archs.len().max(1)) else { return };
        let width = counted.items_of_access() * types.item.size() as u32;
        let (options, reads) = (ReduceOptions::default(), Reads { width, skewed: false });
        let kernel = Reduction::kernel("cuda:0", &types, &options, 1 << 28, reads);
        let (_, shader) = kernel.unwrap_or_else(|error| panic!("{error}"));
        all_kernels.add(&shader, arch);
    }
    all_kernels.compile(1);
}

/// Scans and reductions of segments, said in every way, of every kind of value.
#[test]
fn segments_compile() {
    let mut all_kernels = Kernels::default();
    let cuts = [
        (SegmentedBy::Offsets, Dtype::U32.into(), false),
        (SegmentedBy::Offsets, Dtype::U64.into(), false),
        (SegmentedBy::Flags, Dtype::U8.into(), true),
        (SegmentedBy::Keys, Dtype::U32.into(), true),
        (SegmentedBy::Keys, Dtype::F64.into(), false),
        (SegmentedBy::Keys, Wide::KIND, false),
    ];
    let all = [
        types::<u32, u32, u32, Sum>(),
        types::<f32, f32, f32, Sum>(),
        types::<f16, f32, f16, Sum>(),
        types::<f64, f64, f64, Max>(),
        types::<u8, u32, u32, Sum>(),
        types::<Recurrence, Recurrence, Recurrence, Recurs>(),
        Types::of(&testing::signature::<u32, u32, u32, _>(&LastOther { nothing: 3 }))
            .expect("it has a text"),
    ];
    let archs = archs(80);
    for (turn, (by, kind, wide)) in cuts.into_iter().enumerate() {
        for (number, of) in all.iter().enumerate() {
            let turn = turn + number;
            for reduces in [false, true] {
                let Some(&arch) = archs.get(turn % archs.len().max(1)) else { return };
                let is_bounded = by == SegmentedBy::Offsets && number % 2 == 1;
                let of_offsets = Segmentation { by, kind, wide, reduces, is_bounded };
                let cut = Cut { of: of_offsets, long: turn % 4 == 3 };
                let types = Types { cut: Some(cut), ..of.clone() };
                let facts = Facts { arch, ..testing::facts(arch) };
                if reduces && by == SegmentedBy::Offsets {
                    let aligned = turn % 2 == 0;
                    let lies = Lies {
                        width: 16,
                        aligned,
                        out_aligned: true,
                        one_by_one: false,
                        evenly: aligned,
                        batched: false,
                    };
                    all_kernels.add(&by_offsets_shader(&facts, &types, &cut, lies), arch);
                    continue;
                }
                let bounds = [Bounds::Inclusive, Bounds::Exclusive][turn % 2];
                let direction = [Direction::Forward, Direction::Reverse][turn / 2 % 2];
                let form = match reduces {
                    true => Form { only_total: false, ..Form::TOTAL },
                    false => Form { bounds, direction, only_total: false, ..Form::TOTAL },
                };
                let (aligned, out_aligned) = (turn % 5 != 4, reduces || turn % 3 != 2);
                let lies = Lies {
                    width: 16,
                    aligned,
                    out_aligned,
                    one_by_one: false,
                    evenly: aligned,
                    batched: false,
                };
                let in_turn = "striped-16-exact/cooperative/reduce-then-scan";
                let strategy = match turn % 3 {
                    2 => in_turn.parse().ok(),
                    _ => Some(crate::scan::policy::of_types(arch, &types, true)),
                };
                let options = ScanOptions { strategy, ..ScanOptions::default() };
                let device = ("cuda:0", &facts);
                let kernels = Scanning::kernels(device, &types, form, 1 << 28, lies, &options);
                let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
                shaders.iter().for_each(|shader| all_kernels.add(shader, arch));
            }
        }
    }
    all_kernels.compile(ONE_IN);
}

/// Scans whose threads hold their items, of every type, aligned and not; policies, forms and architectures in turn.
#[test]
fn scans_in_registers_compile() {
    let mut all_kernels = Kernels::default();
    let archs = archs(80);
    for (turn, types) in spread().iter().enumerate() {
        for aligned in [true, false] {
            let turn = 2 * turn + usize::from(aligned);
            let bounds = [Bounds::Inclusive, Bounds::Exclusive][turn / 2 % 2];
            let direction = [Direction::Forward, Direction::Reverse][turn / 3 % 2];
            let form =
                Form { bounds, direction, everywhere: true, only_total: false, selecting: None };
            let lies = Lies {
                width: 16,
                aligned,
                out_aligned: turn % 3 > 0,
                one_by_one: false,
                evenly: aligned,
                batched: false,
            };
            let policy = policies()[turn / 2 % 4];
            let options = ScanOptions { policy, ..ScanOptions::default() };
            let Some(&arch) = archs.get(turn % archs.len().max(1)) else { return };
            let facts = Facts { arch, ..testing::facts(arch) };
            let kernels =
                Scanning::kernels(("cuda:0", &facts), types, form, 1 << 16, lies, &options);
            let (_, shaders) = kernels.unwrap_or_else(|error| panic!("{error}"));
            all_kernels.add(&shaders[0], arch);
        }
    }
    all_kernels.compile(ONE_IN);
}

/// Every global strategy that has kernels of its own with every type; locals and loads, policies and architectures in turn.
#[test]
fn scans_without_a_serving_warp_compile() {
    let mut all_kernels = Kernels::default();
    let loads: Vec<Load> = Load::all().collect();
    let mut turn = 0;
    for types in spread() {
        for &global in ScanGlobal::ALL {
            turn += 1;
            let everywhere = turn % 2 == 0 || types.is_exact();
            let local = ScanLocal::ALL[turn % if everywhere && !types.is_exact() { 1 } else { 3 }];
            let mut load = loads[5 * turn % loads.len()];
            if types.item.size().max(types.output.size()) > 4 {
                load.width = AccessWidth::Bytes8;
            }
            let bounds = [Bounds::Inclusive, Bounds::Exclusive][turn % 2];
            let direction = [Direction::Forward, Direction::Reverse][turn / 2 % 2];
            let form = Form { bounds, direction, everywhere, only_total: false, selecting: None };
            let lies = Lies {
                width: bytes(load.width),
                aligned: turn % 7 != 6,
                out_aligned: turn % 9 != 8,
                one_by_one: false,
                evenly: true,
                batched: false,
            };
            let strategy = Some(GpuScanStrategy { load, local, global });
            let wide = Some(WorkgroupPolicy { threads_per_workgroup: 512, items_per_thread: 16 });
            let policy = if turn % 5 == 4 { wide } else { policies()[turn % 4] };
            let options = ScanOptions { strategy, policy, stalled: None };
            let Some(&arch) = archs(80).get(turn % 3) else { return };
            let facts = Facts { arch, ..testing::facts(90) };
            let kernels =
                Scanning::kernels(("cuda:0", &facts), &types, form, 1 << 28, lies, &options);
            match kernels {
                Ok((_, shaders)) => shaders.iter().for_each(|shader| all_kernels.add(shader, arch)),
                Err(error) => {
                    let rounds = error.to_string().contains("what is written is rounded");
                    assert!(rounds && types.output.size() < 4, "{error}");
                }
            }
        }
    }
    all_kernels.compile(ONE_IN);
}

#[test]
fn probes_compile() {
    let Some(compiler) = testing::compiler() else { return };
    for arch in archs(80) {
        let compiled = compiler.compile(&crate::probe::text(), arch, &[]);
        let usage = compiled.unwrap_or_else(|error| panic!("{error}")).usage();
        assert_eq!(usage.len(), 3, "three kernels");
        assert!(usage.iter().all(|usage| usage.spill_bytes + usage.stack_bytes == 0));
    }
}

#[test]
fn the_ladder_compiles() {
    let Some(compiler) = testing::compiler() else { return };
    for arch in archs(80) {
        let compiled = compiler.compile(&ladder::text(), arch, &[]);
        let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
        assert!(!compiled.log.contains("warning"), "{}", compiled.log);
        let usage = compiled.usage();
        let names: HashSet<_> = usage.iter().map(|usage| usage.entry.as_str()).collect();
        assert_eq!(names, ladder::entries().into_iter().collect());
        assert!(usage.iter().all(|usage| usage.spill_bytes + usage.stack_bytes == 0), "{usage:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let form = |everywhere| Form { everywhere, only_total: false, ..Form::TOTAL };
    let refused = |facts: &Facts, types: &Types, form, name: &str| {
        let strategy = name.parse::<GpuScanStrategy>().expect("a name");
        let width = bytes(strategy.load.width);
        let lies = Lies {
            width,
            aligned: true,
            out_aligned: true,
            one_by_one: false,
            evenly: true,
            batched: false,
        };
        let options = ScanOptions { strategy: Some(strategy), ..ScanOptions::default() };
        let kernels = Scanning::kernels(("cuda:0", facts), types, form, 1 << 28, lies, &options);
        kernels.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let new = testing::facts(90);
    let (floats, halves) = (types::<f32, f32, f32, Sum>(), types::<f16, f32, f16, Sum>());
    for (types, name, reason) in [
        (&floats, "striped-16-exact/blelloch/look-back", "nests operations from the left"),
        (&halves, "striped-16-exact/raking/scan-then-propagate", "what is written is rounded"),
    ] {
        let error = refused(&new, types, form(true), name);
        assert!(error.contains(name) && error.contains(reason), "{error}");
        assert_eq!(refused(&new, types, form(false), name), "", "not at a lower level");
    }
    assert_eq!(
        refused(&new, &floats, form(true), "blocked-4-checked/raking/scan-then-propagate"),
        ""
    );
    let wide = types::<f64, f64, f64, Sum>();
    let error = refused(&new, &wide, form(true), "striped-4-exact/raking/reduce-then-scan");
    assert!(error.contains("an access of 4 bytes holds no f64"), "{error}");
    let alone = Facts { cooperative: false, ..new };
    let error = refused(&alone, &floats, form(true), "striped-16-exact/cooperative/aggregates");
    assert!(error.contains("does not run all workgroups at once"), "{error}");
    let old = testing::facts(60);
    let error = refused(&old, &floats, form(true), "striped-16-exact/cooperative/look-back");
    assert!(error.contains("does not promise"), "{error}");
    for name in
        ["striped-16-exact/cooperative/look-back-fallback", "blocked-8-exact/raking/aggregates"]
    {
        assert_eq!(refused(&old, &floats, form(true), name), "");
    }
}
