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

/// Writes this workgroup's share of all segments without items, if workgroups share them; else the first one writes those in front
/// of the first item.
inline void write_empty(const Scan& scan, const Told& told) {
    const bool is_shared = *told.crowds;
    const u64 segments = is_shared ? scan.inputs.segments : blockIdx.x == 0 ? told.starts[0] >> 1 : 0;
    const u64 share = is_shared ? (segments + gridDim.x - 1) / gridDim.x : segments;
    const u64 end = min(segments, share * (blockIdx.x + 1));
    for (u64 segment = share * blockIdx.x + threadIdx.x; segment < end; segment += THREADS) {
        if (offset_at(scan.inputs.marks, segment) == offset_at(scan.inputs.marks, segment + 1)) {
            scan.output[segment] = pack_one(value_of_nothing(scan));
        }
    }
}

/// The total of a warp's tile where no segment begins.
inline Acc folded(Tiles& tiles, const Group (&rows)[ROWS], u32 warp, u32 lane) {
    Acc totals[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        totals[r] = total_of(rows[r]);
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
    return total;
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) segments(const Scan scan, const Told told) {
    take_given(scan.inputs);
    __shared__ Tiles tiles;
    if (blockIdx.x >= scan.chunks) {
        write_empty(scan, told);
        return;
    }
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    const Chunk chunk(scan, blockIdx.x);
    const Closing closing(scan, chunk, told.starts + blockIdx.x);
    Group rows[ROWS];
    const bool is_whole = chunk.is_whole();
    load(chunk, is_whole, rows, warp, lane);
    write_empty(scan, told);
    const u32 tile = blockIdx.x * CHUNK_TILES + warp / TILE_WARPS;
    const bool is_last = lane == SUBGROUP - 1 && warp % TILE_WARPS == TILE_WARPS - 1;
    if (is_last) {
        told.waiting[tile].segment = NOBODY;
    }
    prefetch_offsets(scan, told, blockIdx.x + AHEAD);
    if (closing.count == 0 && !closing.begins && blockIdx.x > 0) {
        const Acc total = folded(tiles, rows, warp, lane);
        if (is_last) {
            tell(told.tiles + tile, {total, 0});
        }
        return;
    }
    tiles.clear();
    __syncthreads();
    if (threadIdx.x == 0) {
        const u64 at = offset_at(scan.inputs.marks, closing.first) - chunk.first;
        if (at < CHUNK) {
            tiles.begin(u32(at));
        }
        if (blockIdx.x == 0) {
            tiles.begin(0);
        }
    }
    // What a thread has of the first turn it keeps.
    const u32 turns = closing.turns();
    const Batch kept = closing.batch(0);
    note(tiles, closing, kept);
    for (u32 turn = 1; turn < turns; ++turn) {
        note(tiles, closing, closing.batch(turn));
    }
    __syncthreads();
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        const u32 row = warp * ROWS + r;
        tiles.leave(row, lane, upto_item(rows[r], tiles.begins_in(row, lane), GROUP - 1));
    }
    __syncthreads();
    const Groups groups = last_groups(closing, kept);
    const Known upto = scan_rows(tiles, warp, lane);
    if (is_last) {
        tell(told.tiles + tile, upto);
    }
    __syncthreads();
    close(scan, told, tiles, closing, kept, groups);
    for (u32 turn = 1; turn < turns; ++turn) {
        const Batch batch = closing.batch(turn);
        close(scan, told, tiles, closing, batch, last_groups(closing, batch));
    }
}
