// The seven steps of a sum by Mark Harris, Optimizing Parallel Reduction in CUDA (2007); docs/ladder.md explains them.
//
// A launch folds the items of each workgroup to one value, further launches fold those, until one is left:
//
//     step            loads        folds, in memory that the workgroup shares
//     interleaved     load_one     fold_interleaved
//     strided         load_one     fold_strided
//     sequential      load_one     fold_sequential
//     first_add       load_two     fold_sequential
//     last_subgroup   load_two     fold_sequential to LAST values, fold_last
//     unrolled        load_two     fold_unrolled to LAST values, fold_last
//     cascading       load_many    fold_unrolled to LAST values, fold_last
//
// Each differs from the one before in how it loads or in how it folds. The number of threads is a parameter, as it was in
// 2007, up to the step that makes it a constant: WGSL knows only constant ones, so this keeps the compiler from seeing it.
// THREADS is a power of two and at least LAST. What is not there counts as 0. `fold_last` is in `last_subgroup.wgsl` or `last_thread.wgsl`.

struct Parameters {
    items: u32,
    workgroups: u32,
    threads: u32,
}

struct Place {
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
}

@group(0) @binding(0) var<storage, read> items: array<u32>;
@group(0) @binding(1) var<storage, read_write> partials: array<u32>;
@group(0) @binding(2) var<uniform> parameters: Parameters;

var<workgroup> values: array<u32, THREADS>;

@compute @workgroup_size(THREADS)
fn interleaved(place: Place) {
    values[place.thread] = load_one(place, parameters.threads);
    workgroupBarrier();
    fold_interleaved(place.thread, parameters.threads);
    store_partial(place);
}

@compute @workgroup_size(THREADS)
fn strided(place: Place) {
    values[place.thread] = load_one(place, parameters.threads);
    workgroupBarrier();
    fold_strided(place.thread, parameters.threads);
    store_partial(place);
}

@compute @workgroup_size(THREADS)
fn sequential(place: Place) {
    values[place.thread] = load_one(place, parameters.threads);
    workgroupBarrier();
    fold_sequential(place.thread, parameters.threads, 1u);
    store_partial(place);
}

@compute @workgroup_size(THREADS)
fn first_add(place: Place) {
    values[place.thread] = load_two(place, parameters.threads);
    workgroupBarrier();
    fold_sequential(place.thread, parameters.threads, 1u);
    store_partial(place);
}

@compute @workgroup_size(THREADS)
fn last_subgroup(place: Place) {
    values[place.thread] = load_two(place, parameters.threads);
    workgroupBarrier();
    fold_sequential(place.thread, parameters.threads, LAST);
    fold_last(place.thread);
    store_partial(place);
}

@compute @workgroup_size(THREADS)
fn unrolled(place: Place) {
    values[place.thread] = load_two(place, THREADS);
    workgroupBarrier();
    fold_unrolled(place.thread);
    fold_last(place.thread);
    store_partial(place);
}

@compute @workgroup_size(THREADS)
fn cascading(place: Place) {
    values[place.thread] = load_many(place, THREADS);
    workgroupBarrier();
    fold_unrolled(place.thread);
    fold_last(place.thread);
    store_partial(place);
}

/// A thread's item.
fn load_one(place: Place, threads: u32) -> u32 {
    return item(number_of(place) * threads + place.thread);
}

/// The sum of a thread's two items.
fn load_two(place: Place, threads: u32) -> u32 {
    let at = number_of(place) * threads * 2u + place.thread;
    return item(at) + item(at + threads);
}

/// The sum of two items in every stretch of the array that all workgroups together take.
fn load_many(place: Place, threads: u32) -> u32 {
    var sum = 0u;
    for (var at = number_of(place) * threads * 2u + place.thread; at < parameters.items; at += parameters.workgroups * threads * 2u) {
        sum += items[at] + item(at + threads);
    }
    return sum;
}

/// An item, or 0 behind the last.
fn item(at: u32) -> u32 {
    if (at < parameters.items) {
        return items[at];
    }
    return 0u;
}

/// Threads 0, 2, 4, … add, then 0, 4, 8, …: in every subgroup some do and some do not, and each computes a remainder.
fn fold_interleaved(thread: u32, threads: u32) {
    for (var distance = 1u; distance < threads; distance *= 2u) {
        if (thread % (2u * distance) == 0u) {
            values[thread] += values[thread + distance];
        }
        workgroupBarrier();
    }
}

/// The same additions by threads 0, 1, 2, …: whole subgroups do or do not. What neighbours add lies in the same banks.
fn fold_strided(thread: u32, threads: u32) {
    for (var distance = 1u; distance < threads; distance *= 2u) {
        let at = 2u * distance * thread;
        if (at < threads) {
            values[at] += values[at + distance];
        }
        workgroupBarrier();
    }
}

/// The first half adds what the second has, until `last` values are left: neighbours find theirs in neighbouring banks.
fn fold_sequential(thread: u32, threads: u32, last: u32) {
    for (var half = threads / 2u; half >= last; half /= 2u) {
        if (thread < half) {
            values[thread] += values[thread + half];
        }
        workgroupBarrier();
    }
}

/// As `fold_sequential`, round by round.
fn fold_unrolled(thread: u32) {
    for (var half = THREADS / 2u; half >= LAST; half /= 2u) { // unrolled
        if (thread < half) {
            values[thread] += values[thread + half];
        }
        workgroupBarrier();
    }
}

/// Leaves the workgroup's value. Workgroups that only fill up a grid have none.
fn store_partial(place: Place) {
    if (place.thread == 0u && number_of(place) < parameters.workgroups) {
        partials[number_of(place)] = values[0];
    }
}

/// The number of a workgroup.
fn number_of(place: Place) -> u32 {
    return place.workgroup.y * place.grid.x + place.workgroup.x;
}
