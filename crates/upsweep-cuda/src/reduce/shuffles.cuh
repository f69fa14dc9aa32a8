// What a warp folds by shuffles.

/// The values of a warp's first COUNT lanes by a tree, for all of them; those of other lanes are padding.
template <u32 COUNT> inline Acc fold_lanes(Acc own) {
    if constexpr (ADDS_LANES) {
        return acc_of(Words{{sum_lanes(words_of(own).at[0])}});
    } else {
#pragma unroll
        for (u32 half = 1; half < SUBGROUP && half < COUNT; half *= 2) {
            own = combine(own, shuffled_xor(own, half));
        }
        return ORDERED ? shuffled(own, 0) : own;
    }
}

/// Values of neighbours by a tree, COUNT of them in shared memory; for the lanes of one warp.
template <u32 COUNT> inline Acc fold_neighbours(const Acc* values, u32 lane) {
    constexpr u32 EACH = COUNT < SUBGROUP ? 1 : COUNT / SUBGROUP;
    Acc own[EACH];
#pragma unroll
    for (u32 k = 0; k < EACH; ++k) {
        own[k] = lane * EACH + k < COUNT ? values[lane * EACH + k] : padding();
    }
#pragma unroll
    for (u32 width = 1; width < EACH; width *= 2) {
#pragma unroll
        for (u32 k = 0; k < EACH; k += 2 * width) {
            own[k] = combine(own[k], own[k + width]);
        }
    }
    return fold_lanes<COUNT>(own[0]);
}

/// The value of the workgroup from COUNT values of neighbours in shared memory, which one warp folds. For thread 0.
template <u32 COUNT> inline Acc fold_values(const Acc* values, u32 warp, u32 lane) {
    __syncthreads();
    Acc total = padding();
    if (warp == 0) {
        total = fold_neighbours<COUNT>(values, lane);
    }
    return total;
}
