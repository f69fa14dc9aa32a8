// What workgroups have left becomes one value: a tree over neighbours, as it is over tiles.
//
// A thread takes HELD neighbouring values at once, so that those are on their way together and threads exchange what is made of
// them only: 4,096 values take 512 threads two steps of one exchange each, where one value at a time takes eight.
// `glance(slot)` begins to read the value of a workgroup, and `settle(slot, glanced)` ends it.

/// The value of all workgroups, for every thread.
fn fold_left_by_workgroups(thread: u32) -> Acc {
    var kept = padding();
    for (var step = 0u; step * THREADS * HELD < parameters.workgroups; step++) {
        let first = (step * THREADS + thread) * HELD;
        var glanced: array<Glanced, HELD>;
        for (var v = 0u; v < HELD; v++) { // unrolled
            // Behind the last there is nothing, and looking at the last again costs nothing.
            glanced[v] = glance(min(first + v, parameters.workgroups - 1u));
        }
        var values: array<Acc, HELD>;
        for (var v = 0u; v < HELD; v++) { // unrolled
            values[v] = padding();
            if (first + v < parameters.workgroups) {
                values[v] = settle(first + v, glanced[v]);
            }
        }
        for (var half = HELD / 2u; half > 0u; half /= 2u) { // unrolled
            for (var v = 0u; v < half; v++) { // unrolled
                values[v] = combine(values[2u * v], values[2u * v + 1u]);
            }
        }
        let folded = fold_neighbours(values[0], thread);
        if (thread == step || parameters.workgroups <= THREADS * HELD) {
            kept = folded;
        }
    }
    if (parameters.workgroups <= THREADS * HELD) {
        return kept;
    }
    return fold_neighbours(kept, thread);
}
