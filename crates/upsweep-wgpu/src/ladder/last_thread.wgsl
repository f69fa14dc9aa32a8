// The last LAST values on a device of which subgroups are not used: the first thread adds them, with no barrier. This stands
// for the last subgroup: it saves the barriers of the last rounds, for some additions one after another.

fn fold_last(thread: u32) {
    if (thread > 0u) {
        return;
    }
    var total = 0u;
    for (var k = 0u; k < LAST; k++) { // unrolled
        total += values[k];
    }
    values[0] = total;
}
