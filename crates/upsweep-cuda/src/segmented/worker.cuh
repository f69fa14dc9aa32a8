// What a warp does with its rows of a chunk that is cut into segments: `held.cuh`.
//
// Where segments begin is in bits. Groups and rows are scanned by way of shared memory, where S as far as each group is left for the
// lane that has the group behind it: `groups.cuh`.

/// What it has in shared memory for itself.
struct OfWarp {
    Exchange exchange;
    GroupsOf<ROWS> groups;
};

/// A bit for each item of a lane's groups, in a word at least.
using Bits = BitsOf<(ROWS * GROUP > WORD_BITS ? 2 * WORD_BITS : WORD_BITS)>::Type;

/// What is known of where segments begin.
struct Noted {
    /// Whether one does with each item of a lane's groups, and whether one has begun in front of these in their rows.
    Bits begins = 0;
    u32 begun = 0;
    /// In which lanes' groups of the row of which this lane takes up groups.
    u32 in_lanes = 0;

    /// Of the group of row r.
    u32 of_row(u32 r) const { return u32(begins >> r * GROUP) & 15; }
};

/// Finds out where segments begin in the rows.
__forceinline__ void note(const Chunk& chunk, bool is_whole, const Heads& heads, const Group (&)[ROWS], Noted& noted, u32 warp,
                          u32 lane) {
    Marks cuts;
    find_cuts(chunk.scan, heads, chunk.number_of(warp * ROWS, 0), lane, cuts);
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        u32 of_group = 0;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const bool is_there = is_whole || chunk.number_of(warp * ROWS + r, lane) + k < chunk.scan.items;
            of_group |= is_there && begins(cuts.of_row[r], k) ? 1u << k : 0;
        }
        noted.begins |= Bits(of_group) << r * GROUP;
        const u32 lanes = __ballot_sync(ALL_LANES, of_group != 0);
        noted.begun |= lanes & ((1u << lane) - 1) ? 1u << r : 0;
        noted.in_lanes = lane / ROW_LANES == r ? lanes : noted.in_lanes;
    }
}

/// S over the items of a group in which segments begin.
inline void scan_items(const Group& group, u32 begins, Plain (&items)[GROUP]) {
    const Plain right = behind(group.at[2].value, group.at[3].value, begins & 8);
    items[0] = group.at[0].value;
    items[1] = behind(items[0], group.at[1].value, begins & 2);
    items[2] = behind(items[1], group.at[2].value, begins & 4);
    items[3] = behind(items[1], right, begins & 12);
}

/// Leaves the total of a warp's rows, and gives S over them, lane k having that of row k. `groups` are S over a row's groups, those that
/// this lane takes up.
__forceinline__ Acc leave_total(const Group (&rows)[ROWS], const Noted& noted, Acc (&groups)[ROWS], OfWarp& own, Acc* totals_of_warps,
                                u32 warp, u32 lane) {
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        Plain items[GROUP];
        scan_items(rows[r], noted.of_row(r), items);
        own.groups.leave(r, lane, items[GROUP - 1]);
    }
    __syncwarp();
    // Of the groups that this lane takes up, and of others behind them.
    const u32 begins = noted.in_lanes >> lane % ROW_LANES * LANE_GROUPS;
    Plain upto[LANE_GROUPS];
    own.groups.take_up(lane / ROW_LANES, lane, upto);
    const u32 lanes = scan_groups<1>(upto, begins, lane);
#pragma unroll
    for (u32 g = 0; g < LANE_GROUPS; ++g) {
        groups[g] = Acc{upto[g], 0};
    }
    // All lanes of a row have S as far as it; then lane k has that of row k.
    const Plain value = scan_totals(upto[LANE_GROUPS - 1], lanes, lane);
    const u32 end = lane % ROWS * ROW_LANES + ROW_LANES - 1;
    const Acc of_rows = {shuffled_plain(value, end), lanes & (ALL_LANES >> (SUBGROUP - 1 - end)) ? 1u : 0u};
    if (lane == ROWS - 1) {
        totals_of_warps[warp] = of_rows;
    }
    return of_rows;
}

/// Leaves S over the rows' groups where the lanes that have the groups behind find it.
__forceinline__ void scan_rows(const Group (&)[ROWS], const Acc (&groups)[ROWS], OfWarp& own, u32 lane) {
    Plain upto[LANE_GROUPS];
#pragma unroll
    for (u32 g = 0; g < LANE_GROUPS; ++g) {
        upto[g] = groups[g].value;
    }
    own.groups.put_back(lane / ROW_LANES, lane, upto);
    __syncwarp();
}

/// What comes before a lane's group of a row in that row.
inline Plain before_in_row(const OfWarp& own, u32 row, u32 lane) {
    const Plain before = own.groups.at(row, (lane - 1) % SUBGROUP);
    return lane == 0 ? of_values::padding() : before;
}

/// Writes the rows of a warp, into which `carries` come.
__forceinline__ void store(const Chunk& chunk, bool is_whole, const Group (&rows)[ROWS], const Acc (&)[ROWS], Acc carries,
                           const Noted& noted, OfWarp& own, u32 warp, u32 lane) {
    Kept kept;
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        const u32 begins = noted.of_row(r);
        const Plain into = behind(shuffled_plain(carries.value, r), before_in_row(own, r, lane), noted.begun >> r & 1);
        Plain items[GROUP];
        scan_items(rows[r], begins, items);
        Group scanned;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const u32 last = INCLUSIVE || k == 0 ? k : k - 1;
            const Plain upto = behind(into, items[last], begins & ((2u << last) - 1));
            scanned.at[k] = Acc{INCLUSIVE || k > 0 ? upto : into, 0};
        }
        cut_where(chunk.scan, begins, scanned);
        if (is_whole) {
            chunk.store(warp * ROWS + r, lane, scanned, own.exchange, kept);
        } else {
            chunk.store_items(warp * ROWS + r, lane, scanned);
        }
    }
    if (warp == 0) {
        chunk.store_start(lane);
    }
}
