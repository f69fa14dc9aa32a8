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

/// Reads past the first-level cache, which has no use for what is read once.
template <typename T> inline T read(const T* from) { return __ldcs(from); }
inline uint4 read(const uint4* from) {
    uint4 access;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(access.x), "=r"(access.y), "=r"(access.z), "=r"(access.w)
        : "l"(from));
    return access;
}

/// Whole words of an access; where there is none, nobody asks.
constexpr u32 ACCESS_WORDS = sizeof(Access) < 4 ? 1 : sizeof(Access) / 4;

/// The bytes of a word, and what there was. Of other types nobody asks.
inline u32 sum_bytes(u32 word, u32 acc) { return __dp4a(word, 0x01010101u, acc); }
inline i32 sum_bytes(u32 word, i32 acc) { return __dp4a(i32(word), 0x01010101, acc); }
template <typename T> inline T sum_bytes(u32, T acc) { return acc; }

/// Folds rows of a tile from `row` on, of which the accesses before `end` are there, or all, into the lanes of a member of its team.
template <u32 HELD, bool WHOLE>
__forceinline__ void combine_rows(const Access (&held)[HELD][ACCESSES], u64 first, u32 row, u32 end, u32 member, Lanes& lanes) {
#pragma unroll
    for (u32 r = 0; r < HELD; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const u32 access = access_of(row + r, a, member);
            const bool is_there = WHOLE || access < end;
            if constexpr (SUMS_BYTES) {
                // Four at a time, since nobody sees the order.
                u32 words[ACCESS_WORDS];
                memcpy(words, &held[r][a], sizeof(Access));
#pragma unroll
                for (u32 w = 0; w < ACCESS_WORDS; ++w) {
                    Acc& lane = lanes.of(a, w);
                    lane = is_there ? sum_bytes(words[w], lane) : lane;
                }
            } else {
                const Items items = unpack(held[r][a]);
#pragma unroll
                for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                    const Acc acc = enter(items.at[v], first + access * ACCESS_ITEMS + v);
                    lanes.of(a, v) = combine(lanes.of(a, v), chosen(padding(), acc, is_there));
                }
            }
        }
    }
}

/// The same for a position, of which a member has one value: `find.cuh`.
template <u32 HELD, bool WHOLE>
__forceinline__ void find(const Access (&held)[HELD][ACCESSES], u64 first, u32 row, u32 end, u32 member, Acc& best);

/// Reads HELD rows of a tile from `row` on, and folds them: all, or the accesses that begin before `end`, which counts accesses
/// of the tile.
template <u32 HELD, bool WHOLE>
__forceinline__ void add_rows(const Reduce& reduce, u64 first, u32 row, u32 end, u32 member, Lanes& lanes) {
    const Access* accesses = (const Access*)(reduce.input + first);
    Access held[HELD][ACCESSES];
#pragma unroll
    for (u32 r = 0; r < HELD; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const u32 access = access_of(row + r, a, member);
            if (WHOLE || access < end) {
                held[r][a] = read(accesses + access);
            }
        }
    }
    if constexpr (FINDS) {
        find<HELD, WHOLE>(held, first, row, end, member, lanes.at[0][0]);
    } else {
        combine_rows<HELD, WHOLE>(held, first, row, end, member, lanes);
    }
}

/// Rows of a tile that is not whole that are on their way at once.
constexpr u32 ROWS_HELD_LAST = CHECKED ? ROWS_HELD : ROWS_HELD < 8 || ACCESSES >= 4 ? 1 : 4 / ACCESSES;

/// Folds a tile's rows into the lanes of a member of its team.
__forceinline__ void add_tile(const Reduce& reduce, u64 tile, u32 member, Lanes& lanes) {
    const u64 first = tile * TILE;
    if (!CHECKED && first + TILE <= reduce.items) {
        // Of an unrolled loop all accesses are on their way at once, for which there are no registers beside twice the lanes.
#pragma unroll(BLOCKED || FINDS ? 1 : ROWS)
        for (u32 row = 0; row < ROWS; row += ROWS_HELD) {
            add_rows<ROWS_HELD, true>(reduce, first, row, 0, member, lanes);
        }
    } else if (first < reduce.items) {
        const u64 left = reduce.items - first;
        const u32 count = u32(CHECKED ? min(left, u64(TILE)) : left), whole = count / ACCESS_ITEMS;
#pragma unroll 1
        for (u32 row = 0; row * ROW < count; row += ROWS_HELD_LAST) {
            add_rows<ROWS_HELD_LAST, false>(reduce, first, row, whole, member, lanes);
        }
        // Items that are no whole access, the last of their lanes.
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                const u32 item = whole * ACCESS_ITEMS + v;
                if (item < count && whole % (TEAM * ACCESSES) == access_of(0, a, member)) {
                    lanes.of(a, v) = combine(lanes.of(a, v), enter(unpack_one(reduce.input[first + item]), first + item));
                }
            }
        }
    }
}
