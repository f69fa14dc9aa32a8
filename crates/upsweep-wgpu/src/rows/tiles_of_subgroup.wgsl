// How teams within a subgroup fold UNITS tiles: while a member has several tiles, it hands half of them to the other, and gets the other half
// of the other's.

/// Tiles that a member is left with, and their values: those from number `first` on. Of members that have the same, one writes.
const LEFT = max(UNITS / TEAM, 1u);

struct Found { first: u32, writes: bool, values: array<Acc, LEFT> }

fn fold_tiles(tiles: ptr<function, array<Folded, UNITS>>, thread: u32) -> Found {
    var lanes: array<Folded, UNITS>;
    var found: Found;
    for (var k = 0u; k < UNITS; k++) { // unrolled
        var own = (*tiles)[k];
        fold_accesses(&own);
        lanes[k] = own;
    }
    // At each step a member has UNITS / parts tiles.
    for (var parts = 1u; parts < TEAM; parts *= 2u) { // unrolled
        const apart = TEAM / 2u / parts;
        let is_upper = (thread & apart) != 0u;
        if (UNITS / parts > 1u) {
            for (var k = 0u; k < UNITS / 2u / parts; k++) { // unrolled
                const upper = k + UNITS / 2u / parts;
                for (var v = 0u; v < VECTOR; v++) { // unrolled
                    let own = chosen(lanes[k][v], lanes[upper][v], is_upper);
                    let other = shuffled_xor(chosen(lanes[upper][v], lanes[k][v], is_upper), apart);
                    if (ORDERED == 1u) {
                        lanes[k][v] = combine(chosen(own, other, is_upper), chosen(other, own, is_upper));
                    } else {
                        lanes[k][v] = combine(own, other);
                    }
                }
            }
            found.first += select(0u, UNITS / 2u / parts, is_upper);
        } else {
            for (var v = 0u; v < VECTOR; v++) { // unrolled
                lanes[0][v] = combine(lanes[0][v], shuffled_xor(lanes[0][v], apart));
            }
        }
    }
    for (var k = 0u; k < UNITS; k++) { // unrolled
        if (k < LEFT) {
            found.values[min(k, LEFT - 1u)] = fold_access(lanes[k]);
        }
    }
    found.writes = thread % TEAM % max(TEAM / UNITS, 1u) == 0u;
    return found;
}
