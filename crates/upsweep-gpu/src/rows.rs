//! Reductions of the rows of an n-dimensional array: the steps of a call.

use std::sync::Arc;

use upsweep_core::{Dtype, Error, Extreme, Kind, Result, RowAxis, Rows, RowsStrategy};

use crate::arrays::{ErasedSource, ErasedTarget, Ingredients, Inputs, Part};
use crate::erased::{ErasedReduce, ErasedScan};
use crate::on_device::{self, Written};
use crate::options::{Form, Init, RowsOptions, ScanOptions};
use crate::primitives::{Job, Primitives};
use crate::{Op, OperatorValues, Syntax, Types};

/// No items.
const NOTHING: &[u8] = &[];

/// Most axes across rows, and along them, where those that follow one another are one.
pub const MOST_AXES: usize = 6;

/// Rows are reduced one after another by all workgroups if there are no more than so many, of at least so many items: then the launches
/// of a reduction are a small part of each.
const FEW_ROWS: usize = 8;
const LONG_ROW: usize = 1 << 22;

/// Writes the value of each row of `input` to `output`, where the rows say. Waits for an output in the host's memory only.
///
/// # Errors
/// Those of the device; [`Error::Shape`] for more axes than a kernel has, and [`Error::Buffer`] for a length that only the device knows.
pub fn reduce<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    problem: &ErasedReduce,
    options: &RowsOptions,
) -> Result<()> {
    let [item, output_kind] = kinds(gpu.types(&problem.signature)?);
    of_arrays(gpu, (input, item), rows, (output, output_kind), |slices| {
        gpu.begin(&bind_reduce(gpu, workspace, slices, rows, problem, options)?)
    })
}

/// Writes where in each row its extreme is, `u64::MAX` of a row without items; as [`reduce`].
///
/// # Errors
/// As [`reduce`].
pub fn position<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    (item, extreme): (Dtype, Extreme),
    options: &RowsOptions,
) -> Result<()> {
    let position = Kind::Number(Dtype::U64);
    of_arrays(gpu, (input, item.into()), rows, (output, position), |slices| {
        gpu.begin(&bind_position(gpu, workspace, slices, rows, (item, extreme), options)?)
    })
}

/// Writes the prefixes of each row of `input` to `output`, where the rows say; as [`reduce`].
///
/// # Errors
/// As [`reduce`].
pub fn scan<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    input: ErasedSource<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    problem: &ErasedScan,
    options: &RowsOptions,
) -> Result<()> {
    let [item, output_kind] = kinds(gpu.types(&problem.signature)?);
    of_arrays(gpu, (input, item), rows, (output, output_kind), |slices| {
        gpu.begin(&bind_scan(gpu, workspace, slices, rows, problem, options)?)
    })
}

/// Writes each item of `input`, of this kind, to its place in `output`; as [`reduce`].
///
/// # Errors
/// As [`reduce`].
pub fn copy<G: Primitives>(
    gpu: &Arc<G>,
    input: ErasedSource<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    kind: Kind,
) -> Result<()> {
    of_arrays(gpu, (input, kind), rows, (output, kind), |slices| {
        gpu.begin(&bind_copy(gpu, slices, rows, kind)?)
    })
}

/// The same reduction of items that are made as they are read. The problem's items are of the type that they are combined in.
///
/// # Errors
/// As [`reduce`] and [`reduce_made`](crate::reduce::reduce_made).
pub fn reduce_made<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    problem: &ErasedReduce,
    options: &RowsOptions,
) -> Result<()> {
    if rows.items() == 0 {
        // There is nothing to make, but a value for each row.
        let nothing = ErasedSource::Host(&NOTHING, 0..0);
        return reduce(gpu, workspace, nothing, rows, output, problem, options);
    }
    let types = gpu.types_of_made(made.recipe, &problem.signature)?;
    fold_made(gpu, workspace, made, rows, output, (types, problem.init), options)
}

/// Where in each row of numbers that are made its extreme is; likewise.
///
/// # Errors
/// As [`position`] and [`reduce_made`].
pub fn position_made<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    search: (Dtype, Extreme),
    options: &RowsOptions,
) -> Result<()> {
    if rows.items() == 0 {
        let nothing = ErasedSource::Host(&NOTHING, 0..0);
        return position(gpu, workspace, nothing, rows, output, search, options);
    }
    let types = gpu.types_of_position_made(made.recipe, search)?;
    fold_made(gpu, workspace, made, rows, output, (types, None), options)
}

