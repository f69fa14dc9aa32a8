// A scan in a single pass over memory, by workgroups that stay: 2n of traffic, and nobody waits for what others have folded.
//
// Workgroup b of G takes chunks b, b + G, b + 2G, … The copy engine brings them into shared memory, AHEAD of them at a time: no
// more than keep memory busy, since totals wait behind what was asked for before them. Items that are selected by a second array have
// its part of the chunk beside theirs.
// Of each chunk its total alone is published, before the LAG chunks in front of it are finished; what comes into a chunk is
// the fold of all totals since this workgroup's last, in their order, window by window. So whose turn it was cannot be seen.
//
//   workers      WARPS warps, ROWS rows of the chunk each, which they have copied for themselves: their total as soon as they
//                are there, and LAG chunks later, when it is known what comes in, the scan itself, out of shared memory
//   publisher    folds the workers' totals to the chunk's
//   controllers  LAG warps that take turns: one folds the totals of all chunks in front, and says what comes into each tile
//
// Several arrays at equal distances are scanned as one is: their chunks are counted through, and what comes into a chunk begins anew with each
// array (`StridedBatch`).
//
// All workgroups must run at once, so the launch is cooperative. Every wait for another is bounded.
//
// Source: our own. The hand-over of totals: D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with Decoupled
// Look-back (2016), without its chain of prefixes.

/// Chunks in shared memory: on their way, being folded, waiting.
constexpr u32 STAGES = AHEAD + 1 + LAG;
constexpr u32 PUBLISHER = WARPS, CONTROLLER = WARPS + 1;
constexpr u32 THREADS = SUBGROUP * (WARPS + 1 + LAG);
/// Rows of which a thread has something in registers at once; of the last chunk, fewer, for the less code.
constexpr u32 ROWS_AT_ONCE = 4, ROWS_AT_ONCE_LAST = 2;
/// Chunks whose totals are kept. A worker is at most LAG + 1 chunks ahead of another one, which may look back LAG chunks.
constexpr u32 SLOTS = LAG == 1 ? 4 : 8;
static_assert(SLOTS >= 2 * LAG + 2, "what is looked at is not overwritten");
/// Bytes of a stage of a second array, which begins as many bytes behind a multiple of LINE as it does in memory.
constexpr u32 BESIDE_STAGE = CHUNK * BESIDE + LINE;

struct Shared {
    u32 mark;
    /// A warp's rows are there; all its warps' totals of a chunk are; what comes into its tiles is.
    Barrier full[STAGES][WARPS], totals_known[SLOTS], carries_known[SLOTS];
    Acc totals[SLOTS][WARPS];
    Acc tile_carries[SLOTS][CHUNK_TILES];
    Exchange exchange[WARPS];
};

/// What a worker knows of its rows of a chunk that waits: S over them, lane k having that of row k; and which items are selected.
struct Waiting {
    Acc upto;
    SelectedOfRows selected;
};

/// What a workgroup does.
struct Work {
    const Scan& scan;
    Shared& shared;
    StagedItem* stages;
    /// Chunks of this workgroup.
    u32 turns;
    u32 lane;

    u32 chunk_at(u32 turn) const { return blockIdx.x + turn * gridDim.x; }
    u32 number_at(u32 turn) const { return scan.number_in_array(chunk_at(turn)); }
    ScanOfArray array_at(u32 turn) const { return array_of(scan, chunk_at(turn)); }
    StagedItem* stage(u32 turn) const { return stages + turn % STAGES * STAGE; }
    /// A chunk, where a warp's rows are staged.
    Chunk chunk(u32 turn, u32 warp = 0) const {
        const u32 number = number_at(turn);
        ScanOfArray own = array_at(turn);
        const StagedItem* from = stage(turn) + (warp + 1) * HALO + lead(own) / sizeof(StagedItem);
        return Chunk(own, staged_at(own.inputs, from, beside(turn), u64(number) * CHUNK), number);
    }
    /// Where the same chunk of a second array is: behind all stages of the first.
    u8* beside(u32 turn) const {
        return (u8*)(stages + STAGES * STAGE) + turn % STAGES * BESIDE_STAGE + u64(beside_of(scan.inputs)) % LINE;
    }
    /// Bytes that every chunk of an array, and each warp's rows, begin behind a line.
    static u32 lead(const Scan& own) { return u64(first_of(Chunk(own, 0).source())) % LINE; }

    Barrier* full(u32 turn, u32 warp) const { return &shared.full[turn % STAGES][warp]; }
    /// In which of two phases the barriers of slots are.
    static u32 parity_of(u32 turn) { return turn / SLOTS & 1; }

