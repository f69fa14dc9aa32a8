// Items that are cut into segments: where these begin, and where their values go.
//
// A value carries whether a segment begins in what it was combined of, so that all that a scan does stays as it is. The first
// item of an array begins one. Between items, and at both ends of the array, there is a *cut* where a segment ends and another
// begins; of a group of four items, bits 0 to 4 say whether there is one in front of items 0 to 3 in memory, and behind the last.
//
//     keys, flags   every thread reads those of its own items
//     offsets       a workgroup looks for the first segment that ends behind its chunk's beginning, by a warp that asks for 32
//                   offsets at once, and writes down where others do until the chunk ends
//
// Reduced by offsets, a segment's value is written to its place by the thread that has its last item, as the walk through
// offsets has told it. Segments without items are shared evenly among all workgroups; where more segments end in a chunk than it
// has items, each place is looked for by itself. So no workgroup has more to do than others, wherever segments lie.
// By keys or flags, values carry how many segments have begun, which is where they go.
//
// Source: the operator, G. Blelloch, Prefix Sums and Their Applications (1990).

/// Whether values of segments are written, and not those of items.
constexpr bool EMITS = REDUCES;

/// A cut in front of each item of a group, and behind the last, of every row of a thread.
struct Marks {
    u32 of_row[ROWS];
};

constexpr u32 CUT_WORDS = BY_OFFSETS ? CHUNK / 32 + 1 : 1, CLOSING = BY_OFFSETS && EMITS ? CHUNK + 1 : 1;

/// Offsets in a chunk.
struct OffsetsInChunk {
    /// Whether one is in front of item i; and whether a segment that has items ends there, and which, counted from `first`.
    u32 cuts[CUT_WORDS], closes[CUT_WORDS];
    u16 closing[CLOSING];
    /// The first segment that ends behind the chunk's beginning.
    u64 first;
    bool is_crowded;
    bool has_closes;
};

/// Segments that are written down at most.
constexpr u32 MOST_CLOSING = 2 * CHUNK;
static_assert(MOST_CLOSING <= 1 << 16, "their numbers have 16 bits");

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
                own.closes[w] = 0;
            }
            if (threadIdx.x < SUBGROUP) {
                const u64 first = offsets_upto(offsets + 1, segments, from, threadIdx.x);
                if (threadIdx.x == 0) {
                    own.first = first;
                    own.has_closes = false;
                    own.is_crowded = first + MOST_CLOSING < segments && offset_at(offsets, first + MOST_CLOSING + 1) <= to;
                }
            }
            __syncthreads();
            note(scan, begin, from, to);
            if constexpr (EMITS) {
                write_empty(scan, chunk);
            }
            __syncthreads();
        }
    }

    void note(const Scan& scan, i64 begin, u64 from, u64 to) {
        OffsetsInChunk& own = found;
        const Mark* offsets = scan.inputs.marks;
        const u64 segments = scan.inputs.segments;
        const auto cut = [&](u64 item) {
            const u32 at = u32(i64(item) - begin);
            atomicOr(own.cuts + at / 32, 1u << at % 32);
        };
        const auto close = [&](u64 item, u64 segment) {
            const u32 at = u32(i64(item) - begin);
            atomicOr(own.closes + at / 32, 1u << at % 32);
            own.closing[CLOSING > 1 ? at : 0] = u16(segment - own.first);
            own.has_closes = true;
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
                const u64 start = offset_at(offsets, segment), end = offset_at(offsets, segment + 1);
                if (end > to) {
                    break;
                }
                cut(end);
                if (EMITS && start < end) {
                    close(end, segment);
                }
            }
        } else {
            for (u64 item = from + 1 + threadIdx.x; item <= to; item += blockDim.x) {
                const u64 segment = first_offset_from(offsets + 1, own.first, segments, item);
                if (segment < segments && offset_at(offsets, segment + 1) == item) {
                    cut(item);
                    if (EMITS && offset_at(offsets, segment) < item) {
                        close(item, segment);
                    }
                }
            }
        }
    }

    /// Writes this workgroup's share of segments without items.
    static void write_empty(const Scan& scan, u32 chunk) {
        const u64 segments = scan.inputs.segments, share = (segments + scan.chunks - 1) / scan.chunks;
        const u64 end = min(segments, share * (chunk + 1));
        for (u64 segment = share * chunk + threadIdx.x; segment < end; segment += blockDim.x) {
            if (offset_at(scan.inputs.marks, segment) == offset_at(scan.inputs.marks, segment + 1)) {
                scan.output[segment] = pack_one(stored(of_nothing(scan)));
            }
        }
    }

    /// Whether anybody asks for what the chunk's items are scanned to.
    bool is_needed() const { return !EMITS || !BY_OFFSETS || found.has_closes; }
};