/// Writes what is found of each row of items that are made, of which there are some.
fn fold_made<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    types_and_init: (Types<G::Syntax>, Init),
    options: &RowsOptions,
) -> Result<()> {
    let rows = &ordered(rows, &types_and_init.0)?;
    let way = way(gpu, rows, options, false)?;
    of_made(gpu, made, rows, output, types_and_init, |job, output| {
        gpu.begin(&gpu.bind_rows_reduction(workspace, job, rows, way, output)?)
    })
}

/// The same scan of items that are made as they are read; likewise.
///
/// # Errors
/// As [`scan`] and [`scan_made`](crate::scan::scan_made).
pub fn scan_made<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    problem: &ErasedScan,
    options: &RowsOptions,
) -> Result<()> {
    let types = gpu.types_of_made(made.recipe, &problem.signature)?;
    let rows = &rows.clone().in_memory_order();
    check_axes(rows)?;
    let form_and_way = (Form::new(problem), way(gpu, rows, options, false)?);
    of_made(gpu, made, rows, output, (types, problem.init), |job, output| {
        gpu.begin(&gpu.bind_rows_scan(workspace, job, rows, form_and_way, output)?)
    })
}

/// Begins what is done with items that are made and an output in the device's memory.
fn of_made<G: Primitives>(
    gpu: &Arc<G>,
    made: &Ingredients<'_, G::Slice<'_>>,
    rows: &Rows,
    output: ErasedTarget<'_, G::Slice<'_>>,
    (types, init): (Types<G::Syntax>, Init),
    begin: impl for<'s> FnOnce(Job<'_, 's, G>, G::Slice<'s>) -> Result<()>,
) -> Result<()> {
    made.check(G::MOST_ARRAYS)?;
    let is_bounded = made.arrays.iter().any(|array| array.length().is_some());
    check_known(is_bounded || !made.lengths.is_empty() || output.length().is_some())?;
    if rows.count() == 0 || (rows.items() == 0 && !rows.reduces()) {
        return Ok(());
    }
    let items = output.len();
    let output = written(gpu, rows, output, types.of_row())?;
    let uploaded = on_device::upload_all(gpu, made)?;
    let slices = on_device::stored_all::<G>(made, &uploaded)?;
    let words = [made.words, &types.values.handed()].concat();
    let inputs = on_device::inputs(made, &slices, &words)?;
    let slice = output.slice()?;
    slices.iter().try_for_each(|input| input.check_apart(&slice))?;
    begin(Job { types, inputs, init }, G::reborrow(slice))?;
    // They borrow what the output is written to.
    drop(slices);
    output.finish(gpu, items)
}

/// An output of rows: what lies between the places that are written stays.
fn written<'a, 'b, G: Primitives>(
    gpu: &Arc<G>,
    rows: &Rows,
    output: ErasedTarget<'a, G::Slice<'b>>,
    kind: Kind,
) -> Result<Written<'a, 'b, G>> {
    match rows.writes_all(output.len()) {
        true => Written::new(gpu, output, kind),
        false => Written::holding(gpu, output, kind),
    }
}

/// Checks that the host knows how many items arrays have: that none is `bounded`.
fn check_known(bounded: bool) -> Result<()> {
    if !bounded {
        return Ok(());
    }
    let reason = "an array of several dimensions has a length that the host knows".to_owned();
    Err(Error::Buffer { reason })
}

/// What items are of, and what is written.
fn kinds<S: Syntax>(types: Types<S>) -> [Kind; 2] {
    [types.item, types.output]
}

/// A copy of the first slice, whose items are of this kind, into the second.
///
/// # Errors
/// As [`copy`].
pub fn bind_copy<'a, G: Primitives>(
    gpu: &Arc<G>,
    slices: [G::Slice<'a>; 2],
    rows: &Rows,
    kind: Kind,
) -> Result<G::Bound<'a>> {
    let (types, words) = words_of(&**gpu, kind)?;
    let word = types.item;
    let rows = of_words(rows, words).in_output_order();
    check_axes(&rows)?;
    let [input, output] = slices.map(|slice| slice.part(word, 0..words * slice.len()));
    let arrays = [input];
    let job = Job { types, inputs: Inputs::of(&arrays, &[]), init: None };
    gpu.bind_rows_copy(job, &rows, output)
}