    /// Has a warp's rows copied to their stage, with what lies around them in the 16 bytes of their ends; of the last chunk's, those
    /// that there are. What is compared with what is in front has that copied too, unless the array begins there.
    void begin_load(u32 turn, u32 warp) const {
        if (turn < turns) {
            const Offset rows = Chunk::rows_of(warp);
            const Chunk chunk = this->chunk(turn);
            const Scan& own = chunk.scan;
            const u64 array = u64(first_of(own.inputs)), first = u64(first_of(chunk.source()) + rows);
            const u64 begin = REVERSE ? max(first, array) : HALO > 0 && first > array ? first - 16 : first;
            const u64 last = first + ROWS * ROW * sizeof(StagedItem);
            const u64 end = REVERSE ? last : min(last, array + own.values() * sizeof(StagedItem));
            const u64 from = begin / 16 * 16, bytes = begin < end ? (end + 15) / 16 * 16 - from : 0;
            if constexpr (BESIDE > 0) {
                // Both arrays begin where a copy may, and so do the rows of warps.
                const u64 rows_at = u64(chunk_at(turn)) * CHUNK + warp * ROWS * ROW;
                const u64 items = rows_at < scan.values() ? min(scan.values() - rows_at, u64(ROWS * ROW)) : 0;
                const u32 more = u32(items * BESIDE + 15) / 16 * 16;
                arrive_with_bytes(full(turn, warp), u32(bytes) + more);
                if (more > 0) {
                    const u8* others = beside_of(scan.inputs) + rows_at * BESIDE;
                    begin_copy(beside(turn) + warp * ROWS * ROW * BESIDE, others, more, full(turn, warp));
                }
            } else {
                arrive_with_bytes(full(turn, warp), u32(bytes));
            }
            if (bytes > 0) {
                u8* const to = (u8*)(stage(turn) + (warp + 1) * HALO + rows + turned(WARPS - 1, warp) * Offset(GAP)) + lead(own);
                begin_copy(to + i64(from - first), (const u8*)from, u32(bytes), full(turn, warp));
            }
        }
    }

    /// Publishes the totals of chunks: warps by a tree.
    void publish_totals(u32 mark) const {
        for (u32 turn = 0; turn < turns; ++turn) {
            wait(&shared.totals_known[turn % SLOTS], parity_of(turn));
            const Acc total = fold_first<WARPS>(lane < WARPS ? shared.totals[turn % SLOTS][lane] : padding(), lane);
            // Nobody asks for the last.
            const u32 number = number_at(turn);
            if (lane == 0 && number + 1 < scan.chunks) {
                publish(array_at(turn).published() + number, total, mark);
            }
        }
    }

    /// Says what comes into the tiles of every LAG-th chunk. Each controller folds for itself, so that none waits for another.
    void find_carries(u32 mark, u32 first) const {
        Front front = {start_of(scan), padding()};
        // What comes into the window of which this is the first chunk is known, and of which array that is.
        u32 known = 0, array = 0;
        bool has_last = false;
        Acc out = padding();
        for (u32 turn = first; turn < turns; turn += LAG) {
            const u32 slot = turn % SLOTS, number = number_at(turn);
            if (BATCHED && array != chunk_at(turn) / scan.chunks) {
                array = chunk_at(turn) / scan.chunks;
                front.carry = start_of(scan);
                known = 0;
            }
            // Nobody looks for totals before there can be any.
            wait(&shared.totals_known[slot], parity_of(turn));
            const Tiles tiles = tiles_of(shared.totals[slot], lane);
            fold_totals(array_at(turn), mark, known, number, lane, front);
            known = number - number % CHUNKS_OF_WINDOW;
            out = leave_tile_carries(tiles, shared.tile_carries[slot], number, lane, front);
            if (lane < CHUNK_TILES) {
                arrive(&shared.carries_known[slot]);
            }
            has_last = chunk_at(turn) + 1 == scan.all_chunks();
        }
        if (lane == 0) {
            leave(scan, mark, has_last, out, workgroups_of(scan) * LAG);
        }
    }

    /// Finds the totals of a warp's rows, and scans them when it is known what comes in.
    void scan_rows(u32 warp) const {
        // Of the chunks that wait, the oldest first.
        Waiting waiting[LAG];
        for (u32 turn = 0; turn < turns + LAG; ++turn) {
            Waiting rows;
            if (turn < turns) {
                rows = leave_total(turn, warp);
            }
            if (turn >= LAG) {
                finish(turn - LAG, warp, waiting[0]);
            }
#pragma unroll
            for (u32 k = 0; k + 1 < LAG; ++k) {
                waiting[k] = waiting[k + 1];
            }
            waiting[LAG - 1] = rows;
        }
    }

