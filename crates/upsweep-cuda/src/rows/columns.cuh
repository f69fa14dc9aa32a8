// Threads lie across rows, as where these are columns of memory: an access is the same item of ACCESS_ITEMS rows.
//
//     TEAM threads side by side   │ columns 0 … 3 │ columns 4 … 7 │ …
//     SLICES of them below          lanes 0, SLICES, 2 SLICES, …  of each column; lanes 1, SLICES + 1, …; …
//
// A thread goes down LINES lines of one lane after another, in the order in which lanes are folded by halves: with their bits reversed,
// neighbours are half of all lanes apart. Slices are folded through shared memory. In order, a slice has items that follow one another.
// A workgroup takes TILES tiles of its columns.

constexpr u32 SLICES = THREADS / TEAM;
constexpr u32 COLUMNS = TEAM * ACCESS_ITEMS;
constexpr u32 HELD = LANES_HELD < LANES_OF_SLICE ? LANES_HELD : LANES_OF_SLICE;
/// Lines of a lane whose accesses are on their way at once: half of them where all would take more than 64 registers. With all of them sums of
/// structures of 32 bytes spill 132 bytes on sm_121 (NVRTC 13.0).
constexpr u32 LINES_HELD = LINES * sizeof(Access) > 256 ? LINES / 2 : LINES;
static_assert(LANES_OF_SLICE * SLICES <= TILE_LANES, "lanes of a tile are shared out");
static_assert(HELD == 1 || LINES_HELD == LINES, "of several lanes all lines are on their way");

/// The lane of a slice that it takes as number `k`.
inline u32 lane_of(u32 k) { return __brev(k) >> (32 - LOG_LANES) % 32 & (LANES_OF_SLICE - 1); }

/// Where in a tile the item of a line is.
inline u32 place_of(u32 slice, u32 k, u32 line) {
    return COMMUTES ? line * TILE_LANES + lane_of(k) * SLICES + slice : (slice * LANES_OF_SLICE + k) * LINES + line;
}

/// An item of each column that was read, if it is there.
__forceinline__ void take_items(const Access& held, u64 item, bool is_there, Acc (&own)[ACCESS_ITEMS]) {
    const Items items = unpack(held);
#pragma unroll
    for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
        own[v] = chosen(padding(), enter(items.at[v], item), is_there);
    }
}

/// Takes lines of a lane from number `begin` on, those of numbers below `there`, the lane's first of which is item `item`: one after another;
/// in order, as neighbours.
__forceinline__ void fold_lines(
    const Access (&held)[LINES_HELD],
    u32 begin,
    u64 item,
    u32 apart,
    u32 there,
    Tree<LOG_LINES + 1, ACCESS_ITEMS>& lines,
    Acc (&value)[ACCESS_ITEMS]
) {
#pragma unroll
    for (u32 l = begin; l < begin + LINES_HELD; ++l) {
        Acc own[ACCESS_ITEMS];
        take_items(held[l - begin], item + l * apart, l < there, own);
        if constexpr (COMMUTES) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                value[v] = l == 0 ? own[v] : combine(value[v], own[v]);
            }
        } else {
            lines.push(own, l);
        }
    }
    if constexpr (!COMMUTES) {
        if (begin + LINES_HELD == LINES) {
            lines.total(LINES, value);
        }
    }
}

/// What a slice has of its columns in the tile whose first item is number `first`.
__forceinline__ void fold_slice(const Rows& rows, Place begin, u64 first, u32 slice, bool is_there, Acc (&value)[ACCESS_ITEMS]) {
    Tree<LOG_LANES + 1, ACCESS_ITEMS> lanes;
    lanes.clear();
#pragma unroll 1
    for (u32 k = 0; k < LANES_OF_SLICE; k += HELD) {
        Tree<LOG_LINES + 1, ACCESS_ITEMS> lines;
        Acc own[ACCESS_ITEMS];
#pragma unroll
        for (u32 begin_line = 0; begin_line < LINES; begin_line += LINES_HELD) {
            Access held[HELD][LINES_HELD];
#pragma unroll
            for (u32 h = 0; h < HELD; ++h) {
#pragma unroll
                for (u32 l = 0; l < LINES_HELD; ++l) {
                    const Index item = Index(first) + place_of(slice, k + h, begin_line + l);
                    if (is_there && item < rows.items) {
                        held[h][l] = fetch_at(rows, begin + item_at(rows, item));
                    }
                }
            }
#pragma unroll
            for (u32 h = 0; h < HELD; ++h) {
                constexpr u32 APART = COMMUTES ? TILE_LANES : 1;
                const u64 item = first + place_of(slice, k + h, 0);
                const u64 left = item < rows.items ? (rows.items - item + APART - 1) / APART : 0;
                fold_lines(held[h], begin_line, item, APART, is_there ? u32(min(left, u64(LINES))) : 0, lines, own);
                if (begin_line + LINES_HELD == LINES) {
                    lanes.push(own, k + h);
                }
            }
        }
    }
    lanes.total(LANES_OF_SLICE, value);
}

/// The values of all slices, for the first.
__forceinline__ void fold_slices(Acc (&value)[ACCESS_ITEMS], u32 side, u32 slice) {
    __shared__ Acc shared[SLICES == 1 ? 1 : SLICES][SLICES == 1 ? 1 : COLUMNS];
#pragma unroll
    for (u32 step = 1; step < SLICES; step *= 2) {
        const u32 apart = COMMUTES ? SLICES / 2 / step : step;
        const u32 place = COMMUTES ? slice : slice % (2 * apart);
        __syncthreads();
        if (place >= apart && place < 2 * apart) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                shared[slice][side * ACCESS_ITEMS + v] = value[v];
            }
        }
        __syncthreads();
        if (COMMUTES ? slice < apart : place == 0) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                value[v] = then(value[v], shared[slice + apart][side * ACCESS_ITEMS + v]);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) reduce_columns(const Rows rows) {
    take_given(rows.inputs);
    const u32 side = threadIdx.x % TEAM, slice = threadIdx.x / TEAM;
    const Index columns = Index(rows.across[ACROSS - 1].len), blocks = (columns + COLUMNS - 1) / COLUMNS;
    const Index outer = Index(rows.count) / columns, number = blockIdx.x / blocks;
    const Index part = number / outer, front = number % outer;
    const Index column = blockIdx.x % blocks * COLUMNS + side * ACCESS_ITEMS;
    const bool is_there = column < columns;
    const Place begin = Place(rows.first_in) + distance<ACROSS - 1, false>(rows.across, front) + column * Place(rows.across[ACROSS - 1].input);
    Tree<LEVELS, ACCESS_ITEMS> tiles;
    tiles.clear();
    Acc value[ACCESS_ITEMS];
    u32 count = 0;
#pragma unroll 1
    for (u32 t = 0; t < TILES; ++t) {
        const u64 first = (u64(part) * TILES + t) * TILE_ITEMS;
        if (first >= rows.items) {
            break;
        }
        fold_slice(rows, begin, first, slice, is_there, value);
        fold_slices(value, side, slice);
        tiles.push(value, count++);
    }
    if (slice == 0 && is_there) {
        tiles.total(count, value);
#pragma unroll
        for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
            leave_part(rows, front * columns + column + v, part, value[v]);
        }
    }
}
