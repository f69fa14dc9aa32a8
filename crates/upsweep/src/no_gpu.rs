//! In the place of `gpu.rs` where feature `wgpu` is off: the same words, of which there is nothing.

use core::convert::Infallible;
use core::marker::PhantomData;

use upsweep_core::{
    Backend, Extreme, Limits, Number, Operator, Policy, Reduce, ReduceState, Scan, ScanState,
    Strategy, Widen,
};

use crate::backend::Reach;
use crate::{Element, Error, GpuOptions, Result, View, ViewMut};

const NOT_BUILT: &str = "upsweep was built without its feature wgpu";

pub(crate) fn open(id: &str, _: &str, _: GpuOptions) -> Result<Wgpu> {
    Err(Error::NoDevice { id: id.to_owned(), reason: NOT_BUILT.to_owned() })
}

pub(crate) fn list() -> core::result::Result<Vec<Wgpu>, String> {
    Err(NOT_BUILT.to_owned())
}

pub(crate) fn id(gpu: &Wgpu) -> &str {
    match gpu.0 {}
}

pub(crate) fn with_options(gpu: &Wgpu, _: GpuOptions) -> Wgpu {
    match gpu.0 {}
}

#[derive(Clone, Debug)]
pub(crate) struct Wgpu(Infallible);

impl Wgpu {
    pub(crate) fn never(&self) -> ! {
        match self.0 {}
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Range<'a>(Infallible, PhantomData<&'a ()>);

impl Range<'_> {
    pub(crate) fn len(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn device(&self) -> &str {
        match self.0 {}
    }
}

#[derive(Debug)]
pub(crate) struct Memory(Infallible);

impl Memory {
    pub(crate) fn filled<T: Element>(gpu: &Wgpu, _: usize, _: T) -> Result<Self> {
        match gpu.0 {}
    }

    pub(crate) fn holding<T: Element>(gpu: &Wgpu, _: &[T]) -> Result<Self> {
        match gpu.0 {}
    }

    #[allow(clippy::extra_unused_type_parameters, reason = "the one with GPUs needs it")]
    pub(crate) fn room_for<T: Element>(gpu: &Wgpu, _: usize) -> Result<Self> {
        match gpu.0 {}
    }

    pub(crate) fn range(&self) -> Range<'_> {
        match self.0 {}
    }

    pub(crate) fn replace<T: Element>(&self, _: &[T]) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        match self.0 {}
    }
}

impl Reach for Wgpu {
    fn input<'a, T: Element>(&self, _: View<'a, T>) -> Result<Infallible> {
        match self.0 {}
    }

    fn output<'a, T: Element>(&self, _: ViewMut<'a, T>) -> Result<Infallible> {
        match self.0 {}
    }
}

impl Backend for Wgpu {
    type Input<'a, T: Element> = Infallible;
    type Output<'a, T: Element> = Infallible;
    type Workspace = Infallible;

    fn limits(&self) -> &Limits {
        match self.0 {}
    }

    fn reduce_choice(&self, _: usize, _: usize) -> (Strategy, Policy) {
        match self.0 {}
    }

    fn scan_choice(&self, _: usize, _: usize) -> (Strategy, Policy) {
        match self.0 {}
    }

    fn workspace(&self, _: usize, _: usize) -> Result<Infallible> {
        match self.0 {}
    }

    fn reduce<T, A, O>(&self, _: &mut Infallible, _: Infallible, _: &Reduce<A, O>) -> Result<A>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        match self.0 {}
    }

    fn reduce_into<T, A, O>(
        &self,
        _: &mut Infallible,
        _: Infallible,
        _: Infallible,
        _: &Reduce<A, O>,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        match self.0 {}
    }

    fn position<T: Number>(
        &self,
        _: &mut Infallible,
        _: Infallible,
        _: Extreme,
    ) -> Result<Option<u64>> {
        match self.0 {}
    }

    fn reduce_next<T, A, O>(
        &self,
        _: &mut Infallible,
        _: &mut ReduceState<A, O>,
        _: Infallible,
    ) -> Result<()>
    where
        T: Widen<A>,
        A: Element,
        O: Operator<A>,
    {
        match self.0 {}
    }

    fn scan<T, U, O>(
        &self,
        _: &mut Infallible,
        _: Infallible,
        _: Infallible,
        _: &Scan<U::Acc, O>,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        match self.0 {}
    }

    fn scan_in_place<T, O>(
        &self,
        _: &mut Infallible,
        _: Infallible,
        _: &Scan<T::Acc, O>,
    ) -> Result<()>
    where
        T: Element + Widen<<T as Element>::Acc>,
        O: Operator<T::Acc>,
    {
        match self.0 {}
    }

    fn scan_next<T, U, O>(
        &self,
        _: &mut Infallible,
        _: &mut ScanState<U::Acc, O>,
        _: Infallible,
        _: Infallible,
    ) -> Result<()>
    where
        T: Widen<U::Acc>,
        U: Element,
        O: Operator<U::Acc>,
    {
        match self.0 {}
    }

    fn wait(&self) -> Result<()> {
        match self.0 {}
    }
}
