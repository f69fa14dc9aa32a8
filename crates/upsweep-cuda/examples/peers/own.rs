//! Operators, functions and structures of a caller's own, beside the built-in ones and CUB.

use std::sync::Arc;

use upsweep_core::kernel::Function;
use upsweep_core::{
    Apply, Element, Formula, Kind, Number, Operator, Recipe, Reduce, Result, Scan, Sum, reference,
};
use upsweep_cuda::{
    Calls, Gpu, Ingredients, Memory, ReduceOptions, ScanOptions, Slice, Stored, Workspace,
};
use upsweep_gpu::GpuDevice;
use upsweep_testing::{
    AddedPowers, FloatSum, Powers, Recurrence, Recurs, SumOfBits, SumUpTo, WrappingSum, powers_of,
    product,
};

use crate::Bench;
use crate::contest::{Engine, Pool};
use crate::jobs::{array, unit};

/// All of them, for arrays of so many items.
pub(crate) fn run(bench: &Bench, n: usize, wants: impl Fn(&str) -> bool) -> Result<()> {
    if wants("own sum u32") {
        bench.own_sum("own sum u32", n, |word| word, WrappingSum)?;
    }
    if wants("own sum f32") {
        bench.own_sum("own sum f32", n, unit, FloatSum)?;
    }
    if wants("own sum with a field u32") {
        bench.own_sum("own sum with a field u32", n, |word| word, SumOfBits { mask: u32::MAX })?;
    }
    if wants("own sum with a field f32") {
        bench.own_sum("own sum with a field f32", n, unit, SumUpTo { most: f32::INFINITY })?;
    }
    if wants("dot f32") {
        bench.dot("dot f32", n)?;
    }
    if wants("mean and variance f32") {
        bench.moments("mean and variance f32", n)?;
    }
    if wants("affine scan f32") {
        bench.affine("affine scan f32", n)?;
    }
    Ok(())
}

/// What a function makes of as many arrays of these.
fn recipe(item: Kind, array: Kind, arrays: usize, function: &'static Function) -> Recipe {
    let items = (0..arrays).map(Formula::Item).collect();
    Recipe::of_arrays(item, vec![array; arrays], Formula::Call(function, items))
}

