// One workgroup's chunk of a scan, in the order of docs/summation.md.
//
//     group    4 items        in one thread
//     row      32 groups      in one warp, side by side
//     tile     16 rows        in one or several warps
//     window   32 tiles       in neighbouring chunks
//
// S are aligned prefixes: of a power of two of values, those of the left half, and those of the right half with the left
// half's total in front (J. Sklansky, 1960). What is not there is padding.

constexpr u32 GROUP = 4, ROW = GROUP * SUBGROUP;
constexpr u32 CHUNK = WARPS * ROWS * ROW;
/// Warps that share a tile, tiles of a chunk, chunks of a window.
constexpr u32 TILE_WARPS = TILE_ROWS / ROWS;
constexpr u32 CHUNK_TILES = WARPS / TILE_WARPS;
constexpr u32 CHUNKS_OF_WINDOW = WINDOW_TILES / CHUNK_TILES;
static_assert(TILE_WARPS * ROWS == TILE_ROWS && CHUNK_TILES * TILE_WARPS == WARPS, "warps share whole tiles");
static_assert(TILE_WARPS <= 4, "a worker folds the totals of a tile's warps one by one");
static_assert(CHUNKS_OF_WINDOW <= SUBGROUP && WARPS <= SUBGROUP, "a warp sees a window, and all workers' totals");

/// Differences are signed: when it widens an unsigned one, NVRTC 13.0 takes the constant out first, and what is left wraps.
template <bool IS_DIFFERENCE> struct OffsetOf { using Type = u32; };
template <> struct OffsetOf<true> { using Type = i32; };
using Offset = OffsetOf<REVERSE != 0>::Type;

/// The place in memory of the i-th of several that a scan takes in turn, the last of which is number `last`.
inline Offset turned(u32 last, u32 i) { return REVERSE ? Offset(last) - Offset(i) : Offset(i); }

/// Arrays at equal distances that one launch scans, each by itself: how many, and how far one begins behind another, in items of the input and
/// of the output. What is published of an array begins at its first slot. Used if BATCHED.
struct StridedBatch {
    u64 arrays;
    i64 input, output;
    u64 first_slot;
};

/// What is scanned.
struct Scan {
    Inputs inputs;
    OutMemory* output;
    State* state;
    u64 items;
    u32 chunks;
    /// Whether there is a start value, and its words.
    u32 has_init;
    StridedBatch batch;
    InitWords init;

    /// What is scanned: items, or words of PACKED items, of which the last may be a part.
    u64 values() const { return (items + PACKED - 1) / PACKED; }

    /// Fewer of them. Without any there is a chunk that says so.
    void set_items(u64 fewer) {
        items = fewer;
        chunks = max(u32((values() + CHUNK - 1) / CHUNK), 1u);
    }

    /// Slots of what is published: the totals of all chunks; what comes into each window but the first.
    u64 slots() const { return u64(chunks) + chunks / CHUNKS_OF_WINDOW; }
    Published* published() const { return state->published + (BATCHED ? batch.first_slot : 0); }

    /// Chunks of all arrays, which are counted through.
    u32 all_chunks() const { return BATCHED ? chunks * u32(batch.arrays) : chunks; }
    /// The number of a chunk in its own array.
    u32 number_in_array(u32 chunk) const { return BATCHED ? chunk % chunks : chunk; }
};

/// The scan of the array that a chunk is of: that which was launched, or one of several.
template <bool IS_ONE_OF_SEVERAL> struct ArrayOf {
    using Type = const Scan&;
    static Type of(const Scan& scan, u32) { return scan; }
};
template <> struct ArrayOf<true> {
    using Type = const Scan;
    static Type of(const Scan& scan, u32 chunk) {
        const u64 array = chunk / scan.chunks;
        Scan own = scan;
        own.inputs = at(scan.inputs, array * u64(scan.batch.input));
        own.output = scan.output + i64(array) * scan.batch.output;
        own.batch.first_slot = array * scan.slots();
        return own;
    }
};
using ScanOfArray = ArrayOf<BATCHED != 0>::Type;
inline ScanOfArray array_of(const Scan& scan, u32 chunk) { return ArrayOf<BATCHED != 0>::of(scan, chunk); }

/// Workgroups that have a chunk, where each has one or several in turn.
inline u32 most_workgroups(const Scan& scan) { return min(gridDim.x, scan.chunks); }

/// The operator, the left operand being the one nearer to the start of the scan.
inline Acc then(Acc left, Acc right) { return REVERSE ? combine(right, left) : combine(left, right); }

/// Two neighbours of which `own` may be the one to the right.
inline Acc in_order(Acc own, Acc other, bool is_right) {
    if (COMMUTES) {
        return combine(own, other);
    }
    return then(chosen(own, other, is_right), chosen(other, own, is_right));
}

/// The values of each `width` neighbouring lanes by a tree, for all of them.
template <u32 width> inline Acc fold_lanes(Acc total, u32 lane) {
    if constexpr (ADDS_LANES && width == SUBGROUP) {
        return acc_of(Words{{sum_lanes(words_of(total).at[0])}});
    } else {
#pragma unroll
        for (u32 half = 1; half < width; half *= 2) {
            total = in_order(total, shuffled_xor(total, half), lane & half);
        }
        return total;
    }
}

/// The values of the first `count` lanes by a tree, for all of those; others have padding.
template <u32 count> inline Acc fold_first(Acc total, u32 lane) { return fold_lanes<ADDS_LANES ? SUBGROUP : count>(total, lane); }

/// Lanes `half` apart fold pairs of what they have of rows: one keeps the lower of each pair, the other the upper.
template <u32 half> __forceinline__ void fold_pairs(Acc (&totals)[ROWS], u32 lane) {
    const bool is_right = lane & half;
#pragma unroll
    for (u32 r = 0; r < ROWS / 2 / half; ++r) {
        const Acc own = chosen(totals[2 * r], totals[2 * r + 1], is_right);
        const Acc other = shuffled_xor(chosen(totals[2 * r + 1], totals[2 * r], is_right), half);
        totals[r] = in_order(own, other, is_right);
    }
    if constexpr (2 * half < ROWS) {
        fold_pairs<2 * half>(totals, lane);
    }
}

/// Lane k gets the total of row k of the first ROWS, and lanes behind the same again. At each level of the rows' trees a
/// lane hands half of its rows to its neighbour, and gets the other half of the neighbour's, while it has several.
__forceinline__ Acc fold_rows(Acc (&totals)[ROWS], u32 lane) {
    if constexpr (ADDS_LANES) {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            totals[0] = chosen(totals[0], fold_lanes<SUBGROUP>(totals[r], lane), r == 0 || lane % ROWS == r);
        }
    } else {
        fold_pairs<1>(totals, lane);
#pragma unroll
        for (u32 half = ROWS; half < SUBGROUP; half *= 2) {
            totals[0] = in_order(totals[0], shuffled_xor(totals[0], half), lane & half);
        }
    }
    return totals[0];
}
