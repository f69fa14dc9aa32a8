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
        let run = THREADS / RAKERS;
        let first = thread * run;
        for (var distance = 1u; distance < run; distance *= 2u) {
            for (var at = first; at < first + run; at += 2u * distance) {
                exchange[at] = combine(exchange[at], exchange[at + distance]);
            }
        }
        var folded = exchange[first];
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
