// The value of each segment, by offsets: n of traffic, and no workgroup waits for another.
//
//     starts     a thread for each chunk, the tiles of a workgroup: the first segment that ends behind its beginning
//     segments   a workgroup for each chunk: reads items and offsets, and writes the values of segments that end in a tile;
//                leaves the tile's total
//     windows    a warp for each window: its total; and values of segments without items that nobody else writes
//     finish     a warp for each window: the value of the segment that was there already when the tile began, of which there is
//                one at most in every tile
//
// All but the first may begin while the one before ends, where the device and its driver can do that: they read what was there before
// all of them, and wait for the one before, which has waited in turn, with all else.
//
// A segment's value is what an inclusive scan has at its last item: what comes into its tile, row and group in front of S over the
// group's items. The first of these is not known yet where the segment began before the tile; then the others wait for it.
//
// Where more segments end in a chunk than it has items, each place is looked for by itself, and segments without items are shared
// evenly among all workgroups of `windows`, of which there are more than windows if there are many more segments than items. So none has
// more to do than others, wherever segments lie.

static_assert(!REVERSE, "a reduction has one direction");

constexpr u32 THREADS = SUBGROUP * WARPS;
/// Segments that end in a chunk, at most, where threads go through them one by one: those that have items, and as many without.
constexpr u32 MOST_CLOSING = 2 * CHUNK;
constexpr u64 NOBODY = ~u64(0);

/// What `groups.cuh` asks of values, which know nothing of segments.
using Plain = Acc;
constexpr u32 PLAIN_WORDS = WORDS;
inline Words words_of_plain(const Plain& plain) { return words_of(plain); }
inline Plain plain_of(const Words& words) { return acc_of(words); }
inline Plain shuffled_plain(const Plain& plain, u32 lane) { return shuffled(plain, lane); }

/// The right one of two values in front of which there is another, if no segment begins in it.
inline Plain behind(const Plain& left, const Plain& right, bool begins) {
    const Plain both = combine(left, right);
    return begins ? right : both;
}

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
    /// Twice the first segment that ends behind the beginning of each chunk, and behind the last; one more if it begins no earlier.
    u64* starts;
    /// Whether more segments end in some chunk than threads go through.
    u32* crowds;
    /// Totals of tiles and windows.
    KnownWords* tiles;
    KnownWords* totals;
    Waiting* waiting;
};

inline u32 tiles_of(const Scan& scan) { return scan.chunks * CHUNK_TILES; }

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

/// What a segment has whose value this is.
inline Stored value_of_segment(const Scan& scan, Acc value) {
    return stored(scan.has_init ? combine(init(scan.init), value) : value);
}

inline Stored value_of_nothing(const Scan& scan) { return stored(scan.has_init ? init(scan.init) : identity()); }

/// The launch behind this one may begin.
inline void let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the launch in front of this one is over, and all that it did can be seen.
inline void wait_for_last() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

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

extern "C" __global__ void starts(const Scan launched, const Told told) {
    const auto& scan = sized(launched);
    let_next_begin();
    const u32 chunk = blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk <= scan.chunks) {
        const Mark* ends = scan.inputs.marks + 1;
        const u64 segments = scan.inputs.segments, item = u64(chunk) * CHUNK;
        u64 low = 0, high = segments;
        // Three at once, so that there are half as many to wait for, while other chunks' threads look there too; then one by one, since
        // each place asked for is a sector of its own that nobody else wants.
        while (high - low > 512) {
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
        const u64 first = first_offset_from(ends, low, high, item + 1), last = first + MOST_CLOSING;
        const bool begins = offset_at(scan.inputs.marks, first) >= item;
        told.starts[chunk] = first << 1 | begins;
        const bool is_crowd = last < segments && offset_at(ends, last) <= item + CHUNK;
        if (is_crowd || (chunk == 0 && first > MOST_CLOSING)) {
            *told.crowds = 1;
        }
    }
}
