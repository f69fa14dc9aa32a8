//! Operators that are known when a program runs.

use std::sync::OnceLock;

use upsweep_core::kernel::{Definition, Term};
use upsweep_cpu::ProgramOperator;
use upsweep_gpu::DefinedOperator;

use super::Scalar;
use super::function::number_of;
use crate::{Dtype, Error, Result};

/// An operator that a [`Definition`] says: a function of two arguments of one type, the earlier value and the later one, which gives that type.
///
/// # Operator
/// Associative; the caller knows whether it commutes. Every device groups items as the [summation specification](crate::summation) says.
///
/// # Examples
/// ```
/// use upsweep::any::{AnyFused, AnyOperator, AnyView, Binary, Definition, Scalar};
/// use upsweep::{Bounds, Device, Direction, Dtype};
///
/// // The last item that is not 0.
/// let mut last_set = Definition::default();
/// let (left, right) = (last_set.argument(Dtype::I32)?, last_set.argument(Dtype::I32)?);
/// let zero = last_set.constant(Dtype::I32.into(), 0);
/// let is_zero = last_set.binary(Binary::Equal, right, zero)?;
/// let result = last_set.select(is_zero, left, right)?;
/// let last_set = AnyOperator::new(last_set, result, Scalar::new(0i32), false)?;
///
/// let items = AnyFused::of(AnyView::from(&[3i32, 0, 5, 0]))?;
/// assert_eq!(items.reduce_by(&Device::cpu(), &last_set, None)?, Scalar::new(5i32));
/// let mut found = [0i32; 4];
/// let way = (Bounds::Inclusive, Direction::Forward);
/// items.scan_by_into(&Device::cpu(), &mut found, &last_set, way, None)?;
/// assert_eq!(found, [3, 3, 5, 5]);
/// # Ok::<(), upsweep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyOperator {
    definition: Definition,
    result: Term,
    dtype: Dtype,
    identity: u64,
    commutative: bool,
    on_host: ProgramOperator,
    /// For kernels, once a GPU has asked for it: functions of kernels are kept for ever.
    on_gpu: OnceLock<DefinedOperator>,
}

impl AnyOperator {
    /// The operator that gives a value of a definition. `identity` leaves every other value as it is, bit for bit.
    ///
    /// # Errors
    /// [`Error::Buffer`] unless the definition has two arguments and the value is a number, [`Error::WrongDtype`] unless all types are one.
    pub fn new(
        definition: Definition,
        result: Term,
        identity: Scalar,
        commutative: bool,
    ) -> Result<Self> {
        let &[dtype, right] = definition.arguments() else {
            let reason =
                format!("an operator has two arguments, not {}", definition.arguments().len());
            return Err(Error::Buffer { reason });
        };
        let given = number_of(&definition, result)?;
        for found in [right, given, identity.dtype()] {
            if found != dtype {
                return Err(Error::WrongDtype { found, wanted: dtype });
            }
        }
        let identity = identity.word();
        let on_host = ProgramOperator::new(&definition, result, identity, commutative);
        let on_gpu = OnceLock::new();
        Ok(Self { definition, result, dtype, identity, commutative, on_host, on_gpu })
    }

    /// The type of values.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The value that leaves every other one as it is.
    pub fn identity(&self) -> Scalar {
        Scalar::of_bytes(self.dtype(), &self.identity.to_le_bytes())
    }

    /// What it gives for an earlier value and a later one.
    ///
    /// # Errors
    /// [`Error::WrongDtype`] for values of other types.
    pub fn combine(&self, left: Scalar, right: Scalar) -> Result<Scalar> {
        self.check(left.dtype())?;
        self.check(right.dtype())?;
        let found = self.on_host.combine(left.word(), right.word());
        Ok(Scalar::of_bytes(self.dtype(), &found.to_le_bytes()))
    }

    pub(super) fn on_host(&self) -> &ProgramOperator {
        &self.on_host
    }

    pub(super) fn on_gpu(&self) -> &DefinedOperator {
        let Self { dtype, identity, commutative, .. } = *self;
        self.on_gpu.get_or_init(|| {
            let function = self.definition.closed_function(self.result);
            DefinedOperator { function, dtype, identity, commutative }
        })
    }

    /// The bits of a start value, which is of the type of values.
    pub(super) fn init(&self, init: Option<Scalar>) -> Result<Option<u64>> {
        self.check(init.map_or(self.dtype(), |init| init.dtype()))?;
        Ok(init.map(|init| init.word()))
    }

    pub(super) fn check(&self, found: Dtype) -> Result<()> {
        let wanted = self.dtype();
        if found == wanted { Ok(()) } else { Err(Error::WrongDtype { found, wanted }) }
    }

    /// The bits of a start value, if that and items and outputs have the type of values.
    pub(super) fn check_call(
        &self,
        found: [Dtype; 2],
        init: Option<Scalar>,
    ) -> Result<Option<u64>> {
        let wanted = self.dtype();
        match found.into_iter().find(|found| *found != wanted) {
            Some(found) => Err(Error::WrongDtype { found, wanted }),
            None => self.init(init),
        }
    }
}
