// Threads fold their values by trees in shared memory.

/// The values of a team in halves, with sequential addressing. All members get the result.
fn fold_halves(value: Acc, thread: u32) -> Acc {
    workgroupBarrier();
    exchange[thread] = value;
    workgroupBarrier();
    for (var distance = TEAM / 2u; distance > 0u; distance /= 2u) {
        if (thread % TEAM < distance) {
            exchange[thread] = combine(exchange[thread], exchange[thread + distance]);
        }
        workgroupBarrier();
    }
    return exchange[thread - thread % TEAM];
}

/// The values of all threads by a tree over neighbours. All threads get the result.
fn fold_neighbours(value: Acc, thread: u32) -> Acc {
    workgroupBarrier();
    exchange[thread] = value;
    workgroupBarrier();
    for (var distance = 1u; distance < THREADS; distance *= 2u) {
        if (thread % (2u * distance) == 0u) {
            exchange[thread] = combine(exchange[thread], exchange[thread + distance]);
        }
        workgroupBarrier();
    }
    return exchange[0];
}
