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

/// The values of all threads by a tree over neighbours. All threads get the result.
fn fold_neighbours(value: Acc, thread: u32) -> Acc {
    var folded = value;
    for (var distance = 1u; distance < min(THREADS, SUBGROUP); distance *= 2u) {
        folded = combine(folded, shuffled_xor(folded, distance));
    }
    if (THREADS <= SUBGROUP) {
        return folded;
    }
    workgroupBarrier();
    if (thread % SUBGROUP == 0u) {
        exchange[thread / SUBGROUP] = folded;
    }
    workgroupBarrier();
    for (var distance = 1u; distance < THREADS / SUBGROUP; distance *= 2u) {
        if (thread % (2u * distance) == 0u && thread < THREADS / SUBGROUP) {
            exchange[thread] = combine(exchange[thread], exchange[thread + distance]);
        }
        workgroupBarrier();
    }
    return exchange[0];
}
