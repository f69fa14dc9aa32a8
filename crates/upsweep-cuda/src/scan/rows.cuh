// Rows of a warp in registers, a group of each in every lane.

/// The rows of a warp, in whole accesses or item by item.
__forceinline__ void load(const Chunk& chunk, bool is_whole, Group (&rows)[ROWS], u32 warp, u32 lane) {
    if (!is_whole) {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            rows[r] = chunk.loaded(warp * ROWS + r, lane);
        }
    } else if constexpr (ALIGNED) {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            rows[r] = chunk.staged(warp * ROWS + r, lane);
        }
    } else {
        Access accesses[ROWS][ACCESSES];
        read_rows(first_of(chunk.source()) + Chunk::rows_of(warp), lane, accesses);
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            rows[r] = Chunk::entered(accesses[r], 0);
        }
    }
}
