// CUB behind one function, to be timed in turns with upsweep: `crates/upsweep-cuda/examples/peers.rs`.
//
//   nvcc -O3 -std=c++17 -arch=native -shared -Xcompiler -fPIC -o libcub.so benches/peers/cuda/cub.cu
//
// With another CCCL than the toolkit's: -I<folder of cub, thrust and libcudacxx>.

#include <cub/cub.cuh>
#include <cuda/stream_ref>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#if CUB_VERSION >= 300200
#include <cuda/execution>
#define HAS_DETERMINISM 1
#endif

namespace {

using i64 = std::int64_t;
using u32 = std::uint32_t;
using u8 = std::uint8_t;

struct Call {
    void* temp;
    std::size_t* temp_bytes;
    const void* input;
    void* output;
    i64 items;
    cudaStream_t stream;
    /// Offsets, or keys.
    const void* marks;
    i64 segments;

    template <typename T> const T* in() const { return static_cast<const T*>(input); }
    template <typename T> T* out() const { return static_cast<T*>(output); }
};

/// f16 and u8 are summed in the type that both are brought to.
template <typename A> struct PlusIn {
    __host__ __device__ A operator()(A left, A right) const { return left + right; }
};

template <typename T, typename A> cudaError_t reduce(const Call& c) {
    return cub::DeviceReduce::Reduce(c.temp, *c.temp_bytes, c.in<T>(), c.out<A>(), c.items, PlusIn<A>{}, A{}, c.stream);
}

template <typename T> cudaError_t sum(const Call& c) {
    return cub::DeviceReduce::Sum(c.temp, *c.temp_bytes, c.in<T>(), c.out<T>(), c.items, c.stream);
}

template <typename T, typename U> cudaError_t inclusive_scan(const Call& c) {
    return cub::DeviceScan::InclusiveScanInit(
        c.temp, *c.temp_bytes, c.in<T>(), c.out<U>(), PlusIn<U>{}, U{}, c.items, c.stream);
}

template <typename T> cudaError_t inclusive_sum(const Call& c) {
    return cub::DeviceScan::InclusiveSum(c.temp, *c.temp_bytes, c.in<T>(), c.out<T>(), c.items, c.stream);
}

template <typename T> cudaError_t exclusive_sum(const Call& c) {
    return cub::DeviceScan::ExclusiveSum(c.temp, *c.temp_bytes, c.in<T>(), c.out<T>(), c.items, c.stream);
}

/// The position lies behind the extreme, 8 bytes further on.
cudaError_t argmin(const Call& c) {
    i64* position = c.out<i64>() + 1;
#ifdef HAS_DETERMINISM
    const auto env = cuda::std::execution::env{cuda::stream_ref{c.stream}};
#else
    const auto env = c.stream;
#endif
    return cub::DeviceReduce::ArgMin(c.temp, *c.temp_bytes, c.in<float>(), c.out<float>(), position, c.items, env);
}

/// The sum that has the same bits on every GPU; it finds its own scratch memory.
cudaError_t same_bits(const Call& c) {
#ifdef HAS_DETERMINISM
    if (c.temp == nullptr) {
        *c.temp_bytes = 1;
        return cudaSuccess;
    }
    const auto env = cuda::std::execution::env{
        cuda::stream_ref{c.stream}, cuda::execution::require(cuda::execution::determinism::gpu_to_gpu)};
    return cub::DeviceReduce::Reduce(c.in<float>(), c.out<float>(), c.items, cuda::std::plus<float>{}, 0.0f, env);
#else
    return cudaErrorNotSupported;
#endif
}

cudaError_t segmented_sum(const Call& c) {
    const u32* offsets = static_cast<const u32*>(c.marks);
    return cub::DeviceSegmentedReduce::Sum(
        c.temp, *c.temp_bytes, c.in<float>(), c.out<float>(), c.segments, offsets, offsets + 1, c.stream);
}

/// Rows of as many items each.
cudaError_t sum_of_rows(const Call& c) {
#if CUB_VERSION >= 300100
    return cub::DeviceSegmentedReduce::Sum(
        c.temp, *c.temp_bytes, c.in<float>(), c.out<float>(), c.segments, static_cast<int>(c.items / c.segments), c.stream);
#else
    return cudaErrorNotSupported;
#endif
}

cudaError_t sum_by_key(const Call& c) {
    const u32* keys = static_cast<const u32*>(c.marks);
    return cub::DeviceScan::InclusiveSumByKey(
        c.temp, *c.temp_bytes, keys, c.in<u32>(), c.out<u32>(), c.items, ::cuda::std::equal_to<>{}, c.stream);
}

struct Job {
    const char* name;
    cudaError_t (*run)(const Call&);
};

constexpr Job JOBS[] = {
    {"reduce u32", sum<u32>},
    {"reduce f32", sum<float>},
    {"reduce f32 same bits", same_bits},
    {"reduce u8 u32", reduce<u8, u32>},
    {"reduce f16 f32", reduce<__half, float>},
    {"argmin f32", argmin},
    {"exclusive_scan u32", exclusive_sum<u32>},
    {"inclusive_scan u32", inclusive_sum<u32>},
    {"inclusive_scan f32", inclusive_sum<float>},
    {"inclusive_scan f64", inclusive_sum<double>},
    {"inclusive_scan u8 u32", inclusive_scan<u8, u32>},
    {"segmented_reduce f32", segmented_sum},
    {"sum of rows f32", sum_of_rows},
    {"inclusive_scan_by_key u32", sum_by_key},
};

} // namespace

extern "C" int upsweep_peer_version() { return CUB_VERSION; }

/// As CUB's functions: without scratch memory says how much is needed. Returns CUDA's number of an error, 0 if there is none.
extern "C" int upsweep_peer_run_segments(
    const char* job, void* temp, std::size_t* temp_bytes, const void* input, void* output, std::uint64_t items, void* stream,
    const void* marks, std::uint64_t segments) {
    const Call call{
        temp, temp_bytes, input, output, i64(items), static_cast<cudaStream_t>(stream), marks, i64(segments)};
    for (const Job& known : JOBS) {
        if (std::strcmp(known.name, job) == 0) {
            return known.run(call);
        }
    }
    return cudaErrorNotSupported;
}

/// The same of a job without segments.
extern "C" int upsweep_peer_run(
    const char* job, void* temp, std::size_t* temp_bytes, const void* input, void* output, std::uint64_t items, void* stream) {
    return upsweep_peer_run_segments(job, temp, temp_bytes, input, output, items, stream, nullptr, 0);
}
