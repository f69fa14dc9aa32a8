// The rows of a tile into the lanes that the threads of a team have. A tile that is not whole is read row by row, and of its last
// row what is no whole access item by item; CHECKED, every tile is.

/// What a thread has of the lanes.
struct Lanes {
    Acc at[RUNS][RUN];

    __forceinline__ void clear() {
#pragma unroll
        for (u32 r = 0; r < RUNS; ++r) {
#pragma unroll
            for (u32 v = 0; v < RUN; ++v) {
                at[r][v] = padding();
            }
        }
    }

    /// The lane of item `v` of a row's access `a`.
    __forceinline__ Acc& of(u32 a, u32 v) {
        if (FINDS) {
            return at[0][0];
        }
        return BLOCKED ? at[0][a * ACCESS_ITEMS + v] : at[a][v];
    }

    /// Folds those far apart in halves, to the first run.
    __forceinline__ void fold_runs() {
#pragma unroll
        for (u32 half = RUNS / 2; half > 0; half /= 2) {
#pragma unroll
            for (u32 r = 0; r < half; ++r) {
#pragma unroll
                for (u32 v = 0; v < RUN; ++v) {
                    at[r][v] = combine(at[r][v], at[r + half][v]);
                }
            }
        }
    }

    /// All of them as one value, where grouping cannot be seen.
    __forceinline__ Acc all() const {
        Acc own = at[0][0];
#pragma unroll
        for (u32 k = 1; k < RUNS * RUN; ++k) {
            own = combine(own, at[k / RUN][k % RUN]);
        }
        return own;
    }
};

/// The number in its tile of access `a` of a row's that a member takes.
inline u32 access_of(u32 row, u32 a, u32 member) {
    return BLOCKED ? (row * TEAM + member) * ACCESSES + a : (row * ACCESSES + a) * TEAM + member;
}

/// Whole words of an access; where there is none, nobody asks.
constexpr u32 ACCESS_WORDS = sizeof(Access) < 4 ? 1 : sizeof(Access) / 4;

/// The bytes of a word, and what there was. Of other types nobody asks.
inline u32 sum_bytes(u32 word, u32 acc) { return __dp4a(word, 0x01010101u, acc); }
inline i32 sum_bytes(u32 word, i32 acc) { return __dp4a(i32(word), 0x01010101, acc); }
template <typename T> inline T sum_bytes(u32, T acc) { return acc; }

/// The bytes of a word in slots from `slot` on that lie in `begin` or behind it, and nothing before.
inline u32 bytes_from(u32 word, u32 slot, u32 begin) {
    const u32 without = 8 * min(max(i32(begin) - i32(slot), 0), 4);
    return u32(u64(word) >> without << without);
}

/// Folds rows of a tile from `row` on, of which the accesses before `stop` are there, or all, into the lanes of a member of its team.
template <u32 HELD, bool WHOLE>
__forceinline__ void combine_rows(const Access (&held)[HELD][ACCESSES], const Tile& tile, u32 row, u32 stop, u32 member,
                                  Lanes& lanes) {
#pragma unroll
    for (u32 r = 0; r < HELD; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const u32 access = access_of(row + r, a, member);
            const bool may_be_first = r + a == 0;
            if constexpr (SUMS_BYTES) {
                // Four at a time, since nobody sees the order.
                u32 words[ACCESS_WORDS];
                memcpy(words, &held[r][a], sizeof(Access));
#pragma unroll
                for (u32 w = 0; w < ACCESS_WORDS; ++w) {
                    Acc& lane = lanes.of(a, w);
                    const u32 word = SKEWED && may_be_first ? bytes_from(words[w], 4 * w, access == 0 ? tile.begin : 0) : words[w];
                    lane = WHOLE || access < stop ? sum_bytes(word, lane) : lane;
                }
            } else {
                const Items items = unpack(held[r][a]);
#pragma unroll
                for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                    const Acc acc = enter(items.at[v], tile.first + access * ACCESS_ITEMS + v);
                    const bool is_there = tile.has<WHOLE>(may_be_first, access, v, stop);
                    lanes.of(a, v) = combine(lanes.of(a, v), chosen(padding(), acc, is_there));
                }
            }
        }
    }
}

