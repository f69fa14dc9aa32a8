// What scans of rows share: groups, what comes into parts, and outputs.
//
// A long row has parts of TILES tiles, aligned in windows of 32. Their totals are there, and so is what comes into each window.

const GROUP = 4u;
const TILES_OF_WINDOW = 32u;

alias Group = array<Acc, 4>;

/// S over the items of a group.
fn scanned(items: Group) -> Group {
    var at = items;
    let right = then(at[2], at[3]);
    at[1] = then(at[0], at[1]);
    at[2] = then(at[1], at[2]);
    at[3] = then(at[1], right);
    return at;
}

/// What is written of item number `item` of a row, given what comes into its group, and S of the group up to the item, and in front of it.
/// An exclusive scan without a start value begins with the identity.
fn stored_prefix(into: Acc, upto: Acc, in_front: Acc, is_first: bool, item: u32) -> Stored {
    if (INCLUSIVE == 1u) {
        return stored(then(into, upto));
    }
    if (item == 0u && parameters.has_init == 0u) {
        return stored(identity());
    }
    if (is_first) {
        return stored(into);
    }
    return stored(then(into, in_front));
}

/// What comes into a member of a level, in front of which there are `count`, of which `members` are the tree.
fn into_member(members: ptr<function, Tree>, count: u32, into: Values) -> Values {
    var found = into;
    if (count > 0u) {
        let in_front = total(members, count);
        for (var v = 0u; v < WIDTH; v++) { // unrolled
            found[v] = then(into[v], in_front[v]);
        }
    }
    return found;
}

/// Goes on behind a tile: after a window, with what comes into the next one. Gives how many tiles of the window there are.
fn behind_tile(tiles: ptr<function, Tree>, count: u32, values: Values, into: ptr<function, Values>) -> u32 {
    push(tiles, values, count);
    if (count + 1u < TILES_OF_WINDOW) {
        return count + 1u;
    }
    let window = total(tiles, TILES_OF_WINDOW);
    for (var v = 0u; v < WIDTH; v++) { // unrolled
        (*into)[v] = then((*into)[v], window[v]);
    }
    return 0u;
}
