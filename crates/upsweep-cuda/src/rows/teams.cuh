// Threads lie along rows: a team of them, a power of two within a warp, takes a row, or a part of one.
//
//     a line of a row     │ member 0 │ member 1 │ …    an access each, or several
//
// Of rows that are no longer than a tile a team takes UNITS, whose accesses are all on their way at once. Of longer ones it takes a part:
// TILES tiles, one after another. How a tile is folded is in `by_lanes.cuh` or `in_order.cuh`.

constexpr u32 TEAMS = THREADS / TEAM;
static_assert(!IS_SHORT || LINES_HELD == LINES, "rows of one tile are read at once");

/// Reads lines of a tile from `line` on. Its first item is number `first` of the row, which has so many and lies at `begin`.
__forceinline__ void read_lines(const Rows& rows, Place begin, Index items, Index first, u32 line, u32 member,
                                Access (&held)[LINES_HELD][ACCESSES]) {
#pragma unroll
    for (u32 l = 0; l < LINES_HELD; ++l) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const Index item = first + place_of(line + l, a, member);
            if (item < items) {
                held[l][a] = fetch_at(rows, begin + item_at(rows, item));
            }
        }
    }
}

/// Where a row begins.
inline Place begin_of(const Rows& rows, Index row) {
    return Place(rows.first_in) + distance<ACROSS, false>(rows.across, row);
}

/// The values of UNITS rows of one tile each: neighbouring teams of a warp have neighbouring rows.
__forceinline__ void short_rows(const Rows& rows, u32 member) {
    constexpr u32 TEAMS_OF_WARP = SUBGROUP / TEAM;
    Access held[UNITS][LINES_HELD][ACCESSES];
    const u64 warp = u64(blockIdx.x) * (THREADS / SUBGROUP) + threadIdx.x / SUBGROUP;
    const u64 first = warp * (UNITS * TEAMS_OF_WARP) + threadIdx.x % SUBGROUP / TEAM;
    // What is not there has no items.
    const auto items_of = [&](u64 row) { return row < rows.count ? Index(rows.items) : 0; };
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k) {
        const u64 row = first + k * TEAMS_OF_WARP;
        read_lines(rows, begin_of(rows, Index(row)), items_of(row), 0, 0, member, held[k]);
    }
    Folded folded[UNITS];
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k) {
        folded[k].clear();
        folded[k].add(held[k], items_of(first + k * TEAMS_OF_WARP), 0, 0, member);
    }
    Acc found[LEFT<UNITS>];
    const u32 own = fold_tiles<UNITS>(folded, member, found);
    // Of fewer rows than members several have the same.
    const bool writes = COMMUTES ? UNITS >= TEAM || member % (TEAM / UNITS) == 0 : member == 0;
#pragma unroll
    for (u32 k = 0; k < LEFT<UNITS>; ++k) {
        const u64 row = first + (own + k) * TEAMS_OF_WARP;
        if (writes && row < rows.count) {
            leave_part(rows, Index(row), 0, found[k]);
        }
    }
}

/// The value of a row's part.
__forceinline__ void part_of_row(const Rows& rows, u32 team, u32 member) {
    const u64 unit = u64(blockIdx.x) * TEAMS + team;
    const bool is_unit = unit < rows.count * rows.parts_left;
    const Index part = Index(unit / rows.count), row = Index(unit % rows.count);
    const Place begin = begin_of(rows, row);
    Tree<LEVELS, 1> tiles;
    tiles.clear();
    u32 count = 0;
#pragma unroll 1
    for (u32 t = 0; t < TILES; ++t) {
        const u64 first = (u64(part) * TILES + t) * TILE_ITEMS;
        const bool is_tile = is_unit && first < rows.items;
        // Other teams of the warp may have tiles of longer parts.
        if (!__any_sync(ALL_LANES, is_tile)) {
            break;
        }
        const Index items = is_tile ? Index(rows.items) : 0;
        Folded folded[1];
        folded[0].clear();
#pragma unroll 1
        for (u32 line = 0; line < LINES; line += LINES_HELD) {
            Access held[LINES_HELD][ACCESSES];
            read_lines(rows, begin, items, Index(first), line, member, held);
            folded[0].add(held, items, Index(first), line, member);
        }
        Acc value[1];
        fold_tiles<1>(folded, member, value);
        if (is_tile) {
            tiles.push(value, count++);
        }
    }
    if (is_unit && member == 0) {
        Acc value[1] = {padding()};
        tiles.total(count, value);
        leave_part(rows, row, part, value[0]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) reduce_rows(const Rows rows) {
    take_given(rows.inputs);
    const u32 member = threadIdx.x % TEAM;
    if constexpr (IS_SHORT) {
        short_rows(rows, member);
    } else {
        part_of_row(rows, threadIdx.x / TEAM, member);
    }
}
