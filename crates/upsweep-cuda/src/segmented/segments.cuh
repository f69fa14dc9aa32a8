// Items that are cut into segments: where these begin, and where their values go.
//
// A value carries whether a segment begins in what it was combined of, so that all that a scan does stays as it is. The first
// item of an array begins one. Between items, and at both ends of the array, there is a *cut* where a segment ends and another
// begins; of a group of four items, bits 0 to 4 say whether there is one in front of items 0 to 3 in memory, and behind the last.
//
//     keys, flags   every thread reads those of its own items
//     offsets       a workgroup looks for the first segment that ends behind its chunk's beginning, by a warp that asks for 32
//                   offsets at once, and writes down where others do until the chunk ends; where more segments end in a chunk
//                   than it has items, each place is looked for by itself
//
// Reduced by keys or flags, values carry how many segments have begun, which is where they go. By offsets: `by_offsets.cuh`.
//
// Source: the operator, G. Blelloch, Prefix Sums and Their Applications (1990).

/// Whether values of segments are written, and not those of items.
constexpr bool EMITS = REDUCES;

/// A cut in front of each item of a group, and behind the last, of every row of a thread.
struct Marks {
    u32 of_row[ROWS];
};

constexpr u32 CUT_WORDS = BY_OFFSETS ? CHUNK / WORD_BITS + 1 : 1;

/// Offsets in a chunk.
struct OffsetsInChunk {
    /// Whether one is in front of item i.
    u32 cuts[CUT_WORDS];
    /// The first segment that ends behind the chunk's beginning.
    u64 first;
    bool is_crowded;
};

/// Offsets that are written down at most.
constexpr u32 MOST_NOTED = 2 * CHUNK;

inline bool is_same(const Mark& left, const Mark& right) {
    u32 own[(sizeof(Mark) + 3) / 4] = {}, other[(sizeof(Mark) + 3) / 4] = {};
    memcpy(own, &left, sizeof(Mark));
    memcpy(other, &right, sizeof(Mark));
    bool is = true;
#pragma unroll
    for (u32 w = 0; w < (sizeof(Mark) + 3) / 4; ++w) {
        is = is && own[w] == other[w];
    }
    return is;
}

inline bool is_set(const Mark& flag) { return !is_same(flag, Mark{}); }

/// Flags or keys of a group.
struct __align__(MARKS_WIDTH) MarkGroup {
    Mark at[GROUP];
};

/// The number of offsets among `count` that are not behind `item`, found by all lanes of a warp.
inline u64 offsets_upto(const Mark* offsets, u64 count, u64 item, u32 lane) {
    u64 low = 0, high = count;
    while (low < high) {
        const u64 between = high - low;
        const u32 upto = __popc(__ballot_sync(ALL_LANES, offset_at(offsets, low + between * (lane + 1) / (SUBGROUP + 1)) <= item));
        high = upto == SUBGROUP ? high : low + between * (upto + 1) / (SUBGROUP + 1);
        low = upto == 0 ? low : low + between * upto / (SUBGROUP + 1) + 1;
    }
    return low;
}

