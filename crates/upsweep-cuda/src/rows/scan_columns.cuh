// Threads lie across rows, as where these are columns of memory: an access is the same item of ACCESS_ITEMS rows, and a thread goes down its columns,
// group by group. What is in front of a group, a line, a tile or a window it knows by itself.

constexpr u32 LINE_GROUPS = 32;
/// Groups whose accesses are on their way at once: more of them where an access has fewer items. With four of structures of 16 bytes a scan spills
/// 72 bytes on sm_80 (NVRTC 13.0).
constexpr u32 BATCH = ACCESS_ITEMS >= 4 || sizeof(Acc) >= 16 ? 2 : 4;
constexpr u32 COLUMNS = THREADS * ACCESS_ITEMS;

/// Writes an item of all columns.
__forceinline__ void write_items(const Rows& rows, Place at, Place apart, const Stored (&items)[ACCESS_ITEMS]) {
    if constexpr (OUT_ACCESS_ITEMS == ACCESS_ITEMS) {
        OutItems all;
#pragma unroll
        for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
            all.at[v] = items[v];
        }
        *(OutAccess*)(rows.output + at) = pack(all);
    } else {
#pragma unroll
        for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
            rows.output[at + v * apart] = pack_one(items[v]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, WORKGROUPS_OF_MULTIPROCESSOR) scan_columns(const Rows rows) {
    take_given(rows.inputs);
    const RowAxis& across = rows.across[ACROSS - 1];
    const Index columns = Index(across.len), blocks = (columns + COLUMNS - 1) / COLUMNS, outer = Index(rows.count) / columns;
    const Index number = blockIdx.x / blocks, column = blockIdx.x % blocks * COLUMNS + threadIdx.x * ACCESS_ITEMS;
    const Index part = number / outer, front = number % outer;
    if (column >= columns) {
        return;
    }
    const Index row = front * columns + column;
    const Place from = Place(rows.first_in) + distance<ACROSS - 1, false>(rows.across, front) + column * Place(rows.across[ACROSS - 1].input);
    const Place to = Place(rows.first_out) + distance<ACROSS - 1, true>(rows.across, front) + column * Place(across.output);
    const Index items = Index(rows.items);
    Tree<6, ACCESS_ITEMS> tiles;
    Acc into_window[ACCESS_ITEMS];
    u32 count = in_front_of_part(rows, row, part, tiles, into_window);
#pragma unroll 1
    for (u64 t = 0; t < TILES || rows.parts == 1; ++t) {
        const u64 first = (u64(part) * TILES + t) * TILE_ITEMS;
        if (first >= items) {
            break;
        }
        Acc into_tile[ACCESS_ITEMS], total[ACCESS_ITEMS];
        into_member(tiles, count, into_window, into_tile);
        Tree<5, ACCESS_ITEMS> lines;
        lines.clear();
#pragma unroll 1
        for (u32 line = 0; line < TILE_LINES; ++line) {
            Acc into_line[ACCESS_ITEMS];
            into_member(lines, line, into_tile, into_line);
            Tree<6, ACCESS_ITEMS> groups;
            groups.clear();
#pragma unroll 1
            for (u32 batch = 0; batch < LINE_GROUPS; batch += BATCH) {
                const Index item = Index(first) + (line * LINE_GROUPS + batch) * GROUP;
                Access held[BATCH * GROUP];
#pragma unroll
                for (u32 k = 0; k < BATCH * GROUP; ++k) {
                    if (item + k < items) {
                        held[k] = fetch_at(rows, from + item_at(rows, item + k));
                    }
                }
#pragma unroll
                for (u32 g = 0; g < BATCH; ++g) {
                    Acc at[ACCESS_ITEMS][GROUP], into[ACCESS_ITEMS];
#pragma unroll
                    for (u32 k = 0; k < GROUP; ++k) {
                        const Items own = unpack(held[g * GROUP + k]);
#pragma unroll
                        for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                            at[v][k] = chosen(padding(), enter(own.at[v], 0), item + g * GROUP + k < items);
                        }
                    }
                    into_member(groups, batch + g, into_line, into);
#pragma unroll
                    for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                        scan_group(at[v]);
                        total[v] = at[v][GROUP - 1];
                    }
#pragma unroll
                    for (u32 k = 0; k < GROUP; ++k) {
                        const Index own = item + g * GROUP + k;
                        if (own < items) {
                            Stored prefixes[ACCESS_ITEMS];
#pragma unroll
                            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                                prefixes[v] = stored_prefix(rows, prefix(at[v], k, into[v]), own);
                            }
                            write_items(rows, to + output_at(rows, own), Place(across.output), prefixes);
                        }
                    }
                    groups.push(total, batch + g);
                }
                if (item + BATCH * GROUP >= items) {
                    return;
                }
            }
            groups.total(LINE_GROUPS, total);
            lines.push(total, line);
        }
        lines.total(TILE_LINES, total);
        count = behind_tile(tiles, count, total, into_window);
    }
}
