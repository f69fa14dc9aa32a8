//! Stream compaction: the steps of a call.
//!
//! What is scanned is how many items are selected. A prefix is the place of an item, so that kernels write what is selected in the same
//! launch.

use std::sync::Arc;

use upsweep_core::{Condition, Dtype, Error, Kind, Language, Recipe, Result, Source, Sum};

use crate::arrays::{ErasedTarget, Ingredients, Inputs, Part, check_lengths};
use crate::erased::{ErasedType, Signature};
use crate::host::HostItemsMut;
use crate::layout::field_names;
use crate::on_device::{self, Written};
use crate::options::{Form, ScanOptions, SelectOptions};
use crate::primitives::{Job, Primitives, SelectOutputs};
use crate::reduce;
use crate::{Custom, Op, OperatorValues, Scalar, Syntax, Types};

/// What becomes of items of which some are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selecting {
    /// Those that are selected are written, one behind another, and counted.
    Selected,
    /// All are written: those that are selected, and the others behind them. It was counted before.
    Partitioned,
    /// They are counted, on a GPU without integers of 64 bits. Others have a sum of ones for that.
    Counted,
    /// Those that are selected are written behind as many as the first of two counts says; the second gets how many there are up to them.
    Behind,
    /// Those that are selected are written behind as many as the count says, and not counted: they are the last.
    Last,
    /// Those that are selected begin runs: they are written and counted, and so is how many items each run has, in 32 bits or in 64 if they
    /// are `long`.
    Runs {
        /// Whether a run may be longer than 32 bits say.
        long: bool,
    },
    /// Those that are selected begin segments: they are written and counted. Where lengths of runs would go there is the number of offsets, in
    /// 16 bytes, and behind it the offsets: where each segment begins, and how many items there are in all; in 32 bits or in 64 if they are
    /// `long`. It is a part of reductions by key on CUDA.
    Segments {
        /// Whether there may be more items than 32 bits count.
        long: bool,
    },
}

impl Selecting {
    /// What becomes of items that are selected, with the others behind them or without.
    pub fn of(partitions: bool) -> Self {
        if partitions { Self::Partitioned } else { Self::Selected }
    }

    /// Whether items are written.
    pub fn writes(self) -> bool {
        self != Self::Counted
    }

    /// Whether the number of items is left, as the last of the counts.
    pub fn counts(self) -> bool {
        !matches!(self, Self::Partitioned | Self::Last)
    }

    /// Whether lengths of runs are written, and in 64 bits.
    pub fn lengths(self) -> Option<bool> {
        if let Self::Runs { long } = self { Some(long) } else { None }
    }

    /// Whether offsets of segments are written, and in 64 bits.
    pub fn offsets(self) -> Option<bool> {
        if let Self::Segments { long } = self { Some(long) } else { None }
    }

    /// Whether items are written from the place on that the first count says.
    pub fn begins_behind(self) -> bool {
        matches!(self, Self::Behind | Self::Last)
    }
}

/// What the number of items is that are selected.
const COUNT: Kind = Kind::Number(Dtype::U64);

/// What is scanned where lengths of runs are wanted: how many runs have begun, and how many items the last of them has so far; before the first
/// begins, how many items there are. The fields of kernels' texts have these names with `_0` behind them: [`field_names`].
const RUNS: Kind =
    Kind::Struct { name: "Runs", fields: &[("begun", 0, Dtype::U32), ("items", 4, Dtype::U32)] };

/// The same for more items than 32 bits count.
const LONG_RUNS: Kind =
    Kind::Struct { name: "Runs", fields: &[("begun", 0, Dtype::U64), ("items", 8, Dtype::U64)] };

