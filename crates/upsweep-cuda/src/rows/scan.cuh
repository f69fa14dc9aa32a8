// What scans of rows share: groups, what comes into parts, and outputs.
//
// A long row has parts of TILES tiles, aligned in windows of 32. Their totals are there, and so is what comes into each window.

constexpr u32 GROUP = 4, TILES_OF_WINDOW = 32;

/// S over the items of a group.
__forceinline__ void scan_group(Acc (&at)[GROUP]) {
    const Acc right = then(at[2], at[3]);
    at[1] = then(at[0], at[1]);
    at[2] = then(at[1], at[2]);
    at[3] = then(at[1], right);
}

/// Prefix `k` of a group that was scanned, `into` coming into it.
inline Acc prefix(const Acc (&at)[GROUP], u32 k, const Acc& into) {
    return INCLUSIVE ? then(into, at[k]) : k == 0 ? into : then(into, at[k > 0 ? k - 1 : 0]);
}

/// What comes into a row.
inline Acc into_row(const Rows& rows) { return rows.has_init ? init(rows.init) : padding(); }

/// What comes into a member of a level, in front of which there are `count`, of which `members` are the tree.
template <u32 LEVELS, u32 WIDTH>
__forceinline__ void into_member(const Tree<LEVELS, WIDTH>& members, u32 count, const Acc (&into)[WIDTH], Acc (&found)[WIDTH]) {
    members.total(count, found);
#pragma unroll
    for (u32 v = 0; v < WIDTH; ++v) {
        found[v] = chosen(then(into[v], found[v]), into[v], count == 0);
    }
}

/// The tiles in front of a part in its window, and what comes into the window: of WIDTH rows from `row` on.
template <u32 WIDTH>
__forceinline__ u32 in_front_of_part(const Rows& rows, Index row, Index part, Tree<6, WIDTH>& tiles, Acc (&into)[WIDTH]) {
    const Index window = part / PARTS_OF_WINDOW;
    const u32 in_front = u32(part % PARTS_OF_WINDOW);
#pragma unroll
    for (u32 v = 0; v < WIDTH; ++v) {
        into[v] = window == 0 ? into_row(rows) : acc_of(rows.parts_behind[u64(window) * rows.count + row + v]);
    }
    tiles.clear();
#pragma unroll 1
    for (u32 p = 0; p < in_front; ++p) {
        Acc next[WIDTH];
#pragma unroll
        for (u32 v = 0; v < WIDTH; ++v) {
            next[v] = acc_of(rows.parts_in_front[(u64(part) - in_front + p) * rows.count + row + v]);
        }
        tiles.template push<LOG_TILES>(next, p);
    }
    return in_front * TILES;
}

/// Goes on behind a tile: after a window, with what comes into the next one. Gives how many tiles of the window there are.
template <u32 WIDTH>
__forceinline__ u32 behind_tile(Tree<6, WIDTH>& tiles, u32 count, Acc (&total)[WIDTH], Acc (&into)[WIDTH]) {
    tiles.push(total, count);
    if (count + 1 < TILES_OF_WINDOW) {
        return count + 1;
    }
    Acc window[WIDTH];
    tiles.total(TILES_OF_WINDOW, window);
#pragma unroll
    for (u32 v = 0; v < WIDTH; ++v) {
        into[v] = then(into[v], window[v]);
    }
    return 0;
}

/// What is written of a prefix: an exclusive scan without a start value begins with the identity.
inline Stored stored_prefix(const Rows& rows, const Acc& prefix, u64 item) {
    return stored(!INCLUSIVE && item == 0 && !rows.has_init ? identity() : prefix);
}

/// Where an item of a row goes, counted from the first of the row.
inline Place output_at(const Rows& rows, Index item) { return distance<ALONG, true>(rows.along, item); }

/// What comes into each window of each row, behind the first: a thread for each row.
extern "C" __global__ void __launch_bounds__(THREADS) into_windows(const Rows rows) {
    take_given(rows.inputs);
    const u64 row = u64(blockIdx.x) * THREADS + threadIdx.x;
    if (row >= rows.count) {
        return;
    }
    Acc into[1] = {into_row(rows)};
    Tree<6, 1> parts;
    parts.clear();
    u32 count = 0;
#pragma unroll 2
    for (u64 part = 0; part < rows.parts; ++part) {
        Acc next[1] = {acc_of(rows.parts_in_front[part * rows.count + row])};
        parts.push<LOG_TILES>(next, count++);
        if (count == PARTS_OF_WINDOW) {
            Acc window[1];
            parts.total(TILES_OF_WINDOW, window);
            into[0] = then(into[0], window[0]);
            count = 0;
            if (part + 1 < rows.parts) {
                rows.parts_behind[(part + 1) / PARTS_OF_WINDOW * rows.count + row] = words_of(into[0]);
            }
        }
    }
}
