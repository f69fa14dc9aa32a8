// What racecheck makes of values that a warp hands to others in shared memory. Five ways, of which the last has no barrier.
//
//     nvcc -O3 -std=c++17 -arch=native -lineinfo -o hand_over benches/peers/cuda/hand_over.cu
//     for way in 0 1 2 3 4; do compute-sanitizer --tool racecheck ./hand_over $way; done

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

/// Workers leave totals, a controller answers with carries.
enum Way { ARRIVE_AND_SYNC, SYNC, SYNCTHREADS, MBARRIER_OF_ONE_LANE, NONE };

constexpr unsigned WARPS = 4, THREADS = 32 * (WARPS + 1);

__device__ unsigned address(const void* pointer) { return unsigned(__cvta_generic_to_shared(pointer)); }

__device__ void wait(const unsigned long long* barrier) {
    unsigned done = 0;
    while (!done) {
        asm volatile(
            "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p;}"
            : "=r"(done)
            : "r"(address(barrier))
            : "memory");
    }
}

__device__ void arrive(unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}

/// A meeting at one of two named barriers; with ARRIVE_AND_SYNC only one side waits.
template <Way way> __device__ void meet(unsigned number, bool waits) {
    if (way == SYNCTHREADS) {
        __syncthreads();
    } else if (way == SYNC || (way == ARRIVE_AND_SYNC && waits)) {
        asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(THREADS) : "memory");
    } else if (way == ARRIVE_AND_SYNC) {
        asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(THREADS) : "memory");
    }
}

template <Way way> __global__ void hand_over(unsigned* out) {
    __shared__ unsigned totals[WARPS], carries[WARPS];
    __shared__ unsigned long long totals_known, carries_known;
    const unsigned warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (way == MBARRIER_OF_ONE_LANE) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&totals_known)), "n"(WARPS) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&carries_known)) : "memory");
        }
        __syncthreads();
    }
    if (warp == WARPS) {
        meet<way>(1, true);
        if (way == MBARRIER_OF_ONE_LANE) {
            wait(&totals_known);
        }
        const unsigned total = lane < WARPS ? totals[lane] : 0;
        if (lane < WARPS) {
            carries[lane] = total + 1;
        }
        __syncwarp();
        // For all lanes, which the barrier of the warp has put in order.
        if (way == MBARRIER_OF_ONE_LANE && lane == 0) {
            arrive(&carries_known);
        }
        meet<way>(2, false);
    } else {
        if (lane == 3) {
            totals[warp] = warp * 7;
            if (way == MBARRIER_OF_ONE_LANE) {
                arrive(&totals_known);
            }
        }
        __syncwarp();
        meet<way>(1, false);
        meet<way>(2, true);
        if (way == MBARRIER_OF_ONE_LANE) {
            wait(&carries_known);
        }
        out[blockIdx.x * 32 * WARPS + threadIdx.x] = carries[warp] + totals[warp];
    }
}

int main(int count, char** words) {
    unsigned* out;
    cudaMalloc(&out, 1 << 16);
    switch (count > 1 ? atoi(words[1]) : 0) {
    case ARRIVE_AND_SYNC: hand_over<ARRIVE_AND_SYNC><<<4, THREADS>>>(out); break;
    case SYNC: hand_over<SYNC><<<4, THREADS>>>(out); break;
    case SYNCTHREADS: hand_over<SYNCTHREADS><<<4, THREADS>>>(out); break;
    case MBARRIER_OF_ONE_LANE: hand_over<MBARRIER_OF_ONE_LANE><<<4, THREADS>>>(out); break;
    default: hand_over<NONE><<<4, THREADS>>>(out);
    }
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