/// The first of `count` offsets from `low` on that is not in front of `item`, found by one thread.
inline u64 first_offset_from(const Mark* offsets, u64 low, u64 count, u64 item) {
    for (u64 high = count; low < high;) {
        const u64 middle = low + (high - low) / 2;
        const bool is_before = offset_at(offsets, middle) < item;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

/// What a segment without items has.
inline Acc of_nothing(const Scan& scan) { return scan.has_init ? init(scan.init) : identity(); }

/// Where segments begin and end in a chunk, for all threads of the workgroup that has it.
struct Heads {
    OffsetsInChunk found;

    /// Where bit 0 of `cuts` is: in front of the chunk's first item in memory. Of the last chunk in reverse, in front of the array.
    static i64 begin_of(const Scan& scan, u32 chunk) {
        const u64 first = u64(chunk) * CHUNK;
        return REVERSE ? i64(scan.items - first) - i64(CHUNK) : i64(first);
    }

    /// Looks for offsets. All threads of the workgroup call it.
    void find(const Scan& scan, u32 chunk) {
        if constexpr (BY_OFFSETS) {
            OffsetsInChunk& own = found;
            const Mark* offsets = scan.inputs.marks;
            const u64 segments = scan.inputs.segments;
            const i64 begin = begin_of(scan, chunk);
            const u64 from = u64(max(begin, i64(0))), to = min(u64(begin + i64(CHUNK)), scan.items);
            for (u32 w = threadIdx.x; w < CUT_WORDS; w += blockDim.x) {
                own.cuts[w] = 0;
            }
            if (threadIdx.x < SUBGROUP) {
                const u64 first = offsets_upto(offsets + 1, segments, from, threadIdx.x);
                if (threadIdx.x == 0) {
                    own.first = first;
                    own.is_crowded = first + MOST_NOTED < segments && offset_at(offsets, first + MOST_NOTED + 1) <= to;
                }
            }
            __syncthreads();
            note(scan, begin, from, to);
            __syncthreads();
        }
    }

    void note(const Scan& scan, i64 begin, u64 from, u64 to) {
        OffsetsInChunk& own = found;
        const Mark* offsets = scan.inputs.marks;
        const u64 segments = scan.inputs.segments;
        const auto cut = [&](u64 item) {
            const u32 at = u32(i64(item) - begin);
            atomicOr(own.cuts + at / WORD_BITS, 1u << at % WORD_BITS);
        };
        if (threadIdx.x == 0) {
            const u64 at_begin = offset_at(offsets, own.first);
            if (from <= at_begin && at_begin <= to) {
                cut(at_begin);
            }
            if (from == 0) {
                cut(0);
            }
            if (to == scan.items) {
                cut(to);
            }
        }
        if (!own.is_crowded) {
            for (u64 segment = own.first + threadIdx.x; segment < segments; segment += blockDim.x) {
                const u64 end = offset_at(offsets, segment + 1);
                if (end > to) {
                    break;
                }
                cut(end);
            }
        } else {
            for (u64 item = from + 1 + threadIdx.x; item <= to; item += blockDim.x) {
                const u64 segment = first_offset_from(offsets + 1, own.first, segments, item);
                if (segment < segments && offset_at(offsets, segment + 1) == item) {
                    cut(item);
                }
            }
        }
    }
};

/// Whether nothing in front of what this was combined of reaches its value.
inline bool begins_in(const Acc& acc) { return !COUNTS_SEGMENTS && acc.begins; }

/// Whether there is a cut in front of an item of the array, or behind its last.
inline bool is_cut(const Scan& scan, i64 item) {
    if (item <= 0 || item >= i64(scan.items)) {
        return item == 0 || item == i64(scan.items);
    }
    return BY_KEYS ? !is_same(scan.inputs.marks[item - 1], scan.inputs.marks[item]) : is_set(scan.inputs.marks[item]);
}

inline Mark shuffled(const Mark& mark, u32 lane) {
    u32 words[(sizeof(Mark) + 3) / 4] = {};
    memcpy(words, &mark, sizeof(Mark));
#pragma unroll
    for (u32 w = 0; w < (sizeof(Mark) + 3) / 4; ++w) {
        words[w] = __shfl_sync(ALL_LANES, words[w], lane);
    }
    Mark other;
    memcpy(&other, words, sizeof(Mark));
    return other;
}

/// Where in memory the first item of a group is that is number `at` from where the scan begins.
inline i64 place_of(const Scan& scan, u64 at) { return REVERSE ? i64(scan.items) - i64(GROUP) - i64(at) : i64(at); }

/// The cuts of the rows of a warp, all of whose flags or keys there are: each lane reads those of its group, and has those beside
/// it from its neighbours. `at` is the number of the first.
__forceinline__ void read_cuts(const Scan& scan, u64 at, u32 lane, Marks& cuts) {
    const i64 first = place_of(scan, at + lane * GROUP);
    const Mark* marks = scan.inputs.marks;
    const Offset step = REVERSE ? -Offset(ROW) : Offset(ROW);
    MarkGroup own[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        own[r] = *(const MarkGroup*)(marks + (first + i64(r) * step));
    }
    // In front in the order of the scan, where the first lane's is no other lane's; and behind, if anybody asks.
    const i64 ahead = REVERSE ? first + GROUP : first - 1, behind = first + i64(ROWS - 1) * step + GROUP;
    Mark outer = {};
    if (lane == 0 && 0 <= ahead && ahead < i64(scan.items)) {
        outer = marks[ahead];
    }
    if (EMITS && lane == SUBGROUP - 1 && behind < i64(scan.items)) {
        outer = marks[behind];
    }
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        u32 found = 0;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const bool is = BY_KEYS ? k > 0 && !is_same(own[r].at[k > 0 ? k - 1 : 0], own[r].at[k]) : is_set(own[r].at[k]);
            found |= is ? 1u << k : 0;
        }
        const i64 item = first + i64(r) * step;
        if (BY_KEYS && !REVERSE) {
            const Mark offered = lane == SUBGROUP - 1 && r > 0 ? own[r > 0 ? r - 1 : 0].at[GROUP - 1] : own[r].at[GROUP - 1];
            const Mark before = shuffled(offered, lane - 1);
            found |= !is_same(lane == 0 && r == 0 ? outer : before, own[r].at[0]) ? 1 : 0;
        }
        if (REVERSE || EMITS) {
            // From the lane whose group is behind in memory.
            const u32 edge = REVERSE ? SUBGROUP - 1 : 0, q = REVERSE ? (r > 0 ? r - 1 : 0) : (r + 1 < ROWS ? r + 1 : r);
            const bool is_outer = lane == SUBGROUP - 1 - edge && r == (REVERSE ? 0 : ROWS - 1);
            const Mark offered = lane == edge && r != (REVERSE ? 0 : ROWS - 1) ? own[q].at[0] : own[r].at[0];
            const Mark there = shuffled(offered, REVERSE ? lane - 1 : lane + 1), next = is_outer ? outer : there;
            found |= (BY_KEYS ? !is_same(own[r].at[GROUP - 1], next) : is_set(next)) ? 1u << GROUP : 0;
        }
        found |= item == 0 ? 1 : 0;
        found |= item + i64(GROUP) == i64(scan.items) ? 1u << GROUP : 0;
        cuts.of_row[r] = found;
    }
}

