// Rows that begin where no access of 16 bytes may: shared memory is where their items are brought in place.
//
// A staged row is copied together with what lies around it in the first and last 16 bytes, and moved as it is read. A row that is
// held is read item by item, 32 neighbours at once, and a row is written like that.

/// Accesses that hold a group.
constexpr u32 ACCESSES = GROUP / ACCESS_ITEMS, OUT_ACCESSES = GROUP / OUT_ACCESS_ITEMS;

/// Items of shared memory between the rows of two warps, so that each warp's begin where they do in memory.
constexpr u32 GAP = STAGED && !ALIGNED ? 16 / sizeof(InMemory) : 0;

/// Where a warp puts a row in another order: if a lane has two accesses of it, or no access may begin where it does.
union Exchange {
    OutAccess out[OUT_ALIGNED && OUT_ACCESSES == 1 ? 1 : OUT_ACCESSES * SUBGROUP];
    Access in[STAGED || ALIGNED ? 1 : ACCESSES * SUBGROUP];
};

/// Reads the accesses that a group lies in if it begins `skew` bytes behind the first one's beginning, and moves it there.
inline void read_skewed(const u8* group, Access (&accesses)[ACCESSES]) {
    constexpr u32 EACH = sizeof(Access) < 4 ? 1 : sizeof(Access) / 4;
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
    u32 words[(ACCESSES + 1) * EACH];
    memcpy(words, read, sizeof(read));
    // By whole words, two at a time and then one; then by bytes.
#pragma unroll
    for (u32 by = EACH / 2; by > 0; by /= 2) {
#pragma unroll
        for (u32 w = 0; w + by < (ACCESSES + 1) * EACH; ++w) {
            words[w] = skew / 4 & by ? words[w + by] : words[w];
        }
    }
#pragma unroll
    for (u32 w = 0; w < ACCESSES * EACH; ++w) {
        words[w] = __funnelshift_r(words[w], words[w + 1], skew % 4 * 8);
    }
    memcpy(accesses, words, sizeof(accesses));
}