/// Begins a reduction of what a recipe makes of arrays of as many items each, into one value.
fn begin_made<A, O>(
    gpu: &Arc<Gpu>,
    workspace: &mut Workspace,
    (recipe, arrays): (&Recipe, &[Slice<'_>]),
    result: &Memory,
    problem: &Reduce<A, O>,
) -> Result<()>
where
    A: Element,
    O: Operator<A>,
{
    let items = arrays[0].len() as u64;
    let arrays: Vec<_> = arrays.iter().map(|slice| Stored::Device(*slice)).collect();
    let made =
        Ingredients { recipe, arrays: &arrays, anywhere: &[], lengths: &[], words: &[], items };
    let options = ReduceOptions::default();
    let bound = gpu.bind_reduce_made(workspace, &made, result.slice(), problem, &options)?;
    gpu.begin(&bound)
}

impl Bench {
    /// The built-in sum, and the same as an operator of a caller's.
    fn own_sum<T, O>(&self, job: &str, n: usize, item: fn(u32) -> T, own: O) -> Result<()>
    where
        T: Number<Acc = T>,
        Sum: Operator<T>,
        O: Operator<T>,
    {
        let gpu = &self.gpu;
        let items = array(n, item);
        let pool = Pool::holding(gpu, &items)?;
        let results = [Memory::new::<T>(gpu, 1)?, Memory::new::<T>(gpu, 1)?];
        let options = ReduceOptions::default();
        let (mut first, mut second) = (Workspace::default(), Workspace::default());
        let built_in = |turn| {
            let (slices, problem) = ([pool.slice(turn), results[0].slice()], Reduce::new(Sum));
            gpu.begin(&gpu.bind_reduce::<T, T, _>(&mut first, slices, &problem, &options)?)
        };
        let own = |turn| {
            let (slices, problem) = ([pool.slice(turn), results[1].slice()], Reduce::new(own));
            gpu.begin(&gpu.bind_reduce::<T, T, _>(&mut second, slices, &problem, &options)?)
        };
        let mut engines = [Engine::new("built in", built_in), Engine::new("own", own)];
        engines.iter_mut().try_for_each(|engine| (engine.run)(0))?;
        let [built_in, own] = [results[0].to_vec::<T>()?, results[1].to_vec::<T>()?];
        assert_eq!(built_in, own, "{job} of {n} items");
        let mut all = vec![self.read(&pool)];
        all.extend(engines);
        self.contest(job, n, size_of_val(&items[..]), all)
    }

    /// A reduction of what a recipe makes of neighbouring arrays of a pool, into one value.
    fn made<A, O>(
        &self,
        recipe: &Recipe,
        pool: &Pool,
        result: &Memory,
        turn: usize,
        own: O,
        workspace: &mut Workspace,
    ) -> Result<()>
    where
        A: Element,
        O: Operator<A>,
    {
        let arrays: Vec<Slice<'_>> =
            (0..recipe.arrays.len()).map(|k| pool.slice(turn + k)).collect();
        begin_made(&self.gpu, workspace, (recipe, &arrays), result, &Reduce::new(own))
    }

    fn dot(&self, job: &str, n: usize) -> Result<()> {
        let gpu = &self.gpu;
        let items = array(n, unit);
        // Two arrays of each turn, and as many bytes in one.
        let pool = Pool::holding(gpu, &items.repeat(2))?;
        let halves = |turn: usize| {
            let both = pool.slice(turn);
            let half =
                |part: u64| both.part(part * n as u64..(part + 1) * n as u64).expect("there");
            [half(0), half(1)]
        };
        let result = Memory::new::<f32>(gpu, 1)?;
        let recipe = recipe(f32::KIND, f32::KIND, 2, product {}.function());
        let (problem, mut workspace) = (Reduce::new(Sum), Workspace::default());
        let mut ours =
            |turn| begin_made(gpu, &mut workspace, (&recipe, &halves(turn)), &result, &problem);
        ours(0)?;
        let squares: Vec<f32> = items.iter().map(|item| item * item).collect();
        let expected: f32 = reference::specified::reduce(&squares, &problem);
        assert_eq!(result.to_vec::<f32>()?, [expected], "{job} of {n} items");
        self.contest(job, n, 8 * n, vec![self.read(&pool), Engine::new("upsweep", ours)])
    }

    fn moments(&self, job: &str, n: usize) -> Result<()> {
        let gpu = &self.gpu;
        let items = array(n, unit);
        let pool = Pool::holding(gpu, &items)?;
        let result = Memory::new::<Powers>(gpu, 1)?;
        let theirs = Memory::new::<f32>(gpu, 1)?;
        let recipe = recipe(Powers::KIND, f32::KIND, 1, powers_of {}.function());
        let mut workspace = Workspace::default();
        let mut ours = |turn| self.made(&recipe, &pool, &result, turn, AddedPowers, &mut workspace);
        ours(0)?;
        let powers: Vec<Powers> = items.iter().map(|&item| powers_of(item)).collect();
        let expected: Powers = reference::specified::reduce(&powers, &Reduce::new(AddedPowers));
        assert_eq!(result.to_vec::<Powers>()?, [expected], "{job} of {n} items");
        drop(powers);
        let mut engines = vec![self.read(&pool), Engine::new("upsweep", ours)];
        for cub in self.cub("reduce f32", n, &pool, |_| theirs.slice())? {
            let Engine { name, mut run } = cub;
            engines.push(Engine::new(&format!("{name} twice"), move |turn| {
                run(turn)?;
                run(turn)
            }));
        }
        self.contest(job, n, 4 * n, engines)
    }

    fn affine(&self, job: &str, n: usize) -> Result<()> {
        let gpu = &self.gpu;
        let map = |word: u32| Recurrence { scale: 1.0 + unit(word) / 1e6, shift: unit(word << 9) };
        let items = array(n, map);
        let (pool, outputs) = (Pool::holding(gpu, &items)?, Pool::room::<Recurrence>(gpu, n)?);
        let copy = |turn| self.probe.copy(gpu, gpu.stream(), pool.slice(turn), outputs.slice(turn));
        let (problem, options) = (Scan::inclusive(Recurs), ScanOptions::default());
        let mut workspace = Workspace::default();
        let mut ours = |turn| {
            let slices = [pool.slice(turn), outputs.slice(turn)];
            gpu.begin(&gpu.bind_scan::<Recurrence, Recurrence, _>(
                &mut workspace,
                slices,
                &problem,
                &options,
            )?)
        };
        ours(0)?;
        let expected: Vec<Recurrence> = reference::specified::scan(&items, &problem);
        let mut found = items;
        gpu.read_back(&outputs.slice(0), &mut found)?;
        let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "{job} of {n} items");
        drop((found, expected));
        self.contest(job, n, 16 * n, vec![Engine::new("copy", copy), Engine::new("upsweep", ours)])
    }
}
