// Values as they come, as an aligned binary tree: those of 2^k of them that are not yet part of more.

/// One value, or one of each of several neighbouring rows.
alias Values = array<Acc, WIDTH>;

alias Tree = array<Values, LEVELS>;

/// Takes the next values, in front of which there are `count`.
fn push(tree: ptr<function, Tree>, values: Values, count: u32) {
    push_at(tree, values, count, 0u);
}

/// The same, which are those of 2^level already.
fn push_at(tree: ptr<function, Tree>, values: Values, count: u32, level: u32) {
    var next = values;
    var goes_up = true;
    for (var k = 0u; k < LEVELS; k++) { // unrolled
        if (goes_up && k >= level) {
            if (((count >> k) & 1u) == 0u) {
                (*tree)[k] = next;
                goes_up = false;
            } else {
                for (var v = 0u; v < WIDTH; v++) { // unrolled
                    next[v] = then((*tree)[k][v], next[v]);
                }
            }
        }
    }
}

/// The value of `count` of them: the last of their aligned prefixes. Of none, padding.
fn total(tree: ptr<function, Tree>, count: u32) -> Values {
    var found: Values;
    for (var v = 0u; v < WIDTH; v++) { // unrolled
        found[v] = padding();
    }
    var is_first = true;
    for (var k = 0u; k < LEVELS; k++) { // unrolled
        if (((count >> k) & 1u) == 1u) {
            for (var v = 0u; v < WIDTH; v++) { // unrolled
                if (is_first) {
                    found[v] = (*tree)[k][v];
                } else {
                    found[v] = then((*tree)[k][v], found[v]);
                }
            }
            is_first = false;
        }
    }
    return found;
}
