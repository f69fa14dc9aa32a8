//! The types of a kernel, and what follows from them whatever language it is in.

use upsweep_core::{Dtype, Extreme, Kind, Recipe, Result, SegmentedBy};

use crate::bits::check;
use crate::erased::untranslated;
use crate::layout::field_names;
use crate::{FusedInput, Held, Op, OperatorValues, Scalar, Signature, Syntax, WORD, packed_type};

/// The types of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Types<S: Syntax> {
    /// Of the items that are read.
    pub item: Kind,
    /// In which they are combined.
    pub acc: Kind,
    /// Of the items that are written.
    pub output: Kind,
    /// What they are combined with.
    pub op: Op,
    /// Of which identity, padding and fields.
    pub values: OperatorValues,
    /// How items are made of those of arrays, of which the longest have the type of items then.
    pub made: Option<FusedInput>,
    /// How they are cut into segments.
    pub cut: Option<S::Cut>,
    /// How many neighbours are read, combined and written as one: words of so many items, `packed.cuh` and `packed.wgsl`.
    pub packed: u32,
    /// Whether kernels themselves look how many items there are: on CUDA, where only the device knows.
    pub is_bounded: bool,
}

/// How items are cut into segments, and what becomes of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segmentation {
    /// By what.
    pub by: SegmentedBy,
    /// Of what the array is that says so.
    pub kind: Kind,
    /// Whether a group of it is read at once.
    pub wide: bool,
    /// Whether segments are reduced, and not scanned.
    pub reduces: bool,
    /// Whether only the device knows how many offsets there are.
    pub is_bounded: bool,
}

impl Segmentation {
    /// Whether values go one behind another, wherever segments lie.
    pub fn packs(&self) -> bool {
        self.reduces && self.by != SegmentedBy::Offsets
    }
}

impl<S: Syntax> Types<S> {
    /// Of items of one array that are not cut into segments.
    pub fn new(item: Kind, acc: Kind, output: Kind, op: Op, values: OperatorValues) -> Self {
        Self { item, acc, output, op, values, made: None, cut: None, packed: 1, is_bounded: false }
    }

    /// Of the types of a call, all of which kernels have; `None` for an operator that has no text in their language.
    pub fn of(signature: &Signature) -> Option<Self> {
        let Signature { item, acc, output, operator, .. } = signature;
        let (op, values) = (Op::of(operator)?, operator.values.clone());
        Some(Self::new(item.kind, acc.kind, output.kind, op, values))
    }

    /// Of items that are made by a recipe, of which kernels have the arrays; `None` for what has no text in their language, or cannot
    /// stand beside functions.
    pub fn of_made(recipe: &Recipe, signature: &Signature) -> Option<Self> {
        let own = Self::of(signature)?;
        let (made, op) = FusedInput::of(recipe, own.op, signature.operator.function, S::LANGUAGE)?;
        Some(Self { item: recipe.widest(), op, made: Some(made), ..own })
    }

    /// Of a call, for a device of this id.
    ///
    /// # Errors
    /// [`Error::OperatorUntranslated`](upsweep_core::Error::OperatorUntranslated) for an operator without a text,
    /// [`Error::ElementUnsupported`](upsweep_core::Error::ElementUnsupported) for types that kernels do not have, and those of
    /// [`OperatorValues::check`].
    pub fn checked(signature: &Signature, device: &str) -> Result<Self> {
        let operator = signature.operator.name;
        let types = Self::of(signature).ok_or_else(|| untranslated(operator, S::LANGUAGE))?;
        signature.item.check(device)?;
        types.check_results(signature, device)?;
        Ok(types)
    }

    /// Of a call whose items are made of those of arrays, for a device of this id.
    ///
    /// # Errors
    /// Those of [`checked`](Self::checked).
    pub fn checked_of_made(recipe: &Recipe, signature: &Signature, device: &str) -> Result<Self> {
        check_recipe(recipe, device)?;
        let operator = signature.operator.name;
        let types = Self::of_made(recipe, signature);
        let types = types.ok_or_else(|| untranslated(operator, S::LANGUAGE))?;
        types.check_results(signature, device)?;
        Ok(types)
    }

    /// Checks what is combined and written, and what kernels are handed of the operator.
    fn check_results(&self, signature: &Signature, device: &str) -> Result<()> {
        signature.acc.check(device)?;
        signature.output.check(device)?;
        self.values.check(self.parameters(), device, signature.operator.name)
    }

