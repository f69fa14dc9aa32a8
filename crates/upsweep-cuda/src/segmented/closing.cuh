// Segments that end in the chunk of a workgroup, a thread for each.
//
// A value is what comes in front of the group in which the segment ends, of which S is known, and the group's items as far as its
// end, which are read again: from the first-level cache, as a rule.

/// Segments that a thread takes at once, so that memory is waited for once: three want more registers than there are.
constexpr u32 AT_ONCE = 2;

/// Some of the segments that end in a chunk: which these are, counted from the first, and where in the chunk they begin and end.
/// What begins before it does so anywhere; of offsets that decrease, whatever comes.
struct Batch {
    u64 number[AT_ONCE];
    u32 begin[AT_ONCE], end[AT_ONCE];
    bool is[AT_ONCE];
};

/// The segments that end in a chunk.
struct Closing {
    const Scan& scan;
    const Chunk& chunk;
    /// The first one, whether it does not begin before the chunk, and how many they are.
    u64 first;
    bool begins;
    u64 count;

    Closing(const Scan& scan, const Chunk& chunk, const u64* starts)
        : scan(scan), chunk(chunk), first(starts[0] >> 1), begins(starts[0] & 1), count((starts[1] >> 1) - first) {}

    bool is_crowded() const { return count > MOST_CLOSING; }

    /// How often all threads take a batch. Where they are too many to go through, every item is asked whether one ends with it.
    u32 turns() const { return ((is_crowded() ? chunk.left() : u32(count)) + AT_ONCE * THREADS - 1) / (AT_ONCE * THREADS); }

    Batch batch(u32 turn) const {
        const u32 begin = u32(chunk.first);
        const Mark* offsets = scan.inputs.marks + first;
        Batch batch = {};
#pragma unroll
        for (u32 u = 0; u < AT_ONCE; ++u) {
            const u32 k = (turn * AT_ONCE + u) * THREADS + threadIdx.x;
            batch.number[u] = k;
            batch.is[u] = k < u32(count);
            if (is_crowded()) {
                const u64 item = chunk.first + k + 1;
                batch.number[u] = first_offset_from(offsets + 1, 0, scan.inputs.segments - first, item);
                batch.is[u] = k < chunk.left() && first + batch.number[u] < scan.inputs.segments &&
                             offset_at(offsets, batch.number[u] + 1) == item;
            }
            if (batch.is[u]) {
                batch.begin[u] = u32(offset_at(offsets, batch.number[u])) - begin;
                batch.end[u] = u32(offset_at(offsets, batch.number[u] + 1)) - begin;
            }
        }
        return batch;
    }

    /// Whether one does not begin before the chunk.
    bool is_here(u64 number) const { return number > 0 || begins; }

    bool is_empty(const Batch& batch, u32 u) const { return batch.begin[u] == batch.end[u] && is_here(batch.number[u]); }

    OutMemory* values() const { return scan.output + first; }
};

/// Writes down where segments end, and the values of those without items.
inline void note(Tiles& tiles, const Closing& closing, const Batch& batch) {
#pragma unroll
    for (u32 u = 0; u < AT_ONCE; ++u) {
        if (batch.is[u] && batch.end[u] - 1 < CHUNK - 1) {
            tiles.begin(batch.end[u]);
        }
        if (batch.is[u] && closing.is_empty(batch, u)) {
            closing.values()[batch.number[u]] = pack_one(value_of_nothing(closing.scan));
        }
    }
}

/// The groups in which segments end.
struct Groups {
    Group of[AT_ONCE];
};

inline Groups last_groups(const Closing& closing, const Batch& batch) {
    const bool is_whole = ALIGNED && closing.chunk.is_whole();
    Groups groups;
#pragma unroll
    for (u32 u = 0; u < AT_ONCE; ++u) {
        const u32 at = (batch.end[u] - 1) / GROUP * GROUP;
        if (batch.is[u] && at < CHUNK) {
            if (is_whole) {
                Access accesses[ACCESSES];
#pragma unroll
                for (u32 a = 0; a < ACCESSES; ++a) {
                    accesses[a] = fetch(closing.chunk.from, at, a);
                }
                groups.of[u] = Chunk::entered(accesses, 0);
            } else {
                groups.of[u] = closing.chunk.loaded(at / ROW, at % ROW / GROUP);
            }
        }
    }
    return groups;
}

/// Writes the values of segments that end in a tile, or leaves them waiting.
inline void close(const Scan& scan, const Told& told, const Tiles& tiles, const Closing& closing, const Batch& batch,
                  const Groups& groups) {
#pragma unroll
    for (u32 u = 0; u < AT_ONCE; ++u) {
        const u32 begin = batch.begin[u], last = batch.end[u] - 1;
        if (!batch.is[u] || last >= CHUNK || closing.is_empty(batch, u)) {
            continue;
        }
        const u32 row = last / ROW, number = last % ROW / GROUP, group_at = last & ~(GROUP - 1), tile = row / TILE_ROWS;
        const bool is_here = closing.is_here(batch.number[u]) && begin >= tile * TILE_ROWS * ROW;
        const Acc value = upto_item(groups.of[u], is_here && begin > group_at ? 1u << begin % GROUP : 0, last % GROUP);
        const Acc group = number > 0 ? tiles.upto(row, number - 1) : padding();
        const Acc above = row % TILE_ROWS > 0 ? acc_of(tiles.rows[row - 1]) : padding();
        if (is_here) {
            const Acc in_front = behind(above, group, begin >= row * ROW);
            closing.values()[batch.number[u]] = pack_one(value_of_segment(scan, behind(in_front, value, begin >= group_at)));
        } else {
            told.waiting[blockIdx.x * CHUNK_TILES + tile] = {words_of(above), words_of(group), words_of(value),
                                                             closing.first + batch.number[u]};
        }
    }
}
