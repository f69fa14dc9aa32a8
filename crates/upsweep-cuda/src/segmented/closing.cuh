// Segments that end in the chunk of a workgroup, a thread for each.
//
// A value is what comes in front of the group in which the segment ends, of which S is known, and the group's items as far as its
// end, which are read again: they are near. One branch is for those that wait, and choices between values for all else.

/// Segments that a thread takes at once, so that memory is waited for once: of the first, which it keeps while S is done, three want
/// more registers than there are; of those behind them four are a little faster than two or three.
constexpr u32 FIRST = 2, AT_ONCE = 4;

/// Where a segment begins that began before its chunk.
constexpr i32 BEFORE = -1;

/// Where some segments begin and end in a chunk. Of offsets that decrease, whatever comes.
template <u32 COUNT> struct Batch {
    i32 begin[COUNT], end[COUNT];
    bool is[COUNT];
};

/// The groups in which they end.
template <u32 COUNT> struct Groups {
    Group of[COUNT];
};

/// The segments that end in a chunk.
struct Closing {
    const Scan& scan;
    const Chunk& chunk;
    const ItemsOf& items;
    /// The first one, whether it does not begin before the chunk, and how many they are.
    u64 first;
    bool begins;
    u64 count;

    Closing(const Scan& scan, const Chunk& chunk, const ItemsOf& items, const u64* starts)
        : scan(scan), chunk(chunk), items(items), first(starts[0] >> 1), begins(starts[0] & 1), count((starts[1] >> 1) - first) {}

    bool is_crowded() const { return count > MOST_CLOSING; }

    /// Those that threads go through.
    u32 listed() const { return is_crowded() ? 0 : u32(count); }

    i32 begin_of(u64 number) const {
        return number > 0 || begins ? i32(u32(offset_at(scan.inputs.marks + first, number)) - u32(chunk.first)) : BEFORE;
    }

    i32 end_of(u64 number) const { return i32(u32(offset_at(scan.inputs.marks + first + 1, number)) - u32(chunk.first)); }

    /// Those from number `from` on, one of each thread after the other.
    template <u32 COUNT> Batch<COUNT> batch(u32 from) const {
        Batch<COUNT> batch = {};
#pragma unroll
        for (u32 u = 0; u < COUNT; ++u) {
            const u32 k = from + u * THREADS + threadIdx.x;
            batch.is[u] = k < listed();
            if (batch.is[u]) {
                batch.begin[u] = begin_of(k);
                batch.end[u] = end_of(k);
            }
        }
        return batch;
    }
};

/// The last item of a segment that ends there.
inline u32 last_of(i32 end) { return u32(end - 1) % CHUNK; }

/// Writes down where a segment ends.
inline void note(Tiles& tiles, i32 end) {
    if (u32(end) < CHUNK) {
        tiles.begin(u32(end));
    }
}

template <u32 COUNT> inline void note(Tiles& tiles, const Batch<COUNT>& batch) {
#pragma unroll
    for (u32 u = 0; u < COUNT; ++u) {
        if (batch.is[u]) {
            note(tiles, batch.end[u]);
        }
    }
}

template <u32 COUNT> inline Groups<COUNT> last_groups(const Closing& closing, const Batch<COUNT>& batch) {
    Groups<COUNT> groups;
#pragma unroll
    for (u32 u = 0; u < COUNT; ++u) {
        if (batch.is[u]) {
            groups.of[u] = closing.items.group(last_of(batch.end[u]) & ~(GROUP - 1));
        }
    }
    return groups;
}

/// S over the items of a group as far as item k, where a segment begins with item `begin`, if that is one of them but the first.
inline Acc upto_item(const Group& group, i32 begin, u32 k) {
    const Acc left = behind(group.at[0], group.at[1], begin == 1), third = behind(left, group.at[2], begin == 2);
    const Acc right = behind(group.at[2], group.at[3], begin == 3), fourth = behind(left, right, begin >= 2);
    return chosen(chosen(group.at[0], left, k & 1), chosen(third, fourth, k & 1), k & 2);
}

/// Writes the value of a segment that ends in a tile, or leaves it waiting.
inline void close(const Scan& scan, const Told& told, const Tiles& tiles, const Closing& closing, u64 number, i32 begin, i32 end,
                  const Group& items) {
    const u32 last = last_of(end), row = last / ROW, group_at = last & ~(GROUP - 1), tile = row / TILE_ROWS;
    const Acc value = upto_item(items, begin - i32(group_at), last % GROUP);
    const Acc group = chosen(tiles.upto_last(last / GROUP - 1), padding(), last % ROW < GROUP);
    const Acc above = chosen(tiles.upto_row(row - 1), padding(), row % TILE_ROWS == 0);
    if (begin >= i32(tile * TILE_ROWS * ROW)) {
        const Acc in_front = behind(above, group, begin >= i32(row * ROW));
        const Stored closed = value_of_segment(scan, behind(in_front, value, begin >= i32(group_at)));
        scan.output[closing.first + number] = pack_one(begin == end ? value_of_nothing(scan) : closed);
    } else {
        told.waiting[blockIdx.x * CHUNK_TILES + tile] = {words_of(above), words_of(group), words_of(value),
                                                         closing.first + number};
    }
}

/// Writes the values of segments from number `from` on.
template <u32 COUNT>
inline void close(const Scan& scan, const Told& told, const Tiles& tiles, const Closing& closing, u32 from,
                  const Batch<COUNT>& batch, const Groups<COUNT>& groups) {
#pragma unroll
    for (u32 u = 0; u < COUNT; ++u) {
        if (batch.is[u]) {
            const u32 number = from + u * THREADS + threadIdx.x;
            close(scan, told, tiles, closing, number, batch.begin[u], batch.end[u], groups.of[u]);
        }
    }
}

/// Where segments are too many to go through, every item of a chunk is asked whether one ends with it: `done` of each is told its
/// number and its end.
template <typename Done> inline void for_crowd(const Closing& closing, Done done) {
    const Mark* ends = closing.scan.inputs.marks + closing.first + 1;
    const u64 segments = closing.scan.inputs.segments - closing.first;
    for (u32 end = threadIdx.x + 1; closing.is_crowded() && end <= closing.chunk.left(); end += THREADS) {
        const u64 item = closing.chunk.first + end, number = first_offset_from(ends, 0, segments, item);
        if (number < segments && offset_at(ends, number) == item) {
            done(number, i32(end));
        }
    }
}