/// The same for a position, of which a member has one value: `find.cuh`.
template <u32 HELD, bool WHOLE>
__forceinline__ void find(const Access (&held)[HELD][ACCESSES], const Tile& tile, u32 row, u32 stop, u32 member, Acc& best);

/// Reads HELD rows of a tile from `row` on, and folds them: all, or the accesses that begin before `stop`, which counts accesses
/// of the tile.
template <u32 HELD, bool WHOLE>
__forceinline__ void add_rows(const Reduce& reduce, const Tile& tile, u32 row, u32 stop, u32 member, Lanes& lanes) {
    const Inputs from = at(reduce.inputs, tile.first);
    Access held[HELD][ACCESSES];
#pragma unroll
    for (u32 r = 0; r < HELD; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const u32 access = access_of(row + r, a, member);
            if (WHOLE || access < stop) {
                held[r][a] = fetch_once(from, 0, access);
            }
        }
    }
    if constexpr (FINDS) {
        find<HELD, WHOLE>(held, tile, row, stop, member, lanes.at[0][0]);
    } else {
        combine_rows<HELD, WHOLE>(held, tile, row, stop, member, lanes);
    }
}

/// The items of a tile behind its last whole access, which are the last of their lanes.
struct Rest {
    InMemory items[ACCESS_ITEMS];
    /// The number of their access, and where it begins.
    u32 access, slot;

    /// Those of a tile, to be added later.
    __forceinline__ Rest(const Reduce& reduce, const Tile& tile, u32 member) {
        access = tile.end / ACCESS_ITEMS;
        slot = access * ACCESS_ITEMS;
#pragma unroll
        for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
            if (has(tile, v) && is_of(member)) {
                items[v] = fetch_one(reduce.inputs, tile.first + slot + v);
            }
        }
    }

    bool has(const Tile& tile, u32 v) const { return tile.begin <= slot + v && slot + v < tile.end; }

    /// Whether a member has the lanes of its access.
    bool is_of(u32 member) const { return !BLOCKED ? access % TEAM == member : access / ACCESSES % TEAM == member; }

    __forceinline__ void add(const Tile& tile, u32 member, Lanes& lanes) const {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                if (has(tile, v) && access % (TEAM * ACCESSES) == access_of(0, a, member)) {
                    lanes.of(a, v) = combine(lanes.of(a, v), enter(unpack_one(items[v]), tile.first + slot + v));
                }
            }
        }
    }
};

/// Rows of a tile that is not whole that are on their way at once.
constexpr u32 ROWS_HELD_LAST = CHECKED ? ROWS_HELD : ROWS_HELD < 8 || ACCESSES >= 4 ? 1 : 4 / ACCESSES;

/// Folds the rows of a whole tile.
__forceinline__ void add_whole_rows(const Reduce& reduce, const Tile& tile, u32 member, Lanes& lanes) {
    // Of an unrolled loop all accesses are on their way at once, for which there are no registers beside twice the lanes, nor
    // beside those of long values or of several arrays.
#pragma unroll(BLOCKED || FINDS || WORDS > 4 || ARRAYS > 1 ? 1 : ROWS)
    for (u32 row = 0; row < ROWS; row += ROWS_HELD) {
        add_rows<ROWS_HELD, true>(reduce, tile, row, 0, member, lanes);
    }
}

/// Folds a tile's rows into the lanes of a member of its team.
__forceinline__ void add_tile(const Reduce& reduce, u64 number, u32 member, Lanes& lanes) {
    const Tile tile(reduce, number);
    if (!CHECKED && tile.end >= TILE) {
        if constexpr (SKEWED && !EXACT) {
            // On its way before the rows.
            const Rest rest(reduce, tile, member);
            add_whole_rows(reduce, tile, member, lanes);
            rest.add(tile, member, lanes);
        } else {
            add_whole_rows(reduce, tile, member, lanes);
        }
    } else if (tile.end > 0) {
        const u32 whole = tile.end / ACCESS_ITEMS;
#pragma unroll 1
        for (u32 row = 0; row * (ROW / ACCESS_ITEMS) < whole; row += ROWS_HELD_LAST) {
            add_rows<ROWS_HELD_LAST, false>(reduce, tile, row, whole, member, lanes);
        }
        const Rest rest(reduce, tile, member);
        rest.add(tile, member, lanes);
    }
}
