// S over the groups of each row of a warp, and over its rows, where bits say in which groups segments begin.
//
// Totals of groups are left in shared memory by the lanes that hold their items, and taken up so that each lane has ROWS neighbouring
// ones. So most of S over a row of 32 groups is within lanes, and two or three steps between lanes are left of five, for all rows of a
// warp at once. S as far as each group is left in the same place.
//
// Of values, nothing but themselves goes from lane to lane. What they are is said in front of this: `Plain` and its words, and which
// one is `behind` another.

/// Lanes of a row, in each of which there are so many of its groups.
constexpr u32 ROW_LANES = SUBGROUP / ROWS, LANE_GROUPS = ROWS;
static_assert(ROWS % 4 == 0 && ROWS <= 16, "a lane reads four groups at once, and has 64 items at most");
/// Rows whose groups lie differently, so that lanes that read ROWS of them at once find them in all banks.
constexpr u32 TURNS = ROWS / 4;

/// A number of so many bits.
template <u32 count> struct BitsOf { using Type = u64; };
template <> struct BitsOf<32> { using Type = u32; };
template <> struct BitsOf<16> { using Type = u16; };

struct __align__(16) FourWords {
    u32 at[4];
};

/// Groups of so many rows in shared memory: their totals; then S over each row's as far as them.
template <u32 rows> struct GroupsOf {
    FourWords words[PLAIN_WORDS][rows][SUBGROUP / 4];

    /// Where a group's word is among those of all rows.
    static u32 place(u32 row, u32 group) { return row * SUBGROUP + (group ^ row % TURNS * 4); }

    /// The first four groups of those that a lane takes up.
    static u32 first_four(u32 lane) { return lane % ROW_LANES * (LANE_GROUPS / 4); }

    void leave(u32 row, u32 group, const Plain& total) {
        const Words own = words_of_plain(total);
#pragma unroll
        for (u32 w = 0; w < PLAIN_WORDS; ++w) {
            ((u32*)words[w])[place(row, group)] = own.at[w];
        }
    }

    Plain at(u32 row, u32 group) const {
        Words own;
#pragma unroll
        for (u32 w = 0; w < PLAIN_WORDS; ++w) {
            own.at[w] = ((const u32*)words[w])[place(row, group)];
        }
        return plain_of(own);
    }

    /// A lane's groups of its row.
    void take_up(u32 row, u32 lane, Plain (&groups)[LANE_GROUPS]) const {
        const u32 first = first_four(lane);
        Words own[LANE_GROUPS];
#pragma unroll
        for (u32 w = 0; w < PLAIN_WORDS; ++w) {
#pragma unroll
            for (u32 q = 0; q < LANE_GROUPS / 4; ++q) {
                const FourWords four = words[w][row][(first + q) ^ row % TURNS];
#pragma unroll
                for (u32 k = 0; k < 4; ++k) {
                    own[4 * q + k].at[w] = four.at[k];
                }
            }
        }
#pragma unroll
        for (u32 g = 0; g < LANE_GROUPS; ++g) {
            groups[g] = plain_of(own[g]);
        }
    }

    void put_back(u32 row, u32 lane, const Plain (&groups)[LANE_GROUPS]) {
        const u32 first = first_four(lane);
        Words own[LANE_GROUPS];
#pragma unroll
        for (u32 g = 0; g < LANE_GROUPS; ++g) {
            own[g] = words_of_plain(groups[g]);
        }
#pragma unroll
        for (u32 w = 0; w < PLAIN_WORDS; ++w) {
#pragma unroll
            for (u32 q = 0; q < LANE_GROUPS / 4; ++q) {
                const Words* of = own + 4 * q;
                words[w][row][(first + q) ^ row % TURNS] = FourWords{{of[0].at[w], of[1].at[w], of[2].at[w], of[3].at[w]}};
            }
        }
    }
};

/// S over a row as far as each of the groups that a lane has taken up. `begins` has so many bits for each of them, one of which is set
/// if a segment begins there. Gives in which lanes segments begin.
template <u32 each, typename Bits> __forceinline__ u32 scan_groups(Plain (&upto)[LANE_GROUPS], Bits begins, u32 lane) {
    // Bits of the groups from one to another.
    const auto bits = [](u32 from, u32 to) { return Bits((~u64(0) << from * each) & (~u64(0) >> (64 - to * each))); };
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
        const Bits stops = steps & half ? begins : Bits(~u64(0));
#pragma unroll
        for (u32 g = 0; g < LANE_GROUPS; ++g) {
            upto[g] = behind(left, upto[g], stops & bits(0, g + 1));
        }
    }
    return lanes;
}

/// S over a warp's rows as far as that of each lane. The total of a row is what its last lane has; segments begin in these `lanes`.
inline Plain scan_totals(const Plain& total, u32 lanes, u32 lane) {
    const u32 last = lane | (ROW_LANES - 1), steps = steps_of(lanes, last);
    Plain upto = shuffled_plain(total, last);
#pragma unroll
    for (u32 half = ROW_LANES; half < SUBGROUP; half *= 2) {
        const Plain left = shuffled_plain(upto, (lane & ~(2 * half - 1)) + half - 1);
        upto = behind(left, upto, !(steps & half));
    }
    return upto;
}
