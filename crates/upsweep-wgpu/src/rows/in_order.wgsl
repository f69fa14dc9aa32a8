// How a team folds a tile of a row in order: trees of neighbours, of items, members and lines.

const GROUP = 4u;
const LINE = TEAM * GROUP;

/// Where in a tile an access of a member lies: those of a line follow one another, and a member has a group of each line.
fn place_of(line: u32, a: u32, member: u32) -> u32 {
    return line * LINE + (member * ACCESSES + a) * VECTOR;
}

/// What a member has of a tile.
struct Folded {
    lines: Tree,
    count: u32,
}

fn clear_folded(folded: ptr<function, Folded>) {
    (*folded).count = 0u;
}

/// Takes lines of a tile from `line` on, which were read; its first item is number `first` of the row.
fn add_lines(folded: ptr<function, Folded>, held: Held, first: u32, line: u32, thread: u32) {
    var lines = (*folded).lines;
    let count = (*folded).count;
    for (var l = 0u; l < LINES_HELD; l++) { // unrolled
        var own: array<Acc, 4>;
        for (var a = 0u; a < ACCESSES; a++) { // unrolled
            let item = first + place_of(line + l, a, thread % TEAM);
            let items = unpack(held[l * ACCESSES + a]);
            for (var v = 0u; v < VECTOR; v++) { // unrolled
                own[a * VECTOR + v] = padding();
                if (item + v < parameters.items) {
                    own[a * VECTOR + v] = enter(items[v], item + v);
                }
            }
        }
        var value = then(then(own[0], own[1]), then(own[2], own[3]));
        for (var apart = 1u; apart < min(TEAM, SUBGROUP); apart *= 2u) {
            value = then(value, shuffled_xor(value, apart));
        }
        for (var apart = SUBGROUP; apart < TEAM; apart *= 2u) {
            value = then(value, from_thread(value, thread, thread ^ apart));
        }
        push(&lines, Values(value), count + l);
    }
    (*folded).lines = lines;
    (*folded).count = count + LINES_HELD;
}

/// Values that a member is left with: those of all UNITS tiles, which the team's first member writes.
const LEFT = UNITS;

struct Found { first: u32, writes: bool, values: array<Acc, LEFT> }

/// The values of UNITS tiles.
fn fold_tiles(tiles: ptr<function, array<Folded, UNITS>>, thread: u32) -> Found {
    var found: Found;
    for (var k = 0u; k < UNITS; k++) { // unrolled
        var lines = (*tiles)[k].lines;
        found.values[k] = total(&lines, (*tiles)[k].count)[0];
    }
    found.writes = thread % TEAM == 0u;
    return found;
}
