// What a workgroup does with a chunk if none of its warps serves the others: each loads ROWS rows, leaves their total, and scans
// and writes them when it is known what comes into the chunk's tiles.
//
//     striped   lane k has group k of every row
//     blocked   lane k has ROWS neighbouring groups: 32 / ROWS lanes to a row
//
// A chunk is loaded either whole, without checks, or item by item; or, CHECKED, in accesses each of which is checked.
// How values go from lane to lane: `cooperative.cuh`, `raking.cuh`, `blelloch.cuh`.

constexpr u32 THREADS = SUBGROUP * WARPS;

/// What one warp has in shared memory for itself.
union OfWarp {
    Acc values[LOCAL_VALUES];
    Exchange exchange;
};

struct Shared {
    Acc totals[WARPS];
    Acc tile_carries[CHUNK_TILES];
    OfWarp of_warp[WARPS];
    Heads heads;
};

/// A thread among the others.
struct Thread {
    u32 warp, lane;

    /// The row of the chunk, and the place in it, of group r of this thread.
    u32 row(u32 r) const { return warp * ROWS + (BLOCKED ? lane / ROW_LANES : r); }
    u32 place(u32 r) const { return BLOCKED ? lane % ROW_LANES * ROWS + r : lane; }
};

/// Whether a chunk needs no checks.
inline bool goes_unchecked(const Chunk& chunk) { return ALIGNED && !CHECKED && chunk.is_whole(); }

/// Whether a group of a chunk is one whose accesses are checked, and all there.
inline bool is_checked(const Chunk& chunk, u32 row, u32 place) {
    return CHECKED && chunk.first + row * ROW + (place + 1) * GROUP <= chunk.scan.items;
}

template <bool WHOLE> inline Group load_group(const Chunk& chunk, u32 row, u32 place) {
    return WHOLE || (ALIGNED && is_checked(chunk, row, place)) ? chunk.staged(row, place) : chunk.loaded(row, place);
}

/// Loads the groups of a thread, with the segments of which all find out.
template <bool WHOLE>
__forceinline__ void load(const Chunk& chunk, Thread thread, Group (&held)[ROWS], Marks& marks, Heads& heads) {
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        held[r] = load_group<WHOLE>(chunk, thread.row(r), thread.place(r));
    }
    heads.find(chunk.scan, u32(chunk.first / CHUNK));
    if (!BLOCKED) {
        find_cuts(chunk.scan, heads, chunk.number_of(thread.warp * ROWS, 0), thread.lane, marks);
    }
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        const u64 at = chunk.number_of(thread.row(r), thread.place(r));
        if (BLOCKED) {
            marks.of_row[r] = cuts_of(chunk.scan, heads, at);
        }
        mark(chunk.scan, at, marks.of_row[r], held[r]);
    }
}

/// Writes a group that is all there in accesses of its own.
inline void store_apart(const Chunk& chunk, u32 row, u32 place, const Group& group) {
    const u64 at = chunk.first + row * ROW + place * GROUP;
    OutAccess accesses[OUT_ACCESSES];
    pack_group(group, accesses);
    OutAccess* to = (OutAccess*)(chunk.scan.output + (REVERSE ? chunk.scan.items - GROUP - at : at));
#pragma unroll
    for (u32 a = 0; a < OUT_ACCESSES; ++a) {
        to[a] = accesses[a];
    }
}

template <bool WHOLE>
inline void store_group(const Chunk& chunk, u32 row, u32 place, const Group& group, Exchange& exchange) {
    if (WHOLE && OUT_ALIGNED && !BLOCKED) {
        Kept unused;
        chunk.store(row, place, group, exchange, unused);
    } else if (OUT_ALIGNED && (WHOLE || is_checked(chunk, row, place))) {
        store_apart(chunk, row, place, group);
    } else {
        chunk.store_items(row, place, group);
    }
}

/// Leaves the total of a warp's rows, and gives S over them, lane k having that of row k. SCANNED is whether groups are S over
/// their items already.
__forceinline__ Acc leave_total(const Group (&held)[ROWS], Thread thread, Shared& shared) {
    Acc totals[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        totals[r] = SCANNED ? scanned_total(held[r]) : total_of(held[r]);
    }
    const Acc rows = BLOCKED ? fold_runs(totals, thread.lane) : fold_rows(totals, thread.lane);
    const Acc upto = scan_lanes<ROWS>(rows, thread.lane);
    if (thread.lane == ROWS - 1) {
        shared.totals[thread.warp] = upto;
    }
    return upto;
}

/// The total of a chunk all of whose warps have left theirs; for the lanes of one warp.
inline Acc total_left(const Acc* totals, u32 lane) {
    return fold_first<WARPS>(lane < WARPS ? totals[lane] : padding(), lane);
}

/// Scans and writes the rows of a warp, S over which is `upto`.
template <bool WHOLE>
__forceinline__ void finish(const Chunk& chunk, Group (&held)[ROWS], Acc upto, const Marks& marks, Thread thread,
                            Shared& shared) {
    OfWarp& own = shared.of_warp[thread.warp];
    Acc before[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        held[r] = SCANNED ? held[r] : scan_group(held[r]);
        before[r] = scanned_total(held[r]);
    }
    before_in_rows(before, thread.lane, own.values);
    const Acc carries = carries_of_rows(shared.totals, shared.tile_carries, upto, thread.warp, thread.lane);
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        const Acc carry = shuffled(carries, BLOCKED ? thread.lane / ROW_LANES : r);
        Group scanned = prefixes(held[r], then(carry, before[r]));
        cut(chunk.scan, marks.of_row[r], scanned);
        if (EMITS) {
            emit(chunk.scan, chunk.number_of(thread.row(r), thread.place(r)), scanned, marks.of_row[r]);
        } else {
            store_group<WHOLE>(chunk, thread.row(r), thread.place(r), scanned, own.exchange);
        }
    }
    if (thread.warp == 0) {
        chunk.store_start(thread.lane);
    }
}

/// Loads a chunk, scans and writes it. Once its warps have left their totals, all threads find out by `control` what comes into
/// its tiles.
template <bool WHOLE, typename Control>
__forceinline__ void scan_chunk(const Chunk& chunk, Thread thread, Shared& shared, Control control) {
    Group held[ROWS];
    Marks marks;
    load<WHOLE>(chunk, thread, held, marks, shared.heads);
    const Acc upto = leave_total(held, thread, shared);
    __syncthreads();
    control();
    __syncthreads();
    finish<WHOLE>(chunk, held, upto, marks, thread, shared);
}
