// What a warp does with its rows of a chunk that is cut into segments: `held.cuh`.
//
// Where segments begin is in bits: of values, nothing but themselves goes from lane to lane. Totals of groups are left in shared memory
// by the lanes that hold their items, and taken up so that each lane has ROWS neighbouring ones: so most of S over a row is within
// lanes, and two or three steps between lanes are left of five, for all rows of a warp at once. S as far as each group is left in the
// same place, for the lane that has the group behind it.

/// A value without what is known of segments, which is its last word.
using Plain = of_values::Acc;

constexpr u32 PLAIN_WORDS = WORDS - 1;
static_assert(!COUNTS_SEGMENTS && !EMITS, "values know whether a segment begins, in one word, and all of them are written");

/// Lanes of a row, in each of which there are so many of its groups.
constexpr u32 ROW_LANES = SUBGROUP / ROWS, LANE_GROUPS = ROWS;
static_assert(ROWS % 4 == 0 && ROWS <= 16, "a lane reads four groups at once, and has 64 items at most");
/// Rows whose groups lie differently, so that lanes that read ROWS of them at once find them in all banks.
constexpr u32 TURNS = ROWS / 4;

struct __align__(16) FourWords {
    u32 at[4];
};

/// What it has in shared memory for itself.
struct OfWarp {
    Exchange exchange;
    /// Totals of groups; then S over each row's as far as them.
    FourWords groups[PLAIN_WORDS][ROWS][SUBGROUP / 4];

    /// The word of a group.
    static u32 place(u32 row, u32 group) { return row * SUBGROUP + (group ^ row % TURNS * 4); }
};

/// A bit for each item of a lane's groups.
template <bool IS_LONG> struct BitsOf { using Type = u32; };
template <> struct BitsOf<true> { using Type = u64; };
using Bits = BitsOf<(ROWS * GROUP > 32)>::Type;

inline Words words_of_plain(Plain plain) { return words_of(Acc{plain, 0}); }
inline Plain plain_of(Words words) {
    words.at[PLAIN_WORDS] = 0;
    return acc_of(words).value;
}

inline Plain shuffled_plain(Plain plain, u32 lane) {
    Words words = words_of_plain(plain);
#pragma unroll
    for (u32 w = 0; w < PLAIN_WORDS; ++w) {
        words.at[w] = __shfl_sync(ALL_LANES, words.at[w], lane);
    }
    return plain_of(words);
}

/// The right one of two values in front of which there is another, if no segment begins in it.
inline Plain behind(Plain left, Plain right, bool begins) {
    const Plain both = REVERSE ? of_values::combine(right, left) : of_values::combine(left, right);
    return begins ? right : both;
}

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
        const Words words = words_of_plain(items[GROUP - 1]);
#pragma unroll
        for (u32 w = 0; w < PLAIN_WORDS; ++w) {
            ((u32*)own.groups[w])[OfWarp::place(r, lane)] = words.at[w];
        }
    }
    __syncwarp();
    const u32 row = lane / ROW_LANES, quad = lane % ROW_LANES * (LANE_GROUPS / 4);
    // Of the groups that this lane takes up, and of others behind them.
    const u32 begins = noted.in_lanes >> lane % ROW_LANES * LANE_GROUPS;
    Words words[LANE_GROUPS];
#pragma unroll
    for (u32 w = 0; w < PLAIN_WORDS; ++w) {
#pragma unroll
        for (u32 q = 0; q < LANE_GROUPS / 4; ++q) {
            const FourWords four = own.groups[w][row][(quad + q) ^ row % TURNS];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                words[4 * q + k].at[w] = four.at[k];
            }
        }
    }
    Plain upto[LANE_GROUPS];
#pragma unroll
    for (u32 g = 0; g < LANE_GROUPS; ++g) {
        upto[g] = plain_of(words[g]);
    }
    // Bits of the groups from one to another.
    const auto bits = [](u32 from, u32 to) { return (~0u << from) & (~0u >> (32 - to)); };
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
    const u32 lanes = __ballot_sync(ALL_LANES, (begins & bits(0, LANE_GROUPS)) != 0);
    const u32 steps = steps_of(lanes & ~(1u << lane), lane);
#pragma unroll
    for (u32 half = 1; half < ROW_LANES; half *= 2) {
        const Plain left = shuffled_plain(upto[LANE_GROUPS - 1], (lane & ~(2 * half - 1)) + half - 1);
        const u32 stops = steps & half ? begins : ~0u;
#pragma unroll
        for (u32 g = 0; g < LANE_GROUPS; ++g) {
            upto[g] = behind(left, upto[g], stops & bits(0, g + 1));
        }
    }
#pragma unroll
    for (u32 g = 0; g < LANE_GROUPS; ++g) {
        groups[g] = Acc{upto[g], 0};
    }
    // All lanes of a row have S as far as it; then lane k has that of row k.
    const u32 last = lane | (ROW_LANES - 1), row_steps = steps_of(lanes, last);
    Plain value = shuffled_plain(upto[LANE_GROUPS - 1], last);
#pragma unroll
    for (u32 half = ROW_LANES; half < SUBGROUP; half *= 2) {
        const Plain left = shuffled_plain(value, (lane & ~(2 * half - 1)) + half - 1);
        value = behind(left, value, !(row_steps & half));
    }
    const u32 end = lane % ROWS * ROW_LANES + ROW_LANES - 1;
    const Acc of_rows = {shuffled_plain(value, end), lanes & (ALL_LANES >> (SUBGROUP - 1 - end)) ? 1u : 0u};
    if (lane == ROWS - 1) {
        totals_of_warps[warp] = of_rows;
    }
    return of_rows;
}

/// Leaves S over the rows' groups where the lanes that have the groups behind find it.
__forceinline__ void scan_rows(const Group (&)[ROWS], const Acc (&groups)[ROWS], OfWarp& own, u32 lane) {
    const u32 row = lane / ROW_LANES, quad = lane % ROW_LANES * (LANE_GROUPS / 4);
    Words words[LANE_GROUPS];
#pragma unroll
    for (u32 g = 0; g < LANE_GROUPS; ++g) {
        words[g] = words_of(groups[g]);
    }
#pragma unroll
    for (u32 w = 0; w < PLAIN_WORDS; ++w) {
#pragma unroll
        for (u32 q = 0; q < LANE_GROUPS / 4; ++q) {
            const Words* of = words + 4 * q;
            own.groups[w][row][(quad + q) ^ row % TURNS] = FourWords{{of[0].at[w], of[1].at[w], of[2].at[w], of[3].at[w]}};
        }
    }
    __syncwarp();
}

/// What comes before a lane's group of a row in that row.
inline Plain before_in_row(const OfWarp& own, u32 row, u32 lane) {
    Words words;
#pragma unroll
    for (u32 w = 0; w < PLAIN_WORDS; ++w) {
        words.at[w] = ((const u32*)own.groups[w])[OfWarp::place(row, (lane - 1) % SUBGROUP)];
    }
    const Plain before = plain_of(words);
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
