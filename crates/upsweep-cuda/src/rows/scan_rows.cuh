// Threads lie along rows: a team of them, a power of two within a warp, scans a row, or a part of one, line by line.
//
// A member has a group of each line. S over groups is found by shuffles; what is in front of a line, a tile or a window, all members know.

constexpr u32 TEAMS = THREADS / TEAM, LINE = TEAM * GROUP;
static_assert(ACCESSES * ACCESS_ITEMS == GROUP, "a member has a group of each line");

/// Where in a tile an access of a member lies.
inline u32 place_of(u32 line, u32 a, u32 member) { return line * LINE + member * GROUP + a * ACCESS_ITEMS; }

/// Writes the prefixes of a group, the first of which is that of item number `item`.
__forceinline__ void write_group(const Rows& rows, Place begin, Index item, const Acc (&at)[GROUP], const Acc& into) {
#pragma unroll
    for (u32 k = 0; k < GROUP; k += OUT_ACCESS_ITEMS) {
        OutItems items;
#pragma unroll
        for (u32 v = 0; v < OUT_ACCESS_ITEMS; ++v) {
            items.at[v] = stored_prefix(rows, prefix(at, k + v, into), u64(item) + k + v);
        }
        if (item + k < rows.items) {
            *(OutAccess*)(rows.output + (begin + output_at(rows, item + k))) = pack(items);
        }
    }
}

/// The group that a member has read of a line, whose first item is number `item`; S over its items.
__forceinline__ void take_group(const Access (&held)[ACCESSES], Index item, Index items, Acc (&at)[GROUP]) {
#pragma unroll
    for (u32 a = 0; a < ACCESSES; ++a) {
        const Items own = unpack(held[a]);
#pragma unroll
        for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
            const u32 k = a * ACCESS_ITEMS + v;
            at[k] = chosen(padding(), enter(own.at[v], 0), item + k < items);
        }
    }
    scan_group(at);
}

/// What comes into a member's group, and the total of its line, given what comes into that.
__forceinline__ Acc scan_line(const Acc& group, const Acc& into_line, u32 member, u32 lane, Acc& total) {
    const Acc upto = scan_lanes<TEAM>(group, lane);
    const Acc before = shuffled(upto, lane - 1);
    total = shuffled(upto, lane | (TEAM - 1));
    return chosen(then(into_line, before), into_line, member == 0);
}

/// Reads lines of a tile from `line` on; its first item is number `first` of the row, which has so many and lies at `from`.
__forceinline__ void read_lines(const Rows& rows, Place from, Index items, Index first, u32 line, u32 member,
                                Access (&held)[LINES_HELD][ACCESSES]) {
#pragma unroll
    for (u32 l = 0; l < LINES_HELD; ++l) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const Index item = first + place_of(line + l, a, member);
            if (item < items) {
                held[l][a] = fetch_at(rows, from + item_at(rows, item));
            }
        }
    }
}

/// UNITS rows of one line each: neighbouring teams of a warp have neighbouring rows.
__forceinline__ void short_rows(const Rows& rows, u32 member, u32 lane) {
    constexpr u32 TEAMS_OF_WARP = SUBGROUP / TEAM;
    Access held[UNITS][LINES_HELD][ACCESSES];
    const u64 warp = u64(blockIdx.x) * (THREADS / SUBGROUP) + threadIdx.x / SUBGROUP;
    const u64 first = warp * (UNITS * TEAMS_OF_WARP) + lane / TEAM;
    // What is not there has no items.
    const auto items_of = [&](u64 row) { return row < rows.count ? Index(rows.items) : 0; };
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k) {
        const u64 row = first + k * TEAMS_OF_WARP;
        const Place from = Place(rows.first_in) + distance<ACROSS, false>(rows.across, Index(row));
        read_lines(rows, from, items_of(row), 0, 0, member, held[k]);
    }
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k) {
        const u64 row = first + k * TEAMS_OF_WARP;
        const Index item = place_of(0, 0, member);
        Acc at[GROUP], total;
        take_group(held[k][0], item, items_of(row), at);
        const Acc into = scan_line(at[GROUP - 1], into_row(rows), member, lane, total);
        if (item < items_of(row)) {
            const Place to = Place(rows.first_out) + distance<ACROSS, true>(rows.across, Index(row));
            write_group(rows, to, item, at, into);
        }
    }
}

/// A row, or a part of one.
__forceinline__ void part_of_row(const Rows& rows, u32 member, u32 lane) {
    const u64 unit = u64(blockIdx.x) * TEAMS + threadIdx.x / TEAM;
    const bool is_unit = unit < rows.count * rows.parts;
    const Index part = is_unit ? Index(unit / rows.count) : 0, row = is_unit ? Index(unit % rows.count) : 0;
    const Place from = Place(rows.first_in) + distance<ACROSS, false>(rows.across, row);
    const Place to = Place(rows.first_out) + distance<ACROSS, true>(rows.across, row);
    const Index items = is_unit ? Index(rows.items) : 0;
    Tree<6, 1> tiles;
    Acc into_window[1];
    u32 count = in_front_of_part(rows, row, part, tiles, into_window);
#pragma unroll 1
    for (u64 t = 0; t < TILES || rows.parts == 1; ++t) {
        const u64 first = (u64(part) * TILES + t) * TILE_ITEMS;
        if (!__any_sync(ALL_LANES, first < items)) {
            break;
        }
        Acc into_tile[1], into_line[1];
        into_member(tiles, count, into_window, into_tile);
        Tree<6, 1> lines;
        lines.clear();
#pragma unroll 1
        for (u32 line = 0; line < LINES; line += LINES_HELD) {
            Access held[LINES_HELD][ACCESSES];
            read_lines(rows, from, items, Index(first), line, member, held);
#pragma unroll
            for (u32 l = 0; l < LINES_HELD; ++l) {
                const Index item = Index(first) + place_of(line + l, 0, member);
                Acc at[GROUP], total[1];
                take_group(held[l], item, items, at);
                into_member(lines, line + l, into_tile, into_line);
                const Acc into = scan_line(at[GROUP - 1], into_line[0], member, lane, total[0]);
                lines.push(total, line + l);
                if (item < items) {
                    write_group(rows, to, item, at, into);
                }
            }
        }
        Acc total[1];
        lines.total(LINES, total);
        count = behind_tile(tiles, count, total, into_window);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) scan_rows(const Rows rows) {
    take_given(rows.inputs);
    const u32 member = threadIdx.x % TEAM, lane = threadIdx.x % SUBGROUP;
    if constexpr (IS_SHORT) {
        short_rows(rows, member, lane);
    } else {
        part_of_row(rows, member, lane);
    }
}
