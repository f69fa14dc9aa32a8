// Threads lie across rows, as where these are columns of memory: an access is the same item of WIDTH rows, and a thread goes down its
// columns, group by group. What is in front of a group, a line, a tile or a window it knows by itself.

const TILE_LINES = 16u;
const LINE_GROUPS = 32u;
const COLUMNS = THREADS * WIDTH;

fn run_scan_columns(workgroup: u32, thread: u32) {
    let across = parameters.across[ACROSS - 1u];
    let blocks = (across.x - 1u) / COLUMNS + 1u;
    let outer = parameters.count / across.x;
    let number = workgroup / blocks;
    let column = workgroup % blocks * COLUMNS + thread * WIDTH;
    if (workgroup >= parameters.workgroups || column >= across.x) {
        return;
    }
    let part = number / outer;
    let front = number % outer;
    let begin = offsets_in_front(front);
    let row_in = begin.x + column * across.y;
    let row_out = parameters.out_start + begin.y + column * across.z;
    let items = parameters.items;
    var tiles: Tree;
    var into_window: Values;
    var count = in_front_of_part(front * across.x + column, part, &tiles, &into_window);
    let own_tiles = tiles_of_part(part);
    for (var t = 0u; t < own_tiles; t++) {
        let first = (part * TILES + t) * TILE_ITEMS;
        let into_tile = into_member(&tiles, count, into_window);
        var lines: Tree;
        for (var line = 0u; line < TILE_LINES; line++) {
            let into_line = into_member(&lines, line, into_tile);
            var groups: Tree;
            for (var batch = 0u; batch < LINE_GROUPS; batch += GROUPS_HELD) {
                let item = first + (line * LINE_GROUPS + batch) * GROUP;
                var held: array<Access, ITEMS_HELD>;
                for (var k = 0u; k < ITEMS_HELD; k++) { // unrolled
                    held[k] = fetch_at(row_in + offsets_of_item(min(item + k, items - 1u)).x);
                }
                for (var g = 0u; g < GROUPS_HELD; g++) { // unrolled
                    var at: array<Group, WIDTH>;
                    for (var k = 0u; k < 4u; k++) { // unrolled
                        let own = unpack(held[g * GROUP + k]);
                        for (var v = 0u; v < WIDTH; v++) { // unrolled
                            at[v][k] = padding();
                            if (item + g * GROUP + k < items) {
                                at[v][k] = enter(own[v], 0u);
                            }
                        }
                    }
                    let into = into_member(&groups, batch + g, into_line);
                    var of_group: Values;
                    for (var v = 0u; v < WIDTH; v++) { // unrolled
                        at[v] = scanned(at[v]);
                        of_group[v] = at[v][3];
                    }
                    for (var k = 0u; k < 4u; k++) { // unrolled
                        let own = item + g * GROUP + k;
                        if (own < items) {
                            var prefixes: array<Stored, WIDTH>;
                            for (var v = 0u; v < WIDTH; v++) { // unrolled
                                const in_front = max(k, 1u) - 1u;
                                prefixes[v] = stored_prefix(into[v], at[v][k], at[v][in_front], k == 0u, own);
                            }
                            write_all(row_out + offsets_of_item(own).y, across.z, prefixes);
                        }
                    }
                    push(&groups, of_group, batch + g);
                }
                if (item + ITEMS_HELD >= items) {
                    return;
                }
            }
            push(&lines, total(&groups, LINE_GROUPS), line);
        }
        count = behind_tile(&tiles, count, total(&lines, TILE_LINES), &into_window);
    }
}
