// Threads lie across rows, as where these are columns of memory: an access is the same item of WIDTH rows.
//
//     TEAM threads side by side   │ columns 0 … 3 │ columns 4 … 7 │ …
//     SLICES of them below          lanes 0, SLICES, 2 SLICES, …  of each column; lanes 1, SLICES + 1, …; …
//
// A thread goes down LINES lines of one lane after another, in the order in which lanes are folded by halves: with their bits reversed,
// neighbours are half of all lanes apart. Slices are folded through shared memory. In order, a slice has items that follow one another.
// A workgroup takes TILES tiles of its columns. Threads beside the last column repeat it.

const SLICES = THREADS / TEAM;
const COLUMNS = TEAM * WIDTH;

/// The values of lines of a lane.
alias Lines = array<Values, LINES>;

/// What a slice has of its columns in the tile whose first item is number `first`.
fn fold_slice(begin: u32, first: u32, slice: u32) -> Values {
    var lanes: Tree;
    for (var k = 0u; k < SLICE_LANES; k += LANES_HELD) {
        var held: array<Access, ACCESSES_HELD>;
        for (var i = 0u; i < ACCESSES_HELD; i++) { // unrolled
            let item = min(first + place_of(slice, k + i / LINES, i % LINES), parameters.items - 1u);
            held[i] = fetch_at(begin + offsets_of_item(item).x);
        }
        for (var h = 0u; h < LANES_HELD; h++) { // unrolled
            var lines: Lines;
            for (var l = 0u; l < LINES; l++) { // unrolled
                let item = first + place_of(slice, k + h, l);
                let items = unpack(held[h * LINES + l]);
                for (var v = 0u; v < WIDTH; v++) { // unrolled
                    lines[l][v] = padding();
                    if (item < parameters.items) {
                        lines[l][v] = enter(items[v], item);
                    }
                }
            }
            push(&lanes, fold_lines(lines), k + h);
        }
    }
    return total(&lanes, SLICE_LANES);
}

/// What threads have of their slices.
var<workgroup> slices: array<Values, THREADS>;

/// The values of all slices, for the first.
fn fold_slices(own: Values, thread: u32) -> Values {
    var value = own;
    for (var step = 1u; step < SLICES; step *= 2u) {
        workgroupBarrier();
        slices[thread] = value;
        workgroupBarrier();
        let other = slices[thread ^ (TEAM * distance_of_slices(step))];
        for (var v = 0u; v < WIDTH; v++) { // unrolled
            value[v] = then(value[v], other[v]);
        }
    }
    return value;
}

fn run_reduce_columns(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let across = parameters.across[ACROSS - 1u];
    let columns = across.x;
    let blocks = (columns - 1u) / COLUMNS + 1u;
    let outer = parameters.count / columns;
    let number = workgroup / blocks;
    let part = number / outer;
    let front = number % outer;
    let own_column = workgroup % blocks * COLUMNS + thread % TEAM * WIDTH;
    let column = min(own_column, columns - WIDTH);
    let begin = offsets_in_front(front).x + column * across.y;
    let tiles = min(tiles_of_row() - part * TILES, TILES);
    var of_part: Tree;
    for (var t = 0u; t < tiles; t++) {
        let own = fold_slice(begin, (part * TILES + t) * TILE_ITEMS, thread / TEAM);
        push(&of_part, fold_slices(own, thread), t);
    }
    if (thread < TEAM && own_column == column) {
        let values = total(&of_part, tiles);
        for (var v = 0u; v < WIDTH; v++) { // unrolled
            leave_part(front * columns + column + v, part, values[v]);
        }
    }
}
