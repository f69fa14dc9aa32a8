// One subgroup rakes over the values of all threads in shared memory.

const RAKERS = min(SUBGROUP, THREADS);
/// Rakers of one team.
const TEAM_RAKERS = min(SUBGROUP, TEAM);

/// The values of a team in halves. All members get the result.
fn fold_halves(value: Acc, thread: u32) -> Acc {
    workgroupBarrier();
    exchange[thread] = value;
    workgroupBarrier();
    if (thread < RAKERS) {
        for (var rake = thread; rake < TEAMS * TEAM_RAKERS; rake += RAKERS) {
            let first = (rake / TEAM_RAKERS) * TEAM + rake % TEAM_RAKERS;
            for (var half = TEAM / 2u; half >= TEAM_RAKERS; half /= 2u) {
                for (var at = first; at < first + half; at += TEAM_RAKERS) {
                    exchange[at] = combine(exchange[at], exchange[at + half]);
                }
            }
            var folded = exchange[first];
            for (var distance = TEAM_RAKERS / 2u; distance > 0u; distance /= 2u) {
                folded = combine(folded, shuffled_xor(folded, distance));
            }
            if (rake % TEAM_RAKERS == 0u) {
                exchange[first] = folded;
            }
        }
    }
    workgroupBarrier();
    return exchange[thread - thread % TEAM];
}

/// The values of all threads by a tree over neighbours. All threads get the result.
fn fold_neighbours(value: Acc, thread: u32) -> Acc {
    workgroupBarrier();
    exchange[thread] = value;
    workgroupBarrier();
    if (thread < RAKERS) {
        // In registers: folded where they lay, 1024 values gave wrong sums of `u32` on an H200 (driver 580.159.04).
        var values: array<Acc, RAKED>;
        for (var k = 0u; k < RAKED; k++) { // unrolled
            values[k] = exchange[thread * RAKED + k];
        }
        for (var width = 1u; width < RAKED; width *= 2u) { // unrolled
            for (var k = 0u; k < RAKED; k += 2u * width) { // unrolled
                values[k] = combine(values[k], values[k + width]);
            }
        }
        var folded = values[0];
        for (var distance = 1u; distance < RAKERS; distance *= 2u) {
            folded = combine(folded, shuffled_xor(folded, distance));
        }
        if (thread == 0u) {
            exchange[0] = folded;
        }
    }
    workgroupBarrier();
    return exchange[0];
}
