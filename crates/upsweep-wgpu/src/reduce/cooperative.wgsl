// Threads fold their values by subgroup operations; what subgroups have left goes through shared memory.

/// The values of a team in halves: thread t takes in t + TEAM/2, … t + 1. All members get the result.
fn fold_halves(value: Acc, thread: u32) -> Acc {
    var folded = value;
    for (var distance = TEAM / 2u; distance >= SUBGROUP; distance /= 2u) {
        folded = combine(folded, from_thread(folded, thread, thread ^ distance));
    }
    for (var distance = min(TEAM, SUBGROUP) / 2u; distance > 0u; distance /= 2u) {
        folded = combine(folded, shuffled_xor(folded, distance));
    }
    return folded;
}

/// The values of all threads by a tree over neighbours. All threads get the result: what subgroups leave, each of them
/// folds again, so that they meet once for each power of SUBGROUP.
fn fold_neighbours(value: Acc, thread: u32) -> Acc {
    var folded = fold_subgroup(value, THREADS);
    for (var left = THREADS / SUBGROUP; left > 1u; left /= SUBGROUP) {
        workgroupBarrier();
        if (thread % SUBGROUP == 0u && thread / SUBGROUP < left) {
            exchange[thread / SUBGROUP] = folded;
        }
        workgroupBarrier();
        folded = fold_subgroup(exchange[thread % left], left);
    }
    return folded;
}

/// Those of `values` neighbours, or of as many as a subgroup has.
fn fold_subgroup(value: Acc, values: u32) -> Acc {
    var folded = value;
    for (var distance = 1u; distance < min(values, SUBGROUP); distance *= 2u) {
        folded = combine(folded, shuffled_xor(folded, distance));
    }
    return folded;
}
