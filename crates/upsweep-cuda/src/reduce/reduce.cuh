// Folds items in the order of docs/summation.md: tiles of 16 rows by 128 lanes, lanes down their rows, lanes in halves, an
// aligned binary tree over tiles.
//
//                  lane 0          …          lane 127
//     row 0      │ member 0 │ member 1 │ … │ member TEAM-1 │   a team of threads takes one tile;
//     …          │    ↓     │    ↓     │   │      ↓        │   each member holds ACCESSES accesses of a row
//     row 15     │          │          │   │               │
//                  halves: 64, 32, … 1       → the tile's value
//
// A workgroup takes TILES neighbouring tiles, its TEAMS teams one each at a time; the values of its tiles are the leaves of the
// tree. What is not there is padding. `finish` does with a workgroup's value what the strategy says.
//
// The operator must commute. Source of the shape: docs/decisions/2026-11-21-order-of-summation.md.

constexpr u32 ROWS = 16, ROW = 128, TILE = ROWS * ROW;
constexpr u32 TEAM = ROW / ACCESS_ITEMS < SUBGROUP ? ROW / ACCESS_ITEMS : SUBGROUP;
constexpr u32 ACCESSES = ROW / ACCESS_ITEMS / TEAM;
constexpr u32 THREADS = SUBGROUP * WARPS;
constexpr u32 TEAMS = THREADS / TEAM;
constexpr u32 TILES = TEAMS * TILES_OF_TEAM;
/// Rows whose accesses are on their way at once.
constexpr u32 ROWS_HELD = ACCESSES_HELD / ACCESSES < 1 ? 1 : ACCESSES_HELD / ACCESSES;

struct Reduce {
    const InMemory* input;
    State* state;
    u64 items;
    /// Where the result goes: memory of the device, or a mailbox and the number of the message; or nowhere.
    Result* result;
    u64* mailbox;
    u32 message;
    /// Whether there is a start value, and its bits.
    u32 has_init;
    u32 init[2];
};

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

/// Folds a tile's rows into the lanes of a member of its team.
__forceinline__ void add_tile(const Reduce& reduce, u64 tile, u32 member, Lanes& lanes) {
    const u64 first = tile * TILE;
    if (first + TILE <= reduce.items) {
        const Access* accesses = (const Access*)(reduce.input + first) + member;
#pragma unroll
        for (u32 row = 0; row < ROWS; row += ROWS_HELD) {
            Access held[ROWS_HELD][ACCESSES];
#pragma unroll
            for (u32 r = 0; r < ROWS_HELD; ++r) {
#pragma unroll
                for (u32 a = 0; a < ACCESSES; ++a) {
                    held[r][a] = read(accesses + ((row + r) * ACCESSES + a) * TEAM);
                }
            }
#pragma unroll
            for (u32 r = 0; r < ROWS_HELD; ++r) {
#pragma unroll
                for (u32 a = 0; a < ACCESSES; ++a) {
                    const Items items = unpack(held[r][a]);
                    const u64 at = first + ((row + r) * ACCESSES + a) * TEAM * ACCESS_ITEMS + member * ACCESS_ITEMS;
#pragma unroll
                    for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                        lanes.at[a][v] = combine(lanes.at[a][v], enter(items.at[v], at + v));
                    }
                }
            }
        }
    } else if (first < reduce.items) {
#pragma unroll 1
        for (u32 row = 0; row < ROWS; ++row) {
#pragma unroll
            for (u32 a = 0; a < ACCESSES; ++a) {
#pragma unroll
                for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                    const u64 at = first + (row * ACCESSES + a) * TEAM * ACCESS_ITEMS + member * ACCESS_ITEMS + v;
                    const Acc acc = enter(unpack_one(reduce.input[min(at, reduce.items - 1)]), at);
                    lanes.at[a][v] = combine(lanes.at[a][v], chosen(padding(), acc, at < reduce.items));
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

/// Values of neighbours by a tree, COUNT of them in shared memory; for the lanes of one warp.
template <u32 COUNT> inline Acc fold_neighbours(const Acc* values, u32 lane) {
    constexpr u32 EACH = COUNT < SUBGROUP ? 1 : COUNT / SUBGROUP;
    Acc own[EACH];
#pragma unroll
    for (u32 k = 0; k < EACH; ++k) {
        own[k] = lane * EACH + k < COUNT ? values[lane * EACH + k] : padding();
    }
#pragma unroll
    for (u32 width = 1; width < EACH; width *= 2) {
#pragma unroll
        for (u32 k = 0; k < EACH; k += 2 * width) {
            own[k] = combine(own[k], own[k + width]);
        }
    }
    Acc total = own[0];
#pragma unroll
    for (u32 half = 1; half < SUBGROUP && half < COUNT; half *= 2) {
        total = combine(total, shuffled_xor(total, half));
    }
    return total;
}

/// Writes the result. One thread.
inline void write_result(const Reduce& reduce, Acc total) {
    Acc value = reduce.items == 0 ? identity() : total;
    if (reduce.has_init) {
        const Acc start = init(reduce.init[0], reduce.init[1]);
        value = reduce.items == 0 ? start : combine(start, total);
    }
    if (reduce.result) {
        *reduce.result = Result(result_bits(value));
    }
    if (reduce.mailbox) {
        *(volatile u64*)(reduce.mailbox + 1) = result_bits(value);
        __threadfence_system();
        *(volatile u32*)reduce.mailbox = reduce.message;
    }
}
