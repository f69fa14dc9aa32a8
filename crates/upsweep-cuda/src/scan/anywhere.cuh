// Rows that begin where no access may are read and written by the accesses around them:
//
//     accesses    │     k – 1     │       k       │     k + 1     │
//     groups            k – 1     │       k       │     k + 1
//
// What a thread reads or writes is not its group, but holds a part of a neighbour's too: a neighbour in its row, or at the end of
// the row before or behind, which the same warp has. Staged rows are moved as they are read from shared memory.

/// Accesses that hold a group.
constexpr u32 ACCESSES = GROUP / ACCESS_ITEMS, OUT_ACCESSES = GROUP / OUT_ACCESS_ITEMS;

/// Words of an access; one where it is an item, and nobody asks.
constexpr u32 ACCESS_WORDS = (sizeof(Access) + 3) / 4;

/// Words of a group, and the most of a neighbour's that lie in its accesses; one where an access is an item, and nobody asks.
constexpr u32 more_words(u32 access, u32 item) { return access == item ? 1 : (access - item + 3) / 4; }
constexpr u32 GROUP_WORDS = GROUP * sizeof(InMemory) / 4, MORE_WORDS = more_words(sizeof(Access), sizeof(InMemory));
constexpr u32 OUT_GROUP_WORDS = GROUP * sizeof(OutMemory) / 4;
constexpr u32 OUT_MORE_WORDS = more_words(sizeof(OutAccess), sizeof(OutMemory));

/// Staged rows begin as many bytes behind a multiple of LINE as they do in memory: others are copied more slowly, by a twentieth.
constexpr u32 LINE = 128;

/// Items of shared memory behind the rows of each warp, for what is copied with them if they begin where no copy may, and if the chunk that
/// was there before begins elsewhere, being of another array; else room for a chunk in which it begins where it is to.
constexpr u32 GAP = STAGED && (!ALIGNED || BATCHED) ? LINE / sizeof(StagedItem) : 0;
/// And in front of them, for what is copied with them if items are compared with those in front.
constexpr u32 HALO = STAGED && COMPARES ? LINE / sizeof(StagedItem) : 0;
constexpr u32 STAGE = CHUNK + WARPS * HALO + (GAP > 0 ? WARPS * GAP : LINE / sizeof(StagedItem));

/// Where a warp puts a row in another order: if a lane has two accesses of it, or some of its items are left out.
struct Exchange {
    OutAccess out[OUT_ACCESSES == 1 && !SELECTS ? 1 : OUT_ACCESSES * SUBGROUP];
};

/// Moves words that hold items of SIZE bytes so many bytes down, a multiple of that, to the first COUNT.
template <u32 COUNT, u32 MORE, u32 SIZE> __forceinline__ void move_down(u32 (&words)[COUNT + MORE], u32 bytes) {
    // By whole words, four, two and one; then by bytes.
#pragma unroll
    for (u32 by = 4; by > 0 && 4 * by >= SIZE; by /= 2) {
#pragma unroll
        for (u32 w = 0; w + by < COUNT + MORE; ++w) {
            words[w] = by <= MORE && bytes / 4 & by ? words[w + by] : words[w];
        }
    }
    if constexpr (SIZE < 4) {
#pragma unroll
        for (u32 w = 0; w < COUNT; ++w) {
            words[w] = __funnelshift_r(words[w], w + 1 < COUNT + MORE ? words[w + 1] : 0, bytes % 4 * 8);
        }
    }
}

/// Reads the accesses that a group lies in if it begins `skew` bytes behind the first one's beginning, and moves it there.
inline void read_skewed(const u8* group, Access (&accesses)[ACCESSES]) {
    const u32 skew = u64(group) % sizeof(Access);
    const Access* from = (const Access*)(group - skew);
    Access read[ACCESSES + 1];
#pragma unroll
    for (u32 a = 0; a <= ACCESSES; ++a) {
        // Behind a group without skew there may be nothing.
        if (a < ACCESSES || skew > 0) {
            read[a] = from[a];
        }
    }
    u32 words[GROUP_WORDS + ACCESS_WORDS];
    memcpy(words, read, sizeof(read));
    move_down<GROUP_WORDS, ACCESS_WORDS, sizeof(InMemory)>(words, skew);
    memcpy(accesses, words, sizeof(accesses));
}

