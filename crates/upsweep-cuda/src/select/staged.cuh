// How a warp writes what is selected of its staged rows.

/// Whether items that are selected can wait where they were staged.
constexpr bool FITS_STAGE = STAGED && sizeof(OutMemory) <= sizeof(StagedItem) && (!OFFSETS || sizeof(StagedItem) > 1);

static_assert(!STAGED || !OFFSETS || ROWS * ROW <= 1 << 16, "places in a warp's rows are of 16 bits");

/// The rows of a warp of a whole chunk that is staged, in front of which `into` items are selected: all go to neighbours where they were staged,
/// and from there to the output in one run. For items that are written row by row, see `emit_row`.
__forceinline__ void emit_rows(const Chunk& chunk, u32 warp, u32 lane, Acc into, const SelectedOfRows& selected) {
    const Scan& scan = chunk.scan;
    const u32 in_front = (1u << lane) - 1;
    Group rows[ROWS];
    u32 own[ROWS], count = 0;
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        rows[r] = chunk.staged<false>(warp * ROWS + r, lane);
        // Comparing again would take a shuffle and more. Flags are read again: bits that were kept made `u8` slower, 343 us for 318 (2^28, H100).
        if (COMPARES) {
            rows[r].selected = selected.of(r);
        }
        own[r] = count;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const u32 lanes = __ballot_sync(ALL_LANES, rows[r].selected >> k & 1);
            own[r] += __popc(lanes & in_front);
            count += __popc(lanes);
        }
    }
    if constexpr (WRITES_SELECTED) {
        OutMemory* staged = (OutMemory*)(first_of(chunk.from) + warp * ROWS * ROW);
        // All lanes have what was there.
        __syncwarp();
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            u32 to = own[r], other = count + r * ROW + lane * GROUP - own[r];
#pragma unroll
            for (u32 k = 0; k < GROUP; ++k) {
                const bool is_selected = rows[r].selected >> k & 1;
                if (is_selected || PARTITIONS) {
                    staged[is_selected ? to : other] = pack_one(stored(rows[r].at[k]));
                }
                to += is_selected ? 1 : 0;
                other += is_selected ? 0 : 1;
            }
        }
        __syncwarp();
        OutMemory* output = scan.output + (first_place(scan) + into);
#pragma unroll 8
        for (u32 k = lane; k < count; k += SUBGROUP) {
            output[k] = staged[k];
        }
        if constexpr (PARTITIONS) {
            OutMemory* others = scan.output + (*scan.inputs.count + chunk.number_of(warp * ROWS, 0) - into);
#pragma unroll 8
            for (u32 k = lane; k < ROWS * ROW - count; k += SUBGROUP) {
                others[k] = staged[count + k];
            }
        }
        if constexpr (OFFSETS) {
            // Where they begin follows by the same way.
            u16* places = (u16*)staged;
            __syncwarp();
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                u32 to = own[r];
#pragma unroll
                for (u32 k = 0; k < GROUP; ++k) {
                    if (rows[r].selected >> k & 1) {
                        places[to++] = r * ROW + lane * GROUP + k;
                    }
                }
            }
            __syncwarp();
            SegmentOffset* begins = offsets(scan) + into;
            const u64 first = chunk.number_of(warp * ROWS, 0);
#pragma unroll 8
            for (u32 k = lane; k < count; k += SUBGROUP) {
                begins[k] = first + places[k];
            }
        }
        // Before the copy engine brings others there.
        fence_copies();
    }
    const u64 last = chunk.number_of(warp * ROWS + ROWS - 1, lane);
    leave_count(scan, last, into + own[ROWS - 1], rows[ROWS - 1]);
}
