// A tile in the threads of a team: its rows into lanes, its lanes to one value. A tile that is not whole is read row by row,
// and of its last row what is no whole access item by item.

/// What a thread has of the lanes.
struct Lanes {
    Acc at[ACCESSES][ACCESS_ITEMS];

    void clear() {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                at[a][v] = padding();
            }
        }
    }
};

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

/// Folds HELD rows of a tile from `row` on into the lanes of a member of its team: the accesses that begin before `end`, which
/// counts accesses of the tile.
template <u32 HELD> __forceinline__ void add_rows(const Reduce& reduce, u64 first, u32 row, u32 end, u32 member, Lanes& lanes) {
    const Access* accesses = (const Access*)(reduce.input + first);
    Access held[HELD][ACCESSES];
#pragma unroll
    for (u32 r = 0; r < HELD; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const u32 access = ((row + r) * ACCESSES + a) * TEAM + member;
            if (access < end) {
                held[r][a] = read(accesses + access);
            }
        }
    }
#pragma unroll
    for (u32 r = 0; r < HELD; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const u32 access = ((row + r) * ACCESSES + a) * TEAM + member;
            if constexpr (SUMS_BYTES) {
                // Four at a time, since nobody sees the order.
                u32 words[ACCESS_WORDS];
                memcpy(words, &held[r][a], sizeof(Access));
#pragma unroll
                for (u32 w = 0; w < ACCESS_WORDS; ++w) {
                    lanes.at[a][w] = access < end ? sum_bytes(words[w], lanes.at[a][w]) : lanes.at[a][w];
                }
            } else {
                const Items items = unpack(held[r][a]);
#pragma unroll
                for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                    const Acc acc = enter(items.at[v], first + access * ACCESS_ITEMS + v);
                    lanes.at[a][v] = combine(lanes.at[a][v], chosen(padding(), acc, access < end));
                }
            }
        }
    }
}

/// Accesses of a whole tile, and rows of another one that are on their way at once.
constexpr u32 ALL = TILE / ACCESS_ITEMS, ROWS_HELD_LAST = ROWS_HELD < 8 || ACCESSES >= 4 ? 1 : 4 / ACCESSES;

/// Folds a tile's rows into the lanes of a member of its team.
__forceinline__ void add_tile(const Reduce& reduce, u64 tile, u32 member, Lanes& lanes) {
    const u64 first = tile * TILE;
    if (first + TILE <= reduce.items) {
#pragma unroll
        for (u32 row = 0; row < ROWS; row += ROWS_HELD) {
            add_rows<ROWS_HELD>(reduce, first, row, ALL, member, lanes);
        }
    } else if (first < reduce.items) {
        const u32 count = u32(reduce.items - first), whole = count / ACCESS_ITEMS;
#pragma unroll 1
        for (u32 row = 0; row * ROW < count; row += ROWS_HELD_LAST) {
            add_rows<ROWS_HELD_LAST>(reduce, first, row, whole, member, lanes);
        }
        // Items that are no whole access, the last of their lanes.
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                const u32 item = whole * ACCESS_ITEMS + v;
                if (item < count && whole % (TEAM * ACCESSES) == a * TEAM + member) {
                    lanes.at[a][v] = combine(lanes.at[a][v], enter(unpack_one(reduce.input[first + item]), first + item));
                }
            }
        }
    }
}

/// The value of a tile, for every member of its team: lanes in halves, first those that lie in one thread in several accesses,
/// then those of threads, then those of one access. While a thread has several values, it hands half of them to the other,
/// and gets the other half of the other's.
__forceinline__ Acc fold_tile(Lanes& lanes, u32 member) {
#pragma unroll
    for (u32 half = ACCESSES / 2; half > 0; half /= 2) {
#pragma unroll
        for (u32 a = 0; a < half; ++a) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                lanes.at[a][v] = combine(lanes.at[a][v], lanes.at[a + half][v]);
            }
        }
    }
    Acc* values = lanes.at[0];
    u32 distance = TEAM / 2, left = ACCESS_ITEMS;
#pragma unroll
    for (; distance > 0; distance /= 2) {
        if (left > 1) {
            left /= 2;
            const bool is_upper = member & distance;
#pragma unroll
            for (u32 v = 0; v < left; ++v) {
                const Acc own = chosen(values[v], values[v + left], is_upper);
                values[v] = combine(own, shuffled_xor(chosen(values[v + left], values[v], is_upper), distance));
            }
        } else {
            values[0] = combine(values[0], shuffled_xor(values[0], distance));
        }
    }
    // Values that were shared out lie with those members whose numbers differ in the upper bits.
    constexpr u32 LEFT = ACCESS_ITEMS > TEAM ? ACCESS_ITEMS / TEAM : 1;
#pragma unroll
    for (u32 distance = TEAM / 2, apart = ACCESS_ITEMS / 2; apart >= LEFT; distance /= 2, apart /= 2) {
#pragma unroll
        for (u32 v = 0; v < LEFT; ++v) {
            values[v] = combine(values[v], shuffled_xor(values[v], distance));
        }
    }
#pragma unroll
    for (u32 half = LEFT / 2; half > 0; half /= 2) {
#pragma unroll
        for (u32 v = 0; v < half; ++v) {
            values[v] = combine(values[v], values[v + half]);
        }
    }
    return values[0];
}
