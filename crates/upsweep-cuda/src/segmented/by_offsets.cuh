// The value of each segment, by offsets: n of traffic, and no workgroup waits for another. A workgroup has a tile.
//
//     starts     a thread for each tile: the first segment that ends behind the tile's beginning
//     segments   reads items and offsets, and writes the values of segments that end in the tile; leaves the tile's total
//     windows    a warp for each window: its total
//     spine      one workgroup: what comes into every window
//     finish     a warp for each window: the value of the segment that was there already when the tile began, of which there is
//                one at most in every tile
//
// A segment's value is what an inclusive scan has at its last item: what comes into its tile, row and group in front of S over the
// group's items. The first of these is not known yet where the segment began before the tile; then the others wait for it.
//
// A warp in whose rows no segment begins or ends only folds them.
//
// Where more segments end in a tile than it has items, each place is looked for by itself, and segments without items are shared
// evenly among all workgroups. So none has more to do than others, wherever segments lie.

static_assert(CHUNK_TILES == 1 && !REVERSE, "a workgroup has a tile");

constexpr u32 THREADS = SUBGROUP * WARPS;
constexpr u32 SPINE_THREADS = SUBGROUP * SUBGROUP;
/// Offsets that a thread looks at, at once.
constexpr u32 AT_ONCE = 3;
/// Segments that are written down at most.
constexpr u32 MOST_CLOSING = 2 * CHUNK;
static_assert(MOST_CLOSING <= 1 << 16, "their numbers have 16 bits");
constexpr u64 NOBODY = ~u64(0);

/// The value of the last segment in some items, and whether it began there.
struct Known {
    Acc value;
    u32 begins;
};

/// The same in memory.
struct KnownWords {
    u32 at[WORDS + 1];
};

/// The one segment that was there when its tile began, and ends in it: what comes into the row and the group of its last item
/// there, S over the group's items, and its number.
struct Waiting {
    Words row, group, items;
    u64 segment;
};

/// What the launches tell one another.
struct Told {
    u64* starts;
    /// Whether there are more segments in a tile than are written down.
    u32* crowds;
    /// Totals of tiles and windows; and what comes into windows.
    KnownWords* tiles;
    KnownWords* totals;
    KnownWords* windows;
    Waiting* waiting;
};

inline Known joined(const Known& left, const Known& right) {
    const Acc both = combine(left.value, right.value);
    return {right.begins ? right.value : both, left.begins | right.begins};
}

inline Known nothing() { return {padding(), 0}; }

inline Known shuffled(const Known& known, u32 lane) {
    return {shuffled(known.value, lane), __shfl_sync(ALL_LANES, known.begins, lane)};
}

inline void tell(KnownWords* to, const Known& known) {
    const Words words = words_of(known.value);
#pragma unroll
    for (u32 w = 0; w < WORDS; ++w) {
        to->at[w] = words.at[w];
    }
    to->at[WORDS] = known.begins;
}

inline Known told(const KnownWords* from) {
    Words words;
#pragma unroll
    for (u32 w = 0; w < WORDS; ++w) {
        words.at[w] = from->at[w];
    }
    return {acc_of(words), from->at[WORDS]};
}

/// S over each `width` neighbouring lanes, with these steps.
template <u32 width> inline Acc scan_lanes_in_segments(Acc upto, u32 lane, u32 steps) {
#pragma unroll
    for (u32 half = 1; half < width; half *= 2) {
        const Acc left = shuffled(upto, (lane & ~(2 * half - 1)) + half - 1);
        upto = chosen(upto, combine(left, upto), steps & half);
    }
    return upto;
}

/// S over a group, in whose items `begins` segments begin.
inline Group scan_group_in_segments(const Group& group, u32 begins) {
    const Acc left = chosen(combine(group.at[0], group.at[1]), group.at[1], begins & 2);
    const Acc right = chosen(combine(group.at[2], group.at[3]), group.at[3], begins & 8);
    return {group.at[0], left, chosen(combine(left, group.at[2]), group.at[2], begins & 4),
            chosen(combine(left, right), right, begins & 12)};
}

/// What a segment has whose value this is.
inline Stored value_of_segment(const Scan& scan, Acc value) {
    return stored(scan.has_init ? combine(init(scan.init), value) : value);
}

inline Stored value_of_nothing(const Scan& scan) { return stored(scan.has_init ? init(scan.init) : identity()); }