/// Reads the accesses of a warp's rows, which begin at `run` in memory, and moves each lane's groups there. The rest of a group is
/// the beginning of what the next lane in memory has.
__forceinline__ void read_rows(const StagedItem* run, u32 lane, Access (&rows)[ROWS][ACCESSES]) {
    const u32 skew = u64(run) % sizeof(Access);
    const u8* const from = (const u8*)run - skew;
    const auto access = [&](Offset row, Offset place) {
        return (const Access*)from + (row * Offset(SUBGROUP) + place) * Offset(ACCESSES);
    };
    // The last lane of a row has its rest from the first of another row, or from behind all rows.
    const bool is_first = turned(SUBGROUP - 1, lane) == 0;
    Access behind = {};
    if (is_first && skew > 0) {
        behind = *access(ROWS, 0);
    }
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            rows[r][a] = access(turned(ROWS - 1, r), turned(SUBGROUP - 1, lane))[a];
        }
    }
    // In the order of memory, so that what is moved is asked for no more.
#pragma unroll
    for (u32 k = 0; k < ROWS; ++k) {
        const u32 r = REVERSE ? ROWS - 1 - k : k;
        u32 words[GROUP_WORDS + MORE_WORDS], next[ACCESS_WORDS];
        memcpy(words, rows[r], sizeof(rows[r]));
        if (k + 1 < ROWS) {
            memcpy(next, rows[REVERSE ? ROWS - 2 - k : k + 1], sizeof(next));
        } else {
            memcpy(next, &behind, sizeof(next));
        }
#pragma unroll
        for (u32 w = 0; w < MORE_WORDS; ++w) {
            words[GROUP_WORDS + w] = __shfl_sync(ALL_LANES, is_first ? next[w] : words[w], REVERSE ? lane - 1 : lane + 1);
        }
        move_down<GROUP_WORDS, MORE_WORDS, sizeof(InMemory)>(words, skew);
        memcpy(rows[r], words, sizeof(rows[r]));
    }
}

/// What a lane keeps of a row while its warp writes rows one after another: the words next to the neighbour that comes after it.
struct Kept {
    u32 words[OUT_MORE_WORDS];
};

/// Makes accesses of groups that begin `skew` bytes behind accesses: out of its own group and what the lane before it has, of the row
/// before if it is the first. Forward, accesses begin before their groups; in reverse, behind where theirs begin, since
/// the lane before lies behind in memory.
__forceinline__ void move_to_accesses(OutAccess (&accesses)[OUT_ACCESSES], Kept& kept, u32 lane, u32 skew) {
    u32 own[OUT_GROUP_WORDS], words[OUT_GROUP_WORDS + OUT_MORE_WORDS];
    memcpy(own, accesses, sizeof(own));
#pragma unroll
    for (u32 w = 0; w < OUT_MORE_WORDS; ++w) {
        const u32 beside = own[REVERSE ? w : OUT_GROUP_WORDS - OUT_MORE_WORDS + w];
        words[REVERSE ? OUT_GROUP_WORDS + w : w] =
            __shfl_sync(ALL_LANES, lane == SUBGROUP - 1 ? kept.words[w] : beside, lane - 1);
        kept.words[w] = beside;
    }
#pragma unroll
    for (u32 w = 0; w < OUT_GROUP_WORDS; ++w) {
        words[REVERSE ? w : OUT_MORE_WORDS + w] = own[w];
    }
    const u32 by = REVERSE ? (sizeof(OutAccess) - skew) % sizeof(OutAccess) : 4 * OUT_MORE_WORDS - skew;
    move_down<OUT_GROUP_WORDS, OUT_MORE_WORDS, sizeof(OutMemory)>(words, by);
    memcpy(accesses, words, sizeof(own));
}
