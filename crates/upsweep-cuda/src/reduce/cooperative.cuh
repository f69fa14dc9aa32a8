// Threads fold by shuffles; what their teams or warps have left goes through shared memory.

/// Values in shared memory: of tiles, or of warps where grouping cannot be seen.
constexpr u32 VALUES = EXACT ? WARPS : TILES;

/// Leaves the value of each team's tile, those of the workgroup from `first` on: lanes in halves, first those that lie in one
/// thread in several runs, then those of threads, then those of one run. While a thread has several values, it hands half of
/// them to the other, and gets the other half of the other's.
__forceinline__ void fold_tile(Lanes& lanes, Acc* tiles, u32 first, u32 warp, u32 lane) {
    const u32 member = threadIdx.x % TEAM;
    lanes.fold_runs();
    Acc* values = lanes.at[0];
    u32 distance = TEAM / 2, left = RUN;
#pragma unroll
    for (; distance > 0; distance /= 2) {
        if (left > 1) {
            left /= 2;
            const bool is_upper = member & distance;
            // Of a long run the compiler wants a constant bound, else it keeps the values in memory.
#pragma unroll
            for (u32 v = 0; v < (RUN > TEAM ? RUN / 2 : left); ++v) {
                if (v < left) {
                    const Acc own = chosen(values[v], values[v + left], is_upper);
                    const Acc other = shuffled_xor(chosen(values[v + left], values[v], is_upper), distance);
                    const bool is_later = ORDERED && is_upper;
                    values[v] = combine(chosen(own, other, is_later), chosen(other, own, is_later));
                }
            }
        } else {
            values[0] = combine(values[0], shuffled_xor(values[0], distance));
        }
    }
    // Values that were shared out lie with those members whose numbers differ in the upper bits.
    constexpr u32 LEFT = RUN > TEAM ? RUN / TEAM : 1;
#pragma unroll
    for (u32 distance = TEAM / 2, apart = RUN / 2; apart >= LEFT; distance /= 2, apart /= 2) {
#pragma unroll
        for (u32 v = 0; v < LEFT; ++v) {
            values[v] = combine(values[v], shuffled_xor(values[v], distance));
        }
    }
#pragma unroll
    for (u32 half = LEFT / 2; half > 0; half /= 2) {
#pragma unroll
        for (u32 v = 0; v < half; ++v) {
            values[v] = combine(values[v], values[v + half]);
        }
    }
    if (member == 0) {
        tiles[first + threadIdx.x / TEAM] = values[0];
    }
}

/// Leaves the value of the warp, of whose threads each has one.
inline void fold_thread(Acc own, Acc* values, u32 warp, u32 lane) {
    own = fold_lanes<SUBGROUP>(own);
    if (lane == 0) {
        values[warp] = own;
    }
}
