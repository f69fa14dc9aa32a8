// Folds items in the order of docs/summation.md: tiles of 16 rows by 128 lanes, lanes down their rows, lanes in halves, an
// aligned binary tree over tiles.
//
//                  lane 0          …          lane 127
//     row 0      │ member 0 │ member 1 │ … │ member TEAM-1 │   a team of threads takes one tile;
//     …          │    ↓     │    ↓     │   │      ↓        │   each member holds ACCESSES accesses of a row
//     row 15     │          │          │   │               │
//                  halves: 64, 32, … 1       → the tile's value
//
// A workgroup takes TILES neighbouring tiles, its TEAMS teams one each at a time; the values of its tiles are the leaves of the
// tree. What is not there is padding. `finish` does with a workgroup's value what the strategy says.
//
// The operator must commute. Source of the shape: docs/decisions/2026-11-21-order-of-summation.md.

constexpr u32 ROWS = 16, ROW = 128, TILE = ROWS * ROW;
constexpr u32 TEAM = ROW / ACCESS_ITEMS < SUBGROUP ? ROW / ACCESS_ITEMS : SUBGROUP;
constexpr u32 ACCESSES = ROW / ACCESS_ITEMS / TEAM;
constexpr u32 THREADS = SUBGROUP * WARPS;
constexpr u32 TEAMS = THREADS / TEAM;
constexpr u32 TILES = TEAMS * TILES_OF_TEAM;
/// Rows whose accesses are on their way at once.
constexpr u32 ROWS_HELD = ACCESSES_HELD / ACCESSES < 1 ? 1 : ACCESSES_HELD / ACCESSES;

struct Reduce {
    const InMemory* input;
    State* state;
    u64 items;
    /// Where the result goes: memory of the device, or a mailbox and the number of the message; or nowhere.
    Result* result;
    u64* mailbox;
    u32 message;
    /// Whether there is a start value, and its bits.
    u32 has_init;
    u32 init[2];
};

// From compute capability 8.0 on a warp adds words of 32 bits in one instruction.
#if __CUDA_ARCH__ >= 800
constexpr bool ADDS_LANES = SUMS_WORDS;
inline u32 sum_lanes(u32 word) { return __reduce_add_sync(ALL_LANES, word); }
#else
constexpr bool ADDS_LANES = false;
inline u32 sum_lanes(u32 word) { return word; }
#endif

/// The values of a warp's first COUNT lanes by a tree, for all of them; those of other lanes are padding.
template <u32 COUNT> inline Acc fold_lanes(Acc own) {
    if constexpr (ADDS_LANES) {
        return acc_of(Words{{sum_lanes(words_of(own).at[0])}});
    } else {
#pragma unroll
        for (u32 half = 1; half < SUBGROUP && half < COUNT; half *= 2) {
            own = combine(own, shuffled_xor(own, half));
        }
        return own;
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

/// Writes the result. One thread.
inline void write_result(const Reduce& reduce, Acc total) {
    Acc value = reduce.items == 0 ? identity() : total;
    if (reduce.has_init) {
        const Acc start = init(reduce.init[0], reduce.init[1]);
        value = reduce.items == 0 ? start : combine(start, total);
    }
    if (reduce.result) {
        *reduce.result = Result(result_bits(value));
    }
    if (reduce.mailbox) {
        leave_message(reduce.mailbox, reduce.message, result_bits(value));
    }
}
