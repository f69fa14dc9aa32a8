// The limits of memory: as many bytes, moved with no arithmetic worth the name, in accesses of 16 bytes. A workgroup takes
// neighbouring ones, ACCESSES to a thread, all on their way at once.

inline u64 first_of_thread() { return u64(blockIdx.x) * THREADS * ACCESSES + threadIdx.x; }

extern "C" __global__ void __launch_bounds__(THREADS) read_all(const uint4* input, u64 accesses, u32* sink) {
    uint4 held[ACCESSES];
#pragma unroll
    for (u32 k = 0; k < ACCESSES; ++k) {
        const u64 at = first_of_thread() + k * THREADS;
        held[k] = make_uint4(0, 0, 0, 0);
        if (at < accesses) {
            asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(held[k].x), "=r"(held[k].y), "=r"(held[k].z), "=r"(held[k].w)
                         : "l"(input + at));
        }
    }
    u32 all = 0;
#pragma unroll
    for (u32 k = 0; k < ACCESSES; ++k) {
        all ^= held[k].x ^ held[k].y ^ held[k].z ^ held[k].w;
    }
    // Seldom, but the compiler does not know.
    if (all == 0x9e3779b1u) {
        *sink = all;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) copy_all(const uint4* input, u64 accesses, uint4* output) {
    uint4 held[ACCESSES];
#pragma unroll
    for (u32 k = 0; k < ACCESSES; ++k) {
        const u64 at = first_of_thread() + k * THREADS;
        if (at < accesses) {
            held[k] = input[at];
        }
    }
#pragma unroll
    for (u32 k = 0; k < ACCESSES; ++k) {
        const u64 at = first_of_thread() + k * THREADS;
        if (at < accesses) {
            output[at] = held[k];
        }
    }
}

/// Keeps the device busy for so many nanoseconds. One thread.
extern "C" __global__ void delay(u64 nanoseconds) {
    u64 begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}
