// How a warp writes the runs that begin in its staged rows.

/// Whether items that begin runs can wait where they were staged.
constexpr bool FITS_STAGE = STAGED && sizeof(OutMemory) <= sizeof(StagedItem);

constexpr u32 ROWS_ITEMS = ROWS * ROW, ROWS_BYTES = ROWS_ITEMS * sizeof(StagedItem);
static_assert(!STAGED || ROWS_ITEMS <= 1 << 16, "places in a warp's rows are of 16 bits");

/// The rows of a warp of a whole chunk that is staged, `into` being what comes into them: items that begin runs go to where all were staged,
/// with their places behind them, and from there to the output in one run. Lengths are differences of places. If there is no room for
/// both, rows are written one by one.
__forceinline__ void emit_rows(const Chunk& chunk, u32 warp, u32 lane, Acc into, const SelectedOfRows& selected) {
    const Scan& scan = chunk.scan;
    const u32 in_front = (1u << lane) - 1;
    u32 own[ROWS], count = 0;
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        own[r] = count;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const u32 lanes = __ballot_sync(ALL_LANES, selected.of(r) >> k & 1);
            own[r] += __popc(lanes & in_front);
            count += __popc(lanes);
        }
    }
    const u32 places_at = (count * sizeof(OutMemory) + 1) / 2 * 2;
    if (places_at + 2 * count > ROWS_BYTES) {
#pragma unroll 1
        for (u32 r = 0; r < ROWS; ++r) {
            const Group group = chunk.staged(warp * ROWS + r, lane);
            into = emit_runs_of_row(scan, chunk.number_of(warp * ROWS + r, lane), group, into, lane);
        }
        fence_copies();
        return;
    }
    Group rows[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        rows[r] = chunk.staged<false>(warp * ROWS + r, lane);
    }
    OutMemory* staged = (OutMemory*)(first_of(chunk.from) + warp * ROWS_ITEMS);
    u16* places = (u16*)((u8*)staged + places_at);
    // All lanes have what was there.
    __syncwarp();
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        u32 to = own[r];
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (selected.of(r) >> k & 1) {
                staged[to] = pack_one(stored(rows[r].at[k]));
                places[to] = r * ROW + lane * GROUP + k;
                ++to;
            }
        }
    }
    __syncwarp();
    OutMemory* output = scan.output + into.begun_0;
    Length* lengths = (Length*)scan.inputs.lengths + into.begun_0;
#pragma unroll 4
    for (u32 k = lane; k < count; k += SUBGROUP) {
        output[k] = staged[k];
        // How long the run in front was, which has ended there.
        const Number items = k > 0 ? Number(places[k] - places[k - 1]) : places[0] + into.items_0;
        if (into.begun_0 + k > 0) {
            lengths[i64(k) - 1] = items;
        }
    }
    const u64 last = chunk.number_of(warp * ROWS + ROWS - 1, SUBGROUP - 1);
    if (lane == 0 && scan.items - last == GROUP) {
        const Number items = count > 0 ? Number(ROWS_ITEMS - places[count - 1]) : into.items_0 + ROWS_ITEMS;
        end_runs(scan, Acc{into.begun_0 + count, items});
    }
    // Before the copy engine brings others there.
    fence_copies();
}
