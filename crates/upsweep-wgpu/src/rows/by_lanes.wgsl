// How a team folds a tile of a row whose operator commutes: items by lanes, lanes by halves.

const LINE = TEAM * LANES;

/// Where in a tile an access of a member lies: accesses of a line are as many members apart.
fn place_of(line: u32, a: u32, member: u32) -> u32 {
    return line * LINE + (a * TEAM + member) * VECTOR;
}

/// What a member has of the lanes of a tile.
alias Folded = array<Acc, LANES>;

fn clear_folded(folded: ptr<function, Folded>) {
    for (var p = 0u; p < LANES; p++) { // unrolled
        (*folded)[p] = padding();
    }
}

/// Takes lines of a tile from `line` on, which were read; its first item is number `first` of the row.
fn add_lines(folded: ptr<function, Folded>, held: Held, first: u32, line: u32, thread: u32) {
    for (var k = 0u; k < ACCESSES_HELD; k++) { // unrolled
        let item = first + place_of(line + k / ACCESSES, k % ACCESSES, thread % TEAM);
        if (item < parameters.items) {
            let items = unpack(held[k]);
            for (var v = 0u; v < VECTOR; v++) { // unrolled
                const p = k % ACCESSES * VECTOR + v;
                (*folded)[p] = combine((*folded)[p], enter(items[v], item + v));
            }
        }
    }
}

/// Folds lanes that lie in one member in several accesses.
fn fold_accesses(lanes: ptr<function, Folded>) {
    for (var half = LANES / 2u; half >= VECTOR; half /= 2u) { // unrolled
        for (var p = 0u; p < half; p++) { // unrolled
            (*lanes)[p] = combine((*lanes)[p], (*lanes)[p + half]);
        }
    }
}

/// Lanes of one access.
fn fold_access(lanes: Folded) -> Acc {
    var own = lanes;
    for (var half = VECTOR / 2u; half > 0u; half /= 2u) { // unrolled
        for (var p = 0u; p < half; p++) { // unrolled
            own[p] = combine(own[p], own[p + half]);
        }
    }
    return own[0];
}