    /// Of the search for a position among items of a type.
    pub fn of_position(item: Dtype, extreme: Extreme) -> Self {
        let acc = Kind::Number(match item {
            Dtype::F16 | Dtype::Bf16 => Dtype::F32,
            item => item,
        });
        Self::new(item.into(), acc, acc, Op::First(extreme), OperatorValues::none(acc))
    }

    /// The same among numbers that are made by a recipe, for a device of this id.
    ///
    /// # Errors
    /// [`Error::ElementUnsupported`](upsweep_core::Error::ElementUnsupported) for what kernels do not have, and
    /// [`Error::OperatorUntranslated`](upsweep_core::Error::OperatorUntranslated) for a function without a text.
    pub fn of_position_made(
        recipe: &Recipe,
        (item, extreme): (Dtype, Extreme),
        device: &str,
    ) -> Result<Self> {
        check_recipe(recipe, device)?;
        let own = Self::of_position(item, extreme);
        let made = FusedInput::of(recipe, own.op.clone(), None, S::LANGUAGE);
        let (made, op) = made.ok_or_else(|| untranslated(own.op.name(), S::LANGUAGE))?;
        Ok(Self { item: recipe.widest(), op, made: Some(made), ..own })
    }

    /// Of what is written of a row: a position, or an item of the output.
    pub fn of_row(&self) -> Kind {
        match self.op {
            Op::First(_) => Dtype::U64.into(),
            _ => self.output,
        }
    }

    /// The types of a scan of words in the place of these, where both give the same.
    pub fn packed(&self) -> Option<Self> {
        let is_one = self.acc == self.item && self.made.is_none() && self.cut.is_none();
        let is_plain = is_one && self.op == Op::Sum;
        let acc = packed_type(self.item, self.output).filter(|_| is_plain)?;
        let packed = (WORD / acc.size() as u64) as u32;
        let word = Kind::Number(Dtype::U32);
        Some(Self { item: word, acc: acc.into(), output: word, packed, ..self.clone() })
    }

    /// The same of items of which only the device knows how many there are, if it `is_bounded`.
    #[must_use]
    pub fn of_length(self, is_bounded: bool) -> Self {
        Self { is_bounded, ..self }
    }

    /// How values are held while they are combined.
    pub fn held(&self) -> Held {
        self.op.held(self.acc)
    }

    /// Words of a value while it is combined: beside its own, what is known of segments.
    pub fn words(&self) -> u32 {
        self.held().words() + self.cut.as_ref().map_or(0, S::words_beside)
    }

    /// Bytes of these words.
    pub fn bytes(&self) -> u64 {
        4 * u64::from(self.words())
    }

    /// Words of each of several values in the memory of a workgroup, where numbers of 64 bits begin at multiples of their size.
    pub fn words_in_arrays(&self) -> u32 {
        let is_long = match self.acc {
            Kind::Struct { fields, .. } => fields.iter().any(|(.., dtype)| dtype.size() == 8),
            kind => kind.size() == 8,
        };
        if is_long { self.words().next_multiple_of(2) } else { self.words() }
    }

    /// The types of numbers that kernels compute with.
    pub fn computed_with(&self) -> Vec<Dtype> {
        let items = [self.item, self.acc, self.output];
        let made = self.made.as_ref().map_or(Vec::new(), |made| made.recipe.kinds());
        let items = items.iter().chain(&made).flat_map(|kind| kind.numbers()).map(|(_, of)| of);
        let texts = self.made.as_ref().map_or(self.op.numbers(), FusedInput::numbers);
        items.chain(texts.iter().copied()).collect()
    }

    /// Whether items may be combined in any order.
    pub fn is_commutative(&self) -> bool {
        self.cut.is_none() && self.op.is_commutative()
    }

    /// Whether the grouping of items cannot be seen in the result.
    pub fn is_exact(&self) -> bool {
        self.op.is_exact(self.acc)
    }

    /// Whether operands must keep their order, since they commute but for rounding.
    pub fn is_ordered(&self) -> bool {
        matches!(&self.op, Op::Custom(own) if !own.exact)
    }

    /// Whether what is written is not one value for each item: values of segments, or items that are selected.
    pub fn emits(&self) -> bool {
        self.selects() || self.cut.as_ref().is_some_and(|cut| cut.reduces)
    }

