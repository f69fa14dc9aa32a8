// Items of a chunk in the registers of those who have read them.

/// Groups in which segments end are read again, from the first-level cache, as a rule: as early as there are registers for them.
constexpr bool READS_AGAIN = true;

/// What a workgroup shares of its items.
struct Stage {};

/// A warp's items, and what else it reads of the chunk.
struct ItemsOf {
    const Chunk& chunk;
    Group rows[ROWS];

    static Chunk chunk_of(const Scan& scan, Stage&, u32 number) { return Chunk(scan, number); }

    ItemsOf(const Chunk& chunk, Stage&, u32 warp, u32 lane) : chunk(chunk) { load(chunk, chunk.is_whole(), rows, warp, lane); }

    /// All threads call it, unless they have met since they asked for items.
    void meet() const {}

    /// Waits for them.
    void wait_for(Stage&) const {}

    /// A row of this warp.
    Group row(u32, u32 r, u32) const { return rows[r]; }

    /// The group that begins with item `at` of the chunk.
    Group group(u32 at) const {
        if (ALIGNED && chunk.is_whole()) {
            Access accesses[ACCESSES];
#pragma unroll
            for (u32 a = 0; a < ACCESSES; ++a) {
                accesses[a] = fetch(chunk.from, at, a);
            }
            return Chunk::entered(accesses, 0);
        }
        return chunk.loaded(at / ROW, at % ROW / GROUP);
    }
};
