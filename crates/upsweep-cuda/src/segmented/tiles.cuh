// S over the groups of each row of the tiles of a workgroup, and over rows, by way of shared memory: `groups.cuh`.

/// A bit for each item of the groups that a lane takes up.
using LaneBits = BitsOf<LANE_GROUPS * GROUP>::Type;

struct Tiles {
    /// Whether a segment begins with an item, a bit for each, in pairs of words.
    u64 begins[CHUNK / (2 * WORD_BITS)];
    GroupsOf<CHUNK / ROW> groups;
    /// S over rows as far as them.
    Words rows[CHUNK / ROW];
    Known of_warps[WARPS];

    void clear() {
        for (u32 w = threadIdx.x; w < CHUNK / (2 * WORD_BITS); w += THREADS) {
            begins[w] = 0;
        }
    }

    void begin(u32 item) { atomicOr((u32*)begins + item / WORD_BITS, 1u << item % WORD_BITS); }

    /// Whether segments begin with the items of a lane's group in a row.
    u32 begins_in(u32 row, u32 lane) const {
        constexpr u32 LANES = WORD_BITS / GROUP;
        return ((const u32*)begins)[row * (ROW / WORD_BITS) + lane / LANES] >> lane % LANES * GROUP & 15;
    }

    /// S over a row as far as a group, which is number `group` of all, and over a tile as far as a row. Of those that there are not,
    /// whatever lies beside.
    Acc upto_last(u32 group) const { return groups.at(group / SUBGROUP % (CHUNK / ROW), group % SUBGROUP); }

    Acc upto_row(u32 row) const { return acc_of(rows[row % (CHUNK / ROW)]); }
};

/// S over the items of a group where `begins` segments begin.
inline Acc total_where(const Group& group, u32 begins) {
    const Acc left = behind(group.at[0], group.at[1], begins & 2), right = behind(group.at[2], group.at[3], begins & 8);
    return behind(left, right, begins & 12);
}

/// S over each row's groups, and over rows. Gives what a lane's row has, S over the tile as far as it.
inline Known scan_rows(Tiles& tiles, u32 warp, u32 lane) {
    const u32 row = warp * ROWS + lane / ROW_LANES;
    Acc upto[LANE_GROUPS];
    tiles.groups.take_up(row, lane, upto);
    const LaneBits begins = ((const LaneBits*)tiles.begins)[warp * SUBGROUP + lane];
    const u32 lanes = scan_groups<GROUP>(upto, begins, lane);
    tiles.groups.put_back(row, lane, upto);
    const Acc value = scan_totals(upto[LANE_GROUPS - 1], lanes, lane);
    const u32 last = lane | (ROW_LANES - 1);
    Known known = {value, lanes & (ALL_LANES >> (SUBGROUP - 1 - last))};
    if (TILE_WARPS > 1) {
        if (lane == SUBGROUP - 1) {
            tiles.of_warps[warp] = known;
        }
        __syncthreads();
#pragma unroll
        for (u32 half = 1; half < TILE_WARPS; half *= 2) {
            if (warp & half) {
                const u32 at = warp & ~(2 * half - 1);
                known = joined(half == 1 ? tiles.of_warps[at] : joined(tiles.of_warps[at], tiles.of_warps[at + 1]), known);
            }
        }
    }
    if (lane == last) {
        tiles.rows[row] = words_of(known.value);
    }
    return known;
}
