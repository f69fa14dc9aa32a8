// S over the groups of each row of the tiles of a workgroup, and over rows, where segments begin.
//
// Totals of groups are left in shared memory by the lanes that have read them, and taken up again so that a lane has ROWS
// neighbouring ones. So most of S is within lanes, and a row of 32 groups takes two or three steps between lanes instead of five.

/// Lanes of a row, in each of which there are so many of its groups.
constexpr u32 ROW_LANES = SUBGROUP / ROWS, LANE_GROUPS = ROWS;
/// Rows whose groups lie differently, so that lanes that read ROWS of them at once find them in all banks.
constexpr u32 TURNS = ROWS / 4;
static_assert(ROWS % 4 == 0 && ROWS <= 16, "a lane reads four groups at once, and has 64 items at most");

/// Bits of a lane's items.
template <u32 items> struct BitsOf { using Type = u64; };
template <> struct BitsOf<32> { using Type = u32; };
template <> struct BitsOf<16> { using Type = u16; };
using LaneBits = BitsOf<LANE_GROUPS * GROUP>::Type;

struct __align__(16) FourWords {
    u32 at[4];
};

struct Tiles {
    /// Whether a segment begins with an item, a bit for each.
    u64 begins[CHUNK / 64];
    /// Totals of groups; then S over each row's as far as them.
    FourWords groups[WORDS][CHUNK / ROW][SUBGROUP / 4];
    /// S over rows as far as them.
    Words rows[CHUNK / ROW];
    Known of_warps[WARPS];

    void clear() {
        for (u32 w = threadIdx.x; w < CHUNK / 64; w += THREADS) {
            begins[w] = 0;
        }
    }

    void begin(u32 item) { atomicOr((u32*)begins + item / 32, 1u << item % 32); }

    /// Whether segments begin with the items of a lane's group in a row.
    u32 begins_in(u32 row, u32 lane) const { return ((const u32*)begins)[row * (ROW / 32) + lane / 8] >> lane % 8 * GROUP & 15; }

    /// The word of a group's total.
    static u32 place(u32 row, u32 group) { return row * SUBGROUP + (group ^ row % TURNS * 4); }

    void leave(u32 row, u32 group, const Acc& total) {
        const Words words = words_of(total);
#pragma unroll
        for (u32 w = 0; w < WORDS; ++w) {
            ((u32*)groups[w])[place(row, group)] = words.at[w];
        }
    }

    /// S over a row as far as a group, which is number `group` of all, and over a tile as far as a row. Of those that there are not,
    /// whatever lies beside.
    Acc upto_last(u32 group) const {
        Words words;
#pragma unroll
        for (u32 w = 0; w < WORDS; ++w) {
            words.at[w] = ((const u32*)groups[w])[place(group / SUBGROUP % (CHUNK / ROW), group % SUBGROUP)];
        }
        return acc_of(words);
    }

    Acc upto_row(u32 row) const { return acc_of(rows[row % (CHUNK / ROW)]); }
};

/// The right one of two values in front of which there is another, if none of these segments begins with it.
inline Acc behind(const Acc& left, const Acc& right, bool begins) {
    const Acc both = combine(left, right);
    return begins ? right : both;
}

/// S over the items of a group where `begins` segments begin.
inline Acc total_where(const Group& group, u32 begins) {
    const Acc left = behind(group.at[0], group.at[1], begins & 2), right = behind(group.at[2], group.at[3], begins & 8);
    return behind(left, right, begins & 12);
}

/// S over each row's groups, and over rows. Gives what a lane's row has, S over the tile as far as it.
inline Known scan_rows(Tiles& tiles, u32 warp, u32 lane) {
    const u32 row = warp * ROWS + lane / ROW_LANES, quad = lane % ROW_LANES * (LANE_GROUPS / 4);
    const LaneBits begins = ((const LaneBits*)tiles.begins)[warp * SUBGROUP + lane];
    Words words[LANE_GROUPS];
#pragma unroll
    for (u32 w = 0; w < WORDS; ++w) {
#pragma unroll
        for (u32 q = 0; q < LANE_GROUPS / 4; ++q) {
            const FourWords four = tiles.groups[w][row][(quad + q) ^ row % TURNS];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                words[4 * q + k].at[w] = four.at[k];
            }
        }
    }
    Acc upto[LANE_GROUPS];
#pragma unroll
    for (u32 g = 0; g < LANE_GROUPS; ++g) {
        upto[g] = acc_of(words[g]);
    }
    // Bits of the groups from one to another.
    const auto bits = [](u32 from, u32 to) { return LaneBits((~u64(0) << from * GROUP) & (~u64(0) >> (64 - to * GROUP))); };
#pragma unroll
    for (u32 half = 1; half < LANE_GROUPS; half *= 2) {
#pragma unroll
        for (u32 g = 0; g < LANE_GROUPS; ++g) {
            if (g & half) {
                const u32 right = g & ~(half - 1);
                upto[g] = behind(upto[right - 1], upto[g], begins & bits(right, g + 1));
            }
        }
    }
    const u32 begin_in_lanes = __ballot_sync(ALL_LANES, begins != 0);
    const u32 steps = steps_of(begin_in_lanes & ~(1u << lane), lane);
#pragma unroll
    for (u32 half = 1; half < ROW_LANES; half *= 2) {
        const Acc left = shuffled(upto[LANE_GROUPS - 1], (lane & ~(2 * half - 1)) + half - 1);
        const LaneBits stops = steps & half ? begins : LaneBits(~u64(0));
#pragma unroll
        for (u32 g = 0; g < LANE_GROUPS; ++g) {
            upto[g] = behind(left, upto[g], stops & bits(0, g + 1));
        }
    }
#pragma unroll
    for (u32 g = 0; g < LANE_GROUPS; ++g) {
        words[g] = words_of(upto[g]);
    }
#pragma unroll
    for (u32 w = 0; w < WORDS; ++w) {
#pragma unroll
        for (u32 q = 0; q < LANE_GROUPS / 4; ++q) {
            const Words* of = words + 4 * q;
            tiles.groups[w][row][(quad + q) ^ row % TURNS] = FourWords{{of[0].at[w], of[1].at[w], of[2].at[w], of[3].at[w]}};
        }
    }
    // All lanes of a row have its total.
    const u32 last = lane | (ROW_LANES - 1), row_steps = steps_of(begin_in_lanes, last);
    Acc value = shuffled(upto[LANE_GROUPS - 1], last);
#pragma unroll
    for (u32 half = ROW_LANES; half < SUBGROUP; half *= 2) {
        const Acc left = shuffled(value, (lane & ~(2 * half - 1)) + half - 1);
        value = behind(left, value, !(row_steps & half));
    }
    Known known = {value, begin_in_lanes & (ALL_LANES >> (SUBGROUP - 1 - last))};
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