/// The operator that combines them.
fn join_runs<S: Syntax>(kind: Kind) -> Custom {
    let number = if kind == LONG_RUNS { "u64" } else { "u32" };
    let names: Vec<String> = field_names(kind).collect();
    let fields: Vec<(&str, &str)> = names.iter().map(|name| (&**name, number)).collect();
    let of = |side: &str| names.iter().map(|name| format!("{side}.{name}")).collect::<Vec<_>>();
    let (left, right) = (of("left"), of("right"));
    let none = S::literal(if number == "u64" { Scalar::U64 } else { Scalar::U32 }, "0");
    let begun = format!("{} + {}", left[0], right[0]);
    let both = format!("{} + {}", left[1], right[1]);
    let items = S::select(&format!("({} == {none})", right[0]), &both, &right[1]);
    let source = Source {
        declarations: S::structure_type("Runs", &fields).into(),
        structure: "Runs".into(),
        combine: format!("return {};", S::structure("Runs", &[begun, items])).into(),
        ..Source::default()
    };
    Custom { name: "runs", exact: true, commutative: false, source }
}

impl<S: Syntax> Types<S> {
    /// Of a selection that counts items: what is scanned for this, which may be more than their number.
    #[must_use]
    pub fn selecting(self, selecting: Selecting) -> Self {
        if selecting.lengths().is_none() {
            return self;
        }
        let acc = if self.acc == COUNT { LONG_RUNS } else { RUNS };
        let (op, values) = (Op::Custom(join_runs::<S>(acc)), OperatorValues::none(acc));
        Self { acc, op, values, ..self }
    }
}

/// The types of a kernel that selects items of this recipe: it counts them in as many bits as their number takes.
pub fn signature(recipe: &Recipe, items: u64, language: Language) -> Signature {
    let signature = match u32::try_from(items) {
        Ok(_) => Signature::of::<u32, u32, u32, Sum>(&Sum, language),
        Err(_) => Signature::of::<u64, u64, u64, Sum>(&Sum, language),
    };
    let item = ErasedType::of_kind(recipe.item);
    Signature { item, output: item, ..signature }
}

/// Writes the items of which the recipe's condition holds to `output`, in their order, and how many they are to the one item of `count`.
/// Partitioned, the others follow behind them, in theirs. `selecting` may be another kind that needs one launch. `output` has room for as many
/// items as are made. Waits for what is in the host's memory only.
///
/// # Errors
/// As [`scan_made`](crate::scan::scan_made), and [`Error::ResultLength`].
pub fn select<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    selecting: Selecting,
    [output, count]: [ErasedTarget<'_, G::Slice<'_>>; 2],
    options: &SelectOptions,
) -> Result<()> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    check_lengths(items, output.len())?;
    check_count(count.len())?;
    let partitions = selecting == Selecting::Partitioned;
    let count = match partitions {
        // Kernels read it again.
        true => Counts::written(gpu, count)?,
        false => Counts::new(gpu, workspace, made, count)?,
    };
    let outputs = Outputs::new(gpu, made.recipe, Some(output), count)?;
    let uploaded = on_device::upload_all(gpu, made)?;
    let made = (made, &uploaded[..]);
    if partitions {
        outputs.begin(gpu, workspace, made, Selecting::Counted, options)?;
    }
    outputs.begin(gpu, workspace, made, selecting, options)?;
    outputs.finish(gpu, workspace, items, partitions.then_some(made.0))
}

/// Writes all items to `output`: those of which the recipe's condition holds; behind them those of the others of which `second` holds; and
/// behind these the rest, each in their order. The two items of `borders` say where the second ones and the rest begin. Waits for what is in
/// the host's memory only.
///
/// The parts are three selections, each of which begins where the device knows that the one in front has ended.
///
/// # Errors
/// As [`select`], with [`Error::Buffer`] unless there are two borders.
pub fn partition3<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    second: &Condition,
    [output, borders]: [ErasedTarget<'_, G::Slice<'_>>; 2],
    options: &SelectOptions,
) -> Result<()> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    check_lengths(items, output.len())?;
    check_borders(borders.len())?;
    let parts = in_three(made.recipe, second)?;
    let borders = Counts::written(gpu, borders)?;
    let outputs = Outputs::new(gpu, made.recipe, Some(output), borders)?;
    let uploaded = on_device::upload_all(gpu, made)?;
    for (recipe, way) in &parts {
        let made = Ingredients { recipe, ..*made };
        outputs.begin(gpu, workspace, (&made, &uploaded), *way, options)?;
    }
    outputs.finish(gpu, workspace, items, Some(made))
}

