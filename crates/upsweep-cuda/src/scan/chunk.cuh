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

/// Accesses that hold a group.
constexpr u32 ACCESSES = GROUP / ACCESS_ITEMS, OUT_ACCESSES = GROUP / OUT_ACCESS_ITEMS;

/// What is scanned.
struct Scan {
    const InMemory* input;
    OutMemory* output;
    State* state;
    u64 items;
    u32 chunks;
    /// Whether there is a start value, and its bits.
    u32 has_init;
    u32 init[2];
};

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
#pragma unroll
    for (u32 half = 1; half < width; half *= 2) {
        total = in_order(total, shuffled_xor(total, half), lane & half);
    }
    return total;
}

/// S over each `width` neighbouring lanes.
template <u32 width> inline Acc scan_lanes(Acc upto, u32 lane) {
#pragma unroll
    for (u32 half = 1; half < width; half *= 2) {
        const Acc left = shuffled(upto, (lane & ~(2 * half - 1)) + half - 1);
        upto = chosen(upto, then(left, upto), lane & half);
    }
    return upto;
}

/// Items of one thread, side by side; later their prefixes.
struct Group {
    Acc at[GROUP];
};

inline Acc total_of(const Group& group) {
    return then(then(group.at[0], group.at[1]), then(group.at[2], group.at[3]));
}

/// The access of the other of two neighbouring lanes.
inline OutAccess of_neighbour(OutAccess access) {
    constexpr u32 COUNT = sizeof(OutAccess) / sizeof(u32);
    u32 words[COUNT == 0 ? 1 : COUNT];
    memcpy(words, &access, sizeof(OutAccess));
#pragma unroll
    for (u32 k = 0; k < COUNT; ++k) {
        words[k] = __shfl_xor_sync(ALL_LANES, words[k], 1);
    }
    memcpy(&access, words, sizeof(OutAccess));
    return access;
}

/// A chunk, where it is staged and where it lies.
struct Chunk {
    const Scan& scan;
    const InMemory* stage;
    u64 first;

    Chunk(const Scan& scan, const InMemory* stage, u32 number) : scan(scan), stage(stage), first(u64(number) * CHUNK) {}

    /// Whether it is staged.
    bool is_whole() const { return ALIGNED && first + CHUNK <= scan.items; }

    /// The place in the array of item `i` from the end that the scan starts at.
    u64 place(u64 i) const { return REVERSE ? scan.items - 1 - i : i; }

    /// A lane's group of a row, out of shared memory.
    Group staged(u32 row, u32 lane) const {
        const u32 at = row * ROW + lane * GROUP;
        const Access* accesses = (const Access*)(stage + (REVERSE ? CHUNK - GROUP - at : at));
        // Of two accesses every other four lanes take the second first, so that no two lanes want one bank.
        const u32 turn = ACCESSES == 2 ? lane >> 2 & 1 : 0;
        Items items[ACCESSES];
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            items[a] = unpack(accesses[a ^ turn]);
        }
        Group group;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const u32 number = REVERSE ? GROUP - 1 - k : k, a = number / ACCESS_ITEMS, v = number % ACCESS_ITEMS;
            const Item item = ACCESSES == 2 && turn ? items[a ^ (ACCESSES - 1)].at[v] : items[a].at[v];
            group.at[k] = enter(item, 0);
        }
        return group;
    }

    /// The same from where it lies, with padding behind the end.
    Group loaded(u32 row, u32 lane) const {
        const u64 at = first + row * ROW + lane * GROUP;
        Group group;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const Acc acc = enter(unpack_one(scan.input[place(min(at + k, scan.items - 1))]), 0);
            group.at[k] = chosen(padding(), acc, at + k < scan.items);
        }
        return group;
    }

    void store(u32 row, u32 lane, Group group) const {
        const u64 at = first + row * ROW + lane * GROUP;
        if (is_start(at)) {
            group.at[0] = identity();
        }
        OutAccess accesses[OUT_ACCESSES];
#pragma unroll
        for (u32 a = 0; a < OUT_ACCESSES; ++a) {
            OutItems items;
#pragma unroll
            for (u32 v = 0; v < OUT_ACCESS_ITEMS; ++v) {
                const u32 number = a * OUT_ACCESS_ITEMS + v;
                items.at[v] = stored(group.at[REVERSE ? GROUP - 1 - number : number]);
            }
            accesses[a] = pack(items);
        }
        OutAccess* to = (OutAccess*)(scan.output + (REVERSE ? scan.items - at - GROUP : at));
        if constexpr (OUT_ACCESSES == 2 && !REVERSE) {
            // Neighbours share out their accesses, so that the two write 32 bytes side by side each time.
            const bool is_odd = lane & 1;
            const OutAccess other = of_neighbour(is_odd ? accesses[0] : accesses[1]);
            OutAccess* pair = to - (is_odd ? 2 : 0);
            pair[is_odd ? 1 : 0] = is_odd ? other : accesses[0];
            pair[is_odd ? 3 : 2] = is_odd ? accesses[1] : other;
        } else {
#pragma unroll
            for (u32 a = 0; a < OUT_ACCESSES; ++a) {
                to[a] = accesses[a];
            }
        }
    }

    /// Those that there are, one by one.
    void store_items(u32 row, u32 lane, const Group& group) const {
        const u64 at = first + row * ROW + lane * GROUP;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (at + k < scan.items) {
                scan.output[place(at + k)] = pack_one(stored(chosen(group.at[k], identity(), k == 0 && is_start(at))));
            }
        }
    }

    /// Whether nothing comes before this item.
    bool is_start(u64 at) const { return !INCLUSIVE && at == 0 && !scan.has_init; }
};

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
    fold_pairs<1>(totals, lane);
#pragma unroll
    for (u32 half = ROWS; half < SUBGROUP; half *= 2) {
        totals[0] = in_order(totals[0], shuffled_xor(totals[0], half), lane & half);
    }
    return totals[0];
}

/// What comes into this warp's rows, lane k having that of row k. `upto` is S over them.
inline Acc carries_of_rows(const Acc* totals, const Acc* tile_carries, Acc upto, u32 warp, u32 lane) {
    const u32 own = warp % TILE_WARPS;
    const Acc* tile = totals + (warp - own);
    // S over the tile's warps as far as this one: the left half's total in front as often as it is in a right half.
    Acc before = padding();
#pragma unroll
    for (u32 half = 1; half < TILE_WARPS; half *= 2) {
        if (own & half) {
            const u32 first = own & ~(2 * half - 1);
            const Acc left = half == 1 ? tile[first] : then(tile[first], tile[first + 1]);
            upto = then(left, upto);
            before = own & (half - 1) ? then(left, before) : left;
        }
    }
    return then(tile_carries[warp / TILE_WARPS], chosen(previous(upto, lane), before, lane == 0));
}

/// S over the items of a group and the groups of its row, `carry` coming into the row.
inline Group scan_row(Group group, Acc carry, u32 lane) {
    const Acc right = then(group.at[2], group.at[3]);
    group.at[1] = then(group.at[0], group.at[1]);
    group.at[2] = then(group.at[1], group.at[2]);
    group.at[3] = then(group.at[1], right);
    const Acc into = then(carry, previous(scan_lanes<SUBGROUP>(group.at[3], lane), lane));
    Group scanned;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        scanned.at[k] = INCLUSIVE ? then(into, group.at[k]) : k == 0 ? into : then(into, group.at[k > 0 ? k - 1 : 0]);
    }
    return scanned;
}
