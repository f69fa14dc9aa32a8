// How teams fold UNITS tiles one after another, for the team's first member: members of several subgroups exchange values through shared
// memory, and members that hold many values have no registers for more.

const LEFT = UNITS;

struct Found { first: u32, writes: bool, values: array<Acc, LEFT> }

fn fold_tiles(tiles: ptr<function, array<Folded, UNITS>>, thread: u32) -> Found {
    var found: Found;
    for (var k = 0u; k < UNITS; k++) { // unrolled
        found.values[k] = value_of_tile((*tiles)[k], thread);
    }
    found.writes = thread % TEAM == 0u;
    return found;
}

fn value_of_tile(tile: Folded, thread: u32) -> Acc {
    var lanes = tile;
    fold_accesses(&lanes);
    for (var apart = TEAM / 2u; apart >= SUBGROUP; apart /= 2u) {
        for (var v = 0u; v < VECTOR; v++) { // unrolled
            lanes[v] = combine(lanes[v], from_thread(lanes[v], thread, thread ^ apart));
        }
    }
    for (var apart = min(TEAM, SUBGROUP) / 2u; apart > 0u; apart /= 2u) {
        for (var v = 0u; v < VECTOR; v++) { // unrolled
            lanes[v] = combine(lanes[v], shuffled_xor(lanes[v], apart));
        }
    }
    return fold_access(lanes);
}