    /// Leaves the total of this warp's rows, and gives what is known of them.
    Waiting leave_total(u32 turn, u32 warp) const {
        const Chunk chunk = this->chunk(turn, warp);
        wait(full(turn, warp), turn / STAGES & 1);
        if (lane == 0) {
            begin_load(turn + AHEAD, warp);
        }
        // Lane k's is the total of row k, and of lanes behind the same again.
        Acc total = padding();
        Waiting waiting;
        if (chunk.is_whole()) {
            Acc totals[ROWS];
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                const Group group = chunk.staged(warp * ROWS + r, lane);
                totals[r] = total_of(group);
                keep(waiting.selected, r, group);
            }
            total = fold_rows(totals, lane);
        } else {
#pragma unroll(ROWS_AT_ONCE_LAST)
            for (u32 r = 0; r < ROWS; ++r) {
                const Acc row = fold_lanes<SUBGROUP>(total_of(chunk.staged_part(warp * ROWS + r, lane)), lane);
                total = chosen(total, row, lane % ROWS == r);
            }
        }
        waiting.upto = scan_lanes<ROWS>(total, lane);
        if (lane == ROWS - 1) {
            shared.totals[turn % SLOTS][warp] = waiting.upto;
            arrive(&shared.totals_known[turn % SLOTS]);
        }
        __syncwarp();
        return waiting;
    }

    /// Writes this warp's rows; others may be copied to where they were.
    void finish(u32 turn, u32 warp, const Waiting& rows) const {
        const Chunk chunk = this->chunk(turn, warp);
        const u32 slot = turn % SLOTS;
        wait(&shared.carries_known[slot], parity_of(turn));
        const Acc carries = carries_of_rows(shared.totals[slot], shared.tile_carries[slot], rows.upto, warp, lane);
        if (FITS_STAGE && chunk.is_whole()) {
            emit_rows(chunk, warp, lane, shuffled(carries, 0), rows.selected);
        } else if (chunk.is_whole()) {
            Kept kept;
#pragma unroll(ROWS_AT_ONCE)
            for (u32 r = 0; r < ROWS; ++r) {
                const u32 row = warp * ROWS + r;
                const Group group = chunk.staged(row, lane);
                const Acc into = shuffled(carries, r);
                if (EMITS) {
                    emit_row(chunk.scan, chunk.number_of(row, lane), group, 0, into, shared.exchange[warp], lane);
                } else {
                    chunk.store(row, lane, scan_row(group, into, lane), shared.exchange[warp], kept);
                }
            }
        } else {
            Kept unused;
#pragma unroll(ROWS_AT_ONCE_LAST)
            for (u32 r = 0; r < ROWS; ++r) {
                const u32 row = warp * ROWS + r;
                const Group group = chunk.staged_part(row, lane);
                const Acc into = shuffled(carries, r);
                if (EMITS) {
                    emit_row(chunk.scan, chunk.number_of(row, lane), group, 0, into, shared.exchange[warp], lane);
                    continue;
                }
                const Group scanned = scan_row(group, into, lane);
                if (OUT_ALIGNED && chunk.has((row + 1) * ROW)) {
                    chunk.store(row, lane, scanned, shared.exchange[warp], unused);
                } else {
                    chunk.store_items(row, lane, scanned);
                }
            }
        }
        if (warp == 0) {
            chunk.store_start(lane);
        }
        __syncwarp();
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) scan(const Scan launched) {
    const auto& scan = sized(launched);
    if (is_idle(scan)) {
        return;
    }
    take_given(scan.inputs);
    extern __shared__ __align__(128) u8 staged[];
    __shared__ Shared shared;
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    const u32 turns = (scan.all_chunks() - blockIdx.x + gridDim.x - 1) / gridDim.x;
    const Work work{scan, shared, (StagedItem*)staged, turns, lane};
    if (warp < WARPS && lane == 0) {
        for (u32 stage = 0; stage < STAGES; ++stage) {
            prepare(&shared.full[stage][warp], 1);
        }
        end_preparing();
        // On their way before anyone else is ready.
        work.begin_load(0, warp);
    }
    if (warp == CONTROLLER && lane == 0) {
        for (u32 slot = 0; slot < SLOTS; ++slot) {
            prepare(&shared.totals_known[slot], WARPS);
            prepare(&shared.carries_known[slot], CHUNK_TILES);
        }
        // Known before anything is published, after which the run may end.
        shared.mark = mark_of_run(scan.state);
    }
    __syncthreads();
    if (warp >= CONTROLLER) {
        work.find_carries(shared.mark, warp - CONTROLLER);
    } else if (warp == PUBLISHER) {
        work.publish_totals(shared.mark);
    } else {
        // Behind the first chunk of all warps, which is waited for.
        for (u32 turn = 1; turn < AHEAD && lane == 0; ++turn) {
            work.begin_load(turn, warp);
        }
        __syncwarp();
        work.scan_rows(warp);
    }
}