/// The cuts of a group, one by one, or as they are written down.
inline u32 cuts_of(const Scan& scan, const Heads& heads, u64 at) {
    const i64 first = place_of(scan, at);
    u32 cuts = 0;
    if constexpr (BY_OFFSETS) {
        const u32 bit = u32(first - Heads::begin_of(scan, u32(at / CHUNK)));
        const u32* words = heads.found.cuts;
        cuts = __funnelshift_r(words[bit / WORD_BITS], words[min(bit / WORD_BITS + 1, CUT_WORDS - 1)], bit % WORD_BITS) & 31;
    } else {
#pragma unroll
        for (u32 k = 0; k <= GROUP; ++k) {
            cuts |= is_cut(scan, first + i64(k)) ? 1u << k : 0;
        }
    }
    return cuts;
}

/// Finds out where there are cuts in the rows of a warp. `at` is the number of the first row's first item from where the scan begins.
__forceinline__ void find_cuts(const Scan& scan, const Heads& heads, u64 at, u32 lane, Marks& cuts) {
    if (!BY_OFFSETS && MARKS_WIDE && at + ROWS * ROW <= scan.items) {
        read_cuts(scan, at, lane, cuts);
    } else {
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            cuts.of_row[r] = cuts_of(scan, heads, at + r * ROW + lane * GROUP);
        }
    }
}

/// Whether a segment begins with item k of a group in the order of the scan.
inline bool begins(u32 cuts, u32 k) { return cuts >> (REVERSE ? GROUP - k : k) & 1; }

/// Writes down, in its values, where segments begin in a group whose first item is number `at`.
inline void mark(const Scan& scan, u64 at, u32 cuts, Group& group) {
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        group.at[k].begins = begins(cuts, k) && at + k < scan.items ? 1 : 0;
    }
}

/// Makes outputs of prefixes: those of an exclusive scan begin anew where `begins` segments do, bit k for item k, and a start value is
/// in front of all.
inline void cut_where(const Scan& scan, u32 begins, Group& scanned) {
    const Acc first = of_nothing(scan);
    if (scan.has_init) {
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            scanned.at[k].value = then(first, Acc{scanned.at[k].value, 0}).value;
        }
    }
    if (!INCLUSIVE) {
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            scanned.at[k] = chosen(scanned.at[k], first, begins >> k & 1);
        }
    }
}

/// The same where there are these cuts.
inline void cut(const Scan& scan, u32 cuts, Group& scanned) { cut_where(scan, REVERSE ? __brev(cuts) >> (31 - GROUP) : cuts, scanned); }

/// Writes the values of segments that end in a group, whose first item is number `at`.
inline void emit(const Scan& scan, u64 at, const Group& scanned, u32 cuts) {
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        if (cuts >> (k + 1) & 1 && at + k < scan.items) {
            const u64 segment = u64(scanned.at[k].begins) - 1;
            scan.output[segment] = pack_one(stored(scanned.at[k]));
            if (scan.inputs.unique) {
                scan.inputs.unique[segment] = scan.inputs.marks[at + k];
            }
            if (at + k + 1 == scan.items) {
                *scan.inputs.count = segment + 1;
            }
        }
    }
}

/// The same of a lane of the warp that has a row.
inline void emit_row(const Scan& scan, u64 at, const Group& scanned, u32 cuts, Acc, Exchange&, u32) { emit(scan, at, scanned, cuts); }