/// The first of `count` offsets from `low` on that is not in front of `item`.
inline u64 first_offset_from(const Mark* offsets, u64 low, u64 count, u64 item) {
    for (u64 high = count; low < high;) {
        const u64 middle = low + (high - low) / 2;
        const bool is_before = offset_at(offsets, middle) < item;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

/// Whether more segments end up to an item, behind the `first`, than are written down.
inline bool is_crowd(const Scan& scan, u64 first, u64 to) {
    const u64 last = first + MOST_CLOSING;
    return last < scan.inputs.segments && offset_at(scan.inputs.marks, last + 1) <= to;
}

extern "C" __global__ void starts(const Scan scan, const Told told) {
    const u32 tile = blockIdx.x * blockDim.x + threadIdx.x;
    if (tile < scan.chunks) {
        // Three at once, so that there are half as many to wait for.
        const Mark* ends = scan.inputs.marks + 1;
        const u64 item = u64(tile) * CHUNK;
        u64 low = 0, high = scan.inputs.segments;
        while (high - low > 3) {
            const u64 quarter = (high - low) / 4;
            const u64 probes[] = {low + quarter, low + 2 * quarter, low + 3 * quarter};
            bool upto[3];
#pragma unroll
            for (u32 k = 0; k < 3; ++k) {
                upto[k] = offset_at(ends, probes[k]) <= item;
            }
            high = upto[0] ? upto[1] ? upto[2] ? high : probes[2] : probes[1] : probes[0];
            low = upto[2] ? probes[2] + 1 : upto[1] ? probes[1] + 1 : upto[0] ? probes[0] + 1 : low;
        }
        const u64 first = first_offset_from(ends, low, high, item + 1);
        told.starts[tile] = first;
        if (is_crowd(scan, first, min(item + CHUNK, scan.items))) {
            *told.crowds = 1;
        }
    }
}

/// Offsets in a tile.
struct Offsets {
    /// Whether a segment begins with an item; and whether one that has items ends with it, and which, counted from `first`.
    u32 begins[CHUNK / 32], closes[CHUNK / 32];
    u16 closing[CHUNK];

    void clear() {
        for (u32 w = threadIdx.x; w < CHUNK / 32; w += THREADS) {
            begins[w] = 0;
            closes[w] = 0;
        }
    }

    /// Whether one of the words of a warp's rows, of which each lane looks at one or none, is not 0.
    bool is_cut(u32 warp, u32 lane) const {
        constexpr u32 OF_WARP = ROWS * ROW / 32;
        static_assert(OF_WARP <= SUBGROUP, "a lane looks at one word");
        const u32 at = warp * OF_WARP + lane % OF_WARP;
        return (begins[at] | closes[at]) != 0;
    }

    void begin(u64 item, u64 tile) {
        const u64 at = item - tile;
        if (at < CHUNK) {
            atomicOr(begins + at / 32, 1u << at % 32);
        }
    }

    void close(u64 end, u64 tile, u32 segment) {
        const u32 at = u32(end - tile - 1);
        atomicOr(closes + at / 32, 1u << at % 32);
        closing[at] = u16(segment);
    }

    /// Writes down those of a tile from this item to that one, `first` being the first segment that ends behind its beginning.
    /// Says whether there are too many, and only where they are is written down.
    bool note(const Scan& scan, u64 from, u64 to, u64 first) {
        const Mark* offsets = scan.inputs.marks;
        const u64 segments = scan.inputs.segments;
        if (threadIdx.x == 0) {
            begin(offset_at(offsets, first), from);
            if (from == 0) {
                begin(0, 0);
            }
        }
        if (is_crowd(scan, first, to)) {
            for (u64 item = from + 1 + threadIdx.x; item <= to; item += THREADS) {
                const u64 segment = first_offset_from(offsets + 1, first, segments, item);
                if (segment < segments && offset_at(offsets, segment + 1) == item) {
                    begin(item, from);
                    if (offset_at(offsets, segment) < item) {
                        close(item, from, 0);
                    }
                }
            }
            return true;
        }
        // Several at once, so that memory is waited for once.
        bool goes_on = true;
        for (u64 segment = first + threadIdx.x; goes_on; segment += AT_ONCE * THREADS) {
            u64 start[AT_ONCE], end[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                const u64 own = min(segment + k * THREADS, segments);
                start[k] = offset_at(offsets, own);
                end[k] = own < segments ? offset_at(offsets, own + 1) : NOBODY;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                goes_on = end[k] <= to;
                // Of offsets that decrease, whatever comes.
                if (goes_on && end[k] > from) {
                    begin(end[k], from);
                    if (start[k] < end[k]) {
                        close(end[k], from, u32(segment + k * THREADS - first));
                    } else {
                        scan.output[segment + k * THREADS] = pack_one(value_of_nothing(scan));
                    }
                }
            }
        }
        return false;
    }
};

/// Writes this workgroup's share of segments without items, if workgroups share them; else those in front of the first item.
inline void write_empty(const Scan& scan, u32 workgroups, u64 first) {
    const u64 segments = workgroups > 0 ? scan.inputs.segments : first;
    const u64 share = workgroups > 0 ? (segments + workgroups - 1) / workgroups : segments;
    const u64 end = min(segments, share * (blockIdx.x + 1));
    for (u64 segment = share * blockIdx.x + threadIdx.x; segment < end; segment += THREADS) {
        if (offset_at(scan.inputs.marks, segment) == offset_at(scan.inputs.marks, segment + 1)) {
            scan.output[segment] = pack_one(value_of_nothing(scan));
        }
    }
}

/// What is known in front of a group: in its row, and in its tile in front of that.
struct InFront {
    Known group, row;
};

/// The bits of a lane's group in a row.
inline u32 of_group(const u32* bits, u32 row, u32 lane) { return bits[row * (ROW / 32) + lane / 8] >> lane % 8 * GROUP & 15; }

/// Writes the values of segments that end in a group.
inline void write_closing(const Scan& scan, const Told& told, const Offsets& offsets, u64 first, bool is_crowded, u32 row, u32 lane,
                          const Group& upto, u32 closes, const InFront& before) {
    const u32 at = row * ROW + lane * GROUP, begins = of_group(offsets.begins, row, lane);
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        if (closes >> k & 1) {
            const u64 end = u64(blockIdx.x) * CHUNK + at + k + 1;
            const u64 segment = is_crowded ? first_offset_from(scan.inputs.marks + 1, first, scan.inputs.segments, end)
                                           : first + offsets.closing[at + k];
            Acc value = upto.at[k];
            if (begins & ((2u << k) - 1)) {
                scan.output[segment] = pack_one(value_of_segment(scan, value));
            } else if (before.group.begins | before.row.begins) {
                const Acc into = before.group.begins ? before.group.value : combine(before.row.value, before.group.value);
                scan.output[segment] = pack_one(value_of_segment(scan, combine(into, value)));
            } else {
                told.waiting[blockIdx.x] = {words_of(before.row.value), words_of(before.group.value), words_of(value), segment};
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR)
    segments(const Scan scan, const Told told) {
    take_given(scan.inputs);
    __shared__ Offsets offsets;
    __shared__ Known of_warps[WARPS];
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    const Chunk chunk(scan, blockIdx.x);
    Group rows[ROWS];
    load(chunk, chunk.is_whole(), rows, warp, lane);
    const u64 first = told.starts[blockIdx.x];
    offsets.clear();
    if (threadIdx.x == 0) {
        told.waiting[blockIdx.x].segment = NOBODY;
    }
    __syncthreads();
    const bool is_crowded = offsets.note(scan, chunk.first, min(chunk.first + CHUNK, scan.items), first);
    if (*told.crowds || blockIdx.x == 0) {
        write_empty(scan, *told.crowds ? scan.chunks : 0, told.starts[0]);
    }
    __syncthreads();

    // S over groups; of rows, what is in front of each group, and totals, lane k having that of row k.
    Acc before[ROWS], total = padding();
    u32 begin_in_rows = 0, begin_in_lanes[ROWS];
    const bool is_cut = __any_sync(ALL_LANES, offsets.is_cut(warp, lane));
    if (!is_cut) {
        Acc totals[ROWS];
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            totals[r] = total_of(rows[r]);
        }
        total = fold_rows(totals, lane);
    } else {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            const u32 begins = of_group(offsets.begins, warp * ROWS + r, lane);
            begin_in_lanes[r] = __ballot_sync(ALL_LANES, begins != 0);
            begin_in_rows |= begin_in_lanes[r] ? 1u << r : 0;
            rows[r] = scan_group_in_segments(rows[r], begins);
            const Acc upto = scan_lanes_in_segments<SUBGROUP>(rows[r].at[GROUP - 1], lane, steps_of(begin_in_lanes[r], lane));
            before[r] = previous(upto, lane);
            total = chosen(total, shuffled(upto, SUBGROUP - 1), lane % ROWS == r);
        }
    }
    const u32 row = lane % ROWS;
    const Acc value = scan_lanes_in_segments<ROWS>(total, row, steps_of(begin_in_rows, row));
    Known upto = {value, begin_in_rows & ((2u << row) - 1)};
    if (lane == ROWS - 1) {
        of_warps[warp] = upto;
    }
    __syncthreads();
    // The same over the tile.
    const u32 own = warp % TILE_WARPS;
    Known rows_before = nothing();
#pragma unroll
    for (u32 half = 1; half < TILE_WARPS; half *= 2) {
        if (own & half) {
            const u32 at = own & ~(2 * half - 1);
            const Known left = half == 1 ? of_warps[at] : joined(of_warps[at], of_warps[at + 1]);
            upto = joined(left, upto);
            rows_before = own & (half - 1) ? joined(left, rows_before) : left;
        }
    }
    if (warp == WARPS - 1 && lane == ROWS - 1) {
        tell(told.tiles + blockIdx.x, upto);
    }
    const Known above = shuffled(upto, lane - 1);
    const Known into = lane % ROWS == 0 ? rows_before : above;
    if (is_cut) {
        u32 closes[ROWS];
        Known row_before[ROWS];
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            closes[r] = of_group(offsets.closes, warp * ROWS + r, lane);
            row_before[r] = shuffled(into, r);
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            if (closes[r]) {
                const InFront in_front = {{before[r], begin_in_lanes[r] & ((1u << lane) - 1)}, row_before[r]};
                write_closing(scan, told, offsets, first, is_crowded, warp * ROWS + r, lane, rows[r], closes[r], in_front);
            }
        }
    }
}

/// What the tile of this lane has, S over those of its window as far as it: for a workgroup of one warp.
inline Known upto_tile(const Scan& scan, const Told& told_by, u32 lane) {
    const u32 tile = blockIdx.x * SUBGROUP + lane;
    Known upto = tile < scan.chunks ? told(told_by.tiles + tile) : nothing();
#pragma unroll
    for (u32 half = 1; half < SUBGROUP; half *= 2) {
        const Known left = shuffled(upto, (lane & ~(2 * half - 1)) + half - 1);
        const Known both = joined(left, upto);
        upto = lane & half ? both : upto;
    }
    return upto;
}

extern "C" __global__ void __launch_bounds__(SUBGROUP, 1) windows(const Scan scan, const Told told_by) {
    take_given(scan.inputs);
    const Known upto = upto_tile(scan, told_by, threadIdx.x);
    if (threadIdx.x == SUBGROUP - 1) {
        tell(told_by.totals + blockIdx.x, upto);
    }
}

extern "C" __global__ void __launch_bounds__(SPINE_THREADS, 1) spine(const Scan scan, const Told told_by) {
    take_given(scan.inputs);
    // Of 32 windows for each warp: their totals, what comes out of all, and what comes into them.
    __shared__ Known totals[SUBGROUP][SUBGROUP], out[SUBGROUP], into[SUBGROUP];
    const u32 windows = (scan.chunks + SUBGROUP - 1) / SUBGROUP;
    const u32 warp = number_of_warp(), lane = threadIdx.x % SUBGROUP;
    // Folds windows in turn behind a value, lane k keeping what comes out of window k.
    const auto fold = [&](const Known& own, Known carry, Known& kept) {
#pragma unroll
        for (u32 k = 0; k < SUBGROUP; ++k) {
            carry = joined(carry, shuffled(own, k));
            kept.value = chosen(kept.value, carry.value, lane == k);
            kept.begins = lane == k ? carry.begins : kept.begins;
        }
        return carry;
    };
    Known carry = nothing(), unused = nothing();
    for (u32 first = 0; first < windows; first += SPINE_THREADS) {
        const u32 window = first + threadIdx.x;
        const Known own = window < windows ? told(told_by.totals + window) : nothing();
        totals[warp][lane] = own;
        // Where a segment begins among them, what comes out is known without what comes in.
        const Known all = fold(own, nothing(), unused);
        if (lane == 0) {
            out[warp] = all;
        }
        __syncthreads();
        if (warp == 0) {
            for (u32 g = 0; g < SUBGROUP; ++g) {
                if (lane == 0) {
                    into[g] = carry;
                }
                carry = out[g].begins ? out[g] : fold(totals[g][lane], carry, unused);
            }
        }
        __syncthreads();
        Known behind = nothing();
        fold(own, into[warp], behind);
        if (window + 1 < windows) {
            tell(told_by.windows + window + 1, behind);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        tell(told_by.windows, nothing());
    }
}

extern "C" __global__ void __launch_bounds__(SUBGROUP, 1) finish(const Scan scan, const Told told_by) {
    take_given(scan.inputs);
    const u32 lane = threadIdx.x, tile = blockIdx.x * SUBGROUP + lane;
    if (tile == 0) {
        *told_by.crowds = 0;
    }
    const bool is_there = tile < scan.chunks;
    const Known upto = upto_tile(scan, told_by, lane);
    const Known carry = told(told_by.windows + blockIdx.x), above = shuffled(upto, lane - 1);
    const Known into = lane == 0 ? carry : joined(carry, above);
    if (is_there && told_by.waiting[tile].segment != NOBODY) {
        const Waiting waiting = told_by.waiting[tile];
        const Acc row = combine(into.value, acc_of(waiting.row)), group = combine(row, acc_of(waiting.group));
        scan.output[waiting.segment] = pack_one(value_of_segment(scan, combine(group, acc_of(waiting.items))));
    }
}