/// The selections that put items into three parts, by the recipe's condition and by `second`, in their order.
fn in_three(recipe: &Recipe, second: &Condition) -> Result<[(Recipe, Selecting); 3]> {
    let Some(first) = recipe.condition.clone() else {
        return Err(Error::Buffer { reason: "items of no condition have no parts".to_owned() });
    };
    let of = |condition, way| (Recipe { condition: Some(condition), ..recipe.clone() }, way);
    let [first, second, last] = first.in_three(second.clone());
    Ok([of(first, Selecting::Selected), of(second, Selecting::Behind), of(last, Selecting::Last)])
}

/// That there is room for two borders.
fn check_borders(borders: usize) -> Result<()> {
    if borders == 2 {
        return Ok(());
    }
    Err(Error::Buffer {
        reason: format!("three parts have 2 borders, there is room for {borders}"),
    })
}

/// Writes the items of which the recipe's condition holds to `values`: they begin runs, as many as go to the one item of `count`. How many items
/// each run has goes to `lengths`, integers of 32 or 64 bits. Waits for what is in the host's memory only.
///
/// # Errors
/// As [`select`].
pub fn run_length_encode<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    [values, lengths, count]: [ErasedTarget<'_, G::Slice<'_>>; 3],
    length: Dtype,
    options: &SelectOptions,
) -> Result<()> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    check_lengths(items, values.len())?;
    check_lengths(items, lengths.len())?;
    check_count(count.len())?;
    let (values, lengths) = ((made.recipe.item, Some(values)), Some((length.into(), lengths)));
    let count = Counts::new(gpu, workspace, made, count)?;
    let outputs = Outputs::with_lengths(gpu, values, lengths, count)?;
    let uploaded = on_device::upload_all(gpu, made)?;
    let way = Selecting::Runs { long: length.size() > 4 };
    outputs.begin(gpu, workspace, (made, &uploaded), way, options)?;
    outputs.finish(gpu, workspace, items, None)
}

/// A selection of items that are made of arrays of the device's, whose number goes to the one item of the count; or their partition, which
/// counts them first.
///
/// # Errors
/// As [`select`].
pub fn bind<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'a>>,
    selecting: Selecting,
    to: SelectOutputs<G::Slice<'a>>,
    options: &SelectOptions,
) -> Result<G::Bound<'a>> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    let count = to.count;
    to.items.iter().chain(&to.lengths).try_for_each(|of| check_lengths(items, of.len()))?;
    check_count(count.len())?;
    let types = gpu.types_of_made(made.recipe, &signature(made.recipe, made.items, G::LANGUAGE))?;
    if items == 0 {
        // Runs have nothing to do.
        gpu.to_device(&count, &[0; 8])?;
    }
    let read = (made, &[][..]);
    if selecting != Selecting::Partitioned {
        return bind_types(gpu, workspace, read, types, selecting, to, &options.scan);
    }
    // Recordings that run one behind another have scratch memory of their own.
    let first = bind_count(gpu, &mut G::Workspace::default(), read, count, options)?;
    let second = bind_types(gpu, workspace, read, types, selecting, to, &options.scan)?;
    Ok(G::joined(first, second))
}

