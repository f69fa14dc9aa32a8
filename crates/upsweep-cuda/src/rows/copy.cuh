// Every item to its place in the output, where neighbours of the one are neighbours of the other, or near.
//
// A thread has COPIED accesses, as many workgroups apart as there are threads, all on their way at once.

constexpr u32 COPIED = 4;

extern "C" __global__ void __launch_bounds__(THREADS) copy_items(const Rows rows) {
    const u64 first = u64(blockIdx.x) * (THREADS * COPIED) + threadIdx.x, accesses = rows.count / ACCESS_ITEMS;
    Access held[COPIED];
#pragma unroll
    for (u32 k = 0; k < COPIED; ++k) {
        const u64 number = first + k * THREADS;
        if (number < accesses) {
            held[k] = fetch_at(rows, Place(rows.first_in) + distance<ACROSS, false>(rows.across, Index(number * ACCESS_ITEMS)));
        }
    }
#pragma unroll
    for (u32 k = 0; k < COPIED; ++k) {
        const u64 number = first + k * THREADS;
        if (number < accesses) {
            const Place at = Place(rows.first_out) + distance<ACROSS, true>(rows.across, Index(number * ACCESS_ITEMS));
            *(Access*)(rows.output + at) = held[k];
        }
    }
}