/// The types of words that an item of this kind is copied as, and how many they are.
fn words_of<G: Primitives>(gpu: &G, kind: Kind) -> Result<(Types<G::Syntax>, usize)> {
    let bytes = kind.size();
    let types = |word: Dtype| {
        let word = Kind::Number(word);
        Types::new(word, word, word, Op::Sum, OperatorValues::none(word))
    };
    let word = match bytes {
        1 => Dtype::U8,
        2 => Dtype::U16,
        8 if gpu.check(&types(Dtype::U64)).is_ok() => Dtype::U64,
        _ => Dtype::U32,
    };
    if bytes == 0 || !bytes.is_multiple_of(word.size()) {
        let reason = format!("items of {kind} do not consist of words");
        return Err(Error::Buffer { reason });
    }
    Ok((types(word), bytes / word.size()))
}

/// The rows of arrays whose items are so many words.
fn of_words(rows: &Rows, words: usize) -> Rows {
    let strided = |axis: &RowAxis| RowAxis {
        input: axis.input * words as isize,
        output: axis.output * words as isize,
        ..*axis
    };
    let mut across: Vec<RowAxis> = rows.across.iter().chain(&rows.along).map(strided).collect();
    across.push(RowAxis { len: words, input: 1, output: 1 });
    Rows { across, along: Vec::new(), start: rows.start.map(|start| start * words) }
}

/// Begins what is done with both arrays in the device's memory.
fn of_arrays<G: Primitives>(
    gpu: &Arc<G>,
    (input, item): (ErasedSource<'_, G::Slice<'_>>, Kind),
    rows: &Rows,
    (output, stored): (ErasedTarget<'_, G::Slice<'_>>, Kind),
    begin: impl for<'s> FnOnce([G::Slice<'s>; 2]) -> Result<()>,
) -> Result<()> {
    check_known(input.length().is_some() || output.length().is_some())?;
    if rows.count() == 0 || (rows.items() == 0 && !rows.reduces()) {
        return Ok(());
    }
    let mut uploaded = None;
    let input = on_device::source(gpu, input, item, &mut uploaded)?;
    let items = output.len();
    let output = written(gpu, rows, output, stored)?;
    let slice = output.slice()?;
    input.check_apart(&slice)?;
    begin([G::reborrow(input), G::reborrow(slice)])?;
    output.finish(gpu, items)
}

/// The rows in an order that memory likes, as far as nobody sees it.
fn ordered<S: Syntax>(rows: &Rows, types: &Types<S>) -> Result<Rows> {
    let mut rows = rows.clone().in_memory_order();
    // A position is counted in the order of the row.
    if types.is_exact() && types.is_commutative() && !matches!(types.op, Op::First(_)) {
        rows = rows.in_any_order();
    }
    check_axes(&rows)?;
    Ok(rows)
}

/// That kernels have as many axes.
fn check_axes(rows: &Rows) -> Result<()> {
    let axes = rows.across.len().max(rows.along.len());
    if axes <= MOST_AXES {
        return Ok(());
    }
    let reason = format!(
        "a GPU's kernel has {MOST_AXES} axes that do not follow one another across rows or along them, here are {axes}"
    );
    Err(Error::Shape { reason })
}

/// The positions of an extreme in the rows of the first slice, whose items are of this type, into the second, of `u64`.
///
/// # Errors
/// As [`position`].
pub fn bind_position<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    [input, output]: [G::Slice<'a>; 2],
    rows: &Rows,
    (item, extreme): (Dtype, Extreme),
    options: &RowsOptions,
) -> Result<G::Bound<'a>> {
    let types = gpu.types_of_position(item, extreme)?;
    let rows = ordered(rows, &types)?;
    let way = way(gpu, &rows, options, false)?;
    let (arrays, words) = ([input], types.values.handed());
    let job = Job { types, inputs: Inputs::of(&arrays, &words), init: None };
    gpu.bind_rows_reduction(workspace, job, &rows, way, output)
}

/// A reduction of the rows of the first slice into the second.
///
/// # Errors
/// As [`reduce`].
pub fn bind_reduce<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    [input, output]: [G::Slice<'a>; 2],
    rows: &Rows,
    problem: &ErasedReduce,
    options: &RowsOptions,
) -> Result<G::Bound<'a>> {
    let types = gpu.types(&problem.signature)?;
    let rows = ordered(rows, &types)?;
    let words = types.values.handed();
    let is_plain = rows.step() == Some([1, 0]) && types.output == types.acc;
    let way = way(gpu, &rows, options, is_plain)?;
    if way == Some(RowsStrategy::EachRow) {
        return each_row::<G>(&rows, |[from, to], own| {
            let row = [input.part(types.item, from..from + rows.items())];
            let inputs = Inputs::of(&row, &words);
            let job = Job { types: types.clone(), inputs, init: problem.init };
            gpu.bind_reduction(own, job, output.part(types.output, to..to + 1), &options.reduce)
        });
    }
    let arrays = [input];
    let job = Job { types, inputs: Inputs::of(&arrays, &words), init: problem.init };
    gpu.bind_rows_reduction(workspace, job, &rows, way, output)
}