/// A partition in three parts of items that are made of arrays of the device's into the first slice; the borders go to the two items of the
/// second.
///
/// # Errors
/// As [`partition3`].
pub fn bind_partition3<'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'a>>,
    second: &Condition,
    to: SelectOutputs<G::Slice<'a>>,
    options: &SelectOptions,
) -> Result<G::Bound<'a>> {
    let items = usize::try_from(made.items).unwrap_or(usize::MAX);
    let borders = to.count;
    to.items.iter().try_for_each(|output| check_lengths(items, output.len()))?;
    check_borders(borders.len())?;
    if items == 0 {
        // Runs have nothing to do.
        gpu.to_device(&borders, &[0; 16])?;
    }
    let bind = |workspace: &mut G::Workspace, (recipe, way): &(Recipe, Selecting)| {
        let made = Ingredients { recipe, ..*made };
        let types = gpu.types_of_made(recipe, &signature(recipe, made.items, G::LANGUAGE))?;
        let to = SelectOutputs { count: counts_of(*way, borders)?, ..to };
        bind_types(gpu, workspace, (&made, &[]), types, *way, to, &options.scan)
    };
    // Recordings that run one behind another have scratch memory of their own.
    let own = &mut [G::Workspace::default(), G::Workspace::default()];
    let [first, second, last] = &in_three(made.recipe, second)?;
    let first_two = G::joined(bind(&mut own[0], first)?, bind(&mut own[1], second)?);
    Ok(G::joined(first_two, bind(workspace, last)?))
}

/// Those of the counts of a call that a selection reads and writes.
fn counts_of<S: Part>(selecting: Selecting, counts: S) -> Result<S> {
    match selecting {
        Selecting::Behind => Ok(counts),
        Selecting::Last => Ok(counts.part(COUNT, 1..2)),
        _ => counts.first(COUNT, 1),
    }
}

/// That there is one item for a number.
fn check_count(items: usize) -> Result<()> {
    if items == 1 { Ok(()) } else { Err(Error::ResultLength { items }) }
}

/// Writes of how many items the recipe's condition holds to the one item of `count`.
///
/// # Errors
/// As [`select`].
pub fn count<G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    made: &Ingredients<'_, G::Slice<'_>>,
    count: ErasedTarget<'_, G::Slice<'_>>,
    options: &SelectOptions,
) -> Result<()> {
    check_count(count.len())?;
    let outputs = Outputs::new(gpu, made.recipe, None, Counts::written(gpu, count)?)?;
    let uploaded = on_device::upload_all(gpu, made)?;
    outputs.begin(gpu, workspace, (made, &uploaded), Selecting::Counted, options)?;
    outputs.finish(gpu, workspace, 0, None)
}

/// How many items the recipe's condition holds of, into the one item of `count`: a sum of ones. Flags are read without the items beside them; of a
/// predicate, all arrays. A GPU without integers of 64 bits scans items.
fn bind_count<'a, 'b: 'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    (made, uploaded): (&Ingredients<'_, G::Slice<'b>>, &'a [Option<G::Buffer>]),
    count: G::Slice<'a>,
    options: &SelectOptions,
) -> Result<G::Bound<'a>> {
    let (recipe, arrays) = made.recipe.indicator();
    let sum = Signature::of::<u32, u64, u64, Sum>(&Sum, G::LANGUAGE);
    let types = match gpu.types_of_made(&recipe, &sum) {
        Err(Error::ElementUnsupported { .. }) => {
            let counting = signature(made.recipe, made.items, G::LANGUAGE);
            let types = gpu.types_of_made(made.recipe, &counting)?;
            let to = SelectOutputs { items: None, lengths: None, count };
            let (read, way) = ((made, uploaded), Selecting::Counted);
            return bind_types(gpu, workspace, read, types, way, to, &options.scan);
        }
        types => types?,
    };
    made.check(G::MOST_ARRAYS)?;
    let slices = on_device::stored_all::<G>(made, uploaded)?;
    let words = [made.words, &types.values.handed()].concat();
    let all = on_device::inputs(made, &slices, &words)?;
    let in_order: Vec<_> = arrays.iter().map(|&array| all.arrays[array]).collect();
    let anywhere = if recipe.anywhere.is_empty() { &[][..] } else { all.anywhere };
    let inputs = Inputs { arrays: &in_order, anywhere, ..all };
    let job = Job { types, inputs, init: None };
    reduce::bind_job(gpu, workspace, job, count, &options.count)
}

