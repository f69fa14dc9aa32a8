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
// Each differs from the one before in how it loads or in how it folds. The number of threads is known when a kernel is
// launched, up to the step that makes it a constant. THREADS is a power of two and at least LAST. What is not there counts as 0.

constexpr u32 LAST = 2 * SUBGROUP;

struct Parameters {
    const u32* items;
    u32* partials;
    u64 count;
};

__shared__ u32 values[THREADS];

inline u32 load_one(const Parameters& parameters, u32 threads);
inline u32 load_two(const Parameters& parameters, u32 threads);
inline u32 load_many(const Parameters& parameters, u32 threads);
inline void fold_interleaved(u32 threads);
inline void fold_strided(u32 threads);
inline void fold_sequential(u32 threads, u32 last);
inline void fold_unrolled();
inline void fold_last();
inline void store_partial(const Parameters& parameters);

extern "C" __global__ void interleaved(const Parameters parameters) {
    values[threadIdx.x] = load_one(parameters, blockDim.x);
    __syncthreads();
    fold_interleaved(blockDim.x);
    store_partial(parameters);
}

extern "C" __global__ void strided(const Parameters parameters) {
    values[threadIdx.x] = load_one(parameters, blockDim.x);
    __syncthreads();
    fold_strided(blockDim.x);
    store_partial(parameters);
}

extern "C" __global__ void sequential(const Parameters parameters) {
    values[threadIdx.x] = load_one(parameters, blockDim.x);
    __syncthreads();
    fold_sequential(blockDim.x, 1);
    store_partial(parameters);
}

extern "C" __global__ void first_add(const Parameters parameters) {
    values[threadIdx.x] = load_two(parameters, blockDim.x);
    __syncthreads();
    fold_sequential(blockDim.x, 1);
    store_partial(parameters);
}

extern "C" __global__ void last_subgroup(const Parameters parameters) {
    values[threadIdx.x] = load_two(parameters, blockDim.x);
    __syncthreads();
    fold_sequential(blockDim.x, LAST);
    fold_last();
    store_partial(parameters);
}

extern "C" __global__ void unrolled(const Parameters parameters) {
    values[threadIdx.x] = load_two(parameters, THREADS);
    __syncthreads();
    fold_unrolled();
    fold_last();
    store_partial(parameters);
}

extern "C" __global__ void cascading(const Parameters parameters) {
    values[threadIdx.x] = load_many(parameters, THREADS);
    __syncthreads();
    fold_unrolled();
    fold_last();
    store_partial(parameters);
}

/// An item, or 0 behind the last.
inline u32 item(const Parameters& parameters, u64 at) { return at < parameters.count ? parameters.items[at] : 0; }

/// A thread's item.
inline u32 load_one(const Parameters& parameters, u32 threads) {
    return item(parameters, u64(blockIdx.x) * threads + threadIdx.x);
}

/// The sum of a thread's two items.
inline u32 load_two(const Parameters& parameters, u32 threads) {
    const u64 at = u64(blockIdx.x) * threads * 2 + threadIdx.x;
    return item(parameters, at) + item(parameters, at + threads);
}

/// The sum of two items in every stretch of the array that all workgroups together take.
inline u32 load_many(const Parameters& parameters, u32 threads) {
    u32 sum = 0;
    for (u64 at = u64(blockIdx.x) * threads * 2 + threadIdx.x; at < parameters.count; at += u64(gridDim.x) * threads * 2) {
        sum += parameters.items[at] + item(parameters, at + threads);
    }
    return sum;
}

/// Threads 0, 2, 4, … add, then 0, 4, 8, …: in every subgroup some do and some do not, and each computes a remainder.
inline void fold_interleaved(u32 threads) {
    for (u32 distance = 1; distance < threads; distance *= 2) {
        if (threadIdx.x % (2 * distance) == 0) {
            values[threadIdx.x] += values[threadIdx.x + distance];
        }
        __syncthreads();
    }
}

/// The same additions by threads 0, 1, 2, …: whole subgroups do or do not. What neighbours add lies in the same banks.
inline void fold_strided(u32 threads) {
    for (u32 distance = 1; distance < threads; distance *= 2) {
        const u32 at = 2 * distance * threadIdx.x;
        if (at < threads) {
            values[at] += values[at + distance];
        }
        __syncthreads();
    }
}

/// The first half adds what the second has, until `last` values are left: neighbours find theirs in neighbouring banks.
inline void fold_sequential(u32 threads, u32 last) {
    for (u32 half = threads / 2; half >= last; half /= 2) {
        if (threadIdx.x < half) {
            values[threadIdx.x] += values[threadIdx.x + half];
        }
        __syncthreads();
    }
}

/// As `fold_sequential`, round by round.
inline void fold_unrolled() {
#pragma unroll
    for (u32 half = THREADS / 2; half >= LAST; half /= 2) {
        if (threadIdx.x < half) {
            values[threadIdx.x] += values[threadIdx.x + half];
        }
        __syncthreads();
    }
}

/// The last LAST values: the first subgroup adds them with barriers of its own, which cost next to nothing. In 2007 its
/// threads were in step without any; since 7.0 they are not, and `volatile` does not help. What the upper threads add is
/// never used.
inline void fold_last() {
    if (threadIdx.x >= SUBGROUP) {
        return;
    }
    u32 own = values[threadIdx.x];
#pragma unroll
    for (u32 half = SUBGROUP; half > 0; half /= 2) {
        own += values[threadIdx.x + half];
        __syncwarp();
        values[threadIdx.x] = own;
        __syncwarp();
    }
}

/// Leaves the workgroup's value.
inline void store_partial(const Parameters& parameters) {
    if (threadIdx.x == 0) {
        parameters.partials[blockIdx.x] = values[0];
    }
}