/// The cuts of a group whose first item in memory is item `first` of the array, and is in front of it in a group that there is not
/// all of.
inline u32 cuts_of(const Scan& scan, const Heads& heads, u64 at, i64 first, bool is_whole) {
    if constexpr (BY_OFFSETS) {
        const u32 chunk = u32(at / CHUNK);
        const u32 bit = u32(first - Heads::begin_of(scan, chunk));
        const u32* cuts = heads.found.cuts;
        return __funnelshift_r(cuts[bit / 32], cuts[min(bit / 32 + 1, CUT_WORDS - 1)], bit % 32) & 31;
    } else {
        const Mark* marks = scan.inputs.marks;
        const auto is_cut = [&](i64 item) {
            if (item <= 0 || item >= i64(scan.items)) {
                return item == 0 || item == i64(scan.items);
            }
            return BY_KEYS ? !is_same(marks[item - 1], marks[item]) : is_set(marks[item]);
        };
        u32 cuts = 0;
        if (is_whole) {
            const MarkGroup own = *(const MarkGroup*)(marks + first);
#pragma unroll
            for (u32 k = 0; k < GROUP; ++k) {
                const bool is = BY_KEYS ? k > 0 && !is_same(own.at[k > 0 ? k - 1 : 0], own.at[k]) : is_set(own.at[k]);
                cuts |= is ? 1u << k : 0;
            }
            if (!REVERSE && BY_KEYS) {
                cuts |= first == 0 || !is_same(marks[max(first - 1, i64(0))], own.at[0]) ? 1 : 0;
            } else {
                cuts |= first == 0 ? 1 : 0;
            }
            if (REVERSE || EMITS) {
                const i64 behind = first + i64(GROUP);
                const Mark& next = marks[min(behind, i64(scan.items) - 1)];
                cuts |= behind == i64(scan.items) || (BY_KEYS ? !is_same(own.at[GROUP - 1], next) : is_set(next)) ? 1 << GROUP : 0;
            }
        } else {
#pragma unroll
            for (u32 k = 0; k <= GROUP; ++k) {
                cuts |= is_cut(first + i64(k)) ? 1u << k : 0;
            }
        }
        return cuts;
    }
}

/// Whether a segment begins with item k of a group in the order of the scan.
inline bool begins(u32 cuts, u32 k) { return cuts >> (REVERSE ? GROUP - k : k) & 1; }

/// Writes down, in its values, where segments begin in row `r` of a thread: in the group whose first item is number `at` from
/// where the scan begins.
inline void mark(const Scan& scan, const Heads& heads, u64 at, Group& group, Marks& marks, u32 r) {
    const i64 first = REVERSE ? i64(scan.items) - i64(GROUP) - i64(at) : i64(at);
    const u32 cuts = cuts_of(scan, heads, at, first, at + GROUP <= scan.items);
    marks.of_row[r] = cuts;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        group.at[k].begins = begins(cuts, k) && at + k < scan.items ? 1 : 0;
    }
}

/// Makes outputs of prefixes: those of an exclusive scan begin anew, and a start value is in front of all.
inline void cut(const Scan& scan, const Marks& marks, u32 r, Group& scanned) {
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
            scanned.at[k] = chosen(scanned.at[k], first, begins(marks.of_row[r], k));
        }
    }
}

/// Writes the values of segments that end in a group, whose first item is number `at`.
inline void emit(const Scan& scan, const Heads& heads, u64 at, const Group& scanned, const Marks& marks, u32 r) {
    if constexpr (BY_OFFSETS) {
        const OffsetsInChunk& own = heads.found;
        const u32 bit = u32(at % CHUNK);
        const u32 closes = __funnelshift_r(own.closes[bit / 32], own.closes[min(bit / 32 + 1, CUT_WORDS - 1)], bit % 32) >> 1;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (closes >> k & 1 && at + k < scan.items) {
                const u64 segment = own.is_crowded
                                        ? first_offset_from(scan.inputs.marks + 1, own.first, scan.inputs.segments, at + k + 1)
                                        : own.first + own.closing[CLOSING > 1 ? bit + k + 1 : 0];
                scan.output[segment] = pack_one(stored(scanned.at[k]));
            }
        }
    } else {
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (marks.of_row[r] >> (k + 1) & 1 && at + k < scan.items) {
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
}