/// Where the counts of a call go.
enum Counts<'a, 'b, G: Primitives> {
    /// One or two in memory of the device's, from which they may be copied to the host.
    Written(Written<'a, 'b, G>),
    /// One that a kernel leaves for the host, whose item of this number it is.
    Awaited { mailbox: G::Mailbox, to: &'a mut dyn HostItemsMut, at: usize },
}

impl<'a, 'b, G: Primitives> Counts<'a, 'b, G> {
    fn written(gpu: &Arc<G>, target: ErasedTarget<'a, G::Slice<'b>>) -> Result<Self> {
        Written::new(gpu, target, COUNT).map(Self::Written)
    }

    /// The one count of a selection. Where kernels may find a fault in lengths or indices, the host waits for all that they do.
    fn new(
        gpu: &Arc<G>,
        workspace: &mut G::Workspace,
        made: &Ingredients<'_, G::Slice<'_>>,
        target: ErasedTarget<'a, G::Slice<'b>>,
    ) -> Result<Self> {
        let finds_faults = !made.anywhere.is_empty()
            || !made.lengths.is_empty()
            || made.arrays.iter().any(|array| array.length().is_some());
        match target {
            ErasedTarget::Host(to, range) if made.items > 0 && !finds_faults => {
                match gpu.mailbox(workspace)? {
                    Some(mailbox) => Ok(Self::Awaited { mailbox, to, at: range.start }),
                    None => Self::written(gpu, ErasedTarget::Host(to, range)),
                }
            }
            target => Self::written(gpu, target),
        }
    }

    fn slice(&self) -> Result<G::Slice<'_>> {
        match self {
            Self::Written(counts) => counts.slice(),
            Self::Awaited { mailbox, .. } => G::slot(mailbox),
        }
    }

    /// The first, which is at most `bound`. Waits for it.
    fn known(&self, gpu: &Arc<G>, bound: usize) -> Result<usize> {
        match self {
            Self::Written(counts) => on_device::known(gpu, Some(counts.slice()?), bound),
            Self::Awaited { mailbox, .. } => {
                Ok(usize::try_from(gpu.number(mailbox)?).unwrap_or(bound).min(bound))
            }
        }
    }

    /// Copies them to the host, if that is where they are wanted. Waits for them.
    fn finish(self, gpu: &Arc<G>, workspace: &mut G::Workspace) -> Result<()> {
        match self {
            Self::Written(counts) => {
                let all = counts.slice()?.len();
                counts.finish(gpu, all)
            }
            Self::Awaited { mailbox, to, at } => {
                let count = gpu.number(&mailbox)?;
                G::put_back(workspace, mailbox);
                to.fill(at..at + 1, &mut |bytes| {
                    bytes.copy_from_slice(&count.to_le_bytes());
                    Ok(())
                })
            }
        }
    }
}

/// What a call writes: items, of runs their lengths, and one or two counts.
struct Outputs<'a, 'b, G: Primitives> {
    items: Option<Written<'a, 'b, G>>,
    lengths: Option<Written<'a, 'b, G>>,
    counts: Counts<'a, 'b, G>,
}

impl<'a, 'b, G: Primitives> Outputs<'a, 'b, G> {
    fn new(
        gpu: &Arc<G>,
        recipe: &Recipe,
        items: Option<ErasedTarget<'a, G::Slice<'b>>>,
        counts: Counts<'a, 'b, G>,
    ) -> Result<Self> {
        Self::with_lengths(gpu, (recipe.item, items), None, counts)
    }