    /// Whether items are made of such as are read at any index, which is checked.
    pub fn gathers(&self) -> bool {
        self.made.as_ref().is_some_and(|made| !made.recipe.anywhere.is_empty())
    }

    /// Whether some items are selected, and it is counted how many.
    pub fn selects(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.recipe.condition.is_some())
    }

    /// Whether those that are selected begin runs, and it is found out how many items each run has.
    pub fn finds_lengths(&self) -> bool {
        self.selects() && self.acc.number().is_none()
    }

    /// Whether items are selected by what is in front of them, of one array.
    pub fn compares(&self) -> bool {
        self.made.as_ref().is_some_and(FusedInput::compares)
    }

    /// Whether something else is written than what is combined.
    pub fn writes_other(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.recipe.written.is_some())
    }

    /// Whether kernels ask for numbers of items.
    pub fn is_numbered(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.recipe.is_numbered())
    }

    /// Words of a recipe's parameters that kernels are handed.
    pub fn parameters(&self) -> usize {
        self.made.as_ref().map_or(0, |made| made.recipe.words())
    }

    /// Whether what kernels read is one array and nothing else.
    pub fn reads_one(&self) -> bool {
        let arrays = self.made.as_ref().map_or(1, |made| {
            if made.recipe.arrays.is_empty() { 0 } else { made.recipe.all_arrays() }
        });
        arrays == 1 && self.parameters() == 0 && !self.is_numbered()
    }

    /// See [`Op::sign_of_total`].
    pub fn sign_of_total(&self) -> u32 {
        self.op.sign_of_total(self.acc)
    }

    /// The words of a total that nothing has been added to.
    pub fn empty_total(&self) -> [u32; 2] {
        self.op.empty_total(self.acc, self.values.padding())
    }

    /// Words of memory of a result that is stored by itself: two for a number, whatever its size.
    pub fn result_words(&self) -> u32 {
        match self.held() {
            Held::Structure(kind) => kind.size() as u32 / 4,
            _ => 2,
        }
    }

    /// The declarations of the types `Item`, `Value` and `Stored`; of `Payload` too, where items are selected.
    pub fn type_aliases(&self) -> String {
        let [item, value, stored] = self.type_names();
        let others = S::alias("Value", value) + &S::alias("Stored", stored);
        if !self.selects() {
            return S::alias("Item", item) + &others;
        }
        let fields = [("payload", "Payload"), ("is_selected", "bool")];
        self.payload(item) + &S::structure_type("Item", &fields) + &others
    }

    /// The declaration of the type `Payload`, of what may be selected.
    fn payload(&self, item: &str) -> String {
        let made = self.made.as_ref();
        match made.filter(|made| made.item().is_none()).map(|made| made.recipe.item) {
            Some(kind @ Kind::Struct { fields, .. }) => {
                let names: Vec<String> = field_names(kind).collect();
                let types = fields.iter().map(|(.., dtype)| Scalar::of(*dtype).name());
                let fields: Vec<_> = names.iter().map(String::as_str).zip(types).collect();
                S::structure_type("Payload", &fields)
            }
            _ => S::alias("Payload", item),
        }
    }

    /// The names of the types of items, of values and of what is written.
    pub fn type_names(&self) -> [&str; 3] {
        let structure = match &self.op {
            Op::Custom(own) => &*own.source.structure,
            _ => "",
        };
        let name = |kind: Kind| kind.number().map_or(structure, |dtype| Scalar::of(dtype).name());
        let made = self.made.as_ref();
        let item = match made {
            Some(made) => made.item().unwrap_or(name(made.recipe.item)),
            None => name(self.item),
        };
        let stored = match made.and_then(FusedInput::stored) {
            Some(stored) => stored,
            None if self.selects() => "Payload",
            None => name(self.output),
        };
        [item, name(self.acc), stored]
    }
}

/// Checks that kernels can have the arrays of a recipe, and be handed its parameters.
fn check_recipe(recipe: &Recipe, device: &str) -> Result<()> {
    let opaque = recipe.parameters.iter().filter(|kind| **kind == Kind::Opaque);
    for kind in recipe.arrays.iter().chain(&recipe.anywhere).chain(opaque) {
        check(*kind, device, &kind.to_string())?;
    }
    Ok(())
}
