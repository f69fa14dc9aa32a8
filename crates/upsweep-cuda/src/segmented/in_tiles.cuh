// Segments of a workgroup's chunk: the values of those that end in it, and the totals of its tiles.
//
//     note     where segments begin, a thread for each segment
//     groups   totals of groups, by the lanes that have read them
//     rows     S over groups and rows: `tiles.cuh`
//     close    values, a thread for each segment: `closing.cuh`
//
// Where no segment begins or ends in the chunk, its tiles are only folded.

/// Asks for the offsets of a chunk that comes later, in time for the workgroup that has it.
inline void prefetch_offsets(const Scan& scan, const Told& told, u32 chunk) {
    if (chunk < scan.chunks) {
        const u64 first = told.starts[chunk] >> 1, count = (told.starts[chunk + 1] >> 1) - first;
        const u8* offsets = (const u8*)(scan.inputs.marks + first);
        if (threadIdx.x * LINE < min(count, u64(MOST_CLOSING)) * sizeof(Mark)) {
            asm volatile("prefetch.global.L2 [%0];" ::"l"(offsets + threadIdx.x * LINE));
        }
    }
}

/// Where a segment begins or ends in the chunk: its tiles' totals, and the values of those that end.
inline void close_all(const Scan& scan, const Told& told, Tiles& tiles, Stage& stage, const Closing& closing, u32 warp, u32 lane) {
    const ItemsOf& items = closing.items;
    tiles.clear();
    __syncthreads();
    if (threadIdx.x == 0) {
        const u64 at = offset_at(scan.inputs.marks, closing.first) - closing.chunk.first;
        if (at < CHUNK) {
            tiles.begin(u32(at));
        }
        if (blockIdx.x == 0) {
            tiles.begin(0);
        }
    }
    // What a thread has of the first segments it keeps.
    const u32 listed = closing.listed();
    const Batch<FIRST> kept = closing.batch<FIRST>(0);
    note(tiles, kept);
    for (u32 from = FIRST * THREADS; from < listed; from += AT_ONCE * THREADS) {
        note(tiles, closing.batch<AT_ONCE>(from));
    }
    for_crowd(closing, [&](u64, i32 end) { note(tiles, end); });
    __syncthreads();
    items.wait_for(stage);
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        const u32 row = warp * ROWS + r;
        tiles.groups.leave(row, lane, total_where(items.row(warp, r, lane), tiles.begins_in(row, lane)));
    }
    __syncthreads();
    Groups<FIRST> groups;
    if (READS_AGAIN) {
        groups = last_groups(closing, kept);
    }
    const Known upto = scan_rows(tiles, warp, lane);
    if (lane == SUBGROUP - 1 && warp % TILE_WARPS == TILE_WARPS - 1) {
        tell(told.tiles + blockIdx.x * CHUNK_TILES + warp / TILE_WARPS, upto);
    }
    __syncthreads();
    if (!READS_AGAIN) {
        groups = last_groups(closing, kept);
    }
    close(scan, told, tiles, closing, 0, kept, groups);
    for (u32 from = FIRST * THREADS; from < listed; from += AT_ONCE * THREADS) {
        const Batch<AT_ONCE> batch = closing.batch<AT_ONCE>(from);
        close(scan, told, tiles, closing, from, batch, last_groups(closing, batch));
    }
    for_crowd(closing, [&](u64 number, i32 end) {
        const Group group = items.group(last_of(end) & ~(GROUP - 1));
        close(scan, told, tiles, closing, number, closing.begin_of(number), end, group);
    });
}

/// Where none does: the totals of its tiles.
inline void fold_all(const Told& told, Tiles& tiles, Stage& stage, const ItemsOf& items, u32 warp, u32 lane) {
    items.meet();
    items.wait_for(stage);
    Acc totals[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        totals[r] = total_of(items.row(warp, r, lane));
    }
    // Lane k has the total of row k, as have those behind it.
    Acc total = fold_lanes<ROWS>(fold_rows(totals, lane), lane);
    if (TILE_WARPS > 1) {
        if (lane == 0) {
            tiles.of_warps[warp] = {total, 0};
        }
        __syncthreads();
        total = fold_lanes<TILE_WARPS>(tiles.of_warps[warp / TILE_WARPS * TILE_WARPS + lane % TILE_WARPS].value, lane);
    }
    if (lane == SUBGROUP - 1 && warp % TILE_WARPS == TILE_WARPS - 1) {
        tell(told.tiles + blockIdx.x * CHUNK_TILES + warp / TILE_WARPS, {total, 0});
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) segments(const Scan launched, const Told told) {
    const auto& scan = sized(launched);
    if (is_idle(scan)) {
        return;
    }
    take_given(scan.inputs);
    __shared__ Tiles tiles;
    __shared__ Stage stage;
    let_next_begin();
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    const Chunk chunk = ItemsOf::chunk_of(scan, stage, blockIdx.x);
    const ItemsOf items(chunk, stage, warp, lane);
    wait_for_last();
    const Closing closing(scan, chunk, items, told.starts + blockIdx.x);
    if (lane == SUBGROUP - 1 && warp % TILE_WARPS == TILE_WARPS - 1) {
        told.waiting[blockIdx.x * CHUNK_TILES + warp / TILE_WARPS].segment = NOBODY;
    }
    prefetch_offsets(scan, told, blockIdx.x + AHEAD);
    if (closing.count == 0 && !closing.begins && blockIdx.x > 0) {
        fold_all(told, tiles, stage, items, warp, lane);
    } else {
        close_all(scan, told, tiles, stage, closing, warp, lane);
    }
}