    fn with_lengths(
        gpu: &Arc<G>,
        (kind, items): (Kind, Option<ErasedTarget<'a, G::Slice<'b>>>),
        lengths: Option<(Kind, ErasedTarget<'a, G::Slice<'b>>)>,
        counts: Counts<'a, 'b, G>,
    ) -> Result<Self> {
        let is_read = items.as_ref().is_some_and(ErasedTarget::is_on_host)
            || lengths.as_ref().is_some_and(|(_, lengths)| lengths.is_on_host());
        let items = items.map(|items| Written::new(gpu, items, kind)).transpose()?;
        let lengths = lengths.map(|(kind, of)| Written::new(gpu, of, kind)).transpose()?;
        if let Counts::Written(Written::Device(counts)) = &counts {
            gpu.check_copies(counts, true, is_read)?;
        }
        Ok(Self { items, lengths, counts })
    }

    fn begin(
        &self,
        gpu: &Arc<G>,
        workspace: &mut G::Workspace,
        (made, uploaded): (&Ingredients<'_, G::Slice<'_>>, &[Option<G::Buffer>]),
        selecting: Selecting,
        options: &SelectOptions,
    ) -> Result<()> {
        let types =
            gpu.types_of_made(made.recipe, &signature(made.recipe, made.items, G::LANGUAGE))?;
        let counts = self.counts.slice()?;
        if made.items == 0 {
            return gpu.to_device(&counts, &[0; 16][..8 * counts.len().min(2)]);
        }
        let counts = counts_of(selecting, counts)?;
        if selecting == Selecting::Counted {
            let bound = bind_count(gpu, workspace, (made, uploaded), counts, options)?;
            return gpu.begin(&bound);
        }
        let items = self.items.as_ref().filter(|_| selecting.writes());
        let items = items.map(Written::slice).transpose()?;
        let lengths = self.lengths.as_ref().map(Written::slice).transpose()?;
        let (made, outputs) = ((made, uploaded), SelectOutputs { items, lengths, count: counts });
        let bound = bind_types(gpu, workspace, made, types, selecting, outputs, &options.scan)?;
        gpu.begin(&bound)
    }

    /// Copies to the host what is wanted there, as much as there is, and waits for it. Partitioned, those are all items, whose number the
    /// device may know.
    fn finish(
        self,
        gpu: &Arc<G>,
        workspace: &mut G::Workspace,
        items: usize,
        all: Option<&Ingredients<'_, G::Slice<'_>>>,
    ) -> Result<()> {
        let Self { items: written, lengths, counts } = self;
        let on_host = |written: &Written<'_, '_, G>| written.is_on_host() && items > 0;
        for written in written.into_iter().chain(lengths).filter(on_host) {
            let found = match all {
                Some(made) => on_device::known_of_made(gpu, made)?,
                None => counts.known(gpu, items)?,
            };
            written.finish(gpu, found)?;
        }
        counts.finish(gpu, workspace)
    }
}

/// A selection whose arrays are all in the device's memory.
fn bind_types<'a, 'b: 'a, G: Primitives>(
    gpu: &Arc<G>,
    workspace: &mut G::Workspace,
    (made, uploaded): (&Ingredients<'_, G::Slice<'b>>, &'a [Option<G::Buffer>]),
    types: Types<G::Syntax>,
    selecting: Selecting,
    to: SelectOutputs<G::Slice<'a>>,
    options: &ScanOptions,
) -> Result<G::Bound<'a>> {
    made.check(G::MOST_ARRAYS)?;
    let slices = on_device::stored_all::<G>(made, uploaded)?;
    let words = [made.words, &types.values.handed()].concat();
    let inputs = on_device::inputs(made, &slices, &words)?;
    let types = types.selecting(selecting);
    let job = Job { types, inputs, init: None };
    to.all().try_for_each(|written| job.inputs.check_length_apart(written))?;
    gpu.bind_selection(workspace, job, Form::of_selection(selecting), to, options)
}