/// A scan of the rows of the first slice into the second.
///
/// # Errors
/// As [`scan`].
pub fn bind_scan<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    [input, output]: [G::Slice<'a>; 2],
    rows: &Rows,
    problem: &ErasedScan,
    options: &RowsOptions,
) -> Result<G::Bound<'a>> {
    let types = gpu.types(&problem.signature)?;
    let rows = rows.clone().in_memory_order();
    check_axes(&rows)?;
    let words = types.values.handed();
    let is_plain = rows.step() == Some([1, 1]);
    let row = |[from, to]: [usize; 2]| {
        let own = input.part(types.item, from..from + rows.items());
        (own, output.part(types.output, to..to + rows.items()))
    };
    let is_asked = options.rows == Some(RowsStrategy::Batched);
    let is_free = options.rows.is_none() && options.scan == ScanOptions::default();
    if is_plain && rows.count() > 1 && (is_free || is_asked) {
        let (first, output) = row(rows.start);
        let first = [first];
        let inputs = Inputs::of(&first, &words);
        let job = Job { types: types.clone(), inputs, init: problem.init };
        let form = (Form::new(problem), is_asked);
        if let Some(all) = gpu.bind_batch_scan(workspace, job, &rows, form, &output)? {
            return Ok(all);
        }
    }
    let way = way(gpu, &rows, options, is_plain)?;
    if way == Some(RowsStrategy::EachRow) {
        return each_row::<G>(&rows, |begin, own| {
            let (row, output) = row(begin);
            let row = [row];
            let inputs = Inputs::of(&row, &words);
            let job = Job { types: types.clone(), inputs, init: problem.init };
            gpu.bind_scanning(own, job, Form::new(problem), output, &options.scan)
        });
    }
    let arrays = [input];
    let job = Job { types, inputs: Inputs::of(&arrays, &words), init: problem.init };
    gpu.bind_rows_scan(workspace, job, &rows, (Form::new(problem), way), output)
}

/// The strategy that is asked for, or all workgroups for each row if rows are so long and so few that each is worth launches of its own.
/// `is_plain` says that a row and its output are what a call on one array takes.
fn way<G: Primitives>(
    gpu: &Arc<G>,
    rows: &Rows,
    options: &RowsOptions,
    is_plain: bool,
) -> Result<Option<RowsStrategy>> {
    let refused = |strategy: RowsStrategy, reason: &str| Error::StrategyRefused {
        device: gpu.id().to_owned(),
        strategy: strategy.to_string(),
        reason: reason.to_owned(),
    };
    match options.rows {
        Some(RowsStrategy::EachRow) if rows.count() == 0 => Ok(None),
        Some(asked @ RowsStrategy::EachRow) if !is_plain => {
            Err(refused(asked, "items of a row are not neighbours in memory, or are converted"))
        }
        Some(asked @ RowsStrategy::Across) if rows.across.is_empty() => {
            Err(refused(asked, "there is one row"))
        }
        Some(asked @ RowsStrategy::Batched) => Err(refused(
            asked,
            "CUDA has it, for scans of several rows whose items are neighbours in memory and which lie evenly apart",
        )),
        Some(asked) => Ok(Some(asked)),
        None => {
            let is_few = (1..=FEW_ROWS).contains(&rows.count()) && rows.items() >= LONG_ROW;
            Ok((is_few && is_plain).then_some(RowsStrategy::EachRow))
        }
    }
}

/// What `bind` makes of where each row begins, one behind another. Launches that follow one another have scratch memory of their own.
fn each_row<'a, G: Primitives>(
    rows: &Rows,
    mut bind: impl FnMut([usize; 2], &mut G::Workspace) -> Result<G::Bound<'a>>,
) -> Result<G::Bound<'a>> {
    let mut all = bind(rows.row(0), &mut G::Workspace::default())?;
    for number in 1..rows.count() {
        all = G::joined(all, bind(rows.row(number), &mut G::Workspace::default())?);
    }
    Ok(all)
}
